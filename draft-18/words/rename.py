#!/usr/bin/env python3
"""Applies the maps in terms/*.map to the checkout in the working directory (see rename.sh).

A map is one term: a row a line; '#' begins a comment line.

  subject TEXT        subject of the commit
  why     TEXT        its body
  scope   GLOBS       which files the rows below it touch: comma-separated, '*' crosses folders, '!GLOB' leaves out
  file    OLD => NEW OLD.* and OLD_test.* in scope are moved; every mention of their paths follows (includes, CMakeLists,
                      comments, documents, lists of mutants)
  id      OLD => NEW whole word in code and comments of C and C++ files, never inside string literals; in the lists of
                      mutants, those of a source in scope
  code    OLD => NEW the same without comments: for words that also have their usual meaning
  text    OLD => NEW exact text anywhere, strings and documents included. A space in OLD also stands for a line break
                      with indentation and a comment sign
  doc     OLD => NEW whole word in documents and other files that are no C or C++

Names on the wire are safe by construction: id and code never look into strings, and text rows name theirs in full.
What no row may touch: FROZEN.
"""
import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
CPP = (".h", ".cc", ".c", ".td")
# Bytes that are hashed, compared, or compiled into artifacts: applied migrations, golden files, generated tables, the math
# and kernel libraries (their names may reach a program's symbol table), frozen schemas and protocols.
FROZEN = ("storage/index/schema/*", "tests/golden/*", "compiler_core/math/*", "compiler_core/kernels/*", "*.proto",
          "manifest/schemas/*", "tests/fuzz/corpus/*", "draft-18/*")
TEXT = CPP + (".md", ".txt", ".cmake", ".py", ".sh", ".mlir", ".list", ".json", ".toml", ".yml", ".yaml", ".sql", "")
TOKEN = re.compile(
    r'''(?P<raw>R"(?P<d>[^()\\\s]*)\(.*?\)(?P=d)")|(?P<string>"(?:\\.|[^"\\\n])*")'''
    r'''|(?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)''', re.S)
GAP = r"(?:[ ]*\n[ \t]*(?://+|#|--|;;|\*(?!\*))?[ ]?|[ ]+)"


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


class Tree:
    """The tracked files of the checkout, read once, written where they changed."""

    def __init__(self, dry):
        self.dry, self.text, self.dirty, self.moved, self.before = dry, {}, set(), [], {}
        for path in git("ls-files").splitlines():
            if any(fnmatch.fnmatchcase(path, glob) for glob in FROZEN):
                continue
            at = pathlib.Path(path)
            if at.suffix in TEXT and at.is_file() and not at.is_symlink():
                try:
                    self.text[path] = at.read_bytes().decode()
                except UnicodeDecodeError:
                    pass

    def within(self, scope):
        globs = [glob.strip() for glob in scope.split(",")]
        wanted = [glob for glob in globs if not glob.startswith("!")]
        left = [glob[1:] for glob in globs if glob.startswith("!")]
        return [path for path in self.text if any(fnmatch.fnmatchcase(path, glob) for glob in wanted)
                and not any(fnmatch.fnmatchcase(path, glob) for glob in left)]

    def put(self, path, text):
        if text != self.text[path]:
            self.before.setdefault(path, self.text[path])
            self.text[path] = text
            self.dirty.add(path)

    def move(self, old, new):
        self.moved.append((old, new))
        if not self.dry:
            git("mv", old, new)
        self.text[new] = self.text.pop(old)
        if old in self.before:
            self.before[new] = self.before.pop(old)
        if old in self.dirty:
            self.dirty.discard(old)
            self.dirty.add(new)

    def flush(self, form):
        for path in self.dirty:
            self.text[path] = refilled(path, self.before.get(path, ""), self.text[path])
        if not self.dry:
            for path in self.dirty:
                with open(path, "w", newline="") as file:
                    file.write(self.text[path])
            sources = sorted(path for path in self.dirty if path.endswith((".h", ".cc")))
            if form and sources:
                subprocess.run(["clang-format-22", "-i", *sources], check=True)
                for path in sources:
                    self.text[path] = pathlib.Path(path).read_bytes().decode()
        changed, self.dirty, self.before = sorted(self.dirty), set(), {}
        return changed


COMMENT = re.compile(r"(?m)^(?P<indent>[ ]*)// (?! )[^\n]*(?:\n(?P=indent)// (?! )[^\n]*)*$")
PARAGRAPH = re.compile(r"(?m)^(?![|#>`~ ])[^\n]+(?:\n(?![|#>`~]|[ ]*[-*] |[ ]*[0-9]+\. )[^\n]+)*")


