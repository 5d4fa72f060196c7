#!/usr/bin/env python3
"""Rewrites rows of a farm's database as its administrator could, triggers off, and asks who notices.

usage: tests/outside/rows.py [--only NAME] [--keep]
A farm of its own is started by infra/up and builds three artifacts, X, Y and Z. Then, for each case: the table is put by, rows are rewritten,
deleted or swapped, the commands of the case are run, `kiln audit` is asked, and the table is put back. Printed is what each
command came to. Exits 1 where a client was given something false without a word (a build that ends with 0 and another artifact than
X, a fetch of other bytes), where audit says nothing about rows that it answers for, or where it cries on an untouched farm.
"""
import argparse
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/infra"))
sys.dont_write_bytecode = True
from farm import MODELS, Farm, artifact_of  # noqa: E402

PSQL = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]


class Case:
    """`sql` rewrites `tables`; {X}, {Y} stand for hashes as bytea. `audit`: whether audit is to notice; None: it need not, since
    clients take the same from what is signed (a verdict's statement, the log's tiles)."""

    def __init__(self, name, tables, sql, audit, commands=("build", "fetch")):
        self.name, self.tables, self.sql, self.audit, self.commands = name, tables.split(), sql, audit, commands


CASES = (
    Case("a job's artifact is another's", "job_targets", "UPDATE job_targets SET artifact_hash = {Y} WHERE artifact_hash = {X}", None),
    Case("an action's artifact is another's", "artifact_actions",
         "UPDATE artifact_actions SET artifact_hash = {Y} WHERE artifact_hash = {X}", None),
    Case("files are another's", "artifact_files", "UPDATE artifact_files f SET hash = g.hash, size = g.size FROM artifact_files g "
         "WHERE f.artifact_hash = {X} AND g.artifact_hash = {Y} AND f.path = g.path", None),
    Case("statements are another's", "statements", "UPDATE statements s SET bundle_hash = t.bundle_hash, bundle_size = t.bundle_size "
         "FROM statements t WHERE s.artifact_hash = {X} AND t.artifact_hash = {Y} AND s.predicate_type = t.predicate_type", True),
    Case("no mentions", "mentions", "DELETE FROM mentions", True, ("affected",)),
    Case("a size is below zero", "artifact_files", "UPDATE artifact_files SET size = -size", True, ("build", "fetch", "show")),
    Case("a time is infinite", "artifacts", "UPDATE artifacts SET published = 'infinity'", None, ("show",)),
    Case("builders are others", "builders", "UPDATE builders SET operator = 'acme', worker = 'w9'", True, ("provenance",)),
    Case("the verdict is flipped", "verdicts", "UPDATE verdicts SET passed = NOT passed", None, ("show",)),
    Case("materials are others", "materials", "UPDATE materials SET hash = decode(repeat('aa', 32), 'hex')", True, ("provenance",)),
    Case("a leaf of the log is another", "signatures", "UPDATE signatures SET leaf = leaf || '\\x20'::bytea WHERE log_index = 1", None,
         ("log",)),
    Case("another compile's result", "action_results artifact_actions", "DELETE FROM artifact_actions; UPDATE action_results r SET "
         "result = s.result, outputs_hash = s.outputs_hash, receipt = s.receipt, certificate = s.certificate FROM (SELECT * FROM "
         "action_results WHERE exit_code = 0 ORDER BY action_hash LIMIT 1) s WHERE r.exit_code = 0", None),
)


