#!/usr/bin/env python3
"""The locked build of a toolchain: its lock, its inputs, its root."""
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "infra/toolchain"
sys.path.insert(0, str(FOLDER))
sys.dont_write_bytecode = True
import inputs  # noqa: E402
import lockfile  # noqa: E402
import root  # noqa: E402
from lockfile import Lock, Package, Refused, Source, Wheel  # noqa: E402

PACKAGE = {"architecture": "amd64", "digest": "sha256:" + "1" * 64, "name": "a", "size": "5", "version": "1:2.0-1+b1"}
WHEEL = {"digest": "sha256:" + "2" * 64, "name": "w", "version": "1.0"}
LOCK = {"apiVersion": "kiln/v1", "kind": "ToolchainLock", "packages": [PACKAGE], "wheels": [WHEEL]}


class TempFolder(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kiln lock "))
        self.addCleanup(shutil.rmtree, self.dir)

    def put(self, folder, data):
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(data).hexdigest()
        (folder / name).write_bytes(data)
        return "sha256:" + name


class LockFile(TempFolder):
    def read(self, document):
        path = self.dir / "lock.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return lockfile.read(path)

    def refused(self, document, words):
        with self.assertRaises(Refused) as caught:
            self.read(document)
        self.assertIn(words, str(caught.exception))

    def test_what_is_written_is_read_again(self):
        lock = Lock([Package("a", "1:2.0-1", "amd64", "sha256:" + "1" * 64, 5)], [Wheel("w", "1.0", "sha256:" + "2" * 64)],
                    Source("3" * 40, "sha256:" + "4" * 64, 6))
        self.assertEqual(self.read(lockfile.text_of(lock)), lock)

    def test_a_farm_takes_the_lock_of_a_built_tree(self):
        bare = self.read(LOCK)
        self.assertIsNone(bare.wheels[0].size)
        self.assertNotIn("None", lockfile.text_of(bare))
        for wheel in ({**WHEEL, "size": "7"}, WHEEL):
            read = self.read({**LOCK, "wheels": [wheel]})
            self.assertEqual(self.read(lockfile.text_of(read)), read)
        golden = ROOT / "tests/golden/v1/toolchain-lock.json"
        self.assertEqual([i.text() for i in lockfile.read(golden).inputs][-2:],
                         ["wheel nvidia-cuda-nvcc 13.0.88", "source of commit " + "a" * 40])

    def test_malformed_locks_are_refused_by_name(self):
        self.refused("{", "line 1")
        self.refused("[" * 100000, "")
        self.refused([], "infra/toolchain/lock makes a new one")
        self.refused({**LOCK, "kind": "Lock"}, "is not a ToolchainLock")
        self.refused({**LOCK, "more": 1}, "unknown member more")
        self.refused({**LOCK, "packages": [{**PACKAGE, "name": "../a"}]}, "name '../a' is not one")
        self.refused({**LOCK, "packages": [{**PACKAGE, "digest": "sha256:12"}]}, "digest")
        self.refused({**LOCK, "packages": [{**PACKAGE, "size": 5}]}, "size is not a string")
        self.refused({**LOCK, "packages": [{**PACKAGE, "name": "b"}, PACKAGE]}, "sorted")
        self.refused({**LOCK, "packages": [PACKAGE, PACKAGE]}, "each once")
        self.refused({**LOCK, "wheels": [PACKAGE]}, "a wheel has the members")
        self.refused({**LOCK, "wheels": [{**WHEEL, "size": "x"}]}, "size 'x' is not one")
        self.refused({name: LOCK[name] for name in LOCK if name != "wheels"}, "wheels")
        self.refused("{" + " " * lockfile.LIMIT, "at most")

    def test_the_kept_lock_has_what_the_build_asks_for(self):
        lock = lockfile.read(FOLDER / "lock.json")
        names = {package.name for package in lock.packages}
        wanted = {line for line in (FOLDER / "packages.txt").read_text().splitlines() if line and line[0] != "#"}
        self.assertLessEqual(wanted, names)
        pins = (FOLDER.parent / "requirements-cuda.txt").read_text()
        for wheel in lock.wheels:
            self.assertIn(f"{wheel.name}=={wheel.version} --hash={wheel.digest}", pins)
        self.assertIsNone(lock.source, "the kept lock is of whatever checkout is built")


class Inputs(TempFolder):
    def test_what_is_in_the_folder_is_taken_from_there(self):
        digest = self.put(self.dir / "blobs", b"a package")
        package = Package("kiln-no-such-package", "1", "all", digest, 9)
        found = inputs.gather(Lock([package], []), self.dir / "blobs")
        self.assertEqual(found[package].read_bytes(), b"a package")

    def test_wheels_are_measured(self):
        digest = self.put(self.dir / "blobs", b"a wheel")
        wheel, source = Wheel("w", "1.0", digest), Source("0" * 40, self.put(self.dir / "blobs", b"source"), 6)
        bare = Lock([], [wheel], source)
        lock, found = inputs.measured(bare, inputs.gather(bare, self.dir / "blobs"))
        self.assertEqual(lock.wheels, [Wheel("w", "1.0", digest, 7)])
        self.assertEqual(found[lock.wheels[0]].read_bytes(), b"a wheel")
        self.assertEqual(set(found), set(lock.inputs))

    def test_a_changed_input_is_not_taken(self):
        digest = self.put(self.dir / "blobs", b"a package")
        (self.dir / "blobs" / digest.removeprefix("sha256:")).write_bytes(b"b package")
        source = Source("0" * 40, "sha256:" + "5" * 64, 1)
        with self.assertRaises(Refused) as caught:
            inputs.gather(Lock([Package("kiln-no-such-package", "1", "all", digest, 9)], [], source), self.dir / "blobs")
        text = str(caught.exception)
        self.assertTrue(text.startswith("not rebuildable from source"), text)
        self.assertIn(f"package kiln-no-such-package 1 ({digest})", text)
        self.assertIn("source of commit " + "0" * 40, text)
        self.assertIn("kiln toolchain lock", text)

    def test_the_source_archive_depends_on_the_files_alone(self):
        if subprocess.run(["git", "-C", lockfile.ROOT, "rev-parse"], capture_output=True, check=False).returncode != 0:
            self.skipTest("not a git checkout")
        archives = []
        for name, umask in (("one", 0o022), ("two", 0o077)):
            (self.dir / name).mkdir()
            old = os.umask(umask)
            archives.append(inputs.source_of_checkout(self.dir / name))
            os.umask(old)
        self.assertEqual(archives[0], archives[1])
        inputs.unpack_source(inputs.blob(self.dir / "one", archives[0].digest), self.dir / "unpacked")
        self.assertEqual((self.dir / "unpacked/CMakeLists.txt").read_bytes(), (lockfile.ROOT / "CMakeLists.txt").read_bytes())
        self.assertTrue(os.access(self.dir / "unpacked/infra/toolchain/build", os.X_OK))

    def test_a_source_archive_stays_below_its_folder(self):
        for name, kind in (("../up", tarfile.REGTYPE), ("/etc/x", tarfile.REGTYPE), ("link", tarfile.SYMTYPE),
                           ("fifo", tarfile.FIFOTYPE)):
            with self.subTest(name):
                path = self.dir / "archive.tar"
                with tarfile.open(path, "w") as archive:
                    info = tarfile.TarInfo(name)
                    info.type, info.linkname, info.size = kind, "/etc", 1 if kind == tarfile.REGTYPE else 0
                    archive.addfile(info, io.BytesIO(b"x"))
                with self.assertRaises(Refused):
                    inputs.unpack_source(path, self.dir / "unpacked")
                self.assertFalse((self.dir / "up").exists())


PROBE = r"""
#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
extern char** environ;
int main(void) {
  struct utsname name;
  struct dirent* entry;
  uname(&name);
  printf("uid %d host %s\n", getuid(), name.nodename);
  DIR* folder = opendir("/");
  while ((entry = readdir(folder)) != NULL) printf("root/%s\n", entry->d_name);
  folder = opendir("/sys/class/net");
  printf("net %s\n", folder ? "there" : "none");
  for (char** at = environ; *at; ++at) printf("env %s\n", *at);
  printf("writable %d\n", access("/usr", W_OK) == 0);
  fflush(stdout);
  FILE* out = fopen("/out/probe", "w");
  return out == NULL || fprintf(out, "x") < 0;
}
"""


class Root(TempFolder):
    def package_of(self, files):
        tree = self.dir / "package"
        for name, data in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(data)
            (tree / name).chmod(0o755)
        control = tree / "DEBIAN/control"
        control.parent.mkdir()
        control.write_text("Package: probe\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@example>\nDescription: x\n")
        deb = self.dir / "probe.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb], check=True, capture_output=True)
        return Package("probe", "1", "amd64", "sha256:" + "0" * 64, 1), deb

    def probe(self):
        source = self.dir / "probe.c"
        source.write_text(PROBE)
        subprocess.run(["cc", "-static", "-o", self.dir / "probe", source], check=True)
        return (self.dir / "probe").read_bytes()

    def test_a_command_sees_the_packages_and_nothing_else(self):
        package, deb = self.package_of({"bin/probe": self.probe()})
        system = self.dir / "root"
        system.mkdir()
        root.make({package: deb}, system)
        self.assertTrue((system / "usr/bin/probe").is_file(), "Debian's merged /usr")
        places = {name: self.dir / name for name in ("source", "build", "cuda", "out")}
        for place in places.values():
            place.mkdir()
        os.environ["KILN_LEAK"] = "x"
        said = root.run(system, places, ["probe"])
        self.assertIn("uid 1000 host localhost\n", said)
        seen = {line.removeprefix("root/") for line in said.splitlines() if line.startswith("root/")}
        self.assertEqual(seen - {".", ".."}, {"bin", "build", "cuda", "dev", "lib", "lib32", "lib64", "libx32", "out", "proc",
                                              "sbin", "source", "tmp", "usr"})
        environment = {line.split()[1].split("=")[0] for line in said.splitlines() if line.startswith("env ")}
        self.assertEqual(environment - {"PWD"}, set(root.ENVIRONMENT))
        self.assertIn("net none", said)
        self.assertIn("writable 0", said)
        self.assertEqual((self.dir / "out/probe").read_text(), "x")

    def test_a_failing_command_is_named(self):
        package, deb = self.package_of({"usr/bin/probe": self.probe()})
        system = self.dir / "root"
        system.mkdir()
        root.make({package: deb}, system)
        with self.assertRaises(Refused) as caught:
            root.run(system, {"build": self.dir}, ["/nonexistent"])
        self.assertIn("/nonexistent failed in the locked root", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
