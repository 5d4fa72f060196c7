"""Decoders of the shapes of published ones with seeded random weights, as ONNX files: what tests/bench/decoder.py measures.

The input is what follows the embedding, [1, tokens, width]. Each layer has grouped heads on caches with room for `room` tokens
(com.microsoft GroupQueryAttention, whose results are as long), which hold room - tokens of them, and a gated feed-forward network.
Weights are f32, bf16 widened by a Cast in front of the product, or com.microsoft MatMulNBits of 8 or 4 bits in blocks of 32 without
zero points.
"""
import dataclasses
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_wire import field, model_bytes, node_bytes, value_info  # noqa: E402

BLOCK, SIZE = 32, 64  # rows of a block; elements of a head
CONTRIB = "com.microsoft"


@dataclasses.dataclass(frozen=True)
class Shape:
    width: int
    hidden: int
    heads: int
    key_heads: int
    layers: int  # of the published decoder
    words: int


# Those of Qwen2.5-0.5B and of Llama-3.2-1B.
SHAPES = {"0.5B": Shape(896, 4864, 14, 2, 24, 151936), "1B": Shape(2048, 8192, 32, 8, 16, 128256)}


class Decoder:
    def __init__(self, shape, weights, layers, tokens, room):
        self.shape, self.kind, self.layers, self.tokens, self.room = shape, weights, layers, tokens, room
        self.generator = numpy.random.default_rng(1)
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [value_info("x", [1, tokens, shape.width])], []
        self.elements = 0  # of the matrices

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(node_bytes(op, inputs, outputs, outputs[0], attributes) + (field(7, domain) if domain else b""))
        return outputs[0]

    def constant(self, name, array):
        self.weights[name] = array
        return name

    def linear(self, x, name, rows, columns):
        self.elements += rows * columns
        if self.kind in ("f32", "bf16"):
            matrix = self.generator.standard_normal((rows, columns), numpy.float32) * numpy.float32(rows ** -0.5)
            if self.kind == "f32":
                return self.node("MatMul", [x, self.constant(name + ".weight", matrix)], [name])
            narrow = self.constant(name + ".weight", (matrix.view(numpy.uint32) >> 16).astype(numpy.uint16))
            return self.node("MatMul", [x, self.node("Cast", [narrow], [name + ".wide"], to=1)], [name])
        bits = int(self.kind[3:])
        codes = self.generator.integers(0, 256, (columns, rows // BLOCK, BLOCK * bits // 8), numpy.uint8)
        scales = self.generator.uniform(0.5, 1.5, (columns, rows // BLOCK)).astype(numpy.float32) * numpy.float32(rows ** -0.5 * 3 / 2 ** bits)
        return self.node("MatMulNBits", [x, self.constant(name + ".codes", codes), self.constant(name + ".scales", scales)], [name],
                         CONTRIB, K=rows, N=columns, bits=bits, block_size=BLOCK)

    def norm(self, x, name):
        width = self.shape.width
        return self.node("LayerNormalization", [x, self.constant(name + ".scale", numpy.ones(width, numpy.float32)),
                                                self.constant(name + ".bias", numpy.zeros(width, numpy.float32))], [name], axis=-1, epsilon=1e-5)

    def attention(self, x, name):
        heads, keys = self.shape.heads, self.shape.key_heads
        qkv = self.linear(x, name + ".qkv", self.shape.width, (heads + 2 * keys) * SIZE)
        caches = [f"{name}.past.{kind}" for kind in ("key", "value")], [f"{name}.present.{kind}" for kind in ("key", "value")]
        for group, values in zip(caches, (self.inputs, self.outputs)):
            values += [value_info(cache, [1, keys, self.room, SIZE]) for cache in group]
        self.node("GroupQueryAttention", [qkv, "", "", *caches[0], "last", "total"], [name, *caches[1]], CONTRIB, num_heads=heads, kv_num_heads=keys)
        return self.linear(name, name + ".out", heads * SIZE, self.shape.width)

    def feed_forward(self, x, name):
        width, hidden = self.shape.width, self.shape.hidden
        gate, up = self.linear(x, name + ".gate", width, hidden), self.linear(x, name + ".up", width, hidden)
        silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], [name + ".sigmoid"])], [name + ".silu"])
        return self.linear(self.node("Mul", [silu, up], [name + ".gated"]), name + ".down", hidden, width)

    def bytes(self):
        total = self.room
        self.constant("last", numpy.array([total - 1], numpy.int32))
        self.constant("total", numpy.array([total], numpy.int32))
        x = "x"
        for layer in range(self.layers):
            name = f"layer{layer}"
            x = self.node("Add", [x, self.attention(self.norm(x, name + ".norm1"), name + ".attention")], [name + ".attended"])
            x = self.node("Add", [x, self.feed_forward(self.norm(x, name + ".norm2"), name + ".feed")], [name])
        outputs = [value_info(x, [1, self.tokens, self.shape.width]), *self.outputs]
        made = model_bytes(self.nodes, self.inputs, outputs, self.weights, opset=20)
        return made + field(8, field(1, CONTRIB) + field(2, 1))
