#!/usr/bin/env python3
"""Builds networks for a processor and a GPU on a farm without one, as a user does: signed artifacts, checked on an emulated device,
made again bit for bit by a worker that has no device at all.

usage: gpu_artifacts.py [--light] [--net NAME]... [--suite DIR] [--report FILE]
  (default)  the sample models and a transformer block
  --light    also the nine light networks of the ONNX backend data, with seeded random weights
  --net      only networks with this in their name
  --suite    as of tests/models/light.py; without the data --light ends with exit 77
  --report   a JSON file for the figures

For each network: kiln build --target cpu:x86-64-v4 --target cuda:sm_90a --check-emulated; the GPU's Manifest states kernels, partition
and memory plan and its check says that it was emulated; kiln rebuild, on a second worker that was started without a GPU.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

from farm import Farm, json_of
from networks import Failure, Skipped, check, done, networks

CPU, CUDA = "cpu:x86-64-v4", "cuda:sm_90a"
LIMIT = 3600  # seconds for one command


def facts_of(manifest):
    """What the Manifest of the GPU's artifact shows."""
    stages, program = manifest["stages"], manifest["program"]
    kernels = [kernel for kernel in stages["schedule"]["kernels"] if "device" in kernel]
    check(kernels, "its manifest shows no kernel on the device")
    for kernel in kernels:
        check(int(kernel["device"]["registers"]) > 0, f"{kernel['symbol']}: no registers")
    check(program["devices"][0]["target"] == CUDA, "its program has no image for the device")
    check(stages["partition"]["partitions"], "its manifest shows no partition")
    check(int(program["profiles"][0]["deviceArenaBytes"][0]) > 0, "its plan has no memory on the device")
    return {"kernels": len(kernels),
            "registers": max(int(kernel["device"]["registers"]) for kernel in kernels),
            "spillBytes": sum(int(kernel["device"]["spillBytes"]) for kernel in kernels),
            "deviceArenaBytes": int(program["profiles"][0]["deviceArenaBytes"][0])}


def built(farm, name, model, options, plan):
    start = time.monotonic()
    result = done(farm.kiln("build", model, "--target", CPU, "--target", CUDA, "--check-emulated", "--check-plan", plan, "--json",
                            *options, timeout=LIMIT))
    artifacts = {artifact["target"]: artifact for artifact in json_of(result)["artifacts"]}
    out = farm.home / name
    digest = artifacts[CUDA]["digest"]
    done(farm.kiln("fetch", digest, "--out", out))
    done(farm.kiln("verify", out))
    shown = json_of(done(farm.kiln("show", out, "--json")))
    report = shown["checks"][-1]["report"]
    check(report["passed"] and report["device"]["emulated"] is True, "the check did not pass on the emulated device")
    return {"network": name, "artifact": digest, "cpuArtifact": artifacts[CPU]["digest"], **facts_of(shown["manifest"]),
            "checkedItems": len(report["items"]), "buildSeconds": round(time.monotonic() - start, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--net", action="append")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    rows, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="kiln-gpu-") as scratch:
        try:
            wanted = networks(pathlib.Path(scratch), arguments.net, ["transformer_block"], arguments.light, arguments.suite)
        except Skipped as missing:
            print(f"gpu_artifacts: skipped: {missing}")
            return 77
        plan = pathlib.Path(scratch, "check.json")
        plan.write_text('{"runs":1}')
        farm = Farm(workers=1, options=("--no-sample", "--emulated-gpu"))
        try:
            check(farm.first.returncode == 0, farm.first.stdout + farm.first.stderr)
            for name, model, options in wanted:
                try:
                    rows.append(built(farm, name, model, options, plan))
                    print("built", json.dumps(rows[-1]), flush=True)
                except Failure as failure:
                    failed += 1
                    print(f"FAILED {name}: {failure}", flush=True)
            # A second worker, without a device: whoever built an artifact does not rebuild it.
            farm.workers = 2
            check(farm.up("--no-sample").returncode == 0, "a second worker")
            workers = json_of(done(farm.kiln("workers", "--json")))["workers"]
            check(sorted(len(worker["devices"]) for worker in workers) == [1, 2], "one worker with an emulated GPU and one without")
            for row in rows:
                try:
                    for member in ("artifact", "cpuArtifact"):
                        done(farm.kiln("rebuild", row[member], timeout=LIMIT))
                    row["rebuilt"] = "bit for bit"
                    print("rebuilt", row["network"], "bit for bit", flush=True)
                except Failure as failure:
                    failed += 1
                    print(f"FAILED {row['network']}: {failure}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED {failure}", flush=True)
        finally:
            farm.close()
    if arguments.report:
        arguments.report.write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} of {len(wanted)} networks built, {failed} failures")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
