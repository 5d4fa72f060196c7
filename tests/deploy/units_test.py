#!/usr/bin/env python3
"""The units of infra/deploy/systemd: systemd finds nothing wrong with them, says how exposed each is, and their programs know every
option. Programs come from $KILN_TEST_BIN. Exit 77 (skipped) without systemd-analyze.
"""
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from containers import BIN, ROOT, run

UNITS = ROOT / "infra/deploy/systemd"
# The exposure that systemd-analyze security may find at most, of 10; installed_test.py asks a running systemd the same.
MOST = {"kiln-signer.service": 1.5, "kiln-log.service": 1.5, "kiln-coordinator.service": 1.5, "kiln-worker@1.service": 2.0}


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A root with the units, systemd's own, and programs that are only there."""
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="kiln-units-"))
        shutil.copytree("/usr/lib/systemd/system", cls.root / "usr/lib/systemd/system", symlinks=True)
        (cls.root / "etc/systemd/system").mkdir(parents=True)
        for unit in UNITS.glob("*.service"):
            shutil.copy(unit, cls.root / "etc/systemd/system")
            for program in re.findall(r"^Exec\w+=(/\S+)", unit.read_text(), re.M):
                path = cls.root / program[1:]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("#!/bin/sh\n")
                path.chmod(0o755)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def verify(self, *names):
        return run("systemd-analyze", "verify", f"--root={self.root}", "--man=no", *names, cwd=self.root / "etc/systemd/system")

    def test_systemd_finds_nothing_wrong(self):
        done = self.verify(*MOST)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_a_mistake_is_found(self):
        wrong = self.root / "etc/systemd/system/wrong.service"
        self.addCleanup(wrong.unlink)
        wrong.write_text((UNITS / "kiln-log.service").read_text().replace("RestrictNamespaces=", "RestrictNamespace="))
        self.assertIn("Unknown key", self.verify("wrong.service").stderr)

    def exposure(self, name):
        """Of 10, and what systemd says of each setting."""
        said = run("systemd-analyze", "security", "--offline=true", f"--root={self.root}", "--no-pager", name).stdout
        return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", said).group(1)), said

    def test_exposure_is_small(self):
        for name, most in MOST.items():
            score, said = self.exposure(name)
            print(said.strip().splitlines()[-1])
            self.assertLessEqual(score, most, said)

    def test_what_a_worker_may_be_given_is_known_and_costs_what_it_says(self):
        folder = self.root / "etc/systemd/system/kiln-worker@.service.d"
        for name, most in (("tune.conf", 2.1), ("gpu.conf", 2.3)):
            folder.mkdir()
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            shutil.copy(UNITS / name, folder)
            self.assertEqual(self.verify("kiln-worker@1.service").stderr, "")
            self.assertEqual(self.exposure("kiln-worker@1.service")[0], most, name)
            shutil.rmtree(folder)

    def test_every_option_is_its_programs(self):
        for unit in UNITS.glob("*.service"):
            text = unit.read_text().replace("\\\n", " ")
            words = re.search(r"^ExecStart=(.*)$", text, re.M).group(1).split()
            program = pathlib.PurePosixPath(words[0]).name
            helped = run(BIN / program, *(["serve"] if words[1] == "serve" else []), "--help").stdout
            known = set(re.findall(r"--[a-z-]+", helped))
            for word in words[1:]:
                if word.startswith("--"):
                    self.assertIn(word.split("=")[0], known, program)

    def test_manifests_and_units_give_the_same_options(self):
        """What runbooks try out with the units holds for pods as well."""
        pods = {"kiln-coordinator.service": "base/coordinator.yaml", "kiln-signer.service": "base/coordinator.yaml",
                "kiln-log.service": "base/log.yaml", "kiln-worker@.service": "workers/pods/worker.yaml"}
        for unit, manifest in pods.items():
            program = re.search(r"[a-z-]+", unit).group(0).rstrip("@")
            text = (ROOT / "infra/deploy/kubernetes" / manifest).read_text()
            container = text[text.index(f"image: {program}:"):]
            given = set(re.findall(r"^\s+- (--[a-z-]+)=", container[:container.index("ports:")], re.M))
            words = re.search(r"^ExecStart=(.*)$", (UNITS / unit).read_text().replace("\\\n", " "), re.M).group(1).split()
            own = {word.split("=")[0] for word in words if word.startswith("--")}
            # A cluster reaches the coordinator's HTTP side, and looks at every process.
            self.assertEqual(given - {"--https", "--metrics"}, own - {"--metrics"}, unit)

    def test_every_setting_is_given(self):
        given = set(re.findall(r"^(KILN_\w+)=", (UNITS / "farm.env").read_text() + (UNITS / "worker.env").read_text(), re.M))
        for unit in UNITS.glob("*.service"):
            wanted = set(re.findall(r"\$\{?(KILN_\w+)", unit.read_text()))
            self.assertLessEqual({name for name in wanted if not name.endswith("_OPTIONS")}, given, unit.name)
            # The packages' settings name each of them, and what a unit has by itself is what they show.
            packaged = (ROOT / "infra/debian/etc" / f"{unit.name.split('.')[0].removeprefix('kiln-').rstrip('@')}.env").read_text()
            shown = dict(re.findall(r'^#(KILN_\w+)=(.*)$', packaged, re.M))
            self.assertEqual(wanted, set(shown), unit.name)
            for words in re.findall(r"^Environment=(.*)$", unit.read_text(), re.M):
                for name, value in (word.split("=", 1) for word in shlex.split(words)):
                    self.assertEqual(value, shown[name].strip('"'), f"{unit.name}: {name}")

    def test_a_worker_drains_within_its_units_time(self):
        text = (UNITS / "kiln-worker@.service").read_text()
        drain, stop = (int(re.search(pattern, text).group(1)) for pattern in (r"--drain-seconds=(\d+)", r"TimeoutStopSec=(\d+)"))
        self.assertLess(drain + 30, stop)
        # All processes of the group would get SIGTERM otherwise, the actions' too.
        self.assertIn("KillMode=mixed", text)


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze, of the package systemd, is not installed")
        sys.exit(77)
    unittest.main()
