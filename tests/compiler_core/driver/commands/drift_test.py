#!/usr/bin/env python3
"""Two compiles that end in different bytes: kiln diff names the file, the function, its instructions and the pass with which
it began. One of the two has a constant changed after a chosen pass (kiln-drifting-cc).

usage: drift_test.py BIN MODELS TOOLCHAIN_LIB
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest


def run(*command, code=0):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class DriftTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix="kiln-drift-")
        cls.dir = pathlib.Path(cls.temp.name)
        cls.spec = cls.dir / "spec.json"
        run(BIN / "kiln-cc", "spec", "--model", MODEL, "--out", cls.spec)
        cls.clean = cls.compile("clean")

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @classmethod
    def compile(cls, name):
        out = cls.dir / name
        run(BIN / "kiln-cc", "compile", "--model", MODEL, "--spec", cls.spec, "--out", out, "--toolchain", TOOLCHAIN,
            "--trace-passes", cls.dir / f"{name}.json")
        (cls.dir / f"{name}.json").rename(out / "passes.json")
        return out

    def passes(self, out):
        return [record["pass"] for record in json.loads((out / "passes.json").read_text())["passes"]]

    def test_a_trace_changes_no_byte_and_is_itself_deterministic(self):
        again = self.compile("again")
        plain = self.dir / "plain"
        run(BIN / "kiln-cc", "compile", "--model", MODEL, "--spec", self.spec, "--out", plain, "--toolchain", TOOLCHAIN)
        self.assertEqual((plain / "program.so").read_bytes(), (self.clean / "program.so").read_bytes())
        self.assertFalse((plain / "passes.json").exists())
        self.assertIn("equal", run(BIN / "kiln", "diff", self.clean, plain).stdout)
        found = json.loads(run(BIN / "kiln", "diff", self.clean, again, "--json").stdout)
        self.assertTrue(found["equal"] and found["traced"])
        self.assertGreater(len(self.passes(self.clean)), 20)

    def test_case_20_diff_names_the_pass_and_the_function_where_it_began(self):
        drifted = 0
        names = [name for name in dict.fromkeys(self.passes(self.clean)) if name != "stage:program"]
        for number, name in enumerate(names[len(names) // 3 :]):
            out = self.dir / f"drifting-{number}"
            trace = self.dir / f"drifting-{number}.json"
            done = run(BIN / "kiln-drifting-cc", name, MODEL, self.spec, out, TOOLCHAIN, trace)
            said = [line for line in done.stderr.splitlines() if line.startswith("drifted in ")]
            if not said:
                continue  # no such constant there
            trace.rename(out / "passes.json")
            drifted += 1
            found = json.loads(run(BIN / "kiln", "diff", self.clean, out, "--json", code=9).stdout)
            where = found["pass"]
            self.assertEqual(where["name"].split(" on ")[0], name)
            self.assertEqual(where["functions"], [said[0].removeprefix("drifted in ")])
            self.assertEqual(self.passes(out)[where["index"]], name)
            text = run(BIN / "kiln", "diff", self.clean, out, code=9).stdout
            self.assertIn(f"the IR differs first after {name}", text)
            if "program.so" in [file["path"] for file in found["files"]]:
                self.assertTrue(next(f for f in found["files"] if f["path"] == "program.so")["sections"])
            if drifted == 3:
                return
        self.fail("no pass left a constant to change")


if __name__ == "__main__":
    BIN, MODEL, TOOLCHAIN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "digits_cnn.onnx", pathlib.Path(sys.argv[3]).parent
    unittest.main(argv=sys.argv[:1])
