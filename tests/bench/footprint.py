#!/usr/bin/env python3
"""What programs for a microcontroller take of its memory, from the sections of program.o.

usage: footprint.py [BIN]      BIN: a build folder's bin (default: build/release/bin)
"""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/models")]
import bare_metal  # noqa: E402
import blocks  # noqa: E402

TARGET = "cpu:cortex-m55"


def networks(folder):
    """(name, model, profiles, options of the spec)."""
    keyword = folder / "keyword_int8.onnx"
    keyword.write_bytes(blocks.MODELS["keyword_int8"]())
    models = ROOT / "tests/models"
    return [("digits_mlp, f32, N=1", models / "digits_mlp.onnx", ["N=1"], ()), ("digits_cnn, f32", models / "digits_cnn.onnx", (), ()),
            ("keyword spotting, int8", keyword, (), ("--precision", "int8"))]


def main():
    compiler = bare_metal.Firmwares(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin")
    with tempfile.TemporaryDirectory(prefix="kiln-footprint-") as folder:
        print("| network | code | its constants | weights | arena and scratch |\n|---|---:|---:|---:|---:|")
        for number, (name, model, profiles, options) in enumerate(networks(pathlib.Path(folder))):
            out = pathlib.Path(folder) / str(number)
            compiler.compile(model, TARGET, out, profiles=profiles, options=options)
            sizes = compiler.footprint(out)
            print(f"| {name} | {sizes['code']:,} | {sizes['constants']:,} | {sizes['weights']:,} | {sizes['arena']:,} |")


if __name__ == "__main__":
    main()
