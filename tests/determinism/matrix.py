#!/usr/bin/env python3
"""Does a compile depend on anything but its inputs? One model for one target, under everything that could leak.

usage: matrix.py --bin DIR [--model FILE[+PARAMETERS][:DIM=SIZE]]... [--light DIR] [--net NAME]... [--target T]... [--vary NAME]...
                 [--without NAME]... [--tuned] [--reassociation off|on] [--report FILE]
  --bin     where kiln-cc and shift_clock are (build/release/bin)
  --model   a model, with its file of parameters and a size for each symbolic dimension (default: the sample models, one of
            each format)
  --light   the folder of the ONNX backend suite, or its archive: the light networks instead
  --net     only the light networks with this in their name
  --target  default: all processors that this kiln-cc serves; GPUs, which need ptxas, by name alone
  --vary    only these of VARIATIONS; --without: all but these
  --tuned   with tuning entries that give every kernel another schedule than its default
  --reassociation  as the spec has it (default: deterministic); unless it is off, with --tuned, kernels that can add in another order do
Prints a row per model and target, with the digest of all that was written, and how many variations gave it; ends with
"rebuild agreement: N of M". Exit 1 when one differs. A variation that this machine cannot do is named and left out. Exit 77: --light is not there.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = [f"{ROOT}/tests/models/digits_mlp.onnx:N=4", f"{ROOT}/tests/models/digits_cnn.onnx",
           f"{ROOT}/tests/models/affine.mlir+{ROOT}/tests/models/affine.safetensors", f"{ROOT}/tests/models/quantised_tosa.mlir",
           f"{ROOT}/tests/compiler_core/frontend/torch/fixtures/tiny_convnet.exported.pt2:s77=2"]
YEAR = 365 * 24 * 3600


class Place:
    """Where one compile happens: its files, its folder, its environment, and the words before its command."""

    def __init__(self, base, bin_dir, model, spec, tuning=None, parameters=None):
        self.base, self.bin_dir, self.model, self.spec, self.tuning = base, bin_dir, model, spec, tuning
        self.parameters = parameters
        self.toolchain = bin_dir.parent / "toolchain"
        self.out = base / "out"
        self.cwd = base
        self.environment = {"PATH": "/usr/bin:/bin"}
        self.prefix = []
        self.umask = 0o022
        self.beside = []  # commands that run meanwhile

    def command(self):
        return [*self.prefix, str(self.bin_dir / "kiln-cc"), "compile", "--model", str(self.model), "--spec",
                str(self.spec), *(["--tuning", str(self.tuning)] if self.tuning else []),
                *map(str, named(self.parameters)), "--toolchain", str(self.toolchain),
                "--out", str(self.out)]


class Impossible(Exception):
    pass


def needs(program):
    if not shutil.which(program):
        raise Impossible(f"{program} is not installed")
    return program


def needs_root():
    if os.geteuid() != 0:
        raise Impossible("it takes root")


def directory(place):
    below = place.base / "a folder with spaces" / "ünïcode" / ("deep/" * 20)
    below.mkdir(parents=True)
    for name in ("model", "spec", *(name for name in ("tuning", "parameters") if getattr(place, name))):
        copy = below / (name + "-of-another-name")
        shutil.copyfile(getattr(place, name), copy)
        setattr(place, name, copy)
    place.cwd, place.out = below, below / "elsewhere"


def user(place):
    needs_root()
    os.chmod(place.base, 0o777)
    place.prefix = [needs("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]


def host_name(place):
    needs_root()
    place.prefix = [needs("unshare"), "--uts", "sh", "-c", 'hostname another.example && exec "$@"', "sh"]


def locale(place):
    place.environment |= {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.ISO-8859-1", "LANGUAGE": "ja"}


def time_zone(place):
    place.environment["TZ"] = "Pacific/Kiritimati"


def environment(place):
    place.environment |= {f"JUNK_{i}": "x" * (i * 7 % 500) for i in range(200)}
    place.environment |= {"HOME": "/nowhere", "TMPDIR": "/nowhere", "SOURCE_DATE_EPOCH": "1", "OMP_NUM_THREADS": "3",
                          "CCC_OVERRIDE_OPTIONS": "+-O0", "LD_BIND_NOW": "1", "LLVM_PROFILE_FILE": "/nowhere/x"}


def one_processor(place):
    place.prefix = [needs("taskset"), "-c", "0"]


def addresses_fixed(place):
    place.prefix = [needs("setarch"), "-R"]


def listing_order(place):
    """The same files, made in another order among others that come and go: readdir gives another order."""
    copy = place.base / "shuffled"
    files = [path for path in place.toolchain.rglob("*") if path.is_file()]
    random.Random(7).shuffle(files)
    for number, path in enumerate(files):
        target = copy / path.relative_to(place.toolchain)
        target.parent.mkdir(parents=True, exist_ok=True)
        for passing in range(number * 13 % 40):
            (target.parent / f"passing-{number}-{passing}").touch()
        shutil.copy(path, target)
    for path in copy.rglob("passing-*"):
        path.unlink()
    place.toolchain = copy


def clock(place):
    place.prefix = [str(place.bin_dir / "shift_clock"), str(-11 * YEAR)]


def emulated(model):
    def vary(place):
        place.prefix = [needs("qemu-x86_64"), "-cpu", model]
        # As an action has it; otherwise kiln-cc would run itself again, which leaves the emulator.
        place.environment["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"
    return vary


def tunables(place):
    place.environment["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-AVX,-SSE4_2,-ERMS:glibc.cpu.x86_ibt=off"


def umask(place):
    place.umask = 0o077


def load(place):
    place.beside = [place.command()[:-1] + [str(place.base / f"beside-{i}")] for i in range(2)]


def memory_fill(place):
    place.environment |= {"MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1", "MALLOC_TOP_PAD_": "123456"}


VARIATIONS = {
    "again": lambda place: None, "directory": directory, "user": user, "host name": host_name, "locale": locale,
    "time zone": time_zone, "environment": environment, "one processor": one_processor,
    "addresses fixed": addresses_fixed, "listing order": listing_order, "clock": clock, "cpu Nehalem": emulated("Nehalem"),
    "cpu Haswell": emulated("Haswell"), "cpu max": emulated("max"), "libc dispatch": tunables, "umask": umask,
    "parallel load": load, "memory fill": memory_fill,
}


def digest_of(folder):
    """Over the sorted names and bytes of all files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file():
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            digest.update(f"{len(name)} {name} {len(data)} ".encode() + data)
    return digest.hexdigest()


