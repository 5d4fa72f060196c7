#!/usr/bin/env python3
"""Programs without an operating system, run by QEMU's model of a board.

usage: bare_metal_test.py BIN
BIN is the build's bin folder. Each model is compiled for cpu:cortex-m55, linked into a firmware that has no C library, and
gives the very bits of cpu:x86-64-v3. Exit 77 (skipped) where qemu-system-arm, LLVM's tools or numpy are missing.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
MODELS = ROOT / "tests/models"
sys.path[:0] = [str(ROOT / "tests/support"), str(MODELS)]
try:
    import numpy
    import bare_metal
    import blocks
    from onnx_wire import INT32, INT64, INT8, UINT8, model_bytes, node_bytes, value_info
except ImportError as missing:
    print(f"skipped: {missing} (infra/setup installs the Python tools of the tests)")
    sys.exit(77)

COMPILER = bare_metal.Firmwares(sys.argv[1])
TARGET = "cpu:cortex-m55"
ORDER = ("--reassociation", "off")  # of sums: the same under every schedule, and so on every target
OUT_OF_RANGE = 1 << 33  # 0 in the lower 32 bits


def seeded(*dims):
    return numpy.random.default_rng(len(dims)).standard_normal(dims).astype(numpy.float32)


def one_input(dims, operators, weights=None):
    """A model that applies each of (operator, further inputs, attributes, output dims, output type...) to one input."""
    nodes = [node_bytes(op, ["x", *more], [f"y{i}"], f"{op}_{i}", attributes)
             for i, (op, more, attributes, *_) in enumerate(operators)]
    outputs = [value_info(f"y{i}", *rest) for i, (_, _, _, *rest) in enumerate(operators)]
    return model_bytes(nodes, [value_info("x", dims)], outputs, weights)


class BareMetal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kiln-bare-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, data):
        path = self.folder / "model.onnx"
        path.write_bytes(data)
        return path

    def expect_same(self, model, profiles=(), inputs=None, contraction="on", options=ORDER):
        """Compiles, runs and compares; returns the outputs as raw bytes."""
        native, bare = self.folder / "native", self.folder / "bare"
        COMPILER.compile(model, "cpu:x86-64-v3", native, contraction, profiles, options)
        COMPILER.compile(model, TARGET, bare, contraction, profiles, options)
        given = inputs or COMPILER.reference(model, native.with_suffix(".json"), self.folder / "reference")[0]
        wanted, _ = COMPILER.run(native, given, [1])
        got, status = COMPILER.emulate(bare, given)
        self.assertEqual(status, 0)
        for i, (raw, want) in enumerate(zip(got, wanted)):
            self.assertEqual(raw, want, f"output {i}: other bits than cpu:x86-64-v3")
        return got

    def expect_refused(self, model, why, *spec):
        path = self.folder / "refused.json"
        COMPILER.call(COMPILER.compiler, "spec", "--model", model, "--target", TARGET, *spec, "--out", path)
        done = subprocess.run([COMPILER.compiler, "compile", "--model", model, "--spec", path, "--out", self.folder / "refused"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("target cpu:cortex-m55 has no operating system", done.stderr)
        self.assertRegex(done.stderr, why)

    def test_digits_networks(self):
        images, labels = numpy.load(MODELS / "digits_images.npy"), numpy.load(MODELS / "digits_labels.npy")
        image = images[0].reshape(1, 1, 8, 8).astype(numpy.float32)
        logits = numpy.frombuffer(self.expect_same(MODELS / "digits_cnn.onnx", inputs=[image])[0], numpy.float32)
        self.assertEqual(logits.argmax(), labels[0])
        for contraction in ("on", "off"):
            self.expect_same(MODELS / "digits_mlp.onnx", ["N=5:5:5"], contraction=contraction)

    def test_keyword_spotting_in_int8(self):
        model = self.write(blocks.MODELS["keyword_int8"]())
        words = self.expect_same(model, options=(*ORDER, "--precision", "int8"))[0]
        self.assertEqual(len(words), 12 * 4)
        manifest = json.loads((self.folder / "bare/manifest.json").read_text())
        self.assertEqual((manifest["program"]["file"]["path"], manifest["program"]["weights"]), ("program.o", []))
        sizes = COMPILER.footprint(self.folder / "bare")
        self.assertLess(sizes["weights"], 64 << 10, "a byte for each weight")

    def test_convolution_and_pooling(self):
        weights = {"w": seeded(8, 6, 3, 3), "b": seeded(8), "g": seeded(6, 2, 3, 3)}
        self.expect_same(self.write(one_input([2, 6, 17, 19], [
            ("Conv", ["w", "b"], {"pads": [1, 1, 1, 1]}, [2, 8, 17, 19]),
            ("Conv", ["w"], {"strides": [2, 2], "pads": [0, 1, 1, 0]}, [2, 8, 8, 9]),
            ("Conv", ["g"], {"group": 3, "dilations": [2, 2]}, [2, 6, 13, 15]),
            ("MaxPool", [], {"kernel_shape": [3, 3], "strides": [2, 2]}, [2, 6, 8, 9]),
            ("AveragePool", [], {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}, [2, 6, 18, 20])], weights)))

    def test_products_and_reductions(self):
        weights = {"w": seeded(65, 33), "c": seeded(33), "s": seeded(130, 65).T.copy()}
        self.expect_same(self.write(one_input([7, 65], [
            ("MatMul", ["w"], {}, [7, 33]),
            ("Gemm", ["w", "c"], {"alpha": 0.5, "beta": 2.0}, [7, 33]),
            ("MatMul", ["s"], {}, [7, 130]),
            ("Softmax", [], {"axis": -1}, [7, 65]),
            ("ReduceMean", [], {"axes": [1], "keepdims": 0}, [7]),
            ("ReduceMax", [], {"axes": [0], "keepdims": 1}, [1, 65]),
            ("Transpose", [], {"perm": [1, 0]}, [65, 7])], weights)))

    def test_functions_keep_subnormals(self):
        names = ["Exp", "Tanh", "Erf", "Sin", "Cos", "Sigmoid", "Relu", "Neg", "Abs", "Floor", "Ceil", "Round", "Softplus"]
        operators = [(name, [], {}, [5, 21]) for name in names]
        operators += [(name, ["w"], {}, [5, 21]) for name in ("Add", "Mul", "Sub", "Div", "Min", "Max", "Mod")]
        operators[-1] = ("Mod", ["w"], {"fmod": 1}, [5, 21])
        operators += [("Cast", [], {"to": INT64}, [5, 21], INT64), ("Cast", [], {"to": INT32}, [5, 21], INT32)]
        x = seeded(5, 21)
        x[0] *= 1e-38
        x[1] *= 1e6
        self.expect_same(self.write(one_input([5, 21], operators, {"w": seeded(21) * numpy.float32(0.1)})), inputs=[x])

    def test_wide_integers_and_doubles(self):
        dims = [3, 11]
        numbers = numpy.random.default_rng(4).integers(-2**62, 2**62, dims)
        numbers[0] = numpy.arange(11) - 5
        divisor = numpy.random.default_rng(5).integers(1, 2**40, dims)
        divisor[0], divisor[1] = 3, -7
        nodes = [node_bytes(op, ["x", "d"], [op], op, attributes)
                 for op, attributes in (("Div", {}), ("Mul", {}), ("Add", {}), ("Mod", {"fmod": 1}))]
        outputs = [value_info(name, dims, INT64) for name in ("Div", "Mul", "Add", "Mod")]
        double = 11
        for name, kind in (("real", 1), ("wide", double)):
            nodes.append(node_bytes("Cast", ["x"], [name], name, {"to": kind}))
            outputs.append(value_info(name, dims, kind))
        nodes += [node_bytes("Sqrt", ["square"], ["root"], "root"), node_bytes("Cast", ["root"], ["back"], "back", {"to": INT64})]
        nodes.insert(-2, node_bytes("Mul", ["wide", "wide"], ["square"], "square"))
        outputs += [value_info("root", dims, double), value_info("back", dims, INT64)]
        model = model_bytes(nodes, [value_info("x", dims, INT64)], outputs, {"d": divisor})
        self.expect_same(self.write(model), inputs=[numbers])

    def test_what_is_no_loop_nest(self):
        k = {"k": numpy.array([4], numpy.int64), "axis": numpy.array(1, numpy.int64)}
        nodes = [node_bytes("TopK", ["x", "k"], ["top", "at"], "TopK"), node_bytes("CumSum", ["x", "axis"], ["sum"], "CumSum"),
                 node_bytes("ArgMax", ["x"], ["best"], "ArgMax", {"axis": 1, "keepdims": 0})]
        outputs = [value_info("top", [3, 4]), value_info("at", [3, 4], INT64), value_info("sum", [3, 19]), value_info("best", [3], INT64)]
        self.expect_same(self.write(model_bytes(nodes, [value_info("x", [3, 19])], outputs, k)))

    def test_indices_outside_are_counted(self):
        nodes = [node_bytes("Gather", ["table", "at"], ["rows"], "pick", {"axis": 0})]
        model = model_bytes(nodes, [value_info("at", [4], INT64)], [value_info("rows", [4, 3])], {"table": seeded(5, 3)})
        at = numpy.array([1, OUT_OF_RANGE, -1, 7], numpy.int64)
        bare = self.folder / "bare"
        COMPILER.compile(self.write(model), TARGET, bare)
        (rows, counts), status = COMPILER.emulate(bare, [at])
        self.assertEqual((status, numpy.frombuffer(counts, numpy.int64).tolist()), (0, [2]))
        rows = numpy.frombuffer(rows, numpy.float32).reshape(4, 3)
        numpy.testing.assert_array_equal(rows[[0, 2]], seeded(5, 3)[[1, 4]])

    def test_two_models_in_one_firmware(self):
        entries = set()
        for i, name in enumerate(("digits_cnn", "digits_mlp")):
            out = self.folder / name
            COMPILER.compile(MODELS / f"{name}.onnx", TARGET, out, profiles=["N=1"] * i)
            symbols = COMPILER.call(bare_metal.LLVM / "llvm-nm", "-g", out / "program.o").stdout.split("\n")
            self.assertEqual(len([line for line in symbols if line]), 1, "one symbol is seen, none is missing")
            entries.add(symbols[0].split()[-1])
        self.assertEqual(len(entries), 2)

    def test_the_same_bytes_again(self):
        first, second = self.folder / "first", self.folder / "second"
        for out in (first, second):
            COMPILER.compile(MODELS / "digits_cnn.onnx", TARGET, out)
        self.assertEqual((first / "program.o").read_bytes(), (second / "program.o").read_bytes())

    def test_what_it_cannot_have_is_refused_by_name(self):
        mlp = MODELS / "digits_mlp.onnx"
        self.expect_refused(mlp, "'N' is symbolic", "--profile", "N=1:2:8")
        self.expect_refused(mlp, "2 are given", "--profile", "a:N=1", "--profile", "b:N=2")
        found = model_bytes([node_bytes("NonZero", ["x"], ["at"], "find")], [value_info("x", [4])], [value_info("at", [1, "M"], INT64)])
        self.expect_refused(self.write(found), "finds out from values")

    def test_a_runtime_does_not_load_it(self):
        bare = self.folder / "bare"
        COMPILER.compile(MODELS / "digits_cnn.onnx", TARGET, bare)
        with self.assertRaisesRegex(Exception, "cortex-m55|firmware|machine"):
            COMPILER.run(bare, [seeded(1, 1, 8, 8)], [1])

    def test_its_code_is_disassembled(self):
        bare = self.folder / "bare"
        COMPILER.compile(MODELS / "digits_cnn.onnx", TARGET, bare)
        kernels = json.loads((bare / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        code = COMPILER.call(COMPILER.compiler, "disassemble", bare / "program.o", kernels[-1]["symbol"]).stdout
        self.assertIn("vfma.f32", code)
        self.assertNotIn("(bad)", code)

    def test_header_names(self):
        bare = self.folder / "bare"
        COMPILER.compile(MODELS / "digits_cnn.onnx", TARGET, bare)
        for name in ("", "1x", "a b", "a;b", "x" * 65):
            done = subprocess.run([COMPILER.compiler, "header", bare, "--name", name], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)


if __name__ == "__main__":
    if why := bare_metal.why_not():
        print("skipped:", why)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
