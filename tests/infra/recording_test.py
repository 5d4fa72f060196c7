#!/usr/bin/env python3
"""What infra/lib/record.py draws: what a person saw, and nothing that a program put there for whoever looks at the picture."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "infra/lib/record.py"
SVG = "{http://www.w3.org/2000/svg}"


class RecordingTest(unittest.TestCase):
    def record(self, *commands, title="A session", code=0):
        with tempfile.TemporaryDirectory() as home:
            out, script = pathlib.Path(home) / "out.svg", pathlib.Path(home) / "commands"
            script.write_text("\n".join(commands))
            ran = subprocess.run([sys.executable, RECORD, "--out", out, "--title", title, "--width", "60", script], capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, code, ran.stderr)
            self.assertEqual(out.exists(), code == 0)
            return out.read_text() if code == 0 else ran.stderr

    def lines(self, *commands):
        return [one.text for one in xml.fromstring(self.record(*commands)).iter(f"{SVG}text")][1:]

    def test_commands_and_what_they_print_in_order(self):
        self.assertEqual(self.lines("echo one; echo two", "X=3", "echo $X >&2"), ["$ echo one; echo two", "one", "two", "$ X=3", "$ echo $X >&2", "3"])

    def test_a_line_that_is_drawn_again_is_there_once(self):
        self.assertEqual(self.lines(r"printf '10 %%\r\033[K100 %%\n'", r"printf 'a\nb\n\033[2Ac\033[K\n\n'")[1:], ["100 %", r"$ printf 'a\nb\n\033[2Ac\033[K\n\n'", "c", "b"])

    def test_long_lines_are_wrapped(self):
        self.assertEqual([len(line) for line in self.lines("printf '%0100d\\n' 0")[1:]], [60, 40])

    def test_what_is_hostile_is_text(self):
        printed = r"""printf '%b\n' '<script>alert(1)</script>' ']]>&<!--' '\033]0;title\007\033]8;;http://evil.example\007x\033]8;;\007' '\033[31mred\033[0m' '\033P1$r\033\\' 'a\342\200\256b' '\001\000\377'"""
        text = self.record(printed, title="<b>&")
        page = xml.fromstring(text)
        self.assertEqual({one.tag.removeprefix(SVG) for one in page.iter()}, {"svg", "title", "style", "rect", "text", "g"})
        for one in page.iter():
            self.assertFalse([name for name in one.attrib if name.startswith("on") or name.endswith("href")])
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\x1b", text)
        shown = [one.text or "" for one in page.iter(f"{SVG}text")]
        for line in ("<script>alert(1)</script>", "]]>&<!--", "x", "red", "a\ufffdb"):
            self.assertIn(line, shown)
        self.assertEqual(shown[0], "<b>&")

    def test_a_command_that_fails_leaves_no_picture(self):
        self.assertIn("exit code 3", self.record("echo fine", "(exit 3)", code=3))

    def test_output_without_end_is_refused(self):
        self.assertIn("more than 1048576 bytes", self.record("head -c 3000000 /dev/zero | tr '\\0' x", code=1))


if __name__ == "__main__":
    unittest.main()
