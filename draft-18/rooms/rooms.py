#!/usr/bin/env python3
"""Moves the rooms of issue 18 into a checkout.

usage: rooms.sh [--commit] [--no-format] [--only NAME...] [--place FOLDER/STEM=ROOM]   in the root of a checkout
       rooms.sh --map                                        prints "old path -> new path" over this tree
--commit: one commit per room. NAME: service, cli, index, onnx, inner, floors. Run twice it changes nothing the second time.
Exit 1 with a list where a file of a parent has no room: give it one by --place (api/cli/x=farm) or in table.py.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import cmake
import floors
import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path.cwd()
TEXT = re.compile(r"(\.(cc|h|c|td|md|py|txt|cmake|list|sh|proto|sql|in|yml|yaml|json)|/(build|format|postgres|setup|test|up|lock|run|run_device|run_suite))$")
LICENSED = re.compile(r"^tests/(golden|models|interop/data)/")
SUFFIXES = (".cc", ".h")
PLACED = {}  # (parent, stem) -> room, by --place


def git(*words):
    return cmake.run(ROOT, *words)


def into(parent):
    return "coordinator" if parent is table.SERVICE else parent.folder


def moves_of(parent, room, files):
    """old -> new of the files of a room that still lie in the parent's folder."""
    out = {}
    goal = f"{into(parent)}/{room.folder}"
    for stem in (*room.stems, *(stem for (folder, stem), name in PLACED.items() if folder == parent.folder and name == room.folder)):
        for suffix in SUFFIXES:
            old = f"{parent.folder}/{stem}{suffix}"
            if old in files:
                out[old] = f"{goal}/{stem}{suffix}"
    for stem in room.tests:
        for suffix in (".cc", ".h"):
            old = f"{parent.tests}/{stem}{suffix}"
            if old in files:
                out[old] = f"{parent.test_room}/{room.folder}/{stem}{suffix}"
    return out


def without_room(parent, files):
    known = {s for room in parent.rooms for s in room.stems} | set(parent.stay) | {stem for folder, stem in PLACED if folder == parent.folder}
    return [f for f in files if os.path.dirname(f) == parent.folder and f.endswith(SUFFIXES) and pathlib.Path(f).stem not in known]


KEPT = {}  # texts by path, since each room looks at all of them


def read(path):
    if path not in KEPT:
        KEPT[path] = (ROOT / path).read_text()
    return KEPT[path]


def move(moves):
    """git mv, by folders: one call per folder and not per file."""
    groups = {}
    for old, new in moves.items():
        same = os.path.basename(old) == os.path.basename(new)
        groups.setdefault((os.path.dirname(new), "") if same else (os.path.dirname(new), new), []).append((old, new))
        if old in KEPT:
            KEPT[new] = KEPT.pop(old)
    for (folder, name), pairs in groups.items():
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        git("mv", *(old for old, _ in pairs), name or folder + "/")


def write(path, text):
    full = ROOT / path
    full.parent.mkdir(parents=True, exist_ok=True)
    fresh = not full.exists()
    if fresh or read(path) != text:
        full.write_text(text)
        KEPT[path] = text
        if fresh:
            git("add", "--", path)
        return True
    return False


def texts():
    return [f for f in cmake.tracked(ROOT) if TEXT.search("/" + f) and not LICENSED.match(f) and (ROOT / f).is_file() and not (ROOT / f).is_symlink()]


