"""The list of mutants: reading it, checking it against the sources, and writing the sources that contain them.

A list (lists/MODULE.list) is text, one statement a line:

    tests PROGRAM [GTEST_FILTER]     a test program that covers the module; repeatable
    file PATH                        the mutants that follow change this source
    ID swap A => B                   the expression A becomes B
    ID drop S                        the statement S is deleted
    ID [N] swap|drop ...             the N-th place (from 1) where the text stands, if it stands more than once
      equivalent REASON              of the mutant above: no test can notice it, and why
      doubled REASON                 of the mutant above: another check also refuses what this one refuses, and which

IDs are unique within a list. A and S must stand in the source as written, within one line or over several with the
line breaks and indentation replaced by one space.
"""
import dataclasses
import pathlib
import re

HEADER = '#include "tests/mutation/switch.h"\n'
_MUTANT = re.compile(r"^(?P<id>[a-z0-9-]+)\s+(?:\[(?P<nth>\d+)\]\s+)?(?P<kind>swap|drop)\s+(?P<text>\S.*)$")


class ListError(Exception):
    """The list does not say what it should, or the source has changed below it."""


@dataclasses.dataclass
class Mutant:
    module: str
    name: str
    file: str
    kind: str
    before: str
    after: str
    nth: int = 0
    excuse: str = ""  # "equivalent ..." or "doubled ...", "" where a test must notice it

    @property
    def id(self):
        return f"{self.module}/{self.name}"


@dataclasses.dataclass
class Module:
    name: str
    tests: list
    mutants: list


def read_list(path):
    """The Module of one list file. Raises ListError with the line."""
    module = Module(path.stem, [], [])
    file, seen = None, set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        word, _, rest = text.partition(" ")
        if word == "tests":
            module.tests.append(rest.split())
        elif word == "file":
            file = rest.strip()
        elif word in ("equivalent", "doubled") and line.startswith("  "):
            if not module.mutants or not rest:
                raise ListError(f"{where}: an excuse wants a mutant above it and a reason")
            module.mutants[-1].excuse = text
        else:
            mutant = _read_mutant(where, module.name, file, text)
            if mutant.name in seen:
                raise ListError(f"{where}: the name {mutant.name} is taken")
            seen.add(mutant.name)
            module.mutants.append(mutant)
    if not module.tests:
        raise ListError(f"{path.name}: names no test program")
    return module


def _read_mutant(where, module, file, text):
    match = _MUTANT.match(text)
    if not match or file is None:
        raise ListError(f"{where}: no statement of a list: {text}")
    before, arrow, after = match["text"].partition(" => ")
    if (match["kind"] == "swap") != bool(arrow):
        raise ListError(f"{where}: swap has 'A => B', drop has the statement alone")
    if arrow and match["text"].rstrip().endswith(";"):
        raise ListError(f"{where}: swap is for expressions; a statement can be dropped: {text}")
    return Mutant(module, match["id"], file, match["kind"], before.strip(), after.strip(), int(match["nth"] or 0))


# What a statement follows: the end of another, a condition, `else` or a label, and comments.
_BEFORE_STATEMENT = re.compile(r"([;{}):]|\belse)(\s|//[^\n]*\n)*\Z")


def _place(mutant, source):
    """Start and end of the mutant's text in `source`."""
    pattern = r"\s+".join(re.escape(word) for word in mutant.before.split())
    found = list(re.finditer(pattern, source))
    if not found:
        raise ListError(f"{mutant.id}: {mutant.file} no longer has: {mutant.before}")
    if len(found) > 1 and mutant.nth == 0:
        raise ListError(f"{mutant.id}: {mutant.file} has it {len(found)} times, say which with [N]: {mutant.before}")
    if mutant.nth > len(found):
        raise ListError(f"{mutant.id}: {mutant.file} has it {len(found)} times only")
    match = found[max(mutant.nth, 1) - 1]
    if mutant.kind == "drop" and not _BEFORE_STATEMENT.search(source, 0, match.start()):
        raise ListError(f"{mutant.id}: no statement of {mutant.file} begins with: {mutant.before}")
    return match.start(), match.end()


def instrument(source, mutants):
    """`source` with all `mutants` of its file behind the switch. Mutants of one place share it; others must not overlap."""
    places = {}
    for mutant in mutants:
        places.setdefault(_place(mutant, source), []).append(mutant)
    out, end = [], len(source)
    for (start, stop), here in sorted(places.items(), reverse=True):
        if stop > end:
            raise ListError(f"{here[0].id}: overlaps another mutant's text")
        text = source[start:stop]
        for mutant in here:
            text = _behind_switch(mutant, text)
        out.append(text + source[stop:end])
        end = start
    return HEADER + source[:end] + "".join(reversed(out))


def _behind_switch(mutant, text):
    switch = f'KILN_MUTANT_IS_ON("{mutant.id}")'
    if mutant.kind == "drop":
        return f"{{ if (!{switch}) {{ {text} }} }}"
    return f"({switch} ? ({mutant.after}) : ({text}))"


def read_lists(folder, names=()):
    """All modules of `folder`, or those named."""
    lists = sorted(pathlib.Path(folder).glob("*.list"))
    unknown = set(names) - {path.stem for path in lists}
    if unknown:
        raise ListError(f"no list of the name {', '.join(sorted(unknown))}; there are "
                        + ", ".join(path.stem for path in lists))
    return [read_list(path) for path in lists if not names or path.stem in names]
