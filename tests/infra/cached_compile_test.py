#!/usr/bin/env python3
"""Two checkouts in different folders share what was compiled, behind precompiled headers too, until a header differs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCHER = pathlib.Path(__file__).resolve().parents[2] / "infra/cmake/cached_compile"
COMPILER = "clang++-22"


class CachedCompile(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="kiln-ccache-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.env = {**os.environ, "CCACHE_DIR": str(self.scratch / "cache")}

    def build(self, name, header):
        """Builds a project in a folder of its own; how many units came from the cache and how many did not."""
        root = self.scratch / name
        root.mkdir()
        (root / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\n"
            f"set(CMAKE_CXX_COMPILER_LAUNCHER {LAUNCHER} ${{CMAKE_SOURCE_DIR}} ccache)\n"
            "add_library(x first.cc second.cc)\ntarget_precompile_headers(x PRIVATE common.h)\n")
        (root / "common.h").write_text("#pragma once\n#include <string>\n" + header)
        (root / "first.cc").write_text('#include "common.h"\nint first() { return common(); }\n')
        (root / "second.cc").write_text("std::string second() { return __FILE__; }\n")
        self.run_quietly("cmake", "-S", root, "-B", root / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        self.run_quietly("ccache", "--zero-stats")
        self.run_quietly("ninja", "-C", root / "build")
        stats = dict(re.findall(r"^(\w+)\t(\d+)$", self.run_quietly("ccache", "--print-stats"), re.MULTILINE))
        hits = int(stats["direct_cache_hit"]) + int(stats["preprocessed_cache_hit"])
        return hits, int(stats["cache_miss"])

    def run_quietly(self, *command):
        done = subprocess.run([str(part) for part in command], env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_another_folder_takes_what_the_first_has_compiled(self):
        header = "inline int common() { return 3; }\n"
        self.assertEqual(self.build("one", header), (0, 2))
        self.assertEqual(self.build("another folder", header), (2, 0))
        objects = [next((self.scratch / name).rglob("first.cc.o")).read_bytes() for name in ("one", "another folder")]
        self.assertEqual(objects[0], objects[1])

    def test_another_header_is_compiled_anew(self):
        self.assertEqual(self.build("one", "inline int common() { return 3; }\n"), (0, 2))
        self.assertEqual(self.build("another folder", "inline int common() { return 4; }\n"), (0, 2))


if __name__ == "__main__":
    if not all(map(shutil.which, ("ccache", "ninja", "cmake", COMPILER))):
        print("skipped: ccache, ninja, cmake or the compiler is not here")
        sys.exit(77)
    unittest.main()
