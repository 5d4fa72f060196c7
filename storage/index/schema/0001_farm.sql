-- What belongs to the whole farm. Digests are bytea (32 bytes) with their size beside them; times are timestamptz in
-- UTC, always given by the coordinator's clock, never by now().

-- One row. `generation` is the upper half of every lease epoch; it rises when the database turns out to be another one
-- than last time (a restored backup has another system identifier or timeline), so that no epoch is ever used twice.
CREATE TABLE farm (
  only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  generation        bigint  NOT NULL CHECK (generation > 0),
  system_identifier text    NOT NULL,
  timeline          integer NOT NULL
);

-- Gives every change of a job or of one of its runs a number; a job's revision is the highest among them.
CREATE SEQUENCE revisions;

-- Workers serve the whole farm, so this table alone has no instance: leases carry it.
CREATE TABLE workers (
  name          text        PRIMARY KEY,
  operator      text        NOT NULL,
  certificate   bytea       NOT NULL,  -- SHA-256 of the PEM text last presented
  description   bytea       NOT NULL,  -- kiln.v1.WorkerDescription
  targets       text[]      NOT NULL,
  kinds         smallint[]  NOT NULL,  -- kiln.v1.ActionKind
  draining      boolean     NOT NULL,
  first_contact timestamptz NOT NULL,
  last_contact  timestamptz NOT NULL
);

-- Labels are append-only: once given, a label means the same tree for ever.
CREATE TABLE toolchains (
  instance    text        NOT NULL,
  label       text        NOT NULL,
  hash        bytea       NOT NULL CHECK (length(hash) = 32),
  size        bigint      NOT NULL,
  description text        NOT NULL,  -- toolchain.json
  targets     text[]      NOT NULL,
  added       timestamptz NOT NULL,
  PRIMARY KEY (instance, label)
);
CREATE INDEX toolchains_by_tree ON toolchains (instance, hash);

CREATE TABLE toolchain_defaults (
  instance text PRIMARY KEY,
  label    text NOT NULL,
  FOREIGN KEY (instance, label) REFERENCES toolchains (instance, label)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER toolchains_append_only BEFORE UPDATE OR DELETE ON toolchains
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
