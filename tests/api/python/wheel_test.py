#!/usr/bin/env python3
"""infra/wheel: the same bytes twice, nothing of this machine inside, and an environment of its own that can use it.

usage: wheel_test.py; exit 77 where the wheel's tools (infra/setup) are missing."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CACHE = pathlib.Path(os.environ.get("KILN_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kiln")
TOOLS = CACHE / "wheel-venv"


def said(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="kiln wheel ")
        cls.made = [next(iter(pathlib.Path(said(ROOT / "infra/wheel", f"{cls.home.name}/{at}").strip()).parent.glob("*.whl")))
                    for at in ("one", "two")]

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()

    def test_two_wheels_are_equal_and_name_what_they_run_on(self):
        self.assertRegex(self.made[0].name, r"^kiln-[0-9.]+-cp311-abi3-manylinux_2_3[0-6]_x86_64\.whl$")
        self.assertEqual(self.made[0].name, self.made[1].name)
        self.assertEqual(self.made[0].read_bytes(), self.made[1].read_bytes())

    def test_nothing_of_llvm_of_the_farm_or_of_this_machine_is_inside(self):
        with zipfile.ZipFile(self.made[0]) as wheel:
            names = set(wheel.namelist())
            native = wheel.read("kiln/_native.abi3.so")
            held = b"".join(wheel.read(name) for name in names)
        for name in ("py.typed", "_native.pyi", "protos.desc", "onnxruntime.py"):
            self.assertIn(f"kiln/{name}", names)
        self.assertFalse([name for name in names if "__pycache__" in name])
        self.assertNotIn(str(ROOT).encode(), held)
        for foreign in (b"llvm::", b"N4llvm", b"N4grpc", b"google8protobuf", b"curl_easy"):
            self.assertNotIn(foreign, native)
        path = pathlib.Path(self.home.name) / "native.so"
        path.write_bytes(native)
        needed = {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", path))}
        self.assertLessEqual(needed, {"libc", "libm", "libz", "libgcc_s", "libstdc++", "ld-linux-x86-64"})
        given = [line.split()[-1] for line in said("nm", "-D", "--defined-only", path).splitlines()]
        self.assertEqual(given, ["PyInit__native"])

    def test_it_works_where_nothing_else_is_installed(self):
        place = pathlib.Path(self.home.name) / "place"
        said("/usr/bin/python3", "-m", "venv", place)
        said(place / "bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", self.made[0])
        script = ("import kiln\nprint(memoryview(kiln.empty((2, 3))).nbytes)\n"
                  "try:\n kiln.verify('nowhere', root='nowhere')\nexcept kiln.NotFoundError as error:\n print(error.exit_code)\n"
                  "try:\n kiln.Farm('unix:/x')\nexcept kiln.UsageError as error:\n print('kiln[farm]' in str(error))\n")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("KILN_", "PYTHON"))}
        self.assertEqual(said(place / "bin/python", "-c", script, env=env, cwd=self.home.name), "24\n6\nTrue\n")

    def test_its_types_are_whole(self):
        place = pathlib.Path(self.home.name) / "typed"
        with zipfile.ZipFile(self.made[0]) as wheel:
            wheel.extractall(place)
        user = place / "user.py"
        user.write_text((ROOT / "tests/api/python/typed_user.py").read_text())
        done = subprocess.run([TOOLS / "bin/mypy", "--strict", "--cache-dir", place / "cache", "--ignore-missing-imports",
                               "kiln", "user.py"], capture_output=True, text=True, cwd=place, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    if not (TOOLS / "ready").exists():
        print("skipped: the wheel's tools are not there; run infra/setup")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v"])
