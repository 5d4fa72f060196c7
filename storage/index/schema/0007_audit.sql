-- What auditors ask: which signed statement mentions this toolchain, source, worker, key; what is in a toolchain; who
-- submitted. All of it can be computed again from the statements and the toolchains' trees (`kiln audit` does).

-- Who submitted, as the coordinator knew the caller: the identity that a certificate or token proved, or 'local' for
-- whoever could open the farm's private socket, which was the only way in before this column. No statement says it.
ALTER TABLE jobs ADD COLUMN submitter text NOT NULL DEFAULT 'local';

-- SHA-256 of the public key (SubjectPublicKeyInfo) that the bundle names; null until its mentions are in. Statements
-- from before this table are read by the coordinator after its start, since bundles lie in the CAS.
ALTER TABLE statements ADD COLUMN signer bytea CHECK (length(signer) = 32);
CREATE INDEX statements_unread ON statements (instance, payload_hash) WHERE signer IS NULL;

-- One row per thing that a statement mentions: posting lists in the order of time, so that any combination of
-- conditions is an intersection of index ranges, and so is a window of time.
CREATE TABLE mentions (
  instance      text        NOT NULL,
  kind          smallint    NOT NULL,  -- kiln::index::MentionKind
  value         bytea       NOT NULL CHECK (length(value) = 32),  -- a digest, or the SHA-256 of a text
  own           boolean     NOT NULL,  -- false: of the artifact, said by its provenance and not by this statement
  recorded      timestamptz NOT NULL,  -- the statement's
  payload_hash  bytea       NOT NULL,
  PRIMARY KEY (instance, payload_hash, kind, value),
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX mentions_by_time ON mentions (instance, kind, value, own, recorded, payload_hash);

-- They answer what these were for.
DROP INDEX materials_by_hash;
DROP INDEX materials_by_uri;
DROP INDEX builders_by_worker;
DROP INDEX builders_by_operator;

-- What a toolchain consists of: the components in its toolchain.json, and what its lock says it was made from. A tree
-- may have several labels; each part is there once.
CREATE TABLE toolchain_parts (
  instance  text   NOT NULL,
  tree_hash bytea  NOT NULL CHECK (length(tree_hash) = 32),
  kind      text   NOT NULL,  -- component; of a lock: package, wheel, source
  name      text   NOT NULL,
  version   text   NOT NULL,
  path      text   NOT NULL,  -- of a component, in the tree; '' for the others
  hash      bytea  NOT NULL CHECK (length(hash) = 32),
  size      bigint NOT NULL,
  PRIMARY KEY (instance, tree_hash, kind, name, path)
);
CREATE INDEX toolchain_parts_by_hash ON toolchain_parts (instance, hash, tree_hash);
CREATE INDEX toolchain_parts_by_name ON toolchain_parts (instance, name, version, tree_hash);
INSERT INTO toolchain_parts
SELECT t.instance, t.hash, 'component', c.part ->> 'name', c.part ->> 'version', c.part ->> 'path',
  decode(substr(c.part ->> 'digest', 8), 'hex'), coalesce((c.part ->> 'size')::bigint, 0)
FROM toolchains t CROSS JOIN LATERAL jsonb_array_elements(t.description::jsonb -> 'components') AS c(part)
ON CONFLICT DO NOTHING;

-- An artifact's submissions, oldest first: job ids begin with their time.
DROP INDEX job_targets_by_artifact;
CREATE INDEX job_targets_by_artifact ON job_targets (instance, artifact_hash, job_id);
