#!/usr/bin/env python3
"""The console of a real farm in headless Chromium: every view shows what the commands say, and what it verifies is what kiln verifies."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

from farm import ROOT, TARGET, FarmCase, artifact_of, json_of

NODE = shutil.which("node") or shutil.which("nodejs")
PICTURES = os.environ.get("KILN_CONSOLE_PICTURES", "")


def quoted(text):
    return urllib.parse.quote(text, safe="")


class ConsoleTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if "KILN_HTTP_SOCKET" not in cls.farm.env:
            cls.farm.close()
            raise unittest.SkipTest("the farm serves no API over HTTP")
        cls.other = artifact_of(cls.farm.build(*cls.BUILD, "--reassociation", "on"))
        cls.jobs = json_of(cls.farm.kiln("jobs", "--json"))
        cls.job = cls.jobs["jobs"][0]["id"]
        a, b = quoted(cls.artifact), quoted(cls.other)
        cls.views = ["#/artifacts", f"#/artifacts/{a}", f"#/provenance/{a}", f"#/compare/{a}/{b}", "#/affected?component=kiln-cc", "#/jobs",
                     f"#/jobs/{cls.job}", "#/workers", "#/toolchains", "#/log", "#/recalls", "#/tuning"]
        if PICTURES:
            pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        wanted = {"socket": cls.farm.env["KILN_HTTP_SOCKET"], "root": cls.farm.env["KILN_TRUST_ROOT"], "policy": cls.farm.env["KILN_POLICY"],
                  "views": cls.views, "pictures": PICTURES}
        out = subprocess.run([NODE, ROOT / "tests/api/console/support/drive.mjs", json.dumps(wanted)], capture_output=True, text=True, timeout=300)
        assert out.returncode == 0, out.stderr
        cls.shown = json.loads(out.stdout)
        print(f"first contentful paint {cls.shown['firstPaint']:.0f} ms, {cls.shown['loaded']} bytes of script and style", flush=True)

    def view(self, start):
        return next(shown for view, shown in self.shown["views"].items() if view == start or view.startswith(start))

    def test_nothing_is_red_and_the_browser_has_nothing_to_complain_of(self):
        for view, shown in self.shown["views"].items():
            with self.subTest(view=view):
                self.assertEqual(shown["bad"], [], shown["text"][:2000])
        self.assertEqual(self.shown["complaints"], [])

    def test_the_page_verifies_what_kiln_verifies(self):
        shown = self.view(f"#/artifacts/{quoted(self.artifact)}")
        self.assertEqual(shown["good"], 1, shown["text"][:2000])
        kiln = json_of(self.kiln("verify", self.artifact, "--json"))
        # Bundles are numbered in the order in which each found them; fixtures are not read by the page.
        known = lambda check, detail: (re.sub(r"^bundle \d+$", "bundle", check), re.sub(r"\d+ s ago", "some s ago", detail))
        wanted = sorted(known(line["check"], line["detail"]) for line in kiln["checks"] if not line["check"].startswith("fixture"))
        self.assertEqual(sorted(known(row[1], row[2]) for row in shown["checks"][0][1:]), wanted)

    def test_views_show_what_the_commands_say(self):
        self.assertIn(self.artifact[:19], self.view("#/artifacts")["text"])
        self.assertEqual({row[0] for row in self.view("#/jobs")["checks"][0][1:]}, {job["id"] for job in self.jobs["jobs"]})
        for worker in json_of(self.kiln("workers", "--json"))["workers"]:
            self.assertIn(worker["name"], self.view("#/workers")["text"])
        for toolchain in json_of(self.kiln("toolchain", "list", "--json"))["toolchains"]:
            self.assertIn(toolchain["label"], self.view("#/toolchains")["text"])
        self.assertIn(self.artifact[:19], self.view("#/affected")["text"])
        self.assertIn("worker-1", self.view("#/provenance")["text"])
        self.assertIn("reassociation", self.view("#/compare")["text"])
        self.assertIn(TARGET, self.view(f"#/jobs/{self.job}")["text"])

    def test_an_artifact_shows_the_compilers_stages(self):
        stages = self.view(f"#/artifacts/{quoted(self.artifact)}")["stages"]
        for name in ("Program", "Capture", "Rewrite", "Partition", "Schedule", "Code", "Plan", "Files"):
            self.assertTrue(any(stage.startswith(name) for stage in stages), (name, stages))


if __name__ == "__main__":
    if not NODE or not pathlib.Path("/usr/bin/chromedriver").exists():
        print("console_test: node or chromedriver is not installed; infra/setup has them")
        sys.exit(77)
    outcome = unittest.main(exit=False).result
    sys.exit(77 if outcome.skipped else not outcome.wasSuccessful())
