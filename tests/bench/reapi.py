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

sys.path[:0] = [str(speed.ROOT / "tests" / part) for part in ("interop", "infra")]
from fetched import Skip  # noqa: E402

BIN = speed.ROOT / "build/release/bin"
TARGET = "cpu:x86-64-v3"
# With three words it copies a file and adds the first word, so that no two actions have the same output. Else it does nothing.
TOOL = """#include <stdio.h>
int main(int count, char** words) {
  static char bytes[1 << 20];
  if (count < 4) return 0;
  FILE *from = fopen(words[2], "rb"), *to = from ? fopen(words[3], "wb") : 0;
  if (!to) return 3;
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, from)) > 0;) fwrite(bytes, 1, got, to);
  fputs(words[1], to);
  return fclose(to) ? 4 : 0;
}
"""
ACTIONS = {"noop": "no-op", "megabyte": "1 MB in and out", "thousand": "1,000 inputs of 1 KiB"}
STEPS = ("upload of what is new", "executed, new inputs", "executed, known inputs")


def cpu_seconds(roots):
    """What the processes and all below them have used, ended ones included."""
    used, children = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else None
        except OSError:
            continue
        if fields:
            used[int(entry.name)] = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    below, found = list(roots), set()
    while below:
        one = below.pop()
        if one in used and one not in found:
            found.add(one)
            below += children.get(one, [])
    return sum(used[one] for one in found) / os.sysconf("SC_CLK_TCK")


class Server:
    """One of the two with its client: a process that does what a line says. `cpu`: what the server used during asked lines."""

    def __init__(self, name, address, roots, tool, mib):
        self.name, self.roots, self.cpu = name, roots, 0.0
        self.client = subprocess.Popen([BIN / "bench_reapi", address, tool, str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.client.stdout.readline().strip() != "ready":
            raise SystemExit(f"reapi: {name} does not take the tool")

    def ask(self, *words):
        """Numbers, or a text that says why not."""
        before = cpu_seconds(self.roots())
        self.client.stdin.write(" ".join(map(str, words)) + "\n")
        self.client.stdin.flush()
        answer = self.client.stdout.readline().strip()
        self.cpu = cpu_seconds(self.roots()) - before
        if not answer:
            raise SystemExit(f"reapi: the client of {self.name} ended at {words}")
        return answer if answer.startswith("refused") else [float(word) for word in answer.split()]

    def close(self):
        self.client.kill()
        self.client.wait()


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
                answer = server.ask("action", kind, salt)
                if isinstance(answer, str):
                    raise SystemExit(f"reapi: {server.name}: {kind}: {answer}")
                for step, seconds in zip(STEPS, answer):
                    if number >= 0:
                        rows[kind, step].add(which, seconds, server.cpu if step == STEPS[-1] else 0.0, 2)
    return list(rows.values())


def hits(servers, arguments):
    for server in servers:
        server.ask("action", "megabyte", int(time.time()))
    rows = [Row(f"GetActionResult per second, {streams} at a time", 1.0) for streams in (1, 32)]
    cached, executes = Row("Execute of what is known, ms"), False
    for number in range(arguments.rounds):
        for row, streams in zip(rows, (1, 32)):
            for which, server in in_turn(servers, number):
                rate, = server.ask("hits", streams, arguments.seconds)
                row.add(which, rate, server.cpu, round(rate * arguments.seconds))
        for which, server in in_turn(servers, number):
            known, *times = server.ask("cached", 10)
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


def compiles(stack, barn, own, arguments):
    """By a farm whose worker offers the cluster, beside one whose worker compiles in its own sandbox."""
    import networks
    import reapi_cluster_test
    from farm import Farm

    executor = f"reapi={barn.address},platform=OSFamily=linux"
    farm = Farm(workers=1, start=False)
    stack.callback(farm.close)
    farm.dir.mkdir(mode=0o700)
    (farm.dir / "clusters").write_text(reapi_cluster_test.Clusters.sandbox(executor) + "\n")
    policy = json.loads((speed.ROOT / "signing/policy/development.json").read_text()) | {"minOwnSandbox": 0}
    (farm.dir / "policy.json").write_text(json.dumps(policy))
    began = farm.up("--no-sample")
    if began.returncode:
        raise SystemExit(f"reapi: {began.stderr}")
    farm.env = farm.environment()
    worker = reapi_cluster_test.ClusterWorker(farm, "cluster", executor)
    stack.callback(worker.kill)
    farm.kill("worker-1", reapi_cluster_test.signal.SIGSTOP)  # what it is given before that is noticed goes to the cluster later
    stack.callback(farm.kill, "worker-1", reapi_cluster_test.signal.SIGCONT)
    work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kiln-bench-")))
    rows = []
    light = any(not name.startswith("digits") for name in arguments.net)
    for name, model, options in networks.networks(work, arguments.net, (), light, arguments.suite):
        row = Row(name)
        for number in range(-1, arguments.rounds):
            for which, one in in_turn((farm, own), number):
                begin = time.perf_counter()
                networks.done(one.kiln("build", model, *options, "--target", TARGET, "--no-cache", timeout=1800))
                if number >= 0:
                    row.add(which, time.perf_counter() - begin)
        rows.append(row)
        print(f"reapi: {name} done", file=sys.stderr, flush=True)
    assert worker.sent() >= len(rows) * arguments.rounds
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


def used_by_others():
    """How many processors something uses now, before or after all of this."""
    def ticks():
        fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]))
        return sum(fields) - fields[3] - fields[4], sum(fields)
    before = ticks()
    time.sleep(5)
    busy, every = (after - one for after, one in zip(ticks(), before))
    return f"{busy / every * os.cpu_count():.1f}"


