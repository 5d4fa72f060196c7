#!/usr/bin/env python3
"""Proposes mutants of a source by fixed rules, as lines of a list for somebody to choose from.

usage: propose.py SOURCE [--prefix NAME] [--every N]

Rules: a condition becomes false; one comparison in it moves its boundary; one && becomes || and back; a KILN_TRY
or a call for its effect is deleted. What does not compile is named by `run --build`.
"""
import argparse
import pathlib
import re

_DECLARES = re.compile(r"(\bauto\b|[\w>\*&]\s+[\*&]?\w+)\s*=[^=]|;")
_BOUNDARIES = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")]
_CONNECTIVES = [(" && ", " || "), (" || ", " && ")]
_EFFECT = re.compile(r"^\s*((?:KILN_TRY\(.*\)|[A-Za-z_][\w:]*(?:(?:\.|->)\w+)*\(.*\)|[\w.\->]+ [+|]?= [^;]+);)\s*(?://.*)?$")


def conditions(text):
    """Each condition of an if, while or return of comparisons, without the parentheses."""
    for match in re.finditer(r"\b(?:if|while) \(", text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[match.end():at - 1]
    for match in re.finditer(r"\breturn ([^;{}]*(?: && | \|\| | == | != | <= | >= )[^;{}]*);", text):
        yield match[1]


def proposals(text):
    for condition in conditions(text):
        flat = " ".join(condition.split())
        if _DECLARES.search(flat) or " ? " in flat or "](" in flat or 'R"' in flat:
            continue
        yield f"swap {flat} => false"
        for before, after in _BOUNDARIES + _CONNECTIVES:
            for match in re.finditer(re.escape(before), flat):
                yield f"swap {flat} => {flat[:match.start()]}{after}{flat[match.end():]}"
    before = ";"
    for line in filter(None, map(str.strip, text.splitlines())):
        begins, before = before.endswith((";", "{", "}", ":")), line.partition("//")[0].strip() or before
        match = _EFFECT.match(line) if begins else None
        if match and match[1].count("(") == match[1].count(")") and not line.startswith(("return", "KILN_ASSIGN", "static_assert")):
            yield f"drop {match[1]}"


def places(text, proposal):
    before = proposal.split(" ", 1)[1].partition(" => ")[0]
    return len(re.findall(r"\s+".join(re.escape(word) for word in before.split()), text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--prefix", help="how the names begin; default: the file's name")
    parser.add_argument("--every", type=int, default=1, help="only every N-th proposal")
    options = parser.parse_args()
    text = options.source.read_text()
    prefix = options.prefix or options.source.stem.replace("_", "-")
    print(f"file {options.source}")
    seen = set()
    for proposal in proposals(text):
        count = places(text, proposal)
        if proposal in seen or count != 1:
            continue
        seen.add(proposal)
        if len(seen) % options.every == 0:
            print(f"{prefix}-{len(seen)} {proposal}")


if __name__ == "__main__":
    main()
