#!/usr/bin/env python3
"""Devices for real: a farm on a machine with a Vulkan driver (Mesa's lavapipe) builds for it, checks on it, tells policies what that
was worth, and tunes on it. Without a driver all of this is skipped in words."""
import array
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from farm import MODELS, ROOT, FarmCase, artifact_of, json_of, wait_for
from load import restarted, serving

CPU, VULKAN = "cpu:x86-64-v3", "vulkan:1.3"
CNN = MODELS / "digits_cnn.onnx"
WORKER = ROOT / "build/release/bin/kiln-worker"
# A Vulkan loader in front of the real one that does as KILN_EMULATED_VULKAN_FAULT says (tests/compiler_core/runtime/vulkan).
FAULTY = pathlib.Path(os.environ.get("KILN_FAULTY_VULKAN", ROOT / "build/release/tests/compiler_core/runtime/libkiln-faulty-vulkan.so"))


def devices():
    """What a worker finds here; a program of its own says so, whatever its driver does."""
    if not WORKER.exists():
        return [], "no " + str(WORKER)
    found = json.loads(subprocess.run([WORKER, "devices", "--json"], capture_output=True, text=True, check=True).stdout)
    return [device for device in found["devices"] if VULKAN in device["runs"]], found.get("missing", "")


class VulkanTest(FarmCase):
    WORKERS = 2
    BUILD = (CNN,)

    @classmethod
    def setUpClass(cls):
        found, missing = devices()
        if not found:
            raise unittest.SkipTest("no Vulkan device here: " + missing)
        cls.device = found[0]
        super().setUpClass()
        cls.give_the_second_worker_to_another_operator()
        cls.built = cls.farm.kiln("build", CNN, "--target", CPU, "--target", VULKAN, "--check", "--builders", "2", "--operators", "2", "--json")

    @classmethod
    def replaced(cls, name):
        """Ends one of the farm's processes; its supervisor starts it again, with what it reads at its start."""
        before = cls.farm.pid(name)
        cls.farm.kill(name, 15)
        wait_for(lambda: restarted(cls.farm, name, before), 60, f"{name} is another process")
        wait_for(lambda: serving(cls.farm, cls.farm.env["KILN_ENDPOINT"]), 120, f"the coordinator serves: see {cls.farm.dir}/logs")

    @classmethod
    def give_the_second_worker_to_another_operator(cls):
        """A production policy wants two that agree. The coordinator forgets who was connected, so it starts anew as well."""
        keys = cls.farm.dir / "keys"
        for end in ("key", "pem"):
            (keys / f"workers/worker-2.{end}").unlink()
        subprocess.run([WORKER.with_name("kiln-signer"), "make-worker-certificate", "--ca", keys, "--name", "worker-2",
                        "--operator", "second", "--out", keys / "workers/worker-2"], check=True, capture_output=True)
        cls.replaced("worker-2")

        def operators():
            answer = cls.farm.kiln("workers", "--json")
            found = json_of(answer)["workers"] if answer.returncode == 0 else []
            return {worker["operator"] for worker in found if worker["state"] == "live"} == {"development", "second"}

        wait_for(operators, 60, "workers of two operators")

    def artifacts(self):
        self.assertEqual(self.built.returncode, 0, self.built.stdout + self.built.stderr)
        return {artifact["target"]: artifact["digest"] for artifact in json_of(self.built)["artifacts"]}

    def gpu(self):
        worker = json_of(self.kiln("workers", "--json"))["workers"][0]
        return next(device for device in worker["devices"] if VULKAN in device["runs"])

    def test_workers_and_doctor_show_the_device_and_its_driver(self):
        gpu = self.gpu()
        self.assertEqual((gpu["api"], gpu["state"], gpu["emulated"]), ("vulkan", "healthy", False))
        for member in ("name", "driver", "apiVersion", "conformance", "type"):
            self.assertEqual(gpu[member], self.device[member])
        self.assertIn(gpu["driver"], self.kiln("workers").stdout)
        doctor = self.farm.kiln("doctor").stdout
        self.assertIn("vulkan devices: device 0: ", doctor)
        self.assertIn(gpu["conformance"], doctor)
        self.assertNotIn("uuid", json.dumps(gpu), "it stays on its machine")

    def test_both_artifacts_are_checked_on_the_devices_they_are_for(self):
        for target, digest in self.artifacts().items():
            report = json_of(self.kiln("show", digest, "--json"))["checks"][-1]["report"]
            self.assertTrue(report["passed"], report)
            self.assertNotIn("emulated", report["device"])
            self.assertEqual("gpu" in report["device"], target == VULKAN)
        said = report_of = json_of(self.kiln("show", self.artifacts()[VULKAN], "--json"))["checks"][-1]["report"]["device"]["gpu"]
        self.assertEqual(said, {name: self.gpu()[name] for name in ("name", "api", "apiVersion", "driver", "conformance", "type")})
        shown = self.kiln("show", self.artifacts()[VULKAN]).stdout
        self.assertIn(f"Vulkan {report_of['apiVersion']} by {report_of['driver']} ({report_of['type']})", shown)
        found = json_of(self.kiln("affected", "--device", said["driver"], "--json"))["affected"]
        self.assertIn(self.artifacts()[VULKAN], [entry["artifact"] for entry in found])

    def judged(self, name, code, **rules):
        policy = json.loads((ROOT / "signing/policy/development.json").read_text()) | {"requireCheck": True} | rules
        path = self.farm.home / f"{name}.json"
        path.write_text(json.dumps(policy))
        result = self.kiln("fetch", self.artifacts()[VULKAN], "--out", self.farm.home / name, "--policy", path, code=code)
        return result.stdout + result.stderr

    def test_policies_tell_software_from_hardware(self):
        if self.device["type"] != "software":
            self.skipTest("the device here is hardware: " + self.device["name"])
        self.judged("either", 0, checkDevices=["hardware", "software"])
        self.judged("software", 0, refuseEmulated=True, checkDevices=["hardware", "software"])
        for name, rules in (("real", {"refuseEmulated": True}), ("hardware", {"checkDevices": ["hardware"]})):
            self.assertIn("but for what a software device said", self.judged(name, 5, **rules))
        out = self.farm.home / "verified"
        self.kiln("fetch", self.artifacts()[VULKAN], "--out", out)
        self.assertIn("on a software device: a policy may refuse it", self.kiln("verify", out).stdout)
        production = self.kiln("verify", out, "--policy", ROOT / "signing/policy/production.json", code=5)
        self.assertIn("but for what a software device said", production.stdout + production.stderr)

    def verdict(self, digest, policy):
        """Of the farm, under the policy of this name, once it has said one."""
        def said():
            shown = self.farm.kiln("show", digest, "--json")
            verdicts = json_of(shown)["verdicts"] if shown.returncode == 0 else []
            return next((each for each in verdicts if each["policy"]["uri"].endswith(":" + policy)), None)
        return wait_for(said, 60, f"a verdict on {digest} under {policy}: see {self.farm.dir}/logs/coordinator.log")

    def test_the_farm_promotes_what_a_real_device_checked_where_its_policy_takes_that_device(self):
        if self.device["type"] != "software":
            self.skipTest("the device here is hardware: " + self.device["name"])
        in_force = self.farm.dir / "policy.json"
        before = in_force.read_text()
        # The production policy, but for the root, which is a development farm's.
        production = json.loads((ROOT / "signing/policy/production.json").read_text()) | {"allowDevelopment": True}
        artifacts = self.artifacts()
        try:
            for name, devices, passes in (("either", ["hardware", "software"], True), ("hardware", ["hardware"], False)):
                # What kiln itself verifies by stays the development policy.
                in_force.write_text(json.dumps(production | {"name": name, "checkDevices": devices}))
                self.replaced("coordinator")
                self.farm.env["KILN_POLICY"] = str(ROOT / "signing/policy/development.json")
                with self.subTest(devices=devices):
                    self.assertEqual(self.verdict(artifacts[CPU], name)["verificationResult"], "PASSED", "a processor is hardware")
                    on_device = self.verdict(artifacts[VULKAN], name)
                    self.assertEqual(on_device["verificationResult"], "PASSED" if passes else "FAILED")
                    self.assertEqual([value for key, value in on_device.items() if "failed" in key.lower()], [] if passes else [["requireCheck"]])
                    shown = self.kiln("show", artifacts[VULKAN]).stdout
                    self.assertIn("verdict     " + ("PASSED" if passes else "FAILED"), shown)
        finally:
            self.farm.env["KILN_POLICY"] = str(in_force)
            in_force.write_text(before)
            self.replaced("coordinator")
        self.assertEqual(self.verdict(artifacts[VULKAN], "development")["verificationResult"], "PASSED")

    def test_the_device_is_chosen_by_number_or_uuid(self):
        out = self.farm.home / "chosen"
        self.kiln("fetch", self.artifacts()[VULKAN], "--out", out)
        doctor = self.farm.kiln("doctor").stdout
        line = next(line for line in doctor.splitlines() if "vulkan devices:" in line)
        uuid = line.split("uuid ")[1].split(";")[0].strip()
        for device in ("0", uuid):
            self.assertIn("ready: vulkan:1.3", self.kiln("warmup", out, "--device", device).stdout)
        refused = self.kiln("warmup", out, "--device", "00000000-0000-0000-0000-000000000001", code=4)
        self.assertIn(uuid, refused.stdout + refused.stderr)
        self.kiln("warmup", out, "--device", "99999", code=2)

    def test_a_search_tunes_on_the_device_and_the_artifact_is_rebuilt_bit_for_bit(self):
        # Of numerics of its own: a search that finds nothing better is not the artifact that two workers have built already.
        own = ("--reassociation", "off")
        searched = self.farm.build(CNN, *own, "--tune", "search", "--budget", "15s", target=VULKAN)
        self.assertEqual(searched.returncode, 0, searched.stdout + searched.stderr)
        tuned = artifact_of(searched)
        manifest = json_of(self.kiln("show", tuned, "--json"))["manifest"]
        entries = {kernel["tuned"] for kernel in manifest["stages"]["schedule"]["kernels"] if "tuned" in kernel}
        self.assertEqual("tuning" in manifest["spec"], bool(entries))
        log = next((self.farm.dir / "logs").glob("coordinator*.log")).read_text()
        self.assertIn("tuning record kept", log)
        self.assertEqual(artifact_of(self.farm.build(CNN, *own, "--tune", "reuse", target=VULKAN)), tuned, "what was measured is found again")
        self.assertIn("reproduced", self.kiln("rebuild", tuned).stdout)
        layout = self.farm.home / "tuned.oci"
        self.kiln("export", tuned, "--oci", layout, "--with-inputs")
        self.assertIn("reproduced", self.kiln("rebuild", "--offline", layout).stdout)

    def test_diff_names_the_kernel_and_the_instruction(self):
        one, two = self.farm.home / "one", self.farm.home / "two"
        self.kiln("fetch", self.artifacts()[VULKAN], "--out", one)
        shutil.copytree(one, two)
        module = next(two.glob("kernels/*.spv"))
        words = array.array("I", module.read_bytes())
        # The last sum of f32 numbers becomes a difference.
        at = max(i for i, word in enumerate(words) if word == 5 << 16 | 129)
        words[at] += 2
        module.write_bytes(words.tobytes())
        self.assertIn("equal", self.kiln("diff", one, one).stdout)
        found = json_of(self.kiln("diff", one, two, "--json", code=9))
        listing, kernels = found["listing"], [kernel["name"] for kernel in found["files"][0]["symbols"]]
        self.assertIn(listing["function"], kernels)
        differing = [(a["text"], b["text"]) for a, b in zip(listing["first"], listing["second"]) if a != b]
        self.assertEqual(len(differing), 1, differing)
        self.assertEqual(differing[0][0].replace("FAdd", "FSub"), differing[0][1])
        shown = self.kiln("diff", one, two, code=9).stdout
        self.assertIn("from the first instruction that differs", shown)
        self.assertIn("FSub float32", shown)

    def test_what_no_device_serves_is_refused_at_once(self):
        refused = self.farm.build(CNN, "--check", target="cuda:sm_90a")
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("no worker has a healthy device for the check for cuda:sm_90a", refused.stderr)
        emulated = self.farm.build(CNN, "--check-emulated", target=VULKAN)
        self.assertEqual(emulated.returncode, 2, "a real driver needs no emulated device: " + emulated.stderr)


