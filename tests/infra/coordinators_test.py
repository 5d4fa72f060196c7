#!/usr/bin/env python3
"""Several coordinators on one database and one store, any of which may end at any time.

usage: coordinators_test.py [Two | Three]...    Two takes half a minute, Three some minutes.
"""
import sys
import time
import unittest

from farm import MODELS, Farm, artifact_of, json_of, wait_for
from load import Load, kill_at_random, leases_of, serving


class Coordinators:
    COUNT = 2

    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=2, options=("--no-sample", "--coordinators", str(cls.COUNT)))
        cls.endpoints = cls.farm.env["KILN_ENDPOINT"].split(",")
        cls.names = ["coordinator", *(f"coordinator-{n}" for n in range(2, cls.COUNT + 1))]

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def killed(self, times, seed, threads):
        with Load(self.farm, threads=threads, seed=seed) as load:
            wait_for(lambda: load.artifacts, 120, "a first artifact")
            kill_at_random(self.farm, self.names, times, load, seed)
            so_far = len(load.artifacts)
            wait_for(lambda: len(load.artifacts) > so_far or load.failures, 120, "builds go on")
        load.check(self)
        print("builds: {}; calls: median {:.2f} s, 99 of 100 {:.2f} s, longest {:.2f} s; leases given: {}".format(
            len(load.acknowledged) + len(load.artifacts), *load.gap(), leases_of(self.farm, self.names)), flush=True)


class Two(Coordinators, unittest.TestCase):
    def test_1_each_serves_the_same(self):
        self.assertEqual(len(self.endpoints), 2)
        built = self.farm.build(MODELS / "digits_cnn.onnx", "--endpoint", self.endpoints[0])
        self.assertEqual(built.returncode, 0, built.stderr)
        again = self.farm.build(MODELS / "digits_cnn.onnx", "--endpoint", self.endpoints[1])
        self.assertEqual(artifact_of(again), artifact_of(built))
        self.assertIn("built before", again.stderr)
        looked = [json_of(self.farm.kiln("jobs", "--json", "--endpoint", one))["jobs"] for one in self.endpoints]
        self.assertEqual(looked[0], looked[1])

    def test_2_one_that_is_away_is_named(self):
        names = [check["detail"] for check in json_of(self.farm.kiln("doctor", "--json"))["checks"] if check["name"] == "coordinator"]
        self.assertEqual(names, self.endpoints)
        self.farm.kill("coordinator")
        said = self.farm.kiln("jobs", "--wait", "0s")  # before it is back, or after
        self.assertEqual(said.returncode, 0, said.stderr)
        if said.stderr:
            self.assertIn(f"{self.endpoints[0]} does not answer; the one at {self.endpoints[1]} does", said.stderr)
        wait_for(lambda: serving(self.farm, self.endpoints[0]), 60, "it is back")

    def test_3_killed_while_it_works(self):
        self.killed(times=2, seed=1, threads=2)


class Three(Coordinators, unittest.TestCase):
    COUNT = 3

    def test_killed_at_random(self):
        seed = int(time.time())
        print(f"seed {seed}", flush=True)
        self.killed(times=18, seed=seed, threads=4)  # the supervisor gives up what ends ten times in ten minutes

    def test_what_is_built_is_what_one_builds(self):
        alone = Farm(workers=1, options=("--no-sample",))
        self.addCleanup(alone.close)
        for network in ("digits_cnn.onnx", "digits_mlp.onnx"):
            options = ("--profile", "N=1:8:64") if "mlp" in network else ()
            self.assertEqual(artifact_of(self.farm.build(MODELS / network, *options)),
                             artifact_of(alone.build(MODELS / network, *options)), network)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("Two")
    unittest.main(verbosity=2)