def rewrite_paths(parent, moves):
    """Every spelling of a path that moved, in all documents, sources and lists."""
    rooms = {room.folder for room in parent.rooms}
    whole, short, bare, bare_stem = {}, {}, {}, {}
    exact = dict(moves)
    for old, new in moves.items():
        if old.startswith("tests/"):  # documents in tests/ name files from there
            exact[old.removeprefix("tests/")] = new.removeprefix("tests/")
    for old, new in moves.items():
        stem, new_stem = old.rsplit(".", 1)[0], new.rsplit(".", 1)[0]
        whole[stem] = new_stem
        if old.startswith(parent.folder + "/"):
            name = stem.rsplit("/", 1)[1]
            bare[old.rsplit("/", 1)[1]] = new.removeprefix(into(parent) + "/")
            bare_stem[name] = new_stem.removeprefix(into(parent) + "/")
            for where, prefix in parent.short:
                base = into(parent) if parent is table.SERVICE else parent.folder
                short[where, prefix + name] = (new_stem.removeprefix("coordinator/") if parent is table.SERVICE
                                               else prefix + new_stem.removeprefix(base + "/"))
    name_of = {stem: "|".join(re.escape(s) for s in [stem]) for stem in whole}
    every = "|".join(sorted((re.escape(s) for s in name_of), key=len, reverse=True))
    hints = {os.path.dirname(old) for old in exact} | {prefix for _, prefix in parent.short}
    paths = "|".join(sorted((re.escape(p) for p in exact), key=len, reverse=True))
    with_suffix = re.compile(rf"(?:(?<![\w/.-])|(?<=\.\./))({paths})\b")
    alone = re.compile(rf"(?:(?<![\w/.-])|(?<=\.\./))({every})(?![\w/-]|\.\w)")
    shorts = {}
    for (where, spelled), goal in short.items():
        shorts.setdefault(where, {})[spelled] = goal
    changed = []
    for file in texts():
        text = before = read(file)
        beside = parent.rooms and file.endswith(".md") and os.path.dirname(file) in (parent.folder, into(parent))
        if not beside and not any(hint in text for hint in hints):
            continue
        text = with_suffix.sub(lambda m: exact[m[1]] if m[1] in moves or file.startswith("tests/") else m[1], text)
        if not file.endswith((".cc", ".h")) and all(f"{stem}{suffix}" in moves or not (ROOT / f"{stem}{suffix}").exists() for stem in whole for suffix in SUFFIXES):
            text = alone.sub(lambda m: m[1] if m[1].rsplit("/", 1)[1] in rooms else whole[m[1]], text)
        for where, names in shorts.items():
            if file.startswith(where) and not file.endswith("CMakeLists.txt"):
                some = "|".join(sorted((re.escape(s) for s in names), key=len, reverse=True))
                text = re.sub(rf"(?<![\w/.-])({some})(?=\.(?:cc|h)\b)", lambda m: names[m[1]], text)
        folder = os.path.dirname(file)
        if file.endswith(".md") and (folder == parent.folder or parent is table.SERVICE and folder == "coordinator"):
            some = "|".join(sorted((re.escape(s) for s in bare), key=len, reverse=True))
            if some and parent.rooms:
                text = re.sub(rf"`({some})`", lambda m: f"`{bare[m[1]]}`", text)
                if parent is table.INDEX:  # its table names files without their suffix
                    some = "|".join(sorted((re.escape(s) for s in bare_stem), key=len, reverse=True))
                    text = "\n".join(re.sub(rf"`({some})`", lambda m: f"`{bare_stem[m[1]]}`", line) if line.startswith("| `") else line
                                     for line in text.split("\n"))
        if text != before:
            write(file, text)
            if file.endswith((".cc", ".h")):
                changed.append(file)
    return changed


