-- Posting lists of one small, fixed width: what a statement mentions as 16 bytes, the statement as its time and 8 bytes. All
-- lists together then stay in memory, and an intersection is a walk along one beside look-ups in the others. Both columns
-- follow from the row: whoever inserts a mention, an earlier release too, need not know of them.
--
-- The term of a list: the first half of the SHA-256 of value, kind and instance (kiln::index::termOf computes it too).
-- `decode` rather than `convert_to`, which is not immutable: its backslashes are escapes.
CREATE FUNCTION mention_term(instance text, kind smallint, value bytea) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$SELECT encode(substr(sha256(value || int2send(kind) || decode(replace(instance, '\', '\\'), 'escape')), 1, 16), 'hex')::uuid$$;
-- Tells statements of one time apart: the first 8 bytes of the payload's digest.
CREATE FUNCTION statement_number(payload_hash bytea) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$SELECT ('x' || encode(substr(payload_hash, 1, 8), 'hex'))::bit(64)::bigint$$;

ALTER TABLE mentions
  ADD COLUMN term uuid NOT NULL GENERATED ALWAYS AS (mention_term(instance, kind, value)) STORED,
  ADD COLUMN statement bigint NOT NULL GENERATED ALWAYS AS (statement_number(payload_hash)) STORED;

-- Who submitted (kind 9), for whoever asks for it together with other conditions: of every statement about an artifact
-- that a job of theirs came to, and of every statement that their job had made. The farm's record, as jobs.submitter is.
INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash)
SELECT s.instance, 9, sha256(convert_to(j.submitter, 'UTF8')),
  bool_or(s.predicate_type = 'https://slsa.dev/provenance/v1' OR j.id = s.job_id), s.recorded, s.payload_hash
FROM statements s
JOIN job_targets t ON t.instance = s.instance AND t.artifact_hash = s.artifact_hash
JOIN jobs j ON j.instance = t.instance AND j.id = t.job_id
GROUP BY s.instance, s.payload_hash, j.submitter ON CONFLICT DO NOTHING;

-- The oldest statement about an artifact: what submitters it has, all have.
CREATE FUNCTION oldest_statement(instance text, artifact_hash bytea, but bytea) RETURNS bytea LANGUAGE sql STABLE AS
  $$SELECT s.payload_hash FROM statements s WHERE s.instance = $1 AND s.artifact_hash = $2 AND s.payload_hash <> $3
    ORDER BY s.recorded LIMIT 1$$;

CREATE FUNCTION mention_submitter_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  who bytea := (SELECT sha256(convert_to(submitter, 'UTF8')) FROM jobs WHERE instance = NEW.instance AND id = NEW.job_id);
BEGIN
  IF EXISTS (SELECT FROM mentions WHERE instance = NEW.instance AND kind = 9 AND value = who
             AND payload_hash = oldest_statement(NEW.instance, NEW.artifact_hash, '')) THEN
    RETURN NULL;
  END IF;
  INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash)
  SELECT s.instance, 9, who, s.predicate_type = 'https://slsa.dev/provenance/v1' OR s.job_id = NEW.job_id, s.recorded,
    s.payload_hash
  FROM statements s WHERE s.instance = NEW.instance AND s.artifact_hash = NEW.artifact_hash AND who IS NOT NULL
  ORDER BY s.recorded, s.payload_hash ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER job_targets_submitter AFTER INSERT OR UPDATE OF artifact_hash ON job_targets
  FOR EACH ROW WHEN (NEW.artifact_hash IS NOT NULL) EXECUTE FUNCTION mention_submitter_of_job();

-- A new statement has its own job's submitter, and all that the artifact's oldest one has.
CREATE FUNCTION mention_submitters_of_statement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash)
  SELECT NEW.instance, 9, v.value, bool_or(v.own) OR NEW.predicate_type = 'https://slsa.dev/provenance/v1', NEW.recorded,
    NEW.payload_hash
  FROM (
    SELECT sha256(convert_to(j.submitter, 'UTF8')) AS value, true AS own FROM jobs j
    WHERE j.instance = NEW.instance AND j.id = NEW.job_id
    UNION ALL
    SELECT m.value, false FROM mentions m
    WHERE m.instance = NEW.instance AND m.kind = 9
      AND m.payload_hash = oldest_statement(NEW.instance, NEW.artifact_hash, NEW.payload_hash)) v
  GROUP BY v.value ORDER BY v.value ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER statements_submitters AFTER INSERT ON statements
  FOR EACH ROW EXECUTE FUNCTION mention_submitters_of_statement();

CREATE INDEX mentions_by_term ON mentions (term, own, recorded, statement);
DROP INDEX mentions_by_time;  -- mentions_by_term answers what it was for
CREATE INDEX statements_by_time ON statements (instance, recorded, statement_number(payload_hash));

-- Checks name the devices they ran on since this release: what earlier ones left is read again (kiln::index::MentionKind).
UPDATE statements s SET signer = NULL
WHERE s.predicate_type = 'urn:kiln:predicate:check:v1' AND NOT EXISTS (
  SELECT FROM mentions m WHERE m.instance = s.instance AND m.payload_hash = s.payload_hash AND m.kind = 10);
