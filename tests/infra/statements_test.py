#!/usr/bin/env python3
"""What a farm says of an artifact: every kind of statement in its published form, a third party's among them."""
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

from farm import MODELS, ROOT, FarmCase, json_of, wait_for

sys.path.insert(0, str(ROOT / "tests" / "golden"))
from schema_check import Draft202012Validator, load_schemas  # noqa: E402  (ends with 77 without jsonschema)

LICENCES = "https://example.com/licences/v1"
SCHEMAS = {"https://slsa.dev/provenance/v1": "provenance", "https://slsa.dev/verification_summary/v1": "vsa",
           **{f"urn:kiln:predicate:{name}:v1": name for name in ("check", "compile", "image", "reproduction")}}


class StatementsTest(FarmCase):
    WORKERS = 2
    BUILD = (MODELS / "digits_cnn.onnx", "--check-plan", MODELS / "digits_check.json")

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
                self.assertEqual(statement["predicateType"], LICENCES)
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


if __name__ == "__main__":
    unittest.main()
