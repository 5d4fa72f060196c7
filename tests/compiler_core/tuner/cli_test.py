#!/usr/bin/env python3
"""plan, tune, entries and compile --tuning of kiln-cc: what goes where, and what is refused by name.

usage: cli_test.py BIN MODELS
"""
import hashlib
import json
import math
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

BIN, MODELS = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
MODEL = MODELS / "digits_mlp.onnx"


def run(*arguments):
    return subprocess.run([BIN / "kiln-cc", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def field(number, value):
    """A field of ONNX's wire format; numbers are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value]) if number < 16 else bytes([number << 3 & 127 | 128, number >> 4, value])
    data, size = value.encode() if isinstance(value, str) else value, b""
    rest = len(data)
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + data


def tensor_info(name, dims):
    shape = b"".join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def window_model(op, weights, attributes, dims, out):
    """One node over x, with a weight of small numbers where `weights` is a shape."""
    node = b"".join(field(1, name) for name in (["x", "k"] if weights else ["x"])) + field(2, "y") + field(3, "window") + field(4, op)
    for name, value in attributes.items():
        of_ints = b"".join(field(8, number) for number in value) + field(20, 7) if isinstance(value, list) else field(3, value) + field(20, 2)
        node += field(5, field(1, name) + of_ints)
    graph = field(1, node) + field(2, "test") + field(11, tensor_info("x", dims)) + field(12, tensor_info("y", out))
    if weights:
        data = b"".join(struct.pack("<f", i % 5) for i in range(math.prod(weights)))
        graph += field(5, b"".join(field(1, dim) for dim in weights) + field(2, 1) + field(8, "k") + field(9, data))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


class Tuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.spec = cls.folder / "s.json"
        cls.good("spec", "--model", MODEL, "--profile", "N=16", "--out", cls.spec)
        cls.good("plan", "--model", MODEL, "--spec", cls.spec, "--out", cls.folder / "plan")
        cls.plan = json.loads((cls.folder / "plan/plan.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def good(cls, *arguments):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        return done

    def compiled(self, name, *options):
        out = self.folder / name
        self.good("compile", "--model", MODEL, "--spec", self.spec, "--out", out, *options)
        return out

    def kernels(self, out):
        return json.loads((out / "manifest.json").read_text())["stages"]["schedule"]["kernels"]

    def entries(self, name, entries, target="cpu:x86-64-v3"):
        path = self.folder / name
        path.write_text(canonical({"apiVersion": "kiln/v1", "kind": "TuningEntries", "target": target, "entries": entries}))
        return path

    def product(self):
        return max((k for k in self.plan["kernels"] if k["template"] == "contraction"), key=lambda k: int(k["work"]))

    def refused(self, entries, code, *words):
        done = run("compile", "--model", MODEL, "--spec", self.spec, "--out", self.folder / "refused", "--tuning", entries)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_plan_lists_each_kernel_with_the_text_behind_its_signature(self):
        self.assertEqual(self.plan["target"], "cpu:x86-64-v3")
        self.assertTrue(self.plan["kernels"])
        for kernel in self.plan["kernels"]:
            digest = kernel["signature"].removeprefix("sha256:")
            text = (self.folder / "plan/kernels" / f"{digest}.mlir").read_bytes()
            self.assertEqual(hashlib.sha256(text).hexdigest(), digest)
            self.assertNotIn(kernel["nodes"][0].encode(), text)
        listed = {k["signature"] for k in self.plan["kernels"]}
        self.assertEqual({k["signature"] for k in self.kernels(self.compiled("a")) if "signature" in k}, listed)
        again = self.folder / "plan-again"
        self.good("plan", "--model", MODEL, "--spec", self.spec, "--out", again)
        self.assertEqual((again / "plan.json").read_bytes(), (self.folder / "plan/plan.json").read_bytes())

    def test_a_compile_takes_an_entry_says_so_and_computes_the_same(self):
        kernel = self.product()
        schedule = dict(kernel["schedule"], rows=[2], vectors=[1], steps=[64])
        entry = {"signature": kernel["signature"], "template": kernel["template"], "schedule": schedule}
        path = self.entries("given.json", [entry])
        tuned, again = self.compiled("tuned", "--tuning", path), self.compiled("tuned-again", "--tuning", path)
        for file in ("program.so", "manifest.json"):
            self.assertEqual((tuned / file).read_bytes(), (again / file).read_bytes())
        plain = self.compiled("plain")
        self.assertNotEqual((tuned / "program.so").read_bytes(), (plain / "program.so").read_bytes())
        [taken] = [k for k in self.kernels(tuned) if k.get("signature") == kernel["signature"]]
        self.assertEqual(taken["schedule"], schedule)
        digest = hashlib.sha256(canonical(dict(entry, target="cpu:x86-64-v3")).encode()).hexdigest()
        self.assertEqual(taken["tuned"], f"sha256:{digest}")
        self.assertFalse(any("tuned" in k for k in self.kernels(plain)))
        # No entries, no difference.
        empty = self.compiled("empty", "--tuning", self.entries("empty.json", []))
        self.assertEqual((empty / "manifest.json").read_bytes(), (plain / "manifest.json").read_bytes())

    def test_a_spec_that_names_entries_is_compiled_with_those_alone(self):
        path = self.entries("named.json", [])
        data = path.read_bytes()
        named = self.folder / "named-spec.json"
        spec = json.loads(self.spec.read_text())
        spec["tuning"] = {"digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": str(len(data))}
        named.write_text(canonical(spec))
        compiled = lambda *options: run("compile", "--model", MODEL, "--spec", named, "--out", self.folder / "named", *options)
        without = compiled()
        self.assertEqual(without.returncode, 2, without.stderr)
        self.assertIn(spec["tuning"]["digest"], without.stderr)
        other = {"signature": self.product()["signature"], "template": "contraction", "schedule": self.product()["schedule"]}
        self.assertEqual(compiled("--tuning", self.entries("other.json", [other])).returncode, 2)
        self.assertEqual(compiled("--tuning", path).returncode, 0)
        self.assertEqual(json.loads((self.folder / "named/manifest.json").read_text())["spec"]["tuning"], spec["tuning"])

    def test_entries_that_do_not_fit_are_refused_by_name(self):
        kernel = self.product()
        entry = {"signature": kernel["signature"], "template": kernel["template"], "schedule": kernel["schedule"]}
        self.refused(self.entries("1.json", [entry], "cpu:x86-64-v4"), 2, "cpu:x86-64-v4", "cpu:x86-64-v3")
        foreign = dict(entry, signature="sha256:" + "0" * 64)
        self.refused(self.entries("2.json", [foreign]), 2, "sha256:" + "0" * 64, "no such kernel")
        self.refused(self.entries("3.json", [dict(entry, template="convolution")]), 2, "template convolution")
        with_knob = lambda **knobs: [dict(entry, schedule=dict(entry["schedule"], **knobs))]
        self.refused(self.entries("4.json", with_knob(colour=[1])), 2, "'colour'")
        self.refused(self.entries("5.json", with_knob(rows=[4000])), 2, "'rows' is 4000")
        self.refused(self.entries("6.json", with_knob(split=[2])), 2, "'split'", "is none of a kernel of the template contraction")
        self.refused(self.folder / "nothing.json", 6, "cannot be read")

    def test_entries_that_reorder_sums_are_for_specs_that_allow_it(self):
        model, specs, plans = MODELS / "digits_cnn.onnx", {}, {}
        for value in ("off", "on"):
            specs[value], folder = self.folder / f"sums-{value}.json", self.folder / f"sums-{value}"
            self.good("spec", "--model", model, "--reassociation", value, "--out", specs[value])
            self.good("plan", "--model", model, "--spec", specs[value], "--out", folder)
            plans[value] = json.loads((folder / "plan.json").read_text())["kernels"]
        reordered = [k for k in plans["on"] if "winograd" in k["knobs"]]
        self.assertTrue(reordered)
        self.assertFalse(any("winograd" in k["knobs"] for k in plans["off"]))
        self.assertTrue(all(k["schedule"]["winograd"] == [0] for k in reordered), "a default adds in the order of the model")
        entry = lambda k, schedule: {"signature": k["signature"], "template": k["template"], "schedule": schedule}
        own = self.entries("on.json", [entry(k, dict(k["schedule"], winograd=[2])) for k in reordered])
        compiled = lambda value, entries, out: run("compile", "--model", model, "--spec", specs[value], "--out", self.folder / out, "--tuning", entries)
        for out in ("reordered", "reordered-again"):
            self.assertEqual(compiled("on", own, out).returncode, 0)
        for file in ("program.so", "manifest.json"):
            self.assertEqual((self.folder / "reordered" / file).read_bytes(), (self.folder / "reordered-again" / file).read_bytes())
        self.assertEqual(sum("tuned" in k for k in self.kernels(self.folder / "reordered")), len(reordered))
        # Beyond the numerics: the kernels are others, and so are their knobs.
        foreign = compiled("off", own, "refused")
        self.assertEqual(foreign.returncode, 2, foreign.stderr)
        self.assertIn("no such kernel", foreign.stderr)
        [strict] = [k for k in plans["off"] if k["nodes"] == reordered[0]["nodes"]]
        beyond = compiled("off", self.entries("beyond.json", [entry(strict, dict(strict["schedule"], winograd=[2]))]), "refused")
        self.assertEqual(beyond.returncode, 4, beyond.stderr)
        for word in ("'winograd'", 'numerics.reassociation'):
            self.assertIn(word, beyond.stderr)
        wide = compiled("on", self.entries("wide.json", [entry(reordered[0], dict(reordered[0]["schedule"], winograd=[3]))]), "refused")
        self.assertEqual(wide.returncode, 2, wide.stderr)
        self.assertIn("'winograd' is 3", wide.stderr)

    def test_a_default_of_an_order_of_its_own_is_planned_measured_and_compiled(self):
        model, images = self.folder / "convolution.onnx", [1, 64, 28, 28]
        model.write_bytes(window_model("Conv", (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}, images, images))
        spec, plan, record, tuning = (self.folder / f"convolution.{end}" for end in ("spec", "plan", "record", "tuning"))
        self.good("spec", "--model", model, "--out", spec)
        self.good("plan", "--model", model, "--spec", spec, "--out", plan)
        [kernel] = [k for k in json.loads((plan / "plan.json").read_text())["kernels"] if "winograd" in k["knobs"]]
        self.assertEqual(kernel["schedule"]["winograd"], [4])
        self.good("tune", "--plan", plan, "--spec", spec, "--budget", "2s", "--out", record)
        self.good("entries", "--record", record, "--plan", plan, "--out", tuning)
        [measured] = [k for k in json.loads(record.read_text())["kernels"] if k["signature"] == kernel["signature"]]
        self.assertEqual(measured["candidates"][0]["schedule"], kernel["schedule"])
        self.assertFalse([c for c in measured["candidates"] if c["state"] == "wrong"])
        for out in ("by-default", "by-default-again"):
            self.good("compile", "--model", model, "--spec", spec, "--out", self.folder / out)
        [compiled] = [k for k in self.kernels(self.folder / "by-default") if k.get("signature") == kernel["signature"]]
        self.assertEqual(compiled["rule"], "winograd")
        self.assertEqual(compiled["schedule"], kernel["schedule"])
        for file in ("program.so", "manifest.json"):
            self.assertEqual((self.folder / "by-default" / file).read_bytes(), (self.folder / "by-default-again" / file).read_bytes())

    def test_a_search_leaves_a_record_that_its_figures_explain(self):
        record = self.folder / "record.json"
        done = self.good("tune", "--plan", self.folder / "plan", "--spec", self.spec, "--out", record, "--budget", "3s")
        self.assertRegex(done.stderr, r"(?m)^tune: kernel 1/\d+ .* best .* of default .*time left")
        document = json.loads(record.read_text())
        self.assertEqual(len(document["kernels"]), len(self.plan["kernels"]))
        tuning = self.folder / "tuning.json"
        self.good("entries", "--record", record, "--plan", self.folder / "plan", "--out", tuning)
        chosen = {k["signature"] for k in document["kernels"] if k["chosen"] != 0}
        self.assertEqual({e["signature"] for e in json.loads(tuning.read_text())["entries"]}, chosen)
        self.compiled("searched", "--tuning", tuning)
        # A choice that the figures do not make (touched figures: tests/manifest/tuning).
        kernel = document["kernels"][0]
        kernel["reason"] = "default is best" if kernel["reason"] == "faster" else "faster"
        bad = self.folder / "bad.json"
        bad.write_text(canonical(document))
        entries = lambda: run("entries", "--record", bad, "--plan", self.folder / "plan", "--out", self.folder / "never.json")
        done = entries()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("was changed", done.stderr)
        # One of another target.
        bad.write_text(canonical(dict(json.loads(record.read_text()), target="cpu:x86-64-v4")))
        done = entries()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the record is for cpu:x86-64-v4, the plan is for cpu:x86-64-v3", done.stderr)

    # Windows over sizes that only a run knows: what stands by itself has none of them, the rest keeps its default.
    def test_windows_of_every_kind_are_planned_and_tuned_whichever_dimension_is_a_range(self):
        same = {"pads": [1, 1, 1, 1]}
        windows = {  # operator, shape of the weights, attributes, names of the dimensions after the channels
            "padded": ("Conv", (4, 4, 3, 3), same, "HW"),
            "depthwise": ("Conv", (4, 1, 3, 3), dict(same, group=4), "HW"),
            "strided": ("Conv", (4, 4, 3, 3), dict(same, strides=[2, 2]), "HW"),
            "grouped": ("Conv", (4, 2, 3, 3), dict(same, group=2), "HW"),
            "line": ("Conv", (4, 4, 3), {"pads": [1, 1]}, "W"),
            "pooled": ("MaxPool", None, dict(same, kernel_shape=[3, 3]), "HW"),
            "averaged": ("AveragePool", None, dict(same, kernel_shape=[3, 3], count_include_pad=1), "HW"),
            "transposed": ("ConvTranspose", (4, 4, 3, 3), dict(same, strides=[2, 2]), "HW"),
        }
        for name, (op, weights, attributes, sizes) in windows.items():
            model = self.folder / f"{name}.onnx"
            dims = ["N", 4, *sizes]
            model.write_bytes(window_model(op, weights, attributes, dims, ["N", 4, *(size + "o" for size in sizes)]))
            for ranged in ("N", *sizes, "N" + sizes) if name in ("padded", "depthwise") else ("N", sizes):
                with self.subTest(window=name, ranged=ranged):
                    spec, plan = self.folder / f"{name}-{ranged}.json", self.folder / f"{name}-{ranged}"
                    profile = ",".join(f"{dim}=" + ("2:4:8" if dim in ranged else "4") for dim in "N" + sizes)
                    self.good("spec", "--model", model, "--profile", profile, "--out", spec)
                    said = self.good("plan", "--model", model, "--spec", spec, "--out", plan).stderr
                    self.assertIn("keep their default schedules", said)
                    for kernel in (plan / "kernels").iterdir():
                        self.assertNotIn("?", kernel.read_text())
                    record = self.folder / f"{name}-{ranged}-record.json"
                    self.good("tune", "--plan", plan, "--spec", spec, "--budget", "1s", "--out", record)
                    self.good("entries", "--record", record, "--plan", plan, "--out", self.folder / "windows.json")

    def test_what_does_not_belong_together_is_refused(self):
        other, options, plan = self.folder / "other.json", self.folder / "options.json", self.folder / "other-plan"
        cnn = MODELS / "digits_cnn.onnx"
        self.good("spec", "--model", cnn, "--out", other)
        self.good("plan", "--model", cnn, "--spec", other, "--out", plan)
        self.good("spec", "--model", MODEL, "--profile", "N=8", "--out", options)
        record = self.folder / "together.json"
        for spec, said in ((other, "for another model"), (options, "with other options")):
            done = run("tune", "--plan", self.folder / "plan", "--spec", spec, "--out", record, "--budget", "1s")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(record.exists())
        self.good("tune", "--plan", self.folder / "plan", "--spec", self.spec, "--out", record, "--budget", "1s")
        done = run("entries", "--record", record, "--plan", plan, "--out", self.folder / "never.json")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none of its kernels is in the plan", done.stderr)
        self.assertFalse((self.folder / "never.json").exists())

    def test_a_plan_that_was_changed_leaves_no_record(self):
        plan, record = self.folder / "changed", self.folder / "changed-record.json"
        self.good("plan", "--model", MODEL, "--spec", self.spec, "--out", plan)
        for kernel in (plan / "kernels").iterdir():
            kernel.write_text(kernel.read_text() + " ")
        for said in ("has another digest", "it stands beside the plan"):
            done = run("tune", "--plan", plan, "--spec", self.spec, "--out", record, "--budget", "1s")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(record.exists())
            for kernel in (plan / "kernels").iterdir():
                kernel.unlink()

    def test_a_search_that_is_stopped_keeps_what_is_known(self):
        record = self.folder / "stopped.json"
        process = subprocess.Popen([BIN / "kiln-cc", "tune", "--plan", self.folder / "plan", "--spec", self.spec, "--out", record,
                                    "--budget", "10m"], stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if line.startswith("tune: kernel 1/"):
                process.send_signal(signal.SIGTERM)
                break
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        kernels = json.loads(record.read_text())["kernels"]
        self.assertTrue(any(len(k["candidates"]) > 1 for k in kernels))

    def test_what_is_not_understood_is_a_usage_error(self):
        plan = self.folder / "plan"
        for words, said in (
                (["--plan", plan, "--budget", "soon"], "60s"),
                (["--plan", self.folder, "--budget", "1s"], "kiln-cc plan")):
            done = run("tune", "--spec", self.spec, "--out", self.folder / "r.json", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
