#!/usr/bin/env python3
"""Debian's Bazel builds a small C++ project by a farm of infra/up --reapi: remote execution with a tree that has the compiler, a
second build that is all hits, and the cache alone.

usage: reapi_bazel_test.py [-v]     Exit 77 if Bazel or remotetool cannot be had.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import toolchain_root
from buildbarn import free_ports, programs
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import Farm  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent / "bazel_project"


def want_bazel():
    if shutil.which("bazel"):
        return
    if os.geteuid() != 0 or subprocess.run(["apt-get", "install", "-y", "-qq", "bazel-bootstrap"], capture_output=True).returncode:
        raise Skip("Debian's bazel-bootstrap cannot be installed")


class ReapiBazelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.remotetool = programs() / "remotetool"
        port = free_ports(1)[0]
        cls.address = f"127.0.0.1:{port}"
        cls.farm = Farm(workers=2, options=("--no-sample", "--reapi", str(port)))
        assert cls.farm.first.returncode == 0, cls.farm.first.stdout + cls.farm.first.stderr
        # Bazel takes no path with a space, which the farm's has.
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-bazel-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.project = cls.home / "project"
        shutil.copytree(PROJECT, cls.project)

    @classmethod
    def tearDownClass(cls):
        cls.bazel("shutdown")
        cls.farm.close()

    @classmethod
    def bazel(cls, *words, **more):
        return subprocess.run(["bazel", f"--output_user_root={cls.home}/bazel", *words], capture_output=True, text=True,
                              timeout=1200, cwd=cls.project, **more)

    def build(self, *options):
        done = self.bazel("build", "//:hello", *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def uploaded_root(self):
        root = self.farm.home / "root"
        toolchain_root.make(root)
        done = subprocess.run([self.remotetool, "-service_no_security", "-service", self.address, "-operation", "upload_dir",
                               "-path", root, "-logtostderr"], capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = re.findall(r"\b([0-9a-f]{64})/(\d+)\b", done.stdout + done.stderr)
        self.assertTrue(found, done.stdout + done.stderr)
        return found[-1]

    def hello(self):
        return subprocess.run([self.project / "bazel-bin/hello"], capture_output=True, text=True, check=True).stdout

    def test_a_project_is_built_remotely_and_then_all_hits(self):
        tree, size = self.uploaded_root()
        remote = ("--spawn_strategy=remote", f"--remote_executor=grpc://{self.address}",
                  f"--remote_default_exec_properties=kiln-root=sha256:{tree}/{size}")
        first = self.build(*remote)
        self.assertRegex(first, r"\d+ remote")
        self.assertEqual(self.hello(), "built through the farm\n")
        self.assertEqual(self.bazel("clean").returncode, 0)
        again = self.build(*remote)
        self.assertRegex(again, r"\d+ remote cache hit")
        self.assertNotRegex(again, r"\b\d+ remote[,.]")

    def test_the_cache_alone_serves_a_build_on_this_machine(self):
        cache = (f"--remote_cache=grpc://{self.address}", "--spawn_strategy=local")
        self.build(*cache)
        self.assertEqual(self.bazel("clean").returncode, 0)
        self.assertRegex(self.build(*cache), r"\d+ remote cache hit")


if __name__ == "__main__":
    try:
        want_bazel()
        programs()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
