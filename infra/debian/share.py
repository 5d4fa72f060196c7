#!/usr/bin/env python3
"""What the packages have beside programs: manual pages, completions, copyright and changelog. For infra/packages alone.

usage: share.py --bin DIR --out DIR --version V --maintainer 'NAME <ADDRESS>' --commit HASH --epoch SECONDS
OUT/PROGRAM is what goes below /usr/share of the package that has PROGRAM.
"""
import argparse
import datetime
import gzip
import pathlib
import re
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
import completions
import help_text
import man_pages

# Program -> section of its manual page: 1 what people type, 8 services and what other programs start.
PROGRAMS = {"kiln": 1, **{f"kiln-{name}": 8 for name in
                         ("coordinator", "worker", "signer", "log", "check", "fetcher", "isolated", "rebuilder")}}
# Scripts, whose --help has a first line of usage.
SCRIPTS = {"kiln-make-keys": 8}

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kiln

Files: *
Copyright: {year} the authors of Kiln
License: none-stated
 The sources of this package state no licence. Whoever is given the package
 by its authors may use it as they allow; it grants nothing beyond that.
Comment:
 Archives of Debian packages are linked into some programs: below linked/ in
 this folder are the copyright files of those packages.
"""


def compressed(path):
    """Replaces a file by its .gz, without a name or a time inside."""
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.unlink()


def script_command(program):
    """A Command of a script that explains itself by its comment."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True, timeout=help_text.SECONDS).stdout
    about, _, rest = text.partition("\n\nusage: ")
    usage = rest.split("\n  --")[0]
    options = []
    for name, value, said in re.findall(r"^  (--[a-z-]+) (\S*) +(.*(?:\n {8,}.*)*)", rest, re.M):
        options.append(help_text.Entry([name], value, " ".join(said.split()), []))
    return help_text.Command((program.name,), " ".join(about.split()), " ".join(usage.split()), options, [], "", [])


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("version", "maintainer", "commit"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    options = parser.parse_args()
    for program, section in {**PROGRAMS, **SCRIPTS}.items():
        path = options.bin / program
        command = script_command(path) if program in SCRIPTS else help_text.read(path)
        below = options.out / program
        man_pages.write(command, section, below / "man", options.version, options.epoch)
        completions.write(command, below)
        for made in sorted((below / "man").rglob("*.[18]")):
            compressed(made)
    when = datetime.datetime.fromtimestamp(options.epoch, datetime.timezone.utc)
    (options.out / "copyright").write_text(COPYRIGHT.format(year=when.year))
    changes = options.out / "changelog"
    changes.write_text(f"kiln ({options.version}) unstable; urgency=medium\n\n" +
                       textwrap.indent(f"* Made from the commit {options.commit}.", "  ") +
                       f"\n\n -- {options.maintainer}  {when.strftime('%a, %d %b %Y %H:%M:%S +0000')}\n")
    compressed(changes)


if __name__ == "__main__":
    try:
        main()
    except (help_text.Unreadable, OSError, subprocess.SubprocessError) as refused:
        sys.exit(f"infra/packages: {refused}")
