#!/usr/bin/env python3
"""The farm as a user sees it: infra/up, then the command line against real processes."""
import hashlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import unittest
import urllib.parse
import urllib.request

from farm import MODELS, ROOT, Farm, artifact_of, json_of, wait_for
from tiny_onnx import external_weight, model, node, value_info

sys.path.insert(0, str(ROOT / "infra/toolchain"))
sys.dont_write_bytecode = True
import lockfile  # noqa: E402
from inputs import gather  # noqa: E402
from lockfile import Lock, Package, Source  # noqa: E402

CNN = MODELS / "digits_cnn.onnx"
MLP = MODELS / "digits_mlp.onnx"


def npy(path, shape, value=b"\0\0\0\0"):
    """A float32 .npy of one repeated value."""
    count = 1
    for n in shape:
        count *= n
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % dims
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + value * count)
    return path


class FarmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm()
        if cls.farm.first.returncode != 0:
            print(cls.farm.first.stdout, cls.farm.first.stderr)
            raise AssertionError("infra/up failed")
        cls.artifact = artifact_of(cls.farm.first)

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def check(self, result, code=0):
        self.assertEqual(result.returncode, code, f"\n--- out\n{result.stdout}\n--- err\n{result.stderr}")
        self.assertNotIn("terminate called", result.stderr)
        return result

    def fetch(self, name):
        out = self.farm.home / name
        self.check(self.farm.kiln("fetch", self.artifact, "--out", out))
        return out

    # --- the way through

    def test_up_builds_verifies_and_runs_the_sample(self):
        self.assertIsNotNone(self.artifact)
        self.assertIn("292/297", self.farm.first.stdout)
        self.assertIn("kiln jobs", self.farm.first.stdout)

    def test_second_up_resumes_the_same_state(self):
        before = self.farm.pid("coordinator")
        again = self.check(self.farm.up())
        self.assertEqual(artifact_of(again), self.artifact)
        self.assertEqual(self.farm.pid("coordinator"), before)

    def test_two_workers_give_one_digest(self):
        self.check(self.farm.build(CNN, "--no-cache", "--builders", "2"))
        shown = self.check(self.farm.build(CNN, "--no-cache", "--builders", "2", "--json"))
        artifact = json_of(shown)["artifacts"][0]
        self.assertEqual(artifact["digest"], self.artifact)
        self.assertEqual(len(set(artifact["builders"])), 2)

    def test_one_artifact_over_two_targets(self):
        both = "cpu:x86-64-v4,cpu:x86-64-v3"
        built = self.check(self.farm.build(CNN, "--affinity", "op:Conv=cpu:x86-64-v3", "--affinity", "op:Gemm=cpu:x86-64-v4",
                                           target=both))
        out = self.farm.home / "both"
        self.check(self.farm.kiln("fetch", artifact_of(built), "--out", out))
        self.check(self.farm.kiln("verify", out))
        shown = self.check(self.farm.kiln("show", out)).stdout
        self.assertIn("conv3 from cpu:x86-64-v3 to cpu:x86-64-v4", shown)
        self.assertIn("reproduced", self.check(self.farm.kiln("rebuild", artifact_of(built))).stdout)
        if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
            ran = self.check(self.farm.kiln("run", out, "--each", "--input", f"image={MODELS}/digits_images.npy",
                                            "--labels", MODELS / "digits_labels.npy"))
            self.assertIn("292/297", ran.stdout)

    def test_runs_like_onnx_runtime(self):
        out = self.fetch("foreign")
        self.check(self.farm.kiln("run", out, "--each", "--input", f"image={MODELS}/digits_images.npy", "--output-dir", self.farm.home / "o"))
        got = (self.farm.home / "o" / "logits.npy").read_bytes()[128:]
        want = (MODELS / "digits_cnn_logits.npy").read_bytes()[128:]
        import array
        a, b = array.array("f", got), array.array("f", want)
        self.assertEqual(len(a), len(b))
        self.assertTrue(all(abs(x - y) <= 1e-4 + 1e-3 * abs(y) for x, y in zip(a, b)))

    def test_symbolic_batch_by_profile(self):
        built = self.check(self.farm.build(MLP, "--profile", "N=297:297:297"))
        result = self.check(self.farm.kiln("run", artifact_of(built), "--input", f"pixels={MODELS}/digits_pixels.npy",
                                           "--labels", MODELS / "digits_labels.npy"))
        self.assertIn("289/297", result.stdout)

    def test_a_check_qualifies_the_artifact_on_a_worker(self):
        built = self.check(self.farm.build(CNN, "--check-plan", MODELS / "digits_check.json"))
        self.assertEqual(artifact_of(built), self.artifact)
        self.assertIn("check passed", built.stderr)
        out = self.farm.home / "checked"
        self.check(self.farm.kiln("fetch", self.artifact, "--out", out))
        shown = json_of(self.check(self.farm.kiln("show", out, "--json")))
        report = shown["checks"][-1]["report"]
        self.assertTrue(report["passed"])
        accuracy = [item for item in report["items"] if item["kind"] == "metric"]
        self.assertIn("292/297", accuracy[0]["detail"])
        strict = self.farm.home / "strict.json"
        strict.write_text(json.dumps(json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text()) | {"requireCheck": True}))
        self.check(self.farm.kiln("verify", out, "--policy", strict))

    def test_a_failed_check_is_exit_10_and_blocks_where_one_is_required(self):
        plan = self.farm.home / "impossible.json"
        plan.write_text('{"limits":{"peakBytes":1},"runs":1}')
        built = self.check(self.farm.build(MLP, "--profile", "N=3:3:3", "--check-plan", plan), 10)
        self.assertIn("the check failed for cpu:x86-64-v3", built.stderr)
        artifact = "sha256:" + built.stderr.split("sha256:")[1][:64]
        out = self.farm.home / "unfit"
        self.check(self.farm.kiln("fetch", artifact, "--out", out))
        strict = self.farm.home / "strict2.json"
        strict.write_text(json.dumps(json.loads(pathlib.Path(self.farm.env["KILN_POLICY"]).read_text()) | {"requireCheck": True}))
        refused = self.check(self.farm.kiln("verify", out, "--policy", strict), 5)
        self.assertIn("observed peak", refused.stdout + refused.stderr)

    def test_verifies_offline_with_a_named_root_alone(self):
        out = self.fetch("offline")
        bare = {"PATH": self.farm.env["PATH"], "HOME": "/nonexistent"}
        root, policy = self.farm.env["KILN_TRUST_ROOT"], self.farm.env["KILN_POLICY"]
        self.check(self.farm.kiln("verify", out, "--trust-root", root, "--policy", policy, env=bare))
        self.assertNotEqual(self.farm.kiln("verify", out, env=bare).returncode, 0)  # a root is never discovered

    def test_cache_hit_names_the_same_artifact(self):
        again = self.check(self.farm.build(CNN, "--json"))
        self.assertTrue(json_of(again)["artifacts"][0]["cached"])

    def test_git_source_is_read_at_its_commit_and_recorded(self):
        repo = self.farm.home / "repo"
        repo.mkdir()
        git = lambda *a: subprocess.run(["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@localhost", *a], check=True,
                                        capture_output=True, text=True).stdout.strip()
        git("init", "-q", "-b", "main")
        (repo / "digits.onnx").write_bytes(CNN.read_bytes())
        (repo / "lfs.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n")
        git("add", ".")
        git("commit", "-q", "-m", "model")
        commit = git("rev-parse", "HEAD")
        url = "git+file://" + urllib.parse.quote(str(repo))
        built = self.check(self.farm.build(f"{url}@{commit}#digits.onnx"))
        self.assertEqual(artifact_of(built), self.artifact)  # the same bytes: never a second artifact
        provenance = self.check(self.farm.kiln("provenance", self.artifact, "--format", "json"))
        self.assertIn(commit, provenance.stdout)
        branch = self.farm.build(f"{url}@main#digits.onnx")
        self.assertEqual(branch.returncode, 2)
        self.assertIn(commit, branch.stderr)
        lfs = self.farm.build(f"{url}@{commit}#lfs.onnx")
        self.assertNotEqual(lfs.returncode, 0)
        self.assertIn("LFS", lfs.stderr)

    def test_shows_jobs_workers_toolchains_and_provenance(self):
        self.assertIn("digits_cnn", self.check(self.farm.kiln("jobs")).stdout)
        workers = self.check(self.farm.kiln("workers")).stdout
        self.assertIn("worker-1", workers)
        self.assertIn("worker-2", workers)
        listed = self.check(self.farm.kiln("toolchain", "list")).stdout
        self.assertIn("kiln-0.1.0+llvm22", listed)
        label = next(w for w in listed.split() if w.startswith("kiln-0.1.0"))
        self.assertIn("kmath.bc", self.check(self.farm.kiln("toolchain", "show", label)).stdout)
        self.assertIn("worker-", self.check(self.farm.kiln("provenance", self.artifact)).stdout)
        self.check(self.farm.kiln("doctor"))
        # By its directory alone, without what kiln.env says.
        bare = {name: value for name, value in self.farm.env.items() if not name.startswith("KILN_")}
        said = self.check(self.farm.kiln("doctor", "--farm", self.farm.dir, env=bare)).stdout
        for name in ("coordinator", "workers", "trust root"):
            self.assertRegex(said, rf"(?m)^ok +{name}: ")

    def test_toolchains_live_side_by_side_and_are_given_back(self):
        kiln = lambda *a, code=0: self.check(self.farm.kiln("toolchain", *a), code)
        old = next(t for t in json_of(kiln("list", "--json"))["toolchains"] if t["default"])
        self.assertIn("signature verified", kiln("show", old["label"]).stdout)
        self.assertIn("not rebuildable from source", kiln("show", old["label"]).stdout)
        tree, kept = self.farm.home / "newer", self.farm.home / "kept"
        subprocess.run([ROOT / "infra/toolchain/build", "--label", "kiln-newer", "--out", tree], check=True, capture_output=True)
        kept.mkdir()
        inputs = {data: "sha256:" + hashlib.sha256(data).hexdigest() for data in (b"a package", b"a source")}
        for data, digest in inputs.items():
            (kept / digest.removeprefix("sha256:")).write_bytes(data)
        lock = Lock([Package("a", "1:2.0-1", "all", inputs[b"a package"], 9)], [], Source("3" * 40, inputs[b"a source"], 8))
        (self.farm.home / "lock.json").write_text(lockfile.text_of(lock))
        try:
            given = ("add", tree, "--lock", self.farm.home / "lock.json", "--inputs", kept, "--default", "--json")
            added = json_of(kiln(*given))
            self.assertTrue(added["default"] and added["rebuildable"])
            self.assertEqual(json_of(kiln(*given))["admission"], added["admission"], "the same again")
            newer = artifact_of(self.check(self.farm.build(CNN, "--no-cache")))
            self.assertNotEqual(newer, self.artifact)
            pinned = artifact_of(self.check(self.farm.build(CNN, "--no-cache", "--toolchain", old["label"])))
            self.assertEqual(pinned, self.artifact, "an old toolchain still gives its old digest")
        finally:
            kiln("add", ROOT / "build/release/toolchain-tree", "--default")
        back = self.farm.home / "back"
        kiln("lock", "kiln-newer", "--inputs", back, "--out", self.farm.home / "back.json")
        found = gather(lockfile.read(self.farm.home / "back.json"), back)  # what infra/toolchain/build --lock does with it
        self.assertEqual({path.read_bytes() for path in found.values()}, set(inputs))

    def test_every_bundle_is_in_the_log_that_the_root_names(self):
        out = self.fetch("logged")
        root = json.loads((self.farm.dir / "trust" / "root.json").read_text())
        self.assertEqual(len(root["logs"]), 1)
        indexes = set()
        for path in (out / "bundles").iterdir():
            entry = json.loads(path.read_text())["verificationMaterial"]["tlogEntries"][0]
            self.assertIn(root["logs"][0]["origin"] + "\n", entry["inclusionProof"]["checkpoint"]["envelope"])
            indexes.add(entry["logIndex"])
        self.assertEqual(len(indexes), len(list((out / "bundles").iterdir())))
        checkpoint = json_of(self.check(self.farm.kiln("log", "checkpoint", "--json")))
        self.assertEqual(checkpoint["origin"], root["logs"][0]["origin"])
        earlier = self.farm.home / "checkpoint"
        earlier.write_text(checkpoint["checkpoint"])
        self.check(self.farm.build(MLP, "--profile", "N=5:5:5"))
        self.assertIn("consistent with its first", self.check(self.farm.kiln("log", "verify", "--since", earlier)).stdout)
        proof = json_of(self.check(self.farm.kiln("log", "prove", "inclusion", sorted(indexes)[0])))
        self.assertEqual(json.loads(proof["leaf"])["kind"], "hashedrekord")
        self.check(self.farm.kiln("log", "prove", "consistency", checkpoint["size"]))
        self.check(self.farm.kiln("log", "prove", "inclusion", "1000000"), 2)
        self.check(self.farm.kiln("log", "verify", "--log", self.farm.dir / "log"))
        self.assertEqual((self.farm.dir / "keys" / "log.key").stat().st_mode & 0o777, 0o600)
        # A log by another key is not believed.
        foreign = self.farm.home / "foreign"
        subprocess.run([ROOT / "build/release/bin/kiln-log", "make-key", "--origin", checkpoint["origin"], "--out", foreign], check=True)
        self.check(self.farm.kiln("log", "checkpoint", "--log-key", f"{foreign}.vkey"), 5)

    def test_endpoints_are_private(self):
        path = pathlib.Path(self.farm.env["KILN_ENDPOINT"].removeprefix("unix:"))
        self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        self.assertEqual((self.farm.dir / "logs").stat().st_mode & 0o777, 0o700)
        host, port = self.farm.env["KILN_HTTP"].removeprefix("http://").split(":")
        self.assertEqual(host, "127.0.0.1")
        with urllib.request.urlopen(self.farm.env["KILN_HTTP"] + "/metrics", timeout=10) as reply:
            self.assertIn(b"kiln_", reply.read())
        with self.assertRaises(OSError):
            # Read-only: nothing may be put.
            urllib.request.urlopen(urllib.request.Request(self.farm.env["KILN_HTTP"] + "/v2/", data=b"x", method="PUT"), timeout=10)

    def test_each_process_tells_its_metrics_and_health(self):
        own = {"COORDINATOR": "kiln_rpc_requests_total", "LOG": "kiln_log_sequencing 1", "SIGNER": "kiln_database_connections_max"}
        own |= {f"WORKER_{number + 1}": "kiln_worker_slots 1" for number in range(self.farm.workers)}
        for name, metric in own.items():
            with self.subTest(name=name):
                url = self.farm.env[f"KILN_METRICS_{name}"]
                self.assertTrue(url.startswith("http://127.0.0.1:"))
                with urllib.request.urlopen(url, timeout=10) as reply:
                    text = reply.read().decode()
                self.assertIn(metric, text)
                self.assertIn("process_cpu_seconds_total", text)
                with urllib.request.urlopen(url.removesuffix("/metrics") + "/healthz", timeout=10) as reply:
                    self.assertEqual(reply.read(), b"ok\n")
                self.assertIn(url.removeprefix("http://").removesuffix("/metrics"), (self.farm.dir / "prometheus.yml").read_text())

    # --- what bad input gets

    def refused(self, data, code, *words, name="bad.onnx", options=()):
        model = self.farm.home / name
        model.write_bytes(data)
        result = self.check(self.farm.build(model, *options), code)
        for word in words:
            self.assertIn(word, result.stderr)
        return result

    def test_models_that_are_none(self):
        good = CNN.read_bytes()
        self.refused(b"", 3, "empty")
        self.refused(good[: len(good) // 2], 3, "model")
        self.refused(b"this is no model at all, just text that goes on for a while\n" * 40, 3)
        self.refused(b"\x08\x08\x3a\xff\xff\xff\xff\x0b" + good[:100], 3)  # a graph that claims 3 GB

    def test_unsupported_operators_are_all_named(self):
        # Renames an operator in place: same length, so that every protobuf length still holds.
        data = CNN.read_bytes().replace(b"\x22\x07MaxPool", b"\x22\x07MoxPool")
        result = self.refused(data, 4, "MoxPool", "pool1", "pool2")
        self.assertNotIn("conv1:", result.stderr)
        # The tool's own words, by job.
        job = json_of(self.farm.kiln("jobs", "--limit", "1", "--json"))["jobs"][0]
        self.assertEqual(job["state"], "failed")
        logs = self.check(self.farm.kiln("logs", job["id"])).stdout
        self.assertIn("exit code 4", logs)
        self.assertIn("MoxPool", logs)
        self.check(self.farm.kiln("logs", "no-such-job"), 6)

    def test_models_that_lie(self):
        x, y = value_info("x", [2]), value_info("y", [2])
        self.assertIsNotNone(artifact_of(self.refused(model([node("Relu", ["x"], ["y"], "only")], [x], [y]), 0)))
        self.refused(model([node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"], "second")], [x], [value_info("b", [2])]), 3)
        self.refused(model([node("Relu", ["x"], ["y"], "only")], [x], [y], opset=99), 4, "99")
        self.refused(model([node("Relu", ["x"], ["y"], "only")], [value_info("x", [2], dtype=8)], [value_info("y", [2], dtype=8)]), 4)
        for path in ("../../etc/passwd", "/etc/passwd"):
            weight = external_weight("w", [2], path)
            self.refused(model([node("Add", ["x", "w"], ["y"], "sum")], [x], [y], [weight]), 3, path)

    def test_targets_nobody_serves(self):
        for target in ("cpu:riscv64", "cpu:x86-64-v9", "cuda:sm_10"):
            result = self.farm.build(CNN, target=target)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(target, result.stderr)
        for target in ("native", "host", "cpu:native"):
            self.assertEqual(self.farm.build(CNN, target=target).returncode, 2)

    def test_unknown_toolchain_names_those_that_exist(self):
        data = model([node("Relu", ["x"], ["y"], "unsent")], [value_info("x", [3])], [value_info("y", [3])])
        self.refused(data, 6, "kiln-0.1.0", options=("--toolchain", "kiln-9.9.9"))
        name = hashlib.sha256(data).hexdigest()
        self.assertEqual(list((self.farm.dir / "store").rglob(f"*{name}*")), [], "the model was sent before its toolchain was looked for")

    def test_unbound_symbolic_dimension_says_how_to_bind_it(self):
        result = self.check(self.farm.build(MLP), 4)
        self.assertIn("--profile N=", result.stderr)

    def test_wrong_shape_names_input_expected_and_given(self):
        bad = npy(self.farm.home / "bad.npy", (1, 1, 7, 8))
        result = self.farm.kiln("run", self.artifact, "--input", f"image={bad}")
        self.assertNotEqual(result.returncode, 0)
        for word in ("image", "1,1,8,8", "1,1,7,8"):
            self.assertIn(word, result.stderr.replace(" ", "").replace("x", ","))

    def test_every_flipped_bit_is_found(self):
        out = self.fetch("flipped")
        for file in sorted(p for p in out.rglob("*") if p.is_file()):
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            mode = file.stat().st_mode
            file.chmod(0o644)
            original = file.read_bytes()
            file.write_bytes(data)
            result = self.farm.kiln("verify", out)
            self.assertEqual(result.returncode, 5, f"{file}: {result.stdout}{result.stderr}")
            file.write_bytes(original)
            file.chmod(mode)
        self.check(self.farm.kiln("verify", out))

    def test_corrupt_blob_in_the_store_is_never_served(self):
        farm = self.farm
        built = self.check(farm.build(MLP, "--profile", "N=3:3:3"))
        artifact = artifact_of(built)
        victims = [p for p in (farm.dir / "store").rglob(f"*{artifact.removeprefix('sha256:')}*") if p.is_file() and p.stat().st_size]
        self.assertTrue(victims)
        victims[0].chmod(0o644)
        whole = victims[0].read_bytes()
        data = bytearray(whole)
        data[10] ^= 4
        victims[0].write_bytes(data)
        out = farm.home / "corrupt"
        result = farm.kiln("fetch", artifact, "--out", out)
        self.assertIn(result.returncode, (5, 6), result.stderr)
        self.assertFalse(out.exists())
        self.assertEqual([p for p in farm.home.iterdir() if "corrupt" in p.name], [])
        victims[0].unlink(missing_ok=True)  # back from a backup, so to speak: other tests ask the doctor
        victims[0].write_bytes(whole)
        victims[0].chmod(0o444)

    def test_usage_errors(self):
        self.check(self.farm.kiln("build"), 2)
        self.check(self.farm.kiln("no-such-command"), 2)
        self.check(self.farm.kiln("fetch", "sha256:123"), 2)
        self.check(self.farm.kiln("fetch", "sha256:" + "0" * 64, "--out", self.farm.home / "none"), 6)
        self.assertFalse((self.farm.home / "none").exists())
        self.check(self.farm.build(self.farm.home / "missing.onnx"), 6)


class FaultTest(unittest.TestCase):
    """Kills real processes. A farm of its own, since it ends in disorder."""

    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=1, options=("--no-sample",))
        assert cls.farm.first.returncode == 0, cls.farm.first.stderr

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def restart(self):
        result = self.farm.up("--no-sample")
        self.assertEqual(result.returncode, 0, result.stderr)

    def submit(self, size):
        result = self.farm.build(MLP, "--profile", f"N={size}:{size}:{size}", "--detach", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json_of(result)["job"]

    def finish(self, job):
        result = self.farm.kiln("watch", job, "--json", timeout=200)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_coordinator_killed_in_mid_job_resumes(self):
        for size in (11, 12, 13):
            job = self.submit(size)
            self.farm.kill("coordinator")
            self.restart()
            self.finish(job)

    def test_worker_killed_in_mid_job_costs_a_lease(self):
        job = self.submit(21)
        self.farm.kill("worker-1")
        self.restart()
        self.finish(job)

    def test_signer_killed_in_mid_job(self):
        job = self.submit(31)
        self.farm.kill("signer")
        self.restart()
        self.finish(job)

    def test_log_killed_in_mid_job_holds_it_until_it_is_back(self):
        self.farm.kill("log")
        job = self.submit(35)
        self.restart()
        self.finish(job)
        verified = self.farm.kiln("log", "verify")
        self.assertEqual(verified.returncode, 0, verified.stderr)

    def test_database_down_is_said_and_recovers(self):
        job = self.submit(41)
        subprocess.run([ROOT / "infra" / "postgres", "stop", self.farm.dir / "pg"], check=True, capture_output=True)
        down = self.farm.kiln("jobs", "--wait", "0s")
        self.assertEqual(down.returncode, 7, down.stderr)
        self.assertIn("PostgreSQL", down.stderr)
        self.restart()
        wait_for(lambda: self.farm.kiln("jobs").returncode == 0, 30, "the coordinator finds the database again")
        self.finish(job)

    def test_quotas_are_read_at_the_start_and_again_at_sighup(self):
        quotas = self.farm.dir / "quotas.json"
        quotas.write_text('{"apiVersion": "kiln/v1", "kind": "Quotas", "defualt": {"queued": 0}}')
        self.farm.stop()
        mistyped = self.farm.up("--no-sample")
        self.assertEqual(mistyped.returncode, 1, mistyped.stderr)
        self.assertIn("coordinator ended at once", mistyped.stderr)
        self.assertIn("defualt: unknown member", mistyped.stderr)
        self.farm.stop()
        quotas.write_text('{"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"queued": 0}}')
        self.restart()
        refused = self.farm.build(MLP, "--profile", "N=51:51:51", "--wait", "0s")
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("as many as its quota allows", refused.stderr)
        quotas.write_text('{"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"queued": 1000}}')
        self.farm.kill("coordinator", signal.SIGHUP)
        wait_for(lambda: self.farm.build(MLP, "--profile", "N=51:51:51", "--wait", "0s", "--detach").returncode == 0, 30,
                 "the coordinator has read its quota file again")
        quotas.unlink()
        self.farm.stop()
        self.restart()

    def test_foreground_ends_with_its_terminal(self):
        subprocess.run([ROOT / "infra" / "up", "--dir", self.farm.dir, "--stop"], check=True, capture_output=True)
        log = self.farm.home / "foreground.log"
        with open(log, "w") as out:
            up = subprocess.Popen([ROOT / "infra" / "up", "--dir", self.farm.dir, "--no-sample", "--workers", "1", "--foreground"],
                                  stdout=out, stderr=out, start_new_session=True)
        wait_for(lambda: "Ctrl-C" in log.read_text(errors="replace"), 120, "infra/up --foreground is ready")
        self.assertEqual(self.farm.kiln("workers").returncode, 0)
        os.killpg(up.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
        self.assertEqual(up.wait(60), 0)
        self.assertEqual(self.farm.processes(), [])
        self.restart()

    def test_stop_leaves_no_process_behind(self):
        subprocess.run([ROOT / "infra" / "up", "--dir", self.farm.dir, "--stop"], check=True, capture_output=True)
        self.assertEqual(self.farm.processes(), [])
        unreachable = self.farm.kiln("jobs", "--wait", "0s")
        self.assertEqual(unreachable.returncode, 7)
        self.assertIn("infra/up", unreachable.stderr)
        self.restart()


if __name__ == "__main__":
    unittest.main()