def edit_calls(listing, moves, parent, room, room_libraries):
    """The sources of a CMakeLists.txt after a move: gone from the parent's libraries, found elsewhere for all others."""
    text = before = read(listing)
    folder = os.path.dirname(listing)
    is_parents = folder == parent.folder

    def path(word):
        return os.path.normpath(os.path.join(folder, word))

    def replaced(match):
        word = match.group()
        if is_parents and word.startswith(room.folder + "/"):
            return ""
        if path(word) not in moves:
            return word
        return "" if is_parents else os.path.relpath(moves[path(word)], folder)

    if any(path(m.group()) in moves for m in re.finditer(r"[\w./-]+\.(?:cc|c)\b", text)):
        if is_parents:
            text = re.sub(r"^set_source_files_properties\(\s*([\w./]+)[^)]*\)\n", lambda m: "" if path(m[1]) in moves else m.group(), text, flags=re.M)
        text = re.sub(r"(?<![\w./-])[\w./-]+\.(?:cc|c)\b", replaced, text)
    if is_parents:
        for match in list(cmake.CALL.finditer(text)):
            if match["call"] != "kiln_library":
                continue
            parts = cmake.sections(match["body"])
            keeps = match["name"] == parent.library and not parent.top
            if not parts.get("SOURCES") and not keeps:
                text = re.sub(rf"(?:^#[^\n]*\n)*^kiln_library\({match['name']}\b[^)]*\)\n+", "", text, flags=re.M)
                text = re.sub(rf"^target_\w+\(kiln_{match['name']}\b[^)]*\)\n?", "", text, flags=re.M)
            elif room_libraries:
                flags = "".join(f" {f}" for f in parts[""] if f == "MLIR")
                deps = parts.get("DEPS", [])
                deps += [f"kiln::{one}" for one in room_libraries if f"kiln::{one}" not in deps]
                if keeps and room is parent.rooms[-1]:
                    deps = [f"kiln::{one}" for one in room_libraries]
                new = (f"kiln_library({match['name']}{flags}\n" + cmake.wrap("  SOURCES", sorted(parts.get("SOURCES", []))) + "\n"
                       + cmake.wrap("  DEPS", deps) + ")")
                text = text.replace(match.group(), new)
    if text != before:
        write(listing, re.sub(r"\n{3,}", "\n\n", text))


def add_room_folder(parent, room):
    """add_subdirectory(room): before the folder that the room was taken from, or at the top of the parent's list."""
    listing = f"{into(parent)}/CMakeLists.txt"
    text = read(listing) if (ROOT / listing).exists() else ""
    line = f"add_subdirectory({room.folder})\n"
    if line in text:
        return
    if parent is table.SERVICE:
        at = text.index("add_subdirectory(service)")
    else:
        found = [m.end() for m in re.finditer(r"^add_subdirectory\([^)]*\)\n", text, flags=re.M)]
        at = found[-1] if found else 0
    write(listing, text[:at] + line + ("\n" if parent is not table.SERVICE and not found and text else "") + text[at:])


def room_listing(parent, room, tree):
    """The room's CMakeLists.txt: explicit sources, and the libraries that its includes ask for."""
    folder = f"{into(parent)}/{room.folder}"
    here = sorted(f for f in tree.files if os.path.dirname(f) == folder)
    out = []
    apart = {stem for stems, _, _ in room.own.values() for stem in stems}
    libraries = list(room.own.items()) + [(room.library, (None, "", room.mlir))]
    for name, (stems, comment, mlir) in libraries:
        mine = [f for f in here if f.endswith(SUFFIXES) and (pathlib.Path(f).stem in stems if stems else pathlib.Path(f).stem not in apart)]
        sources = [f for f in mine if f.endswith(".cc")]
        ours, others = tree.needed(sources, name, [f for f in mine if f.endswith(".h")], "fmt::fmt-header-only" if mlir else "fmt::fmt")
        if mlir:
            others.discard("fmt::fmt-header-only")  # comes with kiln::mlir's users through their own libraries
            others |= {"fmt::fmt-header-only"} if any(i.startswith("fmt/") for f in mine for i in tree.includes_of(f)) else set()
        implied = set()
        for one in ours:
            implied |= tree.closure([one]) - {one}
        deps = sorted(f"kiln::{one}" for one in ours - implied) + sorted(others)
        if comment:
            out.append(f"# {comment}\n")
        text = f"kiln_library({name}{' MLIR' if mlir else ''}\n" + cmake.wrap("  SOURCES", [os.path.basename(s) for s in sources])
        out.append(text + ("\n" + cmake.wrap("  DEPS", deps) if deps else "") + ")\n")
        if mlir:
            out.append(f"target_precompile_headers(kiln_{name} REUSE_FROM kiln_ir)\n")
        if stems:
            out.append("\n")
    out += [line + "\n" for line in room.extra]
    write(f"{folder}/CMakeLists.txt", "".join(out))


