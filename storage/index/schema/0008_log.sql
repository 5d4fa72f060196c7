-- What was signed, and Kiln's transparency log. One row of `signatures` is both the signer's record of a payload and its
-- intake into the log: neither exists without the other.

-- A checkpoint for each size that the log has published.
CREATE TABLE log_checkpoints (
  size bigint PRIMARY KEY CHECK (size >= 0),
  root bytea  NOT NULL CHECK (length(root) = 32),
  note text   NOT NULL  -- signed, with the cosignatures that came in time
);

-- One row: the log as it is. Who sequences has opened an epoch of its own; a commit names the epoch and the size that it
-- grows from, so only the sequencer that came last can commit, and only onto what it has seen.
CREATE TABLE log (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  origin   text    NOT NULL,
  epoch    bigint  NOT NULL CHECK (epoch > 0),
  size     bigint  NOT NULL REFERENCES log_checkpoints (size)
);

CREATE TABLE signatures (
  log_digest   bytea       PRIMARY KEY CHECK (length(log_digest) = 32),  -- of the DSSE pre-authentication encoding
  payload_hash bytea       UNIQUE CHECK (length(payload_hash) = 32),
  instance     text,
  payload      bytea,                 -- NULL, with hash and instance, for what was learnt from the log's tiles
  leaf         bytea       NOT NULL,  -- the log's entry; it holds signature and key
  signed_at    timestamptz NOT NULL,
  intake       bigint      GENERATED ALWAYS AS IDENTITY,
  log_index    bigint      UNIQUE CHECK (log_index >= 0),      -- given before the tiles are written; never changes
  tree_size    bigint      REFERENCES log_checkpoints (size),  -- the first checkpoint that covers it
  proof        bytea,                                          -- its inclusion in that tree, hash after hash
  CHECK ((payload IS NULL) = (payload_hash IS NULL) AND (payload IS NULL) = (instance IS NULL)),
  CHECK ((tree_size IS NULL) = (proof IS NULL) AND (tree_size IS NULL OR log_index < tree_size))
);
CREATE INDEX signatures_unsequenced ON signatures (intake) WHERE log_index IS NULL;

-- A signature that has its place in the log keeps it, and its leaf.
CREATE FUNCTION keep_log_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR NEW.log_digest <> OLD.log_digest OR
     (OLD.log_index IS NOT NULL AND (NEW.log_index IS DISTINCT FROM OLD.log_index OR NEW.leaf <> OLD.leaf)) OR
     (OLD.payload IS NOT NULL AND NEW.payload IS DISTINCT FROM OLD.payload) THEN
    RAISE EXCEPTION 'what was signed and logged does not change';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER signatures_keep_place BEFORE UPDATE OR DELETE ON signatures FOR EACH ROW EXECUTE FUNCTION keep_log_place();
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE ON log_checkpoints
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE FUNCTION notify_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(TG_ARGV[0], '');
  RETURN NULL;
END $$;
CREATE TRIGGER signatures_intake AFTER INSERT ON signatures
  FOR EACH STATEMENT EXECUTE FUNCTION notify_log('kiln_log_intake');
CREATE TRIGGER log_grown AFTER UPDATE OF size ON log FOR EACH STATEMENT EXECUTE FUNCTION notify_log('kiln_log');
