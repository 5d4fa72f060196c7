"""Operators of transformer exports: activations, normalisations, products and embeddings."""
import numpy as np

from case import Case, Draw, fixed


def activations():
    for kind, rtol, atol in ((np.float32, 1e-3, 1e-5), (np.float16, 5e-3, 5e-3)):
        draw, t = Draw(f"gelu{kind.__name__}"), "" if kind == np.float32 else "_f16"
        more = {"relative": rtol, "absolute": atol}
        x, bias = draw.real(2, 3, 16, scale=3, kind=kind), draw.real(16, kind=kind)
        yield Case("Gelu", "plain" + t, [x], **more)
        yield Case("BiasGelu", "plain" + t, [x, fixed(bias)], **more)
        yield Case("FastGelu", "plain" + t, [x], **more)
        yield Case("FastGelu", "bias" + t, [x, fixed(bias)], **more)
        yield Case("QuickGelu", "plain" + t, [x], **more)
        yield Case("QuickGelu", "alpha" + t, [x], attributes={"alpha": 1.0}, **more)


def bias_softmax():
    draw = Draw("bias_softmax")
    x = draw.real(2, 4, 3, 5)
    for name, axis, inner, shape in (("inner", 3, 1, (2, 1, 1, 5)), ("outer", 3, 0, (1, 1, 3, 5)), ("wide", 2, 0, (1, 4, 3, 5))):
        bias = draw.real(*shape)
        flat = (x + bias).reshape(*x.shape[:axis], -1)

        def softmax(run, flat=flat):
            return [run(Case("Softmax", "", [flat], attributes={"axis": -1}, domain=""))[0].reshape(x.shape)]
        yield Case("BiasSoftmax", name, [x, bias], attributes={"axis": axis, "is_inner_broadcast": inner}, answer=softmax)


def normalisations():
    draw = Draw("skip")
    x, skip, gamma, beta, bias = draw.real(2, 3, 16), draw.real(2, 3, 16), draw.real(16), draw.real(16), draw.real(16)
    layer, rms = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
    all_of = [x, skip, fixed(gamma), fixed(beta), fixed(bias)]
    yield Case(layer, "all", all_of, attributes={"epsilon": 1e-5})
    yield Case(layer, "sum", all_of, ["y", "", "", "sum"], {"epsilon": 1e-5})
    yield Case(layer, "no_beta", [x, skip, fixed(gamma)])
    yield Case(layer, "bias_only", [x, skip, fixed(gamma), None, fixed(bias)], ["y", "", "", "sum"])
    yield Case(layer, "skip_of_one", [x, draw.real(1, 3, 16), fixed(gamma), fixed(beta)])
    yield Case(layer, "skip_without_batch", [x, draw.real(3, 16), fixed(gamma), fixed(beta)])
    yield Case(rms, "plain", [x, skip, fixed(gamma)], attributes={"epsilon": 1e-6})
    yield Case(rms, "bias", [x, skip, fixed(gamma), fixed(bias)], ["y", "", "", "sum"], {"epsilon": 1e-6})
    yield Case(rms, "tokens", [draw.real(6, 16), draw.real(6, 16), fixed(gamma)], ["y", "", "", "sum"])
    half = [a.astype(np.float16) for a in (x, skip, gamma, beta)]
    f16 = {"relative": 5e-3, "absolute": 5e-3}
    yield Case(layer, "f16", [half[0], half[1], fixed(half[2]), fixed(half[3])], attributes={"epsilon": 1e-5}, **f16)
    yield Case(rms, "f16", [half[0], half[1], fixed(half[2])], attributes={"epsilon": 1e-5}, **f16)
    simple = {"domain": "", "attributes": {"epsilon": 1e-6, "axis": -1, "stash_type": 1}}
    yield Case("SimplifiedLayerNormalization", "plain", [x, fixed(gamma)], **simple)
    yield Case("SimplifiedLayerNormalization", "inverse", [x, fixed(gamma)], ["y", "inverse"], **simple)
    # Older than ONNX's operator, which came with opset 17.
    yield Case("LayerNormalization", "opset_11", [x, fixed(gamma), fixed(beta)], domain="", opset=11,
               attributes={"epsilon": 1e-5, "axis": -1})


