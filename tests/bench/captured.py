#!/usr/bin/env python3
"""Networks as JAX and PyTorch export them beside jax.jit and torch.compile, and the import of JAX's beside IREE's, in turn.

usage: tests/bench/captured.py [--net NAME]... [--threads 1,2] [--rounds N] [--imports N] [--target T] [--bin DIR]
                               [--markdown FILE] [--json FILE]
  --net      a network of captured_jax.py or captured_torch.py, or "none"; all by default
  --imports  how often each compiler imports each of JAX's programs; 0 for never
  --bin      where kiln-cc and bench_session are; without it, build/release/bin, built first

The weights of JAX's networks are arguments, bound from a file for Kiln; those of PyTorch's lie in the .pt2 and are frozen for
torch.compile. An import is of the program as text, from the start of the process until it is in the compiler's own dialect: for
Kiln until it says that its next stage begins, for IREE the whole of `iree-compile --compile-to=input`. Wheels come from
requirements-peers.txt and requirements-torch.txt.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import speed

NETWORKS = {"jax": ["jax_convolutional", "jax_encoder", "jax_decoder_step"],
            "torch": ["torch_resnet18", "torch_encoder", "torch_decoder_step", "torch_unet"]}
SUFFIX = {"jax": ".jax_export", "torch": ".pt2"}
WHEELS = {"jax": "peers", "torch": "torch"}
SETTLE = 2  # first imports, whose files the system has yet to read


def made(framework, name, directory):
    """The exported file, and what kiln-cc needs beside it."""
    python = speed.peers_python(WHEELS[framework])
    subprocess.run([python, speed.HERE / f"captured_{framework}.py", name, directory], check=True, stderr=subprocess.DEVNULL)
    weights = directory / f"{name}.npz"
    return directory / f"{name}{SUFFIX[framework]}", ["--params", weights] if weights.exists() else []


def measured(framework, name, arguments, directory):
    """A row for each number of threads."""
    model, options = made(framework, name, directory)
    artifact, took = speed.compiled(model, arguments.target, directory, options, arguments.bin)
    rows = []
    for threads in map(int, arguments.threads.split(",")):
        engines = [speed.Engine("kiln", [arguments.bin / "bench_session", artifact, threads], threads),
                   speed.Engine(framework, [speed.peers_python(WHEELS[framework]), speed.HERE / "peers.py", framework, model, threads], threads)]
        if engines[0].refused:
            raise SystemExit(f"captured: {name}: {engines[0].refused}")
        speed.measure(engines, arguments.rounds)
        rows.append(speed.row(name, threads, engines, took))
        rows[-1]["fastest ms"] = [1e3 * min(engine.times, default=0.0) for engine in engines]
        for engine in engines:
            engine.close()
        print(fastest_line(rows[-1]), flush=True)
    return rows


def fastest_line(facts):
    kiln, peer = facts["fastest ms"]
    return f"| {facts['network']} | {facts['threads']} | {kiln:.2f} | " + (f"{peer:.2f} ({peer / kiln:.2f}×) |" if peer else "— |")


def fastest_table(rows):
    lines = ["The fastest run of each, which other programs on the machine disturb least:", "", "| network | threads | Kiln, ms | peer |",
             "|---|---:|---:|---:|"]
    return "\n".join(lines + [fastest_line(one) for one in rows]) + "\n\n"


def kiln_import(bin, text, spec, out):
    """Seconds of the clock and of the processor until the stage after capture begins; what would follow is ended."""
    start, seconds = time.perf_counter(), None
    process = subprocess.Popen([bin / "kiln-cc", "compile", "--model", text, "--spec", spec, "--out", out], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("stage: ") and line.split()[1] != "capture":
            seconds = time.perf_counter() - start
            break
    process.kill()
    process.stderr.close()
    used = used_by(process)
    if seconds is None:
        raise SystemExit(f"captured: kiln-cc did not import {text.name}")
    return seconds, used


def iree_import(program, text):
    start = time.perf_counter()
    process = subprocess.Popen([program, "--iree-input-type=stablehlo", "--compile-to=input", text, "-o", "/dev/null"])
    used = used_by(process)
    if process.returncode:
        raise SystemExit(f"captured: iree-compile did not import {text.name}")
    return time.perf_counter() - start, used


def used_by(process):
    """Waits for the end; the processor's seconds until then."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def imported(name, arguments, directory):
    """Both compilers' imports of one program of JAX, in turn: the fastest by the clock, the median of the processor's time."""
    made("jax", name, directory)
    text, spec = directory / f"{name}.mlir", directory / f"{name}.import.json"
    subprocess.run([arguments.bin / "kiln-cc", "spec", "--model", text, "--target", arguments.target, "--out", spec], check=True)
    iree = next((speed.peers_python().parent.parent / "lib").glob("python*/site-packages/iree/compiler/_mlir_libs/iree-compile"))
    turns = [(*kiln_import(arguments.bin, text, spec, directory / "imported"), *iree_import(iree, text))
             for _ in range(SETTLE + arguments.imports)][SETTLE:]
    kiln_clock, kiln_used, iree_clock, iree_used = zip(*turns)
    facts = {"program": name, "KiB": text.stat().st_size / 1024, "kiln": [1e3 * min(kiln_clock), 1e3 * statistics.median(kiln_used)],
             "iree": [1e3 * min(iree_clock), 1e3 * statistics.median(iree_used)]}
    print(import_line(facts), flush=True)
    return facts


