-- works with 1

CREATE SEQUENCE {schema}.version;

-- A deleted document stays as a row without a body for a while, so that whoever missed the news of it sees it.
CREATE TABLE {schema}.document (
  machine text NOT NULL,
  area text NOT NULL,
  kind text NOT NULL,
  -- SHA-256 of the name: an index does not hold rows of more than 2.7 kB.
  digest bytea NOT NULL,
  -- UTF-8, and as it would be for lone surrogates, which text does not hold.
  name bytea NOT NULL,
  -- JSON in ASCII; jsonb holds neither U+0000 nor lone surrogates.
  body text,
  version bigint NOT NULL DEFAULT nextval('{schema}.version'),
  -- Which transaction wrote it: versions become visible in another order than they were given.
  written_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (machine, area, kind, digest)
);

-- Deleted ones may be many more than those that are there.
CREATE INDEX document_present ON {schema}.document (machine, area, kind) WHERE body IS NOT NULL;
CREATE INDEX document_deleted ON {schema}.document (machine, area, written_at) WHERE body IS NULL;
CREATE INDEX document_news ON {schema}.document (machine, written_by);

CREATE TABLE {schema}.put_aside (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  machine text NOT NULL,
  area text NOT NULL,
  kind text NOT NULL,
  name bytea NOT NULL,
  body text NOT NULL,
  reason text NOT NULL,
  put_aside_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
