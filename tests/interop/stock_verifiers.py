#!/usr/bin/env python3
"""Has verifiers that nobody here wrote judge what Kiln signs: each must accept it and refuse damaged copies.

usage: stock_verifiers.py [--only NAME]... [--artifact FILE --root FILE [--trusted-root FILE] [--tiles DIR] BUNDLE...]
Without bundles, the golden documents. --root is Kiln's trust root, which names the signers' keys, --trusted-root the same
root's logs as `kiln trust show --sigstore` writes them (without it log entries are not judged), --tiles a log's directory.

Every program comes from its own registry (fetched.py). What cannot be had is skipped by name, and so is a program that
finds nothing to judge; a registry that answers and does not give what is pinned is a failure. Exit 77 (skipped) unless two
have run.
"""
import argparse
import pathlib
import sys

from evidence import Evidence
from fetched import Broken, Skip
from verifiers import VERIFIERS

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/v1"


def golden():
    logged = GOLDEN / "logged"
    artifact = GOLDEN / "artifact.json"
    yield Evidence(artifact, logged / "bundle.sigstore.json", logged / "root.json", logged / "trusted_root.json", logged / "log")
    yield Evidence(artifact, logged / "vsa.sigstore.json", logged / "root.json", logged / "trusted_root.json")
    yield Evidence(artifact, GOLDEN / "bundle.sigstore.json", GOLDEN / "root.json")


def named(options):
    for number, bundle in enumerate(options.bundles):
        yield Evidence(options.artifact, bundle, options.root, options.trusted_root, options.tiles if number == 0 else None)


def judge(names, evidence):
    """Prints what each verifier makes of all the evidence. (those that ran, what they judged wrongly)"""
    ran, problems = [], []
    for name in names:
        judged, wrong, why = 0, [], "nothing to judge"
        for one in evidence:
            try:
                wrong += VERIFIERS[name](one)
                judged += 1
            except Skip as skip:
                why = str(skip)
            except Broken as broken:
                wrong.append(str(broken))
                judged += 1
                break
        if judged == 0:
            print(f"skipped {name}: {why}")
            continue
        ran.append(name)
        problems += [f"{name}: {what}" for what in wrong]
        print(f"{'failed' if wrong else 'passed'} {name}")
    return ran, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=VERIFIERS, help="a program; may be repeated")
    for name in ["artifact", "root", "trusted-root", "tiles"]:
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("bundles", nargs="*", type=pathlib.Path, metavar="BUNDLE")
    options = parser.parse_args()
    if bool(options.bundles) != bool(options.artifact and options.root):
        parser.error("--artifact, --root and a BUNDLE go together")
    ran, problems = judge(options.only or VERIFIERS, list(named(options) if options.bundles else golden()))
    for problem in problems:
        print("  " + problem)
    if problems:
        return 1
    if len(ran) < 2:
        print(f"skipped: {' and '.join(ran) or 'none'} ran, and two are wanted")
        return 77
    print(f"{len(ran)} verifiers accept what Kiln signed and refuse damaged copies: {', '.join(ran)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
