#!/usr/bin/env python3
"""Checks a tree without building it.

usage: verify.py ROOT [BASE]    BASE: the tree before, whose own gaps are not counted
1. every #include "..." of ours names a file; 2. every .cc of a library's folder stands in exactly one listing;
3. every source in a listing is there; 4. a target links, directly or through its libraries, what its sources include;
5. no folder below the tree of sources has more than 40 .cc and .h; 6. no words of the old paths are left.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cmake  # noqa: E402

OURS = ("coordinator/", "worker/", "compiler_core/", "manifest/", "signing/", "storage/", "api/", "tests/", "infra/")


def problems(root):
    root = pathlib.Path(root)
    tree = cmake.Tree(root)
    for f in tree.files:
        if f.endswith((".cc", ".h", ".c", ".td")) and not f.startswith("tests/golden"):
            for name in tree.includes_of(f):
                if name.startswith(OURS) and name not in tree.known and not name.endswith((".pb.h", ".inc")):
                    yield f"include: {f}: {name} is not there"
    where = collections.defaultdict(list)
    for t in tree.targets:
        for s in t.sources:
            if t.kind != "kiln_fuzz":
                where[s].append(t.name)
            if s not in tree.known:
                yield f"source: {t.listing}: {t.name}: {s} is not there"
    mentioned = "\n".join((root / f).read_text() for f in tree.files if f.endswith(("CMakeLists.txt", ".cmake")))
    for f in tree.files:
        if f.endswith(".cc") and f.startswith(OURS):
            if len(where[f]) > 1 and not f.startswith("tests/"):
                yield f"listed twice: {f}: {' '.join(where[f])}"
            if not where[f] and not f.startswith("tests/") and os.path.basename(f) not in mentioned:
                yield f"not listed: {f}"
    for t in tree.targets:
        if t.kind in ("kiln_fuzz", "add_executable", "add_library", "kiln_embed_migrations"):
            continue
        reached = tree.closure([d for d in t.deps if d.startswith("kiln::")]) | {t.name}
        headers = [f for f in tree.files if f.endswith(".h") and tree.library_of(f) == t.name] if t.kind == "kiln_library" else []
        todo, seen = [*t.sources, *headers], set()
        while todo:
            f = todo.pop()
            if f in seen or f not in tree.known:
                continue
            seen.add(f)
            for name in tree.includes_of(f):
                library = tree.library_of(name)
                if library and library not in reached and (library == "proto" or library in tree.libraries and name.rsplit(".", 1)[0] + ".cc" in tree.by_source):
                    yield f"link: {t.name}: {f} includes {name} of kiln::{library}, which it does not link"
                elif name in tree.known and (library is None or name.rsplit(".", 1)[0] + ".cc" not in tree.by_source):
                    todo.append(name)  # a header without code: what it includes counts
    count = collections.Counter(os.path.dirname(f) for f in tree.files if f.endswith((".cc", ".h")))
    for folder, n in sorted(count.items()):
        if n > 40:
            yield f"large: {folder}: {n} sources"
    names = {t.name for t in tree.targets} | {"proto"}
    for t in tree.targets:
        for d in t.deps:
            if d.startswith("kiln::") and d[6:] not in names and f"kiln::{d[6:]}" not in mentioned.replace("DEPS", ""):
                yield f"dep: {t.name}: {d} is no library"
    seen = collections.Counter(t.name for t in tree.targets)
    for name, n in seen.items():
        if n > 1:
            yield f"name: {name} is defined {n} times"
    def cycle():
        state = {}
        def visit(n, way):
            if state.get(n) == 2 or n not in tree.libraries:
                return
            if state.get(n) == 1:
                raise ValueError(" -> ".join([*way, n]))
            state[n] = 1
            for d in tree.libraries[n].deps:
                visit(d.removeprefix("kiln::"), [*way, n])
            state[n] = 2
        for n in tree.libraries:
            visit(n, [])
    try:
        cycle()
    except ValueError as error:
        yield f"cycle of libraries: {error}"


def main():
    found = list(dict.fromkeys(problems(sys.argv[1])))
    if len(sys.argv) > 2:
        before = set(problems(sys.argv[2]))
        print(f"{len(before)} before, {len(found)} now; new ones:")
        found = [p for p in found if p not in before]
    print("\n".join(found) or "nothing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
