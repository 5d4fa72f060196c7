#!/usr/bin/env python3
"""Has the blob store's tests run against S3 servers that others wrote: moto, from PyPI, and versitygw, from Go's module proxy.

usage: s3_check.py BIN [--only moto|versitygw]     (BIN is where storage_s3_test lies)
Exit 77 (skipped) if a server cannot be had; what was run before then has passed.
"""
import argparse
import os
import pathlib
import sys

from fetched import Skip, go_program, python_environment, run


def moto():
    return python_environment("requirements-moto.txt").parent / "moto_server"


SERVERS = {"moto": ("KILN_MOTO_SERVER", "Moto", moto), "versitygw": ("KILN_VERSITYGW", "Versity", lambda: go_program("versitygw"))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--only", choices=SERVERS)
    arguments = parser.parse_args()
    skipped = False
    for name in [arguments.only] if arguments.only else SERVERS:
        variable, suite, fetch = SERVERS[name]
        try:
            program = fetch()
        except Skip as skip:
            print(f"skipped {name}: {skip}")
            skipped = True
            continue
        done = run([arguments.binaries / "storage_s3_test", f"--gtest_filter=*/{suite}"], env={**os.environ, variable: str(program)})
        failures = done.stdout.find(": Failure")
        print(done.stdout[max(0, failures - 200):][:6000] if failures >= 0 else done.stdout[-6000:], done.stderr[-2000:])
        if done.returncode or "[  PASSED  ]" not in done.stdout or "[==========] Running 0" in done.stdout:
            print(f"{name}: failed")
            return 1
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