def readme(parent, room, tree):
    folder = f"{into(parent)}/{room.folder}"
    if (ROOT / folder / "README.md").exists():
        return
    own = [f for f in tree.files if os.path.dirname(f) == folder and f.endswith(SUFFIXES)]
    siblings = sorted({os.path.dirname(i) for f in own for i in tree.includes_of(f) if i.startswith(into(parent) + "/") and os.path.dirname(i) != folder})
    names = [s.removeprefix(into(parent) + "/") for s in siblings if s != into(parent)]
    arrows = ", ".join(f"`{n}`" for n in names) if names else "none"
    lines = [f"# {folder}", "", *fold(room.purpose), ""]
    lines += fold(f"Library: `kiln::{room.library}`" + "".join(f", `kiln::{one}`" for one in room.own) + f". Rooms beside it that it includes: {arrows}.")
    lines += ["", "## Where to change what", "", "| To | Change |", "|---|---|", *[f"| {to} | {change} |" for to, change in room.changes], ""]
    write(f"{folder}/README.md", "\n".join(lines))


def fold(text, width=120):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + [line]


DECLARED = re.compile(r"^void (add\w+)\(CLI::App& app, Context& context\);\n", re.M)


def split_commands(room, moved):
    """The commands of a room are declared in it, so that no room includes what stands above it."""
    listing = "api/cli/commands.h"
    if not (ROOT / listing).exists():
        return []
    text = read(listing)
    goal = f"api/cli/{room.folder}/commands.h"
    sources = [new for new in moved.values() if new.startswith("api/cli/") and new.endswith(".cc")]
    here = [m[1] for m in DECLARED.finditer(text) if any(re.search(rf"^void {m[1]}\(", read(s), re.M) for s in sources)]
    if not here:
        return []
    before = "".join(f"void {name}(CLI::App& app, Context& context);\n" for name in here)
    context = re.search(r'#include "(api/cli/[\w/]*context\.h)"', text)[1]
    write(goal, "// The commands of this room; each lives in the file of its name.\n#pragma once\n\n"
          f'#include "{context}"\n\nnamespace kiln::cli {{\n\n{before}\n}}  // namespace kiln::cli\n')
    for name in here:
        text = re.sub(rf"^void {name}\(.*\n", "", text, flags=re.M)
    line = "api/cli/command_line.cc"
    main = read(line)
    if DECLARED.search(text):
        write(listing, text)
        main = main.replace('#include "api/cli/commands.h"\n', f'#include "{goal}"\n#include "api/cli/commands.h"\n')
    else:
        git("rm", "-qf", listing)
        KEPT.pop(listing, None)
        main = main.replace('#include "api/cli/commands.h"\n', f'#include "{goal}"\n')
    write(line, main)
    for source in sources:
        write(source, read(source).replace('"api/cli/commands.h"', f'"{goal}"'))
    return [line, goal, *sources]


