#!/usr/bin/env python3
"""kiln-compare as a program: what it takes, exit codes, and where it says what.

usage: compare_cli_test.py BIN MODELS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, MODELS = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
CNN = MODELS / "digits_cnn.onnx"
IMAGES = MODELS / "digits_images.npy"


def run(program, *arguments):
    return subprocess.run([str(BIN / program), *map(str, arguments)], capture_output=True, text=True, timeout=240)


def compare(*arguments):
    return run("kiln-compare", *arguments)


class CommandLine(unittest.TestCase):
    def expect_usage(self, *arguments, says):
        done = compare(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotIn('{"error"', done.stderr)

    def test_numbers_that_mean_nothing(self):
        for option, values in {"--rtol": ("nan", "inf", "-1", "1e999", "x", ""), "--atol": ("nan", "-0.1"),
                               "--seed": ("-1", "99999999999999999999", "1.5"), "--threads": ("0", "1025", "-1")}.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    self.expect_usage(CNN, f"{option}={value}", says=option)

    def test_options_that_a_spec_replaces(self):
        with tempfile.TemporaryDirectory() as folder:
            spec = pathlib.Path(folder) / "spec.json"
            self.assertEqual(run("kiln-cc", "spec", "--model", CNN, "--out", spec).returncode, 0)
            for option in ("--target=cpu:x86-64-v4", "--pin=image=3", "--precision=int8", "--profile=N=1", "--sequence=x=none",
                           "--reassociation=on"):
                with self.subTest(option=option):
                    self.expect_usage(CNN, "--spec", spec, option, says="--spec")
            self.assertEqual(compare(CNN, "--spec", spec).returncode, 0)

    def test_inputs_that_do_not_fit(self):
        self.expect_usage(CNN, "--input", f"image={IMAGES}", says="image")
        self.expect_usage(CNN, "--input", f"nobody={IMAGES}", says="nobody")
        self.expect_usage(CNN, "--input", f"image={IMAGES}", "--input", f"image={IMAGES}", says="twice")

    def test_a_pass_that_is_not_there(self):
        self.expect_usage(CNN, "--disable-pass", "nope", says="nope")

    def test_with_json_an_error_is_json_on_standard_output(self):
        for arguments, code in (([CNN, "--seed", "x"], 2), ([CNN.parent / "nobody.onnx"], 6)):
            done = compare(*arguments, "--json")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("message", json.loads(done.stdout)["error"])
            self.assertEqual(done.stderr, "")

    def test_what_differs_is_said_once(self):
        done = compare(CNN, "--rtol", "0", "--atol", "0", "--reassociation", "off")
        self.assertEqual(done.returncode, 10, done.stdout + done.stderr)
        self.assertIn("first wrong", done.stdout)
        self.assertEqual(done.stderr, "")
        with_json = compare(CNN, "--rtol", "0", "--atol", "0", "--reassociation", "off", "--json")
        self.assertEqual(with_json.returncode, 10)
        self.assertFalse(json.loads(with_json.stdout)["agrees"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
