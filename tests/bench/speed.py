#!/usr/bin/env python3
"""Whole networks beside ONNX Runtime, OpenVINO, IREE and XLA, and kernels beside what the processor can do: one command, every row a
ratio within one run.

usage: tests/bench/speed.py [--net NAME]... [--kernel NAME]... [--engine NAME]... [--threads 1,2] [--rounds N] [--target T] [--suite DIR]
                            [--markdown FILE] [--json FILE]
  --net      a name of tests/models/blocks.py, or one of the light networks of the ONNX backend data (resnet50, squeezenet,
             densenet121, shufflenet, vgg19, ...), which get seeded random weights; "none" for none
  --kernel   one of those below, beside ONNX Runtime and a loop of multiply-adds or a copy of as many bytes; "none" for none.
             Names with _int8 and _bf16 are compiled for a target with such instructions, and their limit is a loop of those
  --suite    the unpacked ONNX backend data (default $KILN_ONNX_SUITE, else the archive beside the checkout)
  --markdown writes the tables as they stand in tests/bench/RESULTS.md

The engines take turns, a few runs at a time, on the same processors (taskset); a row is the median of each. Foreign engines
come from tests/bench/requirements-peers.txt into a cache outside the repository; one that cannot take a network says why.
"""
import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = ROOT / "build/release/bin"
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/support")]

NETWORKS = ["resnet50", "squeezenet", "densenet121", "shufflenet", "vgg19", "mobile", "bert_base", "mobile_int8"]
PEERS = ["onnxruntime", "openvino", "iree", "xla"]
# Floating-point operations of a matrix product, or bytes of input and result of what is bound by memory.
KERNELS = {"matmul_512": ("fma", 2 * 512 ** 3), "matmul_1024": ("fma", 2 * 1024 ** 3), "matmul_2048": ("fma", 2 * 2048 ** 3),
           "matmul_int8_512": ("int8", 2 * 512 ** 3), "matmul_int8_1024": ("int8", 2 * 1024 ** 3),
           "matmul_int8_2048": ("int8", 2 * 2048 ** 3), "matmul_bf16_1024": ("bf16", 2 * 1024 ** 3),
           "softmax": ("copy", 2 * 4 * 4096 * 1024), "layer_norm": ("copy", 2 * 4 * 4096 * 1024),
           "chain": ("copy", 2 * 4 * 8192 * 1024), "gather": ("copy", 2 * 4 * 16384 * 1024), "copy": ("copy", 2 * 4 * 16384 * 1024)}
LIMITS = {"fma": "FMA, flop", "int8": "vpdpbusd, op", "bf16": "vdpbf16ps, flop", "copy": "copy, byte"}
# What products of bytes and of bf16 are compiled for.
DOT_TARGET, DOT_FEATURES = "cpu:x86-64-v4+avx512vnni+avx512bf16", {"avx512_vnni", "avx512_bf16"}
ROUND_SECONDS = 0.5  # about how long one engine runs before the next one has its turn


def with_tools():
    """Goes on in the Python that has the tools of the tests, if this one has not."""
    if importlib.util.find_spec("numpy") is None and not os.environ.get("KILN_BENCH_PYTHON"):
        python = ROOT / "tests/support/python"
        os.execve(python, [str(python), *sys.argv], {**os.environ, "KILN_BENCH_PYTHON": str(python)})


def peers_python(kind="peers"):
    """A Python with the wheels of requirements-KIND.txt, made at the first call."""
    wanted = HERE / f"requirements-{kind}.txt"
    cache = pathlib.Path(os.environ.get("KILN_CACHE", pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "kiln"))
    venv = cache / f"{kind}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]}"
    if not (venv / "ready").exists():
        print(f"speed: installing {wanted.name}", file=sys.stderr)
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", wanted], check=True)
        (venv / "ready").touch()
    return venv / "bin/python"


