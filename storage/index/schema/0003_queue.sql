-- A run is one builder's share of a job's action: a job that wants k builders has k runs of its compile action.
CREATE TABLE runs (
  instance         text        NOT NULL,
  id               text        NOT NULL,
  job_id           text        NOT NULL,
  action_hash      bytea       NOT NULL,
  action_size      bigint      NOT NULL,
  kind             smallint    NOT NULL,  -- kiln.v1.ActionKind
  target           text        NOT NULL,
  toolchain_hash   bytea       NOT NULL,  -- for workers that have it warm
  git_url          text        NOT NULL DEFAULT '',
  git_commit       text        NOT NULL DEFAULT '',
  git_path         text        NOT NULL DEFAULT '',
  priority         integer     NOT NULL,
  operators_wanted integer     NOT NULL,
  excluded_workers text[]      NOT NULL DEFAULT '{}',  -- their evidence is counted already
  counted_operators text[]     NOT NULL DEFAULT '{}',  -- of that evidence
  time_limit       integer     NOT NULL,  -- seconds
  state            smallint    NOT NULL,  -- 0 queued, 1 leased, 2 done, 3 failed, 4 cancelled
  queued           timestamptz NOT NULL,
  attempts         integer     NOT NULL DEFAULT 0,
  epoch            bigint      NOT NULL DEFAULT 0,  -- generation << 32 | count of leases of this run
  worker           text        NOT NULL DEFAULT '',
  operator         text        NOT NULL DEFAULT '',
  expires          timestamptz,
  stage            text        NOT NULL DEFAULT '',
  avoid_worker     text        NOT NULL DEFAULT '',  -- reported a failure: others first, until avoid_until
  avoid_until      timestamptz,
  error_code       integer     NOT NULL DEFAULT 0,
  error_message    text        NOT NULL DEFAULT '',
  revision         bigint      NOT NULL DEFAULT 0,
  PRIMARY KEY (instance, id),
  FOREIGN KEY (instance, job_id) REFERENCES jobs (instance, id) ON DELETE CASCADE,
  FOREIGN KEY (instance, action_hash) REFERENCES actions (instance, hash)
);
CREATE INDEX runs_by_job ON runs (instance, job_id);
CREATE INDEX runs_queue ON runs (priority DESC, queued) WHERE state = 0;
CREATE INDEX runs_leased ON runs (expires) WHERE state = 1;
CREATE INDEX runs_by_worker ON runs (worker) WHERE state = 1;

-- Every lease ever given, and how it ended.
CREATE TABLE attempts (
  instance text        NOT NULL,
  run_id   text        NOT NULL,
  epoch    bigint      NOT NULL,
  worker   text        NOT NULL,
  operator text        NOT NULL,
  leased   timestamptz NOT NULL,
  ended    timestamptz,
  outcome  text        NOT NULL DEFAULT '',  -- done, failed, lost, cancelled
  error    text        NOT NULL DEFAULT '',
  PRIMARY KEY (instance, run_id, epoch),
  FOREIGN KEY (instance, run_id) REFERENCES runs (instance, id) ON DELETE CASCADE
);
CREATE INDEX attempts_by_worker ON attempts (worker, leased);

-- What a builder's tool left, after the coordinator rehashed it: evidence. Failures of the tool are kept too.
CREATE TABLE action_results (
  instance     text        NOT NULL,
  run_id       text        NOT NULL,
  epoch        bigint      NOT NULL,
  job_id       text        NOT NULL,
  action_hash  bytea       NOT NULL,
  worker       text        NOT NULL,
  operator     text        NOT NULL,
  exit_code    integer     NOT NULL,
  outputs_hash bytea       NOT NULL,  -- over the sorted paths and digests: builders agree when it is equal
  result       bytea       NOT NULL,  -- build.bazel.remote.execution.v2.ActionResult
  receipt      text        NOT NULL,  -- DSSE envelope, signed by the worker
  certificate  text        NOT NULL,  -- PEM, the worker's
  leased       timestamptz NOT NULL,
  recorded     timestamptz NOT NULL,
  disputed     boolean     NOT NULL DEFAULT false,  -- builders disagreed: never reused
  PRIMARY KEY (instance, run_id, epoch),
  FOREIGN KEY (instance, run_id) REFERENCES runs (instance, id) ON DELETE CASCADE
);
CREATE INDEX action_results_by_action ON action_results (instance, action_hash, recorded);
CREATE INDEX action_results_by_worker ON action_results (instance, worker, recorded);

-- kiln_queue wakes whoever hands out work; kiln_job as for jobs.
CREATE FUNCTION stamp_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := nextval('revisions');
  PERFORM pg_notify('kiln_job', NEW.instance || ' ' || NEW.job_id);
  IF NEW.state = 0 THEN
    PERFORM pg_notify('kiln_queue', '');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_inserted BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION stamp_run();
-- Extending a lease is no change that anyone watches.
CREATE TRIGGER runs_changed BEFORE UPDATE ON runs FOR EACH ROW
  WHEN (OLD.state <> NEW.state OR OLD.stage <> NEW.stage OR OLD.epoch <> NEW.epoch)
  EXECUTE FUNCTION stamp_run();
