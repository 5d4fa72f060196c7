-- Promotion: what the policies of instances say of their artifacts. The verdicts themselves are signed statements; these
-- tables say which is the newest, and which artifacts are to be judged again.

-- Instances that have a policy. `basis`: SHA-256 of what verdicts rest on beside the statements about an artifact: policy,
-- trust root, recalls. Where it changes, every artifact of the instance is due.
CREATE TABLE instance_policies (
  instance text  PRIMARY KEY,
  basis    bytea NOT NULL CHECK (length(basis) = 32)
);

-- Artifacts to be judged. `since` is when that came up, and the time that the verdict will state: judged twice after a
-- crash, it is the same statement. `revision` tells whether more came up meanwhile.
CREATE TABLE verdicts_due (
  instance      text        NOT NULL REFERENCES instance_policies ON DELETE CASCADE,
  artifact_hash bytea       NOT NULL,
  since         timestamptz NOT NULL,
  revision      bigint      NOT NULL DEFAULT nextval('revisions'),
  PRIMARY KEY (instance, artifact_hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE
);
CREATE INDEX verdicts_due_in_order ON verdicts_due (revision);

-- The newest verdict on each artifact. The statement of an earlier one is taken from the index; it stays in the log and in
-- the signer's records.
CREATE TABLE verdicts (
  instance      text    NOT NULL,
  artifact_hash bytea   NOT NULL,
  payload_hash  bytea   NOT NULL,
  facts         bytea   NOT NULL CHECK (length(facts) = 32),  -- SHA-256 of what the statement says but its time
  passed        boolean NOT NULL,
  PRIMARY KEY (instance, artifact_hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE,
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX verdicts_by_statement ON verdicts (instance, payload_hash);
