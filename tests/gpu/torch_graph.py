"""An ONNX graph run by PyTorch: cuBLAS and cuDNN for the operators of the networks that run-on-device carries."""
import numpy
import torch
import torch.nn.functional as F

import onnx_wire


def pads_of(attributes, spatial=2):
    pads = attributes.get("pads", [0] * (2 * spatial))
    begin, end = pads[:spatial], pads[spatial:]
    return begin if begin == end else (begin, end)


def padded(x, attributes, value):
    """The padding that an operator takes itself, after adding what is uneven."""
    pads = pads_of(attributes)
    if isinstance(pads, tuple):
        (top, left), (bottom, right) = pads
        return F.pad(x, (left, right, top, bottom), value=value), 0
    return x, pads


def conv(x, w, b=None, *, a):
    x, padding = padded(x, a, 0.0)
    return F.conv2d(x, w, b, a.get("strides", 1), padding, a.get("dilations", 1), a.get("group", 1))


def max_pool(x, *, a):
    x, padding = padded(x, a, float("-inf"))
    return F.max_pool2d(x, a["kernel_shape"], a.get("strides"), padding)


def average_pool(x, *, a):
    x, padding = padded(x, a, 0.0)
    return F.avg_pool2d(x, a["kernel_shape"], a.get("strides"), padding, count_include_pad=bool(a.get("count_include_pad", 0)))


def gemm(x, w, c=None, *, a):
    y = (x.T if a.get("transA") else x) @ (w.T if a.get("transB") else w)
    return y if c is None else y + c


def reshape(x, shape, *, a):
    return x.reshape([x.shape[i] if n == 0 else int(n) for i, n in enumerate(shape.tolist())])


def unsqueeze(x, *rest, a):
    for axis in a.get("axes") or rest[0].tolist():
        x = x.unsqueeze(axis)
    return x


OPERATORS = {
    "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool, "Gemm": gemm, "Reshape": reshape, "Unsqueeze": unsqueeze,
    "LayerNormalization": lambda x, s, b=None, *, a: F.layer_norm(x, x.shape[-1:], s, b, a.get("epsilon", 1e-5)),
    "BatchNormalization": lambda x, s, b, m, v, *, a: F.batch_norm(x, m, v, s, b, False, 0.0, a.get("epsilon", 1e-5)),
    "LRN": lambda x, *, a: F.local_response_norm(x, a["size"], a["alpha"], a["beta"], a.get("bias", 1.0)),
    "GlobalAveragePool": lambda x, *, a: x.mean((2, 3), keepdim=True),
    "MatMul": lambda x, y, *, a: x @ y, "Add": lambda x, y, *, a: x + y, "Mul": lambda x, y, *, a: x * y,
    "Sum": lambda *x, a: sum(x[1:], x[0]), "Relu": lambda x, *, a: F.relu(x), "Tanh": lambda x, *, a: torch.tanh(x),
    "Gelu": lambda x, *, a: F.gelu(x), "Softmax": lambda x, *, a: F.softmax(x, a.get("axis", 1 if x.ndim == 4 else -1)),
    "Transpose": lambda x, *, a: x.permute(a["perm"]), "Concat": lambda *x, a: torch.cat(x, a["axis"]),
    "Flatten": lambda x, *, a: x.reshape(x.shape[0], -1), "Dropout": lambda x, *rest, a: x, "Identity": lambda x, *, a: x,
}


def load(path):
    """The model as a function of nothing that runs on the device, on normal random inputs."""
    model = onnx_wire.Model(path.read_bytes())
    host = {name: array for name, array in model.weights.items() if array.dtype == numpy.int64}
    values = {name: torch.from_numpy(array.copy()) if name in host else torch.from_numpy(array.copy()).cuda()
              for name, array in model.weights.items()}
    half = any(value.dtype == torch.float16 for value in values.values())
    generator = numpy.random.default_rng(1)
    for name, dims in model.inputs():
        array = generator.standard_normal(dims).astype(numpy.float16 if half else numpy.float32)
        values[name] = torch.from_numpy(array).cuda()
    steps = [(OPERATORS[node.op], node.inputs, node.outputs[0], onnx_wire.attributes(node)) for node in model.nodes]

    def run():
        made = dict(values)
        for operator, inputs, output, attributes in steps:
            made[output] = operator(*(made[name] for name in inputs if name), a=attributes)
        return made[steps[-1][2]]

    return run
