-- works with 2

CREATE TABLE {schema}.lock (
  machine text NOT NULL,
  area text NOT NULL,
  kind text NOT NULL,
  digest bytea NOT NULL,
  -- One taking of the lock.
  owner uuid NOT NULL,
  -- The process that holds it: of which start of which machine, or container, its number, and when it began.
  host text NOT NULL,
  place text NOT NULL,
  pid integer NOT NULL,
  started text NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (machine, area, kind, digest)
);
