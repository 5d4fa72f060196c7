#!/usr/bin/env python3
"""The tables of RESULTS.md, made by one command: kernels and networks beside their limits and peers (speed.py), JAX's and PyTorch's
exports beside jax.jit and torch.compile (captured.py), tuned schedules beside the default ones (tuned.py), the Remote Execution API beside
Buildbarn's (reapi.py). What stands between `<!-- NAME -->` and `<!-- /NAME -->` there is replaced.

usage: tests/bench/tables.py [--keep DIR] [--only NAME]... [--engine NAME]... [--rounds N] [--budget 60s] [--suite DIR]
  --keep     a folder for the figures of each network, so that a run that was ended goes on where it was; without it, a fresh one
  --only     kernels, networks, captured, tuned, tuned_2 (two threads), tuned_on, tuned_on_2 (with reassociation on), reapi; all by default
  --engine   peers of the networks, as speed.py has them; beside tuned schedules ONNX Runtime alone
  --budget   of the searches, for each network
Takes some hours; on a busy machine ratios hold better than figures.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import captured
import speed
import tuned

RESULTS = speed.HERE / "RESULTS.md"
# The light networks and a transformer block.
TUNED = ["bvlcalexnet", "densenet121", "inceptionv1", "inceptionv2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512", "transformer_block"]


def figures(keep, name, script, *words):
    """What `script` says about one network or all kernels, from the folder if it is there."""
    path = keep / f"{name}.json"
    if not path.exists():
        partial = path.with_suffix(".partial")
        subprocess.run([sys.executable, speed.HERE / script, *map(str, words), "--json", partial], check=True)
        partial.rename(path)
    return json.loads(path.read_text())


def of_speed(arguments, name, *words):
    suite = ["--suite", arguments.suite] if arguments.suite else []
    return figures(arguments.keep, name, "speed.py", *words, "--rounds", arguments.rounds, *suite)


def kernels(arguments):
    found = of_speed(arguments, "kernels", "--net", "none", "--engine", "onnxruntime")
    return found["machine"] + "\n\n" + speed.kernel_table(found["kernels"])


def networks(arguments):
    engines = [word for name in arguments.engine for word in ("--engine", name)]
    found = [of_speed(arguments, f"network.{name}", "--kernel", "none", "--net", name, *engines) for name in speed.NETWORKS]
    return found[0]["machine"] + "\n\n" + speed.markdown([row for one in found for row in one["networks"]], arguments.engine)


def exports(arguments):
    return captured.tables(figures(arguments.keep, "captured", "captured.py", "--rounds", arguments.rounds))


def tuned_with(threads, reassociation="off"):
    def table(arguments):
        suite = ["--suite", arguments.suite] if arguments.suite else []
        peers = ["--engine", "onnxruntime"] if "onnxruntime" in arguments.engine else []
        kept = f"tuned_{threads}" if reassociation == "off" else f"tuned_{reassociation}_{threads}"
        found = [figures(arguments.keep, f"{kept}.{name}", "tuned.py", "--net", name, "--threads", threads, "--budget", arguments.budget, "--rounds", arguments.rounds,
                         "--reassociation", reassociation, *peers, *suite) for name in TUNED]
        return found[0]["machine"] + "\n\n" + tuned.table([row for one in found for row in one["networks"]])
    return table


def reapi(arguments):
    suite = ["--suite", arguments.suite] if arguments.suite else []
    return figures(arguments.keep, "reapi", "reapi.py", "--rounds", arguments.rounds, *suite)["text"]


TABLES = {"kernels": kernels, "networks": networks, "captured": exports, "tuned": tuned_with(1), "tuned_2": tuned_with(2),
          "tuned_on": tuned_with(1, "on"), "tuned_on_2": tuned_with(2, "on"), "reapi": reapi}


def replaced(text, name, table):
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(f"tables: {RESULTS.name} has no place for {name}: write {begin.strip()} and {end} around it")
    return text[:text.index(begin) + len(begin)] + "\n" + table.strip() + "\n\n" + text[text.index(end):]


def main():
    speed.with_tools()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=TABLES)
    parser.add_argument("--engine", action="append", choices=speed.PEERS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or speed.PEERS
    with tempfile.TemporaryDirectory() as fresh:
        arguments.keep = arguments.keep or pathlib.Path(fresh)
        arguments.keep.mkdir(parents=True, exist_ok=True)
        for name in arguments.only or TABLES:
            table = TABLES[name](arguments)
            RESULTS.write_text(replaced(RESULTS.read_text(), name, table))
            print("\n" + table, flush=True)


if __name__ == "__main__":
    main()
