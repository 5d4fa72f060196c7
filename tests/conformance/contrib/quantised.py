"""Operators of quantised exports, and convolutions that ONNX Runtime's optimiser writes."""
import numpy as np

from case import Case, Draw, fixed

STEP = {"relative": 0.0, "absolute": 1.0}  # one step of the result, where rounding meets a tie


def scale(value):
    return fixed(np.array(value, np.float32))


def pointwise():
    for kind in (np.uint8, np.int8):
        draw, t = Draw(f"pointwise{kind.__name__}"), "_" + kind.__name__
        zero = [fixed(np.array(z, kind)) for z in ((128, 120, 130) if kind == np.uint8 else (0, -8, 2))]
        a, b = draw.codes(2, 3, 4, kind=kind), draw.codes(2, 3, 4, kind=kind)
        for op in ("QLinearAdd", "QLinearMul"):
            out = [scale(0.03 if op == "QLinearAdd" else 0.02), zero[2]]
            yield Case(op, "same" + t, [a, scale(0.02), zero[0], b, scale(0.011), zero[1], *out], **STEP)
            yield Case(op, "broadcast" + t, [a, scale(0.02), zero[0], fixed(b[0, 0]), scale(0.011), zero[1], *out], **STEP)
        yield Case("QLinearSigmoid", "plain" + t, [a, scale(0.05), zero[0], scale(1 / 256), zero[1]], **STEP)
        yield Case("QLinearLeakyRelu", "plain" + t, [a, scale(0.05), zero[0], scale(0.04), zero[1]], attributes={"alpha": 0.2}, **STEP)
        yield Case("QLinearSoftmax", "last" + t, [a, scale(0.05), zero[0], scale(1 / 256), zero[1]],
                   attributes={"axis": -1, "opset": 13}, **STEP)
        yield Case("QLinearSoftmax", "together" + t, [a, scale(0.05), zero[0], scale(1 / 256), zero[1]],
                   attributes={"axis": 1, "opset": 11}, **STEP)
        image = draw.codes(2, 4, 5, 6, kind=kind)
        around = [scale(0.02), zero[0], scale(0.015), zero[1]]
        yield Case("QLinearGlobalAveragePool", "planes" + t, [image, *around], attributes={"channels_last": 0}, **STEP)
        yield Case("QLinearGlobalAveragePool", "channels_last" + t, [image, *around], attributes={"channels_last": 1}, **STEP)
        window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        yield Case("QLinearAveragePool", "plain" + t, [image, *around], attributes=window, **STEP)
        yield Case("QLinearAveragePool", "counting" + t, [image, *around], attributes={**window, "count_include_pad": 1}, **STEP)
        parts = [a, scale(0.02), zero[0], b, scale(0.03), zero[1]]
        yield Case("QLinearConcat", "two" + t, [scale(0.025), zero[2], *parts], attributes={"axis": 1}, **STEP)


def weights(draw, *shape):
    """Signed codes of seven bits: ONNX Runtime adds two products of bytes in 16 bits on processors without VNNI, and these fit."""
    return draw.whole(-64, 64, *shape, kind=np.int8)


def products():
    draw = Draw("products")
    op = "MatMulIntegerToFloat"
    x, w = draw.codes(2, 3, 8), draw.codes(8, 5)
    signed = weights(draw, 8, 5)
    per_column = fixed(np.abs(draw.real(5, scale=0.02)) + 0.001)
    bias = fixed(draw.real(5))
    point, signed_point = fixed(np.array(120, np.uint8)), fixed(np.array(3, np.int8))
    columns = fixed(weights(draw, 5))
    yield Case(op, "unsigned", [x, fixed(w), scale(0.02), scale(0.01), point, fixed(np.array(7, np.uint8))])
    yield Case(op, "signed", [x, fixed(signed), scale(0.02), per_column, point, columns, bias])
    yield Case(op, "no_zeros", [x, fixed(signed), scale(0.02), scale(0.01)])
    # A quotient that lies on a tie is rounded the other way: one code of A in 255 off.
    near = {"relative": 1e-3, "absolute": 1e-2}
    op, a = "DynamicQuantizeMatMul", draw.real(2, 3, 8)
    yield Case(op, "plain", [a, fixed(signed), scale(0.01)], **near)
    yield Case(op, "zero", [a, fixed(signed), scale(0.01), signed_point], **near)
    yield Case(op, "columns", [a, fixed(signed), per_column, columns, bias], **near)
    yield Case(op, "unsigned", [a, fixed(w), scale(0.01), point, bias], **near)
    op, m = "QGemm", draw.codes(3, 8)
    c = fixed(draw.whole(-500, 500, 5))
    quantised = [scale(0.5), fixed(np.array(110, np.uint8))]
    yield Case(op, "real", [m, scale(0.02), point, fixed(signed), scale(0.01), signed_point, c], attributes={"alpha": 1.0})
    yield Case(op, "quantised", [m, scale(0.02), point, fixed(signed), scale(0.01), signed_point, c, *quantised], **STEP)
    yield Case(op, "no_bias", [m, scale(0.02), point, fixed(signed), per_column, columns, None, *quantised], **STEP)
    yield Case(op, "trans_b", [m, scale(0.02), point, fixed(np.ascontiguousarray(signed.T)), per_column, columns, c],
               attributes={"transB": 1, "alpha": 0.5})
    yield Case(op, "trans_a", [np.ascontiguousarray(m.T), scale(0.02), point, fixed(signed), scale(0.01), signed_point],
               attributes={"transA": 1})


