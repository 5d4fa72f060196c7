"""The lock of a toolchain: every package, wheel and source that its tree is made from, by version and digest.

{"apiVersion":"kiln/v1","kind":"ToolchainLock",
 "packages":[{"architecture","digest","name","size","version"}...],   Debian packages, by name
 "wheels":[{"digest","name","size","version"}...],                    CUDA's compiler parts, by name
 "source":{"commit","digest","size"}}                                 absent: this checkout
Digests are "sha256:<hex>"; sizes are decimal strings, and a wheel's may be absent. `source` is the archive that inputs.py
makes. `build` leaves a lock with nothing absent: the form that a farm takes (manifest/FORMAT.md, manifest/toolchain/lock.h).
"""
import json
import pathlib
import re
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT = 1 << 20
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{0,99}")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~-]{0,99}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Refused(Exception):
    """What the user has to know; printed without a trace."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    digest: str
    size: int

    def text(self):
        return f"package {self.name} {self.version}"


@dataclass(frozen=True)
class Wheel:
    name: str
    version: str
    digest: str
    size: int = None

    def text(self):
        return f"wheel {self.name} {self.version}"


@dataclass(frozen=True)
class Source:
    commit: str
    digest: str
    size: int

    def text(self):
        return f"source of commit {self.commit}"


@dataclass(frozen=True)
class Lock:
    packages: list
    wheels: list
    source: Source = None
    inputs: list = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "inputs", [*self.packages, *self.wheels, *([self.source] if self.source else [])])

    def version_of(self, name):
        return next(package.version for package in self.packages if package.name == name)


def text_of(lock):
    """The lock's one form; a line per input, so that a change of one reads as one."""
    members = [("apiVersion", "kiln/v1"), ("kind", "ToolchainLock")]
    lines = [f'"{name}":{json.dumps(value)}' for name, value in members]
    for name, values in (("packages", lock.packages), ("wheels", lock.wheels)):
        rows = ",\n".join("  " + row(value) for value in values)
        lines.append(f'"{name}":[\n{rows}\n ]')
    if lock.source:
        lines.append(f'"source":{row(lock.source)}')
    return "{" + ",\n ".join(lines) + "}\n"


def row(value):
    members = {name: str(member) for name, member in vars(value).items() if member is not None}
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def read(path):
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(LIMIT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {error}") from None
    if len(text) > LIMIT:
        raise Refused(f"{path}: a lock is at most {LIMIT} bytes")
    try:
        document = json.loads(text)
        if document["apiVersion"] != "kiln/v1" or document["kind"] != "ToolchainLock":
            raise ValueError("is not a ToolchainLock of kiln/v1")
        unknown = set(document) - {"apiVersion", "kind", "packages", "wheels", "source"}
        if unknown:
            raise ValueError(f"unknown member {sorted(unknown)[0]}")
        packages = [entry(Package, value) for value in document["packages"]]
        wheels = [entry(Wheel, value) for value in document["wheels"]]
        source = entry(Source, document["source"]) if "source" in document else None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = f"member {error} is missing" if isinstance(error, KeyError) else str(error)
        raise Refused(f"{path}: {what}; infra/toolchain/lock makes a new one") from None
    for kind, values in (("package", packages), ("wheel", wheels)):
        names = [value.name for value in values]
        if names != sorted(set(names)):
            raise Refused(f"{path}: {kind}s stand sorted by name, each once")
    return Lock(packages, wheels, source)


def entry(kind, members):
    needed = {name for name in kind.__annotations__ if not hasattr(kind, name)}
    if not isinstance(members, dict) or not needed <= set(members) <= set(kind.__annotations__):
        raise ValueError(f"a {kind.__name__.lower()} has the members {', '.join(kind.__annotations__)}")
    for name, value in members.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} is not a string")
    patterns = {"name": NAME, "version": VERSION, "architecture": re.compile("amd64|all"), "digest": DIGEST,
                "size": re.compile("[1-9][0-9]{0,11}"), "commit": re.compile("[0-9a-f]{40}")}
    for name, value in members.items():
        if not patterns[name].fullmatch(value):
            raise ValueError(f"{name} {value[:100]!r} is not one")
    return kind(**{name: int(value) if name == "size" else value for name, value in members.items()})