def compile_in(place):
    def start(command):
        return subprocess.Popen(command, cwd=place.cwd, env=place.environment, umask=place.umask,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(start(command)) for command in [place.command(), *place.beside]]
        errors = [process.communicate()[1] for process in running]
    if running[0].returncode != 0:
        raise RuntimeError(f"{' '.join(place.command())}: exit {running[0].returncode}: {errors[0].strip()[-500:]}")
    return digest_of(place.out)


def named(parameters):
    return ["--params", parameters] if parameters else []


def spec_of(kiln_cc, model, parameters, sizes, target, reassociation, path):
    profiles = [word for size in sizes for word in ("--profile", size)]
    subprocess.run([kiln_cc, "spec", "--model", model, *named(parameters), "--target", target, "--reassociation", reassociation,
                    *profiles, "--out", path], check=True)


def entries_of(kiln_cc, model, parameters, spec, path):
    """Tuning entries for every kernel of the plan, none of them the default; nothing is measured. How many add in another order."""
    plan = path.parent / "plan"
    subprocess.run([kiln_cc, "plan", "--model", model, *named(parameters), "--spec", spec, "--out", plan], check=True,
                   stderr=subprocess.DEVNULL)
    document = json.loads((plan / "plan.json").read_text())
    reordered = lambda schedule: {"winograd": [2]} if "winograd" in schedule else {}
    other = lambda schedule: dict(schedule, rows=[2], vectors=[1], **reordered(schedule)) if "rows" in schedule else dict(schedule, unroll=[3])
    entries = [{"signature": kernel["signature"], "template": kernel["template"], "schedule": other(kernel["schedule"])}
               for kernel in document["kernels"]]
    path.write_text(json.dumps({"apiVersion": "kiln/v1", "kind": "TuningEntries", "target": document["target"], "entries": entries}))
    return sum("winograd" in entry["schedule"] for entry in entries)


