#!/usr/bin/env python3
"""What the farm costs over the compiler alone, what a second builder costs, and what a cache hit costs. Ratios within one run.

usage: tests/bench/farm.py [--rounds 7] [--jobs 300]    (after infra/test or infra/up has built)
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "infra"))
from farm import MODELS, TARGET, Farm  # noqa: E402

BIN = ROOT / "build" / "release" / "bin"
TREE = ROOT / "build" / "release" / "toolchain-tree"
CNN = MODELS / "digits_cnn.onnx"


def seconds(command, **options):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **options)
    return time.perf_counter() - start


def by_hand(rounds):
    with tempfile.TemporaryDirectory() as tmp:
        spec = pathlib.Path(tmp) / "spec.json"
        subprocess.run([TREE / "bin" / "kiln-cc", "spec", "--model", CNN, "--target", TARGET, "--out", spec], check=True)
        return [seconds([TREE / "bin" / "kiln-cc", "compile", "--model", CNN, "--spec", spec, "--out", pathlib.Path(tmp) / f"o{i}"])
                for i in range(rounds)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--jobs", type=int, default=300)
    args = options.parse_args()
    subprocess.run([ROOT / "infra" / "build", "release", "bench_cache_hit"], check=True, capture_output=True)
    farm = Farm()
    try:
        assert farm.first.returncode == 0, farm.first.stderr
        # Interleaved, so that a slow minute of the machine falls on both.
        hand, built, twice = [], [], []
        build = ["kiln", "build", CNN, "--target", TARGET, "--no-cache"]
        for _ in range(args.rounds):
            hand += by_hand(1)
            built.append(seconds(build, env=farm.env))
            twice.append(seconds([*build, "--builders", "2"], env=farm.env))
        h, b, t = statistics.median(hand), statistics.median(built), statistics.median(twice)
        print(f"kiln-cc compile by hand      {h * 1e3:8.1f} ms   (median of {args.rounds})")
        print(f"kiln build --no-cache        {b * 1e3:8.1f} ms   farm overhead {(b - h) * 1e3:.1f} ms (aim: at most 100)")
        print(f"  with --builders 2          {t * 1e3:8.1f} ms   {t / b:.2f} x one builder, on two workers of this machine")
        hits = subprocess.run([BIN / "bench_cache_hit", farm.env["KILN_ENDPOINT"], CNN, str(args.jobs)], check=True,
                              capture_output=True, text=True, env=farm.env).stdout.strip()
        print(f"cache-hit job round trip     {hits}   (aim: p50 at most 5 ms)")
    finally:
        farm.close()


if __name__ == "__main__":
    main()