def consumers(parent, room):
    """Targets that used the old library, once the last room is out or a library of the old name means less."""
    for listing in [f for f in cmake.tracked(ROOT) if f.endswith("CMakeLists.txt")]:
        text = before = read(listing)
        if parent is table.SERVICE and room is parent.rooms[-1]:
            text = re.sub(r"kiln::service\b", "kiln::rpc", text)
        if parent is table.ONNX and room.folder == "served":
            tree = cmake.Tree(ROOT)
            for target in tree.targets:
                if target.listing != listing or listing.startswith(parent.folder):
                    continue
                seen = {i for s in target.sources if s in tree.known for i in tree.includes_of(s)}
                seen |= {i for h in seen if h in tree.known and os.path.dirname(h) == target.folder for i in tree.includes_of(h)}
                if any(i.startswith(f"{parent.folder}/served/") for i in seen):
                    text = re.sub(rf"^({target.kind}\({target.name}\b[^)]*?)kiln::onnx_reader\b", r"\1kiln::onnx_served", text, flags=re.M)
        if parent is table.ONNX and listing == "tests/fuzz/CMakeLists.txt":
            text = text.replace(r'"compiler_core/frontend/onnx/\\1.cc"', r'"compiler_core/frontend/onnx/reader/\\1.cc"')
            if f"kiln_{room.library} " not in text.replace("\n", " "):
                text = text.replace("TARGETS kiln_onnx_reader ", f"TARGETS kiln_onnx_reader kiln_{room.library} ")
        if text != before:
            write(listing, text)


def commit(arguments, subject, body):
    git("add", "-u")
    if not arguments.commit:
        return
    if subprocess.run(["git", "-C", str(ROOT), "diff", "--cached", "--quiet"]).returncode:
        git("commit", "-q", "-m", subject, "-m", body)
        print("committed: " + subject)


MAIN_BLOCK = re.compile(r"(?:^#include [<\"][^\n]*\n)+", re.M)


def sorted_includes(path, text):
    """Blocks of includes in the order that clang-format gives them with this repository's rules."""
    stem, first = pathlib.Path(path).stem, True

    def order(match):
        nonlocal first
        lines, main = match.group().splitlines(), None
        if first and path.endswith(".cc"):
            for line in lines:
                header = re.match(r'#include "([^"]+)"', line)
                if header and re.fullmatch(rf"{re.escape(pathlib.Path(header[1]).stem)}([-_](test|unittest))?", stem):
                    main = line
                    break
        first = False

        def key(line):
            name = line.split(" ", 1)[1]
            rank = 0 if line == main else 3 if name[0] == '"' else 2 if name.startswith("<ext/") or not re.match(r"<.*\.h>", name) else 1
            return rank, name[1:]
        return "\n".join(dict.fromkeys(sorted(lines, key=key))) + "\n"
    return MAIN_BLOCK.sub(order, text)


def format_files(arguments, files):
    """The order of includes; lines that became too long are clang-format's."""
    long = []
    for file in sorted({f for f in files if (ROOT / f).exists()}):
        text = sorted_includes(file, read(file))
        write(file, text)
        if any(len(line) > 110 for line in text.split("\n")):
            long.append(file)
    if long and not arguments.no_format:
        subprocess.run(["clang-format-22", "-i", *long], cwd=ROOT, check=True)
        for file in long:
            KEPT.pop(file, None)


def shared_library_ends(parent, room):
    """Rooms that leave a library of the same name in the parent's list go out together with the next one."""
    return parent is table.ONNX and room.folder == "reader"


