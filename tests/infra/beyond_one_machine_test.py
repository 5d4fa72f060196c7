#!/usr/bin/env python3
"""A farm beyond one machine, all of it on loopback: two coordinators, a pair of PostgreSQL servers under Patroni, a bucket on an S3
server, three workers, and a mirror. Networks are built through it while one of each is killed. Then every artifact is the one that a
farm of one machine builds, the audit is clean, and the mirror serves all of them when the farm is gone.

usage: beyond_one_machine_test.py [--light]
  (default)  the sample models and two blocks
  --light    also the light networks of the ONNX backend data, as of tests/models/light.py
Exit 77 where Patroni, etcd, the S3 server or, with --light, the data cannot be had.
"""
import os
import pathlib
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from farm import ROOT, TARGET, Farm, artifact_of, json_of, wait_for
from load import Load, restarted
from networks import Skipped, networks

sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/interop")]
import bucket  # noqa: E402
import fetched  # noqa: E402
import patroni  # noqa: E402

LIGHT = "--light" in sys.argv
if LIGHT:
    sys.argv.remove("--light")
BLOCKS = ("transformer_block", "mobile")
LIMIT = 1800  # seconds for one network
NOWHERE = "unix:/tmp/no-farm-listens-here.sock"
lacking = None


class Mirror:
    """`kiln mirror update` again and again, and `kiln mirror serve`, of one directory."""

    def __init__(self, farm):
        self.farm, self.home, self.ports = farm, farm.home / "mirror", farm.home / "mirror.port"
        self.ending, self.updates, self.running, self.server = threading.Event(), 0, None, None
        self.update()
        self.thread = threading.Thread(target=self.update_for_ever)
        self.thread.start()
        self.serve()

    def update(self):
        self.running = subprocess.Popen(["kiln", "mirror", "update", self.home], env=self.farm.env | {"KILN_WAIT": "3m"},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = self.running.communicate()[1]
        self.updates += self.running.returncode == 0
        return self.running.returncode, said

    def update_for_ever(self):
        while not self.ending.wait(2):
            self.update()

    def serve(self):
        self.ports.unlink(missing_ok=True)
        self.server = subprocess.Popen(["kiln", "mirror", "serve", self.home, "--http", "127.0.0.1:0", "--http-port-file", self.ports],
                                       env=self.farm.env, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.ports.exists() and self.ports.read_text().strip(), 60, "the mirror listens")
        self.url = f"http://127.0.0.1:{self.ports.read_text().strip()}"

    def kill(self):
        for process in (self.running, self.server):
            process.kill()
        self.server.wait()

    def end(self):
        self.ending.set()
        while self.thread.is_alive():
            self.running.kill()  # it may wait for a farm that is gone
            self.thread.join(0.2)
        self.server.kill()
        self.server.wait()


class Builders:
    """Builds each of the networks once, two at a time."""

    def __init__(self, farm, wanted):
        self.farm, self.artifacts, self.failures, self.waiting = farm, {}, [], queue.SimpleQueue()
        for one in wanted:
            self.waiting.put(one)
        self.threads = [threading.Thread(target=self.build_all) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def build_all(self):
        while True:
            try:
                name, model, options = self.waiting.get_nowait()
            except queue.Empty:
                return
            endpoints = self.farm.env["KILN_ENDPOINT"].split(",")
            random.shuffle(endpoints)
            built = self.farm.kiln("build", model, *options, "--target", TARGET, timeout=LIMIT,
                                   env=self.farm.env | {"KILN_ENDPOINT": ",".join(endpoints), "KILN_WAIT": "5m"})
            if built.returncode == 0:
                self.artifacts[name] = artifact_of(built)
            else:
                self.failures.append(f"{name}: exit {built.returncode}\n{built.stdout[-500:]}{built.stderr[-1500:]}")

    def join(self):
        for thread in self.threads:
            thread.join()


class BeyondOneMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global lacking
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-beyond-", dir="/tmp"))
        cls.home.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.pair = patroni.Pair(cls.home / "pair")
        cls.addClassCleanup(cls.pair.down)
        try:
            cls.networks = networks(cls.home, None, BLOCKS, LIGHT, os.environ.get("KILN_ONNX_SUITE"))
            cls.bucket = bucket.Server(cls.home, "versitygw")  # whose objects outlive it
            cls.addClassCleanup(cls.bucket.kill)
            cls.pair.up()
        except (patroni.Missing, fetched.Skip, Skipped) as missing:
            lacking = missing
            raise unittest.SkipTest(str(missing))
        alone = Farm(workers=1, options=("--no-sample",))
        try:
            one = Builders(alone, cls.networks)
            one.join()
        finally:
            alone.close()
        assert not one.failures, "\n".join(one.failures)
        cls.expected = one.artifacts
        os.environ.update(bucket.KEYS)
        cls.farm = Farm(workers=3, options=("--no-sample", "--coordinators", "2", "--database", cls.pair.conninfo(), "--store",
                                            cls.bucket.store("farm")))
        for name in bucket.KEYS:
            del os.environ[name]
        cls.addClassCleanup(cls.farm.close)

    def kill_supervised(self, name):
        before = self.farm.pid(name)
        self.farm.kill(name)
        wait_for(lambda: restarted(self.farm, name, before), 60, f"{name} is started again")

    def kill_bucket(self):
        self.bucket.kill()
        time.sleep(3)  # while calls fail
        self.bucket.start()

    def kill_primary(self):
        before = self.pair.kill()
        wait_for(lambda: self.pair.primary() not in (None, before), 120, "the standby takes over")
        self.pair.start()
        self.pair.wait_for_standby()

    def kill_mirror(self):
        self.mirror.kill()
        self.mirror.serve()

    def test_one_of_each_is_killed(self):
        kills = {"coordinator": lambda: self.kill_supervised("coordinator-2"), "worker": lambda: self.kill_supervised("worker-2"),
                 "S3 server": self.kill_bucket, "PostgreSQL's primary": self.kill_primary, "mirror": self.kill_mirror}
        self.mirror = Mirror(self.farm)
        self.addCleanup(self.mirror.end)
        with Load(self.farm, threads=1, seed=5) as load:
            wait_for(lambda: load.artifacts and load.acknowledged, 240, "first artifacts")
            builders = Builders(self.farm, self.networks)
            for what, kill in kills.items():
                so_far = len(load.artifacts)
                began = time.monotonic()
                kill()
                wait_for(lambda: len(load.artifacts) > so_far + 1 or load.failures, 300, f"builds go on after the death of the {what}")
                print(f"killed: {what}; two more builds within {time.monotonic() - began:.1f} s, "
                      f"{len(builders.artifacts)} of {len(self.networks)} networks built", flush=True)
            builders.join()
        self.assertEqual(builders.failures, [])
        load.check(self)
        print("builds: {}; calls: median {:.2f} s, 99 of 100 {:.2f} s, longest {:.2f} s".format(
            len(load.acknowledged) + len(load.artifacts) + len(self.networks), *load.gap()), flush=True)
        self.assertEqual(builders.artifacts, self.expected)
        self.assertEqual(self.mirror.update()[0], 0)
        self.assertGreater(self.mirror.updates, 1)
        self.farm.stop()
        (self.farm.home / "from the mirror").mkdir()
        for name, artifact in builders.artifacts.items():
            out = self.farm.home / "from the mirror" / name
            served = self.farm.kiln("fetch", artifact, "--out", out, "--endpoint", NOWHERE, "--mirror", self.mirror.url, "--json")
            self.assertEqual(served.returncode, 0, served.stdout + served.stderr)
            self.assertEqual(json_of(served)["source"], self.mirror.url)
            self.assertEqual(self.farm.kiln("verify", out).returncode, 0)


if __name__ == "__main__":
    program = unittest.main(exit=False, warnings="ignore")
    sys.exit(77 if lacking and program.result.wasSuccessful() else not program.result.wasSuccessful())
