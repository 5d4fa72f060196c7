#!/usr/bin/env python3
"""The nine `light` networks of the ONNX backend data, compiled and run: stated outputs, and seeded random weights.

usage: light.py --bin DIR [--suite DIR] [--net NAME]... [--target TARGET]... [--report FILE]
  --bin      where kiln-cc and run_artifact are (build/release/bin)
  --suite    the unpacked suite, a folder with light/ in it (default $KILN_ONNX_SUITE, else ../shared/data's archive,
             unpacked with tar and zstd); without it the exit is 77
  --net      a part of a network's name; default: all nine
  --target   default: every served level that this machine runs (AArch64 where qemu-aarch64 is)
  --report   a JSON file for the figures

For each network:
1. as given (constant weights, input arange(n)/n): the stated output, rtol 1e-3, atol 1e-7;
2. with seeded random weights in place of the constants: Kiln's reference evaluator, and ONNX Runtime where the running
   python has it, in the default order of sums for the first target, at 1, 2 and 7 threads; in the model's order every
   target gives the same bits as the first one; contraction off likewise, beside the evaluator;
3. one artifact for both x86-64 levels, with the pools and sums on the lower one: the same bits once more;
4. the memory plan: at most 1.15 times its lower bound.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
try:
    import numpy
    import onnx_wire
    from compiled import ARM, EMULATED, X86_LEVELS, Compiler, Failure, check
except ImportError as missing:
    print(f"light: skipped: {missing} (infra/setup installs the Python tools of the tests)")
    sys.exit(77)

MODELS_ORDER = ("--reassociation", "off")  # of sums: the same under every schedule, and so on every target
MOST_OVER_BOUND = 1.15
MOST_EMULATED = 60  # seconds under qemu after which a network does not run there a second time


# --- models -----------------------------------------------------------------------------------------------------------

def role(model, name):
    """What a constant is for, from the node that reads it: (operator, position)."""
    for node in model.nodes:
        if name in node.inputs:
            if node.op == "Unsqueeze":  # a channel's factor or offset on its way to the image's shape
                return role(model, node.outputs[0])
            return node.op, node.inputs.index(name)
    return "", 0


def random_weight(operator, position, shape, residual, generator):
    """Weights that keep the size of activations: normal with variance 2/fan_in, and factors around one."""
    def uniform(low, high):
        return generator.uniform(low, high, shape).astype(numpy.float32)

    if len(shape) >= 2:
        fan_in = int(numpy.prod(shape[1:]))
        # Rectifiers halve the square of what passes; a classifier's last layer has none behind it.
        return (generator.standard_normal(shape) * (2.0 / fan_in) ** 0.5).astype(numpy.float32)
    if operator == "BatchNormalization":
        # Branches that are added up again must not double the square each time.
        scale = 0.3 if residual else 1.0
        return {1: lambda: uniform(0.7 * scale, 1.3 * scale), 4: lambda: uniform(0.7, 1.3)}.get(
            position, lambda: uniform(-0.1, 0.1))()
    if operator == "Mul":
        return uniform(0.7, 1.3)
    return uniform(-0.1, 0.1)


def with_random_weights(path, seed):
    """The model with each ConstantOfShape node replaced by an initialiser of seeded random values."""
    model = onnx_wire.Model(path.read_bytes())
    residual = any(node.op == "Sum" for node in model.nodes)
    kept, shapes = [], {}
    for node in model.nodes:
        if node.op == "ConstantOfShape":
            shapes[node.outputs[0]] = node.inputs[0]
        else:
            kept.append(node)
    model.nodes = kept
    check(len(shapes) > 10, f"{path.name}: expected constants made by ConstantOfShape")
    for output, shape in shapes.items():
        generator = numpy.random.default_rng([seed, zlib.crc32(output.encode())])
        dims = [int(dim) for dim in model.weights.pop(shape)]
        model.weights[output] = random_weight(*role(model, output), dims, residual, generator)
    return model


# --- comparisons ------------------------------------------------------------------------------------------------------

def difference(got, expected):
    """The largest error beside the size of the values, and whether the values say anything."""
    check(numpy.isfinite(got).all(), "not finite")
    return float(numpy.abs(got.astype(numpy.float64) - expected).max() / max(numpy.abs(expected).max(), 1e-30))


def stated_output(compiler, path, target, directory):
    model = onnx_wire.Model(path.read_bytes())
    (_, dims), = model.inputs()
    count = int(numpy.prod(dims))
    given = (numpy.arange(count) / count).astype(numpy.float32)
    _, expected = onnx_wire.tensor((path.parent / (path.stem + "_output_0.pb")).read_bytes())
    compiler.compile(path, target, directory)
    (raw,), _ = compiler.run(directory, [given], [2])
    got = numpy.frombuffer(raw, numpy.float32).reshape(expected.shape)
    check(numpy.allclose(got, expected, rtol=1e-3, atol=1e-7),
          f"stated output: off by {numpy.abs(got - expected).max()}")


def foreign_output(model, given):
    """ONNX Runtime's output, or None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: given})[0]


