#!/usr/bin/env python3
"""Tries out ../restore.md on this machine: a farm is destroyed and comes back. usage: restore.py [--bin DIR]"""
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from farm import expect, main, step


def exercise(new):
    farm = new()
    farm.up("w1")
    artifact = farm.build()
    with tempfile.TemporaryDirectory() as elsewhere:
        step("a backup while the farm runs, and its digest kept apart from it")
        digest = farm.backup(pathlib.Path(elsewhere) / "backup")
        step("the farm is destroyed: processes, database, store, log")
        keys = shutil.copytree(farm.keys, pathlib.Path(elsewhere) / "keys")
        farm.close()
        step("it comes back from the backup and the copy of its keys")
        again = new(keys=keys, backup=(pathlib.Path(elsewhere) / "backup", digest))
        again.up("w1")
    expect(again.verifies(artifact), f"{artifact} does not verify any more")
    again.sound()
    step("it builds on")
    expect(again.build("--no-cache") == artifact, "it builds another artifact")


if __name__ == "__main__":
    sys.exit(main(exercise))
