#!/usr/bin/env python3
"""Networks and kernels of our own in the shapes that people deploy, with seeded random weights (constants would fold away).

usage: blocks.py NAME [NAME...] --out DIR      writes DIR/NAME.onnx
       blocks.py --list

Weights are normal with the variance that keeps activations at their size, from numpy's default generator and a fixed seed,
so a name stands for one file.
"""
import argparse
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from onnx_wire import BFLOAT16, FLOAT, FLOAT16, INT32, UINT8, model_bytes, node_bytes, value_info  # noqa: E402

TYPES = {"f32": (FLOAT, numpy.float32), "f16": (FLOAT16, numpy.float16)}


class Graph:
    """Nodes and weights of one model; methods return the name of what they make."""

    def __init__(self, seed, dtype="f32"):
        self.generator = numpy.random.default_rng(seed)
        self.number, self.numpy = TYPES[dtype]
        self.nodes, self.weights, self.inputs = [], {}, []

    def input(self, name, dims):
        self.inputs.append(value_info(name, dims, self.number))
        return name

    def weight(self, name, array):
        self.weights[name] = numpy.asarray(array)
        return name

    def random(self, name, dims, fan_in):
        return self.weight(name, (self.generator.standard_normal(dims) * fan_in ** -0.5).astype(self.numpy))

    def around(self, name, dims, middle):
        return self.weight(name, (middle + self.generator.uniform(-0.1, 0.1, dims)).astype(self.numpy))

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(node_bytes(op, inputs, [name], name, attributes))
        return name

    def bytes(self, outputs):
        return model_bytes(self.nodes, self.inputs, [value_info(name, dims, self.number) for name, dims in outputs],
                           self.weights, opset=20)

    # --- layers

    def linear(self, x, name, inputs, outputs):
        product = self.node("MatMul", [x, self.random(name + ".weight", (inputs, outputs), inputs)], name + ".product")
        return self.node("Add", [product, self.around(name + ".bias", (outputs,), 0)], name)

    def layer_norm(self, x, name, width):
        return self.node("LayerNormalization", [x, self.around(name + ".scale", (width,), 1), self.around(name + ".bias", (width,), 0)],
                         name, axis=-1, epsilon=1e-5)

    def heads(self, x, name, batch, tokens, heads, size):
        shape = self.weight(name + ".shape", numpy.array([batch, tokens, heads, size], numpy.int64))
        return self.node("Transpose", [self.node("Reshape", [x, shape], name + ".split")], name, perm=[0, 2, 1, 3])

    def attention(self, x, name, batch, tokens, heads, width):
        size = width // heads
        query, key, value = (self.heads(self.linear(x, f"{name}.{part}.all", width, width), f"{name}.{part}", batch, tokens, heads, size)
                             for part in ("query", "key", "value"))
        turned = self.node("Transpose", [key], name + ".turned", perm=[0, 1, 3, 2])
        scale = self.weight(name + ".scale", self.numpy(size ** -0.5))
        scores = self.node("Mul", [self.node("MatMul", [query, turned], name + ".scores"), scale], name + ".scaled")
        mixed = self.node("MatMul", [self.node("Softmax", [scores], name + ".shares", axis=-1), value], name + ".mixed")
        shape = self.weight(name + ".joined.shape", numpy.array([batch, tokens, width], numpy.int64))
        back = self.node("Reshape", [self.node("Transpose", [mixed], name + ".back", perm=[0, 2, 1, 3]), shape], name + ".joined")
        return self.linear(back, name + ".out", width, width)

    def encoder_layer(self, x, name, batch, tokens, heads, width, hidden):
        attended = self.node("Add", [x, self.attention(x, name + ".attention", batch, tokens, heads, width)], name + ".residual")
        x = self.layer_norm(attended, name + ".norm1", width)
        inner = self.node("Gelu", [self.linear(x, name + ".up", width, hidden)], name + ".gelu")
        out = self.node("Add", [x, self.linear(inner, name + ".down", hidden, width)], name + ".sum")
        return self.layer_norm(out, name + ".norm2", width)

    def conv(self, x, name, inputs, outputs, kernel=3, stride=1, groups=1):
        pad = kernel // 2
        weight = self.random(name + ".weight", (outputs, inputs // groups, kernel, kernel), inputs // groups * kernel * kernel / 2)
        return self.node("Conv", [x, weight, self.around(name + ".bias", (outputs,), 0)], name, kernel_shape=[kernel, kernel],
                         strides=[stride, stride], pads=[pad] * 4, group=groups)

    def relu(self, x, name):
        return self.node("Relu", [x], name)


class Quantised(Graph):
    """What convolutions and linear layers take goes through QuantizeLinear and DequantizeLinear: activations as u8 with one
    scale, weights as i8 with one per output channel, biases as i32."""

    SCALE = 1 / 16

    def quantised(self, x, name):
        if name + ".q" not in self.weights:
            scale, zero = self.weight(name + ".s", numpy.float32(self.SCALE)), self.weight(name + ".q", numpy.uint8(128))
            self.node("QuantizeLinear", [x, scale, zero], name + ".codes")
            self.node("DequantizeLinear", [name + ".codes", scale, zero], name + ".back")
        return name + ".back"

    def quantised_weight(self, name, values, axis):
        """The weight `values` and the scale of its channels along `axis`."""
        others = tuple(i for i in range(values.ndim) if i != axis)
        scale = (numpy.abs(values).max(axis=others) / 127).astype(numpy.float32)
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        codes = numpy.clip(numpy.rint(values / scale.reshape(shape)), -127, 127).astype(numpy.int8)
        parts = [self.weight(name + ".codes", codes), self.weight(name + ".s", scale),
                 self.weight(name + ".zero", numpy.zeros(scale.shape, numpy.int8))]
        return self.node("DequantizeLinear", parts, name, axis=axis), scale

    def quantised_bias(self, name, count, scale):
        own = (scale * self.SCALE).astype(numpy.float32)
        codes = numpy.rint(self.generator.uniform(-0.1, 0.1, count) / own).astype(numpy.int32)
        parts = [self.weight(name + ".codes", codes), self.weight(name + ".s", own),
                 self.weight(name + ".zero", numpy.zeros(own.shape, numpy.int32))]
        return self.node("DequantizeLinear", parts, name, axis=0)

    def linear(self, x, name, inputs, outputs):
        values = self.generator.standard_normal((inputs, outputs)) * inputs ** -0.5
        weight, scale = self.quantised_weight(name + ".weight", values, 1)
        product = self.node("MatMul", [self.quantised(x, x + ".in"), weight], name + ".product")
        return self.node("Add", [product, self.around(name + ".bias", (outputs,), 0)], name)

    def conv(self, x, name, inputs, outputs, kernel=3, stride=1, groups=1):
        return self.window(x, name, inputs, outputs, [kernel, kernel], [kernel // 2] * 4, stride, groups)

    def window(self, x, name, inputs, outputs, kernel, pads, stride=1, groups=1):
        fan_in = inputs // groups * kernel[0] * kernel[1] / 2
        values = self.generator.standard_normal((outputs, inputs // groups, *kernel)) * fan_in ** -0.5
        weight, scale = self.quantised_weight(name + ".weight", values, 0)
        return self.node("Conv", [self.quantised(x, x + ".in"), weight, self.quantised_bias(name + ".bias", outputs, scale)],
                         name, kernel_shape=kernel, strides=[stride, stride], pads=pads, group=groups)


# --- networks ---------------------------------------------------------------------------------------------------------

def encoder(layers, batch, tokens, heads, width, hidden, dtype="f32", seed=11):
    g = Graph(seed, dtype)
    x = g.input("tokens", [batch, tokens, width])
    for i in range(layers):
        x = g.encoder_layer(x, f"layer{i}", batch, tokens, heads, width, hidden)
    return g.bytes([(x, [batch, tokens, width])])


def mobile(size=224, seed=12, graph=Graph):
    """Depthwise and pointwise convolutions in turn, as in the MobileNets' first version, and a classifier."""
    g = graph(seed)
    x, channels = g.input("image", [1, 3, size, size]), 32
    x = g.relu(g.conv(x, "stem", 3, channels, stride=2), "stem.relu")
    for i, (outputs, stride) in enumerate([(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 +
                                          [(1024, 2), (1024, 1)]):
        x = g.relu(g.conv(x, f"depth{i}", channels, channels, stride=stride, groups=channels), f"depth{i}.relu")
        x = g.relu(g.conv(x, f"point{i}", channels, outputs, kernel=1), f"point{i}.relu")
        channels = outputs
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x], "pool")], "flat")
    return g.bytes([(g.linear(x, "classes", channels, 1000), [1, 1000])])


def keyword(width=64, seed=13):
    """Keyword spotting in the size of MLPerf Tiny's benchmark: depthwise and pointwise convolutions over 49 frames of 10
    coefficients, twelve words, int8."""
    g = Quantised(seed)
    x = g.input("frames", [1, 1, 49, 10])
    x = g.relu(g.window(x, "stem", 1, width, [10, 4], [4, 1, 5, 1], stride=2), "stem.relu")
    for i in range(4):
        x = g.relu(g.conv(x, f"depth{i}", width, width, groups=width), f"depth{i}.relu")
        x = g.relu(g.conv(x, f"point{i}", width, width, kernel=1), f"point{i}.relu")
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x], "pool")], "flat")
    return g.bytes([(g.linear(x, "words", width, 12), [1, 12])])