def attention():
    op, draw, heads, hidden = "QAttention", Draw("q_attention"), 2, 16
    x, w = draw.codes(2, 4, 12), fixed(weights(draw, 12, 3 * hidden))
    bias, zero = fixed(draw.real(3 * hidden)), fixed(np.array(128, np.uint8))
    base, at = {"num_heads": heads}, [scale(0.02), scale(0.005)]
    yield Case(op, "plain", [x, w, bias, *at, None, zero, fixed(np.array(1, np.int8))], attributes=base)
    yield Case(op, "mask", [x, w, bias, *at, np.array([4, 2], np.int32), zero], attributes=base)
    past = draw.real(2, 2, heads, 3, 8)
    yield Case(op, "past", [x, w, bias, *at, None, zero, fixed(np.array(0, np.int8)), past], ["y", "present"],
               {**base, "unidirectional": 1})
    columns = fixed(np.abs(draw.real(3 * hidden, scale=0.005)) + 0.001)
    yield Case(op, "columns", [x, w, bias, scale(0.02), columns, None, zero, fixed(weights(draw, 3 * hidden))], attributes=base)


def convolutions():
    draw = Draw("convolutions")
    x, w, b = draw.real(1, 4, 7, 6), fixed(draw.real(8, 4, 3, 3, scale=0.2)), fixed(draw.real(8))
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 1], "dilations": [1, 1], "group": 1}
    z = draw.real(1, 8, 7, 6)
    for activation, params in (("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.75]),
                               ("HardSigmoid", [0.3, 0.4])):
        more = {"activation": activation, **({"activation_params": params} if params else {})}
        yield Case("FusedConv", activation.lower(), [x, w, b], attributes={**window, **more})
    yield Case("FusedConv", "sum", [x, w, b, z], attributes={**window, "activation": "Relu"})
    yield Case("FusedConv", "strided", [x, w], attributes={**window, "strides": [2, 1], "activation": "Relu"})
    yield Case("FusedConv", "grouped", [x, fixed(w.array[:, :2]), b], attributes={**window, "group": 2, "activation": "Relu"})
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    last_z = np.ascontiguousarray(z.transpose(0, 2, 3, 1))
    relu = {**window, "activation": "Relu"}
    for op, name, more, attributes in (("NhwcConv", "plain", [], window), ("NhwcFusedConv", "relu", [], relu),
                                       ("NhwcFusedConv", "sum", [z], relu)):
        def turned(run, more=more, attributes=attributes):
            return [run(Case("FusedConv", "", [x, w, b, *more], attributes=attributes))[0].transpose(0, 2, 3, 1)]
        yield Case(op, name, [last, w, b, *([last_z] if more else [])], attributes=attributes, answer=turned)
    for kind in (np.uint8, np.int8):
        codes = draw.codes(1, 7, 6, 4, kind=kind)
        yield Case("NhwcMaxPool", kind.__name__, [codes], attributes={"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0]})


def steps():
    for kind in (np.uint8, np.uint16, np.int16):
        draw, t, middle = Draw(f"steps{kind.__name__}"), kind.__name__, 100 if np.iinfo(kind).min == 0 else -7
        x, codes, zero = draw.real(2, 3, 4, scale=2), draw.codes(2, 3, 4, kind=kind), fixed(np.array(middle, kind))
        scales, zeros = fixed(np.abs(draw.real(3, scale=0.1)) + 0.01), fixed(draw.whole(0, 50, 3, kind=kind))
        yield Case("QuantizeLinear", t, [x, scale(0.02), zero], **STEP)
        yield Case("QuantizeLinear", "axis_" + t, [x, scales, zeros], attributes={"axis": 1}, **STEP)
        yield Case("DequantizeLinear", t, [codes, scale(0.02), zero])
        yield Case("DequantizeLinear", "axis_" + t, [codes, scales, zeros], attributes={"axis": 1})


def cases():
    for family in (pointwise, steps, products, attention, convolutions):
        yield from family()
