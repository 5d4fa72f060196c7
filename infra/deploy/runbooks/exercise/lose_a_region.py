#!/usr/bin/env python3
"""Tries out ../lose_a_region.md on this machine: two folders are two regions, and one goes. usage: lose_a_region.py [--bin DIR]"""
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from farm import expect, main, step


def exercise(new):
    there = new()
    there.up("w1")
    early = there.build()
    with tempfile.TemporaryDirectory() as here:
        here = pathlib.Path(here)
        step("a backup is copied to the other region; what is built later is in no copy")
        digest = there.backup(there.home / "backup")
        shutil.copytree(there.home / "backup", here / "backup")
        keys = shutil.copytree(there.keys, here / "keys")
        late = there.build(model="digits_mlp.onnx")
        there.kiln("fetch", late, "--out", here / "late")
        step("the region is lost")
        there.close()
        step("the other one restores its copy")
        farm = new(keys=keys, backup=(here / "backup", digest))
        farm.up("w1")
        step("what nodes have fetched goes on verifying, without any farm")
        farm.kiln("verify", here / "late")
    step("what the copy has is served; what it lacks is built again, to the same bytes")
    expect(farm.verifies(early), f"{early} does not verify")
    expect(farm.kiln("fetch", late, "--out", farm.home / "none", code=None).returncode == 6, "the copy has what was built after it")
    expect(farm.build(model="digits_mlp.onnx") == late, "it is another artifact now")
    farm.sound()


if __name__ == "__main__":
    sys.exit(main(exercise))
