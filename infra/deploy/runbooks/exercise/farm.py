"""A farm of processes on this machine, for trying out a runbook: keys of kubernetes/make-keys, a PostgreSQL of its own, and the commands
of systemd/*.service with places below one folder. Standard library only. Nothing of it outlives close().

Programs are those of --bin or $KILN_TEST_BIN, by default build/release/bin of this checkout.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[4]
DEPLOY = ROOT / "infra/deploy"
BUILDER, OPERATOR, TARGET = "https://farm.example.org/kiln", "kiln-operator", "cpu:x86-64-v3"
MODELS = {"digits_cnn.onnx": (), "digits_mlp.onnx": ("--profile", "N=1:8:64")}  # with what their builds ask for
PATIENCE = 300  # seconds; limits for hangs


class Failed(Exception):
    """The farm did not do what the runbook says; names the step."""


def step(text):
    print(f"- {text}", flush=True)


def expect(condition, what):
    if not condition:
        raise Failed(what)


def wait_for(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise Failed(f"not within {seconds} s: {what}")


def run(*command, code=0, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **more)
    if code is not None and done.returncode != code:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def started(unit):
    """The words of a unit's ExecStart."""
    text = (DEPLOY / "systemd" / unit).read_text().replace("\\\n", " ")
    return shlex.split(re.search(r"^ExecStart=(.*)$", text, re.M).group(1))


def certificate(authority, name, subject, *extensions):
    """NAME.pem and NAME.key, as cert-manager makes them: P-256, from an authority's PEM and key."""
    wanted = pathlib.Path(f"{name}.ext")
    wanted.write_text("basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n" + "".join(f"{one}\n" for one in extensions))
    run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
        "-out", f"{name}.csr", "-subj", subject)
    run("openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial",
        "-days", "365", "-out", f"{name}.pem", "-extfile", wanted)
    os.chmod(f"{name}.key", 0o600)


