#!/usr/bin/env python3
"""A recall at a real farm, typed as a user types it: who has the artifact loaded is told and runs on, nobody else gets it,
and taking it back brings it back."""
import os
import pathlib
import subprocess
import unittest

from farm import MODELS, Farm, artifact_of, json_of

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])


class RecallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=1, options=("--no-sample",))
        assert cls.farm.first.returncode == 0, cls.farm.first.stdout + cls.farm.first.stderr
        built = cls.farm.build(MODELS / "digits_cnn.onnx")
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def kiln(self, *arguments, code=0):
        result = self.farm.kiln(*arguments)
        self.assertEqual(result.returncode, code, f"\n--- out\n{result.stdout}\n--- err\n{result.stderr}")
        return result

    def test_a_recall_reaches_loaded_sessions_fetches_and_builds_until_it_is_lifted(self):
        loaded, root, policy = self.farm.home / "loaded", self.farm.env["KILN_TRUST_ROOT"], self.farm.env["KILN_POLICY"]
        recalls = self.farm.home / "recalls.json"
        self.kiln("fetch", self.artifact, "--out", loaded)
        self.kiln("recall", "--refresh", "--recalls", recalls)
        host = subprocess.Popen([BIN / "session_host", loaded, root, policy, recalls], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            def ask():
                host.stdin.write("\n")
                host.stdin.flush()
                return host.stdout.readline().split(maxsplit=1)

            self.assertEqual(host.stdout.readline(), "ready\n")
            self.assertEqual(ask(), ["0", "runs\n"])

            done = self.kiln("recall", "--artifact", self.artifact, "--reason", "wrong weights", "--recalls", recalls, "--json")
            code, said = ask()
            self.assertNotEqual(code, "0")
            self.assertIn("wrong weights", said)
            self.assertTrue(said.endswith(" runs\n"), said)  # what to do is the caller's to decide

            for command in (("fetch", self.artifact, "--out", self.farm.home / "again"), ("verify", loaded), ("warmup", loaded),
                            ("export", self.artifact, "--oci", self.farm.home / "oci")):
                self.assertIn("wrong weights", self.kiln(*command, code=5).stderr)
            self.assertEqual(self.farm.build(MODELS / "digits_cnn.onnx").returncode, 5)

            self.kiln("recall", "--lift", json_of(done)["entry"], "--reason", "the weights were right", "--recalls", recalls)
            self.assertEqual(ask(), ["0", "runs\n"])
            self.kiln("fetch", self.artifact, "--out", self.farm.home / "again")
            self.assertEqual(self.farm.build(MODELS / "digits_cnn.onnx").returncode, 0)
        finally:
            host.stdin.close()
            self.assertEqual(host.wait(timeout=60), 0)
            host.stdout.close()


if __name__ == "__main__":
    unittest.main()
