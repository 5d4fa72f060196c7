-- Whose policies are in force, of several coordinators: those of the one that started last. Another one, with other policies, would
-- otherwise have every artifact judged again, and a verdict signed, each time that it comes to its turn.
CREATE TABLE policies_in_force (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  policies bytea   NOT NULL CHECK (length(policies) = 32)  -- the digest of all instances' policies together
);
