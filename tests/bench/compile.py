#!/usr/bin/env python3
"""How kiln-cc's time and memory grow with the number of nodes, inputs, outputs, weights, symbols and parts.

usage: compile.py [--bin DIR] [--nodes N[,N...]] [--kind KIND]... [--target TARGET] [--explain] [MODEL...]
  --bin    where kiln-cc is (default build/release/bin)
  --nodes  sizes of the chains (default 500,1000,2000,4000)
  --kind   layers (MatMul, Add, Relu), convolutions (Conv, Relu), elementwise (Add, Mul, Tanh), branches (Relu, Add of two
           earlier values), outputs (Relu, each an output), inputs (Add of another input), symbols (Relu of an input with a
           dimension of its own), parts (Mul, all of them joined by one Concat); default: all
  --explain  time kiln-cc explain, which makes no code, in the place of compile
  MODEL    ONNX files to compile beside the chains
Prints seconds, milliseconds per node, how often the seconds of half as many (2 is linear), peak memory, and the stages. Aims: 2,000 nodes within 20 s, DenseNet-121 within 10 s
on two cores, and as much per node at 4,000 as at 500.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/models")]
import numpy  # noqa: E402
from onnx_wire import model_bytes, node_bytes, value_info  # noqa: E402


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


def compile_model(compiler, model, target, folder, profile=(), explain=False):
    """Seconds, MiB and stages of one compile; an explain has the seconds alone."""
    spec = folder / "spec.json"
    subprocess.run([compiler, "spec", "--model", model, "--target", target, "--out", spec, *profile], check=True)
    command = ["explain", model, "--target", target, *profile] if explain else [
        "compile", "--model", model, "--spec", spec, "--out", folder / "out"]
    start = time.monotonic()
    done = subprocess.run([compiler, *command], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    if explain:
        return seconds, 0, ""
    stages = re.search(r"^time: (.*), total", done.stderr, re.M).group(1)
    return seconds, int(re.search(r"^peak memory: (\d+) MiB", done.stderr, re.M).group(1)), stages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--nodes", default="500,1000,2000,4000")
    parser.add_argument("--kind", action="append", choices=[*KINDS, *WIDE])
    parser.add_argument("--target", default="cpu:x86-64-v3")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    arguments = parser.parse_args()
    print(f"{'model':<28}{'nodes':>6}{'seconds':>9}{'ms/node':>9}{'of half':>9}{'MiB':>6}  stages", flush=True)
    with tempfile.TemporaryDirectory(prefix="kiln-compile-") as scratch:
        folder = pathlib.Path(scratch)

        taken = {}

        def report(name, count, model, profile=()):
            seconds, peak, stages = compile_model(arguments.bin / "kiln-cc", model, arguments.target, folder, profile,
                                                  arguments.explain)
            each = f"{seconds / count * 1000:9.2f}" if count else " " * 9
            half = taken.get((name, count // 2)) if count else None
            taken[name, count] = seconds
            ratio = f"{seconds / half:9.2f}" if half else " " * 9
            print(f"{name:<28}{count or '':>6}{seconds:9.2f}{each}{ratio}{peak:6}  {stages}", flush=True)

        for kind in arguments.kind or [*KINDS, *WIDE]:
            for count in map(int, arguments.nodes.split(",")):
                model = folder / "chain.onnx"
                data, profile = wide(kind, count) if kind in WIDE else (chain(kind, count), ())
                model.write_bytes(data)
                report(kind, count, model, profile)
        for model in arguments.models:
            report(model.stem, None, model)


if __name__ == "__main__":
    main()
