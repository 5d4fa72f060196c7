#!/usr/bin/env python3
"""The Remote Execution API of a farm beside Buildbarn's, and a compile through a cluster beside the farm's own worker: one client
(bench_reapi), the same actions and blobs for both servers, taking turns; every row a ratio within one run.

usage: tests/bench/reapi.py [--only TABLE]... [--rounds N] [--seconds S] [--mib N] [--net NAME]... [--suite DIR] [--markdown FILE]
                            [--json FILE]
  --only     actions, hits, streams, compiles; all by default
  --rounds   turns of each server (9 by default)
  --seconds  of each turn of the cache hits
  --mib      size of a large blob
  --net      networks to compile, as tests/infra/networks.py finds them: digits_cnn and resnet50 by default
  --suite    the unpacked ONNX backend data (default $KILN_ONNX_SUITE, else the archive beside the checkout)
  --markdown writes the tables as they stand in tests/bench/RESULTS.md

A row has the medians of both and of the ratios of pairs; the spread is that of the middle half of the ratios. CPU is what all processes of
a server used for one operation: it says the same on a busy machine. Exit 77 if Buildbarn cannot be had.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import speed

if __name__ == "__main__":
    speed.with_tools()
import reapi_sides as sides  # noqa: E402
import networks  # noqa: E402
from fetched import Skip  # noqa: E402

TARGET = "cpu:x86-64-v3"
ACTIONS = {"noop": "no-op", "megabyte": "1 MB in and out", "thousand": "1,000 inputs of 1 KiB"}
# What is timed of each, and the line that asks for it.
STEPS = {"upload of what is new": "upload {kind} {salt}", "executed, new inputs": "execute 1", "executed, known inputs": "execute 2"}


class Row:
    """Pairs of figures of two that took turns."""

    def __init__(self, what, scale=1e3):
        self.what, self.scale, self.values, self.cpu, self.operations, self.refused = what, scale, ([], []), [0.0, 0.0], [0, 0], ""

    def add(self, which, value, cpu=0.0, operations=1):
        self.values[which].append(value)
        self.cpu[which] += cpu
        self.operations[which] += operations

    def facts(self):
        if self.refused:
            return {"what": self.what, "refused": self.refused}
        ratios = [ours / theirs for ours, theirs in zip(*self.values)]
        quarters = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        return {"what": self.what, "values": [statistics.median(one) * self.scale for one in self.values], "ratio": quarters[1],
                "spread": [quarters[0], quarters[2]],
                "cpu ms": [1e3 * cpu / max(count, 1) for cpu, count in zip(self.cpu, self.operations)] if any(self.cpu) else None}


def in_turn(servers, number):
    """Who begins changes with each round."""
    return [(which, servers[which]) for which in ((0, 1) if number % 2 else (1, 0))]


def actions(servers, arguments):
    rows = {(kind, step): Row(f"{ACTIONS[kind]}: {step}") for kind in ACTIONS for step in STEPS}
    salt = int(time.time()) * 1000
    for number in range(-1, arguments.rounds):  # the first one is not counted
        for kind in ACTIONS:
            salt += 1
            for which, server in in_turn(servers, number):
                for step, line in STEPS.items():
                    seconds, = server.want(line.format(kind=kind, salt=salt))
                    if number >= 0:
                        rows[kind, step].add(which, seconds, server.cpu)
    return list(rows.values())


def hits(servers, arguments):
    for server in servers:
        server.want("upload", "megabyte", int(time.time()))
        server.want("execute", 1)
    rows = [Row(f"GetActionResult per second, {streams} at a time", 1.0) for streams in (1, 32)]
    cached, executes = Row("Execute of what is known, ms"), False
    for number in range(arguments.rounds):
        for row, streams in zip(rows, (1, 32)):
            for which, server in in_turn(servers, number):
                rate, = server.want("hits", streams, arguments.seconds)
                row.add(which, rate, server.cpu, round(rate * arguments.seconds))
        for which, server in in_turn(servers, number):
            known, *times = server.want("cached", 10)
            executes = executes or not known
            cached.add(which, statistics.median(times), server.cpu, len(times))
    if executes:
        cached.what += " (Buildbarn executes it again; its clients ask GetActionResult first)"
    return [*rows, cached]


def streams(servers, arguments):
    kinds = [(codec, data) for data in ("random", "text") for codec in ("plain", "zstd")]
    rows = {(step, *kind): Row(f"{step}, {kind[0]}, {'incompressible' if kind[1] == 'random' else 'compressible'}", arguments.mib / 1024 * 1.073741824)
            for kind in kinds for step in ("write", "read")}
    salt = int(time.time()) * 1000
    for number in range(arguments.rounds):
        for kind in kinds:
            salt += 1
            for which, server in in_turn(servers, number):
                os.sync()  # what one has left to write is not the other's to wait for
                for step, words in (("write", (*kind, salt)), ("read", kind[:1])):
                    answer, row = server.ask(step, *words), rows[(step, *kind)]
                    if isinstance(answer, str):
                        row.refused = f"{server.name}: {answer}"
                    else:
                        row.add(which, 1 / answer[0], server.cpu)
    return list(rows.values())


def build(farm, model, options):
    """Seconds. A client takes no artifact that clusters alone built, and says so once the farm has published it."""
    begin = time.perf_counter()
    done = farm.kiln("build", model, *options, "--target", TARGET, "--no-cache", timeout=1800)
    seconds = time.perf_counter() - begin
    if done.returncode != 5 or "policy minOwnSandbox: 0 of 1" not in done.stderr:
        networks.done(done)
    return seconds


def compiles(farms, arguments):
    """By a farm whose worker offers the cluster, beside one whose worker compiles in its own sandbox."""
    rows = []
    light = any(not name.startswith("digits") for name in arguments.net)
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as work:
        for name, model, options in networks.networks(pathlib.Path(work), arguments.net, (), light, arguments.suite):
            row = Row(name)
            for number in range(-1, arguments.rounds):
                for which, farm in in_turn(farms, number):
                    seconds = build(farm, model, options)
                    if number >= 0:
                        row.add(which, seconds)
            rows.append(row)
    return rows


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(title, heads, found):
    with_cpu = any(facts.get("cpu ms") for facts in found)
    lines = [f"| {title} | {heads[0]} | {heads[1]} | ratio | spread |" + (" CPU, ms |" if with_cpu else ""),
             "|---|---:|---:|---:|---:|" + ("---:|" if with_cpu else "")]
    for facts in found:
        if "refused" in facts:
            lines.append(f"| {facts['what']} | — | — | — | {facts['refused']} |" + (" |" if with_cpu else ""))
            continue
        cpu = " : ".join(map(number, facts["cpu ms"])) if facts["cpu ms"] else ""
        lines.append(f"| {facts['what']} | {number(facts['values'][0])} | {number(facts['values'][1])} | {facts['ratio']:.2f}× | "
                     f"{facts['spread'][0]:.2f} to {facts['spread'][1]:.2f} |" + (f" {cpu} |" if with_cpu else ""))
    return "\n".join(lines)


TABLES = {"actions": ("action, ms", ("Kiln", "Buildbarn")), "hits": ("hits", ("Kiln", "Buildbarn")),
          "streams": ("ByteStream, GB/s of the blob", ("Kiln", "Buildbarn")), "compiles": ("compile, ms", ("cluster", "own worker"))}


def measured(arguments):
    found = {}
    with contextlib.ExitStack() as stack:
        home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-reapi-", dir="/tmp"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        tool, barn = sides.make_tool(home / "tool"), sides.cluster(stack, home)
        farm, address = sides.own_farm(stack)
        servers = [sides.Server("Kiln", address, lambda: [pid for pid, _ in farm.processes()], tool, arguments.mib),
                   sides.Server("Buildbarn", barn.address, lambda: [one.pid for one in barn.processes.values()], tool, arguments.mib)]
        for server in servers:
            stack.callback(server.close)
        for name in arguments.only or TABLES:
            if name == "compiles":
                offering, worker = sides.cluster_farm(stack, barn)
                rows = compiles((offering, farm), arguments)
                assert worker.sent() >= len(rows) * arguments.rounds
            else:
                rows = {"actions": actions, "hits": hits, "streams": streams}[name](servers, arguments)
            found[name] = [row.facts() for row in rows]
            print(markdown(*TABLES[name], found[name]) + "\n", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TABLES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--net", action="append")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.net = arguments.net or ["digits_cnn", "resnet50"]
    subprocess.run([speed.ROOT / "infra/build", "release", "bench_reapi"], check=True, stdout=subprocess.DEVNULL)
    before = sides.used_by_others()
    try:
        found = measured(arguments)
    except Skip as skip:
        print(f"reapi: skipped: {skip}")
        sys.exit(77)
    where = f"{speed.machine(TARGET)}; others used {before} processors before this and {sides.used_by_others()} after it"
    text = where + "\n\n" + "\n\n".join(markdown(*TABLES[name], rows) for name, rows in found.items()) + "\n"
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": where, "tables": found, "text": text}, indent=1))
    print("\n" + text)


if __name__ == "__main__":
    main()
