-- Every version of recalls.json that was put in force, with the trust root that it was checked against. Of the farm, not
-- of a tenant: one root speaks for all. Both are documents that prove themselves; a row changes no verdict of a verifier.
CREATE TABLE recalls (
  version   bigint      PRIMARY KEY,
  document  text        NOT NULL,
  root      text        NOT NULL,
  published timestamptz NOT NULL
);
CREATE TRIGGER recalls_append_only BEFORE UPDATE OR DELETE ON recalls FOR EACH ROW EXECUTE FUNCTION refuse_change();
