#!/usr/bin/env python3
"""The Python package as it is built, against a real farm: every docstring's example, and what goes wrong.

usage: python_test.py [TEST...]; exit 77 where the package's tools (infra/setup) are missing."""
import asyncio
import doctest
import gc
import importlib
import json
import os
import pathlib
import shutil
import sys
import threading
import types
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "infra"))
from farm import MODELS, ROOT, TARGET, FarmCase  # noqa: E402
from tiny_onnx import field, model, node, value_info  # noqa: E402

BUILD = pathlib.Path(os.environ.get("KILN_TEST_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(BUILD / "python"))
sys.dont_write_bytecode = True
try:
    import grpc  # noqa: F401
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}; run infra/setup")
    sys.exit(77)
import kiln  # noqa: E402
import kiln.onnxruntime  # noqa: E402

IMAGE = numpy.random.default_rng(3).random((1, 1, 8, 8), dtype=numpy.float32)


def symbolic(name, size):
    """[N, size] in f32."""
    shape = field(1, field(2, "N")) + field(1, field(1, size))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


class PythonTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ.update({name: value for name, value in cls.farm.env.items() if name.startswith("KILN_")})
        os.chdir(cls.farm.home)
        shutil.copy(MODELS / "digits_cnn.onnx", ".")
        kiln.fetch(cls.artifact, "digits")
        cls.model = kiln.load("digits", threads=1)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        super().tearDownClass()

    def refused(self, kind, call, *words):
        with self.assertRaises(kind) as raised:
            call()
        self.assertIsInstance(raised.exception, kiln.Error)
        self.assertEqual(raised.exception.exit_code, kind.exit_code)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def built(self, name, data, *profiles):
        pathlib.Path(f"{name}.onnx").write_bytes(data)
        job = kiln.Farm().build(f"{name}.onnx", targets=[TARGET], profiles=profiles)
        return kiln.load(kiln.fetch(job.artifacts[0].digest, name).directory, threads=1)

    # --- examples

    def test_every_example_of_a_docstring(self):
        names = {"kiln": kiln, "numpy": numpy, "asyncio": asyncio, "ARTIFACT": self.artifact, "model": self.model,
                 "farm": kiln.Farm()}
        ran = 0
        for name in ("kiln", "kiln.errors", "kiln.farm", "kiln.model", "kiln.onnxruntime", "kiln.trust"):
            done = doctest.testmod(importlib.import_module(name), extraglobs=names,
                                   optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL)
            self.assertEqual(done.failed, 0, name)
            ran += done.attempted
        self.assertGreater(ran, 20)

    # --- arrays

    def test_outputs_are_those_of_the_command_line(self):
        numpy.save("image.npy", IMAGE)
        self.kiln("run", "digits", "--input", "image=image.npy", "--output-dir", "printed", "--threads", "1")
        given = numpy.asarray(self.model.run({"image": IMAGE})["logits"])
        self.assertEqual(given.tobytes(), numpy.load("printed/logits.npy").tobytes())

    def test_tritons_backend_serves_an_export(self):
        """With a stand-in for the module that Triton gives its Python backend."""
        self.kiln("export", "digits", "--layout", "triton", "served", "--model-name", "digits")
        utils = types.ModuleType("triton_python_backend_utils")
        utils.Tensor = lambda name, array: types.SimpleNamespace(name=lambda: name, as_numpy=lambda: array)
        utils.InferenceResponse = lambda output_tensors=(), error=None: types.SimpleNamespace(outputs=output_tensors, error=error)
        utils.TritonError = str
        request = lambda array: types.SimpleNamespace(inputs=lambda: [utils.Tensor("image", array)],
                                                      requested_output_names=lambda: ["logits"])
        version = pathlib.Path("served/digits").resolve()
        with unittest.mock.patch.dict(sys.modules, {utils.__name__: utils}), unittest.mock.patch.object(sys, "path", [f"{version}/1", *sys.path]):
            served = importlib.import_module("model").TritonPythonModel()
        served.initialize({"model_repository": str(version), "model_version": "1",
                           "model_config": json.dumps({"parameters": {"KILN_THREADS": {"string_value": "1"}}})})
        right, wrong = served.execute([request(IMAGE), request(IMAGE.astype(numpy.float64))])
        expected = numpy.asarray(self.model.run({"image": IMAGE})["logits"])
        numpy.testing.assert_array_equal(right.outputs[0].as_numpy(), expected)
        self.assertIn("takes f32, given f64", wrong.error)
        served.finalize()

    def test_nothing_is_copied_where_nothing_has_to_be(self):
        image = kiln.empty((1, 1, 8, 8))
        numpy.asarray(image)[...] = IMAGE
        logits = kiln.empty((1, 10))
        before = self.model.counters.transfer_bytes
        results = self.model.run({"image": image}, out={"logits": logits})
        self.assertEqual(self.model.counters.transfer_bytes, before)
        self.assertIs(results["logits"], logits)
        expected = numpy.asarray(self.model.run({"image": IMAGE})["logits"])
        numpy.testing.assert_array_equal(numpy.asarray(logits), expected)
        shared = numpy.from_dlpack(logits)
        numpy.asarray(logits)[0, 0] = 7
        self.assertEqual(shared[0, 0], 7)
        del logits, results
        gc.collect()
        self.assertEqual(shared[0, 0], 7)  # the consumer holds the memory

    def test_arrays_that_only_speak_dlpack(self):
        class Foreign:
            def __init__(self, array, device=(1, 0)):
                self.array, self.device = array, device

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.device

        expected = numpy.asarray(self.model.run({"image": IMAGE})["logits"])
        got = self.model.run({"image": Foreign(IMAGE)})["logits"]
        numpy.testing.assert_array_equal(numpy.asarray(got), expected)
        wide = numpy.zeros((1, 1, 8, 16), numpy.float32)[..., ::2]
        for array, word in ((Foreign(wide), "contiguous"), (Foreign(IMAGE.astype(numpy.float64)), "f64"),
                            (Foreign(IMAGE, (2, 0)), "device")):
            self.refused(kiln.UsageError, lambda array=array: self.model.run({"image": array}), word)

    def test_arrays_that_do_not_fit_are_named_with_the_next_step(self):
        wide = numpy.zeros((1, 1, 8, 16), numpy.float32)[..., ::2]
        cases = ((IMAGE.astype(numpy.float64), "f64; convert"), (IMAGE.astype(">f4"), "order"), (wide, "ascontiguousarray"),
                 (IMAGE[0], "expected f32[1,1,8,8], given f32[1,8,8]"), (numpy.zeros((2, 1, 8, 8), numpy.float32), "[2,1,8,8]"),
                 (IMAGE.tolist(), "no array but list"), (None, "NoneType"), (b"x" * 256, "given u8"), (numpy.float32(1), "f32[]"),
                 (numpy.array([object()]), "image"), (numpy.zeros(64, "f4,f4"), "image"))
        for array, words in cases:
            self.refused(kiln.UsageError, lambda array=array: self.model.run({"image": array}), words)
        self.refused(kiln.UsageError, lambda: self.model.run({}), "image\" is missing")
        self.refused(kiln.UsageError, lambda: self.model.run({"imag": IMAGE}), "no input \"imag\"")
        self.refused(kiln.UsageError, lambda: self.model.run({"image": IMAGE, 3: IMAGE}), "no input")
        self.refused(kiln.UsageError, lambda: self.model.run([IMAGE]), "dictionary")
        locked = numpy.zeros((1, 10), numpy.float32)
        locked.flags.writeable = False
        for out in ({"logits": locked}, {"logits": numpy.zeros((10,), numpy.float32)}, {"other": locked}, []):
            self.refused(kiln.UsageError, lambda out=out: self.model.run({"image": IMAGE}, out=out), "out")
        for shape in ((-1,), (2 ** 62, 8), (1,) * 65):
            self.refused(kiln.UsageError, lambda shape=shape: kiln.empty(shape), "shape")

    def test_symbolic_dimensions(self):
        relu = self.built("relu", model([node("Relu", ["x"], ["y"], "relu")], [symbolic("x", 4)], [symbolic("y", 4)]), "N=1:4:16")
        self.assertEqual(relu.inputs[0], kiln.TensorInfo("x", "f32", ("N", 4)))
        for n in (1, 16):
            x = numpy.arange(-2, 4 * n - 2, dtype=numpy.float32).reshape(n, 4)
            numpy.testing.assert_array_equal(numpy.asarray(relu.run({"x": x})["y"]), numpy.maximum(x, 0))
        for n in (0, 17):
            self.refused(kiln.UsageError, lambda n=n: relu.run({"x": numpy.zeros((n, 4), numpy.float32)}), "N")

    def test_texts_go_in_and_come_out(self):
        folder = ROOT / "tests/conformance/strings/names_of_classes"
        case = json.loads((folder / "case.json").read_text())
        named = self.built("names", (folder / "model.onnx").read_bytes(), *(f"{dim}=1:6:9" for dim in case["dims"]))
        types = {info.name: info.dtype for info in (*named.inputs, *named.outputs)}
        self.assertEqual((types["wanted"], types["name"]), ("str", "str"))
        scores = numpy.array(case["inputs"]["scores"], numpy.float32)
        for wanted in (case["inputs"]["wanted"], numpy.array(case["inputs"]["wanted"])):
            got = named.run({"scores": scores, "wanted": wanted})
            self.assertEqual(got["name"], case["outputs"]["name"])
            self.assertEqual(numpy.asarray(got["found"]).tolist(), case["outputs"]["found"])
        endless = []
        endless.append(endless)
        for wrong in (3, [["a"], "b"], [b"\xff"], endless):
            self.refused(kiln.UsageError, lambda wrong=wrong: named.run({"scores": scores, "wanted": wrong}), "text")

    # --- threads and processes

    def test_threads_share_a_model_and_others_go_on_meanwhile(self):
        expected = numpy.asarray(self.model.run({"image": IMAGE})["logits"]).tobytes()
        wrong = []

        def work():
            for _ in range(200):
                got = self.model.run({"image": IMAGE})["logits"]
                if numpy.asarray(got).tobytes() != expected:
                    wrong.append(got)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])

    def test_closing_waits_for_nobody_and_breaks_no_run(self):
        closing = kiln.load("digits", threads=2)

        def work():
            try:
                for _ in range(500):
                    closing.run({"image": IMAGE})
            except kiln.UsageError:
                pass

        threads = [threading.Thread(target=work) for _ in range(3)]
        for one in threads:
            one.start()
        closing.close()
        for one in threads:
            one.join()
        self.refused(kiln.UsageError, lambda: closing.run({"image": IMAGE}), "closed")
        self.refused(kiln.UsageError, lambda: closing.ready, "closed")
        closing.close()

    def test_runs_are_awaited(self):
        async def several():
            return await asyncio.gather(*(self.model.run_async({"image": IMAGE}) for _ in range(5)))

        got = [numpy.asarray(one["logits"]).tobytes() for one in asyncio.run(several())]
        self.assertEqual(set(got), {numpy.asarray(self.model.run({"image": IMAGE})["logits"]).tobytes()})

    def test_a_forked_process_is_told_to_load_its_own(self):
        forked = kiln.load("digits", threads=2)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                forked.run({"image": IMAGE})
            except kiln.UsageError as error:
                code = 0 if "forked" in str(error) else 2
            forked.close()
            del forked
            gc.collect()
            own = kiln.load("digits", threads=2)
            own.run({"image": IMAGE})
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        forked.run({"image": IMAGE})
        forked.close()

    def test_warmup_makes_ready(self):
        # With its fixtures, which the farm's HTTP side does not serve.
        with kiln.load(kiln.Farm().fetch(self.artifact, "with fixtures").directory) as fresh:
            self.assertFalse(fresh.ready)
            fresh.run({"image": IMAGE})
            fresh.warmup()
            self.assertTrue(fresh.ready)
            self.assertEqual(fresh.counters.runs, 1)
            self.assertGreater(fresh.counters.warmup_nanoseconds, 0)
        self.refused(kiln.InternalError, self.model.warmup, "kiln fetch")

    # --- trust

    def test_what_does_not_verify_is_not_loaded_and_leaves_nothing(self):
        shutil.copytree("digits", "changed")
        os.chmod("changed", 0o755)
        program = pathlib.Path("changed/program.so")
        program.chmod(0o644)
        program.write_bytes(program.read_bytes()[:-1] + b"!")
        for call in (kiln.load, kiln.verify, kiln.onnxruntime.InferenceSession):
            self.refused(kiln.VerificationError, lambda call=call: call("changed"), "program.so")
        other = "sha256:" + 64 * "0"
        self.refused(kiln.VerificationError, lambda: kiln.load("digits", digest=other), other)
        self.refused(kiln.NotFoundError, lambda: kiln.fetch(other, "nothing"), other)
        self.refused(kiln.UsageError, lambda: kiln.fetch("sha256:12", "nothing"), "digest")
        self.refused(kiln.UnavailableError, lambda: kiln.fetch(self.artifact, "nothing", endpoint="http://127.0.0.1:1"), "127.0.0.1")
        self.refused(kiln.UsageError, lambda: kiln.fetch(self.artifact, "nothing", endpoint="unix:/socket"), "http://")
        self.refused(kiln.NotFoundError, lambda: kiln.verify("nowhere"), "nowhere")
        self.refused(kiln.NotFoundError, lambda: kiln.load("digits", root="no root"), "no root")
        self.assertFalse(pathlib.Path("nothing").exists())
        self.model.recheck()

    def test_a_trust_root_is_named_and_never_found(self):
        root = os.environ.pop("KILN_TRUST_ROOT")
        try:
            self.refused(kiln.UsageError, lambda: kiln.load("digits"), "KILN_TRUST_ROOT")
            kiln.verify("digits", root=root)
        finally:
            os.environ["KILN_TRUST_ROOT"] = root

    # --- the farm

    def test_a_farm_says_what_is_wrong_with_the_exit_code_of_the_command_line(self):
        farm = kiln.Farm()
        self.refused(kiln.UsageError, lambda: farm.build("digits_cnn.onnx", targets=["cpu:nothing"]), "cpu:nothing")
        self.refused(kiln.UsageError, lambda: farm.build("digits_cnn.onnx", targets="cpu:x86-64-v3"), "list")
        self.refused(kiln.UsageError, lambda: farm.build("digits_cnn.onnx", targets=[TARGET], profiles=["N=x"]), "N=x")
        self.refused(kiln.NotFoundError, lambda: farm.build("nowhere.onnx", targets=[TARGET]), "nowhere.onnx")
        pathlib.Path("broken.onnx").write_bytes(b"\x08\x08nothing")
        self.refused(kiln.InvalidModelError, lambda: farm.build("broken.onnx", targets=[TARGET]), "broken.onnx")
        self.refused(kiln.UnsupportedError, lambda: farm.build("digits_cnn.onnx", targets=[TARGET], max_artifact_bytes=1))
        self.refused(kiln.NotFoundError, lambda: farm.fetch("sha256:" + 64 * "0", "nothing"))
        self.refused(kiln.UsageError, lambda: farm.fetch("nothing", "nothing"))
        self.assertFalse(pathlib.Path("nothing").exists())
        self.refused(kiln.NotFoundError, lambda: farm.cancel("no job"))
        self.refused(kiln.NotFoundError, lambda: kiln.Farm(instance="nobody").artifacts(), "nobody")
        self.refused(kiln.UsageError, lambda: list(farm.affected()))
        self.refused(kiln.UnavailableError, lambda: kiln.Farm("unix:/nowhere.sock", timeout=1).jobs(), "unix:/nowhere.sock")
        self.refused(kiln.UsageError, lambda: kiln.Farm("nowhere"), "no endpoint")
        self.refused(kiln.UsageError, lambda: kiln.Farm("host:1"), "TLS")

    def test_a_job_is_watched_to_its_end(self):
        farm = kiln.Farm()
        job = farm.build("digits_cnn.onnx", targets=[TARGET], cache=False, detach=True)
        states = [one.state for one in farm.watch(job.id)]
        self.assertEqual(states[-1], "succeeded")
        self.assertIn(job.id, [one.id for one in farm.jobs()])
        self.assertEqual([one.digest for one in farm.artifacts() if job.id in one.jobs], [self.artifact])

    def test_a_model_of_many_megabytes_is_sent_in_pieces(self):
        weight = numpy.ones((1024, 1024), numpy.float32)
        tensor = b"".join(field(1, size) for size in weight.shape) + field(2, 1) + field(8, "w") + field(9, weight.tobytes())
        product = self.built("product", model([node("MatMul", ["x", "w"], ["y"], "product")], [value_info("x", [1, 1024])],
                                              [value_info("y", [1, 1024])], [tensor]))
        got = product.run({"x": numpy.ones((1, 1024), numpy.float32)})["y"]
        numpy.testing.assert_array_equal(numpy.asarray(got), numpy.full((1, 1024), 1024, numpy.float32))

    # --- in the place of ONNX Runtime

    def test_a_service_switches_by_one_import(self):
        options = kiln.onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = 99
        session = kiln.onnxruntime.InferenceSession("digits", options, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        self.assertEqual(session.get_outputs()[0].shape, [1, 10])
        expected = numpy.asarray(self.model.run({"image": IMAGE})["logits"])
        for names in (None, [], ["logits"]):
            numpy.testing.assert_array_equal(session.run(names, {"image": IMAGE})[0], expected)
        strided = numpy.zeros((1, 1, 8, 16), numpy.float32)
        strided[..., ::2] = IMAGE
        numpy.testing.assert_array_equal(session.run(None, {"image": strided[..., ::2]})[0], expected)
        with self.assertRaises(kiln.UsageError):
            options.add_session_config_entry = 1
        self.refused(kiln.UsageError, lambda: session.run(["other"], {"image": IMAGE}), "other")
        self.refused(kiln.UsageError, lambda: kiln.onnxruntime.InferenceSession(b"bytes"), "directory")
        self.refused(kiln.UsageError, lambda: kiln.onnxruntime.InferenceSession("digits", providers=["TPU"]), "TPU")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
