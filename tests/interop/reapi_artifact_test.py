#!/usr/bin/env python3
"""kiln_artifact of infra/ci/bazel, as its README says it, by Debian's Bazel: at a farm of infra/up --reapi, and at Buildbarn. Both give
the program of the farm's own compile.

usage: reapi_artifact_test.py [-v]     Exit 77 if Bazel or Buildbarn cannot be had.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from bazel import Bazel, want_bazel
from buildbarn import PLATFORM, Buildbarn, free_ports, programs
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import MODELS, ROOT, Farm, json_of  # noqa: E402

RULE = ROOT / "infra/ci/bazel"
TOOLCHAIN = ROOT / "build/release/toolchain-tree"
NO_TOOLCHAIN = {"digest": f"sha256:{'0' * 64}", "size": "0"}
OF_EVERY_COMPILE = ("program.so", "manifest.json", "evidence.json")


def readme():
    """What the README shows: the texts of WORKSPACE and BUILD, and the command's words after `bazel build`."""
    text = (RULE / "README.md").read_text()
    workspace, build = re.findall(r"```python\n(.*?)```", text, re.S)
    command, = re.findall(r"```sh\nbazel build (.*?)\n```", text, re.S)
    return workspace.replace("/path/to/kiln/infra/ci/bazel", str(RULE)), build, command.split()


class ReapiArtifactTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = free_ports(1)[0]
        cls.farm = Farm(workers=2, options=("--no-sample", "--reapi", str(port)))
        cls.addClassCleanup(cls.farm.close)
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-buildbarn-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.bazel = Bazel()
        cls.addClassCleanup(cls.bazel.close)
        workspace, build, cls.command = readme()
        (cls.bazel.project / "WORKSPACE").write_text(workspace)
        (cls.bazel.project / "BUILD").write_text(build)
        shutil.copy(MODELS / "digits_cnn.onnx", cls.bazel.project)
        shutil.copytree(TOOLCHAIN, cls.bazel.project / "toolchain")
        cls.targets = re.findall(r'"(cpu:[^"]*)"', build)
        cls.port = port

    def built(self, address, *options):
        """The folders that Bazel brings, by target. Nothing is taken from a cache."""
        words = [word.replace("127.0.0.1:8980", address) for word in self.command]
        self.bazel.clean()
        said = self.bazel.build("--noremote_accept_cached", *words, *options)
        self.assertRegex(said, r"\b4 remote[,.]")
        return {target: self.bazel.project / "bazel-bin/digits" / target.replace(":", "-") for target in self.targets}

    def published(self):
        """The same from a job of the farm, fetched."""
        if not hasattr(type(self), "fetched"):
            job = self.farm.kiln("build", MODELS / "digits_cnn.onnx", *(word for one in self.targets for word in ("--target", one)))
            self.assertEqual(job.returncode, 0, job.stderr)
            type(self).fetched = {}
            for artifact in re.findall(r"^artifact (sha256:[0-9a-f]{64})$", job.stdout, re.M):
                out = self.farm.home / artifact[7:19]
                self.assertEqual(self.farm.kiln("fetch", artifact, "--out", out).returncode, 0)
                self.fetched[json.loads((out / "manifest.json").read_text())["spec"]["target"]["name"]] = out
        return self.fetched

    def agree(self, built):
        self.assertEqual(len(self.targets), 2)
        self.assertEqual(sorted(self.published()), sorted(self.targets))
        for target, ours in self.published().items():
            theirs = built[target]
            for name in OF_EVERY_COMPILE:
                self.assertTrue((theirs / name).is_file(), name)
            for part in [ours / "program.so", *(ours / "weights").iterdir()]:
                path = part.relative_to(ours)
                self.assertEqual((theirs / path).read_bytes(), part.read_bytes(), f"{target}: {path}")
            manifest, other = (json.loads((folder / "manifest.json").read_text()) for folder in (ours, theirs))
            self.assertEqual(other["spec"].pop("toolchain"), NO_TOOLCHAIN)
            self.assertNotEqual(manifest["spec"].pop("toolchain"), NO_TOOLCHAIN)
            self.assertEqual(other, manifest, target)
            spec = json.loads(theirs.with_name(f"{theirs.name}.spec.json").read_text())
            self.assertEqual(spec, {**other["spec"], "toolchain": NO_TOOLCHAIN})

    def test_a_farm_builds_it(self):
        before = len(json_of(self.farm.kiln("jobs", "--json"))["jobs"])
        self.agree(self.built(f"127.0.0.1:{self.port}"))
        self.assertGreaterEqual(len(json_of(self.farm.kiln("jobs", "--json"))["jobs"]), before + 4)

    def test_another_cluster_builds_it(self):
        cluster = Buildbarn(self.home, programs())
        try:
            self.agree(self.built(cluster.address, f"--remote_default_exec_properties={PLATFORM}"))
        finally:
            cluster.kill()


if __name__ == "__main__":
    try:
        want_bazel()
        programs()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