class Engine:
    """A process that runs one network when told to."""

    def __init__(self, name, command, threads):
        self.name, self.times, self.refused = name, [], ""
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
        self.process = subprocess.Popen(["taskset", "-c", cpus, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        answer = self.process.stdout.readline().split()
        if not answer or answer[0] != "ready":
            self.refused = " ".join(answer) or "ended without a word"
            self.close()
            return
        self.load, self.resident = float(answer[1]), int(answer[2])
        self.compiled = float(answer[3]) if len(answer) > 3 else 0.0
        self.work = float(answer[4]) if len(answer) > 4 else 0.0

    def runs(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def measure(engines, rounds):
    alive = [engine for engine in engines if not engine.refused]
    counts = {engine.name: max(1, min(200, int(ROUND_SECONDS / max(statistics.median(engine.runs(2)), 1e-6)))) for engine in alive}
    for _ in range(rounds):
        for engine in alive:
            engine.times += engine.runs(counts[engine.name])


def model_of(name, suite, directory):
    import blocks

    path = directory / f"{name}.onnx"
    if name in blocks.MODELS:
        path.write_bytes(blocks.MODELS[name]())
        return path
    import light

    (directory / "suite").mkdir(exist_ok=True)
    folder = light.unpacked(suite, directory / "suite")
    found = [model for model in sorted(folder.glob("light/*.onnx")) if name in model.stem.replace("_", "")] if folder else []
    if len(found) != 1:
        raise SystemExit(f"speed: {name} is neither a network of blocks.py nor one of the light networks at hand")
    path.write_bytes(light.with_random_weights(found[0], seed=1).bytes())
    return path


def uses_dots(name):
    return "_int8" in name or "_bf16" in name


def served_here(names):
    """The names whose instructions this processor has; says which are left out."""
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    left_out = [name for name in names if uses_dots(name) and not DOT_FEATURES <= flags]
    if left_out:
        print(f"speed: left out, since this processor lacks {', '.join(sorted(DOT_FEATURES))}: {', '.join(left_out)}", file=sys.stderr)
    return [name for name in names if name != "none" and name not in left_out]


def compiled(model, target, directory, options=(), bin=BIN):
    """The artifact and the seconds it took; `options` are those of spec and compile alike."""
    spec = directory / f"{model.stem}.json"
    if uses_dots(model.stem):
        target = DOT_TARGET
    precision = "int8" if "_int8" in model.stem else "f32"
    subprocess.run([bin / "kiln-cc", "spec", "--model", model, *options, "--target", target, "--precision", precision, "--out", spec], check=True)
    out = directory / f"{model.stem}.artifact"
    start = time.monotonic()
    subprocess.run([bin / "kiln-cc", "compile", "--model", model, *options, "--spec", spec, "--out", out], check=True, stderr=subprocess.DEVNULL)
    return out, time.monotonic() - start


def row(name, threads, engines, compile_seconds):
    kiln = engines[0]
    median = statistics.median(kiln.times)
    spread = (sorted(kiln.times)[len(kiln.times) * 9 // 10] - sorted(kiln.times)[len(kiln.times) // 10]) / median
    facts = {"network": name, "threads": threads, "kiln": {"ms": median * 1e3, "spread": spread, "load ms": kiln.load * 1e3,
                                                           "resident MiB": kiln.resident / 1024, "compile s": compile_seconds}}
    for engine in engines[1:]:
        if engine.refused:
            facts[engine.name] = {"refused": engine.refused}
            continue
        other = statistics.median(engine.times)
        facts[engine.name] = {"ms": other * 1e3, "ratio": other / median, "load ms": engine.load * 1e3,
                              "resident MiB": engine.resident / 1024, "compile s": engine.compiled}
    return facts


def kernel_row(name, threads, kiln, limit, peer):
    """The share of what the processor did in the same run."""
    kind, work = KERNELS[name]
    rate, most = work / statistics.median(kiln.times), limit.work / statistics.median(limit.times)
    facts = {"kernel": name, "threads": threads, "kind": kind, "ms": statistics.median(kiln.times) * 1e3, "rate": rate * 1e-9,
             "limit": most * 1e-9, "share": rate / most}
    if not peer.refused:
        facts["ratio"] = statistics.median(peer.times) / statistics.median(kiln.times)
    return facts


def kernel_table(rows):
    lines = ["| kernel | threads | Kiln, ms | G/s | limit, G/s | share | ONNX Runtime |", "|---|---:|---:|---:|---:|---:|---:|"]
    for facts in rows:
        unit = LIMITS[facts["kind"]]
        ratio = f"{facts['ratio']:.2f}×" if "ratio" in facts else "—"
        lines.append(f"| {facts['kernel']} | {facts['threads']} | {facts['ms']:.3f} | {facts['rate']:.1f} | {facts['limit']:.1f} ({unit}) | "
                     f"{100 * facts['share']:.0f} % | {ratio} |")
    return "\n".join(lines) + "\n\n" if rows else ""


def cell(facts):
    if not facts:
        return ""
    return "—" if "refused" in facts else f"{facts['ms']:.2f} ({facts['ratio']:.2f}×)"


def markdown(rows, peers):
    lines = [f"| network | threads | Kiln, ms | {' | '.join(peers)} |", "|---|---:|---:|" + "---:|" * len(peers)]
    for facts in rows:
        lines.append(f"| {facts['network']} | {facts['threads']} | {facts['kiln']['ms']:.2f} | " +
                     " | ".join(cell(facts.get(peer)) for peer in peers) + " |")
    lines += ["", "Load until ready, and resident memory, at one thread; compile time:", "",
              f"| network | Kiln compile, load, memory | {' | '.join(peers)} |", "|---|---:|" + "---:|" * len(peers)]
    for facts in rows:
        if facts["threads"] != 1:
            continue
        columns = []
        for peer in ["kiln", *peers]:
            one = facts.get(peer, {})
            columns.append("—" if "ms" not in one else f"{one['compile s']:.1f} s, {one['load ms']:.0f} ms, {one['resident MiB']:.0f} MiB")
        lines.append(f"| {facts['network']} | " + " | ".join(columns) + " |")
    refused = sorted({f"{peer} on {facts['network']}: {facts[peer]['refused']}" for facts in rows for peer in peers
                      if "refused" in facts.get(peer, {})})
    return "\n".join(lines + [""] + [f"- {text}" for text in refused]) + "\n"


def machine(target):
    name = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")), platform.machine())
    return f"{name}, {len(os.sched_getaffinity(0))} processors, {time.strftime('%Y-%m-%d')}, {target}; load {os.getloadavg()[0]:.1f}"


def main():
    with_tools()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", action="append")
    parser.add_argument("--kernel", action="append", choices=[*KERNELS, "none"])
    parser.add_argument("--engine", action="append", choices=PEERS)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", default="cpu:x86-64-v4")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    python, peers, rows, kernels = peers_python(), arguments.engine or PEERS, [], []
    subprocess.run([ROOT / "infra/build", "release", "kiln-cc", "kiln_toolchain_lib", "bench_session", "bench_peaks"], check=True, stdout=subprocess.DEVNULL)

    def report():
        """Also written to the files asked for: a run that is ended early leaves what it has."""
        where = machine(arguments.target)
        text = where + "\n\n" + kernel_table(kernels) + (markdown(rows, peers) if rows else "")
        if arguments.markdown:
            arguments.markdown.write_text(text)
        if arguments.json:
            arguments.json.write_text(json.dumps({"machine": where, "kernels": kernels, "networks": rows}, indent=1))
        return text

    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name in served_here(arguments.kernel or KERNELS):
            model = model_of(name, arguments.suite, work)
            artifact, _ = compiled(model, arguments.target, work)
            kind, amount = KERNELS[name]
            for threads in map(int, arguments.threads.split(",")):
                engines = [Engine("kiln", [BIN / "bench_session", artifact, threads], threads),
                           Engine("limit", [BIN / "bench_peaks", kind, threads] + ([amount // 2] if kind == "copy" else []), threads),
                           Engine("onnxruntime", [python, HERE / "peers.py", "onnxruntime", model, threads], threads)]
                measure(engines, arguments.rounds)
                kernels.append(kernel_row(name, threads, *engines))
                for engine in engines:
                    engine.close()
                print(f"{name}, {threads} thread(s): {kernels[-1]['ms']:.3f} ms, {100 * kernels[-1]['share']:.0f} % of the limit", flush=True)
            report()
        for name in served_here(arguments.net or NETWORKS):
            model = model_of(name, arguments.suite, work)
            artifact, took = compiled(model, arguments.target, work)
            for threads in map(int, arguments.threads.split(",")):
                engines = [Engine("kiln", [BIN / "bench_session", artifact, threads], threads)]
                engines += [Engine(peer, [python, HERE / "peers.py", peer, model, threads], threads) for peer in peers]
                if engines[0].refused:
                    raise SystemExit(f"speed: {name}: {engines[0].refused}")
                measure(engines, arguments.rounds)
                rows.append(row(name, threads, engines, took))
                for engine in engines:
                    engine.close()
                print(f"{name}, {threads} thread(s): kiln {rows[-1]['kiln']['ms']:.2f} ms; " +
                      "; ".join(f"{peer} {cell(rows[-1].get(peer))}" for peer in peers), flush=True)
            report()
            shutil.rmtree(artifact)
    print("\n" + report())


if __name__ == "__main__":
    main()