# --- single kernels ---------------------------------------------------------------------------------------------------

def matmul(n, dtype="f32"):
    g = Graph(21, dtype)
    x = g.input("x", [n, n])
    return g.bytes([(g.node("MatMul", [x, g.random("w", (n, n), n)], "y"), [n, n])])


def matmul_int8(n):
    """u8 by i8 with sums in i32, as MatMulInteger has them."""
    g = Graph(27)
    values = g.generator.integers(-127, 128, (n, n), numpy.int8)
    y = g.node("MatMulInteger", ["x", g.weight("w", values), g.weight("zero", numpy.uint8(128))], "y")
    return model_bytes(g.nodes, [value_info("x", [n, n], UINT8)], [value_info(y, [n, n], INT32)], g.weights, opset=20)


def matmul_bf16(n):
    g = Graph(28)
    # The upper halves of f32.
    codes = (g.generator.standard_normal((n, n)) * n ** -0.5).astype(numpy.float32).view(numpy.uint32) >> 16
    y = g.node("MatMul", ["x", g.weight("w", codes.astype(numpy.uint16))], "y")
    return model_bytes(g.nodes, [value_info("x", [n, n], BFLOAT16)], [value_info(y, [n, n], BFLOAT16)], g.weights, opset=20)


def chain(n):
    g = Graph(22)
    x = g.input("x", [n, 1024])
    y = g.node("Mul", [x, g.around("scale", (1024,), 1)], "scaled")
    y = g.node("Tanh", [g.node("Add", [y, g.around("bias", (1024,), 0)], "shifted")], "tanh")
    return g.bytes([(g.node("Add", [y, x], "y"), [n, 1024])])


