#!/usr/bin/env python3
"""Prints the include graph between rooms.

usage: graph.py ROOT MAP          rooms that MAP (old path -> new path) would give, over today's tree
       graph.py ROOT --folders PREFIX [DEPTH]   today's folders below PREFIX
Two-way pairs come last, each with the includes that cause the rarer direction. Exit 1 if there is any, or a cycle.
"""
import collections, pathlib, re, subprocess, sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def tracked(root):
    return subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")


def edges(root, room_of, files):
    out = collections.defaultdict(list)
    for f in files:
        p = pathlib.Path(root, f)
        if not f.endswith((".cc", ".h", ".c", ".td")) or not p.exists():
            continue
        a = room_of(f)
        if a is None:
            continue
        for line in p.read_text(errors="replace").splitlines():
            m = INCLUDE.match(line)
            if m:
                b = room_of(m.group(1))
                if b is not None and a != b:
                    out[a, b].append((f, m.group(1)))
    return out


def cycles(graph):
    """Strongly connected components of more than one room."""
    nodes = sorted({n for e in graph for n in e})
    nxt = collections.defaultdict(set)
    for a, b in graph:
        nxt[a].add(b)

    def reach(s):
        seen, todo = set(), [s]
        while todo:
            for m in nxt[todo.pop()]:
                if m not in seen:
                    seen.add(m)
                    todo.append(m)
        return seen
    reaches = {n: reach(n) for n in nodes}
    done, found = set(), []
    for n in nodes:
        if n in done:
            continue
        comp = {m for m in nodes if m in reaches[n] and n in reaches[m]}
        if len(comp) > 1:
            found.append(sorted(comp))
        done |= comp | {n}
    return found


def order(graph, rooms):
    left, out = set(rooms), []
    while left:
        free = sorted(r for r in left if not any(a == r and b in left for a, b in graph if a != b))
        if not free:
            out.append("cycle: " + " ".join(sorted(left)))
            break
        out.append(" ".join(free))
        left -= set(free)
    return out


def main():
    root = sys.argv[1]
    files = [f for f in tracked(root) if f and not f.startswith(("tests/", "draft-18/"))]
    if sys.argv[2] == "--folders":
        prefix, depth = sys.argv[3].rstrip("/"), int(sys.argv[4]) if len(sys.argv) > 4 else 1
        known = {f.rsplit("/", 1)[0] for f in files}

        def room_of(f):
            if not f.startswith(prefix + "/"):
                return None
            rest = f[len(prefix) + 1:].split("/")[:-1][:depth]
            return "/".join(rest) or "."
    else:
        table = {}
        for line in open(sys.argv[2]):
            if "->" in line and not line.startswith("#"):
                old, new = (s.strip() for s in line.split("->"))
                table[old] = new
                table[new] = new

        def room_of(f):
            return table[f].rsplit("/", 1)[0] if f in table else None
    graph = edges(root, room_of, files)
    rooms = sorted({room_of(f) for f in files} - {None})
    sizes = collections.Counter(room_of(f) for f in files if f.endswith((".cc", ".h")))
    print("rooms:")
    for r in rooms:
        print(f"  {r} ({sizes[r]}) -> " + (", ".join(f"{b} {len(graph[a, b])}" for a, b in sorted(graph) if a == r) or "nothing"))
    print("floors, lowest first:")
    for i, line in enumerate(order(graph, rooms)):
        print(f"  {i} {line}")
    bad = cycles(graph)
    for a, b in sorted(graph):
        if a < b and (b, a) in graph:
            few, many = sorted([(a, b), (b, a)], key=lambda e: len(graph[e]))
            print(f"two-way: {few[0]} -> {few[1]} ({len(graph[few])}) against {len(graph[many])}")
            for f, i in graph[few]:
                print(f"    {f}: {i}")
    for c in bad:
        print("cycle among: " + " ".join(c))
    print(f"two-way pairs: {sum((b, a) in graph for a, b in graph) // 2}, includes the rarer way: "
          f"{sum(min(len(graph[a, b]), len(graph[b, a])) for a, b in graph if a < b and (b, a) in graph)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
