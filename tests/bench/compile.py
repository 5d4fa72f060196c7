#!/usr/bin/env python3
"""How kiln-cc's time and memory grow with the number of nodes.

usage: compile.py [--bin DIR] [--nodes N[,N...]] [--kind KIND]... [--target TARGET] [MODEL...]
  --bin    where kiln-cc is (default build/release/bin)
  --nodes  sizes of the chains (default 500,1000,2000,4000)
  --kind   layers (MatMul, Add, Relu), convolutions (Conv, Relu), elementwise (Add, Mul, Tanh), branches (Relu, Add of two
           earlier values); default: all
  MODEL    ONNX files to compile beside the chains
Prints seconds, milliseconds per node, peak memory, and the stages. Aims: 2,000 nodes within 20 s, DenseNet-121 within 10 s
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


def compile_model(compiler, model, target, folder):
    spec = folder / "spec.json"
    subprocess.run([compiler, "spec", "--model", model, "--target", target, "--out", spec], check=True)
    start = time.monotonic()
    done = subprocess.run([compiler, "compile", "--model", model, "--spec", spec, "--out", folder / "out"],
                          capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    stages = re.search(r"^time: (.*), total", done.stderr, re.M).group(1)
    return seconds, int(re.search(r"^peak memory: (\d+) MiB", done.stderr, re.M).group(1)), stages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--nodes", default="500,1000,2000,4000")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--target", default="cpu:x86-64-v3")
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    arguments = parser.parse_args()
    print(f"{'model':<28}{'nodes':>6}{'seconds':>9}{'ms/node':>9}{'MiB':>6}  stages", flush=True)
    with tempfile.TemporaryDirectory(prefix="kiln-compile-") as scratch:
        folder = pathlib.Path(scratch)

        def report(name, count, model):
            seconds, peak, stages = compile_model(arguments.bin / "kiln-cc", model, arguments.target, folder)
            each = f"{seconds / count * 1000:9.2f}" if count else " " * 9
            print(f"{name:<28}{count or '':>6}{seconds:9.2f}{each}{peak:6}  {stages}", flush=True)

        for kind in arguments.kind or KINDS:
            for count in map(int, arguments.nodes.split(",")):
                model = folder / "chain.onnx"
                model.write_bytes(chain(kind, count))
                report(kind, count, model)
        for model in arguments.models:
            report(model.stem, None, model)


if __name__ == "__main__":
    main()
