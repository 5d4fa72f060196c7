#!/usr/bin/env python3
"""infra/packages: the same bytes twice, clean under lintian; manual pages and completions that their readers take.

usage: packages_test.py; of what build/release has. Exit 77 (skipped) where a tool is missing.
"""
import gzip
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("cpack", "dpkg-deb", "dpkg-shlibdeps", "lintian", "mandoc", "zsh", "fish")
NAMES = {f"kiln-{name}" for name in ("cli", "node", "coordinator", "worker", "signer", "log", "toolchain")}


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **more)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln packages "))
        cls.made = []
        for name in ("one", "another"):
            done = run(ROOT / "infra/packages", cls.home / name, "--no-build")
            assert done.returncode == 0, done.stderr
            cls.made.append({path.name.split("_")[0]: path for path in (cls.home / name).glob("*.deb")})
        cls.root = cls.home / "root"
        for package in cls.made[0].values():
            assert run("dpkg-deb", "-x", package, cls.root).returncode == 0

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home)

    def test_two_are_equal(self):
        self.assertEqual(set(self.made[0]), NAMES)
        for name, package in self.made[0].items():
            self.assertEqual(package.read_bytes(), self.made[1][name].read_bytes(), name)

    def test_lintian_finds_nothing(self):
        done = run("lintian", "--fail-on", "error,warning", *self.made[0].values())
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_pages_are_clean_and_each_program_has_one(self):
        pages = sorted((self.root / "usr/share/man").glob("man[18]/*.gz"))
        for page in pages:
            done = run("mandoc", "-T", "lint", "/dev/stdin", input=gzip.decompress(page.read_bytes()).decode())
            self.assertEqual((done.returncode, done.stdout), (0, ""), page.name)
        named = {page.name.rsplit(".", 2)[0] for page in pages}
        for program in (self.root / "usr/bin").iterdir():
            self.assertIn(program.name, named)

    def test_shells_read_the_completions(self):
        share = self.root / "usr/share"
        for shell, place in (("bash", "bash-completion/completions"), ("zsh", "zsh/vendor-completions"), ("fish", "fish/vendor_completions.d")):
            for script in (share / place).iterdir():
                self.assertEqual(run(shell, "-n", script).returncode, 0, script)

        def complete(line):
            done = run("fish", "--no-config", "-c", f'source "{share}/fish/vendor_completions.d/kiln.fish"; complete -C "{line}"')
            return {candidate.split("\t")[0] for candidate in done.stdout.splitlines()}

        self.assertEqual(complete("kiln toolchain "), {"add", "list", "lock", "show"})
        self.assertEqual(complete("kiln build --tune "), {"catalogue", "off", "reuse", "search"})
        self.assertIn("--default", complete("kiln toolchain add --"))

    def test_a_project_of_somebody_else_finds_the_library(self):
        build = self.home / "others"
        for command in (("cmake", "-S", ROOT / "tests/api/node/package", "-B", build, f"-DCMAKE_PREFIX_PATH={self.root}/usr"),
                        ("cmake", "--build", build)):
            done = run(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{self.root}/usr/lib/x86_64-linux-gnu/libkiln_node.so.0", run("ldd", build / "run").stdout)

    def test_pipelines_find_what_they_call(self):
        installed, source = self.root / "usr/share/kiln/ci", ROOT / "infra/ci"
        names = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
        self.assertEqual(sorted(path.relative_to(installed) for path in installed.rglob("*") if path.is_file()), names)
        for name in names:
            self.assertEqual((installed / name).read_bytes(), (source / name).read_bytes(), name)
        helped = run(installed / "kiln-ci.sh", "--help")
        self.assertEqual(helped.returncode, 0, helped.stderr)
        listed = run("dpkg-deb", "-c", self.made[0]["kiln-cli"]).stdout
        self.assertIn("-rwxr-xr-x root/root", next(line for line in listed.splitlines() if line.endswith("/usr/share/kiln/ci/kiln-ci.sh")))

    def test_keys_are_roots_alone(self):
        for folder in ("keys", "workers"):
            self.assertEqual((self.root / "etc/kiln" / folder).stat().st_mode & 0o777, 0o700)


if __name__ == "__main__":
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    unittest.main()
