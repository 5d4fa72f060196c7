#!/usr/bin/env python3
"""A mirror against real processes: filled from a farm, killed while it is, served when the farm is gone, and passed over when it
lies, is cut or is behind. OCI clients pull from it as they do from a farm."""
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

from farm import MODELS, FarmCase, artifact_of, json_of, wait_for

FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")
KILLS = 40 if FULL else 6
SEED = int(os.environ.get("KILN_SEED", "0")) or random.randrange(1, 1 << 31)
NOWHERE = "unix:/tmp/no-farm-listens-here.sock"


def get(url):
    """Status and body."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Liar(http.server.ThreadingHTTPServer):
    """Passes requests on to a mirror, and what `change(path, body)` makes of the answer back. `None`: the connection is cut in the
    middle of the body."""

    def __init__(self, mirror, change):
        super().__init__(("127.0.0.1", 0), Passing)
        self.mirror, self.change = mirror, change
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Passing(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = get(self.server.mirror + self.path)
        changed = self.server.change(self.path, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body if changed is None else changed)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if changed is None else changed)
        self.close_connection = True

    def log_message(self, *_):
        pass


def flipped(body):
    return body[:len(body) // 2] + bytes([body[len(body) // 2] ^ 1]) + body[len(body) // 2 + 1:]


class MirrorTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.farm.close)
        built = cls.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        assert built.returncode == 0, built.stderr
        cls.second = artifact_of(built)
        for artifact in (cls.artifact, cls.second):
            wait_for(lambda: json_of(cls.farm.kiln("show", artifact, "--json"))["verdicts"], 60, "the farm's verdict")
        cls.mirror = cls.farm.home / "mirror"
        cls.filled = cls.farm.kiln("mirror", "update", cls.mirror)
        assert cls.filled.returncode == 0, cls.filled.stdout + cls.filled.stderr
        cls.url, server = cls.serve(cls.mirror)
        cls.addClassCleanup(cls.end, server)

    @classmethod
    def tearDownClass(cls):
        pass  # the clean-ups do, last come first

    @classmethod
    def serve(cls, directory, *options):
        ports = cls.farm.home / f"{directory.name}.port"
        ports.unlink(missing_ok=True)
        server = subprocess.Popen(["kiln", "mirror", "serve", directory, "--http", "127.0.0.1:0", "--http-port-file", ports, *options],
                                  env=cls.farm.env, stderr=subprocess.DEVNULL)
        wait_for(lambda: ports.exists() and ports.read_text().strip(), 60, "the mirror listens")
        return f"http://127.0.0.1:{ports.read_text().strip()}", server

    @staticmethod
    def end(server):
        server.kill()
        server.wait()

    @contextlib.contextmanager
    def liar(self, change):
        liar = Liar(self.url, change)
        try:
            yield liar.url
        finally:
            liar.close()

    def node(self, name):
        """A machine of its own: it remembers what it has seen beside its root."""
        home = self.farm.home / f"node-{name}-{time.monotonic_ns()}"
        home.mkdir()
        shutil.copy(self.farm.env["KILN_TRUST_ROOT"], home / "root.json")
        return home

    def fetch(self, home, *mirrors, artifact=None, endpoint=NOWHERE, code=0):
        out = home / f"out-{time.monotonic_ns()}"
        words = [word for url in mirrors for word in ("--mirror", url)]
        done = self.farm.kiln("fetch", artifact or self.artifact, "--out", out, "--trust-root", home / "root.json", "--endpoint", endpoint,
                              "--json", *words)
        self.assertEqual(done.returncode, code, f"\n--- out\n{done.stdout}\n--- err\n{done.stderr}")
        self.assertEqual(out.exists(), code == 0)
        return done, out

    # --- what is taken, and served

    def test_an_update_takes_all_and_the_next_one_nothing(self):
        self.assertIn("2 artifacts (2 new, 0 changed, 0 refused)", self.filled.stdout)
        again = json_of(self.kiln("mirror", "update", self.mirror, "--json"))
        self.assertEqual((again["new"], again["refused"]), (0, 0))
        self.assertGreaterEqual(again["artifacts"], 2)  # other tests build more
        self.assertGreater(again["logEntries"], 5)
        self.kiln("log", "verify", "--log", self.mirror / "log")
        self.kiln("log", "verify", "--log", self.url + "/log")

    def test_a_node_fetches_from_the_mirror_when_the_farm_is_away(self):
        home = self.node("away")
        done, out = self.fetch(home, self.url)
        self.assertEqual(json_of(done)["source"], self.url)
        self.assertIn("not from farm", done.stderr)
        self.kiln("verify", out)
        self.kiln("warmup", out)
        there, direct = self.fetch(home, self.url, endpoint=self.farm.env["KILN_ENDPOINT"])
        self.assertEqual(json_of(there)["source"], self.farm.env["KILN_ENDPOINT"], "the farm comes first")
        names = lambda root: {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
        self.assertEqual(names(out), names(direct), "the same directory, byte for byte")
        first, _ = self.fetch(home, self.url, "farm", endpoint=self.farm.env["KILN_ENDPOINT"])
        self.assertEqual(json_of(first)["source"], self.url, "or where it is named")

    def test_no_source_is_blamed_for_a_folder_that_is_not_there(self):
        done = self.farm.kiln("fetch", self.artifact, "--out", self.farm.home / "not there" / "out", "--endpoint", NOWHERE, "--mirror", self.url)
        self.assertEqual((done.returncode, done.stdout), (6, ""))
        self.assertEqual(done.stderr.count("No such file"), 1, done.stderr)
        self.assertNotIn("not from", done.stderr)

    def test_what_is_no_mirror_is_told_although_the_farm_serves(self):
        done, out = self.fetch(self.node("typo"), "frm", endpoint=self.farm.env["KILN_ENDPOINT"], code=2)
        self.assertIn("is no mirror", done.stdout)
        self.assertFalse(out.exists())

    def test_what_a_mirror_lacks_is_not_found_by_name(self):
        done, _ = self.fetch(self.node("lacks"), self.url, "http://127.0.0.1:1", artifact="sha256:" + "0" * 64, code=7)
        self.assertIn(self.url, done.stdout)
        self.assertIn("http://127.0.0.1:1", done.stdout)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_pulls_from_the_mirror(self):
        place = self.url.removeprefix("http://")
        out = self.farm.home / "pulled"
        done = subprocess.run(["skopeo", "--insecure-policy", "copy", "--src-tls-verify=false",
                               f"docker://{place}/default/artifacts@{self.artifact}", f"dir:{out}"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = (out / "manifest.json").read_bytes()
        self.assertEqual("sha256:" + hashlib.sha256(manifest).hexdigest(), self.artifact)
        for layer in json.loads(manifest)["layers"]:
            data = (out / layer["digest"].removeprefix("sha256:")).read_bytes()
            self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), layer["digest"])

    # --- its container images

    def skopeo(self, place, reference, out, code=0):
        done = subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", "--src-tls-verify=false",
                               f"docker://{place.removeprefix('http://')}/default/artifacts{reference}", f"dir:{out}"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def image(self):
        """The digest of the farm's image of the artifact, and the folder where skopeo left what the farm serves of it."""
        out = self.farm.home / "image-of-the-farm"
        if not out.exists():
            self.skopeo(self.farm.env["KILN_HTTP"], ":image-" + self.artifact.removeprefix("sha256:"), out)
        return "sha256:" + hashlib.sha256((out / "manifest.json").read_bytes()).hexdigest(), out

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_copies_the_image_by_digest_and_what_it_unpacks_to_verifies(self):
        image, original = self.image()
        out, mounted = self.farm.home / "image-of-the-mirror", self.farm.home / "mounted"
        self.skopeo(self.url, "@" + image, out)
        names = lambda folder: {file.name: file.read_bytes() for file in folder.iterdir()}
        self.assertEqual(names(out), names(original), "the bytes are the farm's")
        mounted.mkdir()
        layers = json.loads((out / "manifest.json").read_bytes())["layers"]
        for layer in layers:
            subprocess.run(["tar", "-x", "-f", out / layer["digest"].removeprefix("sha256:"), "-C", mounted], check=True)
        env = {name: value for name, value in self.farm.env.items() if name not in ("KILN_ENDPOINT", "KILN_HTTP")}
        verified = self.farm.kiln("verify", mounted / "models", "--image", image, env=env)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.assertIn(f"ok  image: these files make {image}", verified.stdout)
        tampered = mounted / "models/program.so"
        tampered.chmod(0o644)
        tampered.write_bytes(flipped(tampered.read_bytes()))
        self.assertEqual(self.farm.kiln("verify", mounted / "models", "--image", image, env=env).returncode, 5)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_a_blob_of_the_image_that_was_changed_on_the_mirrors_disk_is_refused(self):
        image, original = self.image()
        record = json.loads((self.mirror / "artifacts" / (self.artifact.removeprefix("sha256:") + ".json")).read_text())
        for kind, name in (("files", "the artifact's layer"), ("bundles", "the layer of the evidence")):
            with self.subTest(name):
                digest = max(record[kind], key=lambda blob: int(blob["size"]))["digest"].removeprefix("sha256:")
                mirror = self.farm.home / f"tampered-{kind}"
                shutil.copytree(self.mirror, mirror)
                blob = mirror / "blobs/blobs" / digest[:2] / digest
                blob.chmod(0o644)
                blob.write_bytes(flipped(blob.read_bytes()))
                url, server = self.serve(mirror)
                try:
                    out = self.farm.home / f"from-tampered-{kind}"
                    self.skopeo(url, "@" + image, out, code=1)
                    # What skopeo kept of it is the farm's, and not all of it is there.
                    kept = {file.name: file.read_bytes() for file in out.glob("*") if (original / file.name).exists()}
                    self.assertEqual(kept, {name: (original / name).read_bytes() for name in kept})
                    layers = json.loads((original / "manifest.json").read_bytes())["layers"]
                    self.assertLess(len(kept.keys() & {layer["digest"].removeprefix("sha256:") for layer in layers}), len(layers))
                finally:
                    self.end(server)
        self.skopeo(self.url, "@" + image, self.farm.home / "image-again")

    def test_health_and_metrics(self):
        self.assertEqual(get(self.url + "/healthz"), (200, b"ok\n"))
        held = json_of(self.kiln("mirror", "update", self.mirror, "--json"))["artifacts"]
        self.assertIn(b"kiln_mirror_artifacts %d\n" % held, get(self.url + "/metrics")[1])

    # --- a mirror that lies, is cut, is behind

    def test_bytes_that_are_others_are_refused_and_the_next_is_asked(self):
        def change(path, body):
            return flipped(body) if "/blobs/" in path else body
        with self.liar(change) as url:
            done, _ = self.fetch(self.node("flip"), url, self.url)
            self.assertEqual(json_of(done)["source"], self.url)
            self.assertIn(f"not from {url}", done.stderr)
            self.fetch(self.node("flip"), url, code=5)

    def test_a_cut_is_an_outage_and_the_next_is_asked(self):
        with self.liar(lambda path, body: None if "/blobs/" in path else body) as url:
            done, _ = self.fetch(self.node("cut"), url, self.url)
            self.assertEqual(json_of(done)["source"], self.url)
            self.assertIn(f"not from {url}", done.stderr)
            self.fetch(self.node("cut"), url, code=7)

    def test_an_older_log_than_seen_is_refused(self):
        home, old = self.node("old"), {}

        def remember(path, body):
            if path.startswith("/log/"):
                old[path] = body
            return body

        def replay(path, body):
            return old.get(path, b"") if path.startswith("/log/") else body
        with self.liar(remember) as url:
            self.fetch(home, url)
        built = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=3:3:3")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.kiln("mirror", "update", self.mirror)
        with self.liar(replay) as url:
            self.fetch(home, url)  # as new as what was seen
            self.fetch(home, self.url)
            done, _ = self.fetch(home, url, code=5)
            self.assertIn("it is behind, or was cut", done.stdout)
            done, _ = self.fetch(home, url, self.url)
            self.assertEqual(json_of(done)["source"], self.url)

    def test_old_tiles_under_a_new_checkpoint_are_refused(self):
        def change(path, body):
            return flipped(body) if path.startswith("/log/tile/0") else body
        with self.liar(change) as url:
            done, _ = self.fetch(self.node("tiles"), url, code=5)
            self.assertIn("do not lead to the checkpoint", done.stdout)

    # --- kills

    def test_a_killed_update_leaves_what_the_next_one_goes_on_from(self):
        chance = random.Random(SEED)
        home = self.farm.home / "killed"
        took = self.farm.home / "measured"
        began = time.monotonic()
        self.kiln("mirror", "update", took)
        whole = time.monotonic() - began
        killed = 0
        for _ in range(KILLS):
            update = subprocess.Popen(["kiln", "mirror", "update", home], env=self.farm.env, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, whole))
            update.send_signal(signal.SIGKILL)
            killed += update.wait() == -signal.SIGKILL
            # What a record names is whole, whenever the kill came.
            for record in (home / "artifacts").glob("*.json") if home.exists() else ():
                for blob in [*json.loads(record.read_text())["files"], *json.loads(record.read_text())["bundles"]]:
                    name = blob["digest"].removeprefix("sha256:")
                    data = (home / "blobs/blobs" / name[:2] / name).read_bytes()
                    self.assertEqual(hashlib.sha256(data).hexdigest(), name, f"seed {SEED}")
        self.assertGreater(killed, 0)
        done = json_of(self.kiln("mirror", "update", home, "--json"))
        self.assertEqual(done["artifacts"], json_of(self.kiln("mirror", "update", took, "--json"))["artifacts"], f"seed {SEED}")
        self.kiln("log", "verify", "--log", home / "log")
        url, server = self.serve(home)
        try:
            self.fetch(self.node("killed"), url)
        finally:
            self.end(server)


