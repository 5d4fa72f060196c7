#!/usr/bin/env python3
"""What bubblewrap needs of a pod's security context: the worker's image under crun, as Kubernetes would start it, with and without
each part of what infra/deploy/README.md names. kiln-worker doctor must say which part is missing, in the words of the pod."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from containers import BIN, ROOT, Bundle, Image, build, filter_like_a_runtimes

OURS = json.loads((ROOT / "infra/deploy/seccomp/kiln-worker.json").read_text())


class Sandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-pod-"))
        cls.home.chmod(0o755)
        made = build(cls.home / "images")
        assert made.returncode == 0, made.stderr
        cls.bundle = Bundle(Image(cls.home / "images", "worker"))

    @classmethod
    def tearDownClass(cls):
        cls.bundle.close()
        shutil.rmtree(cls.home)

    def doctor(self, code, **context):
        done = self.bundle.crun("/usr/bin/kiln-worker", "doctor", "--json", environment=["KUBERNETES_SERVICE_HOST=10.0.0.1"], **context)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def test_what_the_manifests_ask_for_is_enough(self):
        checks = self.doctor(0, seccomp=OURS)
        self.assertEqual(checks["trial run"]["verdict"], "ok")
        self.assertEqual(checks["killed worker"]["verdict"], "ok")
        self.assertIn("a pod, with a filter of system calls, without new privileges", checks["container"]["detail"])
        # A pod gets no control groups of its own: its limits take their place.
        self.assertIn("--slots 1", checks["memory limit"]["remedy"])

    def test_a_runtimes_own_filter_is_named(self):
        checks = self.doctor(7, seccomp=filter_like_a_runtimes())
        self.assertEqual(checks["user namespaces"]["verdict"], "missing")
        self.assertIn("localhostProfile: kiln-worker.json", checks["user namespaces"]["remedy"])

    def test_a_masked_proc_is_named(self):
        checks = self.doctor(7, seccomp=OURS, masked=True)
        self.assertEqual(checks["user namespaces"]["verdict"], "ok")
        for name in ("trial run", "killed worker"):
            self.assertIn("procMount: Unmasked", checks[name]["remedy"])
            self.assertIn("hostUsers: false", checks[name]["remedy"])


if __name__ == "__main__":
    if not shutil.which("crun") or not (BIN / "kiln-worker").exists():
        print(f"skipped: crun is not installed, or no programs in {BIN}")
        sys.exit(77)
    unittest.main()
