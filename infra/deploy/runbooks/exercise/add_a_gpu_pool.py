#!/usr/bin/env python3
"""Tries out ../add_a_gpu_pool.md on this machine, with an emulated device in place of a GPU. usage: add_a_gpu_pool.py [--bin DIR]"""
import json
import sys

sys.dont_write_bytecode = True
from farm import ROOT, expect, main, step, wait_for

GPU = "cuda:sm_90a"


def devices(farm):
    workers = json.loads(farm.kiln("workers", "--json").stdout)["workers"]
    return {worker["name"]: [one for one in worker["devices"] if one["id"] != "cpu"] for worker in workers}


def exercise(new):
    farm = new()
    farm.up("w1")
    step("without a GPU a check for one is refused at once, by name")
    refused = farm.kiln("build", "--check", "--target", GPU, ROOT / "tests/models/digits_cnn.onnx", code=None)
    expect(refused.returncode in (4, 7), f"exit {refused.returncode}: {refused.stderr}")
    step("a worker with a device joins; the others go on")
    farm.more["kiln-worker@gpu-0"] = ["--gpu-driver", str(farm.bin.resolve() / "libkiln-emulated-cuda.so")]
    farm.start("kiln-worker@gpu-0")
    wait_for(lambda: any(one["state"] == "healthy" for one in devices(farm).get("gpu-0", [])), "gpu-0 shows its device")
    step("an artifact for it is built, and checked on it")
    artifact = farm.build("--check-emulated", target=GPU)
    expect(farm.verifies(artifact), f"{artifact} does not verify")
    step("the pool is drained and goes; builds for processors do not notice")
    farm.stop("kiln-worker@gpu-0")
    farm.build()


if __name__ == "__main__":
    sys.exit(main(exercise))
