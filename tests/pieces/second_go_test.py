#!/usr/bin/env python3
"""Which failures get a second go, and what the end of the output says of them.

usage: second_go_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import second_go

SECOND_GO = pathlib.Path(__file__).with_name("second_go.py")
ONCE = "if [ -e {mark} ]; then exit 0; fi; touch {mark}; echo 'x_test.cc:7: Failure of the day'; exit 1"
EVERY_TIME = "echo ran >> {mark}; echo 'x_test.cc:8: Failure as always'; exit 1"


class SecondGo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def run_suite(self, tests):
        """Runs tests {name: (script, labels)} by ctest and then what is tested."""
        lines = []
        for name, (script, labels) in tests.items():
            script = script.format(mark=self.build / f"{name}.mark")
            lines.append(f'add_test([=[{name}]=] sh -c [=[{script}]=])')
            if labels:
                lines.append(f'set_tests_properties([=[{name}]=] PROPERTIES LABELS "{labels}")')
        (self.build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        first = subprocess.run(["ctest", "--test-dir", self.build], capture_output=True, text=True)
        self.assertNotEqual(first.returncode, 0)
        return subprocess.run([sys.executable, SECOND_GO, self.build], capture_output=True, text=True)

    def test_what_passes_alone_is_named_as_unstable(self):
        done = self.run_suite({"steady": ("true", ""), "farm": (ONCE, "slow"), "db": (ONCE, "tsan;servers")})
        self.assertEqual(done.returncode, 0, done.stdout)
        end = done.stdout[done.stdout.index("unstable"):]
        self.assertIn("passed alone: farm\n  | x_test.cc:7: Failure of the day", end)
        self.assertIn("passed alone: db\n", end)

    def test_what_fails_again_fails(self):
        done = self.run_suite({"farm": (EVERY_TIME, "slow")})
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed twice: farm\n  | x_test.cc:8: Failure as always", done.stdout)
        self.assertEqual((self.build / "farm.mark").read_text(), "ran\nran\n")

    def test_one_that_computes_alone_has_no_second_go(self):
        done = self.run_suite({"bits": (ONCE, ""), "farm": (EVERY_TIME, "slow")})
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: bits\n  | x_test.cc:7: Failure of the day", done.stdout)
        self.assertEqual((self.build / "farm.mark").read_text(), "ran\n")

    def test_many_failures_are_not_the_machine(self):
        done = self.run_suite({f"farm{n}": (EVERY_TIME, "slow") for n in range(4)})
        self.assertEqual(done.returncode, 1)
        self.assertEqual((self.build / "farm3.mark").read_text(), "ran\n")

    def test_a_run_without_a_failed_test_still_fails(self):
        (self.build / "CTestTestfile.cmake").write_text("add_test(steady true)\n")
        subprocess.run(["ctest", "--test-dir", self.build], capture_output=True, check=True)
        done = subprocess.run([sys.executable, SECOND_GO, self.build], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)

    def test_programs_with_a_database_have_the_label(self):
        # From a folder of its own: a ctest that lists tests writes over the log of one that runs them.
        (self.build / "CTestTestfile.cmake").write_text(f'subdirs("{BUILD}")\n')
        known = second_go.labels(self.build)
        self.assertIn("servers", known["coordinator_service_test"])
        self.assertIn("slow", known["export_end_to_end"])
        self.assertLessEqual({"tsan", "servers"}, known["GatewayTest.LimitsOnHeadersBodiesAndTime"])
        self.assertFalse(known["determinism/sample"] & second_go.LABELS)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
