#!/usr/bin/env python3
"""Trains the two sample models on the UCI digits that scikit-learn carries and writes them as ONNX.

usage: train.py            (needs requirements.txt beside it; about a minute on one core)

Writes beside itself:
  digits_cnn.onnx   image [1,1,8,8] -> logits [1,10]     convolutions, pooling, one dense layer
  digits_mlp.onnx   pixels [N,64]   -> probability [N,10] three dense layers and a softmax, symbolic batch
  digits_images.npy [297,1,8,8] f32, digits_pixels.npy [297,64] f32, digits_labels.npy [297] i64   the held-out test set
  digits.json       accuracies over that test set, with the versions that made them

Plain numpy with a fixed seed: nothing here needs a framework, and the exported graph is exactly what is written below.
"""
import json
import pathlib

import numpy as np
import onnx
import sklearn
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
HELD_OUT = 297


def patches(x, k, pad):
    """[n,c,h,w] -> [n, oh*ow, c*k*k]: the convolution's input windows as rows."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    win = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    n, c, oh, ow = win.shape[:4]
    return win.transpose(0, 2, 3, 1, 4, 5).reshape(n, oh * ow, c * k * k)


class Dense:
    def __init__(self, rng, fan_in, fan_out):
        self.w = rng.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)).astype(np.float32)
        self.b = np.zeros(fan_out, np.float32)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, g):
        flat, grad = self.x.reshape(-1, self.x.shape[-1]), g.reshape(-1, g.shape[-1])
        self.gw, self.gb = flat.T @ grad, grad.sum(0)
        return g @ self.w.T


class Conv:
    """3x3, padding 1, as a dense layer over patches."""

    def __init__(self, rng, cin, cout):
        self.dense, self.cin = Dense(rng, cin * 9, cout), cin

    def forward(self, x):
        self.shape = x.shape
        n, _, h, w = x.shape
        return self.dense.forward(patches(x, 3, 1)).reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, g):
        n, c, h, w = self.shape
        cols = self.dense.backward(g.transpose(0, 2, 3, 1).reshape(n, h * w, -1)).reshape(n, h, w, c, 3, 3)
        out = np.zeros((n, c, h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                out[:, :, i:i + h, j:j + w] += cols[..., i, j].transpose(0, 3, 1, 2)
        return out[:, :, 1:-1, 1:-1]


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, g):
        return g * self.on


class MaxPool:
    """2x2, stride 2."""

    def forward(self, x):
        n, c, h, w = x.shape
        self.v = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self.y = self.v.max((3, 5), keepdims=True)
        return self.y.reshape(n, c, h // 2, w // 2)

    def backward(self, g):
        hit = self.v == self.y
        share = hit / hit.sum((3, 5), keepdims=True)
        n, c, h, _, w, _ = self.v.shape
        return (share * g.reshape(n, c, h, 1, w, 1)).reshape(n, c, 2 * h, 2 * w).astype(np.float32)


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, g):
        return g.reshape(self.shape)


def train(layers, x, y, rng, epochs, rate=2e-3):
    """Adam on the cross entropy of a softmax."""
    params = [(d, n) for l in layers for d in [getattr(l, "dense", l)] if isinstance(d, Dense) for n in ("w", "b")]
    moments = [(np.zeros_like(getattr(d, n)), np.zeros_like(getattr(d, n))) for d, n in params]
    step = 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(x)), len(x) // 50):
            h = x[rows]
            for layer in layers:
                h = layer.forward(h)
            p = np.exp(h - h.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(rows)), y[rows]] -= 1
            g = (p / len(rows)).astype(np.float32)
            for layer in reversed(layers):
                g = layer.backward(g)
            step += 1
            for (d, n), (m, v) in zip(params, moments):
                grad = getattr(d, "g" + n) + 1e-4 * getattr(d, n)
                m += 0.1 * (grad - m)
                v += 0.001 * (grad * grad - v)
                setattr(d, n, getattr(d, n) - (rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)).astype(np.float32))
    return layers


def accuracy(layers, x, y):
    for layer in layers:
        x = layer.forward(x)
    return int((x.argmax(1) == y).sum())


def constant(name, value):
    return numpy_helper.from_array(np.ascontiguousarray(value), name)


def save(name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    model = helper.make_model(graph, producer_name="kiln-samples", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))


def export_cnn(l):
    conv1, conv2, conv3, dense = l[0].dense, l[2].dense, l[5].dense, l[9]
    kernel = lambda d, cin: d.w.T.reshape(-1, cin, 3, 3)
    conv = lambda i, x, y: helper.make_node("Conv", [x, f"conv{i}.weight", f"conv{i}.bias"], [y], f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    pool = lambda i, x, y: helper.make_node("MaxPool", [x], [y], f"pool{i}", kernel_shape=[2, 2], strides=[2, 2])
    relu = lambda i, x, y: helper.make_node("Relu", [x], [y], f"relu{i}")
    nodes = [conv(1, "image", "c1"), relu(1, "c1", "r1"), conv(2, "r1", "c2"), relu(2, "c2", "r2"), pool(1, "r2", "p1"),
             conv(3, "p1", "c3"), relu(3, "c3", "r3"), pool(2, "r3", "p2"), helper.make_node("Flatten", ["p2"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "dense.weight", "dense.bias"], ["logits"], "dense")]
    save("digits_cnn", nodes, [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
         [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
         [constant("conv1.weight", kernel(conv1, 1)), constant("conv1.bias", conv1.b),
          constant("conv2.weight", kernel(conv2, 16)), constant("conv2.bias", conv2.b),
          constant("conv3.weight", kernel(conv3, 32)), constant("conv3.bias", conv3.b),
          constant("dense.weight", dense.w), constant("dense.bias", dense.b)])


def export_mlp(l):
    nodes, weights, x = [], [], "scaled"
    nodes.append(helper.make_node("Div", ["pixels", "sixteen"], ["scaled"], "scale"))
    weights.append(constant("sixteen", np.array(16, np.float32)))
    for i, d in enumerate([l[0], l[2], l[4]], 1):
        nodes += [helper.make_node("MatMul", [x, f"dense{i}.weight"], [f"m{i}"], f"matmul{i}"),
                  helper.make_node("Add", [f"m{i}", f"dense{i}.bias"], [f"a{i}"], f"bias{i}")]
        weights += [constant(f"dense{i}.weight", d.w), constant(f"dense{i}.bias", d.b)]
        x = f"a{i}"
        if i < 3:
            nodes.append(helper.make_node("Relu", [x], [f"h{i}"], f"relu{i}"))
            x = f"h{i}"
    nodes.append(helper.make_node("Softmax", [x], ["probability"], "softmax", axis=-1))
    save("digits_mlp", nodes, [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["N", 64])],
         [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["N", 10])], weights)


def main():
    rng = np.random.default_rng(20260101)
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    x, y = digits.data[order].astype(np.float32), digits.target[order].astype(np.int64)
    held, rest = slice(0, HELD_OUT), slice(HELD_OUT, None)
    images = (x / 16).reshape(-1, 1, 8, 8)

    cnn = train([Conv(rng, 1, 16), Relu(), Conv(rng, 16, 32), Relu(), MaxPool(), Conv(rng, 32, 32), Relu(), MaxPool(), Flatten(),
                 Dense(rng, 128, 10)], images[rest], y[rest], rng, 25)
    mlp = train([Dense(rng, 64, 96), Relu(), Dense(rng, 96, 48), Relu(), Dense(rng, 48, 10)], x[rest] / 16, y[rest], rng, 40)
    export_cnn(cnn)
    export_mlp(mlp)
    np.save(HERE / "digits_images.npy", images[held])
    np.save(HERE / "digits_pixels.npy", x[held])
    np.save(HERE / "digits_labels.npy", y[held])
    right = {"digits_cnn": accuracy(cnn, images[held], y[held]), "digits_mlp": accuracy(mlp, x[held] / 16, y[held])}
    (HERE / "digits.json").write_text(json.dumps({
        "testImages": HELD_OUT, "correct": right, "data": "UCI optical recognition of handwritten digits, as carried by scikit-learn",
        "made": {"numpy": np.__version__, "scikit-learn": sklearn.__version__, "onnx": onnx.__version__}}, indent=2) + "\n")
    print(right, "of", HELD_OUT)


if __name__ == "__main__":
    main()
