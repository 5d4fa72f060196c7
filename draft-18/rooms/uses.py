#!/usr/bin/env python3
"""Which members of Farm each part uses, itself and through what it calls with the same Farm.

usage: uses.py ROOT    ROOT with the rooms
A function's callees are found by the headers that its file includes: a file hands its Farm to every file of ours that it includes
and that takes one. That is an upper bound.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
files = subprocess.run(["git", "-C", str(root), "ls-files", "coordinator"], capture_output=True, text=True, check=True).stdout.split()
members = re.findall(r"^  (?:const )?[\w:<>&() ,]+?[ &](\w+)(?: =[^;]*)?;", re.search(r"struct Farm \{(.*?)\n\};", (root / "coordinator/farm/farm.h").read_text(), re.S)[1].replace("\n      ", " "), re.M)
own, calls = collections.defaultdict(set), collections.defaultdict(set)
for f in files:
    if not f.endswith((".cc", ".h")) or f.startswith(("coordinator/server/", "coordinator/farm/farm")):
        continue
    text = (root / f).read_text()
    unit = f.rsplit(".", 1)[0]
    own[unit] |= {m for m in re.findall(r"\bfarm_?(?:\.|->)(\w+)", text) if m in members}
    if f.endswith(".cc"):
        for i in re.findall(r'#include "(coordinator/[\w/]+)\.h"', text):
            if i != unit and "Farm&" in ((root / (i + ".h")).read_text() if (root / (i + ".h")).exists() else ""):
                calls[unit].add(i)
        header = root / (unit + ".h")
        if header.exists():
            for i in re.findall(r'#include "(coordinator/[\w/]+)\.h"', header.read_text()):
                if i != unit and (root / (i + ".h")).exists() and "Farm&" in (root / (i + ".h")).read_text():
                    calls[unit].add(i)
print("members: " + " ".join(members))
for unit in sorted(own):
    if not own[unit] and not calls[unit]:
        continue
    seen, todo = set(), [unit]
    while todo:
        u = todo.pop()
        if u not in seen:
            seen.add(u)
            todo += calls[u]
    everything = set().union(*(own[u] for u in seen))
    print(f"{unit.removeprefix('coordinator/')}: own: {' '.join(sorted(own[unit])) or '-'} | through {', '.join(sorted(os.path.basename(c) for c in calls[unit])) or 'nothing'}: "
          f"{' '.join(sorted(everything - own[unit])) or '-'}")
