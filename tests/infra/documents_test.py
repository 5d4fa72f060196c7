#!/usr/bin/env python3
"""Every command block of README.md, as it is printed, in its order, on a farm that is new."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from farm import ROOT, Farm


def blocks(text):
    """The shell blocks of a document, without their indentation."""
    found = re.findall(r"^( *)```sh\n(.*?)^ *```$", text, re.M | re.S)
    return [re.sub(rf"^{indent}", "", body, flags=re.M) for indent, body in found]


def commands(block):
    return [line for line in block.splitlines() if line and not line.startswith("#")]


class ReadmeTest(unittest.TestCase):
    def test_every_block_runs(self):
        setting_up, *rest = blocks((ROOT / "README.md").read_text())
        # The first is what brought us here: the farm below is infra/up's, and infra/test runs this.
        self.assertEqual([line.split()[0] for line in commands(setting_up)], ["infra/up", "infra/test"])
        self.assertGreater(sum(len(commands(block)) for block in rest), 30)
        farm = Farm(workers=2)
        self.addCleanup(farm.close)
        self.assertEqual(farm.first.returncode, 0, farm.first.stderr)
        # A checkout that nothing is written into but what the blocks make.
        here = pathlib.Path(tempfile.mkdtemp(prefix="kiln-readme-", dir=farm.home))
        for entry in ROOT.iterdir():
            if not entry.name.startswith("."):
                (here / entry.name).symlink_to(entry)
        (here / ".kiln").symlink_to(farm.dir)
        script = "set -euo pipefail\n" + "".join(
            f"echo '--- block {n}'\n{block}" for n, block in enumerate(rest, 1))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KILN_")}
        ran = subprocess.run(["bash", "-c", script], cwd=here, env=environment, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        self.assertEqual(ran.returncode, 0, ran.stdout[-4000:])
        for said in ("accuracy 292/297", "check passed", "reproduced sha256:", "succeeded", "index, signatures and log agree",
                     "backed up"):
            self.assertIn(said, ran.stdout)

    def test_what_infra_up_prints_at_its_end_runs(self):
        printed = re.search(r"^Go on with:\n(.*?)^EOF$", (ROOT / "infra/up").read_text(), re.M | re.S).group(1)
        farm = Farm(workers=1, options=("--no-sample",))
        self.addCleanup(farm.close)
        self.assertEqual(farm.first.returncode, 0, farm.first.stderr)
        lines = farm.first.stdout.split("Go on with:\n")[1].splitlines()
        self.assertEqual(len(lines), len(printed.splitlines()))
        ran = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=farm.home, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stdout[-4000:])
        self.assertIn("is stopped", ran.stdout)


if __name__ == "__main__":
    unittest.main()
