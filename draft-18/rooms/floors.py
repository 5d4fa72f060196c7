"""Writes tests/layering/floors.py from what the rooms include today, and has tests/layering/check.py hold it."""
import collections
import os
import re
import subprocess

PARENTS = ("coordinator", "api/cli", "storage/index", "compiler_core", "compiler_core/codegen", "compiler_core/frontend/onnx", "compiler_core/runtime",
           "compiler_core/schedule")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

HEAD = '''"""Which rooms of a folder a room may include: parent -> room -> rooms. "." stands for the files in the folder itself."""

FLOORS = {
'''

CHECK = '''def room_of(parent, path):
    rest = path[len(parent) + 1:]
    return rest.split("/")[0] if "/" in rest else "."


def between_rooms(root):
    """Arrows inside a folder, by the rows of FLOORS."""
    for parent, rows in FLOORS.items():
        for file in sorted((root / parent).rglob("*")):
            if file.suffix not in {".h", ".cc", ".c", ".cpp", ".td"}:
                continue
            path = file.relative_to(root).as_posix()
            own = room_of(parent, path)
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match or not match.group(1).startswith(parent + "/"):
                    continue
                other = room_of(parent, match.group(1))
                if other != own and other not in rows.get(own, "").split():
                    yield f"{path}:{number}: {match.group(1)}: {own} of {parent} does not include {other} (tests/layering/floors.py)"


'''


def rows(root, parent):
    files = subprocess.run(["git", "-C", str(root), "ls-files", parent], capture_output=True, text=True, check=True).stdout.split("\n")

    def room(path):
        rest = path[len(parent) + 1:]
        return rest.split("/")[0] if "/" in rest else "."

    out = collections.defaultdict(set)
    for f in files:
        if not f.endswith((".cc", ".h", ".c", ".td")):
            continue
        own = room(f)
        out[own]
        for name in INCLUDE.findall((root / f).read_text(errors="replace")):
            if name.startswith(parent + "/") and room(name) != own:
                out[own].add(room(name))
    return out


def floor_order(graph):
    left, order = dict(graph), []
    while left:
        free = sorted(r for r in left if not (left[r] & set(left)))
        if not free:
            arrows = " ".join(f"{a}->{b}" for a in sorted(left) for b in sorted(left[a] & set(left)))
            raise SystemExit(f"floors: these rooms include each other in a circle: {arrows}; graph.py names the includes, table.py places files")
        order += free
        for r in free:
            del left[r]
    return order


def text(root):
    out = HEAD
    for parent in PARENTS:
        graph = rows(root, parent)
        out += f'    "{parent}": {{\n'
        for r in floor_order(graph):
            line = f'        "{r}": "{" ".join(sorted(graph[r]))}",'
            if len(line) > 150:
                names, half = sorted(graph[r]), len(graph[r]) // 2
                line = f'        "{r}": "{" ".join(names[:half])} "\n{" " * (len(r) + 12)}"{" ".join(names[half:])}",'
            out += line + "\n"
        out += "    },\n"
    return out + "}\n"


def apply(root, write):
    changed = False
    if not (root / "tests/layering/floors.py").exists():
        changed = write("tests/layering/floors.py", text(root))
    check = (root / "tests/layering/check.py").read_text()
    if "FLOORS" not in check:
        check = check.replace("import tempfile\n", "import tempfile\n\nfrom floors import FLOORS\n", 1)
        check = check.replace("def violations(root):\n    root = pathlib.Path(root)\n",
                              CHECK + "def violations(root):\n    root = pathlib.Path(root)\n    yield from between_rooms(root)\n", 1)
        check = check.replace('            "toplevel_extra/h.cc": "",\n',
                              '            "compiler_core/runtime/elf/h.h": \'#include "compiler_core/runtime/session/x.h"\',\n            "toplevel_extra/h.cc": "",\n', 1)
        if "between_rooms(root)" not in check or "runtime/elf/h.h" not in check:
            raise SystemExit("floors: tests/layering/check.py is no longer what this knows; add between_rooms() by hand")
        changed = write("tests/layering/check.py", check) or changed
    return changed
