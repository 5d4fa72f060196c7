-- What clients of the Remote Execution API say that their actions left (ActionCache.UpdateActionResult). Nobody here saw it: it answers
-- them and is no evidence of an artifact, wherever that is asked for. Rows that nothing has used for a while go
-- (coordinator/GARBAGE.md).
CREATE TABLE client_results (
  instance    text        NOT NULL,
  action_hash bytea       NOT NULL CHECK (length(action_hash) = 32),
  action_size bigint      NOT NULL,
  result      bytea       NOT NULL CHECK (length(result) <= 2097152),  -- build.bazel.remote.execution.v2.ActionResult
  writer      text        NOT NULL,  -- the identity that the client proved
  written     timestamptz NOT NULL,
  used        timestamptz NOT NULL,  -- when it was last written or found with all of its blobs, to within a day
  PRIMARY KEY (instance, action_hash)
);
CREATE INDEX client_results_by_use ON client_results (used);
