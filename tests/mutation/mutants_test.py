#!/usr/bin/env python3
"""The lists of mutants are readable and fit today's sources, and the reader refuses what it does not understand."""
import pathlib
import tempfile
import unittest
import unittest.mock

import mutants
import run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def module(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.list"
        path.write_text(text)
        return mutants.read_list(path)


class Lists(unittest.TestCase):
    def test_every_mutant_has_its_place(self):
        by_file = {}
        for one in mutants.read_lists(HERE / "lists"):
            for mutant in one.mutants:
                by_file.setdefault(mutant.file, []).append(mutant)
        self.assertGreaterEqual(sum(map(len, by_file.values())), 300)
        for file, changes in by_file.items():
            with self.subTest(file=file):
                text = mutants.instrument((ROOT / file).read_text(), changes)
                for mutant in changes:
                    self.assertIn(mutant.id, text)


class Reader(unittest.TestCase):
    def test_statements(self):
        read = module("tests a_test One.*\nfile x.cc\nm-1 swap a < b => a <= b\nm-2 [2] drop f();\n  equivalent why\n")
        self.assertEqual(read.tests, [["a_test", "One.*"]])
        self.assertEqual([(m.id, m.kind, m.before, m.after, m.nth, m.excuse) for m in read.mutants],
                         [("m/m-1", "swap", "a < b", "a <= b", 0, ""), ("m/m-2", "drop", "f();", "", 2, "equivalent why")])

    def test_refusals(self):
        head = "tests t\nfile x\n"
        for text in ("file x\nm swap a => b", head + "m swap a", head + "m drop a => b", head + "m keep a", head + "m swap f(); => g();",
                     head + "m drop a\nm drop b", head + "  equivalent why", "tests t\nm drop a"):
            with self.subTest(text=text), self.assertRaises(mutants.ListError):
                module(text)


class Instrument(unittest.TestCase):
    def change(self, source, lines):
        return mutants.instrument(source, module("tests t\nfile x\n" + lines).mutants).removeprefix(mutants.HEADER)

    def test_swap_and_drop(self):
        self.assertEqual(self.change("if (a < b) f();", "one swap a < b => false\ntwo drop f();"),
                         'if ((KILN_MUTANT_IS_ON("m/one") ? (false) : (a < b))) '
                         '{ if (!KILN_MUTANT_IS_ON("m/two")) { f(); } }')

    def test_only_whole_statements_are_dropped(self):
        for source in ("list.push_back(1);", "if (Status done = push_back(1); !done) return;"):
            with self.subTest(source=source), self.assertRaises(mutants.ListError):
                self.change(source, "one drop push_back(1);")
        for before in ("if (x) ", "else ", "default: ", "{ ", "g();\n  // Why.\n  "):
            with self.subTest(before=before):
                self.assertIn("m/one", self.change(before + "f();", "one drop f();"))

    def test_two_mutants_share_a_place(self):
        changed = self.change("x + a", "one swap a => b\ntwo swap a => c")
        self.assertEqual(changed, 'x + (KILN_MUTANT_IS_ON("m/two") ? (c) : ((KILN_MUTANT_IS_ON("m/one") ? (b) : (a))))')

    def test_line_breaks_count_as_spaces(self):
        self.assertIn("m/one", self.change("if (a &&\n      b)", "one swap a && b => a"))

    def test_what_cannot_be_placed_is_refused(self):
        for source, lines in (("b", "one drop a"), ("a a", "one drop a"), ("a", "one [2] drop a"),
                              ("a b c", "one drop a b\ntwo drop b c")):
            with self.subTest(source=source, lines=lines), self.assertRaises(mutants.ListError):
                self.change(source, lines)


class FirstTests(unittest.TestCase):
    def test_each_place_belongs_to_the_test_above_its_first_line(self):
        text = """m/before-all
[ RUN      ] A.One/0
m/twice
said by the test: m/not-a-line
[       OK ] A.One/0 (3 ms)
[ RUN      ] B.Two
m/twice
m/once
"""
        self.assertEqual(run.first_tests(text), {"m/before-all": None, "m/twice": "A.One/0", "m/once": "B.Two"})


class Baseline(unittest.TestCase):
    def test_places_are_known_by_the_test_that_reached_them(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(run, "TREE", pathlib.Path(folder)):
            program = pathlib.Path(folder) / "build/release/bin/a_test"
            program.parent.mkdir(parents=True)
            program.write_text("#!/bin/sh\n"
                               "echo '[ RUN      ] One.First'; echo m/one >> $KILN_MUTANTS_REACHED\n"
                               "echo '[ RUN      ] One.Second'; echo m/one >> $KILN_MUTANTS_REACHED\n"
                               "echo m/two >> $KILN_MUTANTS_REACHED; echo '[       OK ] One.Second (1500 ms)'\n")
            program.chmod(0o755)
            programs = run.baseline(module("tests a_test\nfile x\none drop f();\ntwo drop g();\n"))
            self.assertEqual([one.reached for one in programs], [{"m/one": "One.First", "m/two": "One.Second"}])
            self.assertEqual([one.took for one in programs], [{"One.Second": 1.5}])

    def test_a_list_that_nothing_reaches_is_an_error(self):
        with unittest.mock.patch.object(run, "baseline", lambda module: [run.Program(["a_test"], 1.0, {}, {})]):
            with self.assertRaises(mutants.ListError):
                run.judge(module("tests a_test\nfile x\none drop f();\n"), [], 1)


if __name__ == "__main__":
    unittest.main()
