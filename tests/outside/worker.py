#!/usr/bin/env python3
"""Speaks Synchronize under a valid certificate and lies, beside two honest workers.

usage: tests/outside/worker.py [--only NAME] [--keep]
A farm of its own is started by infra/up; its worker authority names one more worker, of another operator, which is this script. It calls a
failure final, invents results, takes all the slots that it can and never finishes, describes itself at length, and sends what is no
message. Exits 1 where it alone ends a job that the honest ones could do, where it gets all of a queue while others are idle,
where its words are published, or where the coordinator does not survive it.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("infra", "support"):
    sys.path.insert(0, str(ROOT / "tests" / folder))
sys.dont_write_bytecode = True
from farm import MODELS, TARGET, Farm, json_of  # noqa: E402
from http2 import unary  # noqa: E402
from wire import all_of, field, fields  # noqa: E402

SYNCHRONIZE = "/kiln.v1.WorkerService/Synchronize"
COMPILE = 3  # ActionKind
ENDED = ("succeeded", "failed", "cancelled")


class Liar:
    def __init__(self, farm):
        self.farm, self.broken = farm, []
        keys = farm.dir / "keys"
        subprocess.run([ROOT / "build/release/bin/kiln-signer", "make-worker-certificate", "--ca", keys, "--name", "liar", "--operator",
                        "elsewhere", "--out", farm.home / "liar"], check=True, stdout=subprocess.DEVNULL)
        self.certificate = (farm.home / "liar.pem").read_bytes()
        self.socket = re.match(r"unix:(.*)", farm.env["KILN_ENDPOINT"]).group(1)

    def synchronize(self, slots=1, reports=(), targets=(TARGET,)):
        """(code, [(lease, epoch, kind)])."""
        about = b"".join(field(3, target) for target in targets) + field(4, slots) + field(6, self.certificate)
        about += b"".join(field(7, kind) for kind in range(1, 9)) + field(8, TARGET) + field(10, TARGET)
        code, message = unary(self.socket, SYNCHRONIZE, field(1, about) + b"".join(field(2, report) for report in reports))
        leases = []
        for lease in all_of(fields(message), 1):
            parts = fields(lease)
            leases.append((all_of(parts, 1)[0].decode(), (all_of(parts, 2) or [0])[0], (all_of(parts, 4) or [0])[0]))
        return code, leases

    def report(self, lease, finished=None):
        return field(1, lease[0]) + field(2, lease[1]) + (field(4, finished) if finished is not None else field(3, field(1, "compiling")))

    def submit(self, size, *options):
        done = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", f"N=1:1:{size}", "--no-cache", "--detach", "--json", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return json_of(done)["job"]

    def lease(self, seconds=20):
        """One to compile, or nothing."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for lease in self.synchronize(8)[1]:
                if lease[2] == COMPILE:
                    return lease
            time.sleep(0.2)
        return None

    def ended(self, job, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for one in json_of(self.farm.kiln("jobs", "--json", "--limit", "100"))["jobs"]:
                if one["id"] == job and one["state"] in ENDED:
                    return one
            time.sleep(1)
        return {"state": f"not ended after {seconds} s", "artifacts": []}

    # --- lies

    def final_failure(self):
        """The word of one of three does not end the job."""
        self.synchronize()  # so that the farm knows of three
        job = self.submit(2, "--builders", "3", "--majority")
        lease = self.lease()
        if lease is None:
            return "it was given nothing"
        said = self.synchronize(0, [self.report(lease, field(3, 3) + field(4, "the model is invalid"))])
        state = self.ended(job, 60)["state"]
        self.farm.kiln("cancel", job)
        if state == "failed":
            self.broken.append(f"a worker called a failure final, and the job of three builders is {state}")
        return f"report answered with {said[0]}, job {state}"

    def invented_result(self):
        """Output that nobody has, under no receipt: never published, no end of the job (which waits for a third builder)."""
        self.synchronize()
        job = self.submit(3, "--builders", "3", "--majority")
        lease = self.lease()
        if lease is None:
            return "it was given nothing"
        file = field(1, "output/program.so") + field(2, field(1, "ab" * 32) + field(2, 4096))
        said = self.synchronize(0, [self.report(lease, field(1, field(2, file)) + field(2, "{}"))])
        done = self.ended(job, 30)
        self.farm.kiln("cancel", job)
        builders = [name for artifact in done["artifacts"] for name in artifact.get("builders", [])]
        if done["state"] == "succeeded" and "liar" in str(builders):
            self.broken.append("an invented result counts as a builder's")
        if done["state"] == "failed":
            self.broken.append("a worker invented a result, and the job failed")
        return f"report answered with {said[0]}, job {done['state']}, builders {builders}"

    def all_slots(self):
        """Takes what it can and never finishes: the others still get some."""
        jobs = [self.submit(size) for size in range(4, 10)]
        code, leases = self.synchronize(slots=256)
        end = time.monotonic() + 15
        while time.monotonic() < end:
            self.synchronize(256, [self.report(lease) for lease in leases])
            time.sleep(1)
        states = [one["state"] for one in json_of(self.farm.kiln("jobs", "--json", "--limit", "100"))["jobs"] if one["id"] in jobs]
        if "succeeded" not in states:
            self.broken.append(f"one worker holds {len(leases)} leases and keeps two idle ones from all of {len(jobs)} jobs")
        for job in jobs:
            self.farm.kiln("cancel", job)
        self.synchronize(0)
        return f"code {code}, {len(leases)} leases, jobs {states}"

    def long_description(self):
        code, _ = self.synchronize(0, targets=["x" * 3_900_000])
        if code == 0:
            self.broken.append("a description of 3.9 MB is kept")
        self.synchronize(0)
        return f"code {code}"

    def no_messages(self):
        """Bytes that are none, and good ones cut and mixed."""
        pick, codes = random.Random(1), {}
        good = field(1, field(4, 1) + field(6, self.certificate)) + field(2, field(1, "a lease") + field(2, 1) + field(4, field(2, "{}")))
        for turn in range(200):
            bytes_ = bytearray(good[:pick.randrange(len(good) + 1)] if turn % 2 else good)
            for _ in range(pick.randrange(1, 20)):
                if bytes_:
                    bytes_[pick.randrange(len(bytes_))] = pick.randrange(256)
            code, _ = unary(self.socket, SYNCHRONIZE, bytes(bytes_))
            codes[code] = codes.get(code, 0) + 1
        if None in codes or 2 in codes:
            self.broken.append(f"calls that are no messages end without an answer, or as UNKNOWN: {codes}")
        return f"codes {codes}"

    def run(self, only):
        restarts = self.restarts()
        for lie in (self.final_failure, self.invented_result, self.all_slots, self.long_description, self.no_messages):
            if not only or only in lie.__name__:
                print(f"{lie.__name__:<17} {lie()}", flush=True)
        if self.restarts() != restarts:
            self.broken.append("the coordinator ended and was started again")

    def restarts(self):
        return (self.farm.dir / "run/coordinator.pid").read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="lies whose name has this in it")
    parser.add_argument("--keep", action="store_true", help="leave the farm's directory, stopped")
    arguments = parser.parse_args()
    farm = Farm(workers=2, options=("--no-sample",))
    if farm.first.returncode != 0:
        sys.exit(farm.first.stderr)
    try:
        liar = Liar(farm)
        liar.run(arguments.only)
    finally:
        if arguments.keep:
            print(f"kept: {farm.home}")
            farm.stop()
        else:
            farm.close()
    for fault in liar.broken:
        print("BROKEN", fault)
    sys.exit(1 if liar.broken else 0)


if __name__ == "__main__":
    main()
