#!/usr/bin/env python3
"""The pieces of a whole run: the table, the ledger, and a run that is cut off, shared, repeated.

usage: pieces_test.py [BUILD_FOLDER]: with one, the table is held against CTest's own list of what it labels `full`.
"""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import ledger
import run
import table

BUILD = sys.argv.pop() if len(sys.argv) > 1 and pathlib.Path(sys.argv[-1]).is_dir() else None


def piece(name, script, seconds=10, sources=("a/",), test=""):
    return table.Piece(name, ("bash", "-c", script), seconds, sources, test)


class TableTest(unittest.TestCase):
    def test_names_are_unique_and_sources_exist(self):
        names = [one.name for one in table.pieces()]
        self.assertEqual(len(names), len(set(names)))
        for one in table.pieces():
            for source in one.sources:
                self.assertTrue((table.ROOT / source).exists(), f"{one.name}: {source}")

    @unittest.skipUnless(BUILD, "no build folder")
    def test_what_ctest_labels_full_is_here(self):
        listed = subprocess.run(["ctest", "--test-dir", BUILD, "-N", "-L", "^full$", "--show-only=json-v1"], check=True, capture_output=True)
        self.assertEqual(sorted(one["name"] for one in json.loads(listed.stdout)["tests"]), sorted(one.test for one in table.pieces() if one.test))


