-- What sweeps and scrubs of a shared blob store need (storage/blob/blob_references.h).

-- When an upload of the blob was begun last, to the minute: its object is swept though nobody came to refer to it. NULL: swept,
-- and no upload was begun since, so that there is no object of the generation that stands.
ALTER TABLE blobs ADD COLUMN begun timestamptz;
UPDATE blobs SET begun = now();
CREATE INDEX blobs_standing ON blobs (hash, size) WHERE begun IS NOT NULL;

-- Objects that nobody reads any more.
CREATE TABLE condemned_objects (
  hash bytea NOT NULL,
  size bigint NOT NULL,
  generation integer NOT NULL,
  due timestamptz NOT NULL,       -- when it may be removed
  is_last boolean NOT NULL,       -- then it is forgotten; otherwise it is removed once more
  PRIMARY KEY (hash, size, generation)
);
CREATE INDEX condemned_objects_by_due ON condemned_objects (due);

-- The blobs up to this one have been read and hashed, in the turn that runs.
ALTER TABLE blob_store ADD COLUMN scrubbed_hash bytea CHECK (length(scrubbed_hash) = 32);
ALTER TABLE blob_store ADD COLUMN scrubbed_size bigint CHECK (scrubbed_size >= 0);