def make_rooms(parent, arguments):
    pending = []
    for room in parent.rooms:
        files = set(cmake.tracked(ROOT))
        moves = moves_of(parent, room, files)
        taken = [new for new in moves.values() if new in files]
        if taken:
            sys.exit("rooms: these are there twice, at the old place and in their room: " + " ".join(taken))
        if not moves:
            continue
        print(f"{into(parent)}/{room.folder}: {len(moves)} files")
        move(moves)
        changed = rewrite_paths(parent, moves)
        if parent is table.CLI:
            changed += split_commands(room, moves)
        add_room_folder(parent, room)
        done = [r.library for r in parent.rooms[:parent.rooms.index(room) + 1]]
        apart = {stem: name for name, (stems, _, _) in room.own.items() for stem in stems}
        sources = {}
        for old, new in moves.items():
            if new.endswith(".cc") and old.startswith(parent.folder + "/"):
                sources.setdefault(apart.get(pathlib.Path(new).stem, room.library), []).append(os.path.basename(new))
        write(f"{into(parent)}/{room.folder}/CMakeLists.txt",  # so that the library's headers are known; room_listing() writes it whole
              "".join(f"kiln_library({name} SOURCES {' '.join(files)})\n" for name, files in sources.items()))
        for listing in [f for f in cmake.tracked(ROOT) if f.endswith("CMakeLists.txt")]:
            edit_calls(listing, moves, parent, room, done)
        tree = cmake.Tree(ROOT)
        room_listing(parent, room, tree)
        consumers(parent, room)
        old = f"{parent.folder}/CMakeLists.txt"
        if parent is table.SERVICE and room is parent.rooms[-1] and not re.search(r"\w", cmake.uncommented(read(old))):
            git("rm", "-qf", old)
            write("coordinator/CMakeLists.txt", read("coordinator/CMakeLists.txt").replace("add_subdirectory(service)\n", ""))
        readme(parent, room, tree)
        if parent is table.SERVICE:
            service_table(room)
        if parent is table.CLI and room is parent.rooms[-1]:
            notes = read("api/README.md").replace("`cli/commands.h`, the table", "its room's `commands.h`, the table")
            write("api/README.md", notes.replace("| one file per command |", "| one room per kind of task, one file per command |"))
        format_files(arguments, changed)
        pending.append(room)
        if not shared_library_ends(parent, room):
            commit(arguments, pending[-1].subject if len(pending) == 1 else "Give reader and table of ONNX rooms of their own",
                   f"Moves alone: {', '.join(into(parent) + '/' + r.folder for r in pending)}.\n"
                   "Paths in sources, lists of CMake, tests and documents follow. Issue 18, point 6.")
            pending = []


def service_table(room):
    """coordinator/README.md lists the rooms."""
    text = read("coordinator/README.md")
    row = f"| `{room.folder}` | `kiln::{room.library}` | {room.purpose.split('. ')[0].split(': ')[0].split(' ([')[0].rstrip('.')} |\n"
    mark = re.search(r"^\| `service` \|.*\n", text, re.M)
    if mark and f"| `{room.folder}` |" not in text:
        last = room is table.SERVICE.rooms[-1]
        text = text[:mark.start()] + row + (text[mark.end():] if last else text[mark.start():])
        write("coordinator/README.md", text)


def inner(arguments):
    """Two-way includes inside compiler_core that need a move, or one constant in another header."""
    files = set(cmake.tracked(ROOT))
    moves = {old: new for old, new in table.MOVES.items() if old in files}
    if moves:
        notes = "compiler_core/runtime/README.md"
        changed = exact_moves(moves, "compiler_core/runtime", (notes,))
        write(notes, read(notes).replace("`session/kernel_times`", "`program/kernel_times`"))
        format_files(arguments, changed)
        commit(arguments, "Remove two-way includes from the runtime", "The times of kernels are needed by sessions and devices; the C API stands above sessions.\n"
               "Issue 18, point 5.")
    header, goal = "compiler_core/codegen/cuda/codegen.h", "compiler_core/codegen/lower/device_kernels.h"
    constant = re.search(r"^// On a kernel's gpu\.func:.*\ninline constexpr char kThreadsAttr\[\].*\n\n?", read(header), re.M)
    if constant:
        write(header, read(header).replace(constant.group(), ""))
        text = read(goal)
        write(goal, text.replace("namespace kiln::codegen {\n\n", "namespace kiln::codegen {\n\n" + constant.group().rstrip("\n") + "\n\n", 1))
        user = "compiler_core/codegen/lower/outline_device_kernels.cc"
        write(user, read(user).replace(f'#include "{header}"\n', ""))
        user = "compiler_core/codegen/cuda/kernel_functions.cc"
        text = read(user)
        if goal not in text:
            write(user, text.replace('#include "compiler_core/codegen/cuda/passes.h"\n', f'#include "compiler_core/codegen/cuda/passes.h"\n#include "{goal}"\n', 1))
        format_files(arguments, [header, goal, user])
        commit(arguments, "Name a kernel's threads where kernels are outlined", "Outlining sets the attribute and lowering to a device reads it; the arrow from\n"
               "codegen/lower to codegen/cuda is gone. Issue 18, point 5.")