def refilled(path, before, after):
    """Fills the lines of those comments and paragraphs anew that a row has changed."""
    if path.endswith((".h", ".cc")):
        width, pattern = 110, COMMENT
    elif path.endswith(".md"):
        width, pattern = 140, PARAGRAPH
    else:
        return after

    def fill(match):
        block = match.group()
        if block in before:
            return block
        if path.endswith(".md"):
            if max(map(len, block.split("\n"))) <= 150:
                return block
            bullet = re.match(r"(?:[-*]|[0-9]+\.) ", block)
            hang = " " * (len(bullet.group()) if bullet else 0)
            return textwrap.fill(" ".join(block.split()), width, subsequent_indent=hang, break_long_words=False,
                                 break_on_hyphens=False)
        lead = match.group("indent") + "// "
        lines = [line[len(lead):] for line in block.split("\n")]
        if any(line.startswith(("-", "*", "|")) or line.endswith(":") and line is not lines[-1] for line in lines):
            return block
        return textwrap.fill(" ".join(lines), width, initial_indent=lead, subsequent_indent=lead, break_long_words=False,
                             break_on_hyphens=False)

    return pattern.sub(fill, after)


def pieces(text):
    """(kind, piece) of C or C++ source: code, comment or string."""
    at = 0
    for match in TOKEN.finditer(text):
        if match.start() > at:
            yield "code", text[at:match.start()]
        yield ("comment" if match.group("line") is not None or match.group("block") is not None else "string"), match.group()
        at = match.end()
    yield "code", text[at:]


def word(old, prefix=False):
    return re.compile(r"(?<![A-Za-z0-9_])" + re.escape(old) + (r"(?=[A-Z])" if prefix else r"(?![A-Za-z0-9_])"))


def rename_words(tree, scope, old, new, kind_of_row):
    pattern, count, clashes = word(old, kind_of_row == "prefix"), 0, []
    comments = kind_of_row != "code"
    files = [path for path in tree.within(scope) if path.endswith(CPP)]
    for path in files:
        text = tree.text[path]
        if old not in text:
            continue
        out, hits, taken, prefix = [], 0, False, kind_of_row == "prefix"
        for kind, piece in pieces(text):
            if kind == "code" or (kind == "comment" and comments):
                if kind == "code":
                    names = {new + match.group() for match in re.finditer(r"(?<=\b" + re.escape(old) + r")[A-Z]\w*", piece)}
                    taken = taken or any(word(name).search(text) for name in (names if prefix else {new} if pattern.search(piece) else ()))
                piece, n = pattern.subn(new, piece)
                hits += n
            out.append(piece)
        if hits:
            count += hits
            if taken:
                clashes.append(path)
            tree.put(path, "".join(out))
    # Lists of mutants quote the code of the source that the line "file PATH" names.
    quoted = set(files)
    for path in tree.within("tests/mutation/lists/*.list"):
        lines, source = tree.text[path].split("\n"), None
        for i, line in enumerate(lines):
            if line.startswith("file "):
                source = line[5:].strip()
            elif source in quoted or (line.startswith("tests ") and any(p.startswith("tests/") for p in quoted)):
                name, space, rest = line.partition(" ")  # the mutant's own name stays
                rest, n = pattern.subn(new, rest)
                lines[i] = name + space + rest
                count += n
        tree.put(path, "\n".join(lines))
    return count, clashes


def replace_text(tree, scope, old, new):
    pattern = re.compile(GAP.join(re.escape(part) for part in old.split(" ")))
    count = 0
    for path in tree.within(scope):
        text, n = pattern.subn(lambda _: new.replace("\\n", "\n"), tree.text[path])
        if n:
            count += n
            tree.put(path, text)
    return count


def rename_in_documents(tree, scope, old, new):
    pattern, count = word(old), 0
    for path in tree.within(scope):
        if path.endswith(CPP):
            continue
        text, n = pattern.subn(new, tree.text[path])
        count += n
        tree.put(path, text)
    return count


def follow(tree, old, new):
    """Every mention of a moved file: its whole path, its path from any folder above it, its name beside it."""
    count, folder = 0, old.rpartition("/")[0]
    split_old, split_new = old.split("/"), new.split("/")
    for i in range(len(split_old)):
        form, target = "/".join(split_old[i:]), "/".join(split_new[i:])
        unique = not any(path == form or path.endswith("/" + form) for path in tree.text)
        # Not the end of another path or name, except behind "../".
        pattern = re.compile(r"(?<![A-Za-z0-9_/.-])((?:\.\./)*)" + re.escape(form) + r"(?![A-Za-z0-9_-])(?!\.[a-z])")
        for path, text in list(tree.text.items()):
            if form not in text:
                continue
            above = path.rpartition("/")[0]
            # A name alone is meant where its file lies, and in build files and documents above it.
            if "/" not in form and above != folder and not (
                    unique and (folder + "/").startswith(above + "/") and path.endswith((".md", "CMakeLists.txt"))):
                continue
            if "/" in form and not unique:
                continue
            text, n = pattern.subn(lambda match: match.group(1) + target, text)
            count += n
            tree.put(path, text)
    return count


