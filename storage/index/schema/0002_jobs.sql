-- Jobs: one submission each, with everything that was resolved at submission or by the fetcher.
CREATE TABLE jobs (
  instance        text        NOT NULL,
  id              text        NOT NULL,
  idempotency_key text        NOT NULL,
  request_hash    bytea       NOT NULL,  -- of the whole request: the key with another request is refused
  state           smallint    NOT NULL,  -- kiln.v1.JobState; open jobs are QUEUED (1), RUNNING (2), PUBLISHING (3)
  cancel_wanted   boolean     NOT NULL DEFAULT false,
  reuse           boolean     NOT NULL DEFAULT true,  -- results of earlier jobs count as builders
  submitted       timestamptz NOT NULL,
  ended           timestamptz,
  toolchain_label text        NOT NULL,
  toolchain_hash  bytea       NOT NULL,
  toolchain_size  bigint      NOT NULL,
  options         text        NOT NULL,  -- canonical JSON, as submitted
  delivery        text        NOT NULL,  -- canonical JSON of the DeliverySpec
  model_name      text        NOT NULL,  -- for display only
  error_code      integer     NOT NULL DEFAULT 0,
  error_message   text        NOT NULL DEFAULT '',
  error_exit      integer     NOT NULL DEFAULT 0,
  error_details   text        NOT NULL DEFAULT '',
  revision        bigint      NOT NULL DEFAULT 0,
  PRIMARY KEY (instance, id),
  UNIQUE (instance, idempotency_key)
);
CREATE INDEX jobs_newest ON jobs (instance, submitted DESC, id DESC);
CREATE INDEX jobs_open ON jobs (submitted) WHERE state IN (1, 2, 3);

-- sources[0] is the model. hash and size are null until a git source has been fetched.
CREATE TABLE sources (
  instance      text     NOT NULL,
  job_id        text     NOT NULL,
  ordinal       integer  NOT NULL,
  path          text     NOT NULL,  -- normalised: "model.onnx", or relative to the model
  hash          bytea,
  size          bigint,
  git_url       text     NOT NULL DEFAULT '',
  git_commit    text     NOT NULL DEFAULT '',
  git_path      text     NOT NULL DEFAULT '',
  origin_url    text     NOT NULL DEFAULT '',  -- claimed by the submitter
  origin_commit text     NOT NULL DEFAULT '',
  origin_path   text     NOT NULL DEFAULT '',
  PRIMARY KEY (instance, job_id, ordinal),
  FOREIGN KEY (instance, job_id) REFERENCES jobs (instance, id) ON DELETE CASCADE
);

-- One row per target asked for: its artifact once it is published.
CREATE TABLE job_targets (
  instance      text    NOT NULL,
  job_id        text    NOT NULL,
  ordinal       integer NOT NULL,
  target        text    NOT NULL,
  artifact_hash bytea,
  cached        boolean NOT NULL DEFAULT false,
  builders      text[]  NOT NULL DEFAULT '{}',
  PRIMARY KEY (instance, job_id, ordinal),
  FOREIGN KEY (instance, job_id) REFERENCES jobs (instance, id) ON DELETE CASCADE
);
CREATE INDEX job_targets_by_artifact ON job_targets (instance, artifact_hash);

-- What is executed: REAPI actions by digest (a fetch has the digest of its source's canonical JSON).
CREATE TABLE actions (
  instance text     NOT NULL,
  hash     bytea    NOT NULL CHECK (length(hash) = 32),
  size     bigint   NOT NULL,
  kind     smallint NOT NULL,  -- kiln.v1.ActionKind
  target   text     NOT NULL,  -- '' for fetch and reference
  PRIMARY KEY (instance, hash)
);
CREATE TABLE job_actions (
  instance    text    NOT NULL,
  job_id      text    NOT NULL,
  ordinal     integer NOT NULL,
  action_hash bytea   NOT NULL,
  source      integer,  -- a fetch: the ordinal of its source
  PRIMARY KEY (instance, job_id, ordinal),
  FOREIGN KEY (instance, job_id) REFERENCES jobs (instance, id) ON DELETE CASCADE,
  FOREIGN KEY (instance, action_hash) REFERENCES actions (instance, hash)
);
CREATE INDEX job_actions_by_action ON job_actions (instance, action_hash);

-- Listeners on channel kiln_job get "instance id" for every change of a job or of one of its runs.
CREATE FUNCTION stamp_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := nextval('revisions');
  PERFORM pg_notify('kiln_job', NEW.instance || ' ' || NEW.id);
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_revision BEFORE INSERT OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION stamp_job();
