#!/usr/bin/env python3
"""`kiln model` by the cases of the conformance suite of OpenSSF Model Signing that are about keys, by their names there, and
against the Python package model-signing, which signs for Kiln and checks what Kiln signed."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fetched  # noqa: E402

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])
BYTES = bytes(range(256)) * 4
# The suite's models: path -> bytes.
SIMPLE = {"signme-1": b"signme-1\n", "signme-2": b"signme-2", "ignore-me": b""}
MULTI = {"config.json": b'{"model": "test", "version": "1.0"}', "weights.bin": b"\xab" * 1024, "subdir/adapter.bin": b"\xcd" * 512}
# Case -> model, paths to ignore, names that are signed.
ROUNDTRIPS = {
    "key-simple": (SIMPLE, ["ignore-me"], ["signme-1", "signme-2"]),
    "key-multi-file": (MULTI, [], ["config.json", "subdir/adapter.bin", "weights.bin"]),
    "key-binary-content": ({"header.bin": bytes.fromhex("0001fffe000089504e47"), "weights.bin": BYTES}, [],
                           ["header.bin", "weights.bin"]),
    "key-deeply-nested": ({"a/very/deep/directory/tree/weights.bin": b"deep weights"}, [],
                          ["a/very/deep/directory/tree/weights.bin"]),
    "key-default-ignores": ({".gitattributes": b"", ".gitignore": b"", "model.bin": b"model data", ".git/HEAD": b"git object",
                             ".github/ci.yml": b"workflow"}, [], ["model.bin"]),
    "key-dotfile-included": ({".config": b"config data", ".env.example": b"env example", "model.bin": b"model"}, [],
                             [".config", ".env.example", "model.bin"]),
    "key-empty-file": ({"empty.bin": b"", "signme-1": b"signme-1"}, [], ["empty.bin", "signme-1"]),
    "key-files-in-hidden-dir": ({"model.bin": b"main model", ".cache/weights.bin": b"cached weights",
                                 ".local/share/data.bin": b"local data"}, [],
                                [".cache/weights.bin", ".local/share/data.bin", "model.bin"]),
    "key-ignore-paths-exact-match": ({"ignore-me": b"top-level ignore\n", "signme-1": b"signme content\n",
                                      "subdir/ignore-me": b"nested ignore\n"}, ["ignore-me"], ["signme-1", "subdir/ignore-me"]),
    "key-nested-git-not-excluded": ({"model.bin": b"model content\n", "subdir/.gitignore": b"nested gitignore\n"}, [],
                                    ["model.bin", "subdir/.gitignore"]),
    "key-unicode-filename": ({"weights.bin": b"weights", "模型.bin": b"model data"}, [], ["weights.bin", "模型.bin"]),
    "key-special-chars-path": ({"file (copy).bin": b"file1", "normal.bin": b"file3", "path with spaces/model.bin": b"file2"}, [],
                               ["file (copy).bin", "normal.bin", "path with spaces/model.bin"]),
}


def with_payload(change):
    """Changes what was signed, and not the signature."""
    def changed(bundle):
        envelope = bundle["dsseEnvelope"]
        payload = json.loads(base64.b64decode(envelope["payload"]))
        change(payload)
        envelope["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    return changed


# Case -> how the bundle of key-simple is changed.
MUTATIONS = {
    "key-simple-wrong-mediatype_fail": lambda b: b.update(mediaType="application/json"),
    "key-simple-wrong-payload-type_fail": lambda b: b["dsseEnvelope"].update(payloadType="application/octet-stream"),
    "key-simple-no-signature_fail": lambda b: b["dsseEnvelope"].update(signatures=[]),
    "malformed-missing-envelope_fail": lambda b: b.pop("dsseEnvelope"),
    "key-simple-wrong-statement-type_fail": with_payload(lambda p: p.update(_type="https://in-toto.io/Statement/v0.1")),
    "malformed-wrong-predicate_fail": with_payload(lambda p: p.update(predicateType="https://example.com/wrong-predicate/v1.0")),
    "key-simple-empty-resources_fail": with_payload(lambda p: p["predicate"].update(resources=[])),
    "key-simple-missing-serialization_fail": with_payload(lambda p: p["predicate"].pop("serialization")),
}
# Case -> what becomes of the model after it was signed, more options, whether it verifies then.
CHANGES = {
    "key-simple-extra-file_fail": (lambda m: (m / "injected.bin").write_bytes(b"injected"), [], False),
    "key-simple-missing-file_fail": (lambda m: (m / "signme-2").unlink(), [], False),
    "key-simple-tampered-content_fail": (lambda m: (m / "signme-1").write_bytes(b"TAMPERED"), [], False),
    "key-simple-ignore-unsigned-files": (lambda m: (m / "extra.bin").write_bytes(b"extra"), ["--allow-unsigned"], True),
    "key-missing-file-with-ignore-unsigned_fail": (lambda m: (m / "signme-2").unlink(), ["--allow-unsigned"], False),
    "key-tampered-with-ignore-unsigned_fail": (lambda m: (m / "signme-1").write_bytes(b"TAMPERED"), ["--allow-unsigned"], False),
}
WHO = "https://vendor.example/releases"


class Authority:
    """A private PKI: root, one between, and a signer's key and certificate. Files of PEM."""
    AUTHORITY = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
    SIGNER = f"keyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\nsubjectAltName=URI:{WHO}\n"

    def __init__(self, home, curve="prime256v1"):
        home.mkdir()
        self.home = home
        self.root, self.chain, self.key = home / "root.pem", home / "chain.pem", home / "leaf.key"
        self.made("root", self.AUTHORITY, "prime256v1", None, 3650)
        self.middle = self.made("middle", self.AUTHORITY, "prime256v1", "root", 3650)
        self.leaf = self.made("leaf", self.SIGNER, curve, "middle", 30)
        self.chain.write_bytes(self.leaf.read_bytes() + self.middle.read_bytes())

    def made(self, name, extensions, curve, issuer, days):
        file = {kind: self.home / f"{name}.{kind}" for kind in ("key", "csr", "ext", "pem")}
        file["ext"].write_text(extensions)

        def openssl(*words):
            subprocess.run(["openssl", *(str(w) for w in words)], check=True, capture_output=True)

        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-out", file["key"])
        file["key"].chmod(0o600)
        openssl("req", "-new", "-key", file["key"], "-subj", f"/CN={name}", "-out", file["csr"])
        signer = ("-CA", self.home / f"{issuer}.pem", "-CAkey", self.home / f"{issuer}.key", "-CAcreateserial") if issuer else \
            ("-signkey", file["key"])
        openssl("x509", "-req", "-in", file["csr"], *signer, "-days", days, "-extfile", file["ext"], "-out", file["pem"])
        return file["pem"]


    def revocations(self, name, *taken_back):
        """The list of one of its authorities, of the certificates that it has taken back."""
        home = self.home / f"{name}.ca"
        home.mkdir(exist_ok=True)
        (home / "index").write_text("")
        (home / "openssl.cnf").write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={home}/index\ndefault_md=sha256\n"
                                          "default_crl_days=30\n")
        own = ["openssl", "ca", "-config", home / "openssl.cnf", "-cert", self.home / f"{name}.pem", "-keyfile", self.home / f"{name}.key"]
        for certificate in taken_back:
            subprocess.run([*own, "-revoke", certificate], check=True, capture_output=True)
        subprocess.run([*own, "-gencrl", "-out", home / "crl.pem"], check=True, capture_output=True)
        return home / "crl.pem"


