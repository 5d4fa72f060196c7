#!/usr/bin/env python3
"""Models with gigabytes of weights and splats of half a gigabyte, compiled within little memory of kiln-cc's own.

usage: large_test.py BIN [TEST...]
BIN is the build's bin folder. Exit 77 (skipped) without numpy; the tests with gigabytes want 6 GiB of disk.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/models")]
try:
    from onnx_wire import field, model_bytes, node_bytes, value_info, varint
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} (infra/setup installs the Python tools of the tests)")
    sys.exit(77)

KILN_CC = pathlib.Path(sys.argv.pop(1)).absolute() / "kiln-cc"
MIB = 1 << 20
ROWS, COLUMNS = 23000, 25000  # f32: 2.14 GiB
BYTES = 4 * ROWS * COLUMNS


def compile_limited(model, out, limit, megabytes):
    """kiln-cc compile with RLIMIT_`limit`; returns seconds and what it said."""
    spec = out.with_suffix(".json")
    subprocess.run([KILN_CC, "spec", "--model", model, "--out", spec], check=True)
    start = time.monotonic()
    done = subprocess.run([KILN_CC, "compile", "--model", model, "--spec", spec, "--out", out], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(limit, (megabytes * MIB, megabytes * MIB)), check=False)
    return time.monotonic() - start, done


def weight_head(dims, name):
    """A TensorProto up to its data."""
    return b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name)


class Large(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kiln-large-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect_cheap_splat(self, nodes, weights):
        # x[1,4] beside a constant of 4 x 32 Mi values (512 MiB), and one result so small that nothing else is large.
        model = self.folder / "model.onnx"
        model.write_bytes(model_bytes(nodes, [value_info("x", [1, 4])], [value_info("y", [1, 1])], weights))
        seconds, done = compile_limited(model, self.folder / "out", resource.RLIMIT_AS, 400)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(seconds, 10)
        size = sum(path.stat().st_size for path in (self.folder / "out").rglob("*"))
        self.assertLess(size, MIB, "the constant is data of the artifact")
        self.assertLess(int(re.search(r"^peak memory: (\d+) MiB$", done.stderr, re.M).group(1)), 200)

    def test_a_splat_made_by_constant_of_shape_costs_nothing(self):
        self.expect_cheap_splat(
            [node_bytes("ConstantOfShape", ["shape"], ["c"], "constant"), node_bytes("MatMul", ["x", "c"], ["p"], "product"),
             node_bytes("ReduceMax", ["p"], ["y"], "largest", {"axes": [1], "keepdims": 1})],
            {"shape": numpy.array([4, 32 * MIB], numpy.int64)})

    def test_a_splat_made_by_expand_costs_nothing(self):
        self.expect_cheap_splat(
            [node_bytes("Expand", ["one", "shape"], ["c"], "constant"), node_bytes("MatMul", ["x", "c"], ["p"], "product"),
             node_bytes("ReduceMax", ["p"], ["y"], "largest", {"axes": [1], "keepdims": 1})],
            {"shape": numpy.array([4, 32 * MIB], numpy.int64), "one": numpy.array([1.5], numpy.float32)})

    def need_disk(self):
        if shutil.disk_usage(self.folder).free < 6 << 30:
            self.skipTest("less than 6 GiB of disk")

    def expect_weight(self, out, first, last):
        """Compiled without a copy: private memory is limited to a tenth of the weight."""
        seconds, done = compile_limited(self.folder / "model.onnx", out, resource.RLIMIT_DATA, 220)
        self.assertEqual(done.returncode, 0, done.stderr)
        weight, = json.loads((out / "manifest.json").read_text())["program"]["weights"]
        self.assertEqual(weight["size"], str(BYTES))
        with open(out / weight["path"], "rb") as file:
            self.assertEqual(file.read(4), first)
            file.seek(BYTES - 4)
            self.assertEqual(file.read(), last)
        print(f"{BYTES / 2**30:.2f} GiB of weights in {seconds:.1f} s:", done.stderr.strip().splitlines()[-1])

    def test_many_weights_stored_transposed_are_not_in_memory_together(self):
        # Eight of 32 MiB, each of them transposed while compiling: with 220 MiB of private memory not all of them fit.
        rows, columns, count = 2048, 4096, 8
        nodes, tensors = [], []
        for i in range(count):
            stored = [columns, rows] if i % 2 == 0 else [rows, columns]  # of [rows, columns] and [columns, rows]
            place = b"".join(field(13, field(1, key) + field(2, str(value))) for key, value in
                             {"location": "w.bin", "offset": i * 4 * rows * columns, "length": 4 * rows * columns}.items())
            tensors.append(field(5, weight_head(stored, f"w{i}") + place + field(14, 1)))
            nodes.append(field(1, node_bytes("Gemm", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"n{i}", {"transB": 1})))
        graph = b"".join(nodes) + field(2, "test") + b"".join(tensors) + field(11, value_info("v0", [1, rows]))
        graph += field(12, value_info(f"v{count}", [1, rows]))
        (self.folder / "model.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
        with open(self.folder / "w.bin", "wb") as file:  # holes behind the first value of each
            for i in range(count):
                file.seek(i * 4 * rows * columns)
                file.write(numpy.float32(i + 1).tobytes())
            file.truncate(count * 4 * rows * columns)
        out = self.folder / "out"
        _, done = compile_limited(self.folder / "model.onnx", out, resource.RLIMIT_DATA, 220)
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = json.loads((out / "manifest.json").read_text())["program"]["weights"]
        self.assertEqual(sum(int(weight["size"]) for weight in weights), count * 4 * rows * columns)
        self.assertEqual([path.name for path in out.iterdir() if path.name.startswith(".")], [])

    def test_external_data_past_two_gibibytes(self):
        self.need_disk()
        location = field(13, field(1, "location") + field(2, "w.bin"))
        tensor = weight_head([ROWS, COLUMNS], "w") + location + field(14, 1)
        nodes = [node_bytes("MatMul", ["x", "w"], ["y"], "product")]
        graph = field(1, nodes[0]) + field(2, "test") + field(5, tensor) + field(11, value_info("x", [1, ROWS]))
        graph += field(12, value_info("y", [1, COLUMNS]))
        (self.folder / "model.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
        first, last = numpy.float32(1.25).tobytes(), numpy.float32(-3).tobytes()
        with open(self.folder / "w.bin", "wb") as file:  # a hole between the first and the last value
            file.write(first)
            file.seek(BYTES - 4)
            file.write(last)
        self.expect_weight(self.folder / "out", first, last)

    def test_an_initialiser_past_two_gibibytes_inside_the_file(self):
        self.need_disk()
        head = weight_head([ROWS, COLUMNS], "w") + varint(9 << 3 | 2) + varint(BYTES)
        nodes = [node_bytes("MatMul", ["x", "w"], ["y"], "product")]
        before = field(1, nodes[0]) + field(2, "test") + varint(5 << 3 | 2) + varint(len(head) + BYTES) + head
        after = field(11, value_info("x", [1, ROWS])) + field(12, value_info("y", [1, COLUMNS]))
        opset = field(8, field(1, "") + field(2, 17))
        first, last = numpy.float32(1.25).tobytes(), numpy.float32(-3).tobytes()
        with open(self.folder / "model.onnx", "wb") as file:
            file.write(field(1, 8) + opset + varint(7 << 3 | 2) + varint(len(before) + BYTES + len(after)) + before + first)
            file.seek(BYTES - 8, os.SEEK_CUR)
            file.write(last + after)
        self.expect_weight(self.folder / "out", first, last)


if __name__ == "__main__":
    unittest.main(verbosity=2)