def row(bin_dir, model, parameters, sizes, target, names, is_tuned=False, reassociation="deterministic"):
    """One model and target: the digest of the plain compile and what each variation gave, and the kernels that add in another order."""
    said, reordered = {}, 0
    with tempfile.TemporaryDirectory(prefix="kiln-matrix.") as work:
        work = pathlib.Path(work)
        work.chmod(0o755)
        spec = work / "spec.json"
        model = shutil.copyfile(model, work / "model")
        if parameters:
            parameters = shutil.copyfile(parameters, work / parameters.rsplit("/", 1)[-1])
        spec_of(bin_dir / "kiln-cc", model, parameters, sizes, target, reassociation, spec)
        tuning = work / "tuning.json" if is_tuned else None
        if tuning:
            reordered = entries_of(bin_dir / "kiln-cc", model, parameters, spec, tuning)
        for path in filter(None, (model, spec, tuning, parameters)):
            path.chmod(0o644)  # for the variation that is another user
        for name in ["", *names]:
            base = work / (name or "plain").replace(" ", "-")
            base.mkdir()
            place = Place(base, bin_dir, model, spec, tuning, parameters)
            try:
                if name:
                    VARIATIONS[name](place)
                said[name] = compile_in(place)
            except Impossible as why:
                said[name] = f"left out: {why}"
            shutil.rmtree(base, ignore_errors=True)
    return said, reordered


def models(arguments):
    chosen = arguments.model or ([] if arguments.light else SAMPLES)
    for text in chosen:
        files, *sizes = text.split(":")
        path, _, parameters = files.partition("+")
        yield pathlib.Path(path).stem, path, parameters, sizes
    for path in sorted(arguments.light.glob("light/*.onnx")) if arguments.light else []:
        if any(name in path.stem for name in arguments.net or [""]):
            yield path.stem, str(path), "", []


@contextlib.contextmanager
def unpacked(suite):
    """The suite's folder; an archive is unpacked for the while."""
    if suite is None or suite.is_dir():
        yield suite
        return
    if not suite.is_file():
        print(f"matrix: skipped: {suite} is not there")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="kiln-suite.") as work:
        subprocess.run(["tar", "--zstd", "-xf", suite, "-C", work], check=True)
        yield pathlib.Path(work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--model", action="append")
    parser.add_argument("--light", type=pathlib.Path)
    parser.add_argument("--net", action="append")
    parser.add_argument("--target", action="append")
    parser.add_argument("--vary", action="append", choices=list(VARIATIONS))
    parser.add_argument("--without", action="append", choices=list(VARIATIONS), default=[])
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--reassociation", default="deterministic", choices=["deterministic", "off", "on"])
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    with unpacked(arguments.light) as arguments.light:
        return matrix(arguments)


def matrix(arguments):
    bin_dir = arguments.bin.absolute()
    answer = subprocess.run([bin_dir / "kiln-cc", "--version", "--json"], capture_output=True, check=True).stdout
    targets = arguments.target or [name for name in json.loads(answer)["targets"] if name.startswith("cpu:")]
    names = [name for name in arguments.vary or VARIATIONS if name not in arguments.without]
    agreed = total = reordered = 0
    left_out, report = {}, []
    for model, path, parameters, sizes in models(arguments):
        for target in targets:
            said, more = row(bin_dir, path, parameters, sizes, target, names, arguments.tuned, arguments.reassociation)
            reordered += more
            plain = said.pop("")
            left_out |= {name: text for name, text in said.items() if text.startswith("left out")}
            ran = {name: text for name, text in said.items() if not text.startswith("left out")}
            differing = sorted(name for name, digest in ran.items() if digest != plain)
            agreed, total = agreed + len(ran) - len(differing), total + len(ran)
            report.append({"model": model, "target": target, "digest": plain, "compiles": len(ran) + 1,
                           "differing": differing})
            print(f"{model:24} {target:40} {plain[:16]} {len(ran) - len(differing)} of {len(ran)}"
                  + (f"  DIFFERENT: {', '.join(differing)}" if differing else ""), flush=True)
    for name, text in left_out.items():
        print(f"{name}: {text}")
    if arguments.report:
        arguments.report.write_text(json.dumps({"rows": report}, indent=1) + "\n")
    print(f"rebuild agreement: {agreed} of {total} ({100 * agreed / max(total, 1):.2f} %)")
    if arguments.tuned and arguments.reassociation != "off" and not reordered:
        print("matrix: no kernel adds in another order, so reassociation was not tried")
        return 1
    return 0 if total and agreed == total else 1


if __name__ == "__main__":
    sys.exit(main())