LINKS = {"key-symlink-cycle": ("cycle-link", "."), "key-symlink-default-rejected": ("link-to-signme", "signme-1"),
         "key-symlink-outside-root": ("outside-link", "/nonexistent-target")}


class ModelSigningTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.key, self.pem = self.made_key("release")

    def made_key(self, name):
        key, pem = self.home / f"{name}.key", self.home / f"{name}.pem"
        subprocess.run([BIN / "kiln-signer", "make-key", "--out", key], check=True, capture_output=True)
        pem.write_bytes(subprocess.run([BIN / "kiln-signer", "public-key", "--key", key], check=True, capture_output=True).stdout)
        return key, pem

    def made(self, files, name="model"):
        model = self.home / name
        shutil.rmtree(model, ignore_errors=True)
        for path, content in files.items():
            (model / path).parent.mkdir(parents=True, exist_ok=True)
            (model / path).write_bytes(content)
        return model

    def kiln(self, *words):
        return subprocess.run([str(w) for w in (BIN / "kiln", "model", *words)], capture_output=True, text=True)

    def sign(self, model, ignored=(), out=None):
        out = out or self.home / "bundle.sig"
        out.unlink(missing_ok=True)
        done = self.kiln("sign", model, "--key", self.key, "--out", out, *(w for path in ignored for w in ("--ignore", path)))
        return done, out

    def verify(self, model, bundle, *more, pem=None):
        return self.kiln("verify", model, "--signed-by", pem or self.pem, "--signature", bundle, *more)

    def sign_certified(self, model, authority, out, *more):
        out.unlink(missing_ok=True)
        return self.kiln("sign", model, "--key", authority.key, "--certificate", authority.chain, "--out", out, *more)

    def verify_certified(self, model, bundle, authority, *more, who=None):
        return self.kiln("verify", model, "--certificate-root", authority.root, "--certificate-identity", who or WHO, "--signature", bundle,
                         *more)

    def names(self, bundle):
        envelope = json.loads(bundle.read_text())["dsseEnvelope"]
        return [one["name"] for one in json.loads(base64.b64decode(envelope["payload"]))["predicate"]["resources"]]

    def test_roundtrips(self):
        for case, (files, ignored, names) in ROUNDTRIPS.items():
            with self.subTest(case):
                model = self.made(files)
                done, bundle = self.sign(model, ignored)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.names(bundle), names)
                self.assertEqual(self.verify(model, bundle).returncode, 0)

    def test_where_the_signature_lies_and_what_one_file_is_called(self):
        model = self.made({**SIMPLE, "model.bin": b"\xef" * 256})
        done, bundle = self.sign(model, out=model / "model.sig")  # key-sig-inside-model
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("model.sig", self.names(bundle))
        self.assertEqual(self.verify(model, bundle).returncode, 0)
        done, bundle = self.sign(model / "model.bin")  # key-single-file
        self.assertEqual(self.names(bundle), ["model.bin"])
        self.assertEqual(self.verify(model / "model.bin", bundle).returncode, 0)
        bundle.rename(self.home / "first.sig")  # key-simple-deterministic
        _, bundle = self.sign(model / "model.bin")
        first, second = (json.loads(one.read_text())["dsseEnvelope"]["payload"] for one in (self.home / "first.sig", bundle))
        self.assertEqual(first, second)

    def test_what_an_artifacts_folder_is_given_later_is_said_to_be_left_out(self):
        digest = "sha256:" + "0" * 64
        program = {"mediaType": "application/vnd.kiln.program.v1+elf", "digest": digest, "size": 1,
                   "annotations": {"org.opencontainers.image.title": "program.so"}}
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "artifactType": "application/vnd.kiln.artifact.v1+json",
                    "config": {"mediaType": "application/vnd.kiln.manifest.v1+json", "digest": digest, "size": 1}, "layers": [program]}
        model = self.made({"artifact.json": json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode(), "bundles/loader.py": b"import os", "w.bin": b"w"})
        done, bundle = self.sign(model)
        self.assertEqual(self.names(bundle), ["artifact.json", "w.bin"], done.stderr)
        self.assertIn("bundles is not covered", done.stderr)
        self.assertNotIn("fixtures", done.stderr)

    def test_what_cannot_be_signed(self):
        self.assertNotEqual(self.sign(self.made({".gitignore": b".gitkeep\n"}))[0].returncode, 0)  # key-empty-model-rejected
        for case, (name, target) in LINKS.items():
            with self.subTest(case):
                model = self.made(SIMPLE)
                (model / name).symlink_to(target)
                done, bundle = self.sign(model)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertFalse(bundle.exists())

    def test_bundles_that_are_refused(self):
        model = self.made(SIMPLE)
        _, good = self.sign(model, ["ignore-me"])
        bad = self.home / "bad.sig"
        for case, change in MUTATIONS.items():
            with self.subTest(case):
                bundle = json.loads(good.read_text())
                change(bundle)
                bad.write_text(json.dumps(bundle))
                self.assertEqual(self.verify(model, bad).returncode, 5)
        for case, text in {"malformed-empty-bundle_fail": "", "key-simple-corrupted-bundle_fail": '{"garbage": true}',
                           "key-simple-truncated-bundle_fail": good.read_text()[:100]}.items():
            with self.subTest(case):
                bad.write_text(text)
                self.assertEqual(self.verify(model, bad).returncode, 5)
        with self.subTest("key-simple-wrong-key_fail"):
            self.assertEqual(self.verify(model, good, pem=self.made_key("wrong")[1]).returncode, 5)
        authority = Authority(self.home / "pki")
        signed = self.home / "certified.sig"
        self.assertEqual(self.sign_certified(model, authority, signed).returncode, 0)
        with self.subTest("certificate-verify-as-key_fail"):
            self.assertEqual(self.verify(model, signed).returncode, 5)
        with self.subTest("key-verify-as-certificate_fail"):
            self.assertEqual(self.verify_certified(model, good, authority).returncode, 5)
        with self.subTest("sigstore-verify-as-key_fail"):
            bundle = json.loads(good.read_text())
            bundle["verificationMaterial"] = {"certificate": {"rawBytes": ""}}
            bad.write_text(json.dumps(bundle))
            self.assertEqual(self.verify(model, bad).returncode, 5)

    def test_models_that_changed(self):
        for case, (change, more, holds) in CHANGES.items():
            with self.subTest(case):
                model = self.made(SIMPLE)
                _, bundle = self.sign(model, ["ignore-me"])
                change(model)
                self.assertEqual(self.verify(model, bundle, *more).returncode, 0 if holds else 5)

    def peer(self):
        try:
            python = fetched.python_environment("requirements-model-signing.txt")
        except fetched.Skip as why:
            self.skipTest(f"no model-signing: {why}")
        return lambda *words: subprocess.run([str(w) for w in (python, "-m", "model_signing", *words)], capture_output=True, text=True)

    def test_certificates(self):
        model = self.made(MULTI)
        bundle = self.home / "bundle.sig"
        for curve in ("prime256v1", "secp384r1", "secp521r1"):
            with self.subTest(curve):
                authority = Authority(self.home / curve, curve)
                self.assertEqual(self.sign_certified(model, authority, bundle).returncode, 0)
                self.assertEqual(self.names(bundle), sorted(MULTI))
                done = self.verify_certified(model, bundle, authority)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(WHO, done.stdout)
        self.assertEqual(json.loads(self.verify_certified(model, bundle, authority, "--json").stdout)["identity"], WHO)
        wrong = self.verify_certified(model, bundle, authority, who="https://vendor.example/release")
        self.assertEqual(wrong.returncode, 5)
        self.assertIn(WHO, wrong.stderr)
        self.assertEqual(self.verify_certified(model, bundle, Authority(self.home / "stranger")).returncode, 5)
        expired = self.verify_certified(model, bundle, authority, "--certificate-time", "2126-01-01")
        self.assertEqual(expired.returncode, 5)
        self.assertIn("expired at 2126-01-01T00:00:00Z", expired.stderr)
        self.assertEqual(self.verify_certified(model, bundle, authority, "--certificate-time", "tomorrow").returncode, 2)
        # The leaf is no root, and another key's certificate signs nothing.
        refused = self.kiln("verify", model, "--certificate-root", authority.leaf, "--certificate-identity", WHO, "--signature", bundle)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("not an authority's", refused.stderr)
        other = self.kiln("sign", model, "--key", self.key, "--certificate", authority.chain, "--out", self.home / "no.sig")
        self.assertEqual(other.returncode, 2)
        (model / "weights.bin").write_bytes(b"other")
        self.assertEqual(self.verify_certified(model, bundle, authority).returncode, 5)

    def test_certificates_of_another_implementation(self):
        peer = self.peer()
        model = self.made(MULTI)
        bundle = self.home / "bundle.sig"
        for curve in ("prime256v1", "secp384r1", "secp521r1"):
            with self.subTest(curve):
                authority = Authority(self.home / curve, curve)
                done = peer("sign", "certificate", model, "--signature", bundle, "--private_key", authority.key, "--signing_certificate",
                            authority.leaf, "--certificate_chain", authority.middle)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.verify_certified(model, bundle, authority)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.verify_certified(model, bundle, authority, who="leaf").returncode, 5)

                self.assertEqual(self.sign_certified(model, authority, bundle).returncode, 0)
                checked = ("verify", "certificate", model, "--signature", bundle, "--certificate_chain")
                done = peer(*checked, authority.root)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(peer(*checked, Authority(self.home / "stranger").root).returncode, 0)
        # What the peer reads without the certificates between, where a verifier has them.
        done = peer("sign", "certificate", model, "--signature", bundle, "--private_key", authority.key, "--signing_certificate",
                    authority.leaf, "--certificate_chain", authority.leaf)
        self.assertEqual(self.verify_certified(model, bundle, authority).returncode, 5)
        (authority.home / "both.pem").write_bytes(authority.middle.read_bytes() + authority.root.read_bytes())
        authority.root = authority.home / "both.pem"
        self.assertEqual(self.verify_certified(model, bundle, authority).returncode, 0)

    def test_shards_of_another_implementation(self):
        self.peer()
        python = fetched.python_environment("requirements-model-signing.txt")
        model = self.made({**MULTI, "model.onnx": b"graph", "model/w.bin": b"w" * 1000, "empty": b""})
        bundle, key, pem = (self.home / name for name in ("shards.sig", "peer.key", "peer.pem"))
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True)
        subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", pem], check=True, capture_output=True)

        def peer(script):
            return subprocess.run([python, "-c", "import model_signing as m\n" + script], capture_output=True, text=True)

        shards = "m.hashing.Config().use_shard_serialization(shard_size=%d)"
        for size in (300, 1_000_000_000):
            with self.subTest(size):
                done = peer(f"m.signing.Config().use_elliptic_key_signer(private_key={str(key)!r}).set_hashing_config({shards % size})"
                            f".sign({str(model)!r}, {str(bundle)!r})")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("model/w.bin:0:%d" % min(size, 1000), self.names(bundle))
                done = self.verify(model, bundle, pem=pem)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("5 files", done.stdout + done.stderr)  # an empty one has no shard
                self.assertEqual(self.verify(model, bundle).returncode, 5, "another key")
                (model / "model/w.bin").write_bytes(b"w" * 999 + b"v")
                done = self.verify(model, bundle, pem=pem)
                self.assertIn('changed is "model/w.bin"', done.stderr)
                (model / "model/w.bin").write_bytes(b"w" * 1000)

                own = self.home / f"own-{size}.sig"
                done = self.kiln("sign", model, "--key", self.key, "--out", own, "--shard-size", size)
                self.assertEqual(done.returncode, 0, done.stderr)
                check = f"m.verifying.Config().use_elliptic_key_verifier(public_key={str(self.pem)!r}).verify({str(model)!r}, {str(own)!r})"
                done = peer(check)
                self.assertEqual(done.returncode, 0, done.stderr)
                (model / "config.json").write_bytes(b"x")
                self.assertNotEqual(peer(check).returncode, 0)
                (model / "config.json").write_bytes(MULTI["config.json"])
        # Of one file.
        done = self.kiln("sign", model / "weights.bin", "--key", self.key, "--out", self.home / "file.sig", "--shard-size", 1000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(self.home / "file.sig"), ["weights.bin:0:1000", "weights.bin:1000:1024"])
        self.assertEqual(self.verify(model / "weights.bin", self.home / "file.sig").returncode, 0)

    def test_revoked_certificates(self):
        authority = Authority(self.home / "pki")
        model, bundle = self.made(MULTI), self.home / "bundle.sig"
        self.assertEqual(self.sign_certified(model, authority, bundle).returncode, 0)
        lists = {name: authority.revocations(name) for name in ("root", "middle")}
        words = [word for file in lists.values() for word in ("--certificate-crl", file)]
        done = self.verify_certified(model, bundle, authority, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.verify_certified(model, bundle, authority, "--certificate-crl", lists["root"])
        self.assertIn("no list was given", done.stderr)
        authority.revocations("middle", authority.leaf)
        done = self.verify_certified(model, bundle, authority, *words)
        self.assertEqual(done.returncode, 5)
        self.assertIn("revoked", done.stderr)
        done = self.kiln("verify", model, "--signed-by", self.pem, "--certificate-crl", lists["root"], "--signature", bundle)
        self.assertEqual(done.returncode, 2)
        done = self.verify_certified(model, bundle, authority, "--certificate-crl", authority.root)
        self.assertEqual(done.returncode, 2)
        self.assertIn("revocation lists in plain PEM", done.stderr)

    def test_another_implementation(self):
        peer = self.peer()
        model = self.made(MULTI)
        _, bundle = self.sign(model, out=model / "model.sig")
        done = peer("verify", "key", model, "--signature", bundle, "--public_key", self.pem)
        self.assertEqual(done.returncode, 0, done.stderr)
        (model / "weights.bin").write_bytes(b"other")
        self.assertNotEqual(peer("verify", "key", model, "--signature", bundle, "--public_key", self.pem).returncode, 0)

        # Its order of paths is that of their parts.
        model = self.made({"model.onnx": b"graph", "model/w.bin": b"w", "model-2.bin": b"2"})
        for curve in ("prime256v1", "secp384r1", "secp521r1"):
            with self.subTest(curve):
                key, pem, bundle = (self.home / f"{curve}.{suffix}" for suffix in ("key", "pem", "sig"))
                subprocess.run(["openssl", "ecparam", "-name", curve, "-genkey", "-noout", "-out", key], check=True)
                subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", pem], check=True, capture_output=True)
                done = peer("sign", "key", model, "--signature", bundle, "--private_key", key)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.verify(model, bundle, pem=pem).returncode, 0)
                self.assertEqual(self.verify(model, bundle).returncode, 5)
                key.chmod(0o600)
                bundle.unlink()
                done = self.kiln("sign", model, "--key", key, "--out", bundle)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = peer("verify", "key", model, "--signature", bundle, "--public_key", pem)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
