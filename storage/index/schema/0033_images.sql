-- Container images of published artifacts (manifest/artifact/oci_image.h). The images are not stored: config and manifest follow from
-- these columns, and the layers from the artifact's files and the bundles. A row that was tampered with makes another digest than its own,
-- and is then served to nobody. Rows stay as long as their artifact: somebody may have written the digest down.
CREATE TABLE artifact_images (
  instance       text        NOT NULL,
  hash           bytea       NOT NULL CHECK (length(hash) = 32),  -- of the image's OCI manifest
  artifact_hash  bytea       NOT NULL,
  config_hash    bytea       NOT NULL CHECK (length(config_hash) = 32),
  files_hash     bytea       NOT NULL CHECK (length(files_hash) = 32),  -- the layer of the artifact's own files
  files_size     bigint      NOT NULL,
  evidence_hash  bytea       NOT NULL CHECK (length(evidence_hash) = 32),  -- the layer of bundles
  evidence_size  bigint      NOT NULL,
  bundles        text[]      NOT NULL,  -- in that layer, each as HASH/SIZE
  payload_hash   bytea       NOT NULL,  -- of the statement that names image and artifact
  referrer_hash  bytea       NOT NULL CHECK (length(referrer_hash) = 32),  -- of its bundle's OCI manifest with the image as subject
  made           timestamptz NOT NULL,
  PRIMARY KEY (instance, hash),
  FOREIGN KEY (instance, artifact_hash) REFERENCES artifacts (instance, hash) ON DELETE CASCADE,
  FOREIGN KEY (instance, payload_hash) REFERENCES statements (instance, payload_hash) ON DELETE CASCADE
);
CREATE INDEX artifact_images_by_artifact ON artifact_images (instance, artifact_hash);
CREATE INDEX artifact_images_by_config ON artifact_images (instance, config_hash);
CREATE INDEX artifact_images_by_files ON artifact_images (instance, files_hash);
CREATE INDEX artifact_images_by_evidence ON artifact_images (instance, evidence_hash);
CREATE INDEX artifact_images_by_referrer ON artifact_images (instance, referrer_hash);
CREATE INDEX artifact_images_by_statement ON artifact_images (instance, payload_hash);
