-- What to hand out costs the same whatever is queued. The queued runs of one lane (the first six columns) ask the same of a
-- worker: coordinator/queue/lanes.h goes from lane to lane, and within one from the oldest run on.
CREATE INDEX runs_lanes ON runs (priority, instance, kind, target, emulated, toolchain_hash, queued, id) WHERE state = 0;
DROP INDEX runs_queue;
-- Who has the same action running, or waits for it.
CREATE INDEX runs_by_action ON runs (instance, action_hash) WHERE state IN (0, 1);
-- Nobody gets it before then: an equal action has just ended for another job, and its result may end this one's as well.
ALTER TABLE runs ADD COLUMN not_before timestamptz;
CREATE INDEX runs_not_before ON runs (not_before) WHERE state = 0 AND not_before IS NOT NULL;
-- What each worker runs, and how much of each instance. There is no index that begins with the instance alone: the planner would
-- take it for the runs of one action, and read all of the instance's.
CREATE INDEX runs_held ON runs (worker, instance) WHERE state = 1;
DROP INDEX runs_by_worker;
-- How many leases a worker says that it takes at a time: one without a free one takes nothing. A coordinator of the release before
-- writes nothing here.
ALTER TABLE fleet ADD COLUMN slots integer NOT NULL DEFAULT 1;
-- Which waiting times were set by another clock.
CREATE INDEX runs_avoiding ON runs (avoid_until) WHERE state = 0 AND avoid_until IS NOT NULL;

-- Open jobs are looked at in turns.
CREATE INDEX jobs_open_by_key ON jobs (instance, id) WHERE state IN (1, 2, 3);
DROP INDEX jobs_open;

-- Of a queued run: somebody's lease of its action, in its job, ended badly, or it confirms a failure. Only of these must be
-- looked whether any worker is left for them. Kept by triggers, so that the release before keeps it as well.
ALTER TABLE runs ADD COLUMN contested boolean NOT NULL DEFAULT false;
UPDATE runs SET contested = true WHERE state IN (0, 1);
CREATE INDEX runs_contested ON runs (instance, id) WHERE state = 0 AND contested;

CREATE FUNCTION contest_new_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.contested := NEW.excluded_workers <> '{}' OR EXISTS (
    SELECT FROM runs s JOIN attempts a ON a.instance = s.instance AND a.run_id = s.id
    WHERE s.instance = NEW.instance AND s.job_id = NEW.job_id AND s.action_hash = NEW.action_hash AND a.outcome = 'final');
  RETURN NEW;
END $$;
CREATE TRIGGER runs_contested_at_once BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION contest_new_run();

-- A sibling that is locked is being leased or given up itself: if it is queued again, its own attempt has ended badly.
CREATE FUNCTION contest_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE runs SET contested = true WHERE (instance, id) IN (
    SELECT s.instance, s.id FROM runs r JOIN runs s
      ON s.instance = r.instance AND s.job_id = r.job_id AND s.action_hash = r.action_hash
    WHERE r.instance = NEW.instance AND r.id = NEW.run_id AND s.state IN (0, 1) AND NOT s.contested
    FOR UPDATE OF s SKIP LOCKED);
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_contest AFTER INSERT OR UPDATE ON attempts FOR EACH ROW
  WHEN (NEW.outcome IN ('failed', 'final', 'lost')) EXECUTE FUNCTION contest_runs();

-- Whoever waits for work is told what came, so that one that could take it is woken: "KIND TARGET INSTANCE". The release before
-- looks at no payload.
CREATE OR REPLACE FUNCTION stamp_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := nextval('revisions');
  PERFORM pg_notify('kiln_job', NEW.instance || ' ' || NEW.job_id);
  IF NEW.state = 0 THEN
    PERFORM pg_notify('kiln_queue', NEW.kind || ' ' || NEW.target || ' ' || NEW.instance);
  END IF;
  RETURN NEW;
END $$;
