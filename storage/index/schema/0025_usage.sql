-- What each instance has used, for its quotas (coordinator/quota/usage.h): counted as it happens, never summed up. One row per
-- resource, of the window that was counted last.
CREATE TABLE usage (
  instance text        NOT NULL,
  resource smallint    NOT NULL,  -- 1 bytes stored, 2 bytes uploaded, 3 entries of the log, 4 seconds of GPUs
  since    timestamptz NOT NULL,  -- when the window began: an hour of 2, a day (UTC) of 3 and 4; of 1 the epoch, it has none
  amount   bigint      NOT NULL CHECK (amount >= 0),
  PRIMARY KEY (instance, resource)
);

CREATE FUNCTION count_usage(whose text, what smallint, window_began timestamptz, by bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage AS u (instance, resource, since, amount) VALUES (whose, what, window_began, by)
  ON CONFLICT (instance, resource) DO UPDATE SET since = excluded.since,
    amount = excluded.amount + CASE WHEN u.since = excluded.since THEN u.amount ELSE 0 END
$$;

-- Whoever signs, of whatever release.
CREATE FUNCTION count_log_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_usage(NEW.instance, 3::smallint, date_trunc('day', NEW.signed_at, 'UTC'), 1);
  RETURN NULL;
END $$;
CREATE TRIGGER signatures_counted AFTER INSERT ON signatures FOR EACH ROW WHEN (NEW.instance IS NOT NULL)
  EXECUTE FUNCTION count_log_entry();

-- However a lease ends that held GPUs. A target of several parts held a device for each that is no processor.
CREATE FUNCTION count_gpu_time() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gpus integer;
BEGIN
  SELECT count(*) INTO gpus FROM runs r, unnest(string_to_array(r.target, ',')) AS part
  WHERE r.instance = NEW.instance AND r.id = NEW.run_id AND r.kind IN (4, 7) AND NOT r.emulated AND part NOT LIKE 'cpu:%';
  IF gpus > 0 AND NEW.ended > NEW.leased THEN
    PERFORM count_usage(NEW.instance, 4::smallint, date_trunc('day', NEW.ended, 'UTC'),
      ceil(extract(epoch FROM NEW.ended - NEW.leased) * gpus)::bigint);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_gpu_time AFTER UPDATE ON attempts FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL)
  EXECUTE FUNCTION count_gpu_time();
