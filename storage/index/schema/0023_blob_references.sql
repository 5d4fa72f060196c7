-- Blobs of a store that several coordinators share (storage/blob/blob_references.h). Farms whose blobs lie in a directory have
-- no rows here.

-- The store that these records belong to: its mark in the bucket has the same.
CREATE TABLE blob_store (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '') CHECK (id ~ '^[0-9a-f]{32}$')
);

-- Every blob that was ever added, of the whole farm. Its object is that of the generation; those before were condemned.
CREATE TABLE blobs (
  hash bytea NOT NULL CHECK (length(hash) = 32),
  size bigint NOT NULL CHECK (size > 0),
  generation integer NOT NULL DEFAULT 0 CHECK (generation >= 0),
  PRIMARY KEY (hash, size)
);

-- Who may see a blob. A row of another generation than the blob's counts for nothing: its bytes have to be uploaded again.
CREATE SEQUENCE blob_uploads;
CREATE TABLE blob_references (
  instance text NOT NULL,
  hash bytea NOT NULL,
  size bigint NOT NULL,
  generation integer NOT NULL,
  upload bigint NOT NULL,        -- of blob_uploads, anew with each upload: whoever condemns sees that there was one
  promised timestamptz NOT NULL, -- when it was last uploaded or said to be there, to the minute: a sweep's grace period
  PRIMARY KEY (instance, hash, size),
  FOREIGN KEY (hash, size) REFERENCES blobs
);
CREATE INDEX blob_references_by_blob ON blob_references (hash, size);
