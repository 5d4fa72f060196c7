#!/usr/bin/env python3
"""The packages of infra/packages in a Debian that has nothing else of Kiln's: systemd starts the units, a model is built through the farm,
fetched, verified and run, looked at in a browser and run from Python, by the commands of the guide alone; a restart and an upgrade keep
the farm; a removal and a purge leave what Debian's policy says.

usage: installed_test.py; of what build/release has. Exit 77 (skipped) where debian_root.py cannot work or the network is missing.
"""
import json
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest
import urllib.parse

sys.dont_write_bytecode = True
import debian_root
from debian_root import Unavailable, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE = shutil.which("node") or shutil.which("nodejs")
SERVICES = ("kiln-log", "kiln-signer", "kiln-coordinator", "kiln-worker@1")
# The exposure that systemd-analyze security may find at most, of 10.
MOST = 2.0
PAGE = (ROOT / "api/guides/install_packages.md").read_text()
OTHERS = ("postgresql", "openssl", "python3-venv", "procps", "gcc", "g++", "make", "cmake", "pkgconf")


def wanted(packages):
    """What the packages depend on, without each other and without versions."""
    names = set()
    for package in packages:
        for one in run("dpkg-deb", "-f", package, "Depends").stdout.split(","):
            name = one.split("|")[0].split("(")[0].strip()
            if name and not name.startswith("kiln-"):
                names.add(name)
    return names


def newer(package, out):
    """The same package as a later version; its path."""
    tree = out / "tree"
    assert run("dpkg-deb", "-R", package, tree).returncode == 0
    control = tree / "DEBIAN/control"
    version = re.search(r"^Version: (.*)$", control.read_text(), re.M).group(1)
    control.write_text(control.read_text().replace(version, version + ".later"))
    path = out / package.name.replace(version, version + ".later")
    assert run("dpkg-deb", "-Znone", "-b", tree, path).returncode == 0
    shutil.rmtree(tree)
    return path


