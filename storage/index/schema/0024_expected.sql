-- Within a lane the run that is expected to take longest goes first, so that it does not begin when all others have ended. How
-- long runs took that were alike: of the same instance, kind and target, with sources of about the same size (magnitude: the binary
-- logarithm of their bytes) and, in a row of its own, with the same subject (the model; of a fetch the repository).
CREATE TABLE durations (
  instance  text     NOT NULL,
  kind      smallint NOT NULL,
  target    text     NOT NULL,
  magnitude smallint NOT NULL,
  subject   bytea    NOT NULL,  -- '' for all subjects together
  seconds   double precision NOT NULL,  -- the mean of the first few; later ones move it by a fifth of the difference
  runs      integer  NOT NULL,  -- how many were counted
  PRIMARY KEY (instance, kind, target, magnitude, subject)
);
ALTER TABLE runs ADD COLUMN subject bytea NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN magnitude smallint NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN expected double precision NOT NULL DEFAULT 0;  -- seconds, as known when it was queued

-- The order within a lane. Of two runs queued at one time the longer goes first. A run that was queued earlier by more than the
-- difference goes before it all the same, so that none waits for ever. Set by a trigger, so that the release before sets it as well.
ALTER TABLE runs ADD COLUMN rank timestamptz;
UPDATE runs SET rank = queued WHERE state IN (0, 1);
CREATE FUNCTION rank_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.rank := NEW.queued - make_interval(secs => NEW.expected);
  RETURN NEW;
END $$;
CREATE TRIGGER runs_ranked BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION rank_run();
CREATE INDEX runs_by_lane ON runs (priority, instance, kind, target, emulated, toolchain_hash, rank, id) INCLUDE (queued)
  WHERE state = 0;
DROP INDEX runs_lanes;
