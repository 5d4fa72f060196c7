#!/usr/bin/env python3
"""Export, rebuild and diff against real processes: what one farm made is made again by other workers, and by an auditor
with nothing but the export, in an empty root without a network."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.request

from farm import MODELS, ROOT, Farm, artifact_of, json_of, wait_for
from real_registry import distribution
from small_registry import small_registry

sys.path.append(str(ROOT / "tests" / "interop"))
from fetched import Skip, go_program  # noqa: E402

CNN = MODELS / "digits_cnn.onnx"
MLP = MODELS / "digits_mlp.onnx"
BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])


def rewrite(path, data):
    """Files of an export are read-only."""
    mode = path.stat().st_mode
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(mode)


def cosign_at_hand():
    """Its path, if another test has built it; nothing is fetched here."""
    try:
        return go_program("cosign", build=False)
    except Skip:
        return None


def command_line(process):
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=2, options=("--no-sample",))
        cls.home = cls.farm.home
        built = cls.farm.build(CNN)
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)
        cls.layout = cls.home / "model.oci"
        # The farm's verdict follows the publication: the last statement about it for now.
        wait_for(lambda: json_of(cls.farm.kiln("show", cls.artifact, "--json"))["verdicts"], 60, "the farm's verdict")
        cls.exported = cls.farm.kiln("export", cls.artifact, "--oci", cls.layout, "--with-inputs", "--json")
        cls.key = cls.home / "auditor.key"
        subprocess.run([BIN / "kiln-signer", "make-key", "--out", cls.key], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def check(self, result, code=0):
        self.assertEqual(result.returncode, code, f"\n--- out\n{result.stdout}\n--- err\n{result.stderr}")
        self.assertNotIn("terminate called", result.stderr)
        return result

    def copy(self, name):
        out = self.home / name
        shutil.copytree(self.layout, out)
        return out

    # --- export

    def test_export_is_an_oci_layout_with_referrers(self):
        self.check(self.exported)
        index = json.loads((self.layout / "index.json").read_text())
        self.assertEqual(json.loads((self.layout / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        first = index["manifests"][0]
        self.assertEqual(first["digest"], self.artifact)
        types = []
        for entry in index["manifests"]:
            data = (self.layout / "blobs/sha256" / entry["digest"].removeprefix("sha256:")).read_bytes()
            self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), entry["digest"])
            self.assertEqual(len(data), entry["size"])
            if "subject" in json.loads(data):
                self.assertEqual(json.loads(data)["subject"]["digest"], self.artifact)
                types.append(entry["artifactType"])
        bundles = ["application/vnd.dev.sigstore.bundle.v0.3+json"] * 4  # provenance, compile statement, image statement, verdict
        self.assertEqual(sorted(types), bundles + ["application/vnd.kiln.closure.v1+json", "application/vnd.kiln.fixtures.v1+json"])

    def test_export_again_gives_the_same_bytes_and_needs_no_farm_without_inputs(self):
        again = self.home / "again.oci"
        self.check(self.farm.kiln("export", self.artifact, "--oci", again, "--with-inputs"))
        names = lambda root: {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}
        self.assertEqual(names(again), names(self.layout))
        fetched = self.home / "fetched"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        env = {k: v for k, v in self.farm.env.items() if k != "KILN_ENDPOINT"}
        self.check(self.farm.kiln("export", fetched, "--oci", self.home / "plain.oci", env=env))
        self.check(self.farm.kiln("verify", self.home / "plain.oci", env=env))
        self.check(self.farm.kiln("export", fetched, "--oci", self.home / "plain.oci", env=env), 2)  # is there
        without = self.check(self.farm.kiln("rebuild", "--offline", self.home / "plain.oci", env=env), 6)
        self.assertIn("--with-inputs", without.stderr)

    # --- container image

    def image(self, out, source):
        made = json_of(self.farm.kiln("export", source, "--image", out, "--json"))
        self.assertEqual(made["artifact"], self.artifact)
        data = (out / "blobs/sha256" / made["image"].removeprefix("sha256:")).read_bytes()
        self.assertEqual(made["image"], "sha256:" + hashlib.sha256(data).hexdigest())
        return json.loads(data)

    def test_image_holds_what_fetch_leaves_and_names_its_artifact(self):
        out = self.home / "image"
        manifest = self.image(out, self.artifact)
        self.assertEqual(manifest["subject"]["digest"], self.artifact)
        blob = lambda descriptor: out / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")
        config = json.loads(blob(manifest["config"]).read_text())
        self.assertEqual((config["os"], config["architecture"]), ("linux", "amd64"))
        self.assertEqual(config["rootfs"]["diff_ids"], [layer["digest"] for layer in manifest["layers"]])
        root = self.home / "mounted"
        for layer in manifest["layers"]:
            with tarfile.open(blob(layer), "r:") as tar:
                names = tar.getnames()
                self.assertEqual(names, sorted(names))
                for entry in tar:
                    self.assertEqual((entry.uid, entry.gid, entry.mtime, entry.uname, entry.mode),
                                     (0, 0, 0, "", 0o555 if entry.isdir() else 0o444))
                subprocess.run(["tar", "-x", "-f", blob(layer), "-C", root.parent, "--one-top-level=mounted"], check=True)
        fetched = self.home / "fetched-beside"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        files = lambda folder: {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        self.assertEqual(files(root / "models"), files(fetched))
        env = {k: v for k, v in self.farm.env.items() if k != "KILN_ENDPOINT"}
        self.check(self.farm.kiln("verify", root / "models", env=env))
        program = next((root / "models").glob("program*"))
        rewrite(program, program.read_bytes()[:-1] + b"!")
        self.check(self.farm.kiln("verify", root / "models", env=env), 5)

    def test_image_of_a_copy_has_the_same_bytes_and_needs_no_farm(self):
        first, again, fetched = self.home / "image-1", self.home / "image-2", self.home / "for-image"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        made = self.image(first, fetched)
        # What is no bundle was not verified with the folder, and stays out.
        (fetched / "bundles").chmod(0o755)
        (fetched / "bundles/notes.txt").write_text("no bundle")
        self.assertEqual(self.image(self.home / "image-3", fetched), made)
        self.image(again, self.artifact)
        names = lambda root: {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        self.assertEqual(names(first), names(again))
        there = self.check(self.farm.kiln("export", fetched, "--image", first), 2)
        self.assertIn("image-1", there.stderr)
        both = self.check(self.farm.kiln("export", fetched, "--image", self.home / "a", "--oci", self.home / "b"), 2)
        self.assertIn("--image", both.stderr)
        none = self.check(self.farm.kiln("export", fetched), 2)
        self.assertIn("--oci", none.stderr)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_reads_the_image(self):
        out = self.home / "image-skopeo"
        self.image(out, self.artifact)
        shown = self.check(subprocess.run(["skopeo", "inspect", f"oci:{out}:image"], capture_output=True, text=True))
        self.assertEqual(json.loads(shown.stdout)["Architecture"], "amd64")
        self.check(subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", f"oci:{out}:image",
                                   f"dir:{self.home}/image-copy"], capture_output=True, text=True))
        copied = (self.home / "image-copy/manifest.json").read_bytes()
        self.assertEqual(copied, (out / "blobs/sha256" / hashlib.sha256(copied).hexdigest()).read_bytes())

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_copies_artifact_and_referrers(self):
        # Older skopeos write an index anew; what it lists keeps its bytes.
        tag = "sha256-" + self.artifact.removeprefix("sha256:")
        for name, target, option in (("artifact", "one", "--preserve-digests"), (tag, "all", "--all")):
            self.check(subprocess.run(["skopeo", "--insecure-policy", "copy", option, f"oci:{self.layout}:{name}",
                                       f"dir:{self.home}/copy-{target}"], capture_output=True, text=True))
        copied = (self.home / "copy-one" / "manifest.json").read_bytes()
        self.assertEqual("sha256:" + hashlib.sha256(copied).hexdigest(), self.artifact)
        hashes = {hashlib.sha256(p.read_bytes()).hexdigest() for p in (self.home / "copy-all").iterdir()}
        for entry in json.loads((self.layout / "index.json").read_text())["manifests"]:
            if entry.get("artifactType", "") not in ("", "application/vnd.kiln.artifact.v1+json"):
                self.assertIn(entry["digest"].removeprefix("sha256:"), hashes)

    # --- container image, from the farm

    def served(self):
        """HOST/REPOSITORY of the farm's artifacts."""
        return self.farm.env["KILN_HTTP"].removeprefix("http://") + "/default/artifacts"

    def get(self, path):
        with urllib.request.urlopen(f"{self.farm.env['KILN_HTTP']}/v2/default/artifacts/{path}") as answer:
            return answer.read()

    def blob(self, descriptor):
        data = self.get("blobs/" + descriptor["digest"])
        self.assertEqual(("sha256:" + hashlib.sha256(data).hexdigest(), len(data)), (descriptor["digest"], descriptor["size"]))
        return data

    def test_the_farm_serves_the_image_beside_the_artifact(self):
        referrers = json.loads(self.get("referrers/" + self.artifact))["manifests"]
        images = [one for one in referrers if one["artifactType"] == "application/vnd.oci.image.config.v1+json"]
        self.assertEqual(len(images), 1)
        image = images[0]["digest"]
        text = self.get("manifests/" + image)
        self.assertEqual("sha256:" + hashlib.sha256(text).hexdigest(), image)
        self.assertEqual(self.get("manifests/image-" + self.artifact.removeprefix("sha256:")), text)
        manifest = json.loads(text)
        self.assertEqual(manifest["subject"]["digest"], self.artifact)
        config = json.loads(self.blob(manifest["config"]))
        self.assertEqual(config["rootfs"]["diff_ids"], [layer["digest"] for layer in manifest["layers"]])
        mounted = self.home / "mounted-from-farm"
        mounted.mkdir()
        for layer in manifest["layers"]:
            subprocess.run(["tar", "-x", "-C", mounted], input=self.blob(layer), check=True)
        # What is mounted verifies with nothing else, and is the image that somebody wrote down.
        env = {k: v for k, v in self.farm.env.items() if k not in ("KILN_ENDPOINT", "KILN_HTTP")}
        verified = self.check(self.farm.kiln("verify", mounted / "models", "--image", image, env=env))
        self.assertIn(f"ok  image: these files make {image}", verified.stdout)
        other = self.check(self.farm.kiln("verify", mounted / "models", "--image", self.artifact, env=env), 5)
        self.assertIn(image, other.stderr)
        # Who reads the whole folder reads nothing that the image has not.
        for extra in ("handler.py", "bundles/x", "weights/0000.bin~"):
            (mounted / "models" / extra).write_text("import os")
            more = self.check(self.farm.kiln("verify", mounted / "models", "--image", image, env=env), 5)
            self.assertIn(extra + " lies in the directory and is in no image", more.stderr)
            (mounted / "models" / extra).unlink()
        again = json_of(self.farm.kiln("export", mounted / "models", "--image", self.home / "image-again", "--json", env=env))
        self.assertEqual((again["artifact"], again["image"]), (self.artifact, image))
        # Its first layer is that of every image of the artifact.
        own = self.image(self.home / "image-of-all", self.artifact)
        self.assertEqual(own["layers"][0], manifest["layers"][0])
        # The farm signs that the two belong together, and to the image refers that statement.
        stated = self.check(self.farm.kiln("verify", self.artifact))
        self.assertIn(f"urn:kiln:predicate:image:v1 by {self.builder()}, image {image}", stated.stdout)
        about = json.loads(self.get("referrers/" + image))["manifests"]
        self.assertEqual(len(about), 1)
        referrer = json.loads(self.get("manifests/" + about[0]["digest"]))
        self.assertEqual(referrer["subject"]["digest"], image)
        payload = json.loads(base64.b64decode(json.loads(self.blob(referrer["layers"][0]))["dsseEnvelope"]["payload"]))
        self.assertEqual([one["digest"]["sha256"] for one in payload["subject"]],
                         [self.artifact.removeprefix("sha256:"), image.removeprefix("sha256:")])

    def test_the_farms_image_is_made_anywhere_and_pushed_with_its_statement(self):
        image = "sha256:" + hashlib.sha256(self.get("manifests/image-" + self.artifact.removeprefix("sha256:"))).hexdigest()
        env = {k: v for k, v in self.farm.env.items() if k != "KILN_ENDPOINT"}
        fetched, out = self.home / "for-published", self.home / "image-published"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        made = json_of(self.check(self.farm.kiln("export", fetched, "--image", out, "--published", "--json", env=env)))
        self.assertEqual(made["image"], image)
        index = json.loads((out / "index.json").read_text())["manifests"]
        self.assertEqual(index[0]["digest"], image)
        about = json.loads((out / "blobs/sha256" / index[1]["digest"].removeprefix("sha256:")).read_text())
        self.assertEqual((len(index), about["subject"]["digest"]), (2, image))
        self.check(self.farm.kiln("export", fetched, "--oci", self.home / "none", "--published", env=env), 2)
        with small_registry() as registry:
            pushed = json_of(self.check(self.farm.kiln("push", fetched, f"{registry.host}/team/model:1.0", "--image", "--published",
                                                       "--json", env=env)))
            self.assertEqual(pushed["image"], image)
            held = registry.held["team/model", "manifests", "sha256-" + image.removeprefix("sha256:")][0]
            entry = json.loads(held)["manifests"][0]
            self.assertEqual(entry["annotations"]["dev.sigstore.bundle.predicateType"], "urn:kiln:predicate:image:v1")
        # What is in that image is not here any more, or nothing that counts names one.
        payload = lambda path: json.loads(base64.b64decode(json.loads(path.read_text())["dsseEnvelope"]["payload"]))["predicateType"]
        bundles = {payload(path): path for path in (fetched / "bundles").iterdir()}
        (fetched / "bundles").chmod(0o755)
        for kind, said in (("urn:kiln:predicate:compile:v1", "is not here"), ("urn:kiln:predicate:image:v1", "no statement that counts")):
            bundles[kind].unlink()
            lacking = self.check(self.farm.kiln("export", fetched, "--image", self.home / "lacking", "--published", env=env), 6)
            self.assertIn(said, lacking.stderr)
            self.assertFalse((self.home / "lacking").exists())

    def builder(self):
        return json.loads(pathlib.Path(self.farm.env["KILN_TRUST_ROOT"]).read_text())["builders"][0]["id"]

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_pulls_the_image_from_the_farm(self):
        tag = "image-" + self.artifact.removeprefix("sha256:")
        out = self.home / "pulled"
        self.check(subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", "--src-tls-verify=false",
                                   f"docker://{self.served()}:{tag}", f"dir:{out}"], capture_output=True, text=True))
        manifest = (out / "manifest.json").read_bytes()
        image = "sha256:" + hashlib.sha256(manifest).hexdigest()
        self.check(subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", "--src-tls-verify=false",
                                   f"docker://{self.served()}@{image}", f"dir:{out}-by-digest"], capture_output=True, text=True))
        for layer in json.loads(manifest)["layers"]:
            self.assertEqual(hashlib.sha256((out / layer["digest"].removeprefix("sha256:")).read_bytes()).hexdigest(),
                             layer["digest"].removeprefix("sha256:"))

    # --- cosign

    def cosign(self, reference, kind, key=None):
        """What cosign says of the reference; by the signer's key, if none is given."""
        home = self.home / "cosign"
        if not home.exists():
            home.mkdir()
            self.check(self.farm.kiln("trust", "show", self.farm.env["KILN_TRUST_ROOT"], "--sigstore", home / "stock"))
            spki = json.loads(pathlib.Path(self.farm.env["KILN_TRUST_ROOT"]).read_text())["keys"][0]["spki"]
            (home / "signer.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{spki}\n-----END PUBLIC KEY-----\n")
            public = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout"], check=True, capture_output=True).stdout
            (home / "other.pem").write_bytes(public)
        return subprocess.run([cosign_at_hand(), "verify-attestation", "--allow-http-registry", "--key", home / f"{key or 'signer'}.pem",
                               "--trusted-root", home / "stock/trusted_root.json", "--type", kind, reference],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(home)})

    @unittest.skipUnless(cosign_at_hand(), "cosign is not in the cache of tests/interop")
    def test_cosign_accepts_artifact_and_image_of_the_farm(self):
        tag = "image-" + self.artifact.removeprefix("sha256:")
        image = "sha256:" + hashlib.sha256(self.get("manifests/" + tag)).hexdigest()
        for reference, kind in ((f"@{self.artifact}", "slsaprovenance1"), (f"@{image}", "urn:kiln:predicate:image:v1"),
                                (f":{tag}", "urn:kiln:predicate:image:v1")):
            self.check(self.cosign(self.served() + reference, kind))
            self.assertNotEqual(self.cosign(self.served() + reference, kind, "other").returncode, 0)
        self.assertNotEqual(self.cosign(f"{self.served()}@{image}", "slsaprovenance1").returncode, 0)

    @unittest.skipUnless(cosign_at_hand(), "cosign is not in the cache of tests/interop")
    @unittest.skipUnless(shutil.which("docker-registry"), "docker-registry is not installed")
    def test_cosign_accepts_the_artifact_in_debians_registry(self):
        with distribution("docker-registry", self.home / "debians-registry-for-cosign") as host:
            self.check(self.farm.kiln("push", self.artifact, f"{host}/team/model:1.0"))
            self.check(self.cosign(f"{host}/team/model:1.0", "slsaprovenance1"))
            pushed = json_of(self.check(self.farm.kiln("push", self.artifact, f"{host}/team/model:mounted", "--image", "--published", "--json")))
            for reference in (":mounted", "@" + pushed["image"]):
                self.check(self.cosign(f"{host}/team/model{reference}", "urn:kiln:predicate:image:v1"))
            self.assertNotEqual(self.cosign(f"{host}/team/model:1.0", "slsaprovenance1", "other").returncode, 0)

    # --- registry

    @unittest.skipUnless(shutil.which("docker-registry"), "docker-registry is not installed")
    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_push_to_debians_registry(self):
        """distribution 2.8, which lists no referrers: an artifact, its image, and the index of what refers to it."""
        env = {k: v for k, v in self.farm.env.items() if k != "KILN_ENDPOINT"}
        fetched = self.home / "for-debians-registry"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        with distribution("docker-registry", self.home / "debians-registry") as host:
            place = f"{host}/team/model"
            pushed = json_of(self.check(self.farm.kiln("push", fetched, f"{place}:1.0", "--image", "--json", env=env)))
            again = json_of(self.check(self.farm.kiln("push", fetched, f"{place}:1.0", "--image", "--json", env=env)))
            self.assertEqual((again["image"], again["sent"]), (pushed["image"], 0))

            def skopeo(*command):
                return self.check(subprocess.run(["skopeo", "--insecure-policy", *command], capture_output=True, text=True)).stdout

            def pulled(reference, name):
                skopeo("copy", "--preserve-digests", "--src-tls-verify=false", f"docker://{place}{reference}", f"dir:{self.home}/{name}")
                return (self.home / name / "manifest.json").read_bytes()

            image = pulled(":1.0", "registry-image")
            self.assertEqual("sha256:" + hashlib.sha256(image).hexdigest(), pushed["image"])
            self.assertEqual(json.loads(image)["subject"]["digest"], self.artifact)
            self.assertEqual(pulled("@" + self.artifact, "registry-artifact"), (fetched / "artifact.json").read_bytes())
            mounted = self.home / "registry-mounted"
            mounted.mkdir()
            for layer in json.loads(image)["layers"]:
                subprocess.run(["tar", "-x", "-f", self.home / "registry-image" / layer["digest"].removeprefix("sha256:"), "-C", mounted],
                               check=True)
            self.check(self.farm.kiln("verify", mounted / "models", "--image", pushed["image"], env=env))
            index = json.loads(skopeo("inspect", "--raw", "--tls-verify=false",
                                      f"docker://{place}:sha256-{self.artifact.removeprefix('sha256:')}"))["manifests"]
            self.assertIn(pushed["image"], [one["digest"] for one in index])
            kinds = [one.get("annotations", {}).get("dev.sigstore.bundle.predicateType") for one in index]
            for kind in ("https://slsa.dev/provenance/v1", "urn:kiln:predicate:image:v1"):
                self.assertIn(kind, kinds)

    def test_push_leaves_artifact_image_and_referrers_in_a_registry(self):
        fetched = self.home / "for-push"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        env = {k: v for k, v in self.farm.env.items() if k != "KILN_ENDPOINT"}
        with small_registry() as registry:
            place = f"{registry.host}/team/model"
            image = json_of(self.check(self.farm.kiln("push", fetched, f"{place}:1.0", "--image", "--json", env=env)))["image"]
            uploads = registry.uploads
            manifest = lambda name: json.loads(registry.held["team/model", "manifests", name][0])
            self.assertEqual(manifest("1.0")["subject"]["digest"], self.artifact)
            referrers = manifest("sha256-" + self.artifact.removeprefix("sha256:"))["manifests"]
            self.assertIn(image, [one["digest"] for one in referrers])
            self.assertIn("https://slsa.dev/provenance/v1",
                          [one.get("annotations", {}).get("dev.sigstore.bundle.predicateType") for one in referrers])
            self.check(self.farm.kiln("push", fetched, f"{place}:again", env=env))
            self.assertEqual(registry.uploads, uploads)
            self.assertEqual(registry.held["team/model", "manifests", "again"][0], (fetched / "artifact.json").read_bytes())
            if shutil.which("skopeo"):
                shown = self.check(subprocess.run(["skopeo", "inspect", "--tls-verify=false", f"docker://{place}:1.0"],
                                                  capture_output=True, text=True))
                self.assertEqual(json.loads(shown.stdout)["Digest"], image)
        self.check(self.farm.kiln("push", fetched, f"{place}:1.0", env=env), 7)  # nobody listens
        program = fetched / "program.so"
        rewrite(program, program.read_bytes()[:-1] + b"!")
        self.check(self.farm.kiln("push", fetched, f"{place}:1.0", env=env), 5)

    # --- rebuild

    def offline(self, layout, *options):
        """kiln rebuild in a root that holds the programs, their libraries, the export, root, policy and key, and
        nothing else, without a network."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="kiln-empty-"))
        try:
            root.chmod(0o755)  # actions run under uids of their own
            (root / "audit").mkdir()
            binds = []
            for path in ("/usr", "/lib", "/lib64", "/etc/ld.so.cache"):
                if os.path.exists(path):
                    binds += ["--ro-bind", path, path]
            for source, inside in ((self.farm.env["KILN_TRUST_ROOT"], "root.json"), (self.farm.env["KILN_POLICY"], "policy.json"),
                                   (self.key, "key.pem"), (BIN, "bin")):
                binds += ["--ro-bind", source, f"/audit/{inside}"]
            binds += ["--symlink", "usr/bin", "/bin"]
            command = ["bwrap", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--clearenv",
                       *(["--cap-add", "ALL"] if os.geteuid() == 0 else []), "--bind", root, "/", *binds,
                       "--bind", layout, "/audit/export", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
                       "--setenv", "HOME", "/nonexistent",
                       "/audit/bin/kiln", "rebuild", "--offline", "/audit/export", "--trust-root", "/audit/root.json",
                       "--policy", "/audit/policy.json", *options]
            return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def test_offline_rebuild_in_an_empty_root_without_network(self):
        layout = self.copy("audited.oci")
        done = self.check(self.offline(layout, "--key", "/audit/key.pem", "--id", "urn:auditor:acme", "--operator", "acme"))
        self.assertEqual(done.stdout.strip().splitlines()[-1], "reproduced " + self.artifact)
        # A key that the root does not list never helps, and is told.
        unknown = self.check(self.farm.kiln("provenance", layout))
        self.assertIn("not counted", unknown.stdout)
        self.assertNotIn("reproduced", unknown.stdout)
        two = self.home / "two.json"
        two.write_text(json.dumps(json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text()) |
                                  {"minBuilders": 2, "minOperators": 2}))
        self.check(self.farm.kiln("verify", layout, "--policy", two), 5)
        # One that the root lists does.
        statement = next(b for b in self.bundles(layout) if b["predicateType"] == "urn:kiln:predicate:reproduction:v1")
        self.assertEqual(statement["predicate"]["rebuilder"], {"id": "urn:auditor:acme", "worker": "offline", "operator": "acme"})
        root = self.root_with("urn:auditor:acme")
        shown = self.check(self.farm.kiln("provenance", layout, "--trust-root", root))
        self.assertIn("reproduced  by offline of acme (urn:auditor:acme)", shown.stdout)
        self.check(self.farm.kiln("verify", layout, "--policy", two, "--trust-root", root))

    def bundles(self, layout):
        for entry in json.loads((layout / "index.json").read_text())["manifests"]:
            if entry.get("artifactType") == "application/vnd.dev.sigstore.bundle.v0.3+json":
                blob = lambda digest: json.loads((layout / "blobs/sha256" / digest.removeprefix("sha256:")).read_bytes())
                yield json.loads(base64.b64decode(blob(blob(entry["digest"])["layers"][0]["digest"])["dsseEnvelope"]["payload"]))

    def root_with(self, identity):
        """The farm's root with the auditor's key in it."""
        own = self.home / "own-root.json"
        if not own.exists():
            subprocess.run([BIN / "kiln-signer", "make-root", "--key", self.key, "--builder-id", identity, "--development",
                            "--out", own], check=True)
        root = json.loads(pathlib.Path(self.farm.env["KILN_TRUST_ROOT"]).read_text())
        added = json.loads(own.read_text())
        root["builders"] += added["builders"]
        root["keys"] += added["keys"]
        out = self.home / "both-root.json"
        out.write_text(json.dumps(root))
        return out

    def test_offline_rebuild_needs_an_export_that_verifies(self):
        for name, damage in {
            "flipped": lambda d: d[:-1] + bytes([d[-1] ^ 1]),
            "short": lambda d: d[:-1],
            "long": lambda d: d + b"x",
        }.items():
            layout = self.copy(f"hostile-{name}.oci")
            manifest = json.loads((layout / "blobs/sha256" / self.artifact.removeprefix("sha256:")).read_bytes())
            blob = layout / "blobs/sha256" / manifest["layers"][0]["digest"].removeprefix("sha256:")
            rewrite(blob, damage(blob.read_bytes()))
            self.check(self.farm.kiln("rebuild", "--offline", layout), 5)

    def model_blob(self, layout):
        return layout / "blobs/sha256" / hashlib.sha256(CNN.read_bytes()).hexdigest()

    def test_hostile_exports_are_refused_by_name(self):
        layout = self.copy("hostile-index.oci")
        index = (layout / "index.json").read_bytes()
        for data in (b"", b"{", index.replace(b'"schemaVersion":2', b'"schemaVersion":3'), b"[" * 100000,
                     index.replace(b"sha256:", b"sha512:"), index.replace(self.artifact.encode(), b"sha256:../../../../etc/passwd")):
            rewrite(layout / "index.json", data)
            self.check(self.farm.kiln("rebuild", "--offline", layout), 5)
        rewrite(layout / "index.json", index)
        # A link to the right bytes is still a link.
        model = self.model_blob(layout)
        outside = self.home / "outside.onnx"
        outside.write_bytes(model.read_bytes())
        model.unlink()
        missing = self.farm.kiln("rebuild", "--offline", layout)
        self.check(missing, 6)
        self.assertIn("model.onnx", missing.stderr)
        model.symlink_to(outside)
        self.check(self.farm.kiln("rebuild", "--offline", layout), 6)
        model.unlink()
        os.mkfifo(model)
        self.check(self.farm.kiln("rebuild", "--offline", layout), 6)

    def test_an_interrupted_rebuild_leaves_nothing_and_ends_what_it_started(self):
        place = self.home / "interrupted"
        place.mkdir()
        command = subprocess.Popen(["kiln", "rebuild", "--offline", self.layout, "--out", place / "again"], env=self.farm.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = lambda: [line for line in map(command_line, pathlib.Path("/proc").glob("[0-9]*")) if str(place) in line and
                         "kiln-rebuilder" in line]
        wait_for(lambda: list(place.glob(".again.partial-*")) and lines(), 60, "it rebuilds")
        command.send_signal(signal.SIGTERM)
        self.assertEqual(command.wait(60), -signal.SIGTERM)
        wait_for(lambda: not lines(), 30, "its program ends")
        self.assertEqual(list(place.iterdir()), [])

    def test_what_is_not_there_is_not_found(self):
        for arguments in (("--offline", self.home / "nowhere"), ("--offline", self.layout, "--out", self.home / "nowhere/again")):
            self.check(self.farm.kiln("rebuild", *arguments), 6)
        self.check(self.farm.kiln("rebuild", "--offline", MODELS), 2)
        self.check(self.farm.kiln("rebuild", "--offline", self.layout, "--out", MODELS), 2)

    def test_rebuild_reads_inputs_by_digest_only(self):
        layout = self.copy("hostile-model.oci")
        model = self.model_blob(layout)
        data = bytearray(model.read_bytes())
        data[len(data) // 2] ^= 1  # same size: only its hash tells
        rewrite(model, bytes(data))
        refused = self.farm.kiln("rebuild", "--offline", layout)
        self.assertEqual(refused.returncode, 5, refused.stderr)
        self.assertIn("another digest", refused.stderr)

    def test_farm_rebuilds_on_another_worker(self):
        before = json_of(self.check(self.farm.kiln("provenance", self.artifact, "--json")))
        builder = {d["annotations"]["worker"] for p in before["provenance"] for d in p["runDetails"]["byproducts"]
                   if d["name"] == "receipt"}
        self.assertEqual(len(builder), 1)
        done = self.check(self.farm.kiln("rebuild", self.artifact))
        self.assertEqual(done.stdout.strip().splitlines()[-1], "reproduced " + self.artifact)
        after = json_of(self.check(self.farm.kiln("provenance", self.artifact, "--json")))
        self.assertEqual(len(after["reproductions"]), len(before["reproductions"]) + 1)
        again = after["reproductions"][-1]["rebuilder"]
        self.assertNotIn(again["worker"], builder)
        # The farm states its verdict anew, since there are two builders now; what other tests fetch holds it.
        reproduced = lambda one: one["urn:kiln:vsa:agreement:v1"]["reproduced"]
        wait_for(lambda: any(map(reproduced, json_of(self.farm.kiln("show", self.artifact, "--json"))["verdicts"])), 60, "the farm's new verdict")
        two = self.home / "two-builders.json"
        two.write_text(json.dumps(json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text()) | {"minBuilders": 2}))
        self.check(self.farm.kiln("verify", self.artifact, "--policy", two))
        self.check(self.farm.kiln("rebuild", "sha256:" + "0" * 64), 6)
        self.check(self.farm.kiln("rebuild"), 2)

    # --- diff

    def test_diff_names_field_section_function_and_instruction(self):
        options = ("--no-cache",)
        one = artifact_of(self.check(self.farm.build(MLP, "--profile", "N=1:1:1", *options)))
        two = artifact_of(self.check(self.farm.build(MLP, "--profile", "N=2:2:2", *options)))
        self.assertIn("equal", self.check(self.farm.kiln("diff", one, one)).stdout)
        found = json_of(self.check(self.farm.kiln("diff", one, two, "--json"), 9))
        self.assertIn("spec.profiles[0].dims[0].max", [field["path"] for field in found["fields"]])
        program = next(file for file in found["files"] if file["path"] == "program.so")
        self.assertIn(".text", [section["name"] for section in program["sections"]])
        self.assertTrue(any(symbol["nodes"] for symbol in program["symbols"]))
        self.assertIn(found["listing"]["function"], [symbol["name"] for symbol in program["symbols"]])
        self.assertTrue(found["listing"]["first"][0]["text"])
        text = self.check(self.farm.kiln("diff", one, two), 9).stdout
        self.assertIn("from the first instruction that differs", text)
        self.assertIn("equal", self.check(self.farm.kiln("diff", self.artifact, self.layout)).stdout)

    def test_diff_takes_hostile_programs(self):
        fetched = self.home / "victim"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", fetched))
        program = (fetched / "program.so").read_bytes()
        for i, data in enumerate((b"", b"\x7fELF", program[:100], program[:-40], program[:40] + b"\xff" * 16 + program[56:])):
            other = self.home / f"damaged-{i}"
            shutil.copytree(fetched, other)
            rewrite(other / "program.so", data)
            found = json_of(self.check(self.farm.kiln("diff", fetched, other, "--json"), 9))
            self.assertEqual([file["path"] for file in found["files"]], ["program.so"])
        self.check(self.farm.kiln("diff", fetched, self.home / "nothing"), 6)


if __name__ == "__main__":
    unittest.main()
