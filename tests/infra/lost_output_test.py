#!/usr/bin/env python3
"""Every program that Kiln installs says so and fails when what it printed could not be written.

The programs are those that the CMakeLists.txt outside tests/ make, so that a new one cannot be forgotten.
"""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])


def programs():
    names = set()
    for listing in ROOT.glob("*/**/CMakeLists.txt"):
        if listing.relative_to(ROOT).parts[0] in ("tests", "build"):
            continue
        names.update(re.findall(r"^kiln_executable\(([\w-]+)", listing.read_text(), re.MULTILINE))
    return sorted(names)


class LostOutput(unittest.TestCase):
    def test_there_are_programs(self):
        self.assertIn("kiln", programs())
        self.assertIn("kiln-coordinator", programs())

    def test_help_that_cannot_be_written_is_a_failure(self):
        for name in programs():
            with self.subTest(name):
                shown = subprocess.run([BIN / name, "--help"], capture_output=True, timeout=60)
                self.assertEqual(shown.returncode, 0, shown.stderr)
                self.assertTrue(shown.stdout)
                with open("/dev/full", "wb") as full:
                    lost = subprocess.run([BIN / name, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertGreater(lost.returncode, 0, f"{name}: ended by a signal or well")
                # Of what is longer than a buffer the reason is gone when the rest of it fails.
                self.assertRegex(lost.stderr, b"No space left on device|not all of it could be written")


if __name__ == "__main__":
    unittest.main()
