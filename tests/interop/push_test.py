#!/usr/bin/env python3
"""An artifact and its image in a real registry (distribution), as kiln pushes them: cosign accepts the reference, and oras, crane
and skopeo see artifact, image and what refers to them. Exit 77 if a program cannot be had."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from evidence import pem
from fetched import Skip, go_program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import MODELS, Farm, artifact_of, json_of  # noqa: E402
from real_registry import distribution  # noqa: E402


class PushTest(unittest.TestCase):
    @classmethod
    def make_artifact(cls):
        cls.farm = Farm(workers=1, options=("--no-sample",))
        cls.addClassCleanup(cls.farm.close)
        built = cls.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)

    @classmethod
    def setUpClass(cls):
        cls.programs = {name: go_program(name) for name in ("registry", "cosign", "oras", "crane")}
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="kiln-push-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.make_artifact()
        registry = distribution(cls.programs["registry"], cls.scratch / "registry")
        cls.host = registry.__enter__()
        cls.addClassCleanup(registry.__exit__, None, None, None)
        cls.place = f"{cls.host}/team/model"
        cls.first = cls.farm.kiln("push", cls.artifact, f"{cls.place}:1.0", "--json")
        assert cls.first.returncode == 0, cls.first.stderr
        cls.with_image = cls.farm.kiln("push", cls.artifact, f"{cls.place}:mounted", "--image", "--json")
        assert cls.with_image.returncode == 0, cls.with_image.stderr

    def ran(self, *command, code=0):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "HOME": str(self.scratch)})
        self.assertEqual(done.returncode == 0, code == 0, f"\n--- out\n{done.stdout}\n--- err\n{done.stderr}")
        return done.stdout

    def cosign(self, reference, key, code=0, kind="slsaprovenance1"):
        stock = self.scratch / "stock"
        if not stock.exists():
            shown = self.farm.kiln("trust", "show", self.farm.env["KILN_TRUST_ROOT"], "--sigstore", stock)
            self.assertEqual(shown.returncode, 0, shown.stderr)
        (self.scratch / "key.pem").write_text(key)
        return self.ran(self.programs["cosign"], "verify-attestation", "--allow-http-registry", "--key", self.scratch / "key.pem",
                        "--trusted-root", stock / "trusted_root.json", "--type", kind, reference, code=code)

    def signer(self):
        """The key of the provenance."""
        root = json.loads(pathlib.Path(self.farm.env["KILN_TRUST_ROOT"]).read_text())
        return [pem(base64.b64decode(key["spki"])) for key in root["keys"]]

    def test_cosign_accepts_the_tag_and_refuses_another_key(self):
        accepted = 0
        for key in self.signer():
            with contextlib.suppress(AssertionError):
                self.cosign(f"{self.place}:1.0", key)
                accepted += 1
        self.assertEqual(accepted, 1)
        other = self.scratch / "other.pem"
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", other], check=True)
        public = subprocess.run(["openssl", "pkey", "-in", other, "-pubout"], check=True, capture_output=True, text=True).stdout
        self.cosign(f"{self.place}:1.0", public, code=1)

    def test_a_second_push_sends_no_blob(self):
        again = self.farm.kiln("push", self.artifact, f"{self.place}:1.0", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json_of(again)["sent"], 0)
        self.assertGreater(json_of(self.first)["sent"], 3)

    def test_credentials_and_authorities_are_named_and_never_told(self):
        secret = "s3cr3t-of-the-registry"
        folder = self.scratch / "guarded"
        with distribution(self.programs["registry"], folder, secret) as host:
            config = self.scratch / "config.json"
            place, ca = f"{host}/team/model:1.0", ("--registry-ca", folder / "cert.pem")

            def push(code, *options, user=f"pusher:{secret}", mode=0o600):
                config.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(user.encode()).decode()}}}))
                config.chmod(mode)
                done = self.farm.kiln("push", self.artifact, place, *options)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertNotIn(secret, done.stdout + done.stderr)
                self.assertNotIn(base64.b64encode(f"pusher:{secret}".encode()).decode(), done.stdout + done.stderr)
                return done

            push(0, *ca, "--registry-config", config)
            self.assertIn("credentials", push(8, *ca).stderr)
            push(8, *ca, "--registry-config", config, user="pusher:other")
            push(8, *ca, "--registry-config", config, mode=0o644)
            self.assertNotEqual(self.farm.kiln("push", self.artifact, place, "--registry-ca", self.farm.env["KILN_TRUST_ROOT"])
                                .returncode, 0)

    def test_oras_discovers_bundles_and_the_image(self):
        found = json.loads(self.ran(self.programs["oras"], "discover", "--plain-http", "--format", "json", f"{self.place}:1.0"))
        entries = found["manifests"]
        bundles = [one for one in entries if one["artifactType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"]
        self.assertTrue(bundles)
        self.assertIn("https://slsa.dev/provenance/v1",
                      [one["annotations"]["dev.sigstore.bundle.predicateType"] for one in bundles])
        self.assertIn(json_of(self.with_image)["image"], [one["digest"] for one in entries])

    def test_crane_and_skopeo_read_the_image(self):
        image = json_of(self.with_image)["image"]
        crane = self.programs["crane"]
        self.assertEqual(self.ran(crane, "digest", f"{self.place}:1.0").strip(), self.artifact)
        self.assertEqual(self.ran(crane, "digest", f"{self.place}:mounted").strip(), image)
        self.assertEqual(json.loads(self.ran(crane, "manifest", f"{self.place}:mounted"))["subject"]["digest"], self.artifact)
        tar = self.scratch / "image.tar"
        self.ran(crane, "export", f"{self.place}:mounted", tar)
        mounted = self.scratch / "mounted"
        mounted.mkdir()
        subprocess.run(["tar", "-x", "-f", tar, "-C", mounted], check=True)
        env = {name: value for name, value in self.farm.env.items() if name != "KILN_ENDPOINT"}
        verified = self.farm.kiln("verify", mounted / "models", env=env)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        # Whoever has the files can say which image they are.
        again = json_of(self.farm.kiln("export", mounted / "models", "--image", self.scratch / "again", "--json", env=env))
        self.assertEqual((again["artifact"], again["image"]), (self.artifact, image))
        if shutil.which("skopeo"):
            shown = json.loads(self.ran("skopeo", "inspect", "--tls-verify=false", f"docker://{self.place}:mounted"))
            self.assertEqual((shown["Digest"], shown["Os"]), (image, "linux"))


if __name__ == "__main__":
    try:
        for needed in ("registry", "cosign", "oras", "crane"):
            go_program(needed)
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