def memory(artifact):
    plan = json.loads((artifact / "evidence.json").read_text())["stages"]["plan"]["profiles"][0]
    return {key: plan.get(key) for key in ("peakBytes", "lowerBoundBytes", "unsharedBytes", "reuseRatio")}


def over_two_targets(compiler, model, given, wanted, directory):
    """A program in partitions of both levels; what its evidence says of them."""
    low, high = X86_LEVELS
    where = {"Conv": high, "MaxPool": low, "AveragePool": low, "Sum": low}
    written = pathlib.Path(model).read_bytes()
    here = [op for op in where if bytes([0x22, len(op)]) + op.encode() in written]  # op_type, field 4 of a NodeProto
    rules = [part for op in here for part in ("--affinity", f"op:{op}={where[op]}")]
    compiler.compile(model, f"{high},{low}", directory, options=[*rules, *MODELS_ORDER])
    (raw,), _ = compiler.run(directory, [given], [1, 2, 7])
    check(raw == wanted, "other bits in partitions")
    stages = json.loads((directory / "evidence.json").read_text())["stages"]
    parts, plan = stages["partition"], stages["plan"]["profiles"][0]
    check({part["target"] for part in parts["partitions"]} == {low, high}, f"not in two targets: {parts}")
    check(len(plan["regions"]) == 2 and int(parts["transferBytes"]) > 0, f"no regions or transfers: {plan}")
    shutil.rmtree(directory)
    return {"partitions": len(parts["partitions"]), "transferBytes": parts["transferBytes"], "peakBytes": plan["peakBytes"]}


