#!/usr/bin/env python3
"""Names in backticks that end in .cc, .h or .py and name no file, seen from the document, the folders around it or the root; and
links that lead nowhere. usage: documents.py ROOT [BASE]: only those that BASE has not."""
import os
import pathlib
import re
import subprocess
import sys


def lost(root):
    root = pathlib.Path(root)
    files = [f for f in subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n") if f]
    known, names = set(files), {os.path.basename(f) for f in files}
    folders = {os.path.dirname(f) for f in files}
    for f in files:
        if not f.endswith(".md"):
            continue
        text = (root / f).read_text()
        here = os.path.dirname(f)
        around = [here]
        while around[-1]:
            around.append(os.path.dirname(around[-1]))
        for name in re.findall(r"`([\w./-]+\.(?:cc|h|py))`", text):
            spots = [os.path.normpath(os.path.join(a, name)) for a in around] + [os.path.normpath(os.path.join(a, s, name)) for a in around[:1] for s in ("service", "cli")]
            if not any(s in known for s in spots):
                kind = "name" if "/" in name else "bare name"
                if kind == "bare name" and name in names:
                    continue
                yield f"{f}: {kind} {name}"
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
            if not link.startswith(("http", "mailto")) and not (root / here / link).exists():
                yield f"{f}: link {link}"


before = set(lost(sys.argv[2])) if len(sys.argv) > 2 else set()
found = [one for one in dict.fromkeys(lost(sys.argv[1])) if one not in before]
print(f"{len(before)} before, {len(found)} new")
print("\n".join(found))
sys.exit(1 if found else 0)
