#!/usr/bin/env python3
"""Layers of decoders at batch 1, a step and a prompt, beside ONNX Runtime and beside a plain read of the weights, in turn.

usage: tests/bench/decoder.py [--shape 0.5B,1B] [--weights f32,bf16,int8,int4] [--layers N] [--tokens 1,128] [--room N]
                              [--threads 1,2] [--rounds N] [--peers onnxruntime] [--target T] [--bin DIR] [--markdown FILE] [--json FILE]
  --layers  how many of the shape's layers; times are those of the whole graph
  --tokens  1 is a step on caches of --room tokens, more are a prompt
  --bin     where kiln-cc, bench_session and bench_peaks are; without it, build/release/bin, built first

The weights are those of decoder_model.py. GB/s are the bytes of the matrices, as the artifact has them, by the fastest run; a read is of as
many bytes by as many threads. ONNX Runtime may round activations to 8 bits or not: accuracy_level is left at its default, not.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import speed

HEAD = ["shape", "weights", "tokens", "threads", "Kiln, ms", "GB/s", "of a read"]


def weight_bytes(artifact):
    return sum(path.stat().st_size for path in pathlib.Path(artifact, "weights").iterdir() if path.is_file())


def measured(shape, weights, tokens, arguments, directory):
    """A row for each number of threads."""
    import decoder_model

    decoder = decoder_model.Decoder(decoder_model.SHAPES[shape], weights, arguments.layers, tokens, max(arguments.room, tokens))
    model = directory / "decoder.onnx"
    model.write_bytes(decoder.bytes())
    artifact, took = speed.compiled(model, arguments.target, directory, bin=arguments.bin)
    size = weight_bytes(artifact)
    rows = []
    for threads in map(int, arguments.threads.split(",")):
        engines = [speed.Engine("kiln", [arguments.bin / "bench_session", artifact, threads], threads),
                   speed.Engine("read", [arguments.bin / "bench_peaks", "read", threads, size // 4096 * 4096], threads)]
        engines += [speed.Engine(peer, [speed.peers_python(), speed.HERE / "peers.py", peer, model, threads], threads)
                    for peer in arguments.peers.split(",") if peer]
        for engine in engines[:2]:
            if engine.refused:
                raise SystemExit(f"decoder: {engine.name}: {engine.refused}")
        speed.measure(engines, arguments.rounds)
        facts = {"shape": shape, "weights": weights, "tokens": tokens, "threads": threads, "bytes": size, "elements": decoder.elements,
                 "compile": took, "resident": {engine.name: engine.resident for engine in engines if not engine.refused},
                 "fastest ms": {engine.name: 1e3 * min(engine.times) for engine in engines if engine.times},
                 "median ms": {engine.name: 1e3 * statistics.median(engine.times) for engine in engines if engine.times},
                 "refused": {engine.name: engine.refused for engine in engines if engine.refused}}
        for engine in engines:
            engine.close()
        rows.append(facts)
        print(line(facts, arguments.peers), flush=True)
    return rows


def line(facts, peers):
    fastest = facts["fastest ms"]
    cells = [facts["shape"], facts["weights"], facts["tokens"], facts["threads"], f"{fastest['kiln']:.2f}",
             f"{facts['bytes'] / fastest['kiln'] / 1e6:.1f}", f"{100 * fastest['read'] / fastest['kiln']:.0f} %"]
    for peer in filter(None, peers.split(",")):
        cells.append(f"{fastest[peer]:.2f} ({fastest[peer] / fastest['kiln']:.2f}×)" if peer in fastest else "—")
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="0.5B,1B")
    parser.add_argument("--weights", default="f32,bf16,int8,int4")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", default="1,128")
    parser.add_argument("--room", type=int, default=256)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--peers", default="onnxruntime")
    parser.add_argument("--target", default="cpu:x86-64-v4")
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    speed.with_tools()
    if not arguments.bin:
        arguments.bin = speed.BIN
        subprocess.run([speed.ROOT / "infra/build", "release", "kiln-cc", "kiln_toolchain_lib", "bench_session", "bench_peaks"], check=True, stdout=subprocess.DEVNULL)
    peers = [peer for peer in arguments.peers.split(",") if peer]
    head = ["| " + " | ".join(HEAD + peers) + " |", "|---|---|" + "---:|" * (len(HEAD) - 2 + len(peers))]
    print("\n".join(head), flush=True)
    rows = []
    for shape in arguments.shape.split(","):
        for weights in arguments.weights.split(","):
            for tokens in map(int, arguments.tokens.split(",")):
                with tempfile.TemporaryDirectory() as directory:
                    rows += measured(shape, weights, tokens, arguments, pathlib.Path(directory))
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(head + [line(facts, arguments.peers) for facts in rows]) + "\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
