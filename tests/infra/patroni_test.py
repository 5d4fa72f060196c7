#!/usr/bin/env python3
"""A farm on a pair of PostgreSQL servers under Patroni, whose primary is killed while jobs run.

Nothing that was acknowledged may be lost, no command may fail, and the audit stays clean. Prints how long calls took.
"""
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

from farm import ROOT, Farm, wait_for
from load import Load

sys.path.insert(0, str(ROOT / "tests/support"))
import patroni  # noqa: E402

lacking = None


class PatroniTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global lacking
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-patroni-", dir="/tmp"))
        cls.home.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.pair = patroni.Pair(cls.home / "pair")
        cls.addClassCleanup(cls.pair.down)
        try:
            cls.pair.up()
        except patroni.Missing as missing:
            lacking = missing
            raise unittest.SkipTest(str(missing))
        cls.farm = Farm(workers=2, options=("--no-sample", "--coordinators", "2", "--database", cls.pair.conninfo()))
        cls.addClassCleanup(cls.farm.close)

    def test_the_primary_is_killed(self):
        with Load(self.farm, threads=3, seed=4) as load:
            wait_for(lambda: load.artifacts and load.acknowledged, 180, "first artifacts")
            began, before = time.monotonic(), self.pair.kill()
            after = wait_for(lambda: self.pair.primary() not in (None, before) and self.pair.primary(), 120, "the standby takes over")
            took = time.monotonic() - began
            so_far = len(load.artifacts)
            wait_for(lambda: len(load.artifacts) > so_far + 2 or load.failures, 240, "builds go on")
            again = time.monotonic() - began
            self.pair.start()
            self.pair.wait_for_standby()
        load.check(self)
        print(f"{before} was killed, {after} took over after {took:.1f} s, three more artifacts came within {again:.1f} s; "
              "builds: {}; calls: median {:.2f} s, 99 of 100 {:.2f} s, longest {:.2f} s".format(
                  len(load.acknowledged) + len(load.artifacts), *load.gap()), flush=True)


if __name__ == "__main__":
    program = unittest.main(exit=False)
    sys.exit(77 if lacking and program.result.wasSuccessful() else not program.result.wasSuccessful())