def import_line(facts):
    (kiln, kiln_used), (iree, iree_used) = facts["kiln"], facts["iree"]
    return (f"| {facts['program']} | {facts['KiB']:.0f} | {kiln:.1f} | {iree:.1f} ({iree / kiln:.2f}×) | {kiln_used:.1f} | "
            f"{iree_used:.1f} ({iree_used / kiln_used:.2f}×) |")


def import_table(rows):
    lines = ["Import of the program as text, the start of the process included: the fastest by the clock, and the processor's time "
             "(median):", "", "| program | KiB | Kiln, ms | iree | Kiln, CPU ms | iree |", "|---|---:|---:|---:|---:|---:|"]
    return "\n".join(lines + [import_line(one) for one in rows]) + "\n" if rows else ""


def tables(facts):
    rows = facts["networks"]
    text = fastest_table(rows) + "Medians:\n\n" + speed.markdown(rows, list(NETWORKS)) if rows else ""
    return facts["machine"] + "\n\n" + text + import_table(facts["imports"])


def main():
    names = [name for of_one in NETWORKS.values() for name in of_one]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", action="append", choices=[*names, "none"])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--imports", type=int, default=21)
    parser.add_argument("--target", default="cpu:x86-64-v4")
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.bin:
        arguments.bin = speed.BIN
        subprocess.run([speed.ROOT / "infra/build", "release", "kiln-cc", "kiln_toolchain_lib", "bench_session"], check=True, stdout=subprocess.DEVNULL)
    wanted = [(framework, name) for framework, of_one in NETWORKS.items() for name in of_one if name in (arguments.net or names)]
    facts = {"machine": speed.machine(arguments.target), "networks": [], "imports": []}
    def report():
        """Also after each network: a run that is ended early leaves what it has."""
        if arguments.markdown:
            arguments.markdown.write_text(tables(facts))
        if arguments.json:
            arguments.json.write_text(json.dumps(facts, indent=1))

    with tempfile.TemporaryDirectory() as work:
        for name in NETWORKS["jax"] if arguments.imports else []:
            facts["imports"].append(imported(name, arguments, pathlib.Path(work)))
        for framework, name in wanted:
            facts["networks"] += measured(framework, name, arguments, pathlib.Path(work))
            report()
    report()
    print("\n" + tables(facts))


if __name__ == "__main__":
    main()
