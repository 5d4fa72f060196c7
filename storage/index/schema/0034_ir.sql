-- The IR behind each stage of the compile of a published artifact (manifest/statement/ir_statement.h). The OCI manifest by which it
-- refers to the artifact is not stored: it follows from the artifact and these rows, and one that was tampered with makes another digest
-- than its own.
CREATE TABLE artifact_irs (
  instance      text  NOT NULL,
  artifact_hash bytea NOT NULL,
  hash          bytea NOT NULL CHECK (length(hash) = 32),  -- of that OCI manifest
  payload_hash  bytea NOT NULL,                            -- of the first statement that names it
  PRIMARY KEY (instance, artifact_hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE,
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX artifact_irs_by_hash ON artifact_irs (instance, hash);
CREATE INDEX artifact_irs_by_statement ON artifact_irs (instance, payload_hash);
CREATE TABLE artifact_ir_files (
  instance      text   NOT NULL,
  artifact_hash bytea  NOT NULL,
  path          text   NOT NULL,
  hash          bytea  NOT NULL CHECK (length(hash) = 32),
  size          bigint NOT NULL,
  PRIMARY KEY (instance, artifact_hash, path),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifact_irs (instance, artifact_hash) ON DELETE CASCADE
);
CREATE INDEX artifact_ir_files_by_blob ON artifact_ir_files (instance, hash);
ALTER TABLE job_targets ADD COLUMN ir boolean NOT NULL DEFAULT false;  -- the job has seen to it that the artifact's IR is kept
