-- A label may be admitted again for the same tree, when the root no longer lists the key of its admission: the newest one
-- counts, the earlier ones stay. The release before reads any of them, and refuses one that does not count.
ALTER TABLE toolchain_admissions DROP CONSTRAINT toolchain_admissions_pkey;
ALTER TABLE toolchain_admissions ADD PRIMARY KEY (instance, label, locked, admitted);

-- Whether a name has come to the farm, and what begins with some digits, without a walk through all of a table: with 10^5 jobs
-- that took some 0.4 s. URLs have at most 2048 bytes (coordinator/jobs/submission.cc), which an index takes.
CREATE INDEX sources_by_hash ON sources (instance, hash);
CREATE INDEX sources_by_url ON sources (instance, git_url) WHERE git_url <> '';
CREATE INDEX sources_by_commit ON sources (instance, git_commit) WHERE git_commit <> '';
CREATE INDEX sources_by_origin ON sources (instance, origin_url) WHERE origin_url <> '';
CREATE INDEX sources_by_origin_commit ON sources (instance, origin_commit) WHERE origin_commit <> '';
CREATE INDEX jobs_by_submitter ON jobs (instance, left(submitter, 200));  -- a subject and its issuer have no bound of an index
CREATE INDEX materials_by_hash ON materials (instance, hash) WHERE name <> 'toolchain';
DROP INDEX materials_of_tuning;  -- materials_by_hash answers what it was for
