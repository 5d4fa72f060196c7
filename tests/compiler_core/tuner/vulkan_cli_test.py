#!/usr/bin/env python3
"""plan, tune, entries and compile --tuning of kiln-cc for Vulkan, measured on the driver of this machine (Mesa's lavapipe).

usage: vulkan_cli_test.py BIN MODELS
Ends with 77, in words, where there is no Vulkan device.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, MODELS = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
MODEL = MODELS / "digits_mlp.onnx"
TARGET, LOADER = "vulkan:1.3", "libvulkan.so.1"

FOUND = json.loads(subprocess.run([BIN / "kiln-worker", "devices", "--json", "--gpu-driver", LOADER], capture_output=True, text=True,
                                  check=True).stdout)
DEVICE = next((device for device in FOUND["devices"] if TARGET in device["runs"]), None)
if DEVICE is None:
    print("no Vulkan device here:", FOUND.get("missing"))
    sys.exit(77)


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


class VulkanTuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.spec, cls.plan, cls.record = cls.folder / "s.json", cls.folder / "plan", cls.folder / "record.json"
        cls.good("spec", "--model", MODEL, "--profile", "N=4", "--target", TARGET, "--out", cls.spec)
        cls.good("plan", "--model", MODEL, "--spec", cls.spec, "--out", cls.plan)
        cls.tuned = cls.good("tune", "--plan", cls.plan, "--spec", cls.spec, "--out", cls.record, "--budget", "8s",
                             "--device-driver", LOADER)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_cc(cls, *arguments):
        return subprocess.run([BIN / "kiln-cc", *map(str, arguments)], capture_output=True, text=True, timeout=120)

    @classmethod
    def good(cls, *arguments):
        done = cls.run_cc(*arguments)
        assert done.returncode == 0, done.stderr
        return done

    def compiled(self, name, *options):
        out = self.folder / name
        self.good("compile", "--model", MODEL, "--spec", self.spec, "--out", out, *options)
        return out

    def test_the_record_names_the_device_and_its_driver(self):
        record = json.loads(self.record.read_text())
        device = record["device"]
        self.assertEqual((record["target"], record["method"]["timer"]), (TARGET, "events"))
        self.assertEqual((device["kind"], device["name"]), ("vulkan", DEVICE["name"]))
        self.assertEqual(device["features"], [f"Vulkan {DEVICE['apiVersion']}", f"driver {DEVICE['driver']}", f"type {DEVICE['type']}"])
        measured = [kernel for kernel in record["kernels"] if kernel["reason"] != "not measured"]
        self.assertTrue(measured, self.tuned.stderr)
        self.assertFalse([c for k in measured for c in k["candidates"] if c["state"] == "wrong"], "every schedule has the default's bits")
        finalists = [c for k in measured for c in k["candidates"] if c["state"] == "finalist"]
        self.assertTrue(all(int(c["medianNanoseconds"]) > 0 for c in finalists))

    def test_a_compile_with_the_entries_is_the_same_bits_again(self):
        record, tuning = json.loads(self.record.read_text()), self.folder / "tuning.json"
        self.good("entries", "--record", self.record, "--plan", self.plan, "--out", tuning)
        decided = json.loads(tuning.read_text())
        faster = {k["signature"] for k in record["kernels"] if k["reason"] == "faster"}
        self.assertEqual({entry["signature"] for entry in decided["entries"]}, faster, "a software device decides for itself")
        # Whatever this machine decided: another schedule than the default of each kernel that was measured.
        decided["entries"] = [{"signature": k["signature"], "template": k["template"],
                               "schedule": next(c["schedule"] for c in k["candidates"][1:] if c["state"] == "finalist")}
                              for k in record["kernels"] if any(c["state"] == "finalist" for c in k["candidates"][1:])]
        self.assertTrue(decided["entries"], self.tuned.stderr)
        tuning.write_text(canonical(decided))
        tuned, again, plain = (self.compiled(name, *options) for name, options in
                               (("tuned", ("--tuning", tuning)), ("again", ("--tuning", tuning)), ("plain", ())))
        for file in ("program.so", "manifest.json", "kernels/vulkan-1.3.spv"):
            self.assertEqual((tuned / file).read_bytes(), (again / file).read_bytes())
        self.assertNotEqual((tuned / "kernels/vulkan-1.3.spv").read_bytes(), (plain / "kernels/vulkan-1.3.spv").read_bytes())
        kernels = json.loads((tuned / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        self.assertEqual({k["signature"]: k["schedule"] for k in kernels if "tuned" in k},
                         {e["signature"]: e["schedule"] for e in decided["entries"]})

    def test_a_fill_that_the_program_has_in_another_kernel_is_not_measured(self):
        """Pooling begins with a fill, which the plan has as a kernel and the device's program has not."""
        model, spec, plan, record, out = MODELS / "digits_cnn.onnx", *(self.folder / f"cnn-{name}" for name in ("spec", "plan", "record", "out"))
        self.good("spec", "--model", model, "--target", TARGET, "--out", spec)
        self.good("plan", "--model", model, "--spec", spec, "--out", plan)
        self.good("tune", "--plan", plan, "--spec", spec, "--out", record, "--budget", "8s", "--device-driver", LOADER)
        self.good("compile", "--model", model, "--spec", spec, "--out", out)
        measured = {k["signature"] for k in json.loads(record.read_text())["kernels"] if any(c["state"] == "finalist" for c in k["candidates"])}
        kernels = json.loads((out / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        self.assertTrue(measured)
        self.assertLessEqual(measured, {kernel["signature"] for kernel in kernels})

    def test_what_cannot_measure_them_is_refused(self):
        for options, code, said in ((("--device-driver", "libvulkan-none.so.1"), 4, "no Vulkan loader"),
                                    (("--device-driver", LOADER, "--device", "63"), 4, "there is no device 63"),
                                    (("--device-driver", LOADER, "--emulation", self.folder / "e"), 4, "have no emulation")):
            done = self.run_cc("tune", "--plan", self.plan, "--spec", self.spec, "--out", self.folder / "refused.json", "--budget", "5s",
                               *options)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
