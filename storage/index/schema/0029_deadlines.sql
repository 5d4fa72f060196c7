-- When a job ends that is not done by then, by the coordinator's clock.
ALTER TABLE jobs ADD COLUMN deadline timestamptz;
CREATE INDEX jobs_by_deadline ON jobs (deadline) WHERE state IN (1, 2, 3) AND deadline IS NOT NULL;
-- The same of each of its runs: none begins after it, and none may take longer.
ALTER TABLE runs ADD COLUMN job_deadline timestamptz;