def softmax(rows, columns):
    g = Graph(23)
    x = g.input("x", [rows, columns])
    return g.bytes([(g.node("Softmax", [x], "y", axis=-1), [rows, columns])])


def layer_norm(rows, columns):
    g = Graph(24)
    x = g.input("x", [rows, columns])
    return g.bytes([(g.layer_norm(x, "y", columns), [rows, columns])])


def convolution(channels, size, dtype="f32"):
    g = Graph(25, dtype)
    x = g.input("x", [1, channels, size, size])
    return g.bytes([(g.conv(x, "y", channels, channels), [1, channels, size, size])])


def gather(n, rows):
    """Rows of a table by indices that only a run knows."""
    g = Graph(29)
    x = g.node("Abs", [g.input("x", [n])], "size")
    indices = g.node("Cast", [g.node("Mul", [x, g.weight("step", numpy.float32(40))], "scaled")], "indices", to=INT32)
    return g.bytes([(g.node("Gather", [g.random("table", (rows, 1024), 1), indices], "y", axis=0), [n, 1024])])


def copy(n):
    """One addition: as near to a copy as a network comes."""
    g = Graph(26)
    x = g.input("x", [n, 1024])
    return g.bytes([(g.node("Add", [x, g.weight("one", numpy.float32(1))], "y"), [n, 1024])])


MODELS = {
    "transformer_block": lambda: encoder(1, 1, 64, 4, 128, 512),
    "transformer_block_f16": lambda: encoder(1, 1, 64, 4, 128, 512, "f16"),
    "bert_base_layer": lambda: encoder(1, 1, 128, 12, 768, 3072),
    "bert_base": lambda: encoder(12, 1, 128, 12, 768, 3072),
    "mobile": mobile,
    "matmul_512": lambda: matmul(512),
    "matmul_1024": lambda: matmul(1024),
    "matmul_2048": lambda: matmul(2048),
    "matmul_2048_f16": lambda: matmul(2048, "f16"),
    "matmul_4096_f16": lambda: matmul(4096, "f16"),
    "matmul_int8_512": lambda: matmul_int8(512),
    "matmul_int8_1024": lambda: matmul_int8(1024),
    "matmul_int8_2048": lambda: matmul_int8(2048),
    "matmul_bf16_1024": lambda: matmul_bf16(1024),
    "mobile_int8": lambda: mobile(graph=Quantised),
    "mobile_int8_small": lambda: mobile(size=64, graph=Quantised),
    "keyword_int8": keyword,
    "softmax": lambda: softmax(4096, 1024),
    "layer_norm": lambda: layer_norm(4096, 1024),
    "chain": lambda: chain(8192),
    "gather": lambda: gather(16384, 1024),
    "copy": lambda: copy(16384),
    "conv": lambda: convolution(64, 56),
    "conv_f16": lambda: convolution(64, 56, "f16"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(MODELS))
    for name in arguments.names:
        if name not in MODELS:
            parser.error(f"no model {name}; --list names them")
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"{name}.onnx").write_bytes(MODELS[name]())


if __name__ == "__main__":
    main()
