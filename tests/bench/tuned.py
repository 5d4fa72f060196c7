#!/usr/bin/env python3
"""Tuned schedules beside the default ones: one command, one table, every row a ratio within one run.

usage: tests/bench/tuned.py [--net NAME]... [--budget 60s] [--reassociation off|on] [--engine NAME]... [--threads N] [--rounds N] [--target T]
                            [--suite DIR] [--markdown FILE] [--json FILE]
  --net      as speed.py has them
  --budget   time for the search, for each network
  --reassociation  of both programs, default: deterministic. off: both add in the order of the model; on: the default one does
  --engine   peers as speed.py has them, which take turns too
  --markdown writes the table as it stands in tests/bench/RESULTS.md

Each network is planned, tuned and compiled twice, with and without the entries that the record gave. The two programs
take turns on the same processors (taskset); a row is the median of each. Beside the ratio stand that of the fastest runs, which a
busy machine disturbs least, and how far one of them alone spreads from turn to turn: what is within that is noise. The last line
has the geometric means.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

import speed

BIN = speed.ROOT / "build/release/bin"


def both(model, arguments, directory):
    """The artifacts, and of the kernels how many there are and how many got another schedule."""
    spec, plan, record, entries = (directory / f"{model.stem}.{end}" for end in ("spec.json", "plan", "record.json", "tuning.json"))
    run = lambda *words: subprocess.run([BIN / "kiln-cc", *map(str, words)], check=True, stderr=subprocess.DEVNULL)
    run("spec", "--model", model, "--target", arguments.target, "--reassociation", arguments.reassociation, "--out", spec)
    run("plan", "--model", model, "--spec", spec, "--out", plan)
    run("tune", "--plan", plan, "--spec", spec, "--budget", arguments.budget, "--threads", arguments.threads, "--out", record)
    run("entries", "--record", record, "--plan", plan, "--out", entries)
    default, tuned = directory / f"{model.stem}.default", directory / f"{model.stem}.tuned"
    run("compile", "--model", model, "--spec", spec, "--out", default)
    run("compile", "--model", model, "--spec", spec, "--tuning", entries, "--out", tuned)
    count = lambda path, member: len(json.loads(path.read_text())[member])
    return default, tuned, count(record, "kernels"), count(entries, "entries")


def turns(times, each):
    """The medians of what one engine took, turn by turn."""
    return [statistics.median(times[at:at + each]) for at in range(0, len(times), each)]


def table(rows):
    mean = lambda member: math.exp(statistics.fmean(math.log(row[member]) for row in rows))
    peers = list(dict.fromkeys(peer for row in rows for peer in row.get("peers", {})))
    lines = ["| network | kernels, tuned of all | default, ms | tuned, ms | ratio | of the fastest runs | noise |" + "".join(f" tuned beside {peer} |" for peer in peers),
             "|---|---:|---:|---:|---:|---:|---:|" + "---:|" * len(peers)]
    beside = lambda row, peer: f" {row['peers'][peer]:.2f}× |" if peer in row.get("peers", {}) else " — |"
    lines += [f"| {row['network']} | {row['tuned']} of {row['kernels']} | {row['default ms']:.3f} | {row['tuned ms']:.3f} | "
              f"{row['ratio']:.3f}× | {row['best']:.3f}× | {row['noise']:.1%} |" + "".join(beside(row, peer) for peer in peers) for row in rows]
    return "\n".join([*lines, "", f"Geometric mean {mean('ratio'):.3f}×, of the fastest runs {mean('best'):.3f}×.", ""])


def main():
    speed.with_tools()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", action="append")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--reassociation", default="deterministic", choices=["deterministic", "off", "on"])
    parser.add_argument("--engine", action="append", choices=speed.PEERS, default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--target", default="cpu:x86-64-v4")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    subprocess.run([speed.ROOT / "infra/build", "release", "kiln-cc", "kiln_toolchain_lib", "bench_session"], check=True,
                   stdout=subprocess.DEVNULL)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name in arguments.net or [*speed.NETWORKS, "transformer_block"]:
            model = speed.model_of(name, arguments.suite, work)
            default, tuned, kernels, changed = both(model, arguments, work)
            engines = [speed.Engine(label, [BIN / "bench_session", artifact, arguments.threads], arguments.threads)
                       for label, artifact in (("default", default), ("tuned", tuned))]
            peers = [speed.Engine(name_of, [speed.peers_python(), speed.HERE / "peers.py", name_of, model, arguments.threads], arguments.threads)
                     for name_of in arguments.engine]
            for engine in engines:
                if engine.refused:
                    raise SystemExit(f"tuned: {name}: {engine.refused}")
            speed.measure([*engines, *peers], arguments.rounds)
            medians = [statistics.median(engine.times) for engine in engines]
            own = turns(engines[0].times, max(1, len(engines[0].times) // arguments.rounds))
            rows.append({"network": name, "kernels": kernels, "tuned": changed, "default ms": medians[0] * 1e3,
                         "tuned ms": medians[1] * 1e3, "ratio": medians[0] / medians[1],
                         "best": min(engines[0].times) / min(engines[1].times), "noise": (max(own) - min(own)) / medians[0],
                         "peers": {peer.name: statistics.median(peer.times) / medians[1] for peer in peers if not peer.refused}})
            for engine in [*engines, *peers]:
                engine.close()
            print(f"{name}: {medians[0] * 1e3:.3f} ms by default, {medians[1] * 1e3:.3f} ms tuned ({changed} of {kernels} kernels): "
                  f"{rows[-1]['ratio']:.3f}×, fastest runs {rows[-1]['best']:.3f}×, noise {rows[-1]['noise']:.1%}", flush=True)
    where = f"{speed.machine(arguments.target)}; {arguments.threads} thread(s), budget {arguments.budget} per network, reassociation {arguments.reassociation}"
    text = where + "\n\n" + table(rows)
    print("\n" + text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": where, "networks": rows}, indent=1))


if __name__ == "__main__":
    main()
