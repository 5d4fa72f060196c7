-- The tuning entries that artifacts were compiled with, for finding those that came from a record. A coordinator of the release before
-- does not look for them.
CREATE INDEX materials_of_tuning ON materials (instance, hash) WHERE name = 'input/tuning.json';
