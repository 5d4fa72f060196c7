#!/usr/bin/env python3
"""Remote Execution clusters that others wrote as executors of a farm: Buildbarn and buildbox-casd build what the farm's own worker
builds, byte for byte, and agree with it; what they alone built is refused unless a policy says otherwise. One that lacks the platform, and one that
dies, are named.

usage: reapi_cluster_test.py [-v] [--light]
  (default)  the sample models
  --light    also the light networks of the ONNX backend data, as of tests/models/light.py
Exit 77 if an engine, or with --light the data, cannot be had.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import buildbarn
from casd import Casd
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import MODELS, ROOT, TARGET, Farm, artifact_of, wait_for  # noqa: E402
from networks import Skipped, networks  # noqa: E402

LIGHT = "--light" in sys.argv
if LIGHT:
    sys.argv.remove("--light")
LIMIT = 1800  # seconds for one network
BIN = ROOT / "build/release/bin"
lacking = None


class ClusterWorker:
    """A worker that offers a cluster, with a certificate of an operator of its own."""

    def __init__(self, farm, name, executor):
        prefix = farm.dir / "keys/workers" / name
        subprocess.run([BIN / "kiln-signer", "make-worker-certificate", "--ca", farm.dir / "keys", "--name", name, "--operator", name,
                        "--out", prefix], check=True, capture_output=True)
        self.log = farm.home / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [BIN / "kiln-worker", "--executor", executor, "--coordinator", farm.env["KILN_ENDPOINT"], "--certificate",
                 f"{prefix}.pem", "--key", f"{prefix}.key", "--slots", "2"], stderr=log)

    def sent(self):
        """How many actions went to the cluster."""
        return self.log.read_text(errors="replace").count("action goes to the cluster")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Clusters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global lacking
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-clusters-", dir="/tmp"))
        cls.home.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        try:
            cls.networks = networks(cls.home, None, (), LIGHT, os.environ.get("KILN_ONNX_SUITE"))
            barn = cls.barn = buildbarn.Buildbarn(cls.home / "buildbarn", buildbarn.programs())
            cls.addClassCleanup(barn.kill)
            casd = Casd(cls.home / "casd")
            cls.addClassCleanup(casd.kill)
        except (Skip, Skipped) as missing:
            lacking = missing
            raise unittest.SkipTest(str(missing))
        executors = {"buildbarn": f"reapi={barn.address},platform={buildbarn.PLATFORM}", "casd": f"reapi={casd.address}"}
        cls.farm = Farm(workers=1, start=False)
        cls.addClassCleanup(cls.farm.close)
        cls.farm.dir.mkdir(mode=0o700)
        (cls.farm.dir / "clusters").write_text("".join(f"{cls.sandbox(executor)}\n" for executor in executors.values()))
        # Every artifact: three that agree, of three operators, one of them in our sandbox.
        cls.policy = json.loads((ROOT / "signing/policy/development.json").read_text()) | {"minBuilders": 3, "minOperators": 3,
                                                                                           "minOwnSandbox": 1}
        (cls.farm.dir / "policy.json").write_text(json.dumps(cls.policy))
        first = cls.farm.up("--no-sample")
        assert first.returncode == 0, first.stdout + first.stderr
        cls.farm.env = cls.farm.environment()
        cls.workers = {name: ClusterWorker(cls.farm, name, executor) for name, executor in executors.items()}
        for worker in cls.workers.values():
            cls.addClassCleanup(worker.kill)

    @staticmethod
    def sandbox(executor):
        """The digest of the document that receipts of such a worker name."""
        said = subprocess.run([BIN / "kiln-worker", "doctor", "--executor", executor], check=True, capture_output=True, text=True)
        return said.stdout.splitlines()[0]

    def verify(self, artifact, **rules):
        """Under the farm's policy with other rules; the files are fetched under one that any artifact passes."""
        policies = {"any": {"minBuilders": 1, "minOperators": 1, "minOwnSandbox": 0}, "asked": rules}
        for name, changed in policies.items():
            policies[name] = self.farm.home / f"{name}.json"
            policies[name].write_text(json.dumps(self.policy | changed))
        out = self.farm.home / f"artifact-{artifact[-8:]}"
        if not out.exists():
            done = self.farm.kiln("fetch", artifact, "--out", out, env=self.farm.env | {"KILN_POLICY": str(policies["any"])})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.farm.kiln("verify", out, "--policy", policies["asked"])

    def test_1_clusters_and_the_own_worker_agree(self):
        for name, model, options in self.networks:
            with self.subTest(name):
                began = time.monotonic()
                built = self.farm.kiln("build", model, *options, "--target", TARGET, "--builders", "3", timeout=LIMIT)
                self.assertEqual(built.returncode, 0, built.stdout[-1000:] + built.stderr[-2000:])
                artifact = artifact_of(built)
                print(f"{name}: {artifact} by three within {time.monotonic() - began:.1f} s", flush=True)
                passed = self.verify(artifact)
                self.assertEqual(passed.returncode, 0, passed.stdout + passed.stderr)
                strict = self.verify(artifact, minOwnSandbox=2)
                self.assertEqual(strict.returncode, 5, strict.stdout)
                self.assertIn("minOwnSandbox", strict.stderr)
        for name, worker in self.workers.items():
            self.assertGreaterEqual(worker.sent(), len(self.networks), name)

    def test_2_what_clusters_alone_built_is_no_evidence_by_itself(self):
        _, model, options = self.networks[0]
        # It may be given a lease that it does not take; that is lost soon.
        self.farm.kill("worker-1", signal.SIGSTOP)
        try:
            built = self.farm.kiln("build", model, *options, "--target", "cpu:x86-64-v4", "--builders", "2", timeout=LIMIT)
        finally:
            self.farm.kill("worker-1", signal.SIGCONT)
        # It is published, and the client does not take it: its policy says nothing of clusters, so it wants one of Kiln's sandboxes.
        self.assertEqual(built.returncode, 5, built.stdout[-1000:] + built.stderr[-2000:])
        self.assertIn("policy minOwnSandbox: 0 of 1", built.stderr)
        artifact = re.search("artifact (sha256:[0-9a-f]{64})", built.stderr)[1]
        refused = self.verify(artifact, minBuilders=2, minOperators=2)
        self.assertEqual(refused.returncode, 5, refused.stdout)
        self.assertIn("minOwnSandbox", refused.stderr)
        passed = self.verify(artifact, minBuilders=2, minOperators=2, minOwnSandbox=0)
        self.assertEqual(passed.returncode, 0, passed.stdout + passed.stderr)

    def another(self, batches):
        """What nobody has built yet."""
        return MODELS / "digits_mlp.onnx", "--profile", f"N=1:8:{batches}", "--target", TARGET

    def test_3_a_platform_that_nobody_has_is_named(self):
        nowhere = ClusterWorker(self.farm, "nowhere", f"reapi={self.barn.address},platform=OSFamily=plan9,queue-seconds=5")
        try:
            wait_for(lambda: "nowhere" in self.farm.kiln("workers").stdout, 60, "the worker is known")
            # Four that differ: one of them is that one.
            built = self.farm.kiln("build", *self.another(16), "--builders", "4", timeout=LIMIT)
        finally:
            nowhere.kill()
        self.assertNotEqual(built.returncode, 0, built.stdout)
        self.assertRegex(built.stderr, "No workers exist|no free worker of this platform")
        self.assertIn("worker nowhere", built.stderr)

    def test_4_a_cluster_that_dies_in_the_middle_is_done_without(self):
        worker, other = self.workers["buildbarn"], self.workers["casd"].process
        sent = worker.sent()
        self.barn.processes["worker"].send_signal(signal.SIGSTOP)
        other.send_signal(signal.SIGSTOP)
        model, *options = self.another(32)
        build = subprocess.Popen(["kiln", "build", model, *options, "--builders", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=self.farm.env, cwd=self.farm.home)
        try:
            wait_for(lambda: worker.sent() > sent, 120, "an action is in the cluster")
        finally:
            self.barn.kill()
            other.send_signal(signal.SIGCONT)
        out, err = build.communicate(timeout=LIMIT)
        self.assertEqual(build.returncode, 0, out[-1000:] + err[-2000:])
        self.assertIn(self.barn.address, worker.log.read_text(errors="replace"))
        passed = self.verify(re.search("^artifact (sha256:[0-9a-f]{64})$", out, re.M)[1], minBuilders=2, minOperators=2)
        self.assertEqual(passed.returncode, 0, passed.stdout + passed.stderr)


if __name__ == "__main__":
    program = unittest.main(exit=False, warnings="ignore")
    sys.exit(77 if lacking and program.result.wasSuccessful() else not program.result.wasSuccessful())
