#!/usr/bin/env python3
"""Checks that a folder includes only what its row allows, the top level's names, and that every mutex is annotated.

usage: check.py ROOT | check.py --self-test
Exit 1 and one line per violation: file:line: what it includes and which rule forbids it.
"""
import pathlib
import re
import sys
import tempfile

from floors import FLOORS

# folder -> what it may include besides itself. "proto" stands for generated code of api/proto.
# The longest matching folder decides.
RULES = {
    "manifest": set(),
    "compiler_core": {"manifest"},
    "compiler_core/runtime": {"manifest", "!compiler_core"},
    "storage": {"proto", "manifest"},
    "signing": {"proto", "manifest", "storage"},
    "worker": {"proto", "manifest", "compiler_core/runtime", "storage", "signing/receipt"},
    "worker/fetcher": {"proto", "manifest", "compiler_core/frontend", "storage", "signing/receipt", "worker/sandbox"},
    "coordinator": {"proto", "manifest", "storage", "signing", "worker/receipt", "api/gateway", "api/transcoding", "api/console"},
    "api": {"proto", "manifest", "compiler_core/runtime", "compiler_core/frontend", "storage", "signing"},
}
# Headers that a folder must never see, whoever wraps them. The longest matching folder decides.
BESIDE_FARM = r"^(grpc|grpcpp|libpq|postgresql|git2)[./]"
FORBIDDEN = {
    "compiler_core/runtime": re.compile(r"^(mlir|llvm|lld|grpc|google)/"),
    "compiler_core": re.compile(BESIDE_FARM),
    "manifest": re.compile(r"^(mlir|llvm|lld|grpc|grpcpp)/"),
    "signing": re.compile(r"^(mlir|llvm|lld)/"),
    "storage": re.compile(r"^(mlir|llvm|lld)/"),
    "worker": re.compile(r"^(mlir|llvm|lld)/"),
    "coordinator": re.compile(r"^(mlir|llvm|lld)/"),
    "api": re.compile(r"^(mlir|llvm|lld)/"),
}
# A strategy for processors is written without those of devices, and the other way round.
STRATEGIES = "compiler_core/schedule/strategies"
for room in FLOORS[STRATEGIES]:
    other = "cpu" if room.startswith("gpu_") else "gpu"
    FORBIDDEN[f"{STRATEGIES}/{room}"] = re.compile(BESIDE_FARM + rf"|^compiler_core/schedule/emit/{other}/")
TOP_LEVEL = {"CMakeLists.txt", "coordinator", "worker", "compiler_core", "manifest", "signing", "storage", "api",
             "tests", "infra", "README.md", "CMakePresets.json", "LICENSE", "build"}
OURS = ("coordinator/", "worker/", "compiler_core/", "manifest/", "signing/", "storage/", "api/", "tests/", "infra/")
# Clang's analysis knows nothing of these: kiln::Mutex, MutexLock and Condition wrap them.
PLAIN_MUTEX = re.compile(r"\b(std::(?:\w+_)?mutex|std::condition_variable\w*|std::\w+_(?:lock|guard)|pthread_mutex_t)\b")
MUTEX = "manifest/base/mutex.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def longest(table, path):
    keys = [k for k in table if path == k or path.startswith(k + "/")]
    return max(keys, key=len) if keys else None


def room_of(parent, path):
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


def violations(root):
    root = pathlib.Path(root)
    yield from between_rooms(root)
    for entry in sorted(root.iterdir()):
        if entry.name not in TOP_LEVEL and not entry.name.startswith("."):
            yield f"{entry.name}: not one of the fixed top-level names"
    for folder in sorted({k.split("/")[0] for k in RULES}):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in {".h", ".cc", ".c", ".cpp", ".td"}:
                continue
            path = file.relative_to(root).as_posix()
            key = longest(RULES, path)
            allowed = RULES[key]
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                plain = PLAIN_MUTEX.search(line.split("//")[0])
                if plain and path != MUTEX:
                    yield f"{path}:{number}: {plain.group(1)}: what it guards is not checked; take those of {MUTEX}"
                match = INCLUDE.match(line)
                if not match:
                    continue
                name = match.group(1)
                banned = longest(FORBIDDEN, path)
                if banned and FORBIDDEN[banned].match(name):
                    yield f"{path}:{number}: {name} is kept out of {banned}"
                if re.search(r"\.(grpc\.)?pb\.h$", name) and "proto" not in allowed and not name.startswith("onnx"):
                    yield f"{path}:{number}: {name}: {key} does not see the wire protocol"
                if not name.startswith(OURS):
                    continue
                own = name.startswith(key + "/")
                ok = own or any(name.startswith(a + "/") or name.startswith(a + ".") for a in allowed if a[0] != "!")
                if any(name.startswith(a[1:] + "/") for a in allowed if a[0] == "!") and not own:
                    ok = False
                if not ok:
                    yield f"{path}:{number}: {name}: {key} may include only {', '.join(sorted(allowed)) or 'itself'}"


def self_test():
    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        cases = {
            "manifest/a.h": '#include "storage/blob/blob_store.h"',
            "storage/b.cc": '#include "signing/dsse.h"',
            "compiler_core/runtime/c.h": '#include "llvm/ADT/ArrayRef.h"',
            "compiler_core/runtime/d.h": '#include "compiler_core/ir/x.h"',
            "api/cli/e.cc": '#include "coordinator/jobs/job.h"',
            "worker/f.cc": '#include "signing/dsse.h"',
            "compiler_core/g.cc": '#include "kiln/v1/job.pb.h"',
            "compiler_core/runtime/elf/h.h": '#include "compiler_core/runtime/session/x.h"',
            "toplevel_extra/h.cc": "",
            "storage/i.h": "  std::mutex mutex_;",
            "api/j.h": "std::shared_mutex mutex;",
            "signing/k.cc": "std::condition_variable changed;",
            "manifest/base/l.cc": "const std::lock_guard lock(mutex_);",
        }
        good = {"storage/ok.cc": '#include "manifest/base/digest.h"', "worker/ok.cc": '#include "signing/receipt/receipt.h"',
                "manifest/base/mutex.h": "  std::mutex mutex_;", "api/ok.cc": "static std::once_flag once;  // no std::mutex"}
        for name, text in {**cases, **good}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        found = list(violations(root))
        missed = [n for n in cases if not any(v.startswith(n.split("/")[0] if n.startswith("toplevel") else n) for v in found)]
        wrong = [v for v in found if v.split(":")[0] in good]
        if missed or wrong:
            print("missed:", missed, "wrong:", wrong)
            return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    problems = list(violations(sys.argv[1]))
    print("\n".join(problems) or "layering: every include points the right way, every mutex is annotated")
    sys.exit(1 if problems else 0)
