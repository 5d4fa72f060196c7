#!/usr/bin/env python3
"""Compares what Kiln's JSON parser said of texts with Python's own. usage: python_json.py FILE

A line of FILE: a text in hex, 1 if parseJson() takes it, and its canonical form in hex or "-". Exit 1 with the lines
that differ. Python's parser takes NaN, Infinity, numbers that become infinite, duplicate members and halves of
surrogate pairs; Kiln's refuses these, as it should, so Python is told to.
"""
import json
import math
import sys


def refuse(what):
    raise ValueError(what)


def number(text):
    value = float(text)
    return value if math.isfinite(value) else refuse(text)


def members(pairs):
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else refuse("duplicate")


def parse(text):
    """(accepted, canonical form in UTF-8)"""
    try:
        value = json.loads(text.decode(), parse_constant=refuse, parse_float=number, object_pairs_hook=members)
        return True, json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError:
        return False, None


def main():
    wrong = 0
    for line in open(sys.argv[1]):
        text, accepted, canonical = line.split(" ")
        text, canonical = bytes.fromhex(text), canonical.strip()
        expected, form = parse(text)
        if expected != (accepted == "1"):
            print(f"{text!r}: Python {'takes' if expected else 'refuses'} it, Kiln does not")
            wrong += 1
        elif canonical != "-" and bytes.fromhex(canonical) != form:
            print(f"{text!r}: {bytes.fromhex(canonical)!r} here, {form!r} in Python")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
