-- Which device an action has for itself. Coordinators of the release before leave these columns alone: a lease that they give
-- holds no device, and they queue nothing that wants an emulated one.
ALTER TABLE workers ADD COLUMN emulates text[] NOT NULL DEFAULT '{}';  -- targets whose programs its emulated devices execute
ALTER TABLE runs ADD COLUMN emulated boolean NOT NULL DEFAULT false;   -- a check that was asked for on an emulated device
ALTER TABLE runs ADD COLUMN devices text[] NOT NULL DEFAULT '{}';      -- of the worker, held while the run is leased
