#!/usr/bin/env python3
"""How the commands of a page are found, run, masked and compared, and whether messages name files that are there. No farm; see
documents_test.py."""
import os
import pathlib
import re
import tempfile
import unittest

import pages

PAGE = """# A page
```sh
not run
```
Text.
```console
$ echo one
one
$ printf '%s\\n' a \\
> b
a
b
```
"""


class PagesTest(unittest.TestCase):
    def test_commands_have_their_lines_and_what_the_page_shows(self):
        first, second = pages.commands(PAGE)
        self.assertEqual((first.text, first.line, first.shown), ("echo one", 7, ["one"]))
        self.assertEqual((second.text, second.line, second.shown), ("printf '%s\\n' a \\\nb", 9, ["a", "b"]))

    def test_output_without_a_command_is_refused(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            pages.commands("```console\noutput\n```\n")

    def test_masking(self):
        for line, masked in (
                ("artifact sha256:0d2b6f1dd4eeb6f1dd4e", "artifact sha256:<hex>"),
                ("job 018f6a2e-7c1d-7aaa-8bbb-0123456789ab is done", "job <id> is done"),
                ("recorded 2026-11-23T21:20:59Z", "recorded <time>"),
                ("2026-11-23 21:20 UTC", "<time> UTC"),
                ("warm in 1.25 ms, 3 s, 20min", "warm in <duration>, <duration>, <duration>"),
                ("program 12.5 KiB, 8192 bytes", "program <size>, <size>"),
                ("moved (187.1 kB) and of code", "moved (<size>) and of code"),
                ("at http://127.0.0.1:40123/metrics", "at <url>/metrics"),
                ("key v8ah8y+6JcJbxT6Emg9csqTjCTPfszLxB4+JbNhe/+M= signed", "key <key> signed"),
                ("2 threads, 24576 of 25088 bytes", "<threads>, <size>"),
                ("would remove 7 blobs, 3 B", "would remove <count> blob, <size>"),
                ("default kiln-0.1.0+llvm22.1.8+cuda13.0, ok", "default <label>, ok"),
                ("7 artifacts, 37 log entries (1 of other instances)", "<count> artifact, <count> log entr (<count> of other instances)"),
                ("1 artifact, 1 log entry", "<count> artifact, <count> log entr"),
                ("log  entry 34  of 35  0 witnesses", "log entry <n> of <n> 0 witnesses"),
                ("process log: runs as 31715", "process log: runs as <pid>"),
                ("processor: runs cpu:x86-64-v3, cpu:x86-64-v4+avx512vnni", "processor: runs <targets>"),
                ("processor: runs cpu:x86-64-v3", "processor: runs <targets>"),
                ("in /tmp/kiln-3f/x.json", "in <path>"),
                ("built by worker-2", "built by <worker>"),
                ("  NAME      STATE   ", "  NAME STATE")):
            self.assertEqual(pages.mask(line), masked)

    def test_masking_keeps_words_counts_and_codes(self):
        for line in ("accuracy 292/297 (98.32 %)", "deadbeef is a word", "[exit 10]", "N=1:8:64", "cpu:x86-64-v3"):
            self.assertEqual(pages.mask(line), line)

    def test_dots_stand_for_any_number_of_lines(self):
        for shown, printed, same in ((["a", "...", "d"], ["a", "b", "c", "d"], True), (["...", "d"], ["d"], True),
                                     (["..."], [], True), (["a", "..."], ["b"], False), (["a"], ["a", "b"], False)):
            self.assertEqual(pages.matches(shown, printed), same, (shown, printed))

    def checked(self, text, accept=False):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            wrong = pages.check(page, folder, dict(os.environ), [(pathlib.Path(folder).resolve(), pages.HOME)], accept)
            return wrong, page.read_text()

    def test_a_page_that_tells_the_truth_passes(self):
        self.assertEqual(self.checked(PAGE), ([], PAGE))

    def test_commands_share_a_shell_and_failures_show_their_exit_code(self):
        wrong, _ = self.checked("```console\n$ A=5\n$ cd .; ls /nowhere/$A 2>/dev/null || (exit $A)\n[exit 5]\n"
                                "$ echo why >&2; (exit 3)\nwhy\n[exit 3]\n$ pwd\n/home/you/kiln\n```\n")
        self.assertEqual(wrong, [])

    def test_progress_before_an_error_is_not_shown(self):
        wrong, _ = self.checked("```console\n$ printf 'waiting\\nkiln: error: no\\n  place\\n' >&2; (exit 4)\nkiln: error: no\n  place\n[exit 4]\n```\n")
        self.assertEqual(wrong, [])

    def test_a_difference_is_a_diff_that_names_page_line_and_command(self):
        wrong, _ = self.checked("```console\n$ echo new\nold\n```\n")
        self.assertEqual(len(wrong), 1)
        for part in ("$ echo new", "--- page.md, line 2", "-old", "+new"):
            self.assertIn(part, wrong[0])

    def test_accepting_writes_the_page_again_and_keeps_what_was_right(self):
        text = "```console\n$ echo a; echo b\na\n...\n$ echo new\nold\n$ echo more\n```\nText.\n"
        wrong, page = self.checked(text, accept=True)
        self.assertEqual(wrong, [])
        self.assertEqual(page, "```console\n$ echo a; echo b\na\n...\n$ echo new\nnew\n$ echo more\nmore\n```\nText.\n")


class MessagesTest(unittest.TestCase):
    """What a program tells to read or to run, as a path of this repository, is there."""
    ROOT = pathlib.Path(__file__).resolve().parents[2]
    FOLDERS = ("api", "manifest", "compiler_core", "storage", "signing", "worker", "coordinator", "infra")

    def literals(self):
        for folder in self.FOLDERS:
            for file in sorted((self.ROOT / folder).rglob("*")):
                if file.suffix in (".cc", ".h"):
                    code = "\n".join(line for line in file.read_text().splitlines()
                                     if not line.lstrip().startswith(("#include", "//")))
                    for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
                        yield file.relative_to(self.ROOT), text

    def test_every_path_in_a_message_exists(self):
        path = re.compile(r"(?<![\w./-])((?:%s)/[\w./-]*\w|[\w./-]+\.md)" % "|".join((*self.FOLDERS, "tests")))
        found = [(file, name) for file, text in self.literals() for name in path.findall(text)]
        self.assertGreater(len(found), 20, "the pattern finds nothing")
        self.assertEqual([each for each in found if not (self.ROOT / each[1]).exists()], [])

    def test_a_page_named_for_a_weakness_speaks_of_it(self):
        packages = (self.ROOT / "api/cli/farm/doctor_packages.cc").read_text()
        for weaknesses, page in re.findall(r'"(CVE-[^"]*)",\s*"[^"]*?([\w/]+\.md)', packages):
            self.assertIn(weaknesses.split(",")[0], (self.ROOT / page).read_text(), page)


if __name__ == "__main__":
    unittest.main()
