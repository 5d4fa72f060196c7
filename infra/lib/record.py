#!/usr/bin/env python3
"""Runs commands on a terminal of its own and draws what a person would have seen as an SVG that plays it back.

usage: record.py --out FILE.svg --title TEXT [--width COLUMNS] COMMANDS

COMMANDS is a file with one command of bash a line, which run one after another in one shell, in the current directory and environment.
A command that fails ends the recording with its exit code, and nothing is written. Pauses are cut to a second.

What commands print is taken as text alone: of a terminal's language a carriage return, a backspace, cursor up and erasing are
understood, everything else is left out; controls and characters that turn the direction of text become U+FFFD. Nothing of it becomes
markup, and the SVG has no script, no link and nothing from elsewhere. With reduced motion all of it is there at once.
"""
import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from xml.sax.saxutils import escape

MOST_BYTES = 1 << 20
MOST_LINES = 60
MOST_PAUSE = 1.0
CELL = (8.4, 19)
MARGIN = 14
ESCAPES = re.compile(r"\x1b(?:\[([0-9;?]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class Screen:
    """Lines as they stand, and when each was touched last."""

    def __init__(self, width):
        self.width = width
        self.lines = [[]]
        self.times = [0.0]
        self.row = self.column = 0

    def feed(self, text, now):
        at = 0
        while at < len(text):
            found = ESCAPES.match(text, at)
            if found:
                self.control(found.group(1) or "", found.group(2) or "", now)
                at = found.end()
                continue
            self.put(text[at], now)
            at += 1

    def control(self, numbers, letter, now):
        count = min(int(re.sub(r"\D.*", "", numbers) or 1), MOST_LINES)
        if letter == "A":
            self.row = max(0, self.row - count)
        elif letter == "K":
            del self.lines[self.row][self.column:]
            self.times[self.row] = now
        elif letter == "J":
            del self.lines[self.row + 1:], self.times[self.row + 1:]
            del self.lines[self.row][self.column:]

    def put(self, character, now):
        if character == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.lines):
                self.lines.append([])
                self.times.append(now)
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            for _ in range(8 - self.column % 8):
                self.put(" ", now)
        elif character != "\x07":
            if self.column == self.width:
                self.put("\n", now)
            line = self.lines[self.row]
            line.extend(" " * (self.column + 1 - len(line)))
            line[self.column] = UNSEEN.sub("\ufffd", character)
            self.column += 1
            self.times[self.row] = now


def run(command, shell, take):
    """Has the shell run one command and hands on what it prints; returns its exit code."""
    mark = os.urandom(16).hex()
    os.write(shell, f"{command}\nprintf '\\036{mark}%s\\036' $?\n".encode())
    pending = b""
    taken = 0
    while True:
        if not select.select([shell], [], [], 600)[0]:
            raise TimeoutError(f"no word for ten minutes from: {command}")
        piece = os.read(shell, 65536)
        taken += len(piece)
        if not piece or taken > MOST_BYTES:
            raise ValueError(f"the shell ended, or more than {MOST_BYTES} bytes came from: {command}")
        pending += piece
        ended = re.search(rb"\x1e" + mark.encode() + rb"(\d+)\x1e", pending)
        if ended:
            take(pending[:ended.start()])
            return int(ended.group(1))
        whole = pending.rfind(b"\n") + 1 if b"\x1e" in pending else len(pending)
        take(pending[:whole])
        pending = pending[whole:]


def record(commands, width):
    screen = Screen(width)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", MOST_LINES, width, 0, 0))
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    shell = subprocess.Popen(["bash", "--norc", "--noprofile"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                             env=os.environ | {"PS1": "", "PS2": "", "PROMPT_COMMAND": "", "TERM": "xterm"})
    os.close(theirs)
    clock = {"shown": 0.0, "last": time.monotonic()}

    def take(piece):
        now = time.monotonic()
        clock["shown"] += min(now - clock["last"], MOST_PAUSE)
        clock["last"] = now
        screen.feed(piece.decode("utf-8", "replace"), clock["shown"])

    try:
        run("stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null; true", ours, lambda piece: None)
        for command in commands:
            clock["shown"] += 0.6
            if screen.column:
                screen.put("\n", clock["shown"])
            screen.feed(f"$ {command}\n", clock["shown"])
            clock["last"] = time.monotonic()
            code = run(command, ours, take)
            if code != 0:
                return screen, code
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
    return screen, 0


def draw(screen, title):
    """The SVG's text. Each line appears when it was written last."""
    lines = [("".join(line).rstrip(), at) for line, at in zip(screen.lines, screen.times)][:MOST_LINES]
    while lines and not lines[-1][0]:
        lines.pop()
    wide, high = screen.width * CELL[0] + 2 * MARGIN, len(lines) * CELL[1] + 2 * MARGIN + 24
    name = escape(UNSEEN.sub("\ufffd", title))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-labelledby="title">',
           f'<title id="title">{name}</title>',
           "<style>text{font:14px ui-monospace,monospace;fill:#e6e6e6;white-space:pre}.typed{fill:#8fe0a8;font-weight:700}"
           ".bar{fill:#b5bac0;font:13px system-ui,sans-serif}@keyframes come{from{opacity:0}to{opacity:1}}"
           "g{animation:come .01s linear both}@media(prefers-reduced-motion:reduce){g{animation:none}}</style>",
           f'<rect width="{wide:.0f}" height="{high:.0f}" rx="8" fill="#16181b"/><text class="bar" x="{MARGIN}" y="22">{name}</text>']
    for i, (text, at) in enumerate(lines):
        kind = ' class="typed"' if text.startswith("$ ") else ""
        out.append(f'<g style="animation-delay:{at:.2f}s"><text xml:space="preserve"{kind} x="{MARGIN}" y="{MARGIN + 24 + (i + 0.8) * CELL[1]:.1f}">{escape(text)}</text></g>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description="Records commands on a terminal as an SVG.")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--title", required=True)
    parser.add_argument("--width", type=int, default=110, choices=range(40, 201), metavar="COLUMNS")
    parser.add_argument("commands", type=pathlib.Path)
    wanted = parser.parse_args()
    commands = [line for line in wanted.commands.read_text().splitlines() if line.strip() and not line.startswith("#")]
    screen, code = record(commands, wanted.width)
    if code != 0:
        print("\n".join("".join(line) for line in screen.lines), file=sys.stderr)
        print(f"record: a command ended with exit code {code}; nothing was written", file=sys.stderr)
        return code
    wanted.out.write_text(draw(screen, wanted.title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
