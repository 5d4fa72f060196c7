#!/usr/bin/env python3
"""Prints one text or number of a JSON document; nothing where the document has no such member.

usage: json_field.py FILE NAME|INDEX...    (- for standard input)
Exits 1 where the document is not JSON or what is asked for is neither a text nor a number.
"""
import json
import sys


def field(document, path):
    for step in path:
        try:
            document = document[int(step) if isinstance(document, list) else step]
        except (LookupError, TypeError, ValueError):
            return ""
    if isinstance(document, bool) or not isinstance(document, (str, int, float)):
        raise ValueError(f"{' '.join(path)} is neither a text nor a number")
    return document


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    file, path = sys.argv[1], sys.argv[2:]
    try:
        with sys.stdin if file == "-" else open(file, encoding="utf-8") as stream:
            print(field(json.load(stream), path))
    except (OSError, ValueError) as error:
        sys.exit(f"json_field: {file}: {error}")
