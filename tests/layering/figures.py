#!/usr/bin/env python3
"""Prints how large files, functions and folders are, and fails where one is beyond its limit.

usage: figures.py ROOT | figures.py --self-test

The limits hold for the product; tests are counted as well, but tables of cases may be long. What a function is, is told from
the layout that clang-format gives: its head begins at some indentation and ends with "{", and it ends with "}" at the same.
"""
import pathlib
import re
import statistics
import sys
import tempfile

PRODUCT = ("coordinator", "worker", "compiler_core", "manifest", "signing", "storage", "api")
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS, MOST_SOURCES, LONGEST_README = 600, 100, 6, 40, 120
# Others have fixed the heads of C interfaces and of what machine code calls: so many functions may take more parameters.
MOST_LONG_HEADS = 5
# Tables of facts: coefficients, generated or measured numbers, headers of foreign interfaces.
DATA = re.compile(r"compiler_core/math/.*coefficients\.h$")
HEAD = re.compile(r"^( {0,4})(?!(?:public|private|protected|default):|(?:namespace|class|struct|enum|union|extern|if|for|while|switch|"
                  r"else|do|return|case|using|typedef)\b|#|//|\}|\{)[\w:~\[<]")
VALUE = re.compile(r"[\w>\]]\s*=\s")


def sources(root, folder):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in {".cc", ".h"}:
            yield path


def parameters(head):
    """How many parameters stand between the first parenthesis of a function's head and its partner."""
    depth = angle = count = 0
    any_text = False
    for c in head[head.index("("):].replace("->", "  ").replace("operator<", "operator ").replace("operator>", "operator "):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif c == "<":
            angle += 1
        elif c == ">":
            angle -= 1
        elif c == "," and depth == 1 and angle == 0:
            count += 1
        any_text = any_text or (depth == 1 and c not in "( \n")
    return count + 1 if any_text else 0


def functions(lines):
    """(first line, lines, parameters) of each definition."""
    at = 0
    while at < len(lines):
        match = HEAD.match(lines[at])
        end = at
        if match:
            while end + 1 < len(lines) and not lines[end].endswith(("{", ";", "}", ":")):
                end += 1
            head = " ".join(line.strip() for line in lines[at:end + 1])
            before = head.split("(")[0]
            if head.endswith("{") and "(" in head and not VALUE.search(before):
                last = end
                while last < len(lines) and not lines[last].startswith(match.group(1) + "}"):
                    last += 1
                yield at + 1, last - at + 1, parameters(head)
        at = end + 1


def survey(root):
    """Per figure what is beyond its limit, as lines of text, and figures without a limit."""
    beyond = {"files": [], "functions": [], "parameters": [], "folders": []}
    sizes, comments, code = [], 0, 0
    for folder in PRODUCT:
        counts = {}
        for path in sources(root, folder):
            name = path.relative_to(root).as_posix()
            counts[path.parent] = counts.get(path.parent, 0) + 1
            lines = path.read_text().splitlines()
            sizes.append(len(lines))
            if path.suffix == ".cc":
                comments += sum(line.lstrip().startswith("//") for line in lines)
                code += len(lines)
            if DATA.search(name):
                continue
            if len(lines) > LONGEST_FILE:
                beyond["files"].append(f"{name}: {len(lines)} lines")
            for first, length, wanted in functions(lines):
                if length > LONGEST_FUNCTION:
                    beyond["functions"].append(f"{name}:{first}: {length} lines")
                if wanted > MOST_PARAMETERS:
                    beyond["parameters"].append(f"{name}:{first}: {wanted} parameters")
        beyond["folders"] += [f"{path.relative_to(root)}: {count} sources" for path, count in counts.items() if count > MOST_SOURCES]
    loose = {}
    if len(beyond["parameters"]) <= MOST_LONG_HEADS:
        loose["functions with many parameters"] = len(beyond["parameters"])
        beyond["parameters"] = []
    readme = root / "README.md"
    length = len(readme.read_text().splitlines()) if readme.is_file() else 0
    beyond["README"] = [f"README.md: {length} lines"] if length > LONGEST_README else []
    sizes.sort()
    loose |= {"sources": len(sizes), "median lines": statistics.median(sizes or [0]),
             "lines of the 90th percentile": sizes[len(sizes) * 9 // 10] if sizes else 0,
             "comment lines of .cc in %": round(100 * comments / max(code, 1), 1), "lines of README.md": length}
    return beyond, loose


def self_test():
    many = "int f(int a, std::map<int, int> b, int c,\n      int d, int e, int f, int g) {\n  return 0;\n}\n"
    cases = {
        "files": {"api/long.cc": "// x\n" * 601},
        "functions": {"storage/f.cc": "void f() {\n" + "  g();\n" * 100 + "}\n",
                      "storage/g.h": "class A {\n  int f(int a,\n        int b) const override {\n" + "    g();\n" * 100 + "  }\n};\n"},
        "parameters": {f"worker/p{i}.cc": many for i in range(6)},
        "folders": {f"manifest/base/a{i}.h": "" for i in range(41)},
        "README": {"README.md": "x\n" * 121},
    }
    good = {"api/ok.cc": "// x\n" * 600, "signing/ok.cc": "void f(std::map<int, std::pair<int, int>> a, int b = g(1, 2, 3, 4, 5, 6, 7)) {\n" + "  g();\n" * 98 + "}\n",
            "signing/table.cc": "const std::vector<int> kTable = {\n" + "    1,\n" * 200 + "};\n"}
    for figure, files in cases.items():
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name, text in {**files, **good}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = {key for key, lines in survey(root)[0].items() if lines}
            wanted = len(files) if figure in ("functions", "parameters") else 1
            if found != {figure} or len(survey(root)[0][figure]) != wanted:
                print("expected only", figure, "found", survey(root)[0])
                return 1
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(5):
            (pathlib.Path(scratch) / "worker").mkdir(exist_ok=True)
            (pathlib.Path(scratch) / f"worker/p{i}.cc").write_text(many)
        if any(survey(pathlib.Path(scratch))[0].values()):
            print("five heads of others are refused")
            return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    beyond, loose = survey(pathlib.Path(sys.argv[1]))
    for title, value in loose.items():
        print(f"{title}: {value}")
    for title, lines in beyond.items():
        print(f"{title} beyond the limit: {len(lines)}")
        for line in lines:
            print(f"  {line}")
    sys.exit(1 if any(beyond.values()) else 0)
