#!/usr/bin/env python3
"""What a farm says of an artifact: every kind of statement in its published form, a third party's among them."""
import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from farm import MODELS, ROOT, TARGET, FarmCase, artifact_of, json_of, wait_for

sys.path.insert(0, str(ROOT / "tests" / "golden"))
from schema_check import Draft202012Validator, load_schemas  # noqa: E402  (ends with 77 without jsonschema)

LICENCES = "https://example.com/licences/v1"
INPUTS = "urn:kiln:predicate:input-statement:v1"
SCHEMAS = {"https://slsa.dev/provenance/v1": "provenance", "https://slsa.dev/verification_summary/v1": "vsa",
           **{f"urn:kiln:predicate:{name}:v1": name for name in ("check", "compile", "image", "ir", "reproduction")}}


class StatementsTest(FarmCase):
    WORKERS = 2
    BUILD = (MODELS / "digits_cnn.onnx", "--check-plan", MODELS / "digits_check.json", "--keep-ir")

    def statements(self, directory):
        for file in sorted((directory / "bundles").iterdir()):
            yield json.loads(base64.b64decode(json.loads(file.read_text())["dsseEnvelope"]["payload"]))

    def test_every_statement_of_a_farm_has_its_published_form(self):
        self.assertIn("reproduced", self.kiln("rebuild", self.artifact).stdout)
        wait_for(lambda: json_of(self.kiln("show", self.artifact, "--json"))["verdicts"], 60, "the farm's verdict")
        schemas, registry = load_schemas(ROOT)
        seen = set()
        for statement in self.statements(self.fetched("published")):
            name = SCHEMAS.get(statement["predicateType"])
            if name is None:
                self.assertIn(statement["predicateType"], (LICENCES, INPUTS))
                continue
            seen.add(name)
            errors = Draft202012Validator(schemas[name], registry=registry).iter_errors(statement["predicate"])
            self.assertEqual([f"{name} {e.json_path}: {e.message}" for e in errors], [])
        self.assertEqual(seen, set(SCHEMAS.values()))

    def test_a_third_partys_statement_is_kept_travels_and_satisfies_a_policy(self):
        home = self.farm.home
        root = pathlib.Path(self.farm.env["KILN_TRUST_ROOT"])
        predicate = home / "licences.json"
        predicate.write_text('{"licences": ["Apache-2.0"]}')
        signer = ROOT / "build/release/bin/kiln-signer"
        subprocess.run([signer, "make-key", "--out", home / "legal.key"], check=True)
        shown = subprocess.run([signer, "public-key", "--key", home / "legal.key"], check=True, capture_output=True, text=True)
        (home / "legal.pem").write_text(shown.stdout)
        attest = ("attest", self.artifact, "--type", LICENCES, "--predicate", predicate, "--key", home / "legal.key")
        self.assertIn("trust root", self.kiln(*attest, code=8).stderr)  # of nobody that the farm knows

        self.kiln("trust", "add-key", root, "--id", "urn:example:legal", "--public", home / "legal.pem", "--out", home / "next.json")
        shutil.copy(home / "next.json", root)
        strict = home / "strict.json"
        policy = json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text())
        policy["statements"] = [{"predicateType": LICENCES, "authors": ["urn:example:legal"]}]
        strict.write_text(json.dumps(policy))
        before = self.fetched("before")
        self.assertIn(LICENCES, self.kiln("verify", before, "--policy", strict, code=5).stderr)

        self.kiln(*attest)
        self.kiln(*attest)
        after = self.fetched("after")
        said = [s for s in self.statements(after) if s["predicateType"] == LICENCES]
        self.assertEqual([s["predicate"] for s in said], [{"licences": ["Apache-2.0"]}])
        self.kiln("verify", after, "--policy", strict)
        self.assertIn(LICENCES, self.kiln("provenance", self.artifact).stdout)
        self.assertEqual(json_of(self.kiln("audit", "--json"))["findings"], [])

    def made_key(self, name):
        key, pem = self.farm.home / f"{name}.key", self.farm.home / f"{name}.pem"
        signer = ROOT / "build/release/bin/kiln-signer"
        subprocess.run([signer, "make-key", "--out", key], check=True, capture_output=True)
        pem.write_bytes(subprocess.run([signer, "public-key", "--key", key], check=True, capture_output=True).stdout)
        return key, pem

    def test_a_model_is_built_only_if_its_signature_holds_and_a_policy_can_ask_for_that(self):
        home = self.farm.home
        vendor, vendor_pem = self.made_key("vendor")
        _, stranger_pem = self.made_key("stranger")
        model = home / "delivered"
        model.mkdir()
        shutil.copy(MODELS / "digits_cnn.onnx", model)
        (model / "README.md").write_text("a model card")
        self.kiln("model", "sign", model, "--key", vendor)
        # With another card the model is not what was signed, though the build would not look at it.
        build = ("build", model, "--target", TARGET, "--model-signed-by")
        (model / "README.md").write_text("another card")
        self.assertIn('changed is "README.md"', self.kiln(*build, vendor_pem, code=5).stderr)
        (model / "README.md").write_text("a model card")
        self.assertIn("not signed by the key", self.kiln(*build, stranger_pem, code=5).stderr)
        outside = home / "not_covered.sig"
        self.kiln("model", "sign", model, "--key", vendor, "--ignore", "digits_cnn.onnx", "--ignore", "model.sig", "--out", outside)
        self.assertIn("does not cover it", self.kiln(*build, vendor_pem, "--model-signature", outside, code=5).stderr)
        # Weights of a commit are no file that anybody signed.
        commit = "git+https://models.example/r@" + "0" * 40 + "#w.safetensors"
        self.assertIn("a commit is none", self.kiln(*build, vendor_pem, "--params", commit, code=2).stderr)
        # Named by nobody it is told of, and not believed.
        built = self.kiln("build", model, "--target", TARGET)
        self.assertIn("was not looked at", built.stderr)
        built = self.kiln(*build, stranger_pem, "--model-signed-by", vendor_pem)
        self.assertIn("2 files signed by key", built.stderr)
        artifact = artifact_of(built)
        self.assertEqual(json_of(self.kiln(*build, vendor_pem, "--json"))["modelSignedBy"],
                         json_of(self.kiln("model", "verify", model, "--signed-by", vendor_pem, "--json"))["key"])

        # Whom the farm's root lets speak says so of the artifact, and a policy asks for it.
        intake, intake_pem = self.made_key("intake")
        root = pathlib.Path(self.farm.env["KILN_TRUST_ROOT"])
        self.kiln("trust", "add-key", root, "--id", "urn:example:intake", "--public", intake_pem, "--out", home / "with_intake.json")
        shutil.copy(home / "with_intake.json", root)
        policy = json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text())
        policy["statements"] = [{"predicateType": INPUTS, "authors": ["urn:example:intake"]}]
        (home / "signed_inputs.json").write_text(json.dumps(policy))
        fetch = ("fetch", artifact, "--policy", home / "signed_inputs.json", "--out")
        self.assertIn(INPUTS, self.kiln(*fetch, home / "refused", code=5).stderr)
        say = ("attest", artifact, "--key", intake, "--input-statement")
        self.kiln(*say, model / "model.sig", "--signed-by", stranger_pem, code=5)
        self.kiln(*say, model / "model.sig", "--signed-by", vendor_pem)
        # Provenance of the model, as Tekton Chains signs it.
        self.kiln(*say, self.tekton(model / "digits_cnn.onnx", vendor), "--signed-by", vendor_pem)
        self.kiln(*say, self.tekton(model / "README.md", vendor), "--signed-by", vendor_pem, code=5)
        self.kiln(*fetch, home / "accepted")
        said = [s["predicate"] for s in self.statements(home / "accepted") if s["predicateType"] == INPUTS]
        self.assertEqual({one["predicateType"] for one in said},
                         {"https://model_signing/signature/v1.0", "https://slsa.dev/provenance/v0.2"})
        # What was fetched is signed for those who know of no farm.
        self.kiln("model", "sign", home / "accepted", "--key", intake)
        self.kiln("model", "verify", home / "accepted", "--signed-by", intake_pem)
        self.kiln("verify", home / "accepted")
        # A statement that is too large for whoever verifies is not added.
        deep = model.joinpath(*["d" * 250] * 12)
        deep.mkdir(parents=True)
        for number in range(1200):
            (deep / str(number)).touch()
        self.kiln("model", "sign", model, "--key", vendor, "--out", home / "large.sig")
        large = self.kiln("attest", home / "accepted", "--key", intake, "--input-statement", home / "large.sig", "--signed-by", vendor_pem, code=2)
        self.assertIn("the statement to be signed", large.stderr)
        self.kiln("verify", home / "accepted")

    def openssl(self, *words, **more):
        return subprocess.run(["openssl", *(str(w) for w in words)], check=True, capture_output=True, **more).stdout

    def made_certificate(self, home, name, issuer, extensions):
        key, request, out, listed = (home / f"{name}.{kind}" for kind in ("key", "csr", "pem", "ext"))
        listed.write_text("".join(f"{line}\n" for line in extensions))
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", key)
        key.chmod(0o600)
        self.openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        signer = ("-CA", home / f"{issuer}.pem", "-CAkey", home / f"{issuer}.key", "-CAcreateserial") if issuer else ("-signkey", key)
        self.openssl("x509", "-req", "-in", request, *signer, "-days", 2, "-extfile", listed, "-out", out)
        return out

    # The log says that it signed now, so that the certificate of two days holds.
    def test_a_policy_asks_for_a_forges_attestation_and_for_a_vendors_certificate(self):
        home = self.farm.home / "certified"
        home.mkdir()
        root = self.made_certificate(home, "root", None, ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"])
        signer = ["keyUsage=critical,digitalSignature", "extendedKeyUsage=codeSigning"]
        who, issuer = "https://forge.test/acme/models/.ci/release.yml@refs/heads/main", "https://token.forge.test"
        leaf = self.made_certificate(home, "leaf", "root", [*signer, f"subjectAltName=critical,URI:{who}",
                                                            f"1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:{issuer}"])
        # The vendor signs the folder with a certificate of his own PKI, and the build asks for his name.
        model = home / "delivered"
        model.mkdir()
        shutil.copy(MODELS / "digits_cnn.onnx", model)
        self.kiln("model", "sign", model, "--key", home / "leaf.key", "--certificate", leaf)
        build = ("build", model, "--target", TARGET, "--model-certificate-root", root, "--model-certificate-identity")
        self.assertIn(who, self.kiln(*build, who[:-1], code=5).stderr)
        built = json_of(self.kiln(*build, who, "--json"))
        self.assertEqual(built["modelSignedBy"], who)
        artifact = built["artifacts"][0]["digest"]
        # The forge's attestation about the model, keyless, with the promise of a log.
        bundle, trusted = self.attestation(home, leaf, model / "digits_cnn.onnx")
        intake, intake_pem = self.made_key("certifier")
        named = pathlib.Path(self.farm.env["KILN_TRUST_ROOT"])
        self.kiln("trust", "add-key", named, "--id", "urn:example:certifier", "--public", intake_pem, "--out", home / "next.json")
        shutil.copy(home / "next.json", named)
        say = ("attest", artifact, "--key", intake, "--input-statement", bundle, "--trusted-root", trusted, "--certificate-identity")
        self.assertIn(who, self.kiln(*say, who + "x", "--certificate-oidc-issuer", issuer, code=5).stderr)
        self.assertIn(issuer, self.kiln(*say, who, "--certificate-oidc-issuer", "https://token", code=5).stderr)
        policy = json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text())
        policy["statements"] = [{"predicateType": INPUTS, "authors": ["urn:example:certifier"], "input": {
            "predicateTypes": ["https://slsa.dev/provenance/v1"], "identities": [who], "issuers": [issuer]}}]
        (home / "policy.json").write_text(json.dumps(policy))
        fetch = ("fetch", artifact, "--policy", home / "policy.json", "--out")
        self.assertIn(who, self.kiln(*fetch, home / "refused", code=5).stderr)
        # The vendor's signature under his root is evidence too, and not what this policy asks for.
        self.kiln("attest", artifact, "--key", intake, "--input-statement", model / "model.sig", "--certificate-root", root,
                  "--certificate-identity", who)
        self.kiln(*fetch, home / "refused", code=5)
        self.kiln(*say, who, "--certificate-oidc-issuer", issuer)
        self.kiln(*fetch, home / "accepted")
        said = [s["predicate"] for s in self.statements(home / "accepted") if s["predicateType"] == INPUTS and "identity" in s["predicate"]]
        self.assertEqual({(one["identity"], one.get("issuer")) for one in said}, {(who, issuer), (who, None)})

    def attestation(self, home, leaf, file):
        """A bundle as `gh attestation download` leaves one, and the trusted_root.json under which it holds."""
        def text(data):
            return base64.b64encode(data).decode()

        def signed(key, data):
            return self.openssl("dgst", "-sha256", "-sign", home / f"{key}.key", input=data)

        def der(pem):
            return text(self.openssl("x509", "-in", pem, "-outform", "DER"))

        payload = json.dumps({"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
                              "subject": [{"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}],
                              "predicate": {"buildDefinition": {}}}).encode()
        kind = b"application/vnd.in-toto+json"
        signature = text(signed("leaf", b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)))
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", home / "log.key")
        public = self.openssl("pkey", "-in", home / "log.key", "-pubout", "-outform", "DER")
        log = hashlib.sha256(public).digest()
        body = json.dumps({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
            "signatures": [{"signature": signature, "verifier": text(leaf.read_bytes())}]}}).encode()
        promised = {"body": text(body), "integratedTime": int(time.time()), "logID": log.hex(), "logIndex": 7}
        promise = signed("log", json.dumps(promised, separators=(",", ":"), sort_keys=True).encode())
        entry = {"logIndex": "7", "logId": {"keyId": text(log)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
                 "integratedTime": str(promised["integratedTime"]), "inclusionPromise": {"signedEntryTimestamp": text(promise)},
                 "canonicalizedBody": text(body)}
        bundle, trusted = home / "attestations.jsonl", home / "trusted_root.json"
        bundle.write_text(json.dumps({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {"certificate": {"rawBytes": der(leaf)}, "tlogEntries": [entry]},
            "dsseEnvelope": {"payload": text(payload), "payloadType": kind.decode(), "signatures": [{"sig": signature}]}}) + "\n")
        valid = {"start": "2020-01-01T00:00:00Z"}
        trusted.write_text(json.dumps({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "certificateAuthorities": [{"certChain": {"certificates": [{"rawBytes": der(home / "root.pem")}]}, "validFor": valid}],
            "tlogs": [{"logId": {"keyId": text(log)}, "publicKey": {"rawBytes": text(public), "validFor": valid}}]}))
        return bundle, trusted

    def tekton(self, file, key):
        """A provenance of the file in an envelope by itself."""
        payload = json.dumps({"_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://slsa.dev/provenance/v0.2",
                              "subject": [{"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}],
                              "predicate": {"buildType": "tekton.dev/v1/TaskRun"}}).encode()
        kind = b"application/vnd.in-toto+json"
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=signed, check=True, capture_output=True).stdout
        out = self.farm.home / f"{file.name}.dsse.json"
        out.write_text(json.dumps({"payloadType": kind.decode(), "payload": base64.b64encode(payload).decode(),
                                   "signatures": [{"keyid": "SHA256:chains", "sig": base64.b64encode(signature).decode()}]}))
        return out


if __name__ == "__main__":
    unittest.main()