def exact_moves(moves, folder, notes):
    """Moves that are no rooms of a parent: `folder` is one library and stays one; `notes` are its documents."""
    move(moves)
    changed = rewrite_paths(table.Parent(folder, "", "", "", (), ()), moves)
    for listing in [f for f in cmake.tracked(ROOT) if f.endswith("CMakeLists.txt") and f.startswith((folder + "/", "tests/" + folder + "/"))]:
        text, at = read(listing), os.path.dirname(listing)
        text = re.sub(r"(?<![\w./-])[\w./-]+\.cc\b",
                      lambda m: os.path.relpath(moves[path], at) if (path := os.path.normpath(os.path.join(at, m.group()))) in moves else m.group(), text)
        write(listing, text)
    # In the compiler's comments and documents, files are named from the parent's folder, from beside it, or in backticks from here.
    parent, name = os.path.split(folder)
    inside = {old.removeprefix(folder + "/"): new.removeprefix(folder + "/") for old, new in moves.items() if old.startswith(folder + "/")}
    spelled = "|".join(sorted((re.escape(one) for one in inside), key=len, reverse=True))
    for file in texts():
        if not file.startswith(parent + "/") or file.endswith("CMakeLists.txt"):
            continue
        text = before = read(file)
        text = re.sub(rf"(?:(?<![\w/.-])|(?<=\.\./)){name}/({spelled})\b", lambda m: f"{name}/{inside[m[1]]}", text)
        if os.path.dirname(file).startswith(folder + "/"):
            text = re.sub(rf"(?<![\w/.-])\.\./({spelled})\b", lambda m: f"../{inside[m[1]]}", text)
        if os.path.dirname(file) == folder and file in notes:
            text = re.sub(rf"`({spelled})(?=`)", lambda m: "`" + inside[m[1]], text)
        if text != before:
            write(file, text)
            changed += [file] if file.endswith(SUFFIXES) else []
    return changed


