#!/usr/bin/env python3
"""Tries out ../upgrade.md on this machine: each process is replaced while jobs wait and run. usage: upgrade.py [--bin DIR]"""
import pathlib
import sys

sys.dont_write_bytecode = True
from farm import main, step, wait_for


def another_build(farm):
    """The same programs under another path, in place of the next release."""
    folder = farm.home / "next/bin"
    folder.mkdir(parents=True)
    (farm.home / "next/toolchain-tree").symlink_to(farm.bin.resolve().parent / "toolchain-tree")
    for name in ("kiln", "kiln-check", "kiln-coordinator", "kiln-fetcher", "kiln-log", "kiln-signer", "kiln-worker"):
        pathlib.Path(folder / name).symlink_to(farm.bin / name)
    return folder


def exercise(new):
    farm = new()
    farm.up("w1", "w2")
    step("a backup, to go back to")
    farm.backup(farm.home / "backup")
    step("jobs wait and run")
    jobs = [farm.detached("--no-cache") for _ in range(4)]
    wait_for(lambda: farm.running("w1") + farm.running("w2"), "work runs")
    farm.bin = another_build(farm)
    step("signer and log first, then the coordinator, which brings the schema up to date")
    farm.restart("kiln-signer", "kiln-log", "kiln-coordinator")
    jobs.append(farm.detached("--no-cache"))
    step("workers last, one after the other; each drains")
    for name in ("w1", "w2"):
        farm.restart(f"kiln-worker@{name}")
        wait_for(lambda: name in farm.live(), f"{name} has called")
    step("no job is lost")
    farm.succeeds(*jobs)
    farm.sound()


if __name__ == "__main__":
    sys.exit(main(exercise))
