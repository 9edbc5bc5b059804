-- works with 2

-- How far each machine's journal was brought.
CREATE TABLE {schema}.history_machine (
  machine text PRIMARY KEY,
  number bigint NOT NULL
);
CREATE TABLE {schema}.history_file (
  machine text NOT NULL,
  file text NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (machine, file)
);

CREATE TABLE {schema}.story (
  -- Tells stories of the same moment apart, in one order for all who read page by page.
  id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  machine text NOT NULL,
  -- SHA-256 of session id and tool_use_id: an index does not hold rows of more than 2.7 kB.
  key bytea NOT NULL,
  session text NOT NULL,
  kind text NOT NULL,
  outcome text NOT NULL,
  ended_by text NOT NULL,
  at timestamptz NOT NULL,
  latest timestamptz NOT NULL,
  -- Whether it is open, or was for more than a day: who wants what is no older than a time looks for the others among
  -- those that were asked a day before it, and later.
  lasting boolean NOT NULL,
  words text NOT NULL,
  -- JSON in ASCII; jsonb holds neither U+0000 nor lone surrogates.
  story text NOT NULL,
  sources text NOT NULL,
  PRIMARY KEY (machine, key)
);
-- By an expression, so that it serves what asks for all stories and nothing else: for one session the server might well
-- go through all of them, newest first, if it is a large one, and never find those that are old.
CREATE INDEX story_newest ON {schema}.story (timezone('UTC', at) DESC, id DESC);
CREATE INDEX story_of_machine ON {schema}.story (machine, at DESC, id DESC);
CREATE INDEX story_of_session ON {schema}.story (session, at DESC, id DESC);
CREATE INDEX story_of_outcome ON {schema}.story (outcome, at DESC, id DESC);
CREATE INDEX story_of_kind ON {schema}.story (kind, at DESC, id DESC);
CREATE INDEX story_ended_by ON {schema}.story (ended_by, at DESC, id DESC);
CREATE INDEX story_lasting ON {schema}.story (at DESC, id DESC) WHERE lasting;

CREATE TABLE {schema}.history_count (
  -- Since 1970-01-01 UTC.
  day integer NOT NULL,
  machine text NOT NULL,
  subject text NOT NULL,
  name text NOT NULL,
  part text NOT NULL,
  bucket integer NOT NULL,
  calls bigint NOT NULL,
  failed bigint NOT NULL,
  longest double precision NOT NULL,
  PRIMARY KEY (day, machine, subject, name, part, bucket)
);
