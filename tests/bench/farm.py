#!/usr/bin/env python3
"""What the farm costs over the compiler alone, what a second builder costs, what a cache hit costs, how long kiln takes to
start, and a fetch of a large artifact beside cp and sha256sum of it. Ratios within one run.

usage: tests/bench/farm.py [--rounds 7] [--jobs 300] [--weights MIB]    (after infra/test or infra/up has built)
"""
import argparse
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "infra"))
from farm import MODELS, TARGET, Farm, artifact_of  # noqa: E402
from parts import asked, seconds, write_weights  # noqa: E402

BIN = ROOT / "build" / "release" / "bin"
TREE = ROOT / "build" / "release" / "toolchain-tree"
CNN = MODELS / "digits_cnn.onnx"


def by_hand(rounds):
    with tempfile.TemporaryDirectory() as tmp:
        spec = pathlib.Path(tmp) / "spec.json"
        subprocess.run([TREE / "bin" / "kiln-cc", "spec", "--model", CNN, "--target", TARGET, "--out", spec], check=True)
        return [seconds([TREE / "bin" / "kiln-cc", "compile", "--model", CNN, "--spec", spec, "--out", pathlib.Path(tmp) / f"o{i}"])
                for i in range(rounds)]


def processor(command, **options):
    """Processor time of a command, of the fastest of 20 runs: neighbours on the machine do not show."""
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds(command, **options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return min(once() for _ in range(20))


def written(farm):
    """How often the farm's PostgreSQL has waited for its disk, and what it has committed, so far."""
    time.sleep(1.5)  # sessions report what they did once a second
    row = asked(farm, "SELECT wal_sync, xact_commit FROM pg_stat_wal, pg_stat_database WHERE datname = current_database()")
    return [int(number) for number in row.split("|")]


def fetch(farm, mib, rounds):
    folder = farm.home / "large"
    folder.mkdir()
    write_weights(folder / "model.onnx", mib)
    built = farm.build(folder / "model.onnx", "--reassociation", "off")
    artifact = artifact_of(built)
    assert artifact, built.stderr
    fetched, plain, times = folder / "fetched", folder / "plain", {"fetch": [], "plain": []}
    for _ in range(rounds):
        shutil.rmtree(fetched, ignore_errors=True)
        times["fetch"].append(seconds(["kiln", "fetch", artifact, "--out", fetched], env=farm.env))
        weights = max((file for file in fetched.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
        plain.unlink(missing_ok=True)
        times["plain"].append(seconds(["cp", weights, plain]) + seconds(["sha256sum", plain]))
    f, p = min(times["fetch"]), min(times["plain"])
    print(f"kiln fetch of {mib} MiB         {f:8.2f} s    {f / p:.2f} x cp and sha256sum of it (aim: at most 1.2)")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--jobs", type=int, default=300)
    options.add_argument("--weights", type=int, default=0, help="also fetch an artifact of so many MiB; takes numpy and onnx")
    args = options.parse_args()
    subprocess.run([ROOT / "infra" / "build", "release", "bench_cache_hit"], check=True, capture_output=True)
    farm = Farm()
    try:
        assert farm.first.returncode == 0, farm.first.stderr
        # Interleaved, so that a slow minute of the machine falls on both.
        hand, built, twice = [], [], []
        build = ["kiln", "build", CNN, "--target", TARGET, "--no-cache"]
        for _ in range(args.rounds):
            hand += by_hand(1)
            built.append(seconds(build, env=farm.env))
            twice.append(seconds([*build, "--builders", "2"], env=farm.env))
        h, b, t = statistics.median(hand), statistics.median(built), statistics.median(twice)
        print(f"kiln-cc compile by hand      {h * 1e3:8.1f} ms   (median of {args.rounds})")
        print(f"kiln build --no-cache        {b * 1e3:8.1f} ms   farm overhead {(b - h) * 1e3:.1f} ms (aim: at most 100)")
        print(f"  with --builders 2          {t * 1e3:8.1f} ms   {t / b:.2f} x one builder, on two workers of this machine")
        before, began = written(farm), time.monotonic()
        for _ in range(10):
            seconds(build, env=farm.env)
        busy = [b - a for a, b in zip(before, written(farm))]
        took = time.monotonic() - began
        before = written(farm)
        time.sleep(5)
        idle = [(b - a) / 6.5 for a, b in zip(before, written(farm))]  # per second, these looks included
        syncs, commits = ((b - i * took) / 10 for b, i in zip(busy, idle))
        print(f"PostgreSQL, for each of them {syncs:8.1f} waits for its disk and {commits:.0f} transactions; idle {idle[0]:.1f} waits "
              f"and {idle[1]:.0f} transactions per second")
        hits = subprocess.run([BIN / "bench_cache_hit", farm.env["KILN_ENDPOINT"], CNN, str(args.jobs)], check=True,
                              capture_output=True, text=True, env=farm.env).stdout.strip()
        print(f"cache-hit job round trip     {hits}   (aim: p50 at most 1.5 ms)")
        many = subprocess.run([BIN / "bench_cache_hit", farm.env["KILN_ENDPOINT"], CNN, str(args.jobs), "32"], check=True,
                              capture_output=True, text=True, env=farm.env).stdout.strip()
        print(f"  from 32 clients at once    {many}   (aim: at least 3,000 per second)")
        start = processor(["kiln", "--version"], env=farm.env)
        print(f"cold start of kiln           {start * 1e3:8.1f} ms of processor time, the least of 20 (aim: at most 10)")
        if args.weights:
            fetch(farm, args.weights, args.rounds)
    finally:
        farm.close()


if __name__ == "__main__":
    main()
