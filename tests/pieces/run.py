#!/usr/bin/env python3
"""infra/test --full: a whole run in pieces that can be resumed, shared among machines and looked up.

usage: infra/test --full [--piece NAME]... [--shard I/N] [--again] [--ledger FILE]
       infra/test --full --status
       infra/test --full --touched [--base COMMIT] [--within SECONDS]

Without options every piece runs that the current commit has not passed yet, so that a run that was cut off goes on where
it was. Each result is written to the ledger ($KILN_CACHE/pieces.jsonl) with its commit, time and duration. The working
tree must be clean, since a result is one of a commit; --piece and --touched also run with changes, and then write nothing.

  --piece NAME      only this one (repeatable), also if it has passed; "mutation/*" stands for all of a kind
  --shard I/N       the I-th of N shares of about equal length, for N machines; I counts from 1
  --again           also what has passed
  --status          a line per piece: what was seen of this commit; exit 0 only when all have passed or say why not
  --touched         the pieces whose sources changed since --base (default: $KILN_BASE, else the commit before this one)
  --within SECONDS  of those, only as many as fit, the shortest first; names the others
  --ledger FILE     another ledger

Exit 1 when a piece failed. A piece whose tools are missing says so and counts as skipped.
"""
import argparse
import fnmatch
import os
import pathlib
import subprocess
import sys
import time

import ledger
import table

SKIPPED = 77


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=table.ROOT, check=True, capture_output=True, text=True).stdout.strip()


def changed_since(base):
    """Paths that differ between `base` and HEAD; None where there is no such commit (a first commit, a shallow clone)."""
    try:
        return git("diff", "--name-only", base, "HEAD").splitlines()
    except subprocess.CalledProcessError:
        return None


def shard(pieces, index, count, seconds):
    """The index-th (from 1) of `count` shares: longest first, each to the share that has least. `seconds` must be the same on
    every machine and in every run, or pieces would be in two shares or in none."""
    shares = [[0, []] for _ in range(count)]
    for piece in sorted(pieces, key=lambda one: (-seconds(one), one.name)):
        least = min(shares, key=lambda share: share[0])
        least[0] += seconds(piece)
        least[1].append(piece)
    return shares[index - 1][1]


def fitting(pieces, limit, seconds):
    """(what fits into `limit` seconds, the rest), the shortest first."""
    chosen, rest, used = [], [], 0
    for piece in sorted(pieces, key=seconds):
        fits = used + seconds(piece) <= limit
        used += seconds(piece) if fits else 0
        (chosen if fits else rest).append(piece)
    return chosen, rest


def run(piece):
    """(result, seconds, last lines of the output). The output is shown as it comes."""
    begin, tail, skipped = time.monotonic(), [], False
    with subprocess.Popen(piece.command, cwd=table.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            tail = [*tail[-19:], line]
            skipped = skipped or bool(piece.test) and "***Skipped" in line
    code = process.returncode
    result = "skipped" if code == SKIPPED or code == 0 and skipped else "passed" if code == 0 else "failed"
    return result, round(time.monotonic() - begin), "".join(tail)


def print_status(pieces, seen, commit):
    width = max(len(piece.name) for piece in pieces)
    for piece in pieces:
        entry = seen.get(piece.name)
        print(f"{piece.name:{width}}  " + (f"{entry.result:8} {entry.at} {entry.seconds:6} s" if entry else "not seen"))
    count = {result: sum(piece.name in seen and seen[piece.name].result == result for piece in pieces) for result in ledger.RESULTS}
    missing = len(pieces) - sum(count.values())
    print(f"commit {commit[:12]}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped, {missing} not seen")
    return 0 if not missing and not count["failed"] else 1


def select(options, pieces, seen, seconds):
    if options.piece:
        chosen = [one for one in pieces if any(fnmatch.fnmatchcase(one.name, name) for name in options.piece)]
        unknown = [name for name in options.piece if not fnmatch.filter([one.name for one in pieces], name)]
        if unknown:
            sys.exit(f"infra/test: no piece is named {unknown[0]}; infra/test --full --status lists them")
        return chosen
    if options.touched:
        base = options.base or os.environ.get("KILN_BASE") or "HEAD^"
        changed = changed_since(base)
        if changed is None:
            print(f"infra/test: there is no commit {base} here to compare with; no further pieces")
            return []
        touched = [one for one in pieces if one.name != "tests" and one.is_touched(changed)]
        chosen, rest = fitting(touched, options.within, seconds) if options.within is not None else (touched, [])
        if rest:
            print("infra/test: also touched, to be run with infra/test --full --piece NAME: " + ", ".join(one.name for one in rest))
        return chosen
    if options.shard:
        pieces = shard(pieces, *options.shard, lambda one: one.seconds)
    return [one for one in pieces if options.again or one.name not in seen or seen[one.name].result != "passed"]


def parse(arguments):
    def share(text):
        index, _, count = text.partition("/")
        if not (index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
            raise argparse.ArgumentTypeError("I/N with 1 <= I <= N is wanted")
        return int(index), int(count)

    parser = argparse.ArgumentParser(prog="infra/test --full", usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--piece", action="append", help=argparse.SUPPRESS)
    parser.add_argument("--shard", type=share, help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--status", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--touched", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--base", help=argparse.SUPPRESS)
    parser.add_argument("--within", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ledger", type=pathlib.Path, default=ledger.default_path(), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        commit = git("rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"infra/test: git tells no commit of {table.ROOT} ({error}); no further pieces")
        return 0 if options.touched else 1
    kept, pieces = ledger.Ledger(options.ledger), table.pieces()
    try:
        entries = kept.read()
    except ValueError as error:
        sys.exit(f"infra/test: {error}")
    seen, known = ledger.latest(entries, commit), ledger.durations(entries)
    if options.status:
        return print_status(pieces, seen, commit)
    clean = not git("status", "--porcelain")
    if not clean and not options.piece and not options.touched:
        sys.exit("infra/test: the working tree has changes, and a result is one of a commit; commit them, or name a --piece")
    chosen, failed = select(options, pieces, seen, lambda one: known.get(one.name, one.seconds)), []
    if chosen:
        subprocess.run(table.SETUP, cwd=table.ROOT, check=True)
    for piece in chosen:
        print(f"== {piece.name}", flush=True)
        result, seconds, tail = run(piece)
        print(f"== {piece.name}: {result} after {seconds} s", flush=True)
        if clean:
            kept.append(ledger.Entry(commit, piece.name, result, seconds, ledger.now(), "" if result == "passed" else tail))
        failed += [piece.name] if result == "failed" else []
    if failed:
        print("infra/test: failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
