#!/usr/bin/env python3
"""Fails unless each attack of README.md beside this file has a test of its own name, and no test names another.

usage: check.py [--list]   --list prints the tests of each attack
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMED = re.compile(r"^\s*(?:TEST(?:_F|_P)?\(\s*(\w+),\s*(Case(\d\d)\w+)\)|def (test_case_(\d\d)_\w+))", re.MULTILINE)


def attacks(readme):
    return [int(number) for number in re.findall(r"^\| (\d+) \|", readme.read_text(), re.MULTILINE)]


def tests_by_attack(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".cc", ".py"):
            continue
        for suite, test, number, function, python_number in NAMED.findall(path.read_text()):
            name = f"{suite}.{test}" if suite else function
            found.setdefault(int(number or python_number), []).append(f"{path.relative_to(folder)}: {name}")
    return found


def main():
    wanted, found = attacks(HERE / "README.md"), tests_by_attack(HERE.parent)
    if wanted != list(range(1, 34)):
        sys.exit("README.md must have a row for each of the attacks 1 to 33, in order")
    if "--list" in sys.argv:
        for number in wanted:
            print(number, *found.get(number, ["no test"]), sep="\n  ")
    missing = [number for number in wanted if number not in found]
    unknown = [number for number in found if number not in wanted]
    if missing or unknown:
        sys.exit(f"attacks without a test of their name: {missing}; tests of attacks that are no row: {unknown}")
    print(f"{len(wanted)} attacks, {sum(map(len, found.values()))} tests of their names")


main()
