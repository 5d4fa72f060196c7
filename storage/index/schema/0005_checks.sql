-- Checks of published artifacts: what a worker can execute, and what a job's check of each target said.
ALTER TABLE workers ADD COLUMN runs text[] NOT NULL DEFAULT '{}';  -- targets whose programs its processor executes
ALTER TABLE job_targets ADD COLUMN check_outcome smallint NOT NULL DEFAULT 0;  -- 0 none yet, 1 passed, 2 failed
