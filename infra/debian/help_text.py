"""What the programs' --help says, as data: commands, options, choices. CLI11 prints it from the table that parses the command line, so
that manual pages and completions made of it know what the programs know and nothing else.
"""
import dataclasses
import re
import subprocess

COLUMN = 30  # where CLI11 begins descriptions
SECONDS = 60  # a limit for hangs
MOST_DEPTH = 4  # of commands in commands; more is a program that prints its own help again
TITLE = re.compile(r"^(Positionals|Options|Subcommands):$")


class Unreadable(Exception):
    """A program whose --help is not what CLI11 prints."""


@dataclasses.dataclass
class Entry:
    """An option or a positional. `names` of an option: short and long, as one types them; `value`: what follows it, "" if nothing."""
    names: list
    value: str
    about: str
    choices: list

    @property
    def is_repeated(self):
        return "..." in self.value


@dataclasses.dataclass
class Command:
    """A program, or a command of it. `path`: the words that call it; `notes`: the text after the lists, as printed."""
    path: tuple
    about: str
    usage: str
    options: list
    positionals: list
    notes: str
    commands: list

    @property
    def name(self):
        return self.path[-1]

    def walk(self):
        yield self
        for command in self.commands:
            yield from command.walk()


def entries(lines):
    """(head, description) of the entries of one list."""
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        at += 1
        following = []
        while at < len(lines) and lines[at].startswith(" " * COLUMN):
            following.append(lines[at].strip())
            at += 1
        # A head that reaches the column has its description on the next line.
        overlong = following and "  " not in line.strip()
        head, about = (line, "") if overlong else (line[:COLUMN], line[COLUMN:])
        out.append((head.strip(), " ".join([about.strip(), *following]).strip()))
    return out


def entry(head, about, is_option):
    names, _, value = head.partition(" ")
    found = re.search(r"\{([^}]*)\}", value)
    return Entry(names.split(",") if is_option else [names], value.strip(), about, found.group(1).split(",") if found else [])


def parse(text, path):
    """A Command without its commands, and their names."""
    lines = text.rstrip("\n").splitlines()
    usage = next((number for number, line in enumerate(lines) if line.startswith("Usage: ")), None)
    if not usage:
        raise Unreadable(f"{' '.join(path)} --help: no description, or no line that begins with 'Usage: '")
    lists, notes, title = {}, [], None
    for line in lines[usage + 1:]:
        named = TITLE.match(line)
        if named and not notes:
            title = named.group(1)
            lists[title] = []
        elif title and line.startswith("  ") and not notes:
            lists[title].append(line)
        elif line.strip() or notes:
            notes.append(line)
    options = [entry(head, about, True) for head, about in entries(lists.get("Options", []))]
    positionals = [entry(head, about, False) for head, about in entries(lists.get("Positionals", []))]
    about = lines[:usage]
    examples = [line for line in about if line.startswith("example: ")]
    notes += [f"Example:\n  {line.removeprefix('example: ')}" for line in examples]
    command = Command(path, " ".join(line for line in about if line not in examples), lines[usage].removeprefix("Usage: "), options,
                      positionals, "\n".join(notes).strip("\n"), [])
    return command, [head for head, _ in entries(lists.get("Subcommands", []))]


def read(program, path=None):
    """The Command that a program is, with all below it."""
    path = path or (program.name,)
    done = subprocess.run([program, *path[1:], "--help"], capture_output=True, text=True, timeout=SECONDS,
                          env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
    if done.returncode != 0:
        raise Unreadable(f"{' '.join(path)} --help: exit {done.returncode}: {done.stderr.strip()}")
    command, names = parse(done.stdout, path)
    if names and len(path) >= MOST_DEPTH:
        raise Unreadable(f"{' '.join(path)} --help: commands are nested deeper than {MOST_DEPTH}")
    command.commands = [read(program, (*path, name)) for name in names]
    return command
