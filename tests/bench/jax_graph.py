"""An ONNX graph as a JAX function: the operators of the networks that speed.py measures, weights as constants."""
import jax
import jax.numpy as jnp
import numpy
import onnx
import onnx.numpy_helper
from jax import lax


def pads_of(attributes, spatial):
    pads = attributes.get("pads", [0] * (2 * spatial))
    return [(pads[i], pads[i + spatial]) for i in range(spatial)]


def conv(x, w, b=None, *, a):
    spatial = x.ndim - 2
    y = lax.conv_general_dilated(x, w, a.get("strides", [1] * spatial), pads_of(a, spatial),
                                 rhs_dilation=a.get("dilations", [1] * spatial), feature_group_count=a.get("group", 1))
    return y if b is None else y + b.reshape((1, -1) + (1,) * spatial)


def window(x, a, start, op):
    kernel = (1, 1, *a["kernel_shape"])
    strides = (1, 1, *a.get("strides", [1] * (x.ndim - 2)))
    return lax.reduce_window(x, start, op, kernel, strides, [(0, 0), (0, 0), *pads_of(a, x.ndim - 2)])


def average(x, *, a):
    ones = x if a.get("count_include_pad") else jnp.ones_like(x)
    count = numpy.prod(a["kernel_shape"]) if a.get("count_include_pad") else window(ones, a, 0.0, lax.add)
    return window(x, a, 0.0, lax.add) / count


def layer_norm(x, scale, bias=None, *, a):
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + a.get("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def batch_norm(x, scale, bias, mean, variance, *, a):
    factor = scale / numpy.sqrt(variance + a.get("epsilon", 1e-5))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)


def lrn(x, *, a):
    size = a["size"]
    squares = lax.reduce_window(x * x, 0.0, lax.add, (1, size, 1, 1), (1,) * 4, [(0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)])
    return x / (a.get("bias", 1.0) + a["alpha"] / size * squares) ** a["beta"]


def gemm(x, w, c=None, *, a):
    y = (x.T if a.get("transA") else x) @ (w.T if a.get("transB") else w)
    return y if c is None else y + c


OPERATORS = {
    "Conv": conv, "AveragePool": average, "LayerNormalization": layer_norm, "BatchNormalization": batch_norm, "LRN": lrn,
    "Gemm": gemm, "MaxPool": lambda x, *, a: window(x, a, -jnp.inf, lax.max),
    "GlobalAveragePool": lambda x, *, a: x.mean((2, 3), keepdims=True),
    "MatMul": lambda x, y, *, a: x @ y, "Add": lambda x, y, *, a: x + y, "Mul": lambda x, y, *, a: x * y,
    "Sum": lambda *x, a: sum(x[1:], x[0]), "Relu": lambda x, *, a: jnp.maximum(x, 0), "Tanh": lambda x, *, a: jnp.tanh(x),
    "Gelu": lambda x, *, a: jax.nn.gelu(x, approximate=False),
    "Softmax": lambda x, *, a: jax.nn.softmax(x, a.get("axis", 1 if x.ndim == 4 else -1)),
    "Transpose": lambda x, *, a: x.transpose(a["perm"]),
    "Reshape": lambda x, shape, *, a: x.reshape([x.shape[i] if n == 0 else int(n) for i, n in enumerate(shape)]),
    "Flatten": lambda x, *, a: x.reshape(x.shape[0], -1), "Concat": lambda *x, a: jnp.concatenate(x, a["axis"]),
    "Dropout": lambda x, *rest, a: x, "Identity": lambda x, *, a: x,
    "Unsqueeze": lambda x, *rest, a: jnp.expand_dims(x, tuple(a.get("axes", rest[0] if rest else ()))),
}


def load(path):
    """The function over the model's inputs, and their shapes."""
    graph = onnx.load(path).graph
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    inputs = [one for one in graph.input if one.name not in weights]

    def function(*given):
        values = dict(weights) | {one.name: value for one, value in zip(inputs, given)}
        for node in graph.node:
            attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
            arguments = [values[name] for name in node.input if name]
            values[node.output[0]] = OPERATORS[node.op_type](*arguments, a=attributes)
        return [values[one.name] for one in graph.output]

    return function, [[dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in inputs]
