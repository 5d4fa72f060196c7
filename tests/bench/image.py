#!/usr/bin/env python3
"""What the statement about an artifact's container image costs a job, and what its layer costs whoever pulls it.

A job makes that statement where the artifact has no image yet. So the same model is built again and again: in turn with the image
of the artifact forgotten in the index, so that it is hashed, signed and logged, and with it there. Beside the difference stand
sha256sum over the layer's bytes, and beside a pull of the layer from the farm sha256sum and a copy in memory of as many bytes. All in
one run: only the ratios count.

usage: tests/bench/image.py [--rounds 7] [--weights MIB]    (after infra/test or infra/up has built)
"""
import argparse
import json
import pathlib
import statistics
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "infra"))
from farm import MODELS, TARGET, Farm, artifact_of  # noqa: E402
from parts import asked, seconds, write_weights  # noqa: E402


def forget(farm, artifact):
    """Takes the images of an artifact out of the farm's index; how many there were."""
    done = asked(farm, f"DELETE FROM artifact_images WHERE artifact_hash = '\\x{artifact.removeprefix('sha256:')}'")
    return int(done.split()[-1])


def layers_of(farm, artifact):
    with urllib.request.urlopen(f"{farm.env['KILN_HTTP']}/v2/default/artifacts/manifests/image-{artifact.removeprefix('sha256:')}") as answer:
        return json.load(answer)["layers"]


def copied(data):
    """Seconds for a copy in memory, the least of five."""
    def once():
        start = time.perf_counter()
        bytearray(data)
        return time.perf_counter() - start
    return min(once() for _ in range(5))


def measure(farm, name, model, rounds, *options):
    build = ["kiln", "build", model, "--target", TARGET, "--no-cache", *options]
    artifact = artifact_of(farm.kiln(*build[1:]))
    times = {"with": [], "without": [], "sum": [], "pull": []}
    layer = max(layers_of(farm, artifact), key=lambda one: one["size"])
    url = f"{farm.env['KILN_HTTP']}/v2/default/artifacts/blobs/{layer['digest']}"
    pulled = farm.home / f"{name}.layer"
    for _ in range(rounds):
        forgotten = forget(farm, artifact)
        assert forgotten > 0, "the artifact had no image: nothing would be measured"
        times["with"].append(seconds(build, env=farm.env))
        layer = max(layers_of(farm, artifact), key=lambda one: one["size"])  # the job made it again
        times["without"].append(seconds(build, env=farm.env))
        times["pull"].append(seconds(["curl", "--silent", "--fail", "--output", pulled, url]))
        times["sum"].append(seconds(["sha256sum", pulled]))
    data = pulled.read_bytes()
    assert len(data) == layer["size"]
    of = {key: statistics.median(values) for key, values in times.items()}
    extra, mib = of["with"] - of["without"], len(data) / (1 << 20)
    print(f"{name}, a layer of {mib:.1f} MiB, medians of {rounds} in turn")
    print(f"  a job with the statement     {of['with'] * 1e3:8.1f} ms")
    print(f"  the same without             {of['without'] * 1e3:8.1f} ms   the statement adds {extra * 1e3:.1f} ms: {of['with'] / of['without']:.2f} x, "
          f"{extra / of['sum']:.2f} x sha256sum of the layer")
    print(f"  a pull of the layer by curl  {of['pull'] * 1e3:8.1f} ms   {of['pull'] / of['sum']:.2f} x sha256sum, "
          f"{of['pull'] / copied(data):.1f} x a copy in memory")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--weights", type=int, default=0, help="also an artifact of so many MiB; takes numpy and onnx")
    args = options.parse_args()
    farm = Farm(workers=1, options=("--no-sample",))
    try:
        measure(farm, "digits_cnn", MODELS / "digits_cnn.onnx", args.rounds)
        if args.weights:
            folder = farm.home / "large"
            folder.mkdir()
            write_weights(folder / "model.onnx", args.weights)
            measure(farm, f"{args.weights} MiB of weights", folder / "model.onnx", args.rounds, "--reassociation", "off")
    finally:
        farm.close()


if __name__ == "__main__":
    main()
