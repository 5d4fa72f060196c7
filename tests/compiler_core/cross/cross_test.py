#!/usr/bin/env python3
"""Programs for other architectures, run under qemu-user.

usage: cross_test.py BIN TARGET...
BIN is the build's bin folder. Each model is compiled for every target, runs at 1, 2 and 7 threads with the same bits, agrees with
the reference evaluator, and gives the very bits of cpu:x86-64-v3: every operation used rounds correctly and every sum has
one order. Exit 77 (skipped) where qemu-user, the cross compiler or numpy is missing.
"""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
MODELS = ROOT / "tests/models"
sys.path[:0] = [str(ROOT / "tests/support"), str(MODELS)]
try:
    import numpy
    from compiled import Compiler
    from onnx_wire import model_bytes, node_bytes, value_info
except ImportError as missing:
    print(f"skipped: {missing} (infra/setup installs the Python tools of the tests)")
    sys.exit(77)

COMPILER = Compiler(sys.argv[1])
TARGETS = sys.argv[2:]
# Processors with vectors of 512 bits instead of 128, where an architecture leaves their length open.
LONGER = {"cpu:aarch64-neoverse-v2": "max,sve-default-vector-length=64",
          "cpu:riscv64-rva22+v": "rv64,v=true,vext_spec=v1.0,vlen=512,zba=true,zbb=true,zbs=true,Zfhmin=true"}
MODELS_ORDER = ("--reassociation", "off")  # of sums: the same under every schedule, and so on every target


def one_input(dims, operators, weights=None):
    """A model that applies each of (operator, further inputs, attributes, output dims) to one input."""
    nodes = [node_bytes(op, ["x", *more], [f"y{i}"], f"{op}_{i}", attributes)
             for i, (op, more, attributes, _) in enumerate(operators)]
    outputs = [value_info(f"y{i}", out) for i, (*_, out) in enumerate(operators)]
    return model_bytes(nodes, [value_info("x", dims)], outputs, weights)


def seeded(*dims):
    return numpy.random.default_rng(len(dims)).standard_normal(dims).astype(numpy.float32)


