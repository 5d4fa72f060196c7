#!/usr/bin/env python3
"""Prints which rooms need symbols of which, from objects that another build has made already.

usage: symbols.py BUILD MAP [PREFIX]    BUILD: a build folder of the tree before; nothing in it is changed
"""
import collections
import pathlib
import re
import subprocess
import sys

build, prefix = pathlib.Path(sys.argv[1]), sys.argv[3] if len(sys.argv) > 3 else ""
rooms = {}
for line in open(sys.argv[2]):
    old, new = line.strip().split(" -> ")
    rooms[old] = new.rsplit("/", 1)[0]
defined, wanted, missing = {}, [], []
for old, room in rooms.items():
    if not old.endswith(".cc") or not old.startswith(prefix) or old.startswith("tests/"):
        continue
    folder, name = old.rsplit("/", 1)
    found = list((build / folder).glob(f"CMakeFiles/*.dir/{name}.o"))
    if not found:
        missing.append(old)
        continue
    for line in subprocess.run(["nm", str(found[0])], capture_output=True, text=True).stdout.split("\n"):
        match = re.match(r"^[0-9a-f ]{16} (\w) (\S+)", line)
        if match and match[1] in "TDRB":
            defined[match[2]] = room
        elif match and match[1] == "U":
            wanted.append((old, room, match[2]))
graph = collections.defaultdict(set)
for old, room, symbol in wanted:
    if defined.get(symbol, room) != room:
        graph[room, defined[symbol]].add((old, symbol))
for (a, b), why in sorted(graph.items()):
    print(f"{a} -> {b}: {len(why)}")
print(f"no object for {len(missing)} of {sum(1 for o in rooms if o.endswith('.cc') and o.startswith(prefix))}")
