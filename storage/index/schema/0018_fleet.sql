-- Who a worker is: a name under an operator, speaking with one key from one place at a time. The table `workers`, by name alone,
-- is read by coordinators of the release before and still written for them; nothing else reads it.
CREATE TABLE fleet (
  operator      text        NOT NULL,
  name          text        NOT NULL,
  key           bytea       NOT NULL CHECK (length(key) = 32),  -- SHA-256 of its certificate's SubjectPublicKeyInfo
  place         text        NOT NULL,  -- the address that it calls from
  instances     text[],                -- whose work it may have and who may see it; NULL: every instance
  certificate   bytea       NOT NULL,  -- SHA-256 of the PEM text last presented
  description   bytea       NOT NULL,  -- kiln.v1.WorkerDescription
  targets       text[]      NOT NULL,
  runs          text[]      NOT NULL,
  emulates      text[]      NOT NULL,
  kinds         smallint[]  NOT NULL,  -- kiln.v1.ActionKind
  draining      boolean     NOT NULL,
  first_contact timestamptz NOT NULL,
  last_contact  timestamptz NOT NULL,
  PRIMARY KEY (operator, name)
);

-- Of the certificate that the lease was given to; empty: by a coordinator of the release before.
ALTER TABLE runs ADD COLUMN worker_key bytea NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN error_code integer NOT NULL DEFAULT 0;  -- canonical, with `error`
-- Two operators may each have a worker of one name, and both may have built an artifact.
ALTER TABLE builders DROP CONSTRAINT builders_pkey;
ALTER TABLE builders ADD PRIMARY KEY (instance, payload_hash, operator, worker);
-- New in attempts.outcome: 'final', a failure without a receipt that its worker calls one for ever. New in runs.avoid_worker and
-- runs.excluded_workers: "operator/name".
