"""A farm started by infra/up for a test, and the kiln command pointed at it. Standard library only."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"
TARGET = "cpu:x86-64-v3"


class Farm:
    def __init__(self, workers=2, options=(), start=True):
        # A space in the path: users have them.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln farm "))
        self.home.chmod(0o755)
        self.dir = self.home / "state of the farm"
        self.workers = workers
        if start:
            self.first = self.up(*options)
            assert self.first.returncode == 0, self.first.stdout + self.first.stderr
            self.env = self.environment()

    def up(self, *options):
        return subprocess.run([ROOT / "infra" / "up", "--dir", self.dir, "--workers", str(self.workers), *options],
                              capture_output=True, text=True, cwd="/", timeout=600)

    def environment(self):
        out = subprocess.run(["bash", "-c", '. "$0" && env -0', self.dir / "kiln.env"], capture_output=True, check=True).stdout
        return dict(item.split("=", 1) for item in out.decode().split("\0") if "=" in item)

    def kiln(self, *arguments, timeout=240, cwd=None, env=None):
        return subprocess.run(["kiln", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env=env or self.env, cwd=cwd or self.home)

    def build(self, model, *options, target=TARGET):
        return self.kiln("build", model, "--target", target, *options)

    def pid(self, name):
        return int((self.dir / "run" / f"{name}.pid").read_text().split()[0])

    def kill(self, name, number=signal.SIGKILL):
        os.kill(self.pid(name), number)

    def processes(self):
        """Pids of everything whose command line names this state directory or its sockets."""
        marks = [str(self.dir)]
        socket = re.search(r"unix:([^,]*)/", self.env["KILN_ENDPOINT"])
        if socket:
            marks.append(socket.group(1))
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if any(mark in line for mark in marks):
                    found.append((int(entry.name), line))
        return found

    def stop(self):
        subprocess.run([ROOT / "infra" / "up", "--dir", self.dir, "--stop"], capture_output=True, timeout=120)

    def close(self):
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


def artifact_of(result):
    found = re.findall(r"^artifact (sha256:[0-9a-f]{64})$", result.stdout, re.M)
    return found[-1] if found else None


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {what}")


def json_of(result):
    return json.loads(result.stdout)


class FarmCase(unittest.TestCase):
    """One farm for the tests of a class, with one artifact built on it, and the farm's verdict on that one."""
    WORKERS = 1
    UP = ("--no-sample",)
    BUILD = (MODELS / "digits_cnn.onnx",)  # of kiln build, beside the target

    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=cls.WORKERS, options=cls.UP)
        built = cls.farm.build(*cls.BUILD)
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)
        # It follows the publication: the last statement about it for now.
        wait_for(lambda: json_of(cls.farm.kiln("show", cls.artifact, "--json"))["verdicts"], 60, "the farm's verdict")

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def kiln(self, *arguments, code=0):
        result = self.farm.kiln(*arguments)
        self.assertEqual(result.returncode, code, f"\n--- out\n{result.stdout}\n--- err\n{result.stderr}")
        return result

    def fetched(self, name):
        out = self.farm.home / name
        self.kiln("fetch", self.artifact, "--out", out)
        return out
