#!/usr/bin/env python3
"""The operators of com.microsoft beside ONNX Runtime: make_suite.py's cases through onnx_backend.

usage: compare.py ONNX_BACKEND [--every N] [--json REPORT]
All of them in the reference evaluator, then every N-th (default 1) compiled; REPORT is of the latter. Nothing may fail or be
refused. ONNX Runtime comes from PyPI (requirements.txt); exit 77 (skipped) if it cannot be had.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "interop"))
from fetched import Broken, Skip, python_environment  # noqa: E402  (the path comes first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--every", default="1")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    try:
        python = python_environment(HERE / "requirements.txt")
    except Skip as skip:
        print(f"skipped: ONNX Runtime {skip}")
        return 77
    except Broken as broken:
        print(f"failed: ONNX Runtime {broken}")
        return 1
    report = HERE / "report.json"
    with tempfile.TemporaryDirectory(prefix="kiln-contrib-") as folder:
        run = [arguments.program, "--suite", folder, "--expect", report]
        more = ["--json", arguments.json] if arguments.json else []
        for command in ([python, "-B", HERE / "make_suite.py", folder], [*run, "--evaluate"], [*run, "--every", arguments.every, *more]):
            done = subprocess.run([str(part) for part in command]).returncode
            if done:
                return done
    return 0


if __name__ == "__main__":
    sys.exit(main())
