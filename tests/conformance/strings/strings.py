#!/usr/bin/env python3
"""Pipelines with strings at their edges, compiled and run, beside ONNX Runtime's answers.

usage: strings.py BIN      BIN: the folder of kiln-cc and run_artifact
Texts go in as their places in the manifest's table and come out so. Ends with `N passed, M failed, 0 skipped`. Exits 77 where numpy is
not there.
"""
import bisect
import json
import pathlib
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

TYPES = {"f32": "f4", "i64": "i8", "i32": "i4", "bool": "?"}


def places(texts, table):
    def place(text):
        at = bisect.bisect_left(table, text.encode())
        return at if at < len(table) and table[at] == text.encode() else -1
    array = numpy.array(texts, dtype=object)
    return numpy.array([place(text) for text in array.flat], dtype="i8").reshape(array.shape)


def compare(compiler, folder, home):
    case = json.loads((folder / "case.json").read_text())
    rows = max(len(values) for values in case["inputs"].values())
    spec = compiler.spec(folder / "model.onnx", "cpu:x86-64-v3", home / "spec.json", profiles=[f"{dim}={rows}" for dim in case["dims"]])
    out = home / "out"
    compiler.call(compiler.compiler, "compile", "--model", folder / "model.onnx", "--spec", spec, "--out", out)
    program = json.loads((out / "manifest.json").read_text())["program"]
    table = [text.encode() for text in program.get("strings", [])]
    check(table == sorted(set(table)), "the table is not in order")
    check(any(tensor.get("text") for side in ("inputs", "outputs") for tensor in program[side]), "no tensor holds texts")
    inputs = [places(case["inputs"][tensor["name"]], table) if tensor.get("text")
              else numpy.array(case["inputs"][tensor["name"]], dtype=TYPES[tensor["dtype"]]) for tensor in program["inputs"]]
    results, _ = compiler.run(out, inputs, [1])
    for data, tensor in zip(results, program["outputs"]):
        wanted = numpy.array(case["outputs"][tensor["name"]])
        got = numpy.frombuffer(data, dtype=TYPES[tensor["dtype"]])
        check(got.size == wanted.size, f"{tensor['name']}: {got.size} elements, not {wanted.size}")
        if tensor.get("text"):
            check(wanted.dtype.kind == "U", f"{tensor['name']} is no text of ONNX Runtime's")
            names = [table[number].decode() for number in got]
            check(names == list(wanted.flat), f"{tensor['name']}: {names} where ONNX Runtime has {list(wanted.flat)}")
        else:
            check(numpy.allclose(got, wanted.ravel(), rtol=1e-4, atol=1e-5), f"{tensor['name']}: {got} where ONNX Runtime has {wanted.ravel()}")


def main(bin_folder):
    compiler, passed, failed = Compiler(bin_folder), 0, 0
    for folder in sorted(path.parent for path in HERE.glob("*/case.json")):
        with tempfile.TemporaryDirectory() as home:
            try:
                compare(compiler, folder, pathlib.Path(home))
                passed += 1
                print(f"ok   {folder.name}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAIL {folder.name}: {failure}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
