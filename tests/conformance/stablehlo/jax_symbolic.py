#!/usr/bin/env python3
"""JAX's exports with symbolic dimensions (symbolic/): one artifact for all sizes, equal to JAX's answers at each, and to
the last bit what an artifact of that size alone gives.

usage: jax_symbolic.py BIN    BIN: the folder of kiln-cc and run_artifact; exits 77 (skipped) without NumPy
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
try:
    import numpy

    from compiled import Compiler, Failure, check
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TARGET = "cpu:x86-64-v3"
MODELS_ORDER = ("--reassociation", "off")  # of sums: the same whatever the sizes, and so the schedules, are
MODELS = HERE / "symbolic"


def program_of(artifact):
    return json.loads((artifact / "manifest.json").read_text())["program"]


def sizes_of(artifact, inputs):
    """What the dimensions are called and are in these inputs."""
    named = {}
    for tensor, value in zip(program_of(artifact)["inputs"], inputs):
        named |= {name: extent for name, extent in zip(tensor["shape"], value.shape) if isinstance(name, str)}
    return named


def of_case(answers, case, kind):
    names = [f"case{case}_{kind}_{i}" for i in range(len(answers.files))]
    return [answers[name] for name in names if name in answers.files]


def compare(compiler, name, listed, home):
    """Returns the number of results that agree."""
    model, together = MODELS / f"{name}.jax_export", home / name
    compiler.compile(model, TARGET, together, profiles=listed["profile"], options=MODELS_ORDER)
    answers, agreed = numpy.load(MODELS / f"{name}.npz"), 0
    for case in range(listed["cases"]):
        inputs, wanted = of_case(answers, case, "input"), of_case(answers, case, "expected")
        results, _ = compiler.run(together, inputs, [1, 2])
        sizes = sizes_of(together, inputs)
        alone = home / f"{name}-{case}"
        compiler.compile(model, TARGET, alone, profiles=[f"{dim}={size}" for dim, size in sizes.items()],
                         options=MODELS_ORDER)
        exact, _ = compiler.run(alone, inputs, [1])
        check(results == exact, f"{sizes}: other bits than an artifact of this size alone gives")
        check(len(results) == len(wanted), f"{len(results)} results where JAX has {len(wanted)}")
        for i, (data, value) in enumerate(zip(results, wanted)):
            got = numpy.frombuffer(data, dtype=value.dtype)
            check(got.size == value.size, f"{sizes}, result {i}: {got.size} elements where JAX has {value.shape}")
            close = numpy.isclose(got, value.ravel(), rtol=1e-4, atol=1e-5)
            check(close.all(), f"{sizes}, result {i}: {int((~close).sum())} elements differ from JAX's")
            agreed += 1
    return agreed


def refused(compiler, name, profiles, words):
    """The profile lets in sizes that the model asserts against."""
    options = [part for profile in profiles for part in ("--profile", profile)]
    done = subprocess.run([compiler.compiler, "explain", MODELS / f"{name}.jax_export", *options],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 2, f"exit {done.returncode}, not 2: {done.stderr[-400:]}")
    check(words in done.stderr, f"'{words}' is not said: {done.stderr[-800:]}")
    return 1


def main(bin_folder):
    compiler, passed, failed = Compiler(bin_folder), 0, 0
    models = json.loads((MODELS / "models.json").read_text())
    with tempfile.TemporaryDirectory() as home:
        cases = {name: lambda name=name, listed=listed: compare(compiler, name, listed, pathlib.Path(home))
                 for name, listed in models.items()}
        cases["running, b beyond its constraint"] = lambda: refused(
            compiler, "running", ["b=2:3:9", "s=4:8:16:4"], "Expected '- b + 8' to be greater or equal to 0")
        cases["running, s no multiple of 4"] = lambda: refused(
            compiler, "running", ["b=2:3:8", "s=4:8:16"], "Expected '4*floordiv(s, 4) - s' to be equal to 0")
        for name, case in cases.items():
            try:
                print(f"ok   {name}: {case()}", flush=True)
                passed += 1
            except Failure as failure:
                print(f"FAIL {name}: {failure}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
