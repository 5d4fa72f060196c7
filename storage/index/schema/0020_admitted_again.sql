-- A label may be admitted again for the same tree, when the root no longer lists the key of its admission: the newest one
-- counts, the earlier ones stay. The release before reads any of them, and refuses one that does not count.
ALTER TABLE toolchain_admissions DROP CONSTRAINT toolchain_admissions_pkey;
ALTER TABLE toolchain_admissions ADD PRIMARY KEY (instance, label, locked, admitted);
