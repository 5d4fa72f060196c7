#!/usr/bin/env python3
"""libkiln_node as it is installed: what it gives and needs, and programs of others that find it by pkg-config and CMake."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "infra"))
from farm import ROOT, FarmCase  # noqa: E402

BUILD = pathlib.Path(os.environ.get("KILN_TEST_BUILD", ROOT / "build/release"))
HEADERS = (ROOT / "api/node/kiln_node.h", ROOT / "compiler_core/runtime/kiln_runtime.h")


def said(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


class Installed(FarmCase):
    """Built and installed once; one farm has an artifact for the programs to run."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln installed "))
        cls.prefix = cls.home / "prefix"
        said("cmake", "--install", BUILD, "--component", "node", "--prefix", cls.prefix)
        cls.library = next(cls.prefix.rglob("libkiln_node.so.0")).resolve()
        cls.env = {**os.environ, "PKG_CONFIG_PATH": str(next(cls.prefix.rglob("pkgconfig"))),
                   "LD_LIBRARY_PATH": str(cls.library.parent)}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home, ignore_errors=True)
        super().tearDownClass()

    def test_it_gives_what_the_headers_declare_and_nothing_else(self):
        declared = set()
        for header in HEADERS:
            text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
            declared |= set(re.findall(r"\b(kiln_\w+)\s*\(", text))
        given = [line.split()[-1] for line in said("nm", "-D", "--defined-only", self.library).splitlines()]
        functions = {name.split("@@")[0] for name in given if "@@" in name}
        self.assertEqual(functions, declared)
        self.assertEqual({name.split("@@")[1] for name in given if "@@" in name}, {"KILN_NODE_0", "KILN_NODE_0.1"})
        self.assertLessEqual({name for name in given if "@@" not in name}, {"KILN_NODE_0", "KILN_NODE_0.1"})

    def test_it_needs_neither_llvm_nor_the_farm(self):
        dynamic = said("readelf", "-d", self.library)
        self.assertIn("soname: [libkiln_node.so.0]", dynamic)
        needed = {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)}
        self.assertLessEqual(needed, {"libc", "libm", "libgcc_s", "libstdc++", "libcrypto", "libfmt", "ld-linux-x86-64"})

    def examples(self, run, describe):
        root, policy = self.farm.env["KILN_TRUST_ROOT"], self.farm.env["KILN_POLICY"]
        artifact = self.fetched(f"for {run.parent.name}")
        self.assertEqual(said(run, artifact, root, policy, env=self.env), f"{self.artifact}\n40 bytes\n")
        self.assertEqual(said(describe, artifact, root, policy, env=self.env), "image f32\n")
        refused = subprocess.run([run, self.home / "nowhere", root, policy], capture_output=True, text=True, env=self.env, check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("nowhere", refused.stdout)

    def test_programs_find_it_by_pkg_config(self):
        out = self.home / "by pkg-config"
        out.mkdir()
        flags = said("pkg-config", "--cflags", "--libs", "kiln-node", env=self.env).replace("\\ ", "\0").split()
        flags = [flag.replace("\0", " ") for flag in flags]
        self.assertEqual(said("pkg-config", "--modversion", "kiln-node", env=self.env), "0.1.0\n")
        said("cc", "-Wall", "-Werror", HERE / "package/run.c", *flags, "-o", out / "run")
        said("c++", "-Wall", "-Werror", HERE / "package/describe.cpp", *flags, "-o", out / "describe")
        self.examples(out / "run", out / "describe")

    def test_programs_find_it_by_cmake(self):
        out = self.home / "by cmake"
        said("cmake", "-S", HERE / "package", "-B", out, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        said("cmake", "--build", out)
        self.examples(out / "run", out / "describe")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
