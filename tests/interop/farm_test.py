#!/usr/bin/env python3
"""What a farm signed, judged where there is no farm: an export in an empty root without a network, with a named trust root
and policy alone, by kiln; and by stock verifiers. The farm's artifact key lies in a PKCS#11 token where SoftHSM is installed.
OCI clients fetch the same artifact from the farm."""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from evidence import Evidence
from fetched import Broken, Skip, go_program
from verifiers import VERIFIERS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import MODELS, Farm, artifact_of, json_of  # noqa: E402

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])
MODULE = "/usr/lib/softhsm/libsofthsm2.so"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
VSA = "https://slsa.dev/verification_summary/v1"
QUICK = ("@sigstore/verify", "securesystemslib")  # the others run where they are in the cache


def token(home):
    """A SoftHSM token with a fresh key in it; its URI, or none."""
    if not os.path.exists(MODULE) or not shutil.which("softhsm2-util"):
        return None
    (home / "tokens").mkdir(parents=True)
    conf, pin = home / "softhsm2.conf", home / "pin"
    conf.write_text(f"directories.tokendir = {home / 'tokens'}\nlog.level = ERROR\n")
    os.environ["SOFTHSM2_CONF"] = str(conf)
    pin.write_text("1234\n")
    pin.chmod(0o600)
    subprocess.run(["softhsm2-util", "--init-token", "--free", "--so-pin", "5678", "--pin", "1234", "--label", "farm"],
                   check=True, capture_output=True)
    uri = f"pkcs11:token=farm;object=signer?module-path={MODULE}&pin-source={pin}"
    subprocess.run([BIN / "kiln-signer", "make-key", "--out", uri], check=True)
    return uri


class FarmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="kiln-interop-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.uri = token(cls.scratch / "hsm")

        class WithToken(Farm):
            def up(self, *options):
                if cls.uri:
                    (self.dir / "keys").mkdir(parents=True, exist_ok=True)
                    (self.dir / "keys").chmod(0o700)
                    (self.dir / "keys/signer.uri").write_text(cls.uri + "\n")
                return super().up(*options)

        cls.farm = WithToken(workers=1, options=("--no-sample",))
        cls.addClassCleanup(cls.farm.close)
        built = cls.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)
        # All that leaves the farm: an export, the root, a policy.
        cls.desk = cls.scratch / "desk"
        cls.desk.mkdir()
        cls.layout = cls.desk / "model.oci"
        exported = cls.farm.kiln("export", cls.artifact, "--oci", cls.layout)
        assert exported.returncode == 0, exported.stderr
        shutil.copy(cls.farm.env["KILN_TRUST_ROOT"], cls.desk / "root.json")
        shutil.copy(cls.farm.env["KILN_POLICY"], cls.desk / "policy.json")

    def alone(self, *arguments, layout=None, root=None):
        """kiln in a root that holds the program, its libraries, the export, root and policy, and nothing else."""
        with contextlib.ExitStack() as stack:
            empty = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kiln-empty-")))
            (empty / "audit").mkdir()
            binds = []
            for path in ("/usr", "/lib", "/lib64", "/etc/ld.so.cache"):
                if os.path.exists(path):
                    binds += ["--ro-bind", path, path]
            for source, inside in ((layout or self.layout, "model.oci"), (root or self.desk / "root.json", "root.json"),
                                   (self.desk / "policy.json", "policy.json"), (BIN / "kiln", "kiln")):
                binds += ["--ro-bind", source, f"/audit/{inside}"]
            command = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--bind", empty, "/", *binds,
                       "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/audit", "/audit/kiln", *arguments]
            return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)

    def verify(self, code, **changed):
        done = self.alone("verify", "model.oci", "--trust-root", "root.json", "--policy", "policy.json", **changed)
        self.assertEqual(done.returncode, code, f"\n--- out\n{done.stdout}\n--- err\n{done.stderr}")
        return done

    def blob(self, digest, layout=None):
        return (layout or self.layout) / "blobs/sha256" / digest.removeprefix("sha256:")

    def bundles(self):
        """The bundles of the export, as files of their own: an OCI client finds them as referrers."""
        out = []
        for entry in json.loads((self.layout / "index.json").read_text())["manifests"]:
            if entry.get("artifactType") == BUNDLE:
                manifest = json.loads(self.blob(entry["digest"]).read_bytes())
                self.assertEqual(manifest["subject"]["digest"], self.artifact)
                out.append(self.blob(manifest["layers"][0]["digest"]))
        return out

    # --- kiln

    def test_kiln_verifies_in_an_empty_root_without_a_network(self):
        self.verify(0)

    def test_kiln_refuses_another_root_and_changed_files(self):
        key = self.scratch / "other.pem"
        subprocess.run([BIN / "kiln-signer", "make-key", "--out", key], check=True)
        subprocess.run([BIN / "kiln-signer", "make-root", "--key", key, "--builder-id",
                        json.loads((self.desk / "root.json").read_text())["builders"][0]["id"], "--development", "--out",
                        self.scratch / "other-root.json"], check=True)
        self.verify(5, root=self.scratch / "other-root.json")
        done = self.alone("verify", "model.oci", "--policy", "policy.json")
        self.assertNotEqual(done.returncode, 0, "a root is named, never discovered")
        changed = self.scratch / "changed.oci"
        shutil.copytree(self.layout, changed)
        manifest = json.loads(self.blob(self.artifact).read_bytes())
        layer = self.blob(manifest["layers"][0]["digest"], changed)
        data = bytearray(layer.read_bytes())
        data[len(data) // 2] ^= 1
        layer.chmod(0o644)
        layer.write_bytes(bytes(data))
        self.verify(5, layout=changed)

    def test_the_key_never_was_in_a_file(self):
        if not self.uri:
            self.skipTest("SoftHSM 2 is not installed")
        self.assertFalse((self.farm.dir / "keys/signer.pem").exists())
        pem = subprocess.run([BIN / "kiln-signer", "public-key", "--key", self.uri], check=True, capture_output=True,
                             text=True).stdout
        der = base64.b64decode("".join(pem.strip().splitlines()[1:-1]))
        self.assertIn(base64.b64encode(hashlib.sha256(der).digest()).decode(),
                      [json.loads(bundle.read_text())["verificationMaterial"]["publicKey"]["hint"] for bundle in self.bundles()])

    # --- stock verifiers

    def evidence(self):
        stock = self.scratch / "stock"
        if not stock.exists():
            shown = self.farm.kiln("trust", "show", self.desk / "root.json", "--sigstore", stock, "--json")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertEqual(json_of(shown)["sigstore"]["trustedRoot"], str(stock / "trusted_root.json"))
        for number, bundle in enumerate(self.bundles()):
            yield Evidence(self.blob(self.artifact), bundle, self.desk / "root.json", stock / "trusted_root.json",
                           self.farm.dir / "log" if number == 0 else None)

    def test_stock_verifiers_accept_it_with_its_log_entries_and_refuse_damaged_copies(self):
        every = list(self.evidence())
        self.assertTrue(every)
        self.assertTrue(all(one.logged() for one in every), "a bundle left the farm without its log entry")
        ran, skipped = [], []
        for name, judge in VERIFIERS.items():
            try:
                if name not in QUICK:
                    go_program(name.removeprefix("Tessera "), build=False)
                for one in every:
                    if name == "Tessera fsck" and not one.tiles:
                        continue
                    if name == "slsa-verifier" and one.statement["predicateType"] != VSA:
                        continue
                    self.assertEqual(judge(one), [], f"{name} about {one.statement['predicateType']}")
                ran.append(name)
            except Skip as skip:
                skipped.append(f"{name}: {skip}")
            except Broken as broken:
                self.fail(f"{name}: {broken}")
        print(f"ran {', '.join(ran)}; skipped {'; '.join(skipped) or 'none'}", file=sys.stderr)
        if len(ran) < 2:
            self.skipTest("fewer than two verifiers could be had")

    def test_slsa_verifier_accepts_a_summary(self):
        key, root = self.scratch / "auditor.pem", self.scratch / "both.json"
        subprocess.run([BIN / "kiln-signer", "make-key", "--out", key], check=True)
        done = self.farm.kiln("attest", self.layout, "--vsa", "--id", "urn:auditor", "--key", key, "--out",
                              self.scratch / "vsa.sigstore.json", "--trust-root", self.desk / "root.json", "--policy",
                              self.desk / "policy.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        added = self.farm.kiln("trust", "add-key", self.desk / "root.json", "--id", "urn:auditor", "--public", key, "--out", root)
        self.assertEqual(added.returncode, 0, added.stderr)
        one = Evidence(self.blob(self.artifact), self.scratch / "vsa.sigstore.json", root)
        try:
            go_program("slsa-verifier", build=False)
            self.assertEqual(VERIFIERS["slsa-verifier"](one), [])
        except Skip as skip:
            self.skipTest(f"slsa-verifier: {skip}")

    # --- OCI clients

    def test_crane_pulls_it_by_digest(self):
        try:
            crane = go_program("crane", build=False)
        except Skip as skip:
            self.skipTest(f"crane: {skip}")
        name = f"{self.farm.env['KILN_HTTP'].removeprefix('http://')}/default/artifacts@{self.artifact}"
        shown = subprocess.run([crane, "manifest", name], capture_output=True)
        self.assertEqual(shown.returncode, 0, shown.stderr.decode())
        self.assertEqual(shown.stdout, self.blob(self.artifact).read_bytes())
        pulled = self.scratch / "pulled"
        done = subprocess.run([crane, "pull", "--format=oci", name, pulled], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads(shown.stdout)
        for part in [{"digest": self.artifact}, manifest["config"], *manifest["layers"]]:
            data = (pulled / "blobs/sha256" / part["digest"].removeprefix("sha256:")).read_bytes()
            self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), part["digest"])
        missing = subprocess.run([crane, "manifest", name[:-64] + "0" * 64], capture_output=True)
        self.assertNotEqual(missing.returncode, 0)

    def test_crane_accepts_the_export(self):
        try:
            crane = go_program("crane", build=False)
        except Skip as skip:
            self.skipTest(f"crane: {skip}")
        with registry(crane) as host:
            pushed = subprocess.run([crane, "push", "--index", self.layout, f"{host}/copy"], capture_output=True, text=True)
            self.assertEqual(pushed.returncode, 0, pushed.stderr)
            shown = subprocess.run([crane, "manifest", f"{host}/copy@{self.artifact}"], capture_output=True)
            self.assertEqual(shown.stdout, self.blob(self.artifact).read_bytes(), shown.stderr)


@contextlib.contextmanager
def registry(crane):
    """crane's own registry, in memory, on a port that the kernel chooses."""
    with subprocess.Popen([crane, "registry", "serve", "--address", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if "serving on port" in line:
                    yield "127.0.0.1:" + line.rsplit(" ", 1)[1].strip()
                    break
            else:
                raise AssertionError("crane's registry did not start")
        finally:
            process.kill()


if __name__ == "__main__":
    unittest.main()
