#!/usr/bin/env python3
"""The IR behind each stage of a compile, kept on a farm beside the artifact."""
import hashlib
import json
import os
import pathlib
import subprocess
import unittest
import urllib.request

from farm import MODELS, ROOT, FarmCase, artifact_of, json_of

CNN, MLP = MODELS / "digits_cnn.onnx", MODELS / "digits_mlp.onnx"
BIN = pathlib.Path(os.environ.get("KILN_TEST_BIN", ROOT / "build/release/bin"))


def files_of(directory):
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


class IrTest(FarmCase):
    BUILD = (CNN, "--keep-ir")

    def ir(self, name, artifact=None):
        self.kiln("fetch", artifact or self.artifact, "--ir", self.farm.home / name)
        return files_of(self.farm.home / name)

    def by_hand(self, model, artifact):
        """What kiln-cc writes for the model and the artifact's own spec."""
        home = self.farm.home / f"by hand {artifact[7:19]}"
        home.mkdir()
        manifest = json_of(self.kiln("show", artifact, "--json"))["manifest"]
        (home / "spec.json").write_text(json.dumps(manifest["spec"]))
        done = subprocess.run([BIN / "kiln-cc", "compile", "--model", model, "--spec", home / "spec.json", "--out", home / "out",
                               "--emit-ir", home / "ir"], capture_output=True, text=True, cwd=home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((home / "out" / "manifest.json").read_text()), manifest)
        return files_of(home / "ir")

    def get(self, path):
        with urllib.request.urlopen(f"{self.farm.env['KILN_HTTP']}/v2/default/artifacts/{path}") as answer:
            return answer.read()

    def test_it_is_what_the_compiler_writes_by_hand_and_the_same_when_made_again(self):
        ir = self.ir("first")
        self.assertIn("01-capture.mlir", ir)
        self.assertTrue(any(name.endswith("program.ll") for name in ir), sorted(ir))
        self.assertEqual(ir, self.by_hand(CNN, self.artifact))
        shown = json_of(self.kiln("show", self.artifact, "--json"))["ir"]
        self.assertEqual([file["path"] for file in shown["files"]], sorted(ir))
        self.assertIn(f"IR          {shown['ir']['digest']} ", self.kiln("show", self.artifact).stdout)
        self.assertIn(f"urn:kiln:predicate:ir:v1 by {shown['compiler']['id']}, IR {shown['ir']['digest']}",
                      self.kiln("verify", self.artifact).stdout)
        again = self.kiln("build", CNN, "--target", "cpu:x86-64-v3", "--keep-ir", "--no-cache")
        self.assertEqual(artifact_of(again), self.artifact)
        self.assertEqual(json_of(self.kiln("show", self.artifact, "--json"))["ir"]["ir"], shown["ir"])
        self.assertEqual(self.ir("second"), ir)
        self.assertEqual(json_of(self.kiln("audit", "--json"))["findings"], [])
        self.kiln("gc")
        self.assertEqual(self.ir("after a collection"), ir)

    def test_oci_clients_find_it_as_a_referrer(self):
        listed = json.loads(self.get(f"referrers/{self.artifact}?artifactType=application/vnd.kiln.ir.v1"))["manifests"]
        self.assertEqual([one["artifactType"] for one in listed], ["application/vnd.kiln.ir.v1"])
        text = self.get("manifests/" + listed[0]["digest"])
        self.assertEqual("sha256:" + hashlib.sha256(text).hexdigest(), listed[0]["digest"])
        manifest = json.loads(text)
        self.assertEqual(manifest["subject"]["digest"], self.artifact)
        self.assertEqual({layer["annotations"]["org.opencontainers.image.title"]: self.get("blobs/" + layer["digest"])
                          for layer in manifest["layers"]}, self.ir("as a referrer"))

    def test_what_was_tampered_with_is_refused(self):
        built = self.kiln("build", MLP, "--target", "cpu:x86-64-v3", "--profile", "N=2:2:2", "--keep-ir")
        artifact = artifact_of(built)
        file = json_of(self.kiln("show", artifact, "--json"))["ir"]["files"][-1]
        blobs = [path for path in self.farm.dir.rglob("*" + file["digest"][7:] + "*") if path.is_file() and "refs" not in path.parts]
        self.assertEqual(len(blobs), 1, blobs)
        text = blobs[0].read_bytes()
        blobs[0].chmod(0o600)
        blobs[0].write_bytes(text.replace(b"define", b"defime", 1))
        out = self.farm.home / "tampered"
        self.assertIn(file["path"], self.kiln("fetch", artifact, "--ir", out, code=5).stderr)
        self.assertFalse(out.exists())

    def test_of_an_artifact_that_is_there_it_is_made_alone(self):
        first = self.kiln("build", MLP, "--target", "cpu:x86-64-v3", "--profile", "N=1:1:4")
        artifact = artifact_of(first)
        out = self.farm.home / "nothing"
        refused = self.kiln("fetch", artifact, "--ir", out, code=6)
        self.assertIn("--keep-ir", refused.stderr)
        self.assertFalse(out.exists())
        again = json_of(self.kiln("build", MLP, "--target", "cpu:x86-64-v3", "--profile", "N=1:1:4", "--keep-ir", "--json"))
        self.assertEqual((again["artifacts"][0]["digest"], again["artifacts"][0]["cached"]), (artifact, True))
        logs = json_of(self.kiln("logs", again["id"], "--json"))
        self.assertEqual({one["kind"] for one in logs["logs"] if one["attempt"] > 0}, {"ir"})
        self.assertEqual(self.ir("of a cached one", artifact), self.by_hand(MLP, artifact))


if __name__ == "__main__":
    unittest.main()
