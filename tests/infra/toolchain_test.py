#!/usr/bin/env python3
"""infra/toolchain/build on a made-up build folder: content, determinism, CUDA parts or none, errors."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent / "infra/toolchain/build"


class ToolchainTree(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kiln toolchain "))  # a path with a space
        self.addCleanup(shutil.rmtree, self.dir)
        self.build_dir = self.dir / "release"
        (self.build_dir / "bin").mkdir(parents=True)
        (self.build_dir / "toolchain/lib").mkdir(parents=True)
        # A program that answers --version --json as kiln-cc does.
        self.compile(self.build_dir / "bin/kiln-cc", 'puts("{\\"targets\\":[\\"cpu:a\\",\\"cpu:b\\",\\"cuda:c\\"]}");')
        for name in ("kmath.bc", "kkernels.bc", "libkiln_builtins-x86_64.a", "libkiln_builtins-aarch64.a", "libkiln_builtins-riscv64.a",
                     "libkiln_builtins-thumbv8.1m.main.a"):
            (self.build_dir / "toolchain/lib" / name).write_text(name)
        self.cuda = self.dir / "cuda"

    def run_build(self, *extra):
        return subprocess.run([sys.executable, BUILD, "--build-dir", self.build_dir, "--cuda", self.cuda, *extra],
                              capture_output=True, text=True, check=False)

    def compile(self, program, statement):
        source = self.dir / (program.name + ".c")
        source.write_text(f'#include <stdio.h>\nint main(void) {{ {statement} }}\n')
        subprocess.run(["cc", "-o", program, source], check=True)

    def add_cuda(self):
        (self.cuda / "bin").mkdir(parents=True)
        (self.cuda / "nvvm/libdevice").mkdir(parents=True)
        # A dynamic program that answers --version as ptxas does.
        self.compile(self.cuda / "bin/ptxas", 'puts("release 13.0, V13.0.88");')
        (self.cuda / "nvvm/libdevice/libdevice.10.bc").write_text("libdevice")

    def content(self, tree):
        return {path.relative_to(tree).as_posix(): (path.read_bytes(), path.stat().st_mode)
                for path in sorted(tree.rglob("*")) if path.is_file()}

    def test_without_cuda_every_file_is_described_by_its_digest(self):
        done = self.run_build()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no CUDA compiler parts", done.stderr)
        tree = self.build_dir / "toolchain-tree"
        description = json.loads((tree / "toolchain.json").read_text())
        self.assertRegex(description["label"], r"^kiln-\d+\.\d+\.\d+\+llvm22[0-9.]+$")
        described = {part["path"]: part for part in description["components"]}
        self.assertEqual(set(self.content(tree)), set(described) | {"toolchain.json"})
        for path, part in described.items():
            data = (tree / path).read_bytes()
            self.assertEqual(part["digest"], "sha256:" + hashlib.sha256(data).hexdigest())
            self.assertEqual(part["size"], str(len(data)))
        self.assertTrue(os.access(tree / "bin/kiln-cc", os.X_OK))
        self.assertEqual(description["targets"], ["cpu:a", "cpu:b"], "the compiler's own list; GPUs need ptxas")

    def test_the_same_files_give_the_same_tree_and_a_second_run_writes_nothing(self):
        self.run_build()
        tree = self.build_dir / "toolchain-tree"
        inode = (tree / "toolchain.json").stat().st_ino
        first = self.content(tree)
        self.run_build()
        self.assertEqual((tree / "toolchain.json").stat().st_ino, inode)
        other = self.dir / "elsewhere"
        self.assertEqual(self.run_build("--out", other).returncode, 0)
        self.assertEqual(self.content(other), first)
        (self.build_dir / "toolchain/lib/kmath.bc").write_text("changed")
        self.run_build()
        self.assertEqual((tree / "lib/kmath.bc").read_text(), "changed")

    def test_cuda_parts_run_from_the_tree_alone(self):
        self.add_cuda()
        done = self.run_build()
        self.assertEqual(done.returncode, 0, done.stderr)
        tree = self.build_dir / "toolchain-tree"
        description = json.loads((tree / "toolchain.json").read_text())
        self.assertTrue(description["label"].endswith("+cuda13.0"), description["label"])
        self.assertIn("cuda:c", description["targets"])
        self.assertIn("lib/libc.so.6", self.content(tree))
        ran = subprocess.run([tree / "lib/ld-linux-x86-64.so.2", "--library-path", tree / "lib", tree / "bin/ptxas"],
                             capture_output=True, text=True, check=True)
        self.assertIn("V13.0.88", ran.stdout)

    def test_a_folder_that_is_no_tree_is_not_replaced(self):
        (self.dir / "mine").mkdir()
        (self.dir / "mine/kept").write_text("x")
        done = self.run_build("--out", self.dir / "mine")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no toolchain tree", done.stderr)
        self.assertTrue((self.dir / "mine/kept").is_file())

    def test_a_missing_compiler_is_named_with_the_next_step(self):
        (self.build_dir / "bin/kiln-cc").unlink()
        done = self.run_build()
        self.assertEqual(done.returncode, 1)
        self.assertIn("infra/build release kiln-cc", done.stderr)
        self.assertFalse((self.build_dir / "toolchain-tree").exists())


if __name__ == "__main__":
    unittest.main()
