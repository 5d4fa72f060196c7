#!/usr/bin/env python3
"""Networks of blocks.py through compile, reference and check: for the processor, and for a GPU on the emulated device.

usage: blocks_test.py BIN      BIN: a build folder's bin. Without ptxas in the build tree, the processor alone.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
try:
    import numpy
except ImportError:
    print("skipped: no numpy; infra/setup installs the Python tools of the tests")
    sys.exit(77)
import blocks  # noqa: E402
from compiled import Compiler  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
HAS_ASSEMBLER = (BIN / "../toolchain/bin/ptxas").exists()
TARGETS = ["cpu:x86-64-v3"] + ["cuda:sm_90a"] * HAS_ASSEMBLER
# Results of size 1 whose smallest ones are what is left of larger numbers, in both types; attention and a convolution.
NETWORKS = ["transformer_block", "transformer_block_f16", "conv_f16"]


class Blocks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.compiler = Compiler(BIN)

    def artifact(self, name, target, options=()):
        """The artifact's folder, with its fixtures."""
        model, out = self.folder / f"{name}.onnx", self.folder / f"{name}-{target.replace(':', '-')}"
        model.write_bytes(blocks.MODELS[name]())
        spec = self.compiler.spec(model, target, out.with_suffix(".json"), options=options)
        emulation = ["--emulation", self.folder / "emulation"] if target.startswith("cuda:") else []
        (self.folder / "emulation").mkdir(exist_ok=True)
        self.compiler.call(BIN / "kiln-cc", "compile", "--model", model, "--spec", spec, "--out", out, *emulation)
        self.compiler.reference(model, spec, out / "fixtures")
        return out

    def check(self, artifact):
        """Whether kiln-check finds that it passes, and the items that did not."""
        plan, report = artifact.with_suffix(".plan"), artifact.with_suffix(".report")
        plan.write_text("{}")
        report.mkdir(exist_ok=True)
        done = subprocess.run([BIN / "kiln-check", "--artifact", artifact, "--plan", plan, "--out", report, "--threads", "2",
                               "--device-driver", BIN / "libkiln-emulated-cuda.so"], capture_output=True, text=True, timeout=300,
                              env={"KILN_EMULATED_KERNELS": str(self.folder / "emulation"), "KILN_EMULATED_ORDER": "shuffled"})
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads((report / "report.json").read_text())
        self.assertIn("fixture", [item["kind"] for item in found["items"]])
        return found["passed"], [item for item in found["items"] if not item["passed"]]

    def test_every_network_agrees_with_its_fixtures(self):
        for name in NETWORKS:
            for target in TARGETS:
                with self.subTest(name=name, target=target):
                    self.assertEqual(self.check(self.artifact(name, target)), (True, []))

    @unittest.skipUnless(HAS_ASSEMBLER, "no ptxas in the build tree")
    def test_products_of_tf32_agree_with_fixtures_that_allow_for_them(self):
        artifact = self.artifact("transformer_block", "cuda:sm_90a", ["--precision", "tf32"])
        self.assertEqual(self.check(artifact), (True, []))

    def test_integer_products_agree_with_fixtures_that_allow_for_them(self):
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        wide = ["cpu:x86-64-v4+avx512vnni+avx512bf16"] * ("avx512_vnni" in flags and "avx512_bf16" in flags)
        for target in ["cpu:x86-64-v3", *wide]:
            with self.subTest(target=target):
                artifact = self.artifact("mobile_int8_small", target, ["--precision", "int8"])
                self.assertEqual(self.check(artifact), (True, []))

    def test_the_comparison_node_by_node_takes_rounding_for_what_it_is(self):
        model = self.folder / "model.onnx"
        model.write_bytes(blocks.MODELS["transformer_block_f16"]())
        self.assertIn("all agree", self.compiler.call(BIN / "kiln-compare", model).stdout)

    def test_what_rounding_does_not_explain_is_wrong(self):
        artifact = self.artifact("transformer_block_f16", TARGETS[0])
        path = artifact / "fixtures/default/output_0.npy"
        expected = numpy.load(path)
        size = float(numpy.sqrt(numpy.mean(numpy.square(expected.astype(numpy.float64)))))
        smallest = numpy.unravel_index(numpy.argmin(numpy.abs(expected)), expected.shape)
        expected[smallest] += numpy.float16(size / 50)
        numpy.save(path, expected)
        passed, wrong = self.check(artifact)
        self.assertEqual((passed, len(wrong)), (False, 1), wrong)
        self.assertIn("1 of 8192 elements differ", wrong[0]["detail"])


if __name__ == "__main__":
    unittest.main()
