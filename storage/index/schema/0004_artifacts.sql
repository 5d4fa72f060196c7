-- Published artifacts. Everything here can be recomputed from the signed statements; it is an index, never an authority.
CREATE TABLE artifacts (
  instance        text        NOT NULL,
  hash            bytea       NOT NULL CHECK (length(hash) = 32),  -- of the OCI image manifest
  size            bigint      NOT NULL,
  config_hash     bytea       NOT NULL,  -- of the Manifest
  config_size     bigint      NOT NULL,
  target          text        NOT NULL,
  toolchain_label text        NOT NULL,
  toolchain_hash  bytea       NOT NULL,
  fixtures_hash   bytea,
  fixtures_size   bigint,
  published       timestamptz NOT NULL,
  PRIMARY KEY (instance, hash)
);
CREATE INDEX artifacts_by_config ON artifacts (instance, config_hash);
CREATE INDEX artifacts_newest ON artifacts (instance, published DESC, hash);
CREATE INDEX artifacts_by_toolchain ON artifacts (instance, toolchain_hash, published);

-- The cache: which artifact a compile action became.
CREATE TABLE artifact_actions (
  instance      text  NOT NULL,
  action_hash   bytea NOT NULL,
  artifact_hash bytea NOT NULL,
  PRIMARY KEY (instance, action_hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE
);
CREATE INDEX artifact_actions_by_artifact ON artifact_actions (instance, artifact_hash);

CREATE TABLE artifact_files (
  instance      text   NOT NULL,
  artifact_hash bytea  NOT NULL,
  path          text   NOT NULL,
  media_type    text   NOT NULL,
  hash          bytea  NOT NULL,
  size          bigint NOT NULL,
  PRIMARY KEY (instance, artifact_hash, path),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE
);
CREATE INDEX artifact_files_by_blob ON artifact_files (instance, hash);

-- Signed statements, by the digest of their payload, with the bundle that carries each.
CREATE TABLE statements (
  instance       text        NOT NULL,
  payload_hash   bytea       NOT NULL,
  artifact_hash  bytea       NOT NULL,
  predicate_type text        NOT NULL,
  bundle_hash    bytea       NOT NULL,
  bundle_size    bigint      NOT NULL,
  job_id         text        NOT NULL,
  recorded       timestamptz NOT NULL,
  PRIMARY KEY (instance, payload_hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE
);
CREATE INDEX statements_by_bundle ON statements (instance, bundle_hash);
CREATE INDEX statements_by_artifact ON statements (instance, artifact_hash, recorded);

-- The edges: what went into an artifact, and who built it, each named by the statement that says so.
CREATE TABLE materials (
  instance      text  NOT NULL,
  payload_hash  bytea NOT NULL,
  artifact_hash bytea NOT NULL,
  kind          text  NOT NULL,  -- model, data, toolchain, component
  name          text  NOT NULL,
  uri           text  NOT NULL,  -- '' for a plain upload
  hash          bytea NOT NULL,
  size          bigint NOT NULL,
  PRIMARY KEY (instance, payload_hash, kind, name),
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX materials_by_artifact ON materials (instance, artifact_hash);
CREATE INDEX materials_by_hash ON materials (instance, hash, artifact_hash);
CREATE INDEX materials_by_uri ON materials (instance, uri, artifact_hash) WHERE uri <> '';

CREATE TABLE builders (
  instance      text  NOT NULL,
  payload_hash  bytea NOT NULL,
  artifact_hash bytea NOT NULL,
  worker        text  NOT NULL,
  operator      text  NOT NULL,
  PRIMARY KEY (instance, payload_hash, worker),
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX builders_by_artifact ON builders (instance, artifact_hash);
CREATE INDEX builders_by_worker ON builders (instance, worker, artifact_hash);
CREATE INDEX builders_by_operator ON builders (instance, operator, artifact_hash);
