"""Reads what a tree's CMakeLists.txt files say of libraries, programs and tests, and edits single calls. No CMake needed."""
import os
import pathlib
import re
import subprocess

CALL = re.compile(r"^(?P<call>kiln_library|kiln_executable|kiln_test|kiln_fuzz|add_executable|add_library|kiln_embed_migrations)\(\s*(?P<name>[\w-]+)(?P<body>[^()]*(?:\([^()]*\)[^()]*)*)\)", re.M)
KEYWORDS = {"SOURCES", "DEPS", "LABELS", "UNDER_TEST", "TARGETS"}
FLAGS = {"MLIR", "STATIC", "WHOLE", "SHARED", "MODULE", "ALIAS", "OBJECT", "INTERFACE", "EXCLUDE_FROM_ALL"}
SOURCE = re.compile(r"[\w./${}-]+\.(?:cc|c|cpp)$")


def run(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout


def tracked(root):
    return [f for f in run(root, "ls-files").split("\n") if f and not f.startswith("draft-18/")]


def uncommented(text):
    return re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), text)


def sections(body):
    """The words of a call by keyword; flags under ""."""
    out, key = {"": []}, ""
    for word in uncommented(body).split():
        if word in KEYWORDS:
            key = word
            out.setdefault(key, [])
        elif word in FLAGS and key == "":
            out[""].append(word)
        elif word in ("MLIR", "WHOLE", "STATIC"):
            out[""].append(word)
        else:
            out[key].append(word)
    return out


class Target:
    def __init__(self, kind, name, listing, parts):
        self.kind, self.name, self.listing = kind, name, listing
        self.folder = os.path.dirname(listing)
        self.words = parts
        self.deps = [d for d in parts.get("DEPS", [])]
        self.mlir = "MLIR" in parts[""]
        words = parts.get("SOURCES", []) + parts.get("UNDER_TEST", []) + ([w for w in parts[""] if SOURCE.match(w)])
        at = "" if kind == "kiln_fuzz" else self.folder
        self.sources = [os.path.normpath(os.path.join(at, w)) for w in words if SOURCE.match(w) and "$" not in w]


def targets(root, files=None):
    out = []
    for listing in files or tracked(root):
        if os.path.basename(listing) != "CMakeLists.txt":
            continue
        text = uncommented((pathlib.Path(root) / listing).read_text())
        for match in CALL.finditer(text):
            if "${" in match["name"]:
                continue
            out.append(Target(match["call"], match["name"], listing, sections(match["body"])))
    return out


INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
EXTERNAL = (("spdlog/", "spdlog::spdlog"), ("prometheus/", "prometheus-cpp::core"), ("openssl/", "OpenSSL::Crypto"), ("fmt/", "fmt::fmt"))
GENERATED = re.compile(r"\.(grpc\.)?pb\.h$")


class Tree:
    """Which library a header comes with, and what a library reaches."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = tracked(root)
        self.known = set(self.files)
        self.targets = targets(root, self.files)
        self.libraries = {t.name: t for t in self.targets if t.kind == "kiln_library"}
        self.by_source, by_folder = {}, {}
        for t in self.libraries.values():
            for s in t.sources:
                self.by_source[s] = t.name
                by_folder.setdefault(os.path.dirname(s), set()).add(t.name)
        self.by_folder = by_folder
        self.includes = {}

    def includes_of(self, path):
        if path not in self.includes:
            self.includes[path] = INCLUDE.findall((self.root / path).read_text(errors="replace"))
        return self.includes[path]

    def library_of(self, header):
        """None: a header without code, or one that this cannot tell."""
        if GENERATED.search(header):
            return None if header.startswith("onnx") else "proto"
        stem = header.rsplit(".", 1)[0]
        if stem + ".cc" in self.by_source:
            return self.by_source[stem + ".cc"]
        found = self.by_folder.get(os.path.dirname(header), set())
        return next(iter(found)) if len(found) == 1 else None

    def closure(self, names):
        seen, todo = set(), list(names)
        while todo:
            name = todo.pop().removeprefix("kiln::")
            if name in seen:
                continue
            seen.add(name)
            if name in self.libraries:
                todo += [d for d in self.libraries[name].deps if d.startswith("kiln::")]
        return seen

    def headers_behind(self, sources, own):
        """What the sources include, and what headers of their own library include."""
        seen, todo, out = set(), list(sources), set()
        while todo:
            path = todo.pop()
            if path in seen or path not in self.known:
                continue
            seen.add(path)
            for name in self.includes_of(path):
                out.add(name)
                if self.library_of(name) in own or (name in self.known and name in own):
                    todo.append(name)
        return out

    def needed(self, sources, own_name, own_headers=(), fmt="fmt::fmt"):
        """Libraries for a target of these sources: (ours, others)."""
        ours, others = set(), set()
        todo = list(sources) + [h for h in own_headers if h in self.known]
        for path in todo:
            for name in self.includes_of(path):
                if name in own_headers:
                    continue
                library = self.library_of(name) if name in self.known or GENERATED.search(name) else None
                if library and library != own_name:
                    ours.add(library)
                for prefix, dep in EXTERNAL:
                    if name.startswith(prefix):
                        others.add(fmt if prefix == "fmt/" else dep)
        return ours, others


def wrap(head, words, indent="    ", width=110):
    lines, line = [], head
    for word in words:
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line += " " + word
    return "\n".join(lines + [line])
