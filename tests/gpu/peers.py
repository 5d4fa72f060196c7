#!/usr/bin/env python3
"""usage: peers.py MODELS.onnx... --json FILE      the same models through PyTorch (cuBLAS, cuDNN), timed with events.

Prints nothing where PyTorch or its device is missing, but says so in the file: {"why": ...}. Times are the median of 50 runs in
milliseconds, the better of eager and a replayed CUDA graph; f32 means f32 (no TF32). "matmul flops" are what the fastest of some
square products of each type does in a second: the ceiling that a table compares with.
"""
import argparse
import json
import pathlib
import statistics

RUNS = 50


def times(run):
    import torch

    for _ in range(5):
        run()
    torch.cuda.synchronize()
    found = []
    for _ in range(RUNS):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        run()
        last.record()
        last.synchronize()
        found.append(first.elapsed_time(last))
    return statistics.median(found)


def graphed(run):
    """The same as a replayed graph."""
    import torch

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def measure(path):
    import torch
    import torch_graph

    with torch.inference_mode():
        run = torch_graph.load(path)
        result = {"eager ms": times(run)}
        try:
            result["graph ms"] = times(graphed(run))
        except RuntimeError as error:
            result["no graph"] = str(error).splitlines()[0][:200]
    return result


def ceilings():
    import torch

    found = {}
    for name, dtype, tf32 in (("f32", torch.float32, False), ("tf32", torch.float32, True), ("f16", torch.float16, False),
                              ("bf16", torch.bfloat16, False)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for n in (2048, 4096, 8192):
            a, b = (torch.rand(n, n, device="cuda", dtype=dtype) - 0.5 for _ in range(2))
            out = torch.empty(n, n, device="cuda", dtype=dtype)
            found[name] = max(found.get(name, 0), 2 * n ** 3 / (times(lambda: torch.matmul(a, b, out=out)) * 1e-3))
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch finds no CUDA device")
    except ImportError as missing:
        arguments.json.write_text(json.dumps({"why": str(missing)}))
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    found = {"pytorch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "models": {}}
    found["matmul flops"] = ceilings()
    for path in arguments.models:
        try:
            found["models"][path.stem] = measure(path)
        except Exception as error:  # one model's row says why it is empty
            found["models"][path.stem] = {"why": f"{type(error).__name__}: {error}"[:200]}
    arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
