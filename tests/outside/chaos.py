#!/usr/bin/env python3
"""Kills a farm's processes at random while clients use it, then asks whether anything that was acknowledged is lost.

usage: tests/outside/chaos.py [--seconds 120] [--settle 180] [--clients 4] [--seed 4711] [--keep]
A farm of its own is started by infra/up, with its supervisor, which brings back what is killed: coordinator, signer, log, workers, what
the workers run, PostgreSQL's server and sessions; some are stopped for five seconds instead. Clients build, fetch, ask where an
artifact is from, collect garbage and list. Afterwards each job that a client was told of must be known and ended, each artifact must be fetched and verify, and
audit and log must agree. Exits 1 and says what does not hold. The seed decides who does what, not when it happens. --keep leaves the
farm's directory, with chaos.log in it.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/infra"))
sys.dont_write_bytecode = True
from farm import MODELS, Farm, json_of  # noqa: E402

TARGETS = ("cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:aarch64")
ENDED = ("succeeded", "failed", "cancelled")
VICTIMS = ("coordinator", "coordinator", "worker-1", "worker-2", "signer", "log", "session", "postmaster", "child")


class Chaos:
    def __init__(self, farm, seed, seconds):
        self.farm, self.seed, self.end = farm, seed, time.monotonic() + seconds
        self.lock = threading.Lock()
        self.counts, self.hits = collections.Counter(), collections.Counter()
        self.told, self.artifacts, self.broken = {}, set(), []
        self.log = open(farm.home / "chaos.log", "w", buffering=1)

    def running(self):
        return time.monotonic() < self.end

    def kiln(self, *arguments):
        """Runs it and counts how it ended."""
        try:
            done = self.farm.kiln(*arguments, timeout=200)
        except subprocess.TimeoutExpired:
            self.note(f"{arguments[0]} hangs", f"{arguments}")
            self.broken.append(f"kiln {arguments[0]} was not done after 200 s")
            return None
        self.note(f"{arguments[0]} exit {done.returncode}", "" if done.returncode == 0 else f"{arguments} {done.stderr[-300:]!r}")
        if done.returncode < 0 or done.returncode > 127 or "terminate called" in done.stderr:
            self.broken.append(f"kiln {arguments[0]} crashed: {done.stderr[-200:]}")
        return done

    def note(self, what, detail=""):
        with self.lock:
            self.counts[what] += 1
            if detail:
                self.log.write(f"{time.time():.1f} {what} {detail}\n")

    # --- clients

    def client(self, number):
        pick = random.Random(self.seed * 100 + number)
        turn = 0
        while self.running():
            turn += 1
            what = pick.random()
            if what < 0.62 or not self.artifacts:
                self.build(pick)
            elif what < 0.80:
                self.fetch(pick, f"{number}-{turn}")
            elif what < 0.86:
                self.kiln("gc")
            elif what < 0.93:
                self.kiln("provenance", self.one(pick))
            else:
                self.kiln("jobs", "--limit", "20")

    def one(self, pick):
        with self.lock:
            return pick.choice(sorted(self.artifacts))

    def build(self, pick):
        most = pick.randint(1, 64)
        arguments = ["build", MODELS / "digits_mlp.onnx", "--target", pick.choice(TARGETS), "--profile",
                     f"N=1:{pick.randint(1, most)}:{most}"]
        arguments += ["--no-cache"] * (pick.random() < 0.7)
        arguments += ["--builders", "2"] * (pick.random() < 0.15)
        detached = pick.random() < 0.3
        done = self.kiln(*arguments, *["--detach"] * detached)
        if done is None:
            return
        with self.lock:
            for job in re.findall(r"job ([0-9a-f]{44})", done.stdout + done.stderr):
                self.told[job] = None if detached else done.returncode  # a detached client does not wait for the end
            if done.returncode == 0 and not detached:
                self.artifacts.update(re.findall(r"^artifact (sha256:[0-9a-f]{64})$", done.stdout, re.M))

    def fetch(self, pick, name):
        out = self.farm.home / f"fetched-{name}"
        done = self.kiln("fetch", self.one(pick), "--out", out)
        if done is not None and done.returncode != 0 and out.exists():
            self.broken.append(f"a fetch that failed left {out.name}")
        shutil.rmtree(out, ignore_errors=True)

    # --- killers

    def victim(self, pick):
        """(what it is, pid), or nothing if it does not run just now."""
        what = pick.choice(VICTIMS)
        try:
            if what in ("session", "postmaster"):
                pid = int((self.farm.dir / "pg/data/postmaster.pid").read_text().splitlines()[0])
                if what == "postmaster" and pick.random() > 0.4:
                    return None
                return what, pid if what == "postmaster" else pick.choice(children(pid))
            if what == "child":
                return what, pick.choice(children(self.farm.pid(f"worker-{pick.randint(1, 2)}")))
            return what, self.farm.pid(what)
        except (OSError, ValueError, IndexError):
            return None

    def killer(self):
        pick = random.Random(self.seed)
        while self.running():
            time.sleep(pick.uniform(1, 3))
            found, stop = self.victim(pick), pick.random() < 0.15
            if found is None:
                continue
            what, pid = found
            stop = stop and what not in ("child", "session", "postmaster")
            try:
                os.kill(pid, signal.SIGSTOP if stop else signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.hits[f"{'stopped' if stop else 'killed'} {what}"] += 1
            self.log.write(f"{time.time():.1f} hit {what} {pid}\n")
            if stop:
                threading.Timer(5, lambda pid=pid: quietly_continue(pid)).start()

    def run(self, clients):
        threads = [threading.Thread(target=self.client, args=(n,)) for n in range(clients)] + [threading.Thread(target=self.killer)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(6)  # who was stopped goes on

    # --- afterwards

    def settle(self, seconds):
        """Everything that was acknowledged, once the farm had the time to finish it."""
        up = self.farm.up("--no-sample")
        if up.returncode != 0:
            return self.broken.append(f"infra/up afterwards: {up.stderr[-500:]}")
        end, jobs = time.monotonic() + seconds, []
        while time.monotonic() < end:
            listed = self.farm.kiln("jobs", "--json", "--limit", "1000")
            jobs = json_of(listed)["jobs"] if listed.returncode == 0 else []
            if jobs and all(job["state"] in ENDED for job in jobs):
                break
            time.sleep(3)
        states = {job["id"]: job["state"] for job in jobs}
        self.broken += [f"job {job} was acknowledged and is lost" for job in self.told if job not in states]
        self.broken += [f"job {job} is still {state}" for job, state in states.items() if state not in ENDED]
        self.broken += [f"job {job} ended with 0 for its client and is {states[job]}" for job, code in self.told.items()
                        if code == 0 and states.get(job, "succeeded") != "succeeded"]
        for job in jobs:
            self.artifacts.update(artifact["digest"] for artifact in job["artifacts"])
        for number, artifact in enumerate(sorted(self.artifacts)):
            out = self.farm.home / f"last-{number}"
            for command in (("fetch", artifact, "--out", out), ("verify", out)):
                done = self.farm.kiln(*command)
                if done.returncode != 0:
                    self.broken.append(f"{command[0]} {artifact}: exit {done.returncode}: {done.stderr[-300:]}")
                    break
            shutil.rmtree(out, ignore_errors=True)
        for command in (("audit",), ("log", "verify")):
            done = self.farm.kiln(*command)
            if done.returncode != 0:
                self.broken.append(f"kiln {' '.join(command)}: exit {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
        return None


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def quietly_continue(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--settle", type=float, default=180)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    farm = Farm(workers=2, options=("--no-sample",))
    if farm.first.returncode != 0:
        sys.exit(farm.first.stderr)
    chaos = Chaos(farm, arguments.seed, arguments.seconds)
    try:
        chaos.run(arguments.clients)
        chaos.settle(arguments.settle)
    finally:
        if arguments.keep:
            print(f"kept: {farm.home}")
            farm.stop()
        else:
            farm.close()
    for title, counted in (("clients", chaos.counts), ("hits", chaos.hits)):
        print(title + ":", ", ".join(f"{what} {count}" for what, count in sorted(counted.items())))
    print(f"{len(chaos.told)} jobs acknowledged, {len(chaos.artifacts)} artifacts")
    for fault in chaos.broken:
        print("BROKEN", fault)
    sys.exit(1 if chaos.broken else 0)


if __name__ == "__main__":
    main()
