-- Actions that clients of the Remote Execution API have had executed: each is a job with one run. What they leave is no evidence of
-- an artifact. What runs is the client's action with a salt (coordinator/jobs/foreign_action.h), so that no row about it has the hash
-- of a build's action.
CREATE TABLE executions (
  instance    text        NOT NULL,
  job_id      text        NOT NULL,
  action_hash bytea       NOT NULL CHECK (length(action_hash) = 32),  -- as the client knows it
  action_size bigint      NOT NULL,
  cacheable   boolean     NOT NULL,  -- its result answers later calls
  watched     timestamptz NOT NULL,  -- when somebody last waited for it
  PRIMARY KEY (instance, job_id),
  FOREIGN KEY (instance, job_id) REFERENCES jobs (instance, id) ON DELETE CASCADE
);
CREATE INDEX executions_by_action ON executions (action_hash, instance);
-- What stands at / of an executed action is the tree of toolchain_hash. A worker needs its size as well; 0 where the release before
-- made the run, or where there is no such tree.
ALTER TABLE runs ADD COLUMN toolchain_size bigint NOT NULL DEFAULT 0;