def move_files(tree, scope, old, new):
    count = mentions = 0
    pairs = []
    for path in tree.within(scope):
        folder, _, name = path.rpartition("/")
        stem, dot, ending = name.partition(".")
        for a, b in ((old, new), (old + "_test", new + "_test")):
            if stem == a:
                pairs.append((path, f"{folder}/{b}{dot}{ending}", True))
            elif stem == b:  # moved before; what was merged since may still say the old name
                pairs.append((f"{folder}/{a}{dot}{ending}", path, False))
    for source, target, present in pairs:
        if present and target in tree.text:
            sys.exit(f"{source}: cannot become {target}, which exists")
        if present:
            tree.move(source, target)
            count += 1
        elif source in tree.text:
            continue
        mentions += follow(tree, source, target)
    return count, mentions


def read(path):
    rows, head, scope = [], {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, _, rest = line.partition(" ")
        old, arrow, new = (part.strip() for part in rest.partition(" => "))
        if kind in ("subject", "why"):
            head[kind] = rest.strip()
        elif kind == "scope":
            scope = rest.strip()
        elif kind in ("file", "id", "code", "prefix", "text", "doc") and arrow and old and scope:
            rows.append((kind, scope, old, new))
        else:
            sys.exit(f"{path}:{number}: not a row")
    return head, rows


def leftovers(terms):
    """Old names that still stand in code, in scope or not: what a later tree added elsewhere, or an unrelated namesake."""
    old = {row[2]: name for name, path in terms.items() for row in read(path)[1]
           if row[0] in ("id", "code") and re.search(r"[A-Z]|_$", row[2])}
    for path, text in sorted(Tree(True).text.items()):
        if path.endswith(CPP):
            names = {name for kind, piece in pieces(text) if kind == "code" for name in re.findall(r"\w+", piece)}
            for name in sorted(names & set(old)):
                print(f"{path}: {name} ({old[name]})")


def main():
    parser = argparse.ArgumentParser(usage="rename.sh [--list] [--leftovers] [--term NAME]... [--dry-run] [--no-format] [--commit]")
    for name in ("--list", "--leftovers", "--dry-run", "--no-format", "--commit"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--term", action="append", default=[])
    asked = parser.parse_args()
    terms = {path.stem.partition("-")[2]: path for path in sorted((HERE / "terms").glob("*.map"))}
    if asked.list:
        print("\n".join(terms))
        return
    if unknown := set(asked.term) - set(terms):
        sys.exit(f"no such term: {', '.join(sorted(unknown))}; --list shows them")
    if not pathlib.Path("CMakeLists.txt").is_file() or not pathlib.Path("compiler_core").is_dir():
        sys.exit("run this in the root of a checkout")
    if asked.leftovers:
        return leftovers(terms)
    if asked.commit and git("status", "--porcelain", "--untracked-files=no"):
        sys.exit("--commit wants a clean tree")
    tree, total = Tree(asked.dry_run), 0
    for name, path in terms.items():
        if asked.term and name not in asked.term:
            continue
        head, rows = read(path)
        report, here = [], 0
        for kind, scope, old, new in rows:
            note = ""
            if kind == "file":
                count, mentions = move_files(tree, scope, old, new)
                note, count = f" ({mentions} mentions)", count + mentions
            elif kind == "text":
                count = replace_text(tree, scope, old, new)
            elif kind == "doc":
                count = rename_in_documents(tree, scope, old, new)
            else:
                count, clashes = rename_words(tree, scope, old, new, kind)
                if clashes:
                    note = f"  CHECK: {new} was in use already in {', '.join(clashes)}"
            here += count
            report.append(f"  {count:4d} {kind:4s} {old[:60]} -> {new[:60]}{note}")
        changed = tree.flush(not asked.no_format)
        total += here
        print(f"{name}: {here} places, {len(changed)} files")
        print("\n".join(report))
        if asked.commit and (changed or tree.moved):
            git("add", "--update")
            message = head["subject"] + ("\n\n" + head["why"] if "why" in head else "") + "\n"
            if git("diff", "--cached", "--name-only"):
                git("commit", "-q", "-m", message)
        tree.moved = []
    print(f"in all: {total} places")


if __name__ == "__main__":
    main()
