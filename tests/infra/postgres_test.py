#!/usr/bin/env python3
"""infra/postgres: a cluster in any path, whatever the environment is about."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from farm import ROOT

TOOL = ROOT / "infra/postgres"


class PostgresTest(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln postgres "))
        self.addCleanup(shutil.rmtree, self.home)

    def tool(self, command, place, environment=None):
        done = subprocess.run([TOOL, command, place, *(["--no-sync"] if command == "start" else [])], capture_output=True,
                              env=environment, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout

    def asked(self, conninfo):
        """As whoever gets the last line alone."""
        line = conninfo.splitlines()[-1]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        done = subprocess.run(["psql", "-XqtA", line, "-c", "SELECT 6 * 7"], capture_output=True, env=clean, timeout=60)
        self.assertEqual(done.stdout, b"42\n", done.stderr.decode(errors="replace"))

    def test_any_path(self):
        for name in ("plain", "it's a \"farm\", \\ and $HOME", "two\nlines", b"no utf-8: \xff\xfe", "n" * 120):
            with self.subTest(name=name):
                place = os.path.join(os.fsencode(self.home), os.fsencode(name))
                self.addCleanup(self.tool, "stop", place)
                self.asked(self.tool("start", place))
                self.asked(self.tool("status", place))
                self.tool("stop", place)
                self.assertFalse(os.path.exists(os.path.join(place, b"socket")), "something stayed outside")

    def test_any_environment(self):
        place = self.home / "pg"
        self.addCleanup(self.tool, "stop", place)
        other = {"PGHOST": "/nonexistent", "PGPORT": "9", "PGUSER": "nobody", "PGDATABASE": "x", "PGSERVICE": "x", "PGDATA": "/x",
                 "PGOPTIONS": "-c default_transaction_read_only=on", "PGTARGETSESSIONATTRS": "read-only"}
        self.asked(self.tool("start", place, {"PATH": os.environ["PATH"]} | other))


if __name__ == "__main__":
    unittest.main()
