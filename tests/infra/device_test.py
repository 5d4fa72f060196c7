#!/usr/bin/env python3
"""What is built for a GPU on a farm without one: two builders agree, the artifact is signed and fetched, an emulated device checks
it, and policies know what that is worth."""
import json
import unittest

from farm import MODELS, ROOT, FarmCase, artifact_of, json_of
from tiny_onnx import model, node, value_info

CPU, CUDA = "cpu:x86-64-v3", "cuda:sm_90a"  # a level that every machine of the tests runs
CNN = MODELS / "digits_cnn.onnx"


class DeviceTest(FarmCase):
    WORKERS = 2
    UP = ("--no-sample", "--emulated-gpu")
    BUILD = (CNN,)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.built = cls.farm.kiln("build", CNN, "--target", CPU, "--target", CUDA, "--builders", "2", "--check-emulated", "--json")

    def artifacts(self):
        self.assertEqual(self.built.returncode, 0, self.built.stdout + self.built.stderr)
        return {artifact["target"]: artifact for artifact in json_of(self.built)["artifacts"]}

    def test_workers_show_their_devices(self):
        table = self.kiln("workers").stdout
        self.assertIn("Kiln emulated device (test only)", table)
        for worker in json_of(self.kiln("workers", "--json"))["workers"]:
            cpu, gpu = worker["devices"]
            self.assertEqual((cpu["id"], gpu["id"]), ("cpu", "gpu0"))
            self.assertTrue(gpu["emulated"])
            self.assertEqual((gpu["arch"], gpu["state"], gpu["runs"]), ("sm_90", "healthy", [CUDA]))
            self.assertNotIn("uuid", json.dumps(worker).lower())

    def test_two_builders_without_a_gpu_agree_on_every_byte(self):
        built = self.artifacts()
        self.assertEqual(len(built[CUDA]["builders"]), 2)
        self.assertEqual(artifact_of(self.farm.build(CNN, "--no-cache", target=CUDA)), built[CUDA]["digest"])

    def test_a_program_without_a_kernel_for_the_device_is_checked_on_the_processor(self):
        path = self.farm.home / "identity.onnx"
        path.write_bytes(model([node("Identity", ["x"], ["y"], "same")], [value_info("x", [4])], [value_info("y", [4])]))
        self.kiln("build", path, "--target", CUDA, "--check-emulated")
        workers = json_of(self.kiln("workers", "--json"))["workers"]
        self.assertFalse([worker for worker in workers if "heldBackUntil" in worker], "nobody is blamed for it")

    def test_the_emulated_check_says_so_and_policies_judge_it(self):
        out = self.farm.home / "gpu"
        self.kiln("fetch", self.artifacts()[CUDA]["digest"], "--out", out)
        report = json_of(self.kiln("show", out, "--json"))["checks"][-1]["report"]
        self.assertTrue(report["passed"])
        self.assertTrue(report["device"]["emulated"])
        self.assertEqual(report["device"]["gpu"], {"name": "Kiln emulated device (test only)", "computeCapability": "9.0", "driver": "13.0"})
        self.assertIn("on Kiln emulated device (test only), driver for CUDA 13.0 (emulated)", self.kiln("show", out).stdout)
        found = json_of(self.kiln("affected", "--device", "Kiln emulated device (test only)", "--json"))["affected"]
        self.assertEqual([entry["artifact"] for entry in found], [self.artifacts()[CUDA]["digest"]])
        development = json.loads((ROOT / "signing/policy/development.json").read_text())
        self.assertIn("on an emulated device", self.kiln("verify", out).stdout)
        strict = self.farm.home / "strict.json"
        strict.write_text(json.dumps(development | {"requireCheck": True}))
        self.kiln("verify", out, "--policy", strict)
        strict.write_text(json.dumps(development | {"requireCheck": True, "refuseEmulated": True}))
        refused = self.kiln("verify", out, "--policy", strict, code=5)
        self.assertIn("but for what an emulated device said", refused.stdout + refused.stderr)
        production = self.kiln("verify", out, "--policy", ROOT / "signing/policy/production.json", code=5)
        self.assertIn("but for what an emulated device said", production.stdout + production.stderr)

    def test_the_processors_check_is_a_check(self):
        out = self.farm.home / "cpu"
        self.kiln("fetch", self.artifacts()[CPU]["digest"], "--out", out)
        report = json_of(self.kiln("show", out, "--json"))["checks"][-1]["report"]
        self.assertNotIn("emulated", report["device"])

    def test_a_check_on_a_gpu_that_no_worker_has_is_refused_at_once(self):
        # A coordinator that has just started waits for what its workers say, and kiln build for the coordinator.
        refused = self.farm.build(CNN, "--check", target=CUDA)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("no worker has a healthy device for the check for " + CUDA, refused.stderr)
        self.assertIn("--check-emulated", refused.stderr)


if __name__ == "__main__":
    unittest.main()