class Administrator:
    def __init__(self, farm):
        self.farm, self.broken = farm, []
        self.database = subprocess.run([ROOT / "infra/postgres", "status", farm.dir / "pg"], check=True, capture_output=True,
                                       text=True).stdout.strip()
        self.artifacts = [self.built(size) for size in (1, 2, 3)]

    def built(self, size):
        done = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", f"N=1:1:{size}")
        assert done.returncode == 0, done.stderr
        return artifact_of(done)

    def sql(self, text):
        done = subprocess.run([PSQL, "-XAt", "-v", "ON_ERROR_STOP=1", "-d", self.database, "-c",
                               f"SET session_replication_role = replica; {text}"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{text}: {done.stderr}")
        return "\n".join(done.stdout.splitlines()[1:])  # after SET

    def columns(self, table):
        """Those that may be written: generated ones come by themselves."""
        return self.sql("SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns "
                        f"WHERE table_schema = 'public' AND table_name = '{table}' AND is_generated = 'NEVER'")

    def rest(self):
        """Until nothing is left to be judged: what is published over rewritten rows would say what they say."""
        for _ in range(60):
            if self.sql("SELECT count(*) FROM verdicts_due") == "0":
                return
            time.sleep(0.5)
        raise RuntimeError("the farm does not come to rest")

    def put_back(self, table):
        """As it was; what the farm has added since stays."""
        columns = self.columns(table)
        key = self.sql("SELECT string_agg(quote_ident(a.attname), ', ') FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
                       f"AND a.attnum = ANY(i.indkey) WHERE i.indrelid = '{table}'::regclass AND i.indisprimary")
        self.sql(f"DELETE FROM {table} WHERE ctid IN (SELECT place FROM seen_{table}) OR ({key}) IN (SELECT {key} FROM kept_{table}); "
                 f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM kept_{table}; "
                 f"DROP TABLE kept_{table}, seen_{table}")

    def audit(self):
        done = self.farm.kiln("audit")
        return done.returncode, (done.stdout + done.stderr).strip().splitlines()

    def ask(self, command):
        """(exit code, last line, what is false about it)."""
        x = self.artifacts[0]
        out = self.farm.home / "fetched"
        arguments = {"fetch": ("fetch", x, "--out", out), "affected": ("affected", "--operator", "development"), "log": ("log", "verify"),
                     "show": ("show", x), "provenance": ("provenance", x)}
        if command == "build":
            done = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        else:
            done = self.farm.kiln(*arguments[command])
        false = ""
        if command == "build" and done.returncode == 0 and artifact_of(done) != x:
            false = f"a build of X ends with {artifact_of(done)}"
        if command == "fetch" and out.exists():
            if self.farm.kiln("verify", out).returncode != 0:
                false = "what was fetched does not verify"
            subprocess.run(["rm", "-rf", out], check=True)
        if done.returncode < 0 or done.returncode > 127 or "terminate called" in done.stderr:
            false = f"kiln {command} crashed"
        return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1:], false

    def try_one(self, case):
        print(f"== {case.name}")
        hashes = {name: f"decode('{artifact.removeprefix('sha256:')}', 'hex')" for name, artifact in zip("XYZ", self.artifacts)}
        self.rest()
        for table in case.tables:
            self.sql(f"CREATE TABLE kept_{table} AS TABLE {table}")
        done = self.sql(case.sql.format(**hashes)).splitlines()
        assert not any(line.endswith(" 0") for line in done), f"changes nothing: {done}"
        for table in case.tables:
            self.sql(f"CREATE TABLE seen_{table} AS SELECT ctid AS place FROM {table}")
        try:
            for command in case.commands:
                code, said, false = self.ask(command)
                print(f"   {command:<10} exit {code}  {' '.join(said)[:150]}")
                if false:
                    self.broken.append(f"{case.name}: {false}")
            code, said = self.audit()
            print(f"   audit      exit {code}  {said[0][:150] if said else ''}")
            if case.audit and code != 5:
                self.broken.append(f"{case.name}: audit ends with {code}")
        finally:
            for table in case.tables:
                self.put_back(table)
        for _ in range(10):  # what the farm was just publishing comes to rest
            code, said = self.audit()
            if code == 0:
                return
            time.sleep(1)
        self.broken.append(f"{case.name}: put back, audit ends with {code}: {' '.join(said)[:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("--keep", action="store_true", help="leave the farm's directory, stopped")
    arguments = parser.parse_args()
    farm = Farm(workers=1, options=("--no-sample",))
    if farm.first.returncode != 0:
        sys.exit(farm.first.stderr)
    try:
        administrator = Administrator(farm)
        code, said = administrator.audit()
        if code != 0:
            administrator.broken.append(f"on an untouched farm audit ends with {code}: {said}")
        for case in CASES:
            if not arguments.only or arguments.only in case.name:
                administrator.try_one(case)
    finally:
        if arguments.keep:
            print(f"kept: {farm.home}")
            farm.stop()
        else:
            farm.close()
    for fault in administrator.broken:
        print("BROKEN", fault)
    sys.exit(1 if administrator.broken else 0)


if __name__ == "__main__":
    main()
