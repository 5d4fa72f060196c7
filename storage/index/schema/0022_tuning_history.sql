-- What is known of each kernel, by the record that says so: the latest one that counts decides, so that a recall lets an earlier
-- one count again. tuning_entries stays for the release before, which knows the latest alone; what that writes comes here too.
CREATE TABLE tuning_history (
  instance    text  NOT NULL,
  target      text  NOT NULL,
  signature   text  NOT NULL,  -- "sha256:<hex>" of a kernel
  entry       text  NOT NULL,  -- {"schedule","template"}; "": the default is best
  record_hash bytea NOT NULL,
  PRIMARY KEY (instance, target, signature, record_hash),
  FOREIGN KEY (instance, record_hash) REFERENCES tuning_records (instance, record_hash)
);
CREATE INDEX tuning_history_by_record ON tuning_history (instance, record_hash);
INSERT INTO tuning_history (instance, target, signature, entry, record_hash)
  SELECT instance, target, signature, entry, record_hash FROM tuning_entries;

CREATE FUNCTION keep_tuning_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tuning_history (instance, target, signature, entry, record_hash)
    VALUES (NEW.instance, NEW.target, NEW.signature, NEW.entry, NEW.record_hash) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER tuning_entries_kept AFTER INSERT OR UPDATE ON tuning_entries FOR EACH ROW EXECUTE FUNCTION keep_tuning_entry();

-- Of a lease that ended because its job was cancelled: the receipt of the one report that counts, the first.
ALTER TABLE attempts ADD COLUMN receipt_hash bytea;
