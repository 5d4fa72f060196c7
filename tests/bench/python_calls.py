#!/usr/bin/env python3
"""What one `run` call costs from Python, beside ONNX Runtime's InferenceSession.run on the same tiny model.

usage: python_calls.py ONE.onnx ARTIFACT [ROUNDS]

ONE.onnx is the model that ARTIFACT, a fetched directory, was built from; $KILN_TRUST_ROOT and $KILN_POLICY name the trust. Both run
on one thread, in turn, in rounds of a thousand calls; a figure is the fastest round's microseconds of processor time per call. With
the Python of the peers (tests/bench/requirements-peers.txt) and build/release/python on PYTHONPATH.
"""
import sys
import time

import numpy
import onnxruntime

import kiln
import kiln.onnxruntime

CALLS = 1000


def fastest(rounds, calls):
    """Microseconds of processor time per call, by name, of the fastest round of each."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time_ns()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (time.process_time_ns() - start) / CALLS / 1e3)
    return best


def main(model, artifact, rounds=200):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ours = kiln.load(artifact, threads=1)
    one = kiln.onnxruntime.SessionOptions()
    one.intra_op_num_threads = 1
    same = kiln.onnxruntime.InferenceSession(artifact, one)
    array = numpy.zeros([size if isinstance(size, int) else 1 for size in ours.inputs[0].shape], numpy.float32)
    given, name = {ours.inputs[0].name: array}, ours.outputs[0].name
    aligned = kiln.empty(array.shape)
    kept = {name: kiln.empty(numpy.asarray(ours.run(given)[name]).shape)}
    found = fastest(int(rounds), {
        "ONNX Runtime, InferenceSession.run": lambda: peer.run(None, given),
        "kiln.onnxruntime, InferenceSession.run": lambda: same.run(None, given),
        "kiln, Model.run": lambda: ours.run(given),
        "kiln, Model.run with kiln.empty and out=": lambda: ours.run({ours.inputs[0].name: aligned}, kept),
    })
    print(f"onnxruntime {onnxruntime.__version__}, numpy {numpy.__version__}, Python {sys.version.split()[0]}, {rounds} rounds")
    print("\n| call | µs | beside ONNX Runtime |\n|---|---:|---:|")
    for call, cost in found.items():
        print(f"| {call} | {cost:.2f} | {cost / found['ONNX Runtime, InferenceSession.run']:.2f} × |")

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        print(__doc__)
        sys.exit(2)
    main(*sys.argv[1:])
