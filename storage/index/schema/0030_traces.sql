-- W3C traceparents of what is traced, for whoever watches the farm (coordinator/TRACES.md); '' for all else, and by the release
-- before. Nothing that is signed, hashed or decided depends on them.
ALTER TABLE jobs ADD COLUMN trace text NOT NULL DEFAULT '';        -- of the submission
ALTER TABLE signatures ADD COLUMN trace text NOT NULL DEFAULT '';  -- of the signing
