#!/usr/bin/env python3
"""`kiln` and the node library for AArch64, as infra/cross/README.md makes them: a farm of this machine builds, and they fetch, verify and
run under qemu-user, with the bits of this machine's own processor.

usage: arm64_test.py. Exit 77 (skipped) where qemu-user or Debian's packages for arm64 are not to be had.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/infra"))
from farm import MODELS, FarmCase, artifact_of  # noqa: E402

LIBRARIES = "lib/aarch64-linux-gnu"
TARGET = "cpu:aarch64-neoverse-n1"
ORDER = ("--reassociation", "off")  # of sums: the same for every target, and so the bits
AARCH64 = 183  # e_machine


def made(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


class Arm64Test(FarmCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = pathlib.Path(tempfile.mkdtemp(prefix="kiln-arm64-"))
        cls.addClassCleanup(shutil.rmtree, cls.packages, ignore_errors=True)
        made(ROOT / "infra/packages", cls.packages, "--arm64")
        made(ROOT / "infra/wheel", cls.packages, "--arm64")
        for package in cls.packages.glob("*_arm64.deb"):
            made("dpkg-deb", "-x", package, cls.packages / "root")
        super().setUpClass()
        cls.here = artifact_of(cls.farm.build(MODELS / "digits_cnn.onnx", *ORDER))
        cls.there = artifact_of(cls.farm.build(MODELS / "digits_cnn.onnx", *ORDER, target=TARGET))
        cls.images = f"image={MODELS / 'digits_images.npy'}"
        assert cls.on_arm64("fetch", cls.there, "--out", cls.farm.home / "there").returncode == 0

    @classmethod
    def on_arm64(cls, *words):
        return cls.emulated(cls.packages / "root/usr/bin/kiln", *words)

    @classmethod
    def emulated(cls, *words, **environment):
        return subprocess.run(["qemu-aarch64", "-L", SYSROOT, *map(str, words)], capture_output=True, text=True, timeout=600,
                              env={**cls.farm.env, **environment}, cwd=cls.farm.home)

    def test_what_was_built_is_for_arm64(self):
        self.assertEqual({path.name.split("_")[0] for path in self.packages.glob("*_arm64.deb")}, {"kiln-cli", "kiln-node"})
        root = self.packages / "root/usr"
        programs = [*(root / "bin").iterdir(), *(path for path in (root / LIBRARIES).glob("libkiln_node.so.*") if not path.is_symlink())]
        self.assertGreater(len(programs), 5)
        for path in programs:
            self.assertEqual(int.from_bytes(path.read_bytes()[18:20], "little"), AARCH64, path)

    def test_it_fetches_verifies_and_runs_with_the_same_bits(self):
        verified = self.on_arm64("verify", "there")
        self.assertIn(f"verified {self.there}", verified.stdout, verified.stderr)
        self.assertEqual(self.on_arm64("warmup", "there").returncode, 0)
        self.assertEqual(self.farm.kiln("fetch", self.here, "--out", "here").returncode, 0)
        ours = self.farm.kiln("run", "here", "--each", "--input", self.images, "--output-dir", "ours")
        theirs = self.on_arm64("run", "there", "--each", "--input", self.images, "--output-dir", "theirs")
        self.assertEqual((ours.returncode, theirs.returncode), (0, 0), ours.stderr + theirs.stderr)
        home = self.farm.home
        self.assertEqual((home / "ours/logits.npy").read_bytes(), (home / "theirs/logits.npy").read_bytes())

    def test_it_builds_on_the_farm(self):
        built = self.on_arm64("build", MODELS / "digits_cnn.onnx", *ORDER, "--target", TARGET)
        self.assertEqual(artifact_of(built), self.there, built.stderr)

    def test_an_artifact_for_another_processor_is_refused_by_name(self):
        self.assertEqual(self.on_arm64("fetch", self.here, "--out", "other").returncode, 0)
        refused = self.on_arm64("run", "other", "--input", self.images)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("x86-64", refused.stderr)

    def test_a_damaged_artifact_is_refused(self):
        damaged = self.farm.home / "damaged"
        shutil.copytree(self.farm.home / "there", damaged)
        program = damaged / "program.so"
        program.chmod(0o644)
        program.write_bytes(program.read_bytes()[:-1] + b"\1")
        self.assertEqual(self.on_arm64("verify", "damaged").returncode, 5)
        self.assertEqual(self.on_arm64("run", "damaged", "--input", self.images).returncode, 5)

    def test_a_c_program_runs_it_by_the_library(self):
        root, program = self.packages / "root/usr", self.farm.home / "run-arm64"
        made("clang-22", "--target=aarch64-linux-gnu", f"--sysroot={SYSROOT}", "-fuse-ld=lld-22", f"-I{root}/include",
             ROOT / "tests/api/node/package/run.c", f"-L{root}/{LIBRARIES}", "-lkiln_node", "-o", program)
        done = self.emulated("-E", f"LD_LIBRARY_PATH={root}/{LIBRARIES}", program, "there", self.farm.env["KILN_TRUST_ROOT"],
                             self.farm.env["KILN_POLICY"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("40 bytes", done.stdout)

    def test_python_runs_it(self):
        wheel, = self.packages.glob("kiln-*_aarch64.whl")
        made("python3", "-m", "zipfile", "-e", wheel, self.packages / "python")
        script = "import kiln; print(kiln.load('there').run({'image': kiln.empty((1, 1, 8, 8))})['logits'])"
        done = self.emulated(f"{SYSROOT}/usr/bin/python3", "-c", script, PYTHONPATH=str(self.packages / "python"), PYTHONHOME=f"{SYSROOT}/usr")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<kiln.Tensor f32(1, 10)>", done.stdout)


def sysroot():
    done = subprocess.run([ROOT / "infra/cross/sysroot", "arm64"], capture_output=True, text=True, timeout=1200)
    if done.returncode or not shutil.which("qemu-aarch64"):
        print("skipped: " + (done.stderr.strip().splitlines() or ["qemu-aarch64, of the package qemu-user, is not installed"])[-1])
        sys.exit(77)
    return done.stdout.strip()


if __name__ == "__main__":
    SYSROOT = sysroot()
    unittest.main()
