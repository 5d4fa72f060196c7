#!/usr/bin/env python3
"""A rolling upgrade under load: coordinators of two releases on one database, one taking the place of the other.

KILN_OTHER_BUILD names the folder with the programs of the next release (its build/release/bin), or of the one before: that one
then starts first. Without it the next release is this build itself on a schema that is ahead by two migrations, which is what a
coordinator of the release before meets.
"""
import json
import os
import pathlib
import subprocess
import unittest

from farm import ROOT, Farm, wait_for
from load import Load, leases_of, restarted, serving

OTHER = os.environ.get("KILN_OTHER_BUILD")
NAMES = ["coordinator", "coordinator-2"]
# What releases to come may do to the schema: storage/index/README.md, "Expand, migrate, contract".
AHEAD = """
ALTER TABLE jobs ADD COLUMN of_a_later_release text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN of_a_later_release bigint;
CREATE TABLE of_a_later_release (instance text NOT NULL, n int NOT NULL);
CREATE FUNCTION of_a_later_release() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN INSERT INTO of_a_later_release VALUES (NEW.instance, 1); RETURN NEW; END $$;
CREATE TRIGGER of_a_later_release AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION of_a_later_release();
INSERT INTO schema_version (number, name, sha256) SELECT max(number) + 1, 'later', 'x' FROM schema_version;
INSERT INTO schema_version (number, name, sha256) SELECT max(number) + 1, 'still later', 'x' FROM schema_version;
"""


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=2, options=("--no-sample", "--coordinators", "2"))

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def sql(self, text):
        database = subprocess.run([ROOT / "infra/postgres", "status", self.farm.dir / "pg"], capture_output=True, text=True, check=True).stdout.strip()
        return subprocess.run(["psql", database, "-v", "ON_ERROR_STOP=1", "-At", "--single-transaction", "-c", text],
                              capture_output=True, text=True, check=True).stdout.strip()

    def replaced(self, name, programs):
        """Ends the coordinator as an upgrade does, and starts that of the other build in its place."""
        before = self.farm.pid(name)
        if programs:
            listed = self.farm.dir / "run/services.json"
            services = json.loads(listed.read_text())
            for service in services["services"]:
                if service["name"] == name:
                    service["command"][0] = str(pathlib.Path(programs) / "kiln-coordinator")
            listed.write_text(json.dumps(services))
            subprocess.run([ROOT / "infra/lib/supervisor.py", "reload", self.farm.dir], check=True)
        self.farm.kill(name, 15)
        wait_for(lambda: restarted(self.farm, name, before), 60, f"{name} is another process")
        endpoint = self.farm.env["KILN_ENDPOINT"].split(",")[NAMES.index(name)]
        wait_for(lambda: serving(self.farm, endpoint), 120, f"{name} serves: see {self.farm.dir}/logs/{name}.log")

    def test_one_after_the_other(self):
        with Load(self.farm, threads=3, seed=3) as load:
            wait_for(lambda: load.artifacts, 120, "a first artifact")
            if not OTHER:
                print("no KILN_OTHER_BUILD: this build, on a schema two migrations ahead", flush=True)
                self.sql(AHEAD)
            for name in NAMES:
                self.replaced(name, OTHER)
                so_far = len(load.artifacts)
                wait_for(lambda: len(load.artifacts) > so_far + 2 or load.failures, 240, "builds go on with both")
        load.check(self)
        print("builds: {}; calls: median {:.2f} s, 99 of 100 {:.2f} s, longest {:.2f} s; leases given: {}".format(
            len(load.acknowledged) + len(load.artifacts), *load.gap(), leases_of(self.farm, NAMES)), flush=True)
        if not OTHER:
            self.assertEqual(int(self.sql("SELECT count(*) FROM of_a_later_release")) > 0, True, "what is new works as well")

    def test_what_takes_away_too_much_is_refused(self):
        if OTHER:
            self.skipTest("with KILN_OTHER_BUILD the schema is that of the newer build")
        number = self.sql("INSERT INTO schema_version (number, name, sha256, runs_from) SELECT max(number) + 1, 'contract', 'x', "
                          "max(number) + 1 FROM schema_version RETURNING number").splitlines()[0]
        self.addCleanup(self.sql, f"DELETE FROM schema_version WHERE number = {number}")
        self.farm.kill("coordinator-2", 15)
        log = self.farm.dir / "logs/coordinator-2.log"
        wait_for(lambda: f"has schema {number}, on which releases run that know schema {number}" in log.read_text(errors="replace"), 60,
                 "it says why it does not start")
        self.assertTrue(serving(self.farm, self.farm.env["KILN_ENDPOINT"]), "the other one goes on")


if __name__ == "__main__":
    unittest.main()
