#!/usr/bin/env python3
"""Makes the models of this folder: exports of JAX with symbolic dimensions, and what JAX answers at several sizes.

usage: make.py    needs JAX 0.10.2, NumPy and flatbuffers (pip install jax flatbuffers); writes NAME.jax_export, NAME.npz
and models.json beside itself. Each model has random weights of a fixed seed as constants.
"""
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy
from jax import export, lax

HERE = pathlib.Path(__file__).resolve().parent
F32, I32 = "float32", "int32"
random = numpy.random.default_rng(21)


def weight(*shape):
    return jnp.asarray(random.standard_normal(shape, dtype=numpy.float32) * 0.3)


TABLE, QUERY, KEY, VALUE = weight(20, 8), weight(8, 8), weight(8, 8), weight(8, 8)
WAVES = weight(6, 4)
FIRST, SECOND = weight(3, 3, 3, 4), weight(3, 3, 4, 4)


def decoder(tokens, memory):
    """Positions, a causal mask, and attention to another sequence joined in front."""
    x = TABLE[tokens] + jnp.arange(tokens.shape[1], dtype=F32)[None, :, None] * 0.1
    keys = jnp.concatenate([memory, x], 1)
    score = jnp.einsum("bqd,bkd->bqk", x @ QUERY, keys @ KEY) / jnp.sqrt(8.0)
    last = jnp.arange(keys.shape[1])[None, :] - memory.shape[1]
    score = jnp.where(jnp.arange(x.shape[1])[:, None] >= last, score, -1e9)
    return jax.nn.softmax(score) @ (keys @ VALUE), score.mean(0)


def images(x):
    layout = ("NHWC", "HWIO", "NHWC")
    y = jax.nn.relu(lax.conv_general_dilated(x, FIRST, (1, 1), "SAME", dimension_numbers=layout))
    y = lax.conv_general_dilated(y, SECOND, (2, 2), "SAME", dimension_numbers=layout)
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y, y.mean((1, 2)), jax.image.resize(y, (y.shape[0], y.shape[1] * 2, y.shape[2] * 2, 4), "nearest")


def moves(x, y):
    padded = jnp.pad(x, ((0, 0), (1, 2)))
    return (x[:, 1:] * y[:, 1:], x[:, ::2], x[:, -3:], padded, jnp.flip(x, 1), x[: x.shape[0] // 2].reshape(-1),
            lax.dynamic_update_slice(x, y[:, :2], (0, 1)), x.at[jnp.arange(x.shape[0])].add(1.0)[0])


def halves(x):
    return x.reshape(-1, 8).sum(1), jnp.split(x, 2, 0)[1]


def running(x):
    carry, all_of_them = lax.scan(lambda c, row: (c * 0.5 + row, c - row), jnp.zeros(x.shape[1:]), x)
    values, places = lax.top_k(x, 2)
    return (carry, all_of_them, jnp.cumsum(x, 0), jnp.sort(x, 1), values, places, jnp.var(x, 0),
            jnp.argmax(x.reshape(x.shape[0], x.shape[1], 1) * jnp.ones(5), 2), jnp.argmax(x, 0), jnp.argmin(x, 1))


def waves(x):
    """Complex numbers within, as rotary embeddings and spectra have them; real at the edges."""
    z = jnp.exp(lax.complex(x * 0.1, x)) * lax.complex(x, x + 1.0)
    turned = (z @ lax.complex(WAVES, WAVES * 0.5)).reshape(2, -1)
    return jnp.abs(turned), (turned / (z.sum() + 2.0)).real, jnp.sqrt(turned).imag, jnp.cumsum(z, 0).real


def platforms(x):
    return lax.platform_dependent(x, cpu=lambda v: v * 2, cuda=lambda v: v * 3)


# name: function, arguments, constraints, profile, sizes of the dimensions that the arguments name, options of export.
MODELS = {
    "decoder": (decoder, [("b, s", I32), ("b, t, 8", F32)], (), ["b=1:2:8", "s=1:4:16", "t=1:3:9"],
                [{"b": 1, "s": 1, "t": 1}, {"b": 2, "s": 5, "t": 3}, {"b": 8, "s": 16, "t": 9}], {}),
    "images": (images, [("b, 4*h, 4*w, 3", F32)], (), ["b=1:1:4", "x.1=8:16:32:4", "x.2=8:16:32:4"],
               [{"b": 1, "h": 2, "w": 2}, {"b": 3, "h": 4, "w": 3}, {"b": 4, "h": 8, "w": 5}], {}),
    "moves": (moves, [("b, s", F32), ("b, s", F32)], ("b >= 2", "s >= 4"), ["b=2:3:8", "s=4:6:16"],
              [{"b": 2, "s": 4}, {"b": 3, "s": 7}, {"b": 8, "s": 16}], {}),
    "halves": (halves, [("2*b, 4", F32)], (), ["x.0=2:4:16:2"], [{"b": 1}, {"b": 3}, {"b": 8}], {}),
    "running": (running, [("s, b", F32)], ("b >= 2", "b <= 8", "mod(s, 4) == 0"), ["b=2:3:8", "s=4:8:16:4"],
                [{"b": 2, "s": 4}, {"b": 5, "s": 8}, {"b": 8, "s": 16}], {}),
    "waves": (waves, [("4, 6", F32)], (), [], [{}], {}),
    "platforms": (platforms, [("b, 4", F32)], (), ["b=1:2:8"], [{"b": 1}, {"b": 5}], {"platforms": ("cuda", "cpu")}),
}


def inputs_at(arguments, sizes):
    values = []
    for text, dtype in arguments:
        shape = [eval(dim, {}, dict(sizes)) for dim in text.split(",")]  # expressions that this file states
        values.append(random.integers(0, 20, shape).astype(dtype) if dtype == I32
                      else random.standard_normal(shape, dtype=numpy.float32))
    return values


def main():
    # Artifacts name the file that they were made by, and not where it lay.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/")
    listed = {}
    for name, (function, arguments, constraints, profile, sizes, options) in MODELS.items():
        scope = export.SymbolicScope(constraints)
        specs = [jax.ShapeDtypeStruct(export.symbolic_shape(text, scope=scope), dtype) for text, dtype in arguments]
        made = export.export(jax.jit(function), **options)(*specs)
        (HERE / f"{name}.jax_export").write_bytes(made.serialize())
        answers = {}
        for case, size in enumerate(sizes):
            inputs = inputs_at(arguments, size)
            answers |= {f"case{case}_input_{i}": value for i, value in enumerate(inputs)}
            results = jax.tree.leaves(function(*map(jnp.asarray, inputs)))
            answers |= {f"case{case}_expected_{i}": numpy.asarray(value) for i, value in enumerate(results)}
        numpy.savez_compressed(HERE / f"{name}.npz", **answers)
        listed[name] = {"profile": profile, "cases": len(sizes)}
    (HERE / "models.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
