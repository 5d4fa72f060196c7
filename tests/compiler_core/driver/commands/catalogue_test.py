#!/usr/bin/env python3
"""The tuning catalogue of a toolchain: which kernels take it, what it leaves alone, and what is refused.

usage: catalogue_test.py KILN_CC MODELS TOOLCHAIN_LIB
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

KILN_CC, MODELS, TOOLCHAIN_LIB = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
MLP, CNN = MODELS / "digits_mlp.onnx", MODELS / "digits_cnn.onnx"
TARGET = "cpu:x86-64-v3"


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def run(*arguments, **kwargs):
    return subprocess.run([str(KILN_CC), *map(str, arguments)], capture_output=True, text=True, timeout=120, **kwargs)


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def finalist(schedule, nanoseconds):
    return {"schedule": schedule, "state": "finalist", "medianNanoseconds": str(nanoseconds), "spreadNanoseconds": "1", "samples": 35}


def record_of(signature, template, candidates, chosen=1, reason="faster", target=TARGET):
    return {"apiVersion": "kiln/v1", "kind": "TuningRecord", "target": target,
            "method": {"threads": 1, "warmups": 1, "repetitions": 7, "rounds": 5, "budgetSeconds": 60, "statistic": "median", "seed": "1"},
            "device": {"kind": "cpu", "name": "a processor", "features": [], "cores": 1, "caches": []},
            "kernels": [{"signature": signature, "template": template, "candidates": candidates, "chosen": chosen, "reason": reason}]}


class CatalogueTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kiln catalogue "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.bare = self.toolchain("bare")
        self.spec = self.spec_of(CNN)
        self.kernel = self.plan(self.bare)[0]
        self.default = self.kernel["schedule"]
        knob, values = next((name, values) for name, values in self.kernel["knobs"].items() if len(values) > 1)
        self.other = {**self.default, knob: values[1]}

    def toolchain(self, name, *records):
        """A folder as a toolchain's, with these records as its catalogue."""
        lib = self.folder / name / "lib"
        lib.mkdir(parents=True)
        for file in TOOLCHAIN_LIB.iterdir():
            if file.is_file():
                (lib / file.name).symlink_to(file)
        if records:
            (lib / "catalogue").mkdir()
            listed = []
            for data in map(canonical, records):
                digest = hashlib.sha256(data).hexdigest()
                (lib / "catalogue" / f"{digest}.json").write_bytes(data)
                listed.append({"digest": f"sha256:{digest}", "size": str(len(data)), "target": TARGET})
            listed.sort(key=lambda one: one["digest"])
            (lib / "catalogue/catalogue.json").write_bytes(
                canonical({"apiVersion": "kiln/v1", "kind": "TuningCatalogue", "records": listed}))
        return lib.parent

    def spec_of(self, model, *options):
        out = self.folder / f"{model.stem}{len(options)}.json"
        sizes = ["--profile", "N=1"] if model == MLP else []
        self.assertEqual(run("spec", "--model", model, "--target", TARGET, *sizes, *options, "--out", out).returncode, 0)
        return out

    def plan(self, toolchain):
        out = self.folder / f"{toolchain.name}.plan"
        done = run("plan", "--model", CNN, "--spec", self.spec, "--toolchain", toolchain, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = json.loads((out / "plan.json").read_text())["kernels"]
        return sorted(kernels, key=lambda kernel: kernel["template"] != "convolution")

    def catalogue(self, name="catalogued", **changes):
        facts = {"signature": self.kernel["signature"], "template": self.kernel["template"],
                 "candidates": [finalist(self.default, 1000), finalist(self.other, 800)], **changes}
        return self.toolchain(name, record_of(**facts))

    def compiled(self, toolchain, *options, model=CNN, spec=None, name="out"):
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        done = run("compile", "--model", model, "--spec", spec or self.spec, "--toolchain", toolchain, "--out", out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return tree(out)

    def kernels(self, files):
        return json.loads(files["manifest.json"])["stages"]["schedule"]["kernels"]

    def test_a_kernel_of_the_catalogue_takes_it_by_default(self):
        toolchain = self.catalogue()
        files = self.compiled(toolchain)
        mine = [kernel for kernel in self.kernels(files) if kernel.get("signature") == self.kernel["signature"]]
        entry = hashlib.sha256(canonical({"schedule": self.other, "signature": self.kernel["signature"], "target": TARGET,
                                          "template": self.kernel["template"]})).hexdigest()
        for kernel in mine:
            self.assertEqual((kernel["schedule"], kernel["rule"], kernel["catalogue"]), (self.other, "catalogue", f"sha256:{entry}"))
        self.assertTrue(mine)
        self.assertEqual(json.loads(files["manifest.json"])["stages"]["schedule"]["source"], "heuristic and catalogue")
        self.assertFalse([kernel for kernel in self.kernels(files) if "catalogue" in kernel and kernel not in mine])
        self.assertIn(self.other, [kernel.get("catalogue") for kernel in self.plan(toolchain)])

    def test_without_it_everything_is_as_it_was(self):
        without = self.compiled(self.bare)
        self.assertNotEqual(self.compiled(self.catalogue()), without)
        self.assertEqual(self.compiled(self.folder / "catalogued", "--tune", "off"), without)
        nothing = self.folder / "tuning.json"
        nothing.write_bytes(canonical({"apiVersion": "kiln/v1", "kind": "TuningEntries", "target": TARGET, "entries": []}))
        self.assertEqual(self.compiled(self.folder / "catalogued", "--tuning", nothing), without, "entries go without the catalogue")

    def test_another_model_keeps_its_bytes(self):
        spec = self.spec_of(MLP)
        self.assertEqual(self.compiled(self.catalogue(), model=MLP, spec=spec), self.compiled(self.bare, model=MLP, spec=spec))

    def test_other_numerics_are_another_kernel(self):
        spec = self.spec_of(CNN, "--reassociation", "off")
        self.assertEqual(self.compiled(self.catalogue(), spec=spec), self.compiled(self.bare, spec=spec))

    def test_the_same_bytes_from_anywhere(self):
        first = self.compiled(self.catalogue())
        away = self.folder / "elsewhere" / "copy"
        shutil.copytree(self.folder / "catalogued", away)
        self.assertEqual(self.compiled(away, "--jobs", "1", name="other out"), first)

    def test_a_changed_byte_is_refused(self):
        toolchain = self.catalogue()
        for file in sorted((toolchain / "lib/catalogue").iterdir()):
            whole = file.read_bytes()
            for at in range(0, len(whole), max(1, len(whole) // 6)):
                changed = bytearray(whole)
                changed[at] ^= 1
                file.write_bytes(changed)
                done = run("compile", "--model", CNN, "--spec", self.spec, "--toolchain", toolchain, "--out", self.folder / "no")
                self.assertEqual(done.returncode, 5, (file.name, at, done.stderr))
                self.assertIn("tuning catalogue", done.stderr)
                self.assertIn("--tune off", done.stderr)
            file.write_bytes(whole[:-1])
            self.compiled(toolchain, "--tune", "off")
            file.write_bytes(whole)
        next(file for file in (toolchain / "lib/catalogue").iterdir() if file.name != "catalogue.json").unlink()
        done = run("compile", "--model", CNN, "--spec", self.spec, "--toolchain", toolchain, "--out", self.folder / "no")
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_what_does_not_hold_here_leaves_the_default(self):
        without = self.compiled(self.bare)
        stale = [finalist(self.other, 1000), finalist(self.default, 800)]  # measured against another default
        illegal = [finalist(self.default, 1000), finalist({**self.default, "tile": [7] * len(self.default["tile"])}, 800)]
        foreign = [finalist(self.default, 1000), finalist({**self.default, "no-knob": [1]}, 800)]
        for name, changes in {"stale": {"candidates": stale}, "illegal": {"candidates": illegal}, "foreign": {"candidates": foreign},
                              "template": {"template": "reduction"}, "unknown": {"signature": "sha256:" + "0" * 64}}.items():
            with self.subTest(name):
                self.assertEqual(self.compiled(self.catalogue(name, **changes)), without)

    def test_a_record_decides_over_the_catalogue(self):
        self.plan(self.catalogue())
        record = self.folder / "record.json"
        record.write_bytes(canonical(record_of(self.kernel["signature"], self.kernel["template"],
                                               [finalist(self.default, 800), finalist(self.other, 1000)], 0, "default is best")))
        plan, tuning = self.folder / "catalogued.plan", self.folder / "tuning.json"
        self.assertEqual(run("entries", "--record", record, "--plan", plan, "--out", tuning).returncode, 0)
        self.assertEqual(json.loads(tuning.read_text())["entries"], [])
        other = next(kernel for kernel in self.plan(self.folder / "catalogued") if kernel["signature"] != self.kernel["signature"])
        record.write_bytes(canonical(record_of(other["signature"], other["template"], [finalist(other["schedule"], 800)], 0, "not measured")))
        self.assertEqual(run("entries", "--record", record, "--plan", plan, "--out", tuning).returncode, 0)
        self.assertEqual([entry["schedule"] for entry in json.loads(tuning.read_text())["entries"]], [self.other])


class ShippedCatalogueTest(unittest.TestCase):
    def test_it_is_whole(self):
        folder = TOOLCHAIN_LIB / "catalogue"
        if not (folder / "catalogue.json").is_file():
            self.skipTest("this toolchain has no catalogue")
        listed = json.loads((folder / "catalogue.json").read_bytes())["records"]
        for target in sorted({one["target"] for one in listed}):
            with self.subTest(target), tempfile.TemporaryDirectory() as work:
                spec = pathlib.Path(work) / "spec.json"
                self.assertEqual(run("spec", "--model", CNN, "--target", target, "--out", spec).returncode, 0)
                done = run("compile", "--model", CNN, "--spec", spec, "--out", pathlib.Path(work) / "out")
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
