#!/usr/bin/env python3
"""plan, tune, entries and compile --tuning of kiln-cc for a device, measured on the emulated one.

usage: device_cli_test.py BIN MODELS
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, MODELS = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
MODEL = MODELS / "digits_mlp.onnx"
TARGET = "cuda:sm_90a"
DRIVER = BIN / "libkiln-emulated-cuda.so"
if not (BIN.parent / "toolchain/bin/ptxas").exists():
    sys.exit(77)


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


class DeviceTuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.spec, cls.plan = cls.folder / "s.json", cls.folder / "plan"
        cls.good("spec", "--model", MODEL, "--profile", "N=4", "--target", TARGET, "--out", cls.spec)
        cls.good("plan", "--model", MODEL, "--spec", cls.spec, "--out", cls.plan)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_cc(cls, *arguments, **environment):
        kernels = {"KILN_EMULATED_KERNELS": str(cls.folder / "emulation")}
        return subprocess.run([BIN / "kiln-cc", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **kernels, **environment})

    @classmethod
    def good(cls, *arguments):
        done = cls.run_cc(*arguments)
        assert done.returncode == 0, done.stderr
        return done

    def tune(self, name, *options, **environment):
        record = self.folder / name
        return record, self.run_cc("tune", "--plan", self.plan, "--spec", self.spec, "--out", record, *options, **environment)

    def compiled(self, name, *options):
        out = self.folder / name
        self.good("compile", "--model", MODEL, "--spec", self.spec, "--out", out, *options)
        return out

    def test_a_search_on_a_device_leaves_a_record_whose_entries_a_compile_takes(self):
        path, done = self.tune("record.json", "--budget", "20s", "--device-driver", DRIVER, "--emulation", self.folder / "emulation")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads(path.read_text())
        self.assertEqual(record["target"], TARGET)
        self.assertEqual((record["device"]["kind"], record["device"]["features"][0]), ("emulated", "compute capability 9.0"))
        self.assertEqual(record["method"]["timer"], "events")
        measured = [k for k in record["kernels"] if k["reason"] != "not measured"]
        self.assertGreaterEqual(len(measured), 3, done.stderr)
        self.assertFalse([c for k in measured for c in k["candidates"] if c["state"] == "wrong"])
        # Of an emulated device nothing counts. What a GPU's record would give, with each kernel's second finalist:
        tuning = self.folder / "tuning.json"
        self.good("entries", "--record", path, "--plan", self.plan, "--out", tuning)
        self.assertEqual(json.loads(tuning.read_text())["entries"], [])
        chosen = [{"signature": k["signature"], "template": k["template"],
                   "schedule": next(c["schedule"] for c in k["candidates"][1:] if c["state"] == "finalist")} for k in measured]
        tuning.write_text(canonical({"apiVersion": "kiln/v1", "kind": "TuningEntries", "target": TARGET, "entries": chosen}))
        # No device is needed to compile with them, and the bytes follow from them alone.
        tuned, again, plain = (self.compiled(n, *o) for n, o in (("tuned", ("--tuning", tuning)), ("again", ("--tuning", tuning)),
                                                                  ("plain", ())))
        files = ("program.so", "manifest.json", "kernels/sm_90a.cubin")
        for file in files:
            self.assertEqual((tuned / file).read_bytes(), (again / file).read_bytes())
        self.assertNotEqual((tuned / files[2]).read_bytes(), (plain / files[2]).read_bytes())
        kernels = json.loads((tuned / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        taken = {k["signature"]: k["schedule"] for k in kernels if "tuned" in k}
        self.assertEqual(taken, {e["signature"]: e["schedule"] for e in chosen})
        for entry in chosen:
            digest = hashlib.sha256(canonical(dict(entry, target=TARGET)).encode()).hexdigest()
            self.assertIn(f"sha256:{digest}", {k.get("tuned") for k in kernels})

    def test_without_a_device_the_kernels_keep_their_default_and_it_is_said(self):
        path, done = self.tune("none.json", "--budget", "5s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernels of cuda:sm_90a are not measured on processors", done.stderr)
        self.assertEqual({k["reason"] for k in json.loads(path.read_text())["kernels"]}, {"not measured"})

    def test_a_device_that_cannot_measure_them_is_refused(self):
        for options, environment, code, said in (
                (("--device-driver", "/none.so"), {}, 4, "/none.so"),
                (("--device-driver", DRIVER, "--device", "5"), {}, 4, "there is no device 5"),
                (("--device-driver", DRIVER), {"KILN_EMULATED_ARCH": "sm_80"}, 4, "compute capability 8.0"),
                (("--device-driver", DRIVER, "--measurer", "/none"), {}, 2, "--measurer"),
                (("--device", "1"), {}, 2, "--device-driver")):
            _, done = self.tune("refused.json", "--budget", "5s", *options, **environment)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(said, done.stderr)

    def test_kernels_that_lose_the_device_are_not_measured(self):
        path, done = self.tune("lost.json", "--budget", "20s", "--device-driver", DRIVER, "--emulation", self.folder / "emulation",
                               KILN_EMULATED_LOST="1")
        # Each process gets as far as its first launches, so the device is there whenever it is asked for.
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("its default cannot be measured", done.stderr)
        self.assertEqual({k["reason"] for k in json.loads(path.read_text())["kernels"]}, {"not measured"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
