"""The tree: which files stand in it, and toolchain.json, which describes each.

It is a pure function of its files: same bytes, same names, same toolchain.json.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from lockfile import ROOT, Refused

LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
LOADER = "/lib64/ld-linux-x86-64.so.2"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kiln_version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(kiln VERSION (\S+)", text).group(1)


def shared_libraries(program):
    """The loader and libraries of a dynamic program: [(name, host path)]."""
    found = []
    for line in output_of(LOADER, "--list", str(program)).splitlines():
        match = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
        if match:
            path = pathlib.Path(match.group(2))
            found.append((match.group(1) or path.name, path))
        elif "not found" in line:
            raise Refused(f"{program}: {line.strip()}")
    return sorted(found)


def installed_version(package):
    return output_of("dpkg-query", "-W", "-f", "${Version}", package)


def served_targets(compiler, cuda):
    """What this compiler says it compiles for; the one list is manifest/spec/target.cc. GPUs need ptxas in the tree."""
    targets = json.loads(output_of(str(compiler), "--version", "--json"))["targets"]
    return [target for target in targets if cuda or not target.startswith("cuda:")]


class Parts:
    """The files of the tree: name, version, path in the tree, source, whether executable."""

    def __init__(self):
        self.parts = []

    def add(self, name, version, path, source, executable=False, strip=False):
        if not source.is_file():
            raise Refused(f"{source} is not there; build it first: infra/build release kiln-cc kiln_toolchain_lib")
        self.parts.append((name, version, path, source, executable, strip))

    def stamp(self):
        facts = [os.path.getmtime(__file__)]
        for name, version, path, source, *rest in self.parts:
            info = source.stat()
            facts.append([name, version, path, str(source), info.st_ino, info.st_size, info.st_mtime_ns, *rest])
        return json.dumps(facts)


def add_catalogue(parts, version, folder):
    """The tuning catalogue, where there is one: its list, and the records that this names."""
    listing = folder / "catalogue.json"
    if not listing.is_file():
        return
    parts.add("tuning-catalogue", version, "lib/catalogue/catalogue.json", listing)
    for record in json.loads(listing.read_text())["records"]:
        name = record["digest"].removeprefix("sha256:")
        parts.add(f"tuning-record-{name[:12]}", version, f"lib/catalogue/{name}.json", folder / f"{name}.json")


def collect(build, cuda, version_of=installed_version):
    """The parts, Kiln's version and the label. version_of: a Debian package's version, for what comes from one."""
    version = kiln_version()
    llvm = output_of(str(LLVM / "llvm-config"), "--version").strip()
    parts, label = Parts(), f"kiln-{version}+llvm{llvm}"
    parts.add("kiln-cc", f"{version}+llvm{llvm}", "bin/kiln-cc", build / "bin/kiln-cc", executable=True, strip=True)
    library = build / "toolchain/lib"
    parts.add("kmath", version, "lib/kmath.bc", library / "kmath.bc")
    parts.add("kkernels", version, "lib/kkernels.bc", library / "kkernels.bc")
    for arch in ("aarch64", "riscv64", "thumbv8.1m.main", "x86_64"):
        name = f"libkiln_builtins-{arch}.a"
        parts.add(f"builtins-{arch}", version, f"lib/{name}", library / name)
    add_catalogue(parts, version, library / "catalogue")
    ptxas, libdevice = cuda / "bin/ptxas", cuda / "nvvm/libdevice/libdevice.10.bc"
    if not ptxas.is_file() or not libdevice.is_file():
        print(f"toolchain: no CUDA compiler parts in {cuda}; the tree goes without", file=sys.stderr)
        return parts, version, label
    full = re.search(r"V(\d+\.\d+\.\d+)", output_of(str(ptxas), "--version")).group(1)
    parts.add("ptxas", full, "bin/ptxas", ptxas, executable=True)
    parts.add("libdevice", full, "lib/libdevice.10.bc", libdevice)
    # ptxas is dynamic; it runs as lib/ld-linux-x86-64.so.2 --library-path lib bin/ptxas.
    for name, source in shared_libraries(ptxas):
        package = "libgcc-s1" if name.startswith("libgcc_s") else "libc6"
        parts.add(f"ptxas-{name}", version_of(package), f"lib/{name}", source.resolve(), executable=name.startswith("ld-"))
    return parts, version, f"{label}+cuda{'.'.join(full.split('.')[:2])}"


def write(parts, version, label, tree):
    components = []
    compiler = next(source for name, _, _, source, *_ in parts.parts if name == "kiln-cc")
    for name, part_version, path, source, executable, strip in parts.parts:
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if strip:
            subprocess.run([str(LLVM / "llvm-strip"), "--strip-all", "-o", str(target), str(source)], check=True)
        else:
            shutil.copyfile(source, target)
        target.chmod(0o755 if executable else 0o644)
        with open(target, "rb") as file:
            digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read())
        components.append({"digest": f"sha256:{digest.hexdigest()}", "name": name, "path": path,
                           "size": str(target.stat().st_size), "version": part_version})
    components.sort(key=lambda component: component["path"])
    description = {"apiVersion": "kiln/v1", "kind": "Toolchain", "name": "kiln", "version": version, "label": label,
                   "components": components, "targets": served_targets(compiler, any(name == "ptxas" for name, *_ in parts.parts))}
    text = json.dumps(description, sort_keys=True, separators=(",", ":"))
    (tree / "toolchain.json").write_text(text)


def label_of(tree):
    return json.loads((tree / "toolchain.json").read_text())["label"]


def refresh(out, parts, version, label):
    """Writes the tree as a whole, unless it is there and nothing of it has changed."""
    stamp_file = out.with_name(out.name + ".stamp")
    stamp = label + parts.stamp()
    if (out / "toolchain.json").is_file() and stamp_file.is_file() and stamp_file.read_text() == stamp:
        return
    stamp_file.unlink(missing_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=out.name + ".", dir=out.parent))
    try:
        fresh.chmod(0o755)
        write(parts, version, label, fresh)
        shutil.rmtree(out, ignore_errors=True)
        fresh.rename(out)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    stamp_file.write_text(stamp)
