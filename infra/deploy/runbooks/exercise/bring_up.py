#!/usr/bin/env python3
"""Tries out ../bring_up.md on this machine. usage: bring_up.py [--bin DIR]"""
import sys

sys.dont_write_bytecode = True
from farm import expect, main, run, step


def exercise(new):
    farm = new()
    step("keys, trust and certificates are made; coordinator, signer, log and two workers start")
    farm.up("kiln-worker-0", "kiln-worker-1")
    step("two workers agree on an artifact")
    artifact = farm.build("--builders", "2")
    step("it is fetched and verified under the root of the offline keys")
    expect(farm.verifies(artifact), f"{artifact} does not verify")
    step("a worker's certificate opens nothing but what a worker calls")
    worker = {**farm.environment(), "KILN_TLS_CERT": str(farm.etc / "workers/kiln-worker-0.pem"),
                "KILN_TLS_KEY": str(farm.etc / "workers/kiln-worker-0.key")}
    refused = run(farm.bin / "kiln", "jobs", "--wait", "0s", env=worker, code=None)
    expect(refused.returncode == 8, f"a worker lists jobs: exit {refused.returncode} {refused.stderr}")
    step("the audit finds nothing")
    farm.sound()


if __name__ == "__main__":
    sys.exit(main(exercise))
