#!/usr/bin/env python3
"""The matrix finds what it is for: compilers made up here, each of which lets one thing leak into its output."""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
MATRIX = HERE / "matrix.py"
ANSWERS = '''#!/bin/sh
case $1 in
  --version) echo '{"targets":["cpu:x"]}'; exit ;;
  spec) while [ $# -gt 1 ]; do shift; done; echo "{}" >"$1"; exit ;;
esac
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
'''
LEAKS = {
    "time zone": 'echo "$TZ" >"$2/program"',
    "directory": 'pwd | wc -c >"$2/program"',
    "environment": 'env | wc -l >"$2/program"',
    "locale": 'echo "$LC_ALL" >"$2/program"',
    "one processor": 'nproc >"$2/program"',
    "umask": 'echo x >"$2/$(umask)"',
}


# shift_clock is for static programs.
CLOCK_LEAK = r"""
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
int main(int argc, char** argv) {
  time_t now = time(NULL);
  char path[4096];
  if (strcmp(argv[1], "--version") == 0) return puts("{\"targets\":[\"cpu:x\"]}") < 0;
  snprintf(path, sizeof path, "%s/program", argv[argc - 1]);
  if (strcmp(argv[1], "compile") == 0) mkdir(argv[argc - 1], 0755);
  FILE* file = fopen(strcmp(argv[1], "compile") == 0 ? path : argv[argc - 1], "w");
  return file == NULL || fprintf(file, "%d", gmtime(&now)->tm_year) < 0;
}
"""


class Matrix(unittest.TestCase):
    def script(self, path, statement):
        path.write_text(ANSWERS + statement + "\n")
        path.chmod(0o755)

    def run_matrix(self, statement, *arguments):
        return self.run_on(lambda path: self.script(path, statement), *arguments)

    def run_on(self, make, *arguments):
        with tempfile.TemporaryDirectory() as work:
            compiler = pathlib.Path(work) / "bin/kiln-cc"
            compiler.parent.mkdir()
            make(compiler)
            (compiler.parent / "shift_clock").symlink_to(pathlib.Path(os.environ["KILN_TEST_BIN"]) / "shift_clock")
            (pathlib.Path(work) / "toolchain").mkdir()
            model = pathlib.Path(work) / "m.onnx"
            model.write_bytes(b"model")
            return subprocess.run([sys.executable, MATRIX, "--bin", compiler.parent, "--model", model, *arguments],
                                  capture_output=True, text=True, check=False)

    def test_case_28_each_leak_is_named(self):
        for name, statement in LEAKS.items():
            with self.subTest(name):
                done = self.run_matrix(statement, "--vary", name, "--vary", "again")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"DIFFERENT: {name}\n", done.stdout)
                self.assertIn("rebuild agreement: 1 of 2 (50.00 %)", done.stdout)

    def test_a_leak_of_the_clock_is_named(self):
        def make(path):
            source = path.with_suffix(".c")
            source.write_text(CLOCK_LEAK)
            subprocess.run(["cc", "-static", "-o", path, source], check=True)
        done = self.run_on(make, "--vary", "clock", "--vary", "again")
        self.assertIn("DIFFERENT: clock\n", done.stdout, done.stderr)

    def test_a_pure_compiler_agrees(self):
        done = self.run_matrix('echo program >"$2/program"', *(word for name in LEAKS for word in ("--vary", name)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"rebuild agreement: {len(LEAKS)} of {len(LEAKS)} (100.00 %)", done.stdout)

    def test_case_29_folding_does_not_ask_the_processor(self):
        """Exp, Tanh and Sin of a constant are folded by the compiler: one digest on processors with other routines."""
        sys.path.insert(0, str(HERE.parent / "infra"))
        import tiny_onnx as onnx
        values = struct.pack("<64f", *(index / 7 - 4 for index in range(64)))
        weight = onnx.field(1, 64) + onnx.field(2, 1) + onnx.field(8, "w") + onnx.field(9, values)
        chain = [onnx.node(op, [a], [b], op) for op, a, b in (("Exp", "w", "a"), ("Tanh", "a", "b"), ("Sin", "b", "c"))]
        model = onnx.model([*chain, onnx.node("Add", ["x", "c"], ["y"], "Add")], [onnx.value_info("x", [64])],
                           [onnx.value_info("y", [64])], [weight])
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / "folds.onnx"
            path.write_bytes(model)
            done = subprocess.run([sys.executable, MATRIX, "--bin", os.environ["KILN_TEST_BIN"], "--model", path, "--target",
                                   "cpu:x86-64-v3", "--vary", "cpu Nehalem", "--vary", "cpu max", "--vary", "libc dispatch"],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"rebuild agreement: [123] of [123] \(100")

    def test_the_light_networks_of_a_suite(self):
        with tempfile.TemporaryDirectory() as suite:
            (pathlib.Path(suite) / "light").mkdir()
            for name in ("light_a", "light_b"):
                (pathlib.Path(suite) / f"light/{name}.onnx").write_bytes(b"model")
            done = self.run_matrix('echo program >"$2/program"', "--light", suite, "--net", "_b", "--vary", "again")
        self.assertIn("light_b ", done.stdout, done.stderr)
        self.assertNotIn("light_a ", done.stdout)
        self.assertIn("rebuild agreement: 2 of 2", done.stdout)  # that model and run_on's

    def test_names_do_not_make_an_output_equal(self):
        done = self.run_matrix('echo x >"$2/${TZ%%/*}"', "--vary", "time zone")
        self.assertEqual(done.returncode, 1)

    def test_a_failing_compile_is_no_agreement(self):
        done = self.run_matrix("exit 3", "--vary", "again")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("exit 3", done.stderr)


if __name__ == "__main__":
    unittest.main()