class LedgerTest(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.path = pathlib.Path(home.name, "deep", "ledger")
        self.ledger = ledger.Ledger(self.path)

    def entry(self, commit, name, result, seconds=1):
        return ledger.Entry(commit, name, result, seconds, ledger.now())

    def test_the_newest_of_a_commit_counts(self):
        for entry in (self.entry("c", "x", "failed"), self.entry("c", "x", "passed", 7), self.entry("d", "x", "failed", 9)):
            self.ledger.append(entry)
        self.assertEqual(ledger.latest(self.ledger.read(), "c")["x"].result, "passed")
        self.assertEqual(ledger.durations(self.ledger.read()), {"x": 7})

    def test_a_line_that_was_cut_off_is_forgotten_and_loses_nothing_else(self):
        self.ledger.append(self.entry("c", "x", "passed"))
        with open(self.path, "a") as file:
            file.write('{"commit": "c", "pie')
        self.assertEqual(len(self.ledger.read()), 1)
        self.ledger.append(self.entry("c", "y", "passed"))
        self.assertEqual([one.piece for one in self.ledger.read()], ["x", "y"])

    def test_what_is_no_entry_is_named_by_its_place(self):
        for line in ("no json", "[]", '{"commit": "c"}', json.dumps({"commit": "c", "piece": "x", "result": "fine", "seconds": 1, "at": "t", "why": ""})):
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(line + "\n")
            with self.assertRaisesRegex(ValueError, "ledger:1 is no entry"):
                self.ledger.read()


class RunTest(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.root, self.ledger = pathlib.Path(home.name, "tree"), pathlib.Path(home.name, "ledger")
        # What this run itself is compared with is no commit of the trees here.
        environment = {name: value for name, value in os.environ.items() if name != "KILN_BASE"}
        self.enterContext(mock.patch.dict(os.environ, environment, clear=True))
        self.root.mkdir()
        self.git("init", "-q")
        self.commit("a/one")
        self.pieces = [piece("good", "echo ran good >> ../ran"), piece("bad", "echo ran bad >> ../ran; echo why not; exit 1"),
                       piece("absent", "echo ran absent >> ../ran; exit 77", sources=("b/",))]
        for name, value in (("ROOT", self.root), ("SETUP", ("true",)), ("pieces", lambda: self.pieces)):
            patch = mock.patch.object(table, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self, name):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(name)
        self.git("add", ".")
        self.git("commit", "-qm", name)

    def main(self, *arguments):
        """(exit code, what was printed)."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                code = run.main([*arguments, "--ledger", str(self.ledger)])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue()

    def ran(self):
        path = self.root.parent / "ran"
        out = [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []
        path.unlink(missing_ok=True)
        return out

    def test_goes_on_with_what_has_not_passed(self):
        code, out = self.main()
        self.assertEqual((code, self.ran()), (1, ["good", "bad", "absent"]))
        self.assertIn("failed: bad", out)
        self.assertEqual((self.main()[0], self.ran()), (1, ["bad", "absent"]))
        self.assertEqual((self.main("--again")[0], self.ran()), (1, ["good", "bad", "absent"]))
        self.commit("a/two")
        self.assertEqual((self.main()[0], self.ran()), (1, ["good", "bad", "absent"]))

    def test_status_says_what_was_seen_of_this_commit(self):
        self.assertEqual(self.main("--status")[0], 1)
        self.main()
        code, out = self.main("--status")
        self.assertEqual(code, 1)
        self.assertIn("1 passed, 1 failed, 1 skipped, 0 not seen", out)
        self.pieces[1] = piece("bad", "true")
        self.main()
        self.assertEqual(self.main("--status")[0], 0)
        self.commit("a/two")
        self.assertIn("0 passed, 0 failed, 0 skipped, 3 not seen", self.main("--status")[1])

    def test_a_failure_keeps_its_last_lines(self):
        self.main("--piece", "bad")
        self.assertEqual([one.why for one in ledger.Ledger(self.ledger).read()], ["why not\n"])

    def test_a_test_that_skips_itself_is_skipped(self):
        self.pieces = [piece("one", "echo '1/1 Test #1: x ...***Skipped 0.1 sec'", test="x"), piece("many", "echo '***Skipped'")]
        self.main()
        self.assertEqual([one.result for one in ledger.Ledger(self.ledger).read()], ["skipped", "passed"])

    def test_a_tree_with_changes_gives_no_result(self):
        (self.root / "a/one").write_text("changed")
        self.assertIn("has changes", str(self.main()[0]))
        self.assertEqual((self.main("--piece", "good")[0], self.ran()), (0, ["good"]))
        self.assertFalse(self.ledger.exists())

    def test_a_tree_without_commits_has_nothing_to_compare(self):
        shutil.rmtree(self.root / ".git")
        with mock.patch.dict(os.environ, {"GIT_CEILING_DIRECTORIES": str(self.root.parent)}):
            self.assertEqual((self.main("--touched")[0], self.main()[0], self.ran()), (0, 1, []))

    def test_a_piece_that_is_not_there(self):
        self.assertIn("no piece is named nothing", str(self.main("--piece", "nothing")[0]))

    def test_shares_are_disjoint_whole_and_about_equal(self):
        many = [piece(f"p{n}", "true", seconds=n) for n in range(1, 30)]
        for count in (1, 2, 3, 7):
            shares = [run.shard(many, index, count, lambda one: one.seconds) for index in range(1, count + 1)]
            self.assertEqual(sorted(one.name for share in shares for one in share), sorted(one.name for one in many))
            lengths = [sum(one.seconds for one in share) for share in shares]
            self.assertLessEqual(max(lengths) - min(lengths), 29)
        self.assertEqual(self.main("--shard", "3/2")[0], 2)
        self.assertEqual(self.main("--shard", "1/1")[0], 1)
        self.assertEqual(len(self.ran()), 3)

    def test_what_a_change_touches(self):
        self.commit("b/one")
        self.assertEqual((self.main("--touched")[0], self.ran()), (0, ["absent"]))
        self.commit("a/two")
        self.assertEqual((self.main("--touched")[0], self.ran()), (1, ["good", "bad"]))
        self.assertEqual((self.main("--touched", "--base", "HEAD~2")[0], sorted(self.ran())), (1, ["absent", "bad", "good"]))
        with mock.patch.dict(os.environ, {"KILN_BASE": "HEAD"}):
            self.assertEqual((self.main("--touched")[0], self.ran()), (0, []))
        self.assertIn("no commit nowhere", self.main("--touched", "--base", "nowhere")[1])

    def test_of_what_is_touched_only_as_much_as_fits(self):
        self.pieces = [piece("long", "true", seconds=90), piece("short", "true", seconds=5), piece("fits", "true", seconds=20)]
        self.commit("a/two")
        out = self.main("--touched", "--within", "30")[1]
        self.assertIn("also touched, to be run with infra/test --full --piece NAME: long", out)
        self.assertIn("== short: passed", out)
        self.assertIn("== fits: passed", out)


if __name__ == "__main__":
    unittest.main()
