-- Statements of third parties that the farm keeps with its artifacts: their rows are in `statements` like all others. This
-- tells them apart, so that their number has bounds.
CREATE TABLE attestations (
  instance      text        NOT NULL,
  payload_hash  bytea       NOT NULL,
  artifact_hash bytea       NOT NULL,
  added         timestamptz NOT NULL,
  PRIMARY KEY (instance, payload_hash),
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX attestations_by_artifact ON attestations (instance, artifact_hash);
