#!/usr/bin/env python3
"""The support table, made from a conformance report so that it cannot drift from what was measured.

usage: support_table.py update REPORT   REPORT (dialects_suite --evaluate --json over all cases) becomes report.json beside
                                        this script; SUPPORT.md is written again
       support_table.py check           exit 1 when SUPPORT.md is not what the report gives, or an operation that is imported
                                        has no case
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE / "report.json"
DIALECTS = HERE.parents[2] / "compiler_core/frontend/dialects"
TABLE = DIALECTS / "SUPPORT.md"

REFUSED = {  # operations of TOSA 1.0, and of linalg by name
    "tosa.custom": "operations of somebody's own",
    "tosa.fft2d": "Fourier transforms",
    "tosa.rfft2d": "Fourier transforms",
    "tosa.variable": "variables, which outlive a run",
    "tosa.variable_read": "variables, which outlive a run",
    "tosa.variable_write": "variables, which outlive a run",
    "linalg.batch_mmt4d": "tiled layouts of one processor",
    "linalg.fill_rng_2d": "random numbers of linalg",
    "linalg.mmt4d": "tiled layouts of one processor",
    "linalg.pack": "tiled layouts of one processor",
    "linalg.unpack": "tiled layouts of one processor",
    "linalg.winograd_*": "Winograd's transforms",
}


def imported():
    """The names of all rows of the importer's tables."""
    names = set()
    for source in DIALECTS.glob("*/*.cc"):
        names |= set(re.findall(r'\{"((?:tosa|linalg|arith|math|tensor)\.[a-z0-9_]+)", \w', source.read_text()))
    return names


def table(report):
    operations = report["operations"]
    sections = []
    for dialect in ("tosa", "linalg", "tensor", "arith", "math"):
        rows = "".join(
            f"| {name} | {'wrong' if c.get('failed') else 'served'} | {c.get('passed', 0)} |\n"
            for name, c in sorted(operations.items()) if name.split(".")[0] == dialect)
        sections.append(f"## {dialect}\n\n| Operation | Status | Cases |\n|---|---|---:|\n{rows}")
    refused = "".join(f"| {name} | {why} |\n" for name, why in sorted(REFUSED.items()))
    totals = report["totals"]
    return f"""# TOSA 1.0 and linalg: what is served

Made from `tests/conformance/dialects/report.json` by `support_table.py` beside it; do not edit. Measured on the cases of
`make_cases.py`, each as text and as bytecode, in the {report['how']}, before and after the rewrite stage: {totals['passed']} passed,
{totals['failed']} failed, {totals['skipped']} skipped. What is not served is refused by name before anything is compiled.

{chr(10).join(sections)}
## Refused by name

| Operation | Why |
|---|---|
{refused}"""


def main(arguments):
    if arguments[:1] == ["update"] and len(arguments) == 2:
        report = json.loads(pathlib.Path(arguments[1]).read_text())
        REPORT.write_text(json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        TABLE.write_text(table(report))
        return 0
    if arguments == ["check"]:
        report = json.loads(REPORT.read_text())
        if missing := sorted(imported() - report["operations"].keys()):
            print(f"no cases for {', '.join(missing)}: add them to make_cases.py", file=sys.stderr)
            return 1
        if TABLE.read_text() == table(report):
            return 0
        print("SUPPORT.md is not what report.json gives; run support_table.py update REPORT", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
