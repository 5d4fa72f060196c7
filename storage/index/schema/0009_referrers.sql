-- OCI clients find a bundle as the one layer of an OCI manifest of its own, by that manifest's digest. It follows from the
-- artifact and the bundle, and is computed by the coordinator: for rows of earlier releases at its next start.
ALTER TABLE statements ADD COLUMN referrer_hash bytea CHECK (length(referrer_hash) = 32);
CREATE INDEX statements_by_referrer ON statements (instance, referrer_hash);
CREATE INDEX statements_without_referrer ON statements (instance) WHERE referrer_hash IS NULL;