class Cross(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kiln-cross-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect_same(self, model, profiles=(), inputs=None, contraction="on"):
        """Compiles, runs and compares; returns the outputs of the first target."""
        native = self.folder / "native"
        COMPILER.compile(model, "cpu:x86-64-v3", native, contraction, profiles, MODELS_ORDER)
        seeds, expected = COMPILER.reference(model, native.with_suffix(".json"), self.folder / "reference")
        given = inputs or seeds
        wanted, _ = COMPILER.run(native, given, [1])
        results = []
        for target in TARGETS:
            artifact = self.folder / target.replace(":", "-")
            COMPILER.compile(model, target, artifact, contraction, profiles, MODELS_ORDER)
            outputs, _ = COMPILER.run(artifact, given, [1, 2, 7])
            for i, (raw, want, reference) in enumerate(zip(outputs, wanted, expected)):
                got = numpy.frombuffer(raw, reference.dtype).reshape(reference.shape)
                if inputs is None:
                    numpy.testing.assert_allclose(got, reference, rtol=1e-4, atol=1e-5, err_msg=f"{target} output {i}")
                self.assertEqual(raw, want, f"{target} output {i}: other bits than cpu:x86-64-v3")
                results.append(got)
        return results

    def write(self, data):
        path = self.folder / "model.onnx"
        path.write_bytes(data)
        return path

    def test_digits_networks(self):
        images, labels = numpy.load(MODELS / "digits_images.npy"), numpy.load(MODELS / "digits_labels.npy")
        pixels = numpy.load(MODELS / "digits_pixels.npy").astype(numpy.float32)
        self.expect_same(MODELS / "digits_cnn.onnx")
        self.expect_same(MODELS / "digits_mlp.onnx", ["N=5:5:5"])
        right = 0
        for i in range(10):
            image = images[i].reshape(1, 1, 8, 8).astype(numpy.float32)
            right += self.expect_same(MODELS / "digits_cnn.onnx", inputs=[image])[0].argmax() == labels[i]
        self.assertGreaterEqual(right, 9, "of the first ten digits of the test set")
        probability = self.expect_same(MODELS / "digits_mlp.onnx", ["N=297:297:297"], inputs=[pixels])[0]
        self.assertGreater((probability.argmax(1) == labels).mean(), 0.95)

    def test_convolution_and_pooling(self):
        x = [2, 6, 17, 19]
        weights = {"w": seeded(8, 6, 3, 3), "b": seeded(8), "g": seeded(6, 2, 3, 3)}
        operators = [
            ("Conv", ["w", "b"], {"pads": [1, 1, 1, 1]}, [2, 8, 17, 19]),
            ("Conv", ["w"], {"strides": [2, 2], "pads": [0, 1, 1, 0]}, [2, 8, 8, 9]),
            ("Conv", ["g"], {"group": 3, "dilations": [2, 2]}, [2, 6, 13, 15]),
            ("MaxPool", [], {"kernel_shape": [3, 3], "strides": [2, 2]}, [2, 6, 8, 9]),
            ("AveragePool", [], {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}, [2, 6, 18, 20]),
            ("GlobalAveragePool", [], {}, [2, 6, 1, 1]),
        ]
        for contraction in ("on", "off"):
            with self.subTest(contraction=contraction):
                self.expect_same(self.write(one_input(x, operators, weights)), contraction=contraction)

    def test_products_and_reductions(self):
        weights = {"w": seeded(65, 33), "c": seeded(33), "s": seeded(130, 65).T.copy()}
        operators = [
            ("MatMul", ["w"], {}, [37, 33]),
            ("Gemm", ["w", "c"], {"alpha": 0.5, "beta": 2.0}, [37, 33]),
            ("MatMul", ["s"], {}, [37, 130]),
            ("Softmax", [], {"axis": -1}, [37, 65]),
            ("Softmax", [], {"axis": 0}, [37, 65]),
            ("LogSoftmax", [], {"axis": -1}, [37, 65]),
            ("ReduceMean", [], {"axes": [1], "keepdims": 0}, [37]),
            ("ReduceMax", [], {"axes": [0], "keepdims": 1}, [1, 65]),
            ("Transpose", [], {"perm": [1, 0]}, [65, 37]),
        ]
        for contraction in ("on", "off"):
            with self.subTest(contraction=contraction):
                self.expect_same(self.write(one_input([37, 65], operators, weights)), contraction=contraction)

    def test_functions(self):
        names = ["Exp", "Tanh", "Erf", "Sin", "Cos", "Sigmoid", "Relu", "Neg", "Abs", "Floor", "Ceil", "Round", "Softplus"]
        operators = [(name, [], {}, [5, 101]) for name in names]
        operators += [(name, ["w"], {}, [5, 101]) for name in ("Add", "Mul", "Sub", "Div", "Min", "Max")]
        self.expect_same(self.write(one_input([5, 101], operators, {"w": seeded(101)})))

    def test_longer_vectors_give_the_same_bits(self):
        for target in set(TARGETS) & set(LONGER):
            artifact = self.folder / "longer"
            COMPILER.compile(MODELS / "digits_cnn.onnx", target, artifact)
            images = [seeded(1, 1, 8, 8)]
            self.assertEqual(COMPILER.run(artifact, images, [1, 2], LONGER[target])[0], COMPILER.run(artifact, images, [1, 2])[0], target)

    def test_another_architectures_program_is_refused_by_name(self):
        out = self.folder / "x86"
        COMPILER.compile(MODELS / "digits_cnn.onnx", "cpu:x86-64-v3", out)
        text = (out / "manifest.json").read_text()
        (out / "manifest.json").write_text(text.replace('"name":"cpu:x86-64-v3"', f'"name":"{TARGETS[0]}"'))
        with self.assertRaisesRegex(Exception, "lacks|does not know|x86-64"):
            COMPILER.run(out, [numpy.zeros((1, 1, 8, 8), numpy.float32)], [1])


if __name__ == "__main__":
    if why := COMPILER.why_not(TARGETS[0]):
        print("skipped:", why)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
