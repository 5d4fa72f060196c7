#!/usr/bin/env python3
"""JAX's models in every form of StableHLO, with their parameters from files: compiled, run, and equal to JAX's answers.

usage: jax_models.py BIN [FORM...]    BIN: the folder of kiln-cc and run_artifact; FORM: model.jax_export and so on
The models are those of $KILN_STABLEHLO_MODELS, else of the archive in ../shared/data beside the checkout; exits 77 (skipped)
when there are neither.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
try:
    import numpy

    from compiled import Compiler, Failure, check
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

FORMS = ("model.jax_export", "model.vhlo.mlirbc", "model.mlir", "model.generic.mlir")
# Text has no names of arguments, so that tensors are bound to it by position, as numpy.savez(file, *leaves) names them.
UNNAMED = ("model.mlir", "model.generic.mlir")
# Of models with symbolic dimensions: what their notes and assertions let them be.
PROFILES = {"encoder_symbolic": ("b=1:2:8", "s=4:8:32:4")}
TYPES = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "i32": "<i4", "u32": "<u4", "i64": "<i8", "bool": "?"}


def as_reals(data, dtype):
    values = numpy.frombuffer(data, dtype=TYPES[dtype])
    if dtype == "bf16":
        values = (values.astype("<u4") << 16).view("<f4")
    return values.astype("f8")


def numbered(file, out):
    """An .npz of named leaves, in their order, with their positions for names."""
    with zipfile.ZipFile(file) as given, zipfile.ZipFile(out, "w") as made:
        for position, name in enumerate(given.namelist()):
            made.writestr(f"arr_{position}.npy", given.read(name))
    return out


def compare(compiler, folder, form, home):
    """One model in one form. Returns the number of results that agree, or why it is left out."""
    case = json.loads((folder / "case.json").read_text())
    files = sorted(folder.glob("params.*"))
    if form in UNNAMED:
        if any(file.suffix == ".safetensors" for file in files):
            return "its text names no arguments, and the order of its safetensors is not that of its leaves"
        files = [numbered(file, home / f"{folder.name}-{file.stem}.npz") for file in files]
    options = [part for file in files for part in ("--params", file)]
    model, out = folder / form, home / f"{folder.name}-{form}"
    spec = compiler.spec(model, "cpu:x86-64-v3", out.with_suffix(".json"), profiles=PROFILES.get(folder.name, ()),
                         options=options)
    compiler.call(compiler.compiler, "compile", "--model", model, *options, "--spec", spec, "--out", out)
    program = json.loads((out / "manifest.json").read_text())["program"]
    agreed = 0
    for number in range(len(list(folder.glob("case*_input_0.npy")))):
        inputs = [numpy.load(folder / f"case{number}_input_{i}.npy") for i in range(len(program["inputs"]))]
        results, _ = compiler.run(out, inputs, [1])
        for i, (data, output) in enumerate(zip(results, program["outputs"])):
            wanted = as_reals(numpy.load(folder / f"case{number}_expected_{i}.npy").tobytes(), output["dtype"])
            got = as_reals(data, output["dtype"])
            check(got.shape == wanted.shape, f"case {number}, result {i}: {got.shape} elements where JAX has {wanted.shape}")
            close = numpy.isclose(got, wanted, rtol=case["tolerance"]["rtol"], atol=case["tolerance"]["atol"], equal_nan=True)
            check(close.all(), f"case {number}, result {i}: {int((~close).sum())} elements differ from JAX's, "
                               f"at most by {numpy.abs(got - wanted).max()}")
            agreed += 1
    check(agreed > 0, "no result was compared")
    return agreed


def run(compiler, models, forms):
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as home:
        for folder in sorted(path.parent for path in models.rglob("case.json")):
            for form in forms:
                try:
                    result = compare(compiler, folder, form, pathlib.Path(home))
                except Failure as failure:
                    failed += 1
                    print(f"FAIL {folder.name} {form}: {failure}", flush=True)
                    continue
                if isinstance(result, str):
                    skipped += 1
                    print(f"skip {folder.name} {form}: {result}", flush=True)
                else:
                    passed += 1
                    print(f"ok   {folder.name} {form}: {result} results", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def main(bin_folder, *forms):
    given = os.environ.get("KILN_STABLEHLO_MODELS")
    archive = ROOT.parent / "shared" / "data" / "stablehlo-models.tar.zst"
    if not given and not archive.exists():
        print("skipped: no models of JAX; set KILN_STABLEHLO_MODELS to their folder")
        return 77
    with tempfile.TemporaryDirectory() as unpacked:
        if not given:
            subprocess.run(["tar", "--zstd", "-xf", archive, "-C", unpacked], check=True)
        return run(Compiler(bin_folder), pathlib.Path(given or unpacked), forms or FORMS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
