#!/usr/bin/env python3
"""A recall at a real farm, typed as a user types it: who has the artifact loaded is told and runs on, nobody else gets it,
and taking it back brings it back."""
import hashlib
import os
import pathlib
import subprocess
import unittest

from farm import MODELS, FarmCase, json_of

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])


class RecallTest(FarmCase):
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

            # Where it was issued nobody has to be told: the first one asks no farm.
            for command in (("verify", loaded), ("warmup", loaded), ("fetch", self.artifact, "--out", self.farm.home / "again"),
                            ("export", self.artifact, "--oci", self.farm.home / "oci")):
                self.assertIn("wrong weights", self.kiln(*command, code=5).stderr)
            self.assertEqual(self.farm.build(MODELS / "digits_cnn.onnx").returncode, 5)

            self.kiln("recall", "--lift", json_of(done)["entry"], "--reason", "the weights were right", "--recalls", recalls)
            self.assertEqual(ask(), ["0", "runs\n"])
            self.kiln("verify", loaded)
            self.kiln("fetch", self.artifact, "--out", self.farm.home / "again")
            self.assertEqual(self.farm.build(MODELS / "digits_cnn.onnx").returncode, 0)
        finally:
            host.stdin.close()
            self.assertEqual(host.wait(timeout=60), 0)
            host.stdout.close()

    def test_a_recalled_record_lists_what_was_made_with_it(self):
        # An input like any other: the model stands in for the record of a tuner.
        record = "sha256:" + hashlib.sha256((MODELS / "digits_cnn.onnx").read_bytes()).hexdigest()
        shown = self.kiln("recall", "--record", record, "--reason", "mismeasured", "--dry-run", "--json")
        self.assertEqual(json_of(shown)["recall"]["listed"], [self.artifact])


if __name__ == "__main__":
    unittest.main()
