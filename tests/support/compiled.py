"""kiln-cc and its artifacts from Python tests: compile, reference outputs, runs natively and under qemu-user."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import numpy

ARM = "cpu:aarch64-neoverse-n1"
X86_LEVELS = {"cpu:x86-64-v3": "avx2", "cpu:x86-64-v4": "avx512bw"}
# Bytes of an element, where there are more than one.
WIDTHS = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
# What qemu-user emulates each target as: architecture and processor.
EMULATED = {target: (arch, processor) for target, arch, processor in
            re.findall(r'^KILN_EMULATOR\("(.*)", "(.*)", "(.*)"\)$',
                       pathlib.Path(__file__).with_name("emulators.inc").read_text(), re.M)}


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


class Compiler:
    """The programs of a build folder's bin."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).absolute()
        self.compiler = self.directory / "kiln-cc"

    def call(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr[-2000:]}")
        return done

    def runner(self, arch):
        return self.directory / arch / "run_program"

    def why_not(self, target):
        """Why programs for a target of EMULATED cannot run here; empty when they can."""
        arch, _ = EMULATED[target]
        if not self.runner(arch).exists():
            return f"{self.runner(arch)} was not built: {arch}-linux-gnu-g++ is missing (infra/setup, then build again)"
        return "" if shutil.which(f"qemu-{arch}") else f"qemu-{arch} is missing (infra/setup)"

    def runnable_targets(self):
        """The served levels that this machine runs, the lowest first."""
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        return [target for target, flag in X86_LEVELS.items() if flag in flags] + ([] if self.why_not(ARM) else [ARM])

    def spec(self, model, target, path, contraction="on", profiles=(), options=()):
        dims = [part for profile in profiles for part in ("--profile", profile)]
        self.call(self.compiler, "spec", "--model", model, "--target", target, *dims, *options, "--out", path)
        document = json.loads(path.read_text())
        document["numerics"]["contraction"] = contraction
        path.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))
        return path

    def compile(self, model, target, out, contraction="on", profiles=(), options=()):
        """Into the folder `out`, the spec beside it as out.json; `options` are the spec's. Returns seconds."""
        spec = self.spec(model, target, out.with_suffix(".json"), contraction, profiles, options)
        start = time.monotonic()
        self.call(self.compiler, "compile", "--model", model, "--spec", spec, "--out", out)
        return time.monotonic() - start

    def reference(self, model, spec, out):
        """Seeded inputs and the reference evaluator's outputs."""
        self.call(self.compiler, "reference", "--model", model, "--spec", spec, "--out", out)
        profile = json.loads((out / "fixtures.json").read_text())["profiles"][0]
        return [[numpy.load(out / path) for path in profile[kind]] for kind in ("inputs", "outputs")]

    def run(self, artifact, inputs, threads, processor=""):
        """Outputs as raw bytes, the same at every number of threads, and the seconds for each; on another `processor` of qemu's
        than the target's in EMULATED."""
        manifest = json.loads((artifact / "manifest.json").read_text())
        target, program = manifest["spec"]["target"]["name"], manifest["program"]
        given = []
        for i, value in enumerate(inputs):
            given.append(artifact / f"in{i}.bin")
            given[-1].write_bytes(value.tobytes())
        outputs = [artifact / f"out{i}.bin" for i in range(len(program["outputs"]))]
        counts = ",".join(map(str, threads))
        if target in EMULATED:
            arch, usual = EMULATED[target]
            sizes = {tensor["name"]: value.shape for tensor, value in zip(program["inputs"], inputs)}
            symbols = ",".join(str(sizes[one["input"]][int(one["dim"])]) for one in program["symbols"])
            done = self.call(f"qemu-{arch}", "-cpu", processor or usual, "-L", f"/usr/{arch}-linux-gnu", self.runner(arch),
                             artifact / program["file"]["path"], target, ",".join(manifest["spec"]["target"]["features"]), counts, symbols,
                             *[artifact / weight["path"] for weight in program["weights"]], "--", *given, "--",
                             *[f"{path}:{WIDTHS.get(tensor['dtype'], 1)}:{len(tensor['shape'])}" for path, tensor in zip(outputs, program["outputs"])])
        else:
            # Where several extents are symbols, bytes alone do not say them.
            shaped = [f"{path}:{'x'.join(map(str, value.shape))}"
                      if sum(isinstance(extent, str) for extent in tensor["shape"]) > 1 else path
                      for path, value, tensor in zip(given, inputs, program["inputs"])]
            done = self.call(self.directory / "run_artifact", artifact, counts, *shaped, "--", *outputs)
        seconds = [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("threads ")]
        return [path.read_bytes() for path in outputs], dict(zip(threads, seconds))