def schedule(arguments):
    """Roles, contraction roles, body, extents, groups and knobs below both emitters; four attributes out of lower/lowering.h."""
    files = set(cmake.tracked(ROOT))
    moves = {old: new for old, new in table.SCHEDULE.items() if old in files}
    if not moves:
        return
    notes = [f for f in files if f.endswith(".md") and f.startswith("compiler_core/")]
    changed = exact_moves(moves, "compiler_core/schedule", notes)
    lowering = "compiler_core/schedule/lower/lowering.h"
    text = read(lowering)
    found = re.search(r"^(?://[^\n]*\n)+((?:inline constexpr llvm::StringLiteral k\w+Attr =\n[^;]*;.*\n)+)\n", text, re.M)
    if not found:
        sys.exit("rooms: the attributes of compiler_core/schedule/lower/lowering.h are not where this expects them")
    write(table.ATTRIBUTES, table.ATTRIBUTES_HEAD + re.sub(r"\.\./(?:analysis/)?kernel_info\.h", "kernel_info.h", found[1]) + "\n}  // namespace kiln::schedule\n")
    first = '#include "compiler_core/schedule/analysis/packed_dot.h"\n'
    write(lowering, text.replace(found.group(), "").replace(first, f'#include "{table.ATTRIBUTES}"\n' + first))
    old = f'#include "{lowering}"\n'
    linalg = "mlir/Dialect/Linalg/IR/Linalg.h"
    for name, more in (("extents.h", ("compiler_core/ir/dims.h", "compiler_core/ir/ir.h", linalg)), ("groups.h", ("compiler_core/ir/ir.h", linalg)),
                       ("signature.cc", ("compiler_core/ir/ir.h", linalg, "mlir/IR/IRMapping.h"))):
        path = f"compiler_core/schedule/analysis/{name}"
        write(path, read(path).replace(old, "".join(f'#include "{i}"\n' for i in sorted({table.ATTRIBUTES, *more}))))
        changed.append(path)
    path, near = "compiler_core/schedule/gpu/attention.cc", '#include "compiler_core/schedule/gpu/products.h"\n'
    scalar = '#include "compiler_core/schedule/lower/scalar.h"\n'
    if scalar not in read(path):  # it came with extents.h until now
        write(path, read(path).replace(near, near + scalar))
    listing = "compiler_core/schedule/CMakeLists.txt"
    text = read(listing)
    sources = re.search(r"SOURCES\n((?: +[\w/]+\.cc\n)+)", text)
    if sources:
        lines = sorted(sources[1].split("\n")[:-1], key=lambda l: (l.count("/"), l))
        write(listing, text.replace(sources[1], "\n".join(lines) + "\n"))
    for name, (purpose, arrows, changes) in table.SCHEDULE_NOTES.items():
        path = f"compiler_core/schedule/{name}/README.md"
        arrow = f"`{arrows}`" if arrows != "none" else arrows
        write(path, "\n".join([f"# compiler_core/schedule/{name}", "", *fold(purpose), "", *fold(f"Part of `kiln::schedule`. Rooms beside it that it includes: {arrow}."), "",
                               "## Where to change what", "", "| To | Change |", "|---|---|", *[f"| {to} | {change} |" for to, change in changes], ""]))
    pieces = "tests/pieces/table.py"
    write(pieces, read(pieces).replace('"compiler_core/schedule/gpu/"', '"compiler_core/schedule/choice/", "compiler_core/schedule/gpu/"'))
    format_files(arguments, [*changed, lowering, table.ATTRIBUTES])
    commit(arguments, "Give what both emitters of kernels read its own floor", "vectorize read gpu/contraction_roles.h and gpu read vectorize/roles.h and body.h: both now stand in\n"
           "schedule/analysis, and what is chosen for a kernel in schedule/choice. Four attributes leave\nlower/lowering.h, so that analysis does not include lower. Issue 18, point 5.")


def make_floors(arguments):
    if floors.apply(ROOT, write):
        commit(arguments, "Hold the floors inside the folders by the layering test", "One row per room: which of its siblings it may include. Issue 18, points 5 and 6.")


def print_map():
    files = set(cmake.tracked(ROOT))
    for parent in table.PARENTS:
        for room in parent.rooms:
            for old, new in sorted(moves_of(parent, room, files).items()):
                print(f"{old} -> {new}")
    for old, new in (*table.MOVES.items(), *table.SCHEDULE.items()):
        if old in files:
            print(f"{old} -> {new}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", action="store_true")
    parser.add_argument("--no-format", action="store_true")
    parser.add_argument("--map", action="store_true")
    parser.add_argument("--only", nargs="+", default=["service", "cli", "index", "onnx", "inner", "floors"])
    parser.add_argument("--place", action="append", default=[])
    arguments = parser.parse_args()
    for one in arguments.place:
        path, room = one.split("=")
        PLACED[tuple(path.rsplit("/", 1))] = room
    if arguments.map:
        return print_map()
    if not (ROOT / "compiler_core").is_dir():
        sys.exit("rooms: run this in the root of a checkout")
    if git("diff", "--cached", "--name-only") or git("diff", "--name-only"):
        sys.exit("rooms: the checkout has changes; commit them first")
    names = dict(zip(("service", "cli", "index", "onnx"), table.PARENTS))
    files = cmake.tracked(ROOT)
    lost = [f for name in arguments.only if name in names for f in without_room(names[name], files)]
    if lost:
        sys.exit("rooms: no room (--place or table.py) for\n  " + "\n  ".join(lost))
    for name in arguments.only:
        if name in names:
            make_rooms(names[name], arguments)
    if "inner" in arguments.only:
        inner(arguments)
        schedule(arguments)
    if "floors" in arguments.only:
        make_floors(arguments)


if __name__ == "__main__":
    main()
