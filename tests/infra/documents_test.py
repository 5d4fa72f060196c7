#!/usr/bin/env python3
"""The commands of README.md and of every guide in api/guides, on one new farm: they must print what the pages show.

usage: documents_test.py [-v]
KILN_ACCEPT_GOLDEN=1 writes what the commands print now into the pages; look at the diff before you commit it.
KILN_PAGES="tune.md README.md" runs these pages alone. How a page is read: pages.py beside this file.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import pages
from farm import ROOT, Farm

GUIDES = ROOT / "api/guides"
WANTED = os.environ.get("KILN_PAGES", "").split()
ACCEPT = os.environ.get("KILN_ACCEPT_GOLDEN") == "1"
# On a busy machine any command may have to wait for the farm, not only those that do by themselves.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("KILN_")} | {"KILN_WAIT": "2m"}

# What a page cannot do without, and who has it.
NEEDS = {"build_a_gpu_artifact.md": (ROOT / "build/release/toolchain-tree/bin/ptxas", "CUDA's compiler parts: infra/setup")}


def guides():
    """The guides in the order of their index."""
    return re.findall(r"^\| \[[^]]*\]\((\w+\.md)\)", (GUIDES / "README.md").read_text(), re.M)


def all_pages():
    return [ROOT / "README.md", *(GUIDES / name for name in guides())]


class DocumentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=2, options=("--no-sample", "--emulated-gpu"))

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def checkout(self, name):
        """A checkout that nothing is written into but what a page's commands make, with the farm in .kiln."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix=name, dir=self.farm.home)) / "kiln"
        folder.mkdir()
        for entry in ROOT.iterdir():
            if not entry.name.startswith("."):
                (folder / entry.name).symlink_to(entry)
        (folder / ".kiln").symlink_to(self.farm.dir)
        return folder

    def places(self, folder):
        sockets = re.search(r"unix:(.*)/coordinator.sock", self.farm.env["KILN_ENDPOINT"]).group(1)
        return [(folder, pages.HOME), (self.farm.dir, f"{pages.HOME}/.kiln"), (sockets, f"{pages.HOME}/.kiln/sock"),
                (ROOT, pages.HOME)]

    def test_every_page_prints_what_it_shows(self):
        for page in all_pages():
            if WANTED and page.name not in WANTED:
                continue
            with self.subTest(page=page.name):
                needed, source = NEEDS.get(page.name, (ROOT, ""))
                if not needed.exists():
                    self.skipTest(f"{page.name} needs {source}")
                folder = self.checkout(page.stem)
                environment = ENVIRONMENT | {"XDG_CONFIG_HOME": str(folder.parent / "config")}
                differences = pages.check(page, folder, environment, self.places(folder), ACCEPT)
                if differences:
                    self.fail(f"{page}\n" + "\n\n".join(differences))

    def test_the_index_lists_every_guide(self):
        self.assertEqual(sorted(guides()), sorted(file.name for file in GUIDES.glob("*.md") if "```console" in file.read_text()
                                                  and file.name != "README.md"))

    def test_every_page_has_commands(self):
        for page in all_pages():
            text = page.read_text()
            # What an operator does as root is run by tests/deploy/installed_test.py.
            as_root = "".join(re.findall(r"^```sh operator\n(.*?)^```", text, re.M | re.S)).splitlines()
            self.assertGreaterEqual(len(pages.commands(text)) + len(as_root), 3, page)


class UpTest(unittest.TestCase):
    def test_what_infra_up_prints_at_its_end_runs(self):
        printed = re.search(r"^Go on with:\n(.*?)^EOF$", (ROOT / "infra/up").read_text(), re.M | re.S).group(1)
        farm = Farm(workers=1, options=("--no-sample",))
        self.addCleanup(farm.close)
        self.assertEqual(farm.first.returncode, 0, farm.first.stderr)
        lines = farm.first.stdout.split("Go on with:\n")[1].splitlines()
        self.assertEqual(len(lines), len(printed.splitlines()))
        # The farm's name goes to a folder of this test's own, and a name that an earlier farm has taken gives way.
        environment = {**os.environ, "XDG_CONFIG_HOME": str(farm.home / "config")}
        taken = subprocess.run([ROOT / "build/release/bin/kiln", "config", "add", "local", "--endpoint", "unix:/gone/coordinator.sock"],
                               env=environment, text=True, capture_output=True)
        self.assertEqual(taken.returncode, 0, taken.stderr)
        ran = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=farm.home, env=environment, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stdout[-4000:])
        self.assertIn("is stopped", ran.stdout)


if __name__ == "__main__":
    unittest.main()