class Farm:
    def __init__(self, bin=None, keys=None, backup=None):
        """`keys`: those of an earlier farm, which this one goes on as; `backup`: (folder, digest) to restore it from."""
        self.bin = pathlib.Path(bin or os.environ.get("KILN_TEST_BIN") or ROOT / "build/release/bin")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-farm-"))
        self.home.chmod(0o711)
        self.keys, self.etc, self.state = self.home / "keys", self.home / "etc", self.home / "var"
        if keys:
            shutil.copytree(keys, self.keys)
        else:
            run(DEPLOY / "kubernetes/make-keys", "--out", self.keys, "--builder-id", BUILDER, "--bin", self.bin)
        for folder in (self.etc / "keys", self.etc / "workers", self.home / "run", self.home / "logs"):
            folder.mkdir(parents=True)
        # `instead`: words of commands -> what is given instead; `more`: name -> further words.
        self.port, self.processes, self.instead, self.more = free_port(), {}, {}, {}
        self.coordinator_certificate()
        self.install_trust()
        self.database = run(ROOT / "infra/postgres", "start", self.home / "pg", "--no-sync").stdout.splitlines()[-1]
        try:
            self.make_state(backup)
        except BaseException:
            self.close()
            raise

    def make_state(self, backup):
        if backup:
            run(self.bin / "kiln", "restore", "--from", backup[0], "--digest", backup[1], "--farm", self.state, "--database", self.database)
            return
        for folder in ("store", "log"):
            (self.state / folder).mkdir(parents=True)

    # Keys and trust, as the page bring_up.md places them.

    def coordinator_certificate(self):
        certificate(self.keys / "tls-ca", self.etc / "keys/tls", "/CN=kiln-coordinator",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "extendedKeyUsage=serverAuth")
        (self.etc / "keys/tls.pem").replace(self.etc / "tls.pem")

    def worker_certificate(self, name):
        certificate(self.keys / "worker-ca", self.etc / "workers" / name, f"/O={OPERATOR}/CN={name}", "extendedKeyUsage=clientAuth")

    def install_trust(self):
        for name in ("root.json", "policy.json", "access.json", "log.vkey", "worker-ca.pem", "tls-ca.pem"):
            shutil.copy(self.keys / name, self.etc / name)
        for name in ("signer.pem", "log.key", "log.vkey"):
            shutil.copy(self.keys / name, self.etc / "keys" / name)

    # Processes, by the names of their units.

    def command(self, name):
        unit, instance = (name.split("@") + [None])[:2]
        settings = {"KILN_DATABASE": self.database, "KILN_STORE": str(self.state / "store"), "KILN_TILES": str(self.state / "log"),
                    "KILN_BUILDER_ID": BUILDER,
                    "KILN_LISTEN": f"127.0.0.1:{self.port}", "KILN_COORDINATOR": f"127.0.0.1:{self.port}"}
        places = {**{f"%d/worker.{kind}": f"{self.etc}/workers/{instance}.{kind}" for kind in ("pem", "key")},
                  "%d": f"{self.etc}/keys", "%i": str(instance),
                  "/etc/kiln": str(self.etc), "/run/kiln-signer": str(self.home / "run"), "/var/lib/kiln-worker": str(self.home / "workers"),
                  "/var/lib/kiln": str(self.state), "/usr/bin": str(self.bin)}
        words = []
        for word in started(f"{unit}@.service" if instance else f"{unit}.service"):
            if word.startswith("$KILN_"):  # an administrator's further options
                continue
            if word.startswith("--metrics="):
                word = f"--metrics=127.0.0.1:{free_port()}"
            for place, here in places.items():
                word = word.replace(place, here)
            word = self.instead.get(word, word)
            words.append(re.sub(r"\$\{(\w+)\}", lambda setting: settings[setting.group(1)], word))
        return words + self.more.get(name, [])

    def start(self, *names):
        for name in names:
            if name.startswith("kiln-worker@"):
                instance = name.split("@")[1]
                (self.home / "workers" / instance).mkdir(parents=True, exist_ok=True)
                if not (self.etc / "workers" / f"{instance}.pem").exists():
                    self.worker_certificate(instance)
            with open(self.home / "logs" / f"{name}.log", "ab") as log:
                self.processes[name] = subprocess.Popen(self.command(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")

    def stop(self, *names, number=signal.SIGTERM):
        """Signals each and waits; their exit codes."""
        going = [self.processes.pop(name) for name in names]
        for process in going:
            process.send_signal(number)
        return [process.wait(PATIENCE) for process in going]

    def restart(self, *names):
        for name in names:
            self.stop(name)
            self.start(name)

    def backup(self, out):
        """A backup's digest."""
        done = self.kiln("backup", "--farm", self.state, "--database", self.database, "--out", out)
        return re.search(r"sha256:[0-9a-f]{64}", done.stdout).group(0)

    def log(self, name):
        return (self.home / "logs" / f"{name}.log").read_text(errors="replace")

    def up(self, *workers):
        """Everything, and a toolchain where there is none; returns when each worker has called."""
        self.start("kiln-signer", "kiln-log", "kiln-coordinator", *(f"kiln-worker@{name}" for name in workers))
        wait_for(lambda: self.live() >= set(workers), "every worker has called")
        if not json.loads(self.kiln("toolchain", "list", "--json").stdout).get("toolchains"):
            tree = self.bin.resolve().parent / "toolchain-tree"
            if not tree.exists():
                run(ROOT / "infra/toolchain/build")
            self.kiln("toolchain", "add", tree, "--default")

    # Calls, as the administrator that make-keys made.

    def environment(self):
        return {**os.environ, "KILN_ENDPOINT": f"127.0.0.1:{self.port}", "KILN_TLS_CA": str(self.keys / "tls-ca.pem"),
                "KILN_TLS_CERT": str(self.keys / "admin.pem"), "KILN_TLS_KEY": str(self.keys / "admin.key"),
                "KILN_TRUST_ROOT": str(self.etc / "root.json"), "KILN_POLICY": str(self.home / "own-policy.json"), "KILN_WAIT": "5m"}

    def kiln(self, *words, code=0):
        policy = self.home / "own-policy.json"
        if not policy.exists():  # one builder is enough for an exercise; the root is no development root
            policy.write_text((ROOT / "signing/policy/development.json").read_text())
        return run(self.bin / "kiln", *words, code=code, env=self.environment(), cwd=self.home)

    def live(self):
        """Names of the workers that the coordinator hears."""
        done = self.kiln("workers", "--json", code=None)
        if done.returncode != 0:
            return set()
        return {worker["name"] for worker in json.loads(done.stdout)["workers"] if worker["state"] == "live"}

    def build(self, *options, model="digits_cnn.onnx", target=TARGET):
        """An artifact's digest."""
        done = self.kiln("build", ROOT / "tests/models" / model, "--target", target, *MODELS[model], *options)
        return re.search(r"^artifact (sha256:[0-9a-f]{64})$", done.stdout, re.M).group(1)

    def detached(self, *options):
        """A job's id."""
        done = self.kiln("build", ROOT / "tests/models/digits_cnn.onnx", "--target", TARGET, "--detach", "--json", *options)
        return json.loads(done.stdout)["job"]

    def job(self, job):
        return json.loads(self.kiln("jobs", job, "--json").stdout)

    def ended(self, job):
        """The state of a job that has ended, or None."""
        state = self.job(job)["state"]
        return state if state in ("succeeded", "failed", "cancelled") else None

    def succeeds(self, *jobs):
        for job in jobs:
            state = wait_for(lambda: self.ended(job), f"job {job} has ended", 600)
            expect(state == "succeeded", f"job {job} {state}: {self.job(job)}")

    def running(self, worker):
        """The compiles that a worker runs, of the latest jobs: (job, action, attempt)."""
        out = []
        for job in json.loads(self.kiln("jobs", "--limit", "8", "--json").stdout)["jobs"]:
            for action in self.job(job["id"])["actions"]:
                if (action["state"], action["kind"], action["worker"]) == ("running", "compile", worker):
                    out.append((job["id"], action["action"], action["attempt"]))
        return out

    def verifies(self, artifact, root=None):
        """Whether an artifact, fetched anew, verifies."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.home)) / "artifact"
        return self.kiln("fetch", artifact, "--out", out, *(("--trust-root", root) if root else ()), code=None).returncode == 0

    def sound(self):
        """The index, the log and every artifact fit each other, or Failed."""
        self.kiln("audit", "--log", self.state / "log")

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        run(ROOT / "infra/postgres", "stop", self.home / "pg", code=None)
        shutil.rmtree(self.home, ignore_errors=True)


def main(exercise):
    """Runs exercise(new), where new(...) makes a Farm that is closed in the end: 0, or 1 with what failed."""
    words = sys.argv[1:]
    if words and (len(words) != 2 or words[0] != "--bin"):
        print(f"usage: {sys.argv[0]} [--bin DIR]", file=sys.stderr)
        return 2
    farms = []

    def new(**more):
        farms.append(Farm(words[1] if words else None, **more))
        return farms[-1]

    # A test that takes too long is asked to end, and its PostgreSQL would go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        exercise(new)
    except Failed as failed:
        print(f"failed: {failed}", file=sys.stderr)
        for farm in farms:
            for log in sorted((farm.home / "logs").glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
        return 1
    finally:
        for farm in farms:
            farm.close()
    print("done")
    return 0
