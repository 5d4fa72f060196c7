"""The commands of a Markdown page: find them, run them, and compare what they print with what the page shows.

A block that begins with ```console is run. Its lines that begin with "$ " are commands, and lines that begin with "> "
continue the command above. The lines behind a command are what it prints on standard output. A line "..." stands for any
number of lines. A command that does not end with 0 also shows its error, and then "[exit N]": standard error from the
first line "PROGRAM: error: ..." on, or all of it where there is none. What stands before that is progress.
Blocks of any other kind are not run. The commands of a page run in one shell, in the order of the page.
"""
import dataclasses
import difflib
import os
import pathlib
import re
import signal
import subprocess
import threading

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
ANY = "..."
# Where the page's reader is; the folder that a test runs in is printed as this one.
HOME = "/home/you/kiln"


@dataclasses.dataclass
class Command:
    text: str
    line: int                 # of the page, from 1
    shown: list               # the lines that the page shows
    end: int                  # the line of the page behind these


def commands(text):
    """Every command of a page with the output that the page shows."""
    found = []
    for block in BLOCK.finditer(text):
        number = text.count("\n", 0, block.start(1)) + 1
        for line in block.group(1).splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:], number, [], number + 1))
            elif not found or found[-1].end != number:
                raise ValueError(f"line {number}: a console block begins with \"$ \" and a command")
            elif line.startswith("> ") and not found[-1].shown:
                found[-1].text += "\n" + line[2:]
                found[-1].end += 1
            else:
                found[-1].shown.append(line)
                found[-1].end += 1
            number += 1
    return found


# What differs from run to run, and what stands for it in a comparison; in this order.
MASKS = [(re.compile(pattern), name) for pattern, name in (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b", "<hex>"),
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?", "<time>"),
    (r"[0-9A-Za-z+/]{43}=", "<key>"),
    (r"\bkiln-\d+\.\d+\.\d+\+[\w.+]+", "<label>"),
    (r"\b\d+ threads?\b", "<threads>"),
    (r"\b\d+ (?:(blob|artifact|statement|other file)s?|(log entr|entr)(?:y|ies))\b", r"<count> \1\2"),
    (r"\b\d+ (of other instances|younger|new|changed|refused)\b", r"<count> \1"),
    (r"\brecalls version \d+\b", "recalls version <n>"),
    (r"\bentry \d+ +of \d+\b", "entry <n> of <n>"),
    (r"\bruns as \d+\b", "runs as <pid>"),
    (r"\bruns cpu:[\w.+-]+(?:, cpu:[\w.+-]+)*", "runs <targets>"),
    (r"\b\d+ of \d+ bytes", "<size>"),
    (r"\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|min|h|d)\b", "<duration>"),
    (r"\b\d+(?:\.\d+)? ?(?:B|[kKMGT]i?B|bytes)\b", "<size>"),
    (r"\bhttp://127\.0\.0\.1:\d+", "<url>"),
    (r"/tmp/[\w./-]+", "<path>"),
    (r"\bworker-\d+\b", "<worker>"),
    (r"(?<=\S)[ \t]{2,}", " "),
    (r"[ \t]+$", ""),
)]


def mask(line):
    """A line without what differs from run to run: digests, ids, times, sizes, temporary paths, widths of columns."""
    for pattern, name in MASKS:
        line = pattern.sub(name, line)
    return line


def matches(shown, printed):
    """Whether the printed lines are those shown; both are masked, and ANY in `shown` is any number of lines."""
    if not shown:
        return not printed
    if shown[0] == ANY:
        return any(matches(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def difference(page, command, printed):
    """Why `printed` is not what the page shows, as a diff of masked lines; None if it is."""
    shown, got = [mask(line) for line in command.shown], [mask(line) for line in printed]
    if matches(shown, got):
        return None
    diff = difflib.unified_diff(shown, got, f"{page}, line {command.line}", "printed now", lineterm="", n=2)
    return f"$ {command.text}\n" + "\n".join(diff)


def error_in(lines):
    """The lines from the first "PROGRAM: error:" on."""
    first = next((n for n, line in enumerate(lines) if re.match(r"\S+: error: ", line)), 0)
    return lines[first:]


def run(found, folder, environment, limit=600):
    """Runs the commands in one shell, and yields for each the lines that it printed. The limit is only for a hang."""
    folder = pathlib.Path(folder)
    out, err = folder / ".stdout", folder / ".stderr"
    shell = subprocess.Popen(["bash", "--norc"], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    hang = threading.Timer(limit, os.killpg, (shell.pid, signal.SIGKILL))
    hang.start()
    try:
        for command in found:
            shell.stdin.write(f"{{ {command.text}\n}} </dev/null >'{out}' 2>'{err}'; echo $?\n")
            shell.stdin.flush()
            status = shell.stdout.readline().strip()
            lines = out.read_text(errors="replace").splitlines()
            if status != "0":
                lines += [*error_in(err.read_text(errors="replace").splitlines()), f"[exit {status or 'of the shell'}]"]
            yield lines
    finally:
        shell.stdin.close()
        shell.wait()
        hang.cancel()
        shell.stdout.close()
        for file in (out, err):
            file.unlink(missing_ok=True)


def as_reader_sees(lines, places):
    """The lines with each folder of `places` called what a reader calls it."""
    text = "\n".join(lines)
    for folder, name in places:
        text = text.replace(str(folder), name)
    return [line.rstrip() for line in text.splitlines()]


def check(page, folder, environment, places, accept=False):
    """Runs a page's commands. Returns the differences; with `accept` they are written into the page instead."""
    text = page.read_text()
    found, differences, accepted = commands(text), [], {}
    for command, lines in zip(found, run(found, folder, environment)):
        printed = as_reader_sees(lines, places)
        wrong = difference(page.name, command, printed)
        if wrong and accept:
            accepted[command.line] = (command, printed)
        elif wrong:
            differences.append(wrong)
    if accepted:
        lines = text.splitlines()
        for command, printed in sorted(accepted.values(), key=lambda item: -item[0].line):
            lines[command.end - 1 - len(command.shown):command.end - 1] = printed
        page.write_text("\n".join(lines) + "\n")
    return differences
