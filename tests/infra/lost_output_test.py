#!/usr/bin/env python3
"""No program of Kiln ends with 0 when what it printed was lost: standard output on a full disk, or closed. Standard library only.

usage: lost_output_test.py BIN       the folder of the programs"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build/release/bin"
MODEL = ROOT / "tests/models/digits_cnn.onnx"
FOLDERS = ("api", "compiler_core", "coordinator", "signing", "storage", "worker", "tests/conformance")


def programs():
    """What users and farms run: every kiln_executable outside the tests, and the conformance suite of DESIGN 9."""
    found = set()
    for folder in FOLDERS:
        for listing in (ROOT / folder).rglob("CMakeLists.txt"):
            found |= set(re.findall(r"^\s*kiln_executable\((\S+)", listing.read_text(), re.M))
    return sorted(name for name in found if name.startswith("kiln") or name == "onnx_backend")


def commands_of(program):
    """Lines of words that print on standard output and succeed."""
    text = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, timeout=60).stdout
    _, _, listing = text.partition("ubcommands:")
    names = re.findall(r"^  ([a-z][a-z-]*)(?: |$)", listing, re.M)
    return [["--help"]] + [[name, "--help"] for name in names]


class LostOutput(unittest.TestCase):
    def lost(self, words):
        line = " ".join(map(str, words))
        well = subprocess.run(words, capture_output=True, text=True, timeout=120)
        self.assertEqual(well.returncode, 0, f"{line}: {well.stderr}")
        self.assertTrue(well.stdout, f"{line} prints nothing: choose another")
        with open("/dev/full", "w") as full:
            result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        self.ended_badly(line + " >/dev/full", result)
        closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True, timeout=120)
        self.ended_badly(line + " >&-", closed)

    def ended_badly(self, line, result):
        self.assertTrue(0 < result.returncode < 126, f"{line}: exit {result.returncode}: {result.stderr}")
        self.assertIn("output", result.stderr, line)

    def test_every_program_and_subcommand(self):
        names = programs()
        self.assertIn("kiln", names)
        self.assertGreater(len(names), 10)
        for program in names:
            for words in commands_of(program):
                with self.subTest(program=program, words=words):
                    self.lost([BIN / program, *words])

    def test_what_prints_documents(self):
        with tempfile.TemporaryDirectory() as place:
            key = f"{place}/k.pem"
            subprocess.run([BIN / "kiln-signer", "make-key", "--out", key], check=True, capture_output=True)
            for words in (["kiln", "--version"], ["kiln-cc", "--version"], ["kiln-cc", "--version", "--json"],
                          ["kiln-cc", "spec", "--model", MODEL], ["kiln-cc", "explain", MODEL], ["kiln-cc", "explain", MODEL, "--json"],
                          ["kiln-worker", "devices"], ["kiln-signer", "public-key", "--key", key]):
                with self.subTest(words=words):
                    self.lost([BIN / words[0], *words[1:]])


if __name__ == "__main__":
    unittest.main()
