#!/usr/bin/env python3
"""The support table, made from a conformance report so that it cannot drift from what was measured.

usage: support_table.py update REPORT   REPORT (onnx_backend --json over the whole suite) becomes report.json beside this
                                        script; SUPPORT.md is written again
       support_table.py dynamic REPORT [SELECTION]
                                        the same with onnx_dynamic --json, which becomes dynamic/report.json; SELECTION says
                                        which cases were run, if not all
       support_table.py device REPORT   REPORT (onnx_backend --target cuda:sm_90a --json) becomes device_report.json
       support_table.py vulkan REPORT   REPORT (onnx_backend --target vulkan:1.3 --json) becomes vulkan_report.json
       support_table.py device-dynamic REPORT [SELECTION]
                                        the same with onnx_dynamic, dynamic/device_report.json
       support_table.py contrib REPORT  REPORT (contrib/compare.py --json) becomes contrib/report.json
       support_table.py check           exit 1 when SUPPORT.md is not what the reports give
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REPORT = HERE / "report.json"
DYNAMIC, REASONS = HERE / "dynamic/report.json", HERE / "dynamic/reasons.json"
CONTRIB = HERE / "contrib/report.json"
DEVICE, DEVICE_DYNAMIC = HERE / "device_report.json", HERE / "dynamic/device_report.json"
VULKAN = HERE / "vulkan_report.json"
TABLE = ROOT / "compiler_core/frontend/onnx/SUPPORT.md"
MAX_REASONS, MAX_REASON = 3, 110


def keep(full):
    """What is committed: the counts, and each case that did not simply pass."""
    cases = [c for c in full["cases"] if c["outcome"] != "passed" or "pins" in c]
    return {"how": full["how"], "totals": full["totals"], "groups": full["groups"], "operators": full["operators"],
            "cases": cases}


def reasons(case):
    """The refusals in one message, without the names of nodes."""
    text = case.get("reason", "")
    text = re.sub(r"; and \d+ more$", "", text)
    found = re.findall(r"\((?:\S+)(?:, opset \d+)?\): (.*?)(?=; node '|$)", text) or [text]
    return [re.sub(r"'[^']*'", "an input", r.split("; here it is")[0]).strip().rstrip(";") for r in found]


def short(text):
    return text if len(text) <= MAX_REASON else text[:MAX_REASON - 1].rstrip() + "…"


def status(counts):
    if counts["failed"]:
        return "wrong"
    comparable = counts["passed"] + counts["skipped"]
    if counts["skipped"] == 0:
        return "served" if comparable else "random"
    return "partly" if counts["passed"] else "not served"


def why(report, operator):
    seen = []
    for case in report["cases"]:
        if case.get("operator") == operator and case["outcome"] in ("skipped", "failed"):
            for reason in reasons(case):
                if short(reason) not in seen:
                    seen.append(short(reason))
    more = len(seen) - MAX_REASONS
    return "; ".join(seen[:MAX_REASONS]).replace("|", "\\|") + (f"; {more} more" if more > 0 else "")


def keep_dynamic(full, selection):
    """What is committed: the counts, and of each case its outcome and what was refused or excluded."""
    cases = []
    for case in full["cases"]:
        kept = {k: v for k, v in case.items() if k != "dims"}
        refused = [d for d in case.get("dims", []) if "reason" in d]
        if refused:
            kept["refused"] = refused
        cases.append(kept)
    return {"how": full["how"], "selection": selection, "totals": full["totals"], "operators": full["operators"], "cases": cases}


def dynamic_status(counts):
    if counts["wrong"]:
        return "wrong"
    if counts["served"] + counts["partly"] == 0:
        return "refused" if counts["refused"] else "no case"
    return "partly" if counts["partly"] + counts["refused"] else "served"


def dynamic_why(report, reasons_listed, operator):
    if operator in reasons_listed:
        return reasons_listed[operator]
    seen = []
    for case in report["cases"]:
        if case.get("operator") == operator:
            for refused in case.get("refused", []):
                for reason in reasons(refused):
                    if short(reason) not in seen:
                        seen.append(short(reason))
    return "; ".join(seen[:MAX_REASONS]) + (f"; {len(seen) - MAX_REASONS} more" if len(seen) > MAX_REASONS else "")


def dynamic_table():
    report, listed = json.loads(DYNAMIC.read_text()), json.loads(REASONS.read_text())
    totals = report["totals"]
    lines = [
        "",
        "## Dynamic shapes",
        "",
        f"Made from `tests/conformance/dynamic/report.json` ({len(report['cases'])} cases: {report['selection']}, and those of",
        "`tests/conformance/dynamic/own_cases.cc`). Each case with the dimensions of its inputs made symbols,",
        "compiled once for a range, run at its ends, at the case's own size and just outside (where the guard's error must name",
        "dimension, value and range), in memory of exactly the planned size with poisoned ends, and compared with the static",
        f"compile at each size: {totals['runs']} runs, {totals['sameBits']} of them the same bits, the rest within the case's tolerance,",
        f"{totals['wrong']} wrong. *Excluded*: the case's constants fix its shapes, or it is refused for other reasons.",
        "",
        "| Operator | Dynamic | Served | Partly | Refused | Excluded | What is refused because |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    none = {k: 0 for k in ("served", "partly", "refused", "excluded", "wrong")}
    for name in sorted({*report["operators"], *listed}, key=str.lower):
        c = {**none, **report["operators"].get(name, {})}
        why_text = dynamic_why(report, listed, name).replace("|", "\\|")
        lines.append(f"| {name} | {dynamic_status(c)} | {c['served']} | {c['partly']} | {c['refused']} | {c['excluded']} | {why_text} |")
    return "\n".join(lines) + "\n"


def contrib_table():
    report = json.loads(CONTRIB.read_text())
    lines = [
        "",
        "## Operators of com.microsoft",
        "",
        f"Made from `tests/conformance/contrib/report.json`: {report['totals']['passed']} cases in the forms that exporters write, compared with ONNX",
        "Runtime's answers on its CPU, and those of the older operators that its tools write in ONNX's own domain.",
        "",
        *operator_rows(report),
    ]
    return "\n".join(lines) + "\n"


def operator_rows(report):
    lines = ["| Operator | Status | Passed | Pinned | Refused | Types passed | Refused because |", "|---|---|---:|---:|---:|---|---|"]
    for name, entry in sorted(report["operators"].items(), key=lambda item: item[0].lower()):
        counts = entry["counts"]
        types = ", ".join(sorted(t for t, c in entry["types"].items() if c["passed"] and t != "none"))
        lines.append(f"| {name} | {status(counts)} | {counts['passed']} | {counts['pinned']} | {counts['skipped']} | {types} | "
                     f"{why(report, name)} |")
    return lines


def table(report):
    lines = [
        "# ONNX operators: what is served",
        "",
        "Made from `tests/conformance/report.json` by `tests/conformance/support_table.py`; do not edit. Measured on the ONNX",
        f"backend suite 1.22.0, compiled for {report['how']}. *Pinned*: of the cases passed, those compiled with an input's value",
        "fixed (`--pin`), because it decides a shape. *Served* means every case of the operator passes; an operator without a",
        "case in the suite is not listed. What is not served is refused by name when a model is compiled.",
        "",
        *summary(report),
        "",
        "## Operators",
        "",
        *operator_rows(report),
    ]
    return "\n".join(lines) + "\n" + contrib_table() + dynamic_table()


def summary(report):
    """The whole suite in a few lines."""
    lines = ["| Group of cases | Passed | Of these pinned | Refused by name | Random | Wrong |", "|---|---:|---:|---:|---:|---:|"]
    for group, c in sorted(report["groups"].items()):
        lines.append(f"| {group} | {c['passed']} | {c['pinned']} | {c['skipped']} | {c['notComparable']} | {c['failed']} |")
    states = [status(entry["counts"]) for entry in report["operators"].values()]
    return [*lines, "", f"Of {len(states)} operators with cases of their own, {states.count('served')} are served in every case, "
                        f"{states.count('partly')} in some."]


def dump(report):
    """One case a line, so that changes can be read."""
    head = {k: v for k, v in report.items() if k != "cases"}
    cases = ",\n".join("  " + json.dumps(c, sort_keys=True) for c in report["cases"])
    body = ",\n".join(f" {json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in head.items() if k != "operators")
    operators = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(head["operators"].items()))
    return f"{{\n{body},\n \"operators\": {{\n{operators}\n }},\n \"cases\": [\n{cases}\n ]\n}}\n"


def main(arguments):
    places = {"update": REPORT, "contrib": CONTRIB, "device": DEVICE, "vulkan": VULKAN, "dynamic": DYNAMIC, "device-dynamic": DEVICE_DYNAMIC}
    if len(arguments) == 2 and arguments[0] in places or len(arguments) == 3 and "dynamic" in arguments[0]:
        full = json.loads(pathlib.Path(arguments[1]).read_text())
        if "dynamic" in arguments[0]:
            kept = keep_dynamic(full, arguments[2] if len(arguments) == 3 else "all of the suite")
        else:
            kept = keep(full)
        places[arguments[0]].write_text(dump(kept))
        report = json.loads(REPORT.read_text())
        TABLE.write_text(table(report))
        return 0
    if arguments != ["check"]:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    report = json.loads(REPORT.read_text())
    wrong = not TABLE.is_file() or TABLE.read_text() != table(report)
    if wrong:
        print(f"{TABLE.relative_to(ROOT)} is not what tests/conformance/report.json gives; run tests/conformance/support_table.py update "
              "with the report of onnx_backend --json")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
