#!/usr/bin/env python3
"""What a person does with a farm every day, on a farm of infra/up: farms that have names, a project with its lock, short digests,
logs that are followed, the console's URL, and what a slip of the keyboard is answered with."""
import hashlib
import json
import re
import shutil
import unittest
import urllib.request

from farm import MODELS, ROOT, TARGET, Farm, artifact_of, json_of

CNN = MODELS / "digits_cnn.onnx"


def short(digest):
    """As the messages show one."""
    return digest[:19]


class HabitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=1, options=("--no-sample",))
        cls.addClassCleanup(cls.farm.close)
        cls.config = cls.farm.home / "config"
        # A shell that knows nothing of the farm.
        cls.bare = {name: value for name, value in cls.farm.env.items() if not name.startswith("KILN_")} | {
            "XDG_CONFIG_HOME": str(cls.config)}
        added = cls.farm.kiln("config", "add", "lab", "--from-environment", "--use", env=cls.farm.env | {"XDG_CONFIG_HOME": str(cls.config)})
        assert added.returncode == 0, added.stderr

    def kiln(self, *arguments, code=0, cwd=None, **variables):
        done = self.farm.kiln(*arguments, env=self.bare | variables, cwd=cwd)
        self.assertEqual(done.returncode, code, f"{arguments}\n--- out\n{done.stdout}\n--- err\n{done.stderr}")
        return done

    def folder(self, name):
        path = self.farm.home / name
        path.mkdir()
        return path

    def test_farms_that_have_names(self):
        self.kiln("jobs")
        self.kiln("config", "add", "away", "--endpoint", "unix:/nowhere/coordinator.sock")
        self.assertIn("/nowhere/", self.kiln("jobs", "--context", "away", "--wait", "0s", code=7).stderr)
        self.assertIn('did you mean "lab"?', self.kiln("jobs", "--context", "lap", code=6).stderr)
        self.assertIn('did you mean "lab"?', self.kiln("config", "use", "labb", code=6).stderr)
        farms = json_of(self.kiln("config", "list", "--json"))["contexts"]
        self.assertEqual([(farm["name"], farm["inUse"]) for farm in farms], [("away", False), ("lab", True)])
        file = self.config / "kiln/config.json"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        # A variable of the shell comes before the farm in use, an option before both.
        self.kiln("jobs", "--wait", "0s", code=7, KILN_ENDPOINT="unix:/nowhere/coordinator.sock")
        self.kiln("jobs", "--context", "lab", KILN_ENDPOINT="unix:/nowhere/coordinator.sock")
        self.kiln("config", "remove", "away")
        self.kiln("jobs", "--context", "away", code=6)

    def test_a_project_and_its_lock(self):
        home = self.folder("project")
        shutil.copy(CNN, home / "digits.onnx")
        self.kiln("init", "--target", TARGET, cwd=home)
        shutil.copy(MODELS / "digits_mlp.onnx", home / "mlp.onnx")
        with open(home / "kiln.toml", "a") as project:
            project.write(f'\n[[model]]\nname = "mlp"\npath = "mlp.onnx"\ntargets = ["{TARGET}"]\nprofiles = ["N=1:8:64"]\ncheck = true\n')
        built = re.findall(r"^artifact (sha256:\w{64})$", self.kiln("build", cwd=home).stdout, re.M)
        self.assertEqual(len(built), 2)
        lock = json.loads((home / "kiln.lock").read_text())["models"]
        self.assertEqual([lock[name]["artifacts"][TARGET] for name in ("digits", "mlp")], built)
        tree = json_of(self.kiln("toolchain", "list", "--json"))["toolchains"][0]["digest"]
        self.assertEqual({model["toolchain"] for model in lock.values()}, {tree})
        text = (home / "kiln.lock").read_bytes()

        # Nothing has changed: nothing is said, and the lock holds.
        self.assertNotIn("changed", self.kiln("build", cwd=home).stderr)
        self.kiln("build", "--locked", cwd=home)
        self.assertEqual((home / "kiln.lock").read_bytes(), text)

        # Another model under the name: refused before anything is built, with which, and from what to what.
        other = CNN.read_bytes() + b"\x32\x04\x6e\x6f\x74\x65"  # doc_string
        (home / "digits.onnx").write_bytes(other)
        jobs = self.jobs()
        refused = self.kiln("build", "--locked", code=9, cwd=home).stderr
        was, now = lock["digits"]["inputs"].popitem()[1], "sha256:" + hashlib.sha256(other).hexdigest()
        self.assertIn(f"model digits: differs from kiln.lock in input digits.onnx: {short(was)} to {short(now)}", refused)
        self.assertEqual(self.jobs(), jobs)
        self.assertIn(f"digits changed: input digits.onnx: {short(was)} to {short(now)}", self.kiln("build", cwd=home).stderr)
        self.kiln("build", "--locked", cwd=home)

        # Other options, and a model that is gone.
        project = (home / "kiln.toml").read_text()
        (home / "kiln.toml").write_text(project.replace("1:8:64", "1:8:32"))
        self.assertIn("model mlp: differs from kiln.lock in options", self.kiln("build", "--locked", code=9, cwd=home).stderr)
        (home / "kiln.toml").write_text(project[:project.index('\n[[model]]\nname = "mlp"')])
        self.assertIn("model mlp of kiln.lock is not in kiln.toml", self.kiln("build", "--locked", code=9, cwd=home).stderr)
        (home / "kiln.toml").write_text(project)

        # Another toolchain becomes the farm's: the lock's is still there, and a build without --locked says what it did.
        newer = self.add_toolchain(tree)
        self.kiln("build", "--locked", cwd=home)
        named = project.replace('path = "digits.onnx"', 'path = "digits.onnx"\ntoolchain = "kiln-next"')
        (home / "kiln.toml").write_text(named)
        refused = self.kiln("build", "--locked", code=9, cwd=home).stderr
        self.assertIn(f"model digits: differs from kiln.lock in toolchain: {short(tree)} to {short(newer)}", refused)
        (home / "kiln.toml").write_text(project)
        told = self.kiln("build", cwd=home).stderr
        for name in ("digits", "mlp"):
            self.assertRegex(told, rf"{name} changed: toolchain: {short(tree)} to {short(newer)}")
        self.kiln("build", "--locked", cwd=home)

        # Slips in the project file.
        (home / "kiln.toml").write_text(project.replace("profiles =", "profile ="))
        self.assertRegex(self.kiln("build", code=2, cwd=home).stderr, r'kiln\.toml:\d+: "profile" is not known; did you mean "profiles"')
        (home / "kiln.toml").write_text(project.replace(TARGET, TARGET + "3"))
        self.assertIn(f'did you mean "{TARGET}"', self.kiln("build", code=2, cwd=home).stderr)

    def jobs(self):
        return len(json_of(self.kiln("jobs", "--limit", "100", "--json"))["jobs"])


    def add_toolchain(self, tree):
        """The farm's own with another label, which is its default from now on; its digest."""
        copy = self.farm.home / "next"
        shutil.copytree(ROOT / "build/release/toolchain-tree", copy, symlinks=True)
        copy.chmod(0o755)
        description = copy / "toolchain.json"
        description.chmod(0o644)
        told = json.loads(description.read_text()) | {"label": "kiln-next"}
        description.write_text(json.dumps(told, sort_keys=True, separators=(",", ":")))
        added = self.kiln("toolchain", "add", copy, "--default").stdout
        newer = re.search(r"toolchain kiln-next (sha256:\w{64})", added).group(1)
        self.assertNotEqual(newer, tree)
        self.assertIn('did you mean "kiln-next"?', self.kiln("toolchain", "show", "kiln-nexxt", code=6).stderr)
        self.assertIn('did you mean "kiln-next"?', self.kiln("build", CNN, "--target", TARGET, "--toolchain", "kiln-mext", code=6).stderr)
        return newer

    def test_short_digests_logs_and_the_console(self):
        detached = self.kiln("build", CNN, "--target", TARGET, "--no-cache", "--detach")
        job = re.search(r"^job (\S+)$", detached.stdout, re.M).group(1)
        followed = self.kiln("logs", job, "--follow").stdout
        self.assertRegex(followed, rf"compile {TARGET}, attempt 1 on \S+: exit code 0\n")
        self.assertEqual(followed.count(f"compile {TARGET}, attempt 1"), 1)
        self.assertEqual(json_of(self.kiln("logs", job, "--follow", "--json"))["logs"][-1]["target"], TARGET)
        slip = self.kiln("logs", job, "--follow", "--target", TARGET + "3", code=2).stderr
        self.assertIn(f'does not build for "{TARGET}3"; did you mean "{TARGET}"?', slip)
        self.assertIn("no job is called", self.kiln("logs", "nothing", "--follow", code=6).stderr)

        # It ends as its job does.
        broken = self.farm.home / "broken.onnx"
        broken.write_bytes(CNN.read_bytes().replace(b"\x22\x07MaxPool", b"\x22\x07MoxPool"))
        failed = re.search(r"^job (\S+)$", self.kiln("build", broken, "--target", TARGET, "--detach").stdout, re.M).group(1)
        ended = self.kiln("logs", failed, "--follow", code=4)
        self.assertIn("MoxPool", ended.stdout)
        document = json_of(self.kiln("logs", failed, "--follow", "--json", code=4))
        self.assertIn("MoxPool", document["error"]["details"]["logs"][-1]["text"])

        artifact = artifact_of(self.kiln("watch", job))
        digits = artifact[7:19]
        for name in (digits, f"sha256:{digits}", artifact[7:], artifact):
            self.assertIn(artifact, self.kiln("show", name).stdout)
        out = self.farm.home / "by short digest"
        self.kiln("fetch", digits, "--out", out)
        self.kiln("verify", out)
        self.assertTrue(json_of(self.kiln("diff", digits, artifact, "--json"))["equal"])
        self.assertIn("ffffffffffff", self.kiln("show", "sha256:ffffffffffff", code=6).stderr)
        self.kiln("show", "sha256:" + digits[:11], code=2)

        url = self.kiln("open", digits).stdout.strip()
        self.assertTrue(url.endswith(f"/#/artifacts/{artifact}"), url)
        with urllib.request.urlopen(url.partition("#")[0], timeout=30) as page:
            self.assertIn(b"<html", page.read().lower())
        self.assertTrue(self.kiln("open", job).stdout.strip().endswith(f"/#/jobs/{job}"))
        seen, browser = self.farm.home / "seen", self.farm.home / "browser"
        browser.write_text(f'#!/bin/sh\nprintf %s "$1" >"{seen}"\n')
        browser.chmod(0o755)
        self.kiln("open", digits, "--browser", BROWSER=str(browser))
        self.assertEqual(seen.read_text(), url)
        self.kiln("open", "no such thing", code=2)

    def test_slips_of_the_keyboard(self):
        for slip, meant in ((("biuld",), "build"), (("build", CNN, "--traget", TARGET), "--target"),
                            (("build", CNN, "--target", "cpu:x86-64-v33"), "cpu:x86-64-v3"), (("toolchain", "lsit"), "list"),
                            (("init", "--target", "cuda:sm80"), "cuda:sm_80")):
            self.assertRegex(self.kiln(*slip, code=2, cwd=self.farm.home).stderr, rf'did you mean [^?]*"{meant}"')

    def test_colours_where_they_are_wanted(self):
        self.assertNotIn("\x1b", self.kiln("show", "nothing", code=6).stderr)
        self.assertIn("\x1b[", self.kiln("show", "nothing", code=6, CLICOLOR_FORCE="1").stderr)
        self.assertNotIn("\x1b", self.kiln("show", "nothing", code=6, CLICOLOR_FORCE="1", NO_COLOR="1").stderr)


if __name__ == "__main__":
    unittest.main()
