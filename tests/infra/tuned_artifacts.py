#!/usr/bin/env python3
"""Builds networks with `kiln build --tune search` on a farm, as a user does: signed artifacts whose manifests show schedules and the
entries that gave them, made again bit for bit by a second worker, which measures nothing.

usage: tuned_artifacts.py [--light] [--net NAME]... [--budget 20s] [--reassociation off|on] [--target T] [--suite DIR] [--report FILE]
  (default)  the sample models and a transformer block
  --light    also the nine light networks of the ONNX backend data and a BERT-base-shaped encoder, with seeded random weights
  --net      only networks with this in their name
  --budget   of the search, for each network
  --reassociation  as `kiln build` takes it (default: deterministic)
  --suite    as of tests/models/light.py; without the data --light ends with exit 77
  --report   a JSON file for the figures
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

from farm import TARGET, Farm, artifact_of, json_of
from networks import Failure, Skipped, check, done, networks

REORDERING = ["winograd"]  # knobs with which a kernel adds in another order
LIMIT = 3600  # seconds for one command


def entries_of(manifest):
    """The digests of the entries that its kernels name; the spec names a tuning file exactly where there are some."""
    kernels = manifest["stages"]["schedule"]["kernels"]
    check(any("schedule" in kernel for kernel in kernels), "its manifest shows no schedule")
    tuned = {kernel["tuned"] for kernel in kernels if "tuned" in kernel}
    check(("tuning" in manifest["spec"]) == bool(tuned), "its spec and its kernels disagree about tuning")
    return kernels, tuned


def built(farm, name, model, options, arguments):
    start = time.monotonic()
    options = [*options, "--target", arguments.target, "--reassociation", arguments.reassociation]
    digest = artifact_of(done(farm.kiln("build", model, "--tune", "search", "--budget", arguments.budget, *options, timeout=LIMIT)))
    took = time.monotonic() - start
    out = farm.home / name
    done(farm.kiln("fetch", digest, "--out", out))
    done(farm.kiln("verify", out))
    manifest = json_of(done(farm.kiln("show", out, "--json")))["manifest"]
    check(manifest["spec"]["numerics"]["reassociation"] == arguments.reassociation, "its manifest says other numerics")
    kernels, tuned = entries_of(manifest)
    provenance = done(farm.kiln("provenance", digest)).stdout
    check(("input/tuning.json" in provenance) == bool(tuned), "its provenance does not name the entries as an input")
    check(artifact_of(done(farm.kiln("build", model, "--tune", "reuse", *options, timeout=LIMIT))) == digest,
          "what is known was not found again")
    done(farm.kiln("rebuild", digest, timeout=LIMIT))
    return {"network": name, "artifact": digest, "kernels": len(kernels), "tunedKernels": sum("tuned" in kernel for kernel in kernels),
            "reordered": sum(any(kernel.get("schedule", {}).get(knob, [0]) != [0] for knob in REORDERING) for kernel in kernels), "entries": len(tuned), "buildSeconds": round(took, 1), "rebuilt": "bit for bit"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--net", action="append")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--reassociation", default="deterministic", choices=["deterministic", "off", "on"])
    parser.add_argument("--target", default=TARGET)
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    rows, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="kiln-tuned-") as scratch:
        blocks = ["transformer_block", *(["bert_base"] if arguments.light else [])]
        try:
            wanted = networks(pathlib.Path(scratch), arguments.net, blocks, arguments.light, arguments.suite)
        except Skipped as missing:
            print(f"tuned_artifacts: skipped: {missing}")
            return 77
        farm = Farm(workers=2, options=("--no-sample",))
        try:
            check(farm.first.returncode == 0, farm.first.stdout + farm.first.stderr)
            for name, model, options in wanted:
                try:
                    rows.append(built(farm, name, model, options, arguments))
                    print("built", json.dumps(rows[-1]), flush=True)
                except Failure as failure:
                    failed += 1
                    print(f"FAILED {name}: {failure}", flush=True)
            done(farm.kiln("audit", timeout=LIMIT))
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