class FaultyDriverTest(FarmCase):
    """Drivers that crash, hang, lie or calculate wrongly behind the first of two workers: each ends in an error by name and a drained
    device, nothing is promoted, and a good device takes the work."""
    WORKERS = 2
    GOOD, NONE = "libvulkan.so.1", "libvulkan-none.so.1"

    @classmethod
    def setUpClass(cls):
        found, missing = devices()
        if not found or not FAULTY.exists():
            raise unittest.SkipTest("no Vulkan device here, or no faulty driver: " + (missing or str(FAULTY)))
        super().setUpClass()
        built = cls.farm.build(CNN, target=VULKAN)
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)
        policy = json.loads((ROOT / "signing/policy/development.json").read_text()) | {
            "requireCheck": True, "checkDevices": ["hardware", "software"]}
        cls.policy = cls.farm.home / "checked.json"
        cls.policy.write_text(json.dumps(policy))

    @classmethod
    def restart(cls, name, fault="", options=()):
        """Has the supervisor start one of the processes anew, with these options in the place of earlier ones."""
        listed = cls.farm.dir / "run/services.json"
        services = json.loads(listed.read_text())
        service = next(service for service in services["services"] if service["name"] == name)
        service["environment"] |= {"KILN_EMULATED_VULKAN_FAULT": fault, "KILN_EMULATED_VULKAN_MARK": str(cls.farm.home / f"mark-{time.time_ns()}")}
        service["usual"] = service.get("usual", service["command"])
        service["command"] = [*service["usual"], *map(str, options)]
        listed.write_text(json.dumps(services))
        subprocess.run([ROOT / "infra/lib/supervisor.py", "reload", cls.farm.dir], check=True)
        before = cls.farm.pid(name)
        cls.farm.kill(name, 15)
        wait_for(lambda: restarted(cls.farm, name, before), 60, f"{name} is another process")
        if name == "coordinator":
            wait_for(lambda: serving(cls.farm, cls.farm.env["KILN_ENDPOINT"]), 120, f"the coordinator serves: see {cls.farm.dir}/logs")

    @classmethod
    def worker(cls, name):
        answer = cls.farm.kiln("workers", "--json")
        about = json_of(answer)["workers"] if answer.returncode == 0 else []
        return next((one for one in about if one["name"] == name and one["state"] == "live"), None)

    @classmethod
    def vulkan_of(cls, name):
        return next((device for device in (cls.worker(name) or {}).get("devices", []) if VULKAN in device["runs"]), None)

    @classmethod
    def give(cls, name, driver, fault=""):
        """Another driver for a worker, which advertises its device then, or that it has none."""
        cls.restart(name, fault, ("--gpu-driver", driver))
        if driver == cls.NONE:
            wait_for(lambda: cls.worker(name) and not cls.vulkan_of(name), 60, f"{name} has no Vulkan device")
        else:
            wait_for(lambda: (cls.vulkan_of(name) or {}).get("state") == "healthy", 60,
                     f"{name} has a Vulkan device: see {cls.farm.dir}/logs/{name}.log")

    def drained(self, reason):
        """Once `kiln workers` shows it; a device that only fails now and then is tried again after five seconds."""
        def seen():
            device = self.vulkan_of("worker-1")
            return device and device["state"] == "drained" and device
        self.assertIn(reason, wait_for(seen, 60, f"a drained device: see {self.farm.dir}/logs/worker-1.log")["reason"])

    def assert_not_promoted(self):
        refused = self.kiln("fetch", self.artifact, "--out", self.farm.home / "out", "--policy", self.policy, code=5)
        self.assertIn("requireCheck", refused.stdout + refused.stderr)

    def test_1_nothing_is_promoted_and_the_device_is_drained(self):
        self.give("worker-2", self.NONE)
        # The first lease that ends badly is the last, where no other worker could take the work.
        self.restart("coordinator", options=("--attempts", "1"))
        lost = "was lost in the middle of the check: "
        failed = "its health check failed: "
        for fault, said, reason in (
                # The sandbox has no call for a process to kill itself by, so that which signal it is may differ.
                ("late-abort", lost + "its process was ended by signal ", "lost in the middle of a check: its process was ended by signal "),
                ("late-lost", lost, "VK_ERROR_DEVICE_LOST"),
                ("late-hang", lost, "it hangs"),
                ("wrong", failed + "a kernel's results are wrong", failed + "a kernel's results are wrong"),
                ("again", "after the check: device gpu0 is drained: " + failed + "a kernel's results are wrong", failed),
                ("memory", "VK_ERROR_OUT_OF_DEVICE_MEMORY", failed),
                ("address", "an address that cannot be", failed)):
            with self.subTest(fault=fault):
                self.give("worker-1", FAULTY, fault)
                built = self.farm.build(CNN, "--check", target=VULKAN)
                self.drained(reason)
                self.assertEqual(built.returncode, 7, built.stdout + built.stderr)
                self.assertIn(said, built.stderr)
                self.assert_not_promoted()

    def test_2_a_device_that_lies_about_its_limits_is_none(self):
        self.restart("worker-1", "threads", ("--gpu-driver", FAULTY))
        wait_for(lambda: self.worker("worker-1") and not self.vulkan_of("worker-1"), 60, "worker-1 has no Vulkan device")
        self.assertIn("says that a block may have 0 threads", self.worker("worker-1")["facts"]["gpu"])
        refused = self.farm.build(CNN, "--check", target=VULKAN)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("no worker has a healthy device for the check for vulkan:1.3", refused.stderr)

    def test_3_numbers_that_are_wrong_now_and_then_fail_the_check(self):
        self.give("worker-1", FAULTY, "late-wrong")
        built = self.farm.build(CNN, "--check", target=VULKAN)
        self.assertEqual(built.returncode, 10, built.stdout + built.stderr)
        report = json_of(self.kiln("show", self.artifact, "--json"))["checks"][-1]["report"]
        self.assertFalse(report["passed"])
        self.assertEqual(report["device"]["gpu"]["name"], self.vulkan_of("worker-1")["name"])
        self.assert_not_promoted()

    def submitted(self, seconds):
        """A job as kiln build --check submits it, whose runs have this time limit."""
        plan = json_of(self.kiln("show", self.artifact, "--json"))["checks"][-1]["plan"]
        delivery = {"apiVersion": "kiln/v1", "kind": "DeliverySpec", "builders": 1, "operators": 1, "priority": 0, "noCache": True,
                    "timeLimitSeconds": seconds, "check": {"plan": plan, "files": []}}
        model = CNN.read_bytes()
        job = {"idempotencyKey": f"limit-{seconds}", "targets": [VULKAN], "deliveryJson": json.dumps(delivery, sort_keys=True, separators=(",", ":")),
               "sources": [{"path": CNN.name, "blob": {"hash": hashlib.sha256(model).hexdigest(), "sizeBytes": len(model)}}]}
        answer = subprocess.run(["curl", "-sS", "--fail-with-body", "--unix-socket", self.farm.env["KILN_HTTP_SOCKET"],
                                 "-H", "Content-Type: application/json", "--data-binary", json.dumps(job),
                                 "http://localhost/api/v1/instances/default/jobs"], capture_output=True, text=True)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        return json.loads(answer.stdout)["id"]

    def test_4_a_call_that_never_returns_ends_with_the_time_limit(self):
        self.give("worker-1", FAULTY, "late-stuck")
        watched = self.farm.kiln("watch", self.submitted(15))
        self.drained("an action on it did not end within its time limit")
        self.assertEqual(watched.returncode, 7, watched.stdout + watched.stderr)
        self.assertIn("time limit", watched.stderr)
        self.assert_not_promoted()

    def test_5_a_good_device_takes_the_check(self):
        self.restart("coordinator")
        self.give("worker-1", FAULTY, "late-abort")
        build = subprocess.Popen(["kiln", "build", CNN, "--check", "--no-cache", "--target", VULKAN], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, env=self.farm.env, cwd=self.farm.home)
        try:
            self.drained("its process was ended by signal ")
            self.assertIsNone(build.poll(), "it waits for another device")
            self.give("worker-2", self.GOOD)
            said = build.communicate(timeout=240)[0]
        finally:
            build.kill()
        self.assertEqual(build.returncode, 0, said)
        check = json_of(self.kiln("show", self.artifact, "--json"))["checks"][-1]
        self.assertTrue(check["report"]["passed"])
        self.assertEqual(check["checker"]["worker"], "worker-2")
        self.kiln("fetch", self.artifact, "--out", self.farm.home / "promoted", "--policy", self.policy)

    def test_6_the_farm_goes_on_once_the_driver_works(self):
        self.give("worker-2", self.NONE)
        self.give("worker-1", FAULTY)
        built = self.farm.build(CNN, "--check", "--no-cache", target=VULKAN)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertEqual(json_of(self.kiln("show", self.artifact, "--json"))["checks"][-1]["checker"]["worker"], "worker-1")


if __name__ == "__main__":
    unittest.main()
