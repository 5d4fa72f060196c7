#!/usr/bin/env python3
"""Executes the RUN: lines of one FileCheck test.

usage: run.py TEST.mlir TOOL=PATH...
Every `// RUN: command` line (joined by a trailing backslash) runs in a shell with pipefail, in an empty scratch
directory. %s is the test's path, %t a scratch path; a word that is a TOOL name becomes its PATH. Exit 1 names the
command that failed.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def commands(text):
    joined = ""
    for line in text.splitlines():
        match = re.match(r"^\s*(?://|;)\s*RUN:\s*(.*)$", line)
        if not match:
            continue
        joined += match.group(1).rstrip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        yield joined
        joined = ""


def main():
    test = pathlib.Path(sys.argv[1]).resolve()
    tools = dict(arg.split("=", 1) for arg in sys.argv[2:])
    names = re.compile(r"(?<![\w/.-])(" + "|".join(map(re.escape, tools)) + r")(?![\w.-])")
    found = list(commands(test.read_text()))
    if not found:
        sys.exit(f"{test}: no RUN: line")
    with tempfile.TemporaryDirectory() as scratch:
        for command in found:
            line = names.sub(lambda m: shlex.quote(tools[m.group(1)]), command)
            line = line.replace("%s", shlex.quote(str(test))).replace("%t", shlex.quote(scratch + "/t"))
            result = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=scratch)
            if result.returncode:
                sys.exit(f"{test}: exit {result.returncode} from: {command}")


main()