def zeros(*shape):
    """An array of float zeros, as NumPy writes files (format 1.0)."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(4 * math.prod(shape))


class Installed(unittest.TestCase):
    """One farm's life; its parts run in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        for name in ("now", "later", "files"):
            (cls.home / name).mkdir()
        done = run(ROOT / "infra/packages", cls.home / "now", "--no-build")
        assert done.returncode == 0, done.stderr
        done = run(ROOT / "infra/wheel", cls.home / "now")
        assert done.returncode == 0, done.stderr
        packages = sorted((cls.home / "now").glob("*.deb"))
        for package in packages:
            newer(package, cls.home / "later")
        shutil.copy(ROOT / "tests/models/digits_cnn.onnx", cls.home / "files")
        (cls.home / "files/image.npy").write_bytes(zeros(1, 1, 8, 8))
        shutil.copytree(ROOT / "tests/api/node/package", cls.home / "files/examples")
        try:
            base = debian_root.prepared([*OTHERS, *wanted(packages)])
            cls.machine = debian_root.Machine(base, {"/debs": cls.home / "now", "/later": cls.home / "later", "/files": cls.home / "files"})
        except Unavailable as why:
            print(f"skipped: {why}")
            raise unittest.SkipTest(str(why))
        cls.addClassCleanup(cls.machine.close)

    def do(self, script, code=0, environment=()):
        done = self.machine.shell(script, environment)
        self.assertEqual(done.returncode, code, f"{script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}" + self.said())
        return done.stdout

    def said(self):
        return "".join(self.machine("journalctl", "-q", "--no-pager", "-o", "cat", "-n", "15", "-u", name).stdout for name in SERVICES)

    def kiln(self, words, code=0):
        """`kiln` as the administrator."""
        return self.do(f"cd /root && . ./farm.sh && kiln {words}", code)

    def processes(self):
        return {name: self.machine("systemctl", "show", "-P", "MainPID", name).stdout.strip() for name in SERVICES}

    def active(self):
        return {name: self.machine("systemctl", "is-active", name).stdout.strip() for name in SERVICES}

    def wait_for_worker(self):
        self.do("cd /root && . ./farm.sh && for i in $(seq 60); do kiln workers --json | grep -q '\"w1\"' && exit 0; sleep 1; done; exit 1")

    def test_1_nothing_starts_before_it_is_configured(self):
        type(self).begun = time.monotonic()
        self.do("apt-get install -y --no-install-recommends /debs/*.deb")
        self.assertEqual(set(self.active().values()), {"inactive"})
        self.assertIn("ConditionPathExists=/etc/kiln/", self.do("systemctl status kiln-coordinator || true"))
        self.assertEqual(self.do("systemctl --failed --no-legend"), "")

    def test_2_the_guides_commands_make_a_farm(self):
        for block in re.findall(r"^```sh operator\n(.*?)^```", PAGE, re.M | re.S):
            self.do(f"cd /root\n{block}")
        self.wait_for_worker()
        self.assertEqual(set(self.active().values()), {"active"}, self.said())

    def test_3_units_are_as_closed_as_they_say(self):
        for name in SERVICES:
            said = self.machine("systemd-analyze", "security", "--no-pager", f"{name}.service").stdout
            score = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", said).group(1))
            print(f"{name}: exposure {score}")
            self.assertLessEqual(score, MOST, said)

    def test_4_a_model_is_built_fetched_verified_and_run(self):
        built = json.loads(self.kiln("build /files/digits_cnn.onnx --target cpu:x86-64-v3 --check --json"))
        self.assertEqual(built["artifacts"][0]["builders"], ["w1"])
        type(self).artifact = built["artifacts"][0]["digest"]
        self.kiln(f"fetch {self.artifact} --out /root/fetched")
        self.assertIn(f"verified {self.artifact}", self.kiln("verify /root/fetched"))
        self.kiln("run /root/fetched --input image=/files/image.npy --output-dir /root/answer")
        self.do("test -s /root/answer/logits.npy")

    def test_4a_python_fetches_and_runs_it_and_a_browser_shows_it(self):
        script = re.search(r"^```python\n(.*?)^```", PAGE, re.M | re.S).group(1)
        (self.home / "files/from_page.py").write_text(script)
        said = self.do(f"cd /root && . ./farm.sh && venv/bin/python /files/from_page.py {self.artifact}")
        self.assertIn("<kiln.Tensor f32(1, 10)>", said)
        self.assertIn(f"verified {self.artifact}", self.kiln("verify from-python"))
        if NODE and shutil.which("chromium"):
            view = f"#/artifacts/{urllib.parse.quote(self.artifact, safe='')}"
            shown = self.browse([view, "#/workers"])
            self.assertEqual(shown["complaints"], [])
            self.assertEqual((shown["views"][view]["bad"], shown["views"][view]["good"]), ([], 1), shown["views"][view]["text"])
            self.assertIn("w1", shown["views"]["#/workers"]["text"])
        print(f"from packages to a page and to Python in {time.monotonic() - self.begun:.0f} s, Debian's own packages not counted")

    def browse(self, views):
        """A browser of this machine in the network of that one, whose `kiln console` it opens, with the settings of farm.sh."""
        settings = self.do("cd /root && . ./farm.sh && env | grep ^KILN_").splitlines()
        root = self.machine.home / "root"
        there = {name: f"{root}{value}" if value.startswith("/") else value for name, value in (line.split("=", 1) for line in settings)}
        done = run("nsenter", "-t", self.machine.leader, "-n", NODE, ROOT / "tests/api/console/support/drive.mjs",
                   json.dumps({"views": views, "audit": "", "once": True, "pictures": "", "axe": "", "recalled": False}),
                   env={**os.environ, **there, "PATH": f"{root}/usr/bin:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_4b_a_worker_measures_schedules_where_it_may(self):
        unbound = "a thread cannot be bound to its processor"
        search = "build /files/digits_cnn.onnx --target cpu:x86-64-v3 --tune search --budget 5s 2>&1"
        self.assertIn(unbound, self.kiln(search))
        self.do("install -D -t /etc/systemd/system/kiln-worker@.service.d /usr/share/doc/kiln-worker/examples/tune.conf &&"
                " systemctl daemon-reload && systemctl restart kiln-worker@1")
        self.wait_for_worker()
        said = self.kiln(search.replace("5s", "6s"))
        self.assertIn("tune cpu:x86-64-v3           done", said)
        self.assertNotIn(unbound, said)

    def test_5_programs_in_c_and_cpp_find_the_library(self):
        self.do("cp -r /files/examples /root/examples && cd /root/examples && cmake -S . -B b && cmake --build b")
        self.do("cd /root/examples && cc run.c $(pkg-config --cflags --libs kiln-node) -o run-by-pkg-config")
        for program, said in (("b/run", "40 bytes"), ("run-by-pkg-config", "40 bytes"), ("b/describe", "image f32")):
            self.assertIn(said, self.do(f"cd /root && . ./farm.sh && examples/{program} fetched $KILN_TRUST_ROOT $KILN_POLICY"))

    def test_6_a_restart_keeps_the_farm(self):
        self.machine.stop()
        self.machine.boot()
        self.wait_for_worker()
        self.assertEqual(set(self.active().values()), {"active"}, self.said())
        self.kiln(f"fetch {self.artifact} --out /root/after-restart")

    def test_7_an_upgrade_keeps_the_farm(self):
        before = self.processes()
        self.do("echo '#mine' >>/etc/kiln/worker.env")
        self.do("apt-get install -y --no-install-recommends /later/*.deb")
        self.do("for i in $(seq 60); do systemctl is-active kiln-worker@1 kiln-coordinator >/dev/null && exit 0; sleep 1; done; exit 1")
        self.wait_for_worker()
        after = self.processes()
        for name in SERVICES:
            self.assertNotEqual(before[name], after[name], f"{name} still runs the old program")
        self.assertIn("#mine", self.do("cat /etc/kiln/worker.env"))
        self.kiln(f"fetch {self.artifact} --out /root/after-upgrade")

    def test_8_a_removal_keeps_settings_and_a_purge_keeps_what_nobody_can_make_again(self):
        names = "kiln-cli kiln-node kiln-coordinator kiln-worker kiln-signer kiln-log kiln-toolchain"
        self.do(f"apt-get remove -y {names}")
        self.assertEqual(self.do("pgrep -c kiln || true").strip(), "0")
        self.do("test -e /etc/kiln/coordinator.env && test -e /etc/kiln/keys/log.key && test -d /var/lib/kiln/store")
        self.do(f"apt-get purge -y {names}")
        self.do("test ! -e /etc/kiln/coordinator.env && test ! -e /var/lib/kiln-worker && test ! -e /var/lib/private/kiln-worker")
        self.do("test -e /etc/kiln/keys/log.key && test -e /etc/kiln/keys/signer.pem && test -e /etc/kiln/workers/1.key")
        self.do("test -d /var/lib/kiln/store && test -d /var/lib/kiln/log")

    def test_9_a_purge_that_is_told_so_removes_all(self):
        self.do("apt-get install -y --no-install-recommends /later/*.deb")
        self.do("apt-get purge -y kiln-coordinator kiln-worker kiln-signer kiln-log", environment=["KILN_PURGE_STATE=yes"])
        self.assertEqual(self.do("ls -d /var/lib/kiln* /var/lib/private/kiln* /etc/kiln/keys /etc/kiln/workers 2>/dev/null || true"), "")
        self.do("test ! -e /lib/systemd/system/kiln-worker@.service && test ! -e /etc/systemd/system/multi-user.target.wants/kiln-log.service")


if __name__ == "__main__":
    if not shutil.which("cpack"):
        print("skipped: cpack, of the package cmake, is not installed")
        sys.exit(77)
    result = unittest.main(exit=False).result
    sys.exit(0 if result.testsRun and result.wasSuccessful() else 77 if result.skipped else 1)
