#!/usr/bin/env python3
"""Has go-containerregistry's crane fetch from the gateway, plain and within TLS with a token.

usage: crane_check.py BIN     (where gateway_test and coordinator_server_test lie)
Exit 77 (skipped) if crane cannot be had.
"""
import os
import pathlib
import sys

from fetched import Skip, go_program, run


def main(binaries):
    try:
        crane = pathlib.Path(go_program("crane"))
    except Skip as skip:
        print(f"skipped crane: {skip}")
        return 77
    env = {**os.environ, "PATH": f"{crane.parent}{os.pathsep}{os.environ['PATH']}"}
    problems = []
    for test in ("gateway_test", "coordinator_server_test"):
        done = run([binaries / test, "--gtest_filter=*Crane*"], env=env)
        if done.returncode or "[  PASSED  ] 1 test" not in done.stdout:
            problems.append(f"{test}: {done.stdout[-3000:]}")
    print("\n".join(problems) or "crane fetched artifacts, plain and within TLS")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
