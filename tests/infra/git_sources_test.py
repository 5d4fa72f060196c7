#!/usr/bin/env python3
"""Models and weights that a farm fetches from commits, Git LFS objects among them, over TLS: built, recorded, refused."""
import hashlib
import json
import subprocess
import sys
import unittest

from farm import MODELS, ROOT, FarmCase, artifact_of, json_of, wait_for

BIN = ROOT / "build/release/bin"
NETS = {"nets/affine.mlir": MODELS / "affine.mlir", "nets/model.safetensors": MODELS / "affine.safetensors"}


def git(directory, *arguments):
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(["git", "-C", directory, *settings, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def large_object(repository, content):
    oid = hashlib.sha256(content).hexdigest()
    return repository / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid


def commit_large(repository):
    """A commit with pointers; what they stand for lies where git-lfs keeps it."""
    (repository / "nets").mkdir(parents=True)
    git(repository.parent, "init", "-q", "-b", "main", repository)
    for name, source in NETS.items():
        content = source.read_bytes()
        kept = large_object(repository, content)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
        (repository / name).write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{kept.name}\nsize {len(content)}\n")
    (repository / "onnx").mkdir()
    (repository / "onnx/digits.onnx").write_bytes((MODELS / "digits_mlp.onnx").read_bytes())
    (repository / "links/onnx").mkdir(parents=True)
    (repository / "links/m.mlir").symlink_to("../nets/affine.mlir")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "A model")
    return git(repository, "rev-parse", "HEAD")


class GitSourcesTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home, cls.started = cls.farm.home, []
        cls.addClassCleanup(cls.end)
        cls.repository = home / "served/work"
        cls.commit = commit_large(cls.repository)
        port = cls.serve("tests/support/git_http_server.py", home / "served", home / "git-port", file=home / "git-port")
        front = home / "front"
        front.mkdir()
        cls.port = cls.serve("tests/worker/tls_front.py", front, f"127.0.0.1:{port}", file=front / "port")
        cls.url = f"https://localhost:{cls.port}/work/.git"
        prefix = cls.farm.dir / "keys/workers/fetches"
        subprocess.run([BIN / "kiln-signer", "make-worker-certificate", "--ca", cls.farm.dir / "keys", "--name", "fetches", "--operator",
                        "development", "--out", prefix], check=True, capture_output=True)
        cls.started.append(subprocess.Popen(
            [BIN / "kiln-worker", "--coordinator", cls.farm.env["KILN_ENDPOINT"], "--certificate", f"{prefix}.pem", "--key",
             f"{prefix}.key", "--state", home / "fetching", "--fetch-hosts", f"localhost:{cls.port}", "--fetch-ca-file", front / "ca.pem"],
            stderr=open(home / "fetches.log", "wb")))
        wait_for(lambda: "fetches" in cls.farm.kiln("workers").stdout, 60, "the worker that fetches")

    @classmethod
    def serve(cls, program, *arguments, file):
        """Starts a server, which ends with its input; the port that it writes to a file."""
        cls.started.append(subprocess.Popen([sys.executable, ROOT / program, *arguments], stdin=subprocess.PIPE))
        wait_for(lambda: file.exists() and file.read_text(), 60, program)
        return file.read_text()

    @classmethod
    def end(cls):
        for process in reversed(cls.started):
            if process.stdin:
                process.stdin.close()
            else:
                process.terminate()
            process.wait(timeout=60)

    def of(self, path, url=None):
        return f"git+{url or self.url}@{self.commit}#{path}"

    def test_models_and_weights_that_git_lfs_keeps_are_fetched_and_recorded(self):
        model, weights = (self.of(name) for name in NETS)
        built = self.kiln("build", model, "--params", weights, "--target", "cpu:x86-64-v3")
        artifact = artifact_of(built)
        # The same bytes from files are the same artifact.
        files = self.kiln("build", MODELS / "affine.mlir", "--params", MODELS / "affine.safetensors", "--target", "cpu:x86-64-v3")
        self.assertEqual(artifact_of(files), artifact)
        local = f"file://{self.repository}".replace(" ", "%20")
        here = self.kiln("build", self.of("nets/affine.mlir", local), "--params", self.of("nets/model.safetensors", local), "--target",
                         "cpu:x86-64-v3")
        self.assertEqual(artifact_of(here), artifact)
        said = json.dumps(json_of(self.kiln("provenance", artifact, "--json")))
        for name, source in NETS.items():
            self.assertIn(self.of(name), said)
            self.assertIn(hashlib.sha256(source.read_bytes()).hexdigest(), said)

    def test_the_model_of_a_folder_is_what_the_same_folder_on_disk_gives(self):
        folder = self.farm.home / "checked-out"
        folder.mkdir()
        for name, source in NETS.items():
            (folder / name.split("/")[1]).write_bytes(source.read_bytes())
        artifact = artifact_of(self.kiln("build", folder, "--target", "cpu:x86-64-v3"))
        self.assertEqual(artifact_of(self.kiln("build", self.of("nets"), "--target", "cpu:x86-64-v3")), artifact)
        local = f"file://{self.repository}".replace(" ", "%20")
        here = self.kiln("build", self.of("nets", local), "--target", "cpu:x86-64-v3")
        self.assertEqual(artifact_of(here), artifact)
        self.assertIn("model nets/affine.mlir: StableHLO, 1 file beside it", here.stderr)
        said = json.dumps(json_of(self.kiln("provenance", artifact, "--json")))
        for name in NETS:
            self.assertIn(self.of(name), said)

    def test_the_whole_commit_is_a_folder_too(self):
        artifact = artifact_of(self.kiln("build", MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1", "--target", "cpu:x86-64-v3"))
        for url in (None, f"file://{self.repository}".replace(" ", "%20")):
            self.assertEqual(artifact_of(self.kiln("build", self.of(".", url), "--profile", "N=1:1:1", "--target", "cpu:x86-64-v3")), artifact)

    def test_links_in_a_folder_and_folders_of_weights_are_named(self):
        for url in (None, f"file://{self.repository}".replace(" ", "%20")):
            error = self.kiln("build", self.of("links", url), "--target", "cpu:x86-64-v3", code=2).stderr
            self.assertIn("'links/m.mlir' in the repository is a symbolic link", error)
            error = self.kiln("build", self.of("nets/affine.mlir", url), "--params", self.of("nets", url), "--target", "cpu:x86-64-v3",
                              code=2).stderr
            self.assertIn("folder of the commit; name its files", error)

    def test_an_object_that_is_not_there_or_not_its_hash_is_named(self):
        kept = large_object(self.repository, (MODELS / "affine.mlir").read_bytes())
        content = kept.read_bytes()
        self.addCleanup(kept.write_bytes, content)
        for wrong in (b"#" + content[1:], content[:-1]):
            kept.write_bytes(wrong)
            error = self.kiln("build", self.of("nets/affine.mlir"), "--target", "cpu:x86-64-v3", code=5).stderr
            self.assertIn(f"'nets/affine.mlir' (Git LFS object sha256:{kept.name})", error)

    def test_hosts_that_are_not_on_the_list_are_refused(self):
        error = self.kiln("build", self.of("nets/affine.mlir", "https://127.0.0.1:1/work/.git"), "--target", "cpu:x86-64-v3", code=8).stderr
        self.assertIn("allow-list", error)


if __name__ == "__main__":
    sys.argv[0] = __file__
    unittest.main()