def buildbarn(stack, home):
    import buildbarn

    barn = buildbarn.Buildbarn(home / "buildbarn", buildbarn.programs())
    stack.callback(barn.kill)
    return barn


def own_farm(stack):
    from buildbarn import free_ports
    from farm import Farm

    port = free_ports(1)[0]
    farm = Farm(workers=1, options=("--no-sample", "--reapi", str(port)))
    stack.callback(farm.close)
    if farm.first.returncode:
        raise SystemExit(f"reapi: {farm.first.stderr}")
    return farm, f"127.0.0.1:{port}"


TABLES = {"actions": ("action, ms", ("Kiln", "Buildbarn")), "hits": ("hits", ("Kiln", "Buildbarn")),
          "streams": ("ByteStream, GB/s of the blob", ("Kiln", "Buildbarn")), "compiles": ("compile, ms", ("cluster", "own worker"))}


def measured(arguments):
    found = {}
    with contextlib.ExitStack() as stack:
        home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-reapi-", dir="/tmp"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        (home / "tool.c").write_text(TOOL)
        subprocess.run(["cc", "-static", "-O1", home / "tool.c", "-o", home / "tool"], check=True)
        barn = buildbarn(stack, home)
        farm, address = own_farm(stack)
        servers = [Server("Kiln", address, lambda: [pid for pid, _ in farm.processes()], home / "tool", arguments.mib),
                   Server("Buildbarn", barn.address, lambda: [one.pid for one in barn.processes.values()], home / "tool", arguments.mib)]
        for server in servers:
            stack.callback(server.close)
        for name in arguments.only or TABLES:
            rows = compiles(stack, barn, farm, arguments) if name == "compiles" else globals()[name](servers, arguments)
            found[name] = [row.facts() for row in rows]
            print(markdown(*TABLES[name], found[name]) + "\n", flush=True)
    return found


def main():
    speed.with_tools()
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
    before = used_by_others()
    try:
        found = measured(arguments)
    except Skip as skip:
        print(f"reapi: skipped: {skip}")
        sys.exit(77)
    where = f"{speed.machine(TARGET)}; others used {before} processors before this and {used_by_others()} after it"
    text = where + "\n\n" + "\n\n".join(markdown(*TABLES[name], rows) for name, rows in found.items()) + "\n"
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": where, "tables": found, "text": text}, indent=1))
    print("\n" + text)


if __name__ == "__main__":
    main()
