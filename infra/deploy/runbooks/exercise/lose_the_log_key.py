#!/usr/bin/env python3
"""Tries out ../lose_the_log_key.md on this machine: the log goes on under another key. usage: lose_the_log_key.py [--bin DIR]"""
import shutil
import sys

sys.dont_write_bytecode = True
from farm import expect, main, run, step, wait_for


def exercise(new):
    farm = new()
    farm.up("w1")
    first = farm.build()
    keys, etc = farm.keys, farm.etc
    step("the key is gone; jobs wait for the log")
    farm.stop("kiln-log")
    for path in (keys / "log.key", etc / "keys/log.key"):
        path.unlink()
    job = farm.detached("--no-cache")
    step("a new key of the same origin, which the root names beside the old one")
    origin = (keys / "log.vkey").read_text().split("+")[0]
    run(farm.bin / "kiln-log", "make-key", "--origin", origin, "--out", keys / "log-2")
    run(farm.bin / "kiln", "trust", "add-key", keys / "root.json", "--role", "log", "--public", keys / "log-2.vkey", "--out",
        keys / "root-next.json", "--key", keys / "offline/root-1.key", "--key", keys / "offline/root-2.key")
    (keys / "root-next.json").replace(keys / "root.json")
    step("the log takes it up, knowing the earlier one; the coordinator knows both")
    shutil.copy(keys / "log.vkey", etc / "log-1.vkey")
    for ending in ("key", "vkey"):
        shutil.copy(keys / f"log-2.{ending}", keys / f"log.{ending}")
    farm.install_trust()
    farm.more["kiln-log"] = ["--earlier-key", str(etc / "log-1.vkey")]
    farm.more["kiln-coordinator"] = ["--log-key", str(etc / "log-1.vkey")]
    farm.start("kiln-log")
    farm.restart("kiln-signer", "kiln-coordinator")
    wait_for(lambda: "w1" in farm.live(), "w1 has called")
    step("what waited is published, and what was signed before still verifies")
    farm.succeeds(job)
    second = farm.build(model="digits_mlp.onnx")
    for artifact in (first, second):
        expect(farm.verifies(artifact), f"{artifact} does not verify")
    farm.sound()


if __name__ == "__main__":
    sys.exit(main(exercise))
