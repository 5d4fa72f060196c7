-- Tuning records with their statements, and what is known of each kernel: the latest record that decided it. A coordinator of the
-- release before knows neither: it compiles what it plans without entries.
CREATE TABLE tuning_records (
  instance     text        NOT NULL,
  record_hash  bytea       NOT NULL CHECK (length(record_hash) = 32),
  record_size  bigint      NOT NULL,
  target       text        NOT NULL,
  payload_hash bytea       NOT NULL,  -- of the statement whose subject it is
  bundle_hash  bytea       NOT NULL,
  bundle_size  bigint      NOT NULL,
  worker       text        NOT NULL,  -- who measured
  operator     text        NOT NULL,
  job_id       text        NOT NULL,
  recorded     timestamptz NOT NULL,
  PRIMARY KEY (instance, record_hash)
);
CREATE INDEX tuning_records_by_payload ON tuning_records (instance, payload_hash);

CREATE TABLE tuning_entries (
  instance    text  NOT NULL,
  target      text  NOT NULL,
  signature   text  NOT NULL,  -- "sha256:<hex>" of a kernel
  entry       text  NOT NULL,  -- {"schedule","template"}; "": the default is best
  record_hash bytea NOT NULL,
  PRIMARY KEY (instance, target, signature),
  FOREIGN KEY (instance, record_hash) REFERENCES tuning_records (instance, record_hash)
);

-- tuning.json of a target's compile, once that is planned.
ALTER TABLE job_targets ADD COLUMN tuning_hash bytea;
ALTER TABLE job_targets ADD COLUMN tuning_size bigint;