def embeddings():
    draw = Draw("embed")
    op, batch, length, size = "EmbedLayerNormalization", 2, 5, 8
    ids, segments = draw.whole(0, 11, batch, length), draw.whole(0, 2, batch, length)
    tables = [fixed(draw.real(11, size)), fixed(draw.real(7, size)), fixed(draw.real(2, size))]
    scale = [fixed(draw.real(size)), fixed(draw.real(size))]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    outputs = ["y", "mask_index"]
    yield Case(op, "all", [ids, segments, *tables, *scale, mask], outputs, {"epsilon": 1e-12})
    yield Case(op, "no_mask", [ids, segments, *tables, *scale], outputs)
    yield Case(op, "no_segments", [ids, None, *tables[:2], None, *scale], outputs)
    positions = draw.whole(0, 7, batch, length)
    yield Case(op, "positions", [ids, segments, *tables, *scale, None, positions], outputs)
    yield Case(op, "positions_of_one", [ids, segments, *tables, *scale, mask, positions[:1]], outputs)
    yield Case(op, "sum", [ids, segments, *tables, *scale, mask], [*outputs, "sum"])


def products():
    draw = Draw("fused_matmul")
    for op in ("FusedMatMul", "TransposeMatMul"):
        yield Case(op, "scaled", [draw.real(2, 3, 4), draw.real(2, 4, 5)], attributes={"alpha": 0.125})
        yield Case(op, "trans_b", [draw.real(2, 2, 3, 4), draw.real(2, 2, 5, 4)], attributes={"transB": 1, "alpha": 0.5})
        yield Case(op, "trans_a", [draw.real(2, 4, 3), draw.real(4, 5)], attributes={"transA": 1})
    op = "FusedMatMul"
    yield Case(op, "vector", [draw.real(4), draw.real(2, 4, 5)], attributes={"alpha": 2.0})
    yield Case(op, "batch_a", [draw.real(3, 2, 4), draw.real(2, 4, 5)], attributes={"transBatchA": 1})
    yield Case(op, "batch_b", [draw.real(2, 6, 3, 4), draw.real(4, 2, 6, 5)], attributes={"transBatchB": 1})
    yield Case(op, "batch_b_trans", [draw.real(2, 6, 3, 4), draw.real(5, 2, 6, 4)], attributes={"transBatchB": 1, "transB": 1})
    yield Case(op, "batch_both", [draw.real(3, 2, 6, 4), draw.real(4, 2, 6, 5)], attributes={"transBatchA": 1, "transBatchB": 1})
    yield Case(op, "batch_a_trans", [draw.real(4, 2, 6, 3), draw.real(2, 6, 4, 5)], attributes={"transBatchA": 1, "transA": 1})
    a, b, c = draw.real(3, 4), fixed(draw.real(4, 5)), fixed(draw.real(5))
    for activation, more in (("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"activation_alpha": 0.1}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})):
        yield Case("FusedGemm", activation.lower(), [a, b, c],
                   attributes={"activation": activation, "alpha": 0.5, "beta": 2.0, **more})


def packed(codes, bits):
    """[..., n] codes into bytes, the first in the lowest bits; the last byte filled with zeros."""
    each = 8 // bits
    short = -codes.shape[-1] % each
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], short), np.uint8)], -1)
    codes = codes.reshape(*codes.shape[:-1], -1, each)
    return sum(codes[..., i] << (i * bits) for i in range(each)).astype(np.uint8)


def few_bits():
    op = "MatMulNBits"
    for bits, block, rows in ((4, 16, 48), (4, 32, 64), (4, 32, 40), (8, 32, 64), (8, 16, 40), (2, 32, 64)):
        draw, columns = Draw(f"bits{bits}_{block}_{rows}"), 6
        blocks = -(-rows // block)
        codes = draw.whole(0, 1 << bits, columns, blocks, block, kind=np.uint8)
        weights = fixed(packed(codes, bits))
        scales = fixed(np.abs(draw.real(columns, blocks, scale=0.1)) + 0.01)
        zeros = draw.whole(0, 1 << bits, columns, blocks, kind=np.uint8)
        x, bias = draw.real(2, 3, rows), fixed(draw.real(columns))
        attributes = {"K": rows, "N": columns, "bits": bits, "block_size": block}
        name = f"{bits}_bits_{block}_{rows}"
        yield Case(op, name, [x, weights, scales], attributes=attributes)
        yield Case(op, name + "_zeros", [x, weights, scales, fixed(packed(zeros, bits))], attributes=attributes)
        if bits == 4:
            yield Case(op, name + "_real_zeros", [x, weights, scales, fixed(zeros.astype(np.float32) + 0.25)], attributes=attributes)
            yield Case(op, name + "_bias", [x[0], weights, scales, None, None, bias], attributes=attributes)
            flat = [fixed(a.array.reshape(-1)) for a in (scales,)]
            yield Case(op, name + "_flat", [x, weights, *flat, fixed(packed(zeros, bits).reshape(-1))], attributes=attributes)


def cases():
    for family in (activations, bias_softmax, normalisations, embeddings, products, few_bits):
        yield from family()
