#!/usr/bin/env python3
"""Puts together what a machine with a GPU needs to check and time Kiln's kernels, and nothing else.

usage: pack.py --out DIR [--bin DIR] [--target cuda:sm_90a] [--net NAME]... [--emulation]
  --net        a name of tests/models/blocks.py, or a light network (see tests/bench/speed.py); default: a set of some 40 MiB
  --emulation  also the kernels' CPU form and the emulated driver, to try the package on a machine without a GPU:
               KILN_EMULATED_KERNELS=DIR/emulation DIR/run-on-device --driver DIR/libkiln-emulated-cuda.so --runs 1

DIR then holds run-on-device, device_table and the libraries that it needs, the C library and its loader among them, artifacts
with fixtures, the models themselves for PyTorch, and the scripts that run these.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/bench"), str(ROOT / "tests/support")]
import speed  # noqa: E402

NETWORKS = ["copy", "chain", "softmax", "layer_norm", "matmul_512", "matmul_2048", "matmul_2048_f16", "conv", "conv_f16",
            "transformer_block", "transformer_block_f16", "squeezenet", "shufflenet"]
LOADER = "ld-linux-x86-64.so.2"
# Of the C library, all that a CUDA driver is linked with: parts of two versions do not work together.
C_LIBRARY = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", LOADER)


def libraries(program):
    """What a program is linked with, and the C library that goes with it."""
    found = {}
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) > 2 and words[1] == "=>":
            found[words[0]] = pathlib.Path(words[2])
    for name in C_LIBRARY:
        found[name] = found["libc.so.6"].parent / name
    return found.items()


def pack_model(arguments, model, out):
    """An artifact with its fixtures; the model itself for the peers."""
    compiler, artifact = arguments.bin / "kiln-cc", out / "artifacts" / model.stem
    spec = model.with_suffix(".json")
    subprocess.run([compiler, "spec", "--model", model, "--target", arguments.target, "--out", spec], check=True)
    emulation = ["--emulation", out / "emulation"] if arguments.emulation else []
    subprocess.run([compiler, "compile", "--model", model, "--spec", spec, "--out", artifact, *emulation], check=True,
                   stderr=subprocess.DEVNULL)
    subprocess.run([compiler, "reference", "--model", model, "--spec", spec, "--out", artifact / "fixtures"], check=True,
                   stderr=subprocess.DEVNULL)
    shutil.copy(model, out / "models")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--net", action="append")
    parser.add_argument("--suite", default=os.environ.get("KILN_ONNX_SUITE"))
    parser.add_argument("--emulation", action="store_true")
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    for folder in ("artifacts", "models", "lib", *(["emulation"] if arguments.emulation else [])):
        (out / folder).mkdir(parents=True)
    for source in (HERE / "run-on-device", HERE / "peers.py", HERE / "torch_graph.py", ROOT / "tests/models/onnx_wire.py",
                   arguments.bin / "device_table"):
        shutil.copy(source, out)
    programs = [arguments.bin / "device_table"]
    if arguments.emulation:
        programs.append(arguments.bin / "libkiln-emulated-cuda.so")
        shutil.copy(programs[-1], out)
    for program in programs:
        for name, library in libraries(program):
            shutil.copy(library, out / "lib" / name)
    with tempfile.TemporaryDirectory() as work:
        for name in arguments.net or NETWORKS:
            print(f"pack: {name}", flush=True)
            pack_model(arguments, speed.model_of(name, arguments.suite, pathlib.Path(work)), out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"pack: {out}, {size / 2**20:.0f} MiB; on the machine with the GPU: run-on-device")


if __name__ == "__main__":
    main()
