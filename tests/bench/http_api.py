#!/usr/bin/env python3
"""List calls over HTTP with JSON beside the same over gRPC, on one farm, in turn: requests per second of both, and the ratio.

usage: tests/bench/http_api.py [--jobs N] [--threads N] [--seconds S] [--rounds N]   (first: infra/build release bench_http_api)
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/infra"))
from farm import MODELS, TARGET, Farm  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("--jobs", 50), ("--threads", 8), ("--seconds", 3), ("--rounds", 5)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    farm = Farm(workers=1, options=("--no-sample",))
    try:
        for _ in range(options.jobs):
            built = farm.kiln("build", MODELS / "digits_cnn.onnx", "--target", TARGET)
            assert built.returncode == 0, built.stderr
        endpoint = re.search(r"unix:[^,]*", farm.env["KILN_ENDPOINT"]).group()
        rounds = []
        for _ in range(options.rounds):
            out = subprocess.run([ROOT / "build/release/bin/bench_http_api", endpoint, farm.env["KILN_HTTP_SOCKET"],
                                  str(options.threads), str(options.seconds)], capture_output=True, text=True, check=True).stdout
            rounds.append([line.split() for line in out.splitlines()])
        print(f"{options.threads} connections, {os.cpu_count()} processors, fastest of {options.rounds} rounds of {options.seconds} s in turn")
        for row in zip(*rounds):
            http, grpc = (max(float(one[at]) for one in row) for at in (1, 2))
            ratio = statistics.median(float(one[1]) / float(one[2]) for one in row)
            print(f"{row[0][0]:22} HTTP {http:6.0f}/s ({row[0][3]} bytes), gRPC {grpc:6.0f}/s ({row[0][4]} bytes), median ratio {ratio:.2f}")
    finally:
        farm.close()


if __name__ == "__main__":
    main()
