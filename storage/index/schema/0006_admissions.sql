-- The signed statement that a label was given, beside `toolchains`, which is append-only. A label has one, and a second
-- one if its lock became known only later; what was said never changes.
CREATE TABLE toolchain_admissions (
  instance     text        NOT NULL,
  label        text        NOT NULL,
  locked       boolean     NOT NULL,
  lock_hash    bytea       CHECK (length(lock_hash) = 32),  -- ToolchainLock: what the tree was made from
  lock_size    bigint,
  payload_hash bytea       NOT NULL CHECK (length(payload_hash) = 32),
  bundle_hash  bytea       NOT NULL CHECK (length(bundle_hash) = 32),
  bundle_size  bigint      NOT NULL,
  admitted     timestamptz NOT NULL,
  PRIMARY KEY (instance, label, locked),
  FOREIGN KEY (instance, label) REFERENCES toolchains (instance, label),
  CHECK (locked = (lock_hash IS NOT NULL) AND locked = (lock_size IS NOT NULL))
);
CREATE TRIGGER toolchain_admissions_append_only BEFORE UPDATE OR DELETE ON toolchain_admissions
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
