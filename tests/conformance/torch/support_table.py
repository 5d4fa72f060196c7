#!/usr/bin/env python3
"""The support table of torch.export, made from the importer's tables of operators so that it cannot drift from them.

usage: support_table.py update    writes SUPPORT.md again
       support_table.py check     exit 1 when SUPPORT.md is not what the tables give
"""
import pathlib
import re
import sys

FRONTEND = pathlib.Path(__file__).resolve().parents[3] / "compiler_core/frontend/torch"
TABLE = FRONTEND / "SUPPORT.md"


def families():
    """Each file's first comment and the names of its rows."""
    for path in sorted((FRONTEND / "operators").glob("*.cc")):
        text = path.read_text()
        rows = re.search(r"constexpr Row kRows\[\] = \{(.*?)\n\};", text, re.DOTALL)
        if rows:
            yield path.stem, sorted(re.findall(r'\{\s*"([\w.]+)"', rows.group(1)))


def table():
    lines = "".join(f"| {name} | {', '.join(f'`{row}`' for row in rows)} |\n" for name, rows in families())
    return f"""# torch.export: what is served

Made from the tables in `operators` by `tests/conformance/torch/support_table.py`; do not edit. Names are ATen's without namespace and
overload; each is served in place too (`add_`), but for views. Overloads with arguments that an operator does not know are refused by
name, as is everything else, before anything is compiled.

| Family | Operators |
|---|---|
{lines}"""


def main(arguments):
    if arguments == ["update"]:
        TABLE.write_text(table())
        return 0
    if arguments == ["check"]:
        if TABLE.exists() and TABLE.read_text() == table():
            return 0
        print(f"{TABLE.name} is not what the tables give; run {pathlib.Path(__file__).name} update")
        return 1
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
