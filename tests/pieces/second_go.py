#!/usr/bin/env python3
"""Gives the tests that failed in the last run of ctest a second go, alone, where the machine may have been to blame.

usage: second_go.py BUILD_FOLDER

Tests that drive servers, browsers or several processes (labels `slow` and `servers`) share two cores with other tests
and can miss what they wait for. Such a test is run once more by itself. If it passes, the run passes, and the test is
named as unstable, with what it said: that is a defect of the test or of Kiln, and is to be mended. A test that computes
in its own process gets no second go, nor does anything when more than three tests failed. What each failed test said
last stands at the end of the output, where whoever reads the end of a long log finds it.
"""
import json
import pathlib
import re
import subprocess
import sys

MOST = 3
LABELS = {"slow", "servers"}
TELLING = re.compile(r"Failure|FAILED|Error|[Ee]xpected|[Aa]ctual|assert|fatal|timed out|Timeout|_test\.(cc|py):\d+")


def failed(build):
    """The names of the tests that failed in the last run."""
    log = build / "Testing/Temporary/LastTestsFailed.log"
    return [line.split(":", 1)[1] for line in log.read_text().split()] if log.exists() else []


def outputs(build):
    """What each test of the last run printed, by name."""
    log = (build / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    blocks = re.findall(r"^\d+/\d+ Testing: (\S+)\n.*?^Output:\n-+\n(.*?)^<end of output>", log, re.M | re.S)
    return dict(blocks)


def telling(output, most=12):
    """The last lines that say what went wrong."""
    lines = [line[:300] for line in output.splitlines() if line.strip()]
    return [line for line in lines if TELLING.search(line)][-most:] or lines[-most:]


def labels(build):
    """The labels of each test."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    found = {}
    for test in json.loads(text.stdout)["tests"]:
        values = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        # Those of a case that a program told of are words of one label (infra/cmake/KilnTargets.cmake).
        found[test["name"]] = {word for label in values.get("LABELS", []) for word in label.split()}
    return found


def main(build):
    names, said = failed(build), outputs(build)

    def report(what, whose):
        for name in whose:
            print(f"{what}: {name}")
            for line in telling(said.get(name, "")):
                print(f"  | {line}")

    known = labels(build)
    if not names or len(names) > MOST or any(not known.get(name, set()) & LABELS for name in names):
        report("failed", names)
        return 1
    print(f"Once more, alone: {' '.join(names)}", flush=True)
    pattern = "^(" + "|".join(map(re.escape, names)) + ")$"
    again = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "-R", pattern])
    if again.returncode:
        twice = failed(build)
        said = outputs(build)
        report("failed twice", twice)
        return 1
    report("unstable, failed among the others and passed alone", names)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
