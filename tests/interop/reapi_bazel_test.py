#!/usr/bin/env python3
"""Debian's Bazel builds a small C++ project by a farm of infra/up --reapi: remote execution with a tree that has the compiler, a
second build that is all hits, and the cache alone.

usage: reapi_bazel_test.py [-v]     Exit 77 if Bazel or remotetool cannot be had.
"""
import pathlib
import subprocess
import sys
import unittest

import toolchain_root
from bazel import Bazel, want_bazel
from buildbarn import free_ports, programs
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import Farm  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent / "bazel_project"


class ReapiBazelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.remotetool = programs() / "remotetool"
        port = free_ports(1)[0]
        cls.address = f"127.0.0.1:{port}"
        cls.farm = Farm(workers=2, options=("--no-sample", "--reapi", str(port)))
        cls.bazel = Bazel(PROJECT)
        cls.addClassCleanup(cls.bazel.close)

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def hello(self):
        return subprocess.run([self.bazel.project / "bazel-bin/hello"], capture_output=True, text=True, check=True).stdout

    def test_a_project_is_built_remotely_and_then_all_hits(self):
        root = toolchain_root.uploaded(self.remotetool, self.farm.home / "root", "-service_no_security", "-service", self.address)
        remote = ("--spawn_strategy=remote", f"--remote_executor=grpc://{self.address}",
                  f"--remote_default_exec_properties=kiln-root={root}")
        first = self.bazel.build("//:hello", *remote)
        self.assertRegex(first, r"\d+ remote")
        self.assertEqual(self.hello(), "built through the farm\n")
        self.bazel.clean()
        again = self.bazel.build("//:hello", *remote)
        self.assertRegex(again, r"\d+ remote cache hit")
        self.assertNotRegex(again, r"\b\d+ remote[,.]")

    def test_the_cache_alone_serves_a_build_on_this_machine(self):
        cache = (f"--remote_cache=grpc://{self.address}", "--spawn_strategy=local")
        self.bazel.build("//:hello", *cache)
        self.bazel.clean()
        self.assertRegex(self.bazel.build("//:hello", *cache), r"\d+ remote cache hit")


if __name__ == "__main__":
    try:
        want_bazel()
        programs()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
