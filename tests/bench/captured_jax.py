#!/usr/bin/env python3
"""Networks in plain jax.numpy with random weights, as jax.export writes them, for captured.py.

usage: captured_jax.py NAME FOLDER    writes NAME.jax_export, NAME.npz with the weights, which are its first arguments in the order
                                      of the tree, and NAME.mlir, the same program as text
"""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy


class Weights:
    """Seeded random weights, of a size that keeps the values of deep networks in range."""

    def __init__(self):
        self.generator = numpy.random.default_rng(1)

    def kernel(self, *shape):
        inputs = numpy.prod(shape[:-1])
        return (self.generator.standard_normal(shape) / numpy.sqrt(inputs)).astype(numpy.float32)

    def norm(self, width):
        return {"scale": numpy.ones(width, numpy.float32), "bias": self.kernel(1, width)[0]}

    def dense(self, inputs, outputs):
        return {"kernel": self.kernel(inputs, outputs), "bias": self.kernel(1, outputs)[0]}


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


def layer_norm(p, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def convolution(p, x, stride=1):
    y = jax.lax.conv_general_dilated(x, p["kernel"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y * p["scale"] + p["bias"]


def convolutional():
    """Residual blocks of two 3 x 3 convolutions with the scale and bias of a folded normalisation, channels last, as JAX has them."""
    weights, widths = Weights(), (64, 64, 128, 256, 512)

    def layer(size, inputs, outputs):
        return {"kernel": weights.kernel(size, size, inputs, outputs), **weights.norm(outputs)}

    params = {"stem": layer(7, 3, 64), "head": weights.dense(512, 1000),
              "blocks": [{"first": layer(3, inputs, outputs), "second": layer(3, outputs, outputs), "skip": layer(1, inputs, outputs)}
                         for inputs, outputs in zip(widths, widths[1:])]}

    def run(params, image):
        x = jax.nn.relu(convolution(params["stem"], image, 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for i, p in enumerate(params["blocks"]):
            stride = 1 if i == 0 else 2
            y = convolution(p["second"], jax.nn.relu(convolution(p["first"], x, stride)))
            x = jax.nn.relu(y + convolution(p["skip"], x, stride))
        return dense(params["head"], x.mean((1, 2)))

    return run, params, (jax.ShapeDtypeStruct((1, 224, 224, 3), jnp.float32),)


def heads_of(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1)


def block_weights(weights, width):
    return {"first": weights.norm(width), "second": weights.norm(width), "qkv": weights.dense(width, 3 * width),
            "out": weights.dense(width, width), "up": weights.dense(width, 4 * width), "down": weights.dense(4 * width, width)}


def feed_forward(p, x):
    return x + dense(p["down"], jax.nn.gelu(dense(p["up"], layer_norm(p["second"], x))))


def encoder(width=384, heads=6, layers=4, length=128):
    """A transformer's encoder, normalised before each part."""
    weights = Weights()
    params = {"layers": [block_weights(weights, width) for _ in range(layers)], "last": weights.norm(width)}

    def run(params, x):
        for p in params["layers"]:
            query, key, value = (heads_of(part, heads) for part in jnp.split(dense(p["qkv"], layer_norm(p["first"], x)), 3, -1))
            scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * (width // heads) ** -0.5
            attended = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), value)
            x = feed_forward(p, x + dense(p["out"], attended.reshape(x.shape)))
        return layer_norm(params["last"], x)

    return run, params, (jax.ShapeDtypeStruct((1, length, width), jnp.float32),)


def decoder(width=384, heads=6, layers=4, length=256, vocabulary=4096):
    """One step of a decoder: a token at a position, the keys and values of those before it given and returned."""
    weights = Weights()
    params = {"layers": [block_weights(weights, width) for _ in range(layers)], "last": weights.norm(width),
              "tokens": weights.kernel(vocabulary, width), "positions": weights.kernel(length, width)}

    def run(params, token, position, keys, values):
        x = params["tokens"][token] + params["positions"][position]
        seen = jnp.arange(length) <= position
        for i, p in enumerate(params["layers"]):
            query, key, value = (heads_of(part, heads) for part in jnp.split(dense(p["qkv"], layer_norm(p["first"], x)), 3, -1))
            keys = jax.lax.dynamic_update_slice(keys, key[None, None], (i, position, 0, 0))
            values = jax.lax.dynamic_update_slice(values, value[None, None], (i, position, 0, 0))
            scores = jnp.einsum("hd,khd->hk", query, keys[i]) * (width // heads) ** -0.5
            chances = jax.nn.softmax(jnp.where(seen, scores, -1e30), -1)
            x = feed_forward(p, x + dense(p["out"], jnp.einsum("hk,khd->hd", chances, values[i]).reshape(width)))
        return layer_norm(params["last"], x) @ params["tokens"].T, keys, values

    number = jax.ShapeDtypeStruct((), jnp.int32)
    cache = jax.ShapeDtypeStruct((layers, length, heads, width // heads), jnp.float32)
    return run, params, (number, number, cache, cache)


NETWORKS = {"jax_convolutional": convolutional, "jax_encoder": encoder, "jax_decoder_step": decoder}


def main(name, folder):
    run, params, inputs = NETWORKS[name]()
    exported = jax.export.export(jax.jit(run), platforms=["cpu"])(params, *inputs)
    path = pathlib.Path(folder, name)
    path.with_suffix(".jax_export").write_bytes(exported.serialize())
    path.with_suffix(".mlir").write_text(exported.mlir_module())
    leaves = jax.tree_util.tree_flatten_with_path({"params": params})[0]
    numpy.savez(path.with_suffix(".npz"), **{jax.tree_util.keystr(key, simple=True, separator="."): leaf for key, leaf in leaves})


if __name__ == "__main__":
    main(*sys.argv[1:])