def check_network(compiler, path, targets, directory):
    facts = {"network": path.stem}
    stated_output(compiler, path, targets[0], directory / "stated")
    model = directory / "random.onnx"
    model.write_bytes(with_random_weights(path, seed=1).bytes())
    facts["compile seconds"] = round(compiler.compile(model, targets[0], directory / "first"), 2)
    facts.update(memory(directory / "first"))
    start = time.monotonic()
    (given,), (expected,) = compiler.reference(model, directory / "first.json", directory / "reference")
    facts["reference seconds"] = round(time.monotonic() - start, 1)
    facts["largest, spread of outputs"] = [float(f"{value:.3g}") for value in (numpy.abs(expected).max(), expected.std())]
    # A classifier that is certain, or that says the same of everything, would agree with any other.
    check(expected.std() > 1e-5 and (expected.max() < 0.98 or expected.min() < 0), f"the outputs say nothing: {facts}")
    foreign = foreign_output(model, given)
    compiler.compile(model, targets[0], directory / "default")
    (raw,), _ = compiler.run(directory / "default", [given], [1, 2, 7])
    got = numpy.frombuffer(raw, numpy.float32).reshape(expected.shape)
    facts["default order, error to reference"] = float(f"{difference(got, expected):.2g}")
    check(difference(got, expected) < 1e-3, f"default order: off from the reference evaluator by {difference(got, expected)}")
    shutil.rmtree(directory / "default")
    bits, emulated = {}, 0.0
    for contraction in ("on", "off"):
        for target in targets:
            if target in EMULATED and contraction == "off" and emulated > MOST_EMULATED:
                facts[f"{target} contraction off"] = f"not run: {emulated:.0f} s under qemu with contraction on"
                continue
            artifact = directory / f"{target.replace(':', '-')}-{contraction}"
            compiler.compile(model, target, artifact, contraction, options=MODELS_ORDER)
            # Threads under qemu cost as much and show as little.
            (raw,), seconds = compiler.run(artifact, [given], [2] if target in EMULATED else [1, 2, 7])
            emulated = max([emulated, *seconds.values()] if target in EMULATED else [emulated])
            got = numpy.frombuffer(raw, numpy.float32).reshape(expected.shape)
            error = difference(got, expected)
            facts[f"{target} contraction {contraction}"] = {
                "error to reference": float(f"{error:.2g}"), "seconds by threads": seconds,
                "bits as on " + targets[0]: raw == bits.setdefault(contraction, raw)}
            check(error < 1e-3, f"{target}: off from the reference evaluator by {error}")
            check(numpy.argsort(got, None)[-3:].tolist() == numpy.argsort(expected, None)[-3:].tolist(),
                  f"{target}: other best three")
            if foreign is not None:
                error = difference(got, foreign)
                facts[f"{target} contraction {contraction}"]["error to ONNX Runtime"] = float(f"{error:.2g}")
                check(error < 1e-3, f"{target}: off from ONNX Runtime by {error}")
            shutil.rmtree(artifact)
            check(raw == bits[contraction], f"{target}: other bits than on {targets[0]}")
    if set(X86_LEVELS) <= set(targets):
        facts["over two targets"] = over_two_targets(compiler, model, given, bits["on"], directory / "partitions")
    if facts.get("lowerBoundBytes"):
        ratio = int(facts["peakBytes"]) / int(facts["lowerBoundBytes"])
        check(ratio <= MOST_OVER_BOUND, f"the plan takes {ratio:.2f} times its lower bound")
    return facts


def unpacked(suite, into):
    """The suite's folder, unpacked from the shared archive where only that is there; None without both."""
    if suite and pathlib.Path(suite, "light").is_dir():
        return pathlib.Path(suite)
    archives = sorted((ROOT.parent / "shared/data").glob("onnx-backend-*.tar.zst"))
    if not archives or not shutil.which("zstd"):
        return None
    done = subprocess.run(["tar", "--zstd", "-xf", archives[-1], "-C", into], capture_output=True, text=True)
    check(done.returncode == 0, f"{archives[-1]}: {done.stderr}")
    return next((found.parent for found in pathlib.Path(into).rglob("light") if found.is_dir()), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--net", action="append")
    parser.add_argument("--target", action="append")
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    compiler, failed, report = Compiler(arguments.bin), 0, []
    with tempfile.TemporaryDirectory(prefix="kiln-light-") as scratch:
        suite = unpacked(arguments.suite, scratch)
        if not suite:
            print("light: skipped: set KILN_ONNX_SUITE to the unpacked ONNX backend test data (a folder with light/)")
            return 77
        targets = arguments.target or compiler.runnable_targets()
        if not arguments.target and compiler.why_not(ARM):
            print(f"light: without {ARM}: {compiler.why_not(ARM)}")
        networks = [path for path in sorted((suite / "light").glob("*.onnx"))
                    if not arguments.net or any(name in path.stem for name in arguments.net)]
        for path in networks:
            directory = pathlib.Path(scratch, path.stem)
            directory.mkdir()
            try:
                facts = check_network(compiler, path, targets, directory)
                print("passed", json.dumps(facts), flush=True)
                report.append(facts)
            except Failure as failure:
                failed += 1
                print(f"FAILED {path.stem}: {failure}", flush=True)
            shutil.rmtree(directory)
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            print("light: without ONNX Runtime: this python has none")
    if arguments.report:
        arguments.report.write_text(json.dumps(report, indent=1))
    print(f"{len(networks) - failed} passed, {failed} failed")
    return 1 if failed or not networks else 0


if __name__ == "__main__":
    sys.exit(main())
