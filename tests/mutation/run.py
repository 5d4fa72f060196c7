#!/usr/bin/env python3
"""Runs each mutant against the tests of its module and says which nobody noticed.

usage: run.py [--build-only] [--results FILE] [--mutant ID] [MODULE...]

The sources are copied to build/mutation/tree, those of the lists with all their mutants behind one switch, and built
there once; then each mutant is turned on by the environment variable KILN_MUTANT while the module's test programs
run: at first only the test that was the first to reach the mutant's place, then the whole program. A mutant is
noticed when a program fails, crashes or hangs (four times as long as without it, and 20 s more).
Exit 1 when a mutant survives that its list does not excuse, when an excused one is noticed (its excuse is wrong),
or when fewer than 92 of 100 are noticed.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import mutants as listing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / "build" / "mutation" / "tree"
WANTED = 0.92


def write_if_changed(path, text):
    if not path.is_file() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def write_tree(modules):
    """The tree with the mutants; what did not change keeps its time, so that a second build is short."""
    by_file = {}
    for module in modules:
        for mutant in module.mutants:
            by_file.setdefault(mutant.file, []).append(mutant)
    tracked = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, tracked):
        source = ROOT / name
        if not source.is_file():
            continue
        text = source.read_bytes()
        if name in by_file:
            text = listing.instrument(text.decode(), by_file.pop(name)).encode()
        write_if_changed(TREE / name, text)
        os.chmod(TREE / name, source.stat().st_mode)
    if by_file:
        raise listing.ListError("no such source: " + ", ".join(by_file))


def build(modules):
    programs = sorted({test[0] for module in modules for test in module.tests})
    subprocess.run([TREE / "infra" / "build", "release", *programs], check=True,
                   env={key: value for key, value in os.environ.items() if key != "CI"})


@dataclasses.dataclass
class Program:
    """A test program of a module, as it runs without a mutant."""
    test: list  # the program and its filters
    seconds: float
    reached: dict  # per mutant whose place it reaches, the name of the first test that does
    took: dict  # per test its seconds


def run_test(test, limit, log=None, **environment):
    """(passed, seconds) of one test program; a program that takes longer than `limit` has not passed."""
    program, *filters = test
    command = [TREE / "build/release/bin" / program, "--gtest_fail_fast"]
    command += [f"--gtest_filter={':'.join(filters)}"] if filters else []
    begin = time.monotonic()
    # Of a program that crashed a database may still be writing there while it ends.
    with tempfile.TemporaryDirectory(prefix="kiln-mutation-", ignore_cleanup_errors=True) as scratch:
        os.chmod(scratch, 0o755)  # sandboxes enter it as another user
        try:
            done = subprocess.run(command, cwd=scratch, timeout=limit, stdin=subprocess.DEVNULL,
                                  stdout=log or subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "TMPDIR": scratch, **environment})
            return done.returncode == 0, time.monotonic() - begin
        except subprocess.TimeoutExpired:
            return False, limit


def first_tests(text):
    """Per mutant the first test that reaches its place, from what GoogleTest prints with the IDs among it."""
    reached, current = {}, None
    for line in text.splitlines():
        if started := re.match(r"\[ RUN      \] (\S+)", line):
            current = started[1]
        elif re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", line):
            reached.setdefault(line, current)
    return reached


def durations(text):
    """Per test the seconds that GoogleTest prints."""
    return {name: int(ms) / 1000 for name, ms in re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)$", text, re.MULTILINE)}


def baseline(module):
    """The module's Programs. Without a mutant each must pass."""
    out = []
    for test in module.tests:
        # GoogleTest and the places that it reaches append to one file, so that each ID stands below its test.
        with tempfile.TemporaryDirectory(prefix="kiln-reached-") as folder:
            log = pathlib.Path(folder) / "log"
            with open(log, "ab") as out_and_places:  # a temporary file of Python's would be written over, not appended to
                passed, seconds = run_test(test, 900, out_and_places, KILN_MUTANTS_REACHED=str(log))
            if not passed:
                raise listing.ListError(f"{' '.join(test)} fails without any mutant")
            text = log.read_text(errors="replace")
            out.append(Program(test, seconds, first_tests(text), durations(text)))
    return out


def is_noticed(mutant, programs):
    """Whether one of the programs that reach the mutant's place fails with it; the quickest first."""
    reaching = sorted((one for one in programs if mutant.id in one.reached), key=lambda one: one.seconds)
    firsts = [([one.test[0], name], one.took.get(name, one.seconds)) for one in reaching if (name := one.reached[mutant.id])]
    return any(not run_test(test, 4 * seconds + 20, KILN_MUTANT=mutant.id)[0]
               for test, seconds in firsts + [(one.test, one.seconds) for one in reaching])


def judge(module, chosen, jobs):
    """[(mutant, noticed)] of one module."""
    programs = baseline(module)
    if not any(program.reached for program in programs):
        raise listing.ListError(f"{module.name}: its programs reach no mutant")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        noticed = pool.map(lambda mutant: is_noticed(mutant, programs), chosen)
        return list(zip(chosen, noticed))


def table(results):
    lines = ["| module | mutants | noticed | excused | survived |", "|---|---:|---:|---:|---:|"]
    total = [0, 0, 0, 0]
    for name, rows in results:
        figures = [len(rows), sum(n for _, n in rows), sum(not n and bool(m.excuse) for m, n in rows),
                   sum(not n and not m.excuse for m, n in rows)]
        total = [a + b for a, b in zip(total, figures)]
        lines.append("| " + " | ".join([name, *map(str, figures)]) + " |")
    lines.append("| **all** | " + " | ".join(map(str, total)) + " |")
    for title, want in (("Survivors without an excuse", False), ("Excused survivors", True)):
        rows = [m for _, rows in results for m, n in rows if not n and bool(m.excuse) == want]
        if rows:
            lines += ["", f"## {title}", ""]
            lines += [f"- `{m.id}` {m.file}: {m.kind} `{m.before}`" + (f" => `{m.after}`" if m.after else "")
                      + (f": {m.excuse}" if m.excuse else "") for m in rows]
    return "\n".join(lines) + "\n", total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--mutant", help="only this one, MODULE/NAME")
    parser.add_argument("--results", type=pathlib.Path, help="where to write the table as Markdown")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    everything = listing.read_lists(HERE / "lists")  # the build contains all, whichever are run
    modules = [one for one in everything if not options.modules or one.name in options.modules]
    if options.mutant:
        modules = [one for one in everything if one.name == options.mutant.split("/")[0]]
    write_tree(everything)
    build(modules)
    if options.build_only:
        return 0
    results = []
    for module in modules:
        chosen = [one for one in module.mutants if options.mutant in (None, one.id)]
        rows = judge(module, chosen, options.jobs)
        results.append((module.name, rows))
        for mutant, noticed in rows:
            if noticed == bool(mutant.excuse):
                print(f"{mutant.id}: " + ("noticed, so its excuse is wrong" if noticed else "NOT NOTICED"), flush=True)
        print(f"{module.name}: {sum(n for _, n in rows)} of {len(rows)} noticed", flush=True)
    text, (count, noticed, excused, survived) = table(results)
    if options.results:
        options.results.write_text("# What the tests notice\n\nMade by `tests/mutation/run.py --results`.\n\n" + text)
    print(text)
    wrong = [m for _, rows in results for m, n in rows if n and m.excuse]
    return 0 if not survived and not wrong and noticed >= WANTED * count else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except listing.ListError as error:
        sys.exit(f"run.py: {error}")
