#!/usr/bin/env python3
"""The support table, made from a conformance report so that it cannot drift from what was measured.

usage: support_table.py update REPORT   REPORT (stablehlo_suite --evaluate --json over all cases) becomes report.json beside
                                        this script; SUPPORT.md is written again
       support_table.py check           exit 1 when SUPPORT.md is not what the report gives
"""
import collections
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE / "report.json"
TABLE = HERE.parents[2] / "compiler_core/frontend/stablehlo/SUPPORT.md"


def kind(reason):
    """What a refusal is about, without places and shapes."""
    found = re.search(r"\((?:stablehlo|chlo|interpreter|func)[^)]*\): (.*?)(?:; node '|; and \d+ more|$)", reason)
    text = found.group(1) if found else reason
    text = re.sub(r"tensors of type tensor<[^ ]*complex<f\d+>>", "complex numbers", text)
    return re.sub(r"tensor<[\dx]*", "tensor<", text)


def table(report):
    groups = "".join(
        f"| {name} | {c.get('passed', 0)} | {c.get('skipped', 0)} | {c.get('failed', 0)} |\n"
        for name, c in sorted(report["groups"].items()))
    reasons = collections.Counter(kind(c["reason"]) for c in report["cases"] if c["outcome"] == "skipped")
    refused = "".join(f"| {text} | {count} |\n" for text, count in sorted(reasons.items(), key=lambda i: (-i[1], i[0])))
    rows = "".join(
        f"| {name} | {'wrong' if c.get('failed') else 'served' if c.get('passed') else 'not served'} "
        f"| {c.get('passed', 0)} | {c.get('skipped', 0)} |\n"
        for name, c in sorted(report["operations"].items()))
    return f"""# StableHLO and CHLO: what is served

Made from `tests/conformance/stablehlo/report.json` by `support_table.py` beside it; do not edit. Measured on StableHLO's own
conformance cases (commit 3c9301c1, version 1.20.0), in the {report['how']}, before and after the rewrite stage. What is not
served is refused by name before anything is compiled.

| Group of cases | Passed | Refused by name | Wrong |
|---|---:|---:|---:|
{groups}
## Refusals

| Reason | Cases |
|---|---:|
{refused}
## Operations

Cases that have the operation, and pass or are refused, for whatever operation or type in them.

| Operation | Status | Passed | Refused |
|---|---|---:|---:|
{rows}"""


def main(arguments):
    if arguments[:1] == ["update"] and len(arguments) == 2:
        report = json.loads(pathlib.Path(arguments[1]).read_text())
        REPORT.write_text(json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        TABLE.write_text(table(report))
        return 0
    if arguments == ["check"]:
        if TABLE.read_text() == table(json.loads(REPORT.read_text())):
            return 0
        print("SUPPORT.md is not what report.json gives; run support_table.py update REPORT", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
