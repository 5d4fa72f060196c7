#!/usr/bin/env python3
"""How kiln-cc's time and memory grow with the number of nodes, inputs, outputs, weights, symbols and parts.

usage: compile.py [--bin DIR] [--nodes N[,N...]] [--weights MIB[,MIB...]] [--kind KIND]... [--target TARGET] [--explain] [MODEL...]
  --bin    where kiln-cc is (default build/release/bin)
  --nodes  sizes of the chains (default 500,1000,2000,4000)
  --weights  sizes of the weights of eight products, as external data in a sparse file (default 1,16,256; "" for none): `weights` as they
           are, `turned` stored transposed (Gemm with transB)
  --kind   layers (MatMul, Add, Relu), convolutions (Conv, Relu), elementwise (Add, Mul, Tanh), branches (Relu, Add of two
           earlier values), outputs (Relu, each an output), inputs (Add of another input), symbols (Relu of an input with a
           dimension of its own), parts (Mul, all of them joined by one Concat); default: all
  --explain  time kiln-cc explain, which makes no code, in the place of compile
  MODEL    ONNX files to compile beside the chains
Prints the processor time in seconds, milliseconds of it per node, peak memory, and the stages; after the sizes of a kind the exponent of
the time in the size, by least squares over their logarithms (1 is linear; the parts that do not grow pull it down). Aims: 2,000 nodes
within 20 s, DenseNet-121 within 10 s on two cores, an exponent of at most 1.1, and memory that does not grow with the weights.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/models")]
import numpy  # noqa: E402
from onnx_wire import field, model_bytes, node_bytes, value_info  # noqa: E402


def layers(i, generator, weights):
    if i % 3 == 0:
        weights[f"w{i}"] = generator.standard_normal((64, 64)).astype(numpy.float32) / 8
        return "MatMul", [f"v{i}", f"w{i}"], {}
    if i % 3 == 1:
        weights[f"w{i}"] = generator.standard_normal(64).astype(numpy.float32)
        return "Add", [f"v{i}", f"w{i}"], {}
    return "Relu", [f"v{i}"], {}


def convolutions(i, generator, weights):
    if i % 2 == 0:
        weights[f"w{i}"] = generator.standard_normal((16, 16, 3, 3)).astype(numpy.float32) / 12
        return "Conv", [f"v{i}", f"w{i}"], {"pads": [1, 1, 1, 1]}
    return "Relu", [f"v{i}"], {}


def elementwise(i, generator, weights):
    if i % 3 == 2:
        return "Tanh", [f"v{i}"], {}
    weights[f"w{i}"] = generator.standard_normal(64).astype(numpy.float32)
    return ("Add", "Mul")[i % 3], [f"v{i}", f"w{i}"], {}


def branches(i, generator, weights):
    return ("Add", [f"v{i}", f"v{max(0, i - 7)}"], {}) if i % 2 else ("Relu", [f"v{i}"], {})


KINDS = {"layers": (layers, [32, 64]), "convolutions": (convolutions, [1, 16, 14, 14]),
         "elementwise": (elementwise, [32, 64]), "branches": (branches, [32, 64])}


def chain(kind, count):
    """`count` nodes in a row; value v0 is the input."""
    rule, dims = KINDS[kind]
    generator, weights, nodes = numpy.random.default_rng(count), {}, []
    for i in range(count):
        op, inputs, attributes = rule(i, generator, weights)
        nodes.append(node_bytes(op, inputs, [f"v{i + 1}"], f"{op}_{i}", attributes))
    return model_bytes(nodes, [value_info("v0", dims)], [value_info(f"v{count}", dims)], weights)


def wide(kind, count):
    """`count` nodes beside each other, and the profile of their dimensions."""
    values, nodes, weights, profile = range(count), [], {}, []
    if kind == "outputs":
        nodes = [node_bytes("Relu", ["x"], [f"y{i}"], f"n{i}", {}) for i in values]
        return model_bytes(nodes, [value_info("x", [4])], [value_info(f"y{i}", [4]) for i in values], {}), profile
    if kind == "inputs":
        nodes = [node_bytes("Add", [f"a{i - 1}" if i > 1 else "x0", f"x{i}"], [f"a{i}"], f"n{i}", {}) for i in values[1:]]
        return model_bytes(nodes, [value_info(f"x{i}", [4]) for i in values], [value_info(f"a{count - 1}", [4])], {}), profile
    if kind == "symbols":
        nodes = [node_bytes("Relu", [f"x{i}"], [f"y{i}"], f"n{i}", {}) for i in values]
        inputs, outputs = ([value_info(f"{name}{i}", [f"D{i}", 4]) for i in values] for name in "xy")
        for i in values:
            profile += ["--profile", f"D{i}=1:2:4"]
        return model_bytes(nodes, inputs, outputs, {}), profile
    for i in values:
        weights[f"w{i}"] = numpy.float32(i + 1)
        nodes.append(node_bytes("Mul", ["x", f"w{i}"], [f"p{i}"], f"n{i}", {}))
    nodes.append(node_bytes("Concat", [f"p{i}" for i in values], ["y"], "join", {"axis": 0}))
    return model_bytes(nodes, [value_info("x", [8, 4])], [value_info("y", [8 * count, 4])], weights), profile


WIDE = ("outputs", "inputs", "symbols", "parts")
WEIGHTS = ("weights", "turned")


PRODUCTS = 8


def with_weights(mebibytes, turned, folder):
    """A model file of PRODUCTS products in a row, beside a sparse file with their weights, which are zeros but for the first."""
    rows = 512
    columns = max(1, mebibytes * 2 ** 20 // (4 * rows * PRODUCTS))
    nodes, tensors, places = [], [], []
    for i in range(PRODUCTS):
        dims = [rows, columns] if i % 2 == 0 else [columns, rows]
        stored = dims[::-1] if turned else dims
        offset = i * 4 * rows * columns
        places.append(offset)
        data = b"".join(field(13, field(1, key) + field(2, str(value))) for key, value in
                        {"location": "weights.bin", "offset": offset, "length": 4 * rows * columns}.items())
        tensors.append(field(5, b"".join(field(1, dim) for dim in stored) + field(2, 1) + field(8, f"w{i}") + data + field(14, 1)))
        names = [f"v{i}", f"w{i}"]
        nodes.append(node_bytes("Gemm", names, [f"v{i + 1}"], f"n{i}", {"transB": 1}) if turned else
                     node_bytes("MatMul", names, [f"v{i + 1}"], f"n{i}"))
    graph = b"".join(field(1, node) for node in nodes) + field(2, "weights") + b"".join(tensors)
    graph += field(11, value_info("v0", [1, rows])) + field(12, value_info(f"v{PRODUCTS}", [1, rows]))
    model = folder / "weights.onnx"
    model.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    with open(folder / "weights.bin", "wb") as file:
        for place in places:
            file.seek(place)
            file.write(numpy.float32(1.5).tobytes())
        file.truncate(PRODUCTS * 4 * rows * columns)
    return model


def exponent(points):
    """Of the time in the size, over (size, time)."""
    logs = [(math.log(size), math.log(max(seconds, 1e-3))) for size, seconds in points]
    x, y = (sum(values) / len(logs) for values in zip(*logs))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)


def compile_model(compiler, model, target, folder, profile=(), explain=False):
    """Processor time, MiB and stages of one compile; an explain has no stages."""
    spec = folder / "spec.json"
    subprocess.run([compiler, "spec", "--model", model, "--target", target, "--out", spec, *profile], check=True)
    command = ["explain", model, "--target", target, *profile] if explain else [
        "compile", "--model", model, "--spec", spec, "--out", folder / "out"]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([compiler, *command], stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        sys.exit(f"{model}: {text}")
    shutil.rmtree(folder / "out", ignore_errors=True)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
    if explain:
        return seconds, peak, ""
    return seconds, peak, re.search(r"^processor time: (.*), total", text, re.M).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--nodes", default="500,1000,2000,4000")
    parser.add_argument("--weights", default="1,16,256")
    parser.add_argument("--kind", action="append", choices=[*KINDS, *WIDE, *WEIGHTS])
    parser.add_argument("--target", default="cpu:x86-64-v3")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    arguments = parser.parse_args()
    print(f"{'model':<28}{'size':>7}{'seconds':>9}{'ms each':>9}{'MiB':>6}  stages", flush=True)
    with tempfile.TemporaryDirectory(prefix="kiln-compile-") as scratch:
        folder = pathlib.Path(scratch)

        def report(name, size, model, profile=()):
            seconds, peak, stages = compile_model(arguments.bin / "kiln-cc", model, arguments.target, folder, profile,
                                                  arguments.explain)
            each = f"{seconds / size * 1000:9.2f}" if size else " " * 9
            print(f"{name:<28}{size or '':>7}{seconds:9.2f}{each}{peak:6}  {stages}", flush=True)
            return size, seconds

        for kind in arguments.kind or [*KINDS, *WIDE, *WEIGHTS]:
            points = []
            for size in map(int, filter(None, (arguments.weights if kind in WEIGHTS else arguments.nodes).split(","))):
                model, profile = folder / "chain.onnx", ()
                if kind in WEIGHTS:
                    model = with_weights(size, kind == "turned", folder)
                elif kind in WIDE:
                    data, profile = wide(kind, size)
                    model.write_bytes(data)
                else:
                    model.write_bytes(chain(kind, size))
                points.append(report(kind, size, model, profile))
            if len(points) > 1:
                print(f"{kind:<28} exponent {exponent(points):.2f}", flush=True)
        for model in arguments.models:
            report(model.stem, None, model)


if __name__ == "__main__":
    main()
