#!/usr/bin/env python3
"""The images of infra/deploy/images: the same bytes twice, nobody's files but root's, and programs that run without root, on a
read-only root, in skopeo's and crun's hands. Programs come from $KILN_TEST_BIN."""
import json
import pathlib
import shutil
import stat
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
from containers import BIN, ROOT, Bundle, Image, build, filter_like_a_runtimes, run

PROGRAMS = {"coordinator": "kiln-coordinator", "signer": "kiln-signer", "log": "kiln-log", "worker": "kiln-worker", "kiln": "kiln"}


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-images-"))
        cls.home.chmod(0o755)
        cls.layout = cls.home / "images"
        cls.made = build(cls.layout)
        assert cls.made.returncode == 0, cls.made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home)

    def test_the_same_digests_twice(self):
        again = build(self.home / "again")
        self.assertEqual(again.stdout, self.made.stdout)
        self.assertEqual((self.home / "again/index.json").read_bytes(), (self.layout / "index.json").read_bytes())
        self.assertEqual([line.split()[0] for line in again.stdout.splitlines()],
                         ["coordinator", "signer", "log", "worker", "kiln", "init"])

    def test_a_lock_holds_packages_and_files(self):
        lock = self.home / "images.lock.json"
        locked = build(self.home / "locked", "--lock", lock)
        self.assertEqual((locked.returncode, locked.stdout), (0, self.made.stdout), locked.stderr)
        document = json.loads(lock.read_text())
        document["packages"]["libc6"] = "2.0"
        document["files"]["/usr/bin/bwrap"] = "0" * 64
        other = self.home / "other.json"
        other.write_text(json.dumps(document))
        refused = build(self.home / "refused", "--lock", other)
        self.assertEqual(refused.returncode, 9)
        self.assertIn("libc6: 2.0 in the lock", refused.stderr)
        self.assertIn("/usr/bin/bwrap: 000000", refused.stderr)
        self.assertFalse((self.home / "refused").exists())

    def test_files_are_roots_and_entries_in_order(self):
        for name in (*PROGRAMS, "init"):
            for layer in Image(self.layout, name).layers():
                with tarfile.open(layer) as archive:
                    entries = archive.getmembers()
                names = [entry.name for entry in entries]
                self.assertEqual(names, sorted(names))
                for entry in entries:
                    self.assertEqual((entry.uid, entry.gid, entry.mtime), (0, 0, 1), entry.name)
                    self.assertFalse(entry.mode & (stat.S_ISUID | stat.S_ISGID), entry.name)
                    if entry.name != "tmp" and not entry.issym():
                        self.assertFalse(entry.mode & 0o022, entry.name)

    def test_every_package_is_named_for_scanners(self):
        bundle = self.bundle("worker")
        records = {path.name: path.read_text() for path in (bundle.home / "bundle/rootfs/var/lib/dpkg/status.d").iterdir()}
        for package in ("libc6", "bubblewrap", "dash", "ca-certificates", "libgrpc29"):
            self.assertIn(f"Package: {package}\n", records[package])
            self.assertRegex(records[package], r"(?m)^Version: \S+$")
        lock = json.loads((self.home / "images.lock.json").read_text())
        self.assertLessEqual(set(records), set(lock["packages"]))

    def test_what_is_missing_is_named(self):
        empty = self.home / "no programs"
        empty.mkdir()
        refused = run(ROOT / "infra/deploy/images/build", "--out", self.home / "none", "--bin", empty)
        self.assertEqual(refused.returncode, 7)
        self.assertIn("infra/build release kiln-coordinator", refused.stderr)

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not installed")
    def test_skopeo_takes_them(self):
        for name in PROGRAMS:
            copied = run("skopeo", "copy", f"oci:{self.layout}:{name}", f"dir:{self.home / name}")
            self.assertEqual(copied.returncode, 0, copied.stderr)
            shown = run("skopeo", "inspect", "--config", f"oci:{self.layout}:{name}")
            config = json.loads(shown.stdout)["config"]
            self.assertEqual((config["User"], config["Entrypoint"]), ("65532:65532", [f"/usr/bin/{PROGRAMS[name]}"]))

    def bundle(self, name):
        bundle = Bundle(Image(self.layout, name))
        self.addCleanup(bundle.close)
        return bundle

    @unittest.skipUnless(shutil.which("crun"), "crun is not installed")
    def test_programs_run_without_root_on_a_read_only_root(self):
        for name, program in PROGRAMS.items():
            bundle = self.bundle(name)
            helped = bundle.crun(f"/usr/bin/{program}", "--help", masked=True, seccomp=filter_like_a_runtimes())
            self.assertEqual(helped.returncode, 0, helped.stderr)
            self.assertIn("Usage:", helped.stdout)
        worker = self.bundle("worker")
        refused = worker.crun("/usr/bin/sh", "-c", "echo x >/etc/x")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Read-only file system", refused.stderr)

    @unittest.skipUnless(shutil.which("crun"), "crun is not installed")
    def test_a_key_is_copied_for_its_program_alone(self):
        bundle = self.bundle("init")
        (bundle.home / "secret").mkdir()
        (bundle.home / "secret/signer.pem").write_text("key\n")
        mounts = [{"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
                  {"destination": "/var/lib/kiln", "type": "bind", "source": str(bundle.home / "secret"), "options": ["bind", "ro"]}]
        done = bundle.crun("/usr/bin/install", "-v", "-m", "0600", "-t", "/run", "/var/lib/kiln/signer.pem", mounts=mounts)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-> '/run/signer.pem'", done.stdout)


if __name__ == "__main__":
    if not (BIN / "kiln-coordinator").exists():
        print(f"skipped: no programs in {BIN}")
        sys.exit(77)
    unittest.main()