class FarmIsGoneTest(FarmCase):
    """The farm is killed, a recall reaches the mirror before."""

    def test_a_mirror_serves_on_without_its_farm_and_refuses_what_was_recalled(self):
        built = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        self.assertEqual(built.returncode, 0, built.stderr)
        bad = artifact_of(built)
        mirror, behind = self.farm.home / "mirror", self.farm.home / "behind"
        for place in (mirror, behind):
            self.kiln("mirror", "update", place)
        self.kiln("recall", "--artifact", bad, "--reason", "wrong weights", "--recalls", self.farm.home / "recalls.json")
        self.kiln("mirror", "update", mirror)
        self.farm.stop()
        places = [MirrorTest.serve.__func__(type(self), place) for place in (mirror, behind)]
        for _, server in places:
            self.addCleanup(MirrorTest.end, server)
        new, old = (url for url, _ in places)
        fetch = lambda name, artifact, *urls: self.farm.kiln(
            "fetch", artifact, "--out", self.farm.home / name, "--json", *[word for url in urls for word in ("--mirror", url)])
        served = fetch("served", self.artifact, new)
        self.assertEqual(served.returncode, 0, served.stderr)
        self.assertEqual(json_of(served)["source"], new)
        # The recall is known here by now, so that a mirror without it is behind; the one with it refuses the artifact.
        refused = fetch("refused", bad, old, new)
        self.assertIn(refused.returncode, (5, 8), refused.stderr)
        self.assertIn("wrong weights", refused.stdout)
        self.assertIn("it is behind", refused.stdout + refused.stderr)
        self.assertFalse((self.farm.home / "refused").exists())
        self.assertEqual(get(f"{new}/v2/default/artifacts/manifests/{bad}")[0], 403)


if __name__ == "__main__":
    unittest.main()
