"""kiln-cc and its artifacts from Python tests: compile, reference outputs, runs natively and under qemu-aarch64."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import numpy

ARM = "cpu:aarch64-neoverse-n1"
X86_LEVELS = {"cpu:x86-64-v3": "avx2", "cpu:x86-64-v4": "avx512bw"}
CROSS_ROOT = "/usr/aarch64-linux-gnu"  # of Debian's cross compiler


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
        self.arm_runner = self.directory / "aarch64" / "run_program"

    def call(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr[-2000:]}")
        return done

    def why_no_arm(self):
        """Why AArch64 programs cannot run here; empty when they can."""
        if not self.arm_runner.exists():
            return f"{self.arm_runner} was not built: aarch64-linux-gnu-g++ is missing (infra/setup, then build again)"
        return "" if shutil.which("qemu-aarch64") else "qemu-aarch64 is missing (infra/setup)"

    def runnable_targets(self):
        """The served levels that this machine runs, the lowest first."""
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        return [target for target, flag in X86_LEVELS.items() if flag in flags] + ([] if self.why_no_arm() else [ARM])

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

    def run(self, artifact, inputs, threads):
        """Outputs as raw bytes, the same at every number of threads, and the seconds for each."""
        manifest = json.loads((artifact / "manifest.json").read_text())
        target, program = manifest["spec"]["target"]["name"], manifest["program"]
        given = []
        for i, value in enumerate(inputs):
            given.append(artifact / f"in{i}.bin")
            given[-1].write_bytes(value.tobytes())
        outputs = [artifact / f"out{i}.bin" for i in range(len(program["outputs"]))]
        counts = ",".join(map(str, threads))
        if target.startswith("cpu:aarch64"):
            dims = {dim["dim"]: int(dim["opt"]) for dim in manifest["spec"]["profiles"][0]["dims"]}
            sizes = [tensor_bytes(tensor, dims) for tensor in program["outputs"]]
            done = self.call("qemu-aarch64", "-cpu", "neoverse-n1", "-L", CROSS_ROOT, self.arm_runner,
                             artifact / program["file"]["path"], target, ",".join(manifest["spec"]["target"]["features"]), counts,
                             *[artifact / weight["path"] for weight in program["weights"]], "--", *given, "--",
                             *[f"{path}:{size}" for path, size in zip(outputs, sizes)])
        else:
            # Where several extents are symbols, bytes alone do not say them.
            shaped = [f"{path}:{'x'.join(map(str, value.shape))}"
                      if sum(isinstance(extent, str) for extent in tensor["shape"]) > 1 else path
                      for path, value, tensor in zip(given, inputs, program["inputs"])]
            done = self.call(self.directory / "run_artifact", artifact, counts, *shaped, "--", *outputs)
        seconds = [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("threads ")]
        return [path.read_bytes() for path in outputs], dict(zip(threads, seconds))


def tensor_bytes(tensor, dims):
    extents = [dims[extent] if isinstance(extent, str) else extent for extent in tensor["shape"]]
    width = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
    return int(numpy.prod(extents, dtype=numpy.int64)) * width.get(tensor["dtype"], 1)
