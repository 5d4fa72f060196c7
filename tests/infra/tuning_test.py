#!/usr/bin/env python3
"""Tuning on a farm: a search measures kernels in the sandbox and signs what it found, a reuse finds it again, a tuned artifact is
rebuilt bit for bit on the farm and offline, and the audit accounts for all of it."""
import unittest

from farm import MODELS, TARGET, FarmCase, artifact_of, json_of

CNN = MODELS / "digits_cnn.onnx"


class TuningTest(FarmCase):
    WORKERS = 2
    BUILD = (CNN, "--tune", "search", "--budget", "20s")

    def manifest(self, artifact):
        return json_of(self.kiln("show", artifact, "--json"))["manifest"]

    def build(self, *options):
        return artifact_of(self.kiln("build", CNN, "--target", TARGET, *options))

    def entries(self):
        """Digests of the entries that the tuned artifact's kernels name; none where nothing was faster beyond noise."""
        kernels = self.manifest(self.artifact)["stages"]["schedule"]["kernels"]
        return sorted({kernel["tuned"] for kernel in kernels if "tuned" in kernel})

    def test_kernels_state_their_schedules_and_entries(self):
        manifest = self.manifest(self.artifact)
        kernels = manifest["stages"]["schedule"]["kernels"]
        self.assertTrue(any("schedule" in kernel for kernel in kernels))
        self.assertEqual("tuning" in manifest["spec"], bool(self.entries()))
        shown = self.kiln("show", self.artifact).stdout
        self.assertIn("kernels by their share of bytes moved", shown)
        for entry in self.entries():
            self.assertIn("tuned by entry " + entry, shown)

    def test_the_provenance_names_the_entries_as_an_input(self):
        named = [line for line in self.kiln("provenance", self.artifact).stdout.splitlines() if "input/tuning.json" in line]
        self.assertEqual(bool(named), bool(self.entries()))

    def test_what_is_known_is_found_again(self):
        self.assertEqual(self.build("--tune", "reuse"), self.artifact)
        untuned = self.build()
        self.assertNotIn("tuning", self.manifest(untuned)["spec"])
        self.assertEqual(untuned == self.artifact, not self.entries())

    def test_the_defaults_alone_are_entries_that_name_no_kernel(self):
        artifact = self.build("--tune", "off")
        manifest = self.manifest(artifact)
        self.assertIn("tuning", manifest["spec"], "its toolchain has a catalogue, which the compile is not to take")
        self.assertFalse([kernel for kernel in manifest["stages"]["schedule"]["kernels"] if {"tuned", "catalogue"} & set(kernel)])
        self.assertEqual(self.build("--tune", "off"), artifact)
        self.kiln("rebuild", artifact)

    def test_it_is_rebuilt_bit_for_bit(self):
        self.kiln("rebuild", self.artifact)
        layout = self.farm.home / "tuned.oci"
        self.kiln("export", self.artifact, "--oci", layout, "--with-inputs")
        self.assertIn("reproduced", self.kiln("rebuild", "--offline", layout).stdout)

    def test_the_audit_accounts_for_what_was_signed(self):
        audit = self.farm.kiln("audit")
        self.assertEqual(audit.returncode, 0, audit.stdout + audit.stderr)


if __name__ == "__main__":
    unittest.main()
