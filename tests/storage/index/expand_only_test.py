#!/usr/bin/env python3
"""Schema changes keep the release before running: they add, or say from which schema on a release does without what they take away.

The rule: storage/index/README.md. Migrations up to 0023 are from before it.
"""
import pathlib
import re
import unittest

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "storage/index/schema"
BEFORE_THE_RULE = 23
CONTRACT = re.compile(r"^-- Contract: runs from (\d+)", re.M)

# What a statement of the release before may stand on. An index may go: but for the unique one of an ON CONFLICT, no statement names it.
TAKES_AWAY = {
    "drops a table, a view, a sequence, a type or a function": r"DROP (?:MATERIALIZED )?(?:TABLE|VIEW|SEQUENCE|TYPE|FUNCTION|SCHEMA)\b",
    "drops a column": r"DROP COLUMN\b",
    "drops a constraint, which an ON CONFLICT may name by its columns": r"DROP CONSTRAINT\b",
    "renames": r"\bRENAME\b",
    "changes a column's type": r"ALTER COLUMN \w+ (?:SET DATA )?TYPE\b",
    "refuses rows that the release before writes": r"ALTER COLUMN \w+ SET NOT NULL\b",
    "takes a default away": r"ALTER COLUMN \w+ DROP DEFAULT\b",
    "adds a column that the release before leaves out": r"ADD COLUMN (?:IF NOT EXISTS )?\w+ (?![^,;]*\b(?:DEFAULT|GENERATED)\b)[^,;]*\bNOT NULL\b",
    "adds a constraint to a table that is there": r"ALTER TABLE [^;]*\bADD (?:CONSTRAINT|CHECK|UNIQUE|FOREIGN|PRIMARY)\b",
    "deletes rows": r"\b(?:DELETE FROM|TRUNCATE)\b",
}


def statements(sql):
    """The SQL without comments and without what stands in quotes and in functions' bodies."""
    sql = re.sub(r"--[^\n]*", "", sql)
    sql = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", sql, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"'[^']*'", "''", sql))


def taken_away(sql):
    text = statements(sql)
    return [what for what, pattern in TAKES_AWAY.items() if re.search(pattern, text, re.I)]


class ExpandOnly(unittest.TestCase):
    def test_migrations(self):
        files = sorted(SCHEMA.glob("*.sql"))
        self.assertGreaterEqual(len(files), BEFORE_THE_RULE)
        for path in files:
            number, sql = int(path.name[:4]), path.read_text()
            if number <= BEFORE_THE_RULE:
                continue
            contract = CONTRACT.search(sql)
            with self.subTest(path.name):
                if contract:
                    self.assertLess(int(contract.group(1)), number, "releases before it are to run on it")
                    continue
                self.assertEqual(taken_away(sql), [], "the release before fails on it: add now, and take away two releases on, "
                                 "with a line -- Contract: runs from NNNN (storage/index/README.md)")

    def test_what_it_sees(self):
        for sql in ("DROP TABLE t", "ALTER TABLE t DROP COLUMN c", "ALTER TABLE t RENAME c TO d", "ALTER TABLE t RENAME TO u",
                    "ALTER TABLE t ALTER COLUMN c TYPE bigint", "ALTER TABLE t ALTER COLUMN c SET NOT NULL",
                    "ALTER TABLE t ADD COLUMN c int NOT NULL", "ALTER TABLE t\n  ADD COLUMN c int CHECK (c > 0) NOT NULL;",
                    "ALTER TABLE t ADD COLUMN a int DEFAULT 1, ADD COLUMN b int NOT NULL",
                    "ALTER TABLE t ADD CONSTRAINT k CHECK (c > 0)", "ALTER TABLE t DROP CONSTRAINT t_pkey", "DELETE FROM t"):
            self.assertNotEqual(taken_away(sql), [], sql)
        for sql in ("CREATE TABLE t (c int NOT NULL, PRIMARY KEY (c))", "DROP INDEX i", "ALTER TABLE t ADD COLUMN c int",
                    "ALTER TABLE t ADD COLUMN c int NOT NULL DEFAULT 0", "-- DROP TABLE t\nCREATE INDEX i ON t (c)",
                    "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN DELETE FROM t; END $$ LANGUAGE plpgsql",
                    "INSERT INTO t VALUES ('DROP TABLE t')", "DROP TRIGGER g ON t; CREATE TRIGGER g BEFORE INSERT ON t EXECUTE FUNCTION f()"):
            self.assertEqual(taken_away(sql), [], sql)


if __name__ == "__main__":
    unittest.main()
