#!/usr/bin/env python3
"""The console of a real farm in headless Chromium, through kiln console: every view shows what the commands say, what it verifies is
what kiln verifies, and an auditor needs no command line."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

from farm import ROOT, TARGET, FarmCase, artifact_of, json_of, wait_for

NODE = shutil.which("node") or shutil.which("nodejs")
PICTURES = os.environ.get("KILN_CONSOLE_PICTURES", "")
AXE = os.environ.get("KILN_AXE", "")


def quoted(text):
    return urllib.parse.quote(text, safe="")


class ConsoleTest(FarmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = artifact_of(cls.farm.build(*cls.BUILD, "--reassociation", "on"))
        tuned = cls.farm.build(ROOT / "tests/models/digits_mlp.onnx", "--profile", "N=1:1:1", "--tune", "search", "--budget", "5s")
        assert tuned.returncode == 0, tuned.stderr
        cls.tuned = artifact_of(tuned)
        parts = json_of(cls.farm.kiln("toolchain", "list", "--json"))["toolchains"][0]["description"]["components"]
        cls.component = next((name for name in ("ptxas", "kiln-cc") if any(part["name"] == name for part in parts)))
        cls.verified = json_of(cls.farm.kiln("verify", cls.artifact, "--json"))  # before a test recalls something
        cls.jobs = json_of(cls.farm.kiln("jobs", "--json"))
        cls.job = cls.jobs["jobs"][0]["id"]
        a, b = quoted(cls.artifact), quoted(cls.other)
        cls.record = cls.first_record()
        cls.views = ["#/artifacts", "#/artifacts?q=digits_mlp", f"#/artifacts/{a}", f"#/artifacts/{quoted(cls.tuned)}", f"#/provenance/{a}", f"#/partition/{a}", f"#/compare/{a}/{b}",
                     f"#/affected?component={cls.component}", f"#/affected?component={cls.component}&prove=yes", "#/jobs", f"#/jobs/{cls.job}", "#/timeline", "#/workers",
                     "#/toolchains", "#/log", "#/recalls", "#/tuning", f"#/tuning/{cls.record['hash']}?size={cls.record['sizeBytes']}", "#/trust"]
        if PICTURES:
            pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        if AXE and not pathlib.Path(AXE).exists():
            print("axe-core is not there, infra/setup has it: the rules of WCAG are not held against the views", flush=True)
        cls.shown = cls.drive(views=cls.views, audit=cls.component, pictures=PICTURES, axe=AXE if pathlib.Path(AXE).is_file() else "")
        print(f"first contentful paint {cls.shown['firstPaint']:.0f} ms, {cls.shown['loaded']} bytes of script and style", flush=True)

    @classmethod
    def first_record(cls):
        out = subprocess.run(["curl", "-sS", "--unix-socket", cls.farm.env["KILN_HTTP_SOCKET"], "http://localhost/api/v1/instances/default/index/tuning"],
                             capture_output=True, check=True, timeout=60).stdout
        return json.loads(out)["records"][0]["record"]

    @classmethod
    def drive(cls, **wanted):
        wanted = {"views": [], "audit": "", "once": False, "pictures": "", "axe": "", "recalled": False} | wanted
        out = subprocess.run([NODE, ROOT / "tests/api/console/support/drive.mjs", json.dumps(wanted)], capture_output=True, text=True,
                             timeout=500, env=cls.farm.env)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)

    def view(self, start):
        return next(shown for view, shown in self.shown["views"].items() if view == start or view.startswith(start))

    def test_nothing_is_red_and_the_browser_has_nothing_to_complain_of(self):
        for view, shown in self.shown["views"].items():
            with self.subTest(view=view):
                self.assertEqual(shown["bad"], [], shown["text"][:2000])
                self.assertTrue(shown["commands"], "each view says which command says the same")
        self.assertEqual(self.shown["complaints"], [])
        self.assertEqual(self.shown["axe"], {}, "WCAG 2.2 AA, in light, dark and on a phone")
        self.assertEqual(self.shown["unreadable"], {}, "no word is broken, nothing sticks out, no sentence has a hole")
        self.assertRegex(self.shown["secretLeft"], r"^http://127\.0\.0\.1:\d+/#/artifacts$")

    def test_the_page_verifies_what_kiln_verifies(self):
        shown = self.view(f"#/artifacts/{quoted(self.artifact)}")
        self.assertEqual(shown["good"], 1, shown["text"][:2000])
        # Bundles are numbered in the order in which each found them; fixtures are not read by the page.
        known = lambda check, detail: (re.sub(r"^bundle \d+$", "bundle", check), re.sub(r"\d+ s ago", "some s ago", detail))
        wanted = sorted(known(line["check"], line["detail"]) for line in self.verified["checks"] if not line["check"].startswith("fixture"))
        self.assertEqual(sorted(known(row[1], row[2]) for row in shown["checks"][0][1:]), wanted)

    def test_views_show_what_the_commands_say(self):
        listed = json_of(self.kiln("artifacts", "--json"))["artifacts"]
        self.assertEqual([row[:4] for row in self.view("#/artifacts")["checks"][0][1:]],
                         [[one["artifact"][:19], ", ".join(one["models"]), one["target"], one["toolchain"]] for one in listed])
        self.assertIn(self.artifact, [one["artifact"] for one in listed])
        found = self.view("#/artifacts?q=digits_mlp")["checks"][0][1:]
        self.assertEqual([row[1] for row in found], ["digits_mlp.onnx"] * len(found))
        self.assertEqual({row[0] for row in found}, {one["artifact"][:19] for one in json_of(self.kiln("artifacts", "digits_mlp", "--json"))["artifacts"]})
        self.assertGreater(len(found), 0)
        self.assertEqual({row[0] for row in self.view("#/jobs")["checks"][0][1:]}, {job["id"] for job in self.jobs["jobs"]})
        for worker in json_of(self.kiln("workers", "--json"))["workers"]:
            self.assertIn(worker["name"], self.view("#/workers")["text"])
            self.assertIn(worker["name"], self.view("#/timeline")["text"])
        for toolchain in json_of(self.kiln("toolchain", "list", "--json"))["toolchains"]:
            self.assertIn(toolchain["label"], self.view("#/toolchains")["text"])
        self.assertIn(self.artifact[:19], self.view("#/affected")["text"])
        self.assertIn("worker-1", self.view("#/provenance")["text"])
        self.assertIn(TARGET, self.view(f"#/jobs/{self.job}")["text"])

    def test_a_comparison_is_of_what_is_signed(self):
        shown = self.view("#/compare")
        self.assertEqual(shown["good"], 2, shown["text"][:2000])
        self.assertIn(["spec.numerics.reassociation", "deterministic", "on"], shown["checks"][1])

    def test_an_artifact_shows_the_compilers_stages(self):
        stages = self.view(f"#/artifacts/{quoted(self.artifact)}")["stages"]
        for name in ("Program", "Capture", "Rewrite", "Partition", "Schedule", "Code", "Plan", "Files"):
            self.assertTrue(any(stage.startswith(name) for stage in stages), (name, stages))

    def test_a_kernel_names_where_its_schedule_is_from(self):
        """As kiln show says it: the default, the toolchain's catalogue, or what a search found, which may be none that is better."""
        for artifact in (self.artifact, self.tuned):
            kernels = json_of(self.kiln("show", artifact, "--json"))["manifest"]["stages"]["schedule"]["kernels"]
            wanted = [(one["symbol"], f"tuning entry {one['tuned']}" if one.get("tuned") else
                       f"entry {one['catalogue']} of the toolchain's catalogue" if one.get("catalogue") else "the default" if one.get("schedule") else "") for one in kernels]
            table = next(table for table in self.view(f"#/artifacts/{quoted(artifact)}")["checks"] if "From" in table[0] and table[0][0] == "Kernel")
            self.assertEqual([(row[0], row[table[0].index("From")]) for row in table[1:]], wanted)

    def test_an_open_job_is_followed_by_who_has_what(self):
        """Before anything of it has ended there are no logs; a search then holds its worker for a while."""
        self.farm.kill("worker-1", 19)
        try:
            job = self.kiln("build", ROOT / "tests/models/digits_cnn.onnx", "--target", TARGET, "--reassociation", "on", "--tune", "search",
                            "--budget", "2m", "--detach").stdout.split()[-1]
            views = [f"#/jobs/{job}", "#/timeline"]
            queued = self.drive(views=views, once=True)
        finally:
            self.farm.kill("worker-1", 18)
        running = lambda: [run for action in self.job_of(job)["actions"] if action["kind"] == "ACTION_TUNE" for run in action.get("running", [])]
        run = wait_for(running, 60, "the search runs")[0]
        busy = self.drive(views=views, once=True)
        self.kiln("cancel", job)
        for shown in (queued, busy):
            self.assertEqual(shown["complaints"], [])
            for view in views:
                self.assertEqual(shown["views"][view]["bad"], [], shown["views"][view]["text"])
                self.assertRegex(shown["views"][view]["text"], "queued|worker-1 since")
        for view in views:
            self.assertIn(f"worker-1 since {run['leased'][11:19]}", busy["views"][view]["text"])
            self.assertIn("timeline", busy["views"][view]["pictures"])

    def job_of(self, job):
        out = subprocess.run(["curl", "-sS", "--unix-socket", self.farm.env["KILN_HTTP_SOCKET"], f"http://localhost/api/v1/instances/default/jobs/{job}"],
                             capture_output=True, check=True, timeout=60).stdout
        return json.loads(out)

    def test_what_is_drawn_is_there(self):
        for view, picture in (("#/partition", "graph"), ("#/provenance", "graph"), ("#/timeline", "timeline"), (f"#/jobs/{self.job}", "timeline"),
                              (f"#/tuning/{self.record['hash']}", "plot"), (f"#/artifacts/{quoted(self.artifact)}", "plan")):
            with self.subTest(view=view):
                self.assertTrue(any(picture in one.split() for one in self.view(view)["pictures"]), self.view(view)["pictures"])
        show = self.kiln("show", self.artifact).stdout
        kernels = [row[1].split(":")[0] for row in next(table for table in self.view("#/partition")["checks"] if table[0] == ["Partition", "Kernel"])[1:]]
        self.assertGreater(len(kernels), 0)
        for kernel in kernels:
            self.assertIn(kernel, show)

    def test_an_auditor_needs_no_command_line(self):
        """What did this part touch, who built it, is it recalled, prove it; and again when an artifact was recalled."""
        seen = self.shown["audit"]
        told = json_of(self.kiln("affected", "--component", self.component, "--json"))
        touched = {one["artifact"][:19] for one in told["affected"]}
        rows = seen["proven"]["checks"][0][1:]
        self.assertEqual({row[0] for row in rows}, touched)
        for artifact, verified, builders, recalled, proof in rows:
            self.assertIn("holds", verified)
            self.assertEqual(builders, "worker-1 (development)")
            self.assertIn("no", recalled)
            self.assertRegex(proof, rf"holds.*toolchain\.json names {self.component} ")
        self.assertEqual(seen["artifact"]["good"], 1)
        self.assertEqual(seen["graph"]["good"], 1)
        self.kiln("recall", "--artifact", self.other, "--reason", "wrong weights", "--recalls", self.farm.home / "recalls.json")
        seen = self.drive(audit=self.component, once=True, recalled=True)["audit"]
        for artifact, verified, builders, recalled, proof in seen["proven"]["checks"][0][1:]:
            bad = artifact == self.other[:19]
            self.assertIn("fails" if bad else "holds", verified)
            self.assertRegex(recalled, "recalled on .*: wrong weights" if bad else "^no, by recalls.json version 1")
            self.assertEqual("holds" in proof, not bad, proof)
        self.assertIn(f"What artifact {self.other} touches", seen["recalls"]["text"])
        self.assertIn("wrong weights", seen["recalls"]["text"])


if __name__ == "__main__":
    if not NODE or not pathlib.Path("/usr/bin/chromedriver").exists():
        print("console_test: node or chromedriver is not installed; infra/setup has them")
        sys.exit(77)
    unittest.main()
