#!/usr/bin/env python3
"""Models of every format through a farm, with what lies beside them: built, verified, run, and refused."""
import json
import math
import shutil
import sys
import unittest
import zipfile

from farm import MODELS, ROOT, FarmCase, artifact_of, json_of
from tensor_files import npy, read_npy, read_text_npy, safetensors, text_npy, write_npz
from tiny_onnx import model, node, value_info

# relu(x W + b), its weights as arguments that have names, as JAX writes it; W and B lie beside it.
PROGRAM = (MODELS / "affine.mlir").read_text()
W = [i - 5.5 for i in range(12)]
B = [0.5, -1.0, 2.0]
X = [1, 2, 3, 4, -1, 0, 1, -2]
Y = [max(0.0, sum(X[4 * i + k] * W[3 * k + j] for k in range(4)) + B[j]) for i in range(2) for j in range(3)]
# The same in ONNX, whose exporters may leave weights as inputs as well.
ONNX = model([node("MatMul", ["x", "w"], ["m"], "product"), node("Add", ["m", "b"], ["s"], "sum"), node("Relu", ["s"], ["y"], "relu")],
             [value_info("w", [4, 3]), value_info("b", [3]), value_info("x", [2, 4])], [value_info("y", [2, 3])])


class FormatsTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = cls.farm.home
        tensors = {"w": ((4, 3), W), "b": ((3,), B)}
        (home / "weights.safetensors").write_bytes(safetensors(tensors))
        write_npz(home / "weights.npz", {"arr_0": tensors["w"], "arr_1": tensors["b"]})
        (home / "x.npy").write_bytes(npy((2, 4), X))
        (home / "affine.mlir").write_text(PROGRAM)
        assert (home / "weights.safetensors").read_bytes() == (MODELS / "affine.safetensors").read_bytes()
        (home / "affine.onnx").write_bytes(ONNX)

    def build(self, file, *parameters, code=0):
        options = [word for name in parameters for word in ("--params", self.farm.home / name)]
        return self.kiln("build", self.farm.home / file, "--target", "cpu:x86-64-v3", *options, code=code)

    def run_artifact(self, artifact):
        out = self.farm.home / ("out-" + artifact[7:19])
        self.kiln("run", artifact, "--input", f"x={self.farm.home / 'x.npy'}", "--output-dir", out)
        shape, values = read_npy((out / "y.npy").read_bytes())
        self.assertEqual(shape, (2, 3))
        return list(values)

    def test_a_program_of_stablehlo_takes_its_weights_from_files(self):
        named = artifact_of(self.build("affine.mlir", "weights.safetensors"))
        placed = artifact_of(self.build("affine.mlir", "weights.npz"))
        for artifact in (named, placed):
            self.kiln("verify", artifact)
        self.assertEqual(self.run_artifact(named), Y)
        self.assertEqual(self.run_artifact(placed), Y)
        manifest = json_of(self.kiln("show", named, "--json"))
        self.assertIn("params/0", json.dumps(manifest))

    def test_a_pipeline_takes_texts_and_gives_texts(self):
        home, folder = self.farm.home, ROOT / "tests/conformance/strings/table_of_texts_and_numbers"
        case = json.loads((folder / "case.json").read_text())
        rows = len(case["inputs"]["a"])
        inputs = []
        for name, column in case["inputs"].items():
            values = [row[0] for row in column]
            write = text_npy if isinstance(values[0], str) else npy
            (home / f"{name}.npy").write_bytes(write((rows, 1), values))
            inputs += ["--input", f"{name}={home / name}.npy"]
        profile = ",".join(f"{dim}={rows}" for dim in case["dims"])
        artifact = artifact_of(self.kiln("build", folder / "model.onnx", "--target", "cpu:x86-64-v3", "--profile", profile))
        self.kiln("verify", artifact)
        self.assertIn("colour text", self.kiln("show", artifact).stdout)
        out = home / "texts"
        said = json_of(self.kiln("run", artifact, *inputs, "--output-dir", out, "--json"))
        self.assertEqual(said["outputs"][0]["texts"], case["outputs"]["label"])
        self.assertEqual(read_text_npy((out / "label.npy").read_bytes()), case["outputs"]["label"])
        self.assertIn('"buy"', self.kiln("run", artifact, *inputs).stdout)
        self.assertIn('"buy"', self.kiln("run", artifact, *inputs, "--isolated").stdout)

    def run_stored(self, artifact, inputs, stored, outputs, absolute):
        """Runs it on files, by input; each output beside the answer of that name in `stored`."""
        out = self.farm.home / f"out-{artifact[7:19]}"
        given = [word for name, path in inputs.items() for word in ("--input", f"{name}={path}")]
        self.kiln("run", artifact, *given, "--output-dir", out)
        for name, answer in outputs.items():
            shape, values = read_npy((out / f"{name}.npy").read_bytes())
            wanted_shape, wanted = read_npy(stored[answer])
            self.assertEqual(shape, wanted_shape, name)
            self.assertTrue(all(abs(a - b) < absolute for a, b in zip(values, wanted)), f"{name}: {values} where the framework has {wanted}")

    def stored(self, path):
        """Name -> a file of .npy of an .npz."""
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}

    def test_a_quantised_decoder_is_the_folder_that_its_exporter_writes(self):
        home, source = self.farm.home, ROOT / "tests/conformance/decoder/llama_int4_zero_points"
        folder, stored = home / "decoder", self.stored(source / "generation.npz")
        folder.mkdir()
        for file in ("model.onnx", "model.onnx.data"):
            shutil.copy(source / file, folder)
        (folder / "genai_config.json").write_text("{}")
        room = 16
        profile = f"batch_size=1,sequence_length=1:1:8,past_sequence_length={room},total_sequence_length=1:8:{room},kv_cache_dim=16"
        built = self.kiln("build", folder, "--target", "cpu:x86-64-v3", "--profile", profile)
        self.assertIn("model.onnx", built.stderr)
        artifact = artifact_of(built)
        self.kiln("verify", artifact)
        empty, caches = (1, 2, room, 16), [f"{layer}.{kind}" for layer in (0, 1) for kind in ("key", "value")]
        (home / "empty.npy").write_bytes(npy(empty, [0.0] * math.prod(empty)))
        past = {cache: home / "empty.npy" for cache in caches}
        # The prompt, and a step on the caches that it gave, as files.
        for run in ("one.0", "one.1"):
            inputs = {f"past_key_values.{cache}": path for cache, path in past.items()}
            for name in ("input_ids", "attention_mask"):
                inputs[name] = home / f"{name}.npy"
                inputs[name].write_bytes(stored[f"{run}.{name}"])
            self.run_stored(artifact, inputs, stored, {"logits": f"{run}.logits"}, 1e-3)
            for cache in caches:
                past[cache] = home / f"{run}.{cache}.npy"
                shutil.copy(home / f"out-{artifact[7:19]}" / f"present.{cache}.npy", past[cache])

    def test_a_program_of_torch_is_an_archive(self):
        fixtures = ROOT / "tests/compiler_core/frontend/torch/fixtures"
        stored = self.stored(fixtures / "tiny_convnet.npz")
        built = self.kiln("build", fixtures / "tiny_convnet.exported.pt2", "--target", "cpu:x86-64-v3", "--profile", "s77=1:2:4")
        artifact, x = artifact_of(built), self.farm.home / "images.npy"
        self.kiln("verify", artifact)
        x.write_bytes(stored["in.x"])
        self.run_stored(artifact, {"x": x}, stored, {"result0": "out.result0"}, 1e-4)

    def test_an_onnx_model_takes_them_too(self):
        self.assertEqual(self.run_artifact(artifact_of(self.build("affine.onnx", "weights.safetensors"))), Y)

    def test_an_export_of_jax_takes_its_weights_from_files(self):
        (self.farm.home / "affine.jax_export").write_bytes((MODELS / "affine.jax_export").read_bytes())
        artifact = artifact_of(self.build("affine.jax_export", "weights.safetensors"))
        self.kiln("verify", artifact)
        out = self.farm.home / "exported"
        self.kiln("run", artifact, "--input", f"x={self.farm.home / 'x.npy'}", "--output-dir", out)
        (file,) = out.iterdir()
        shape, values = read_npy(file.read_bytes())
        self.assertEqual((shape, list(values)), ((2, 3), Y))

    def test_a_folder_is_the_model_in_it_with_its_weights(self):
        folder = self.farm.home / "published"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        self.assertIn("only config.json", self.build("published", code=6).stderr)
        (folder / "program.txt").write_text(PROGRAM)
        (folder / "model.safetensors").write_bytes(safetensors({"w": ((4, 3), W), "b": ((3,), B)}))
        built = self.build("published")
        self.assertIn("program.txt: StableHLO, parameters", built.stderr)
        self.assertEqual(self.run_artifact(artifact_of(built)), Y)
        (folder / "other.onnx").write_bytes(ONNX)
        self.assertIn("2 models in this folder (other.onnx, program.txt)", self.build("published", code=2).stderr)
        # Without a farm the same folders are taken.
        (folder / "program.txt").unlink()
        self.assertIn("other.onnx", self.kiln("inspect", folder).stdout)

    def test_what_a_model_is_its_bytes_say_and_not_its_name(self):
        (self.farm.home / "program.onnx").write_text(PROGRAM)
        self.assertEqual(self.run_artifact(artifact_of(self.build("program.onnx", "weights.safetensors"))), Y)

    def test_parameters_that_do_not_fit_are_all_named(self):
        home = self.farm.home
        (home / "bad.safetensors").write_bytes(
            safetensors({"w": ((3, 4), W), "b": ((3,), B), "extra": ((1,), [0.0])}))
        error = self.build("affine.mlir", "bad.safetensors", code=2).stderr
        for part in ("f32[3,4]", "f32[4,3]", "extra"):
            self.assertIn(part, error)
        # The names are others, and the order of a file is no reason to take its tensors.
        write_npz(home / "others.npz", {"weight": ((4, 3), W), "bias": ((3,), B)})
        error = self.build("affine.mlir", "others.npz", code=2).stderr
        self.assertIn(f"{home / 'others.npz'}: none of its tensors has the name of an argument", error)
        self.assertIn("params['w']", error)
        (home / "half.safetensors").write_bytes(safetensors({"w": ((4, 3), W)}))
        self.assertIn("params['b']", self.build("affine.mlir", "half.safetensors", code=2).stderr)
        self.assertIn("no-such.npz", self.build("affine.mlir", "no-such.npz", code=6).stderr)
        (home / "noise.bin").write_bytes(b"\x00\x01noise" * 9)
        self.assertIn("noise.bin", self.build("affine.mlir", "noise.bin", code=2).stderr)

    def test_what_is_not_served_is_refused_by_name_and_place(self):
        (self.farm.home / "fft.mlir").write_text(
            "func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n"
            "  %0 = stablehlo.add %x, %x : tensor<4xcomplex<f32>>\n  return %0 : tensor<4xcomplex<f32>>\n}\n")
        error = self.build("fft.mlir", code=4).stderr
        self.assertIn("complex", error)


if __name__ == "__main__":
    sys.argv[0] = __file__
    unittest.main()
