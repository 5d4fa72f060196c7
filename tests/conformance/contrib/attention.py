"""Attention in the forms that exporters and ONNX Runtime's fusions write."""
import numpy as np

from case import Case, Draw, fixed

BATCH, LENGTH, HEADS, SIZE = 2, 4, 2, 8
HIDDEN = HEADS * SIZE


def masks(total):
    """Name -> mask for two samples."""
    raw = np.ones((BATCH, total), np.int32)
    raw[0, total - 2:] = 0
    square = np.tril(np.ones((BATCH, LENGTH, total), np.int32), total - LENGTH)
    square[1, :, 0] = 0
    square[1, 0, 1] = 1
    return {"raw": raw, "square": square, "lengths": np.array([total - 1, 2], np.int32),
            "ends_and_starts": np.array([total, total - 1, 1, 0], np.int32)}


def attention():
    op, draw = "Attention", Draw("attention")
    x, w, b = draw.real(BATCH, LENGTH, 12), fixed(draw.real(12, 3 * HIDDEN, scale=0.3)), fixed(draw.real(3 * HIDDEN))
    base = {"num_heads": HEADS}
    yield Case(op, "plain", [x, w, b], attributes=base)
    # ONNX Runtime 1.31 ends with a segmentation fault here.
    zero = fixed(np.zeros(3 * HIDDEN, np.float32))
    yield Case(op, "no_bias", [x, w], attributes=base, answer=lambda run: run(Case(op, "", [x, w, zero], attributes=base)))
    yield Case(op, "causal", [x, w, b], attributes={**base, "unidirectional": 1})
    yield Case(op, "scale", [x, w, b], attributes={**base, "scale": 0.5})
    for name, mask in masks(LENGTH).items():
        yield Case(op, f"mask_{name}", [x, w, b, mask], attributes=base)
        yield Case(op, f"mask_{name}_causal", [x, w, b, mask], attributes={**base, "unidirectional": 1})
    yield Case(op, "filter", [x, w, b, masks(LENGTH)["raw"]], attributes={**base, "mask_filter_value": -3.0})
    nothing = np.array([[0, 0, 0, 0], [1, 1, 1, 1]], np.int32)
    # Scores near -10000 have three decimals.
    yield Case(op, "all_masked", [x, w, b, nothing], attributes=base, absolute=2e-3)
    for name, shape in (("full", (BATCH, HEADS, LENGTH, LENGTH)), ("shared", (1, 1, LENGTH, LENGTH))):
        yield Case(op, f"bias_{name}", [x, w, b, None, None, draw.real(*shape)], attributes=base)
    past = draw.real(2, BATCH, HEADS, 3, SIZE)
    both = ["y", "present"]
    yield Case(op, "past", [x, w, b, None, past], both, {**base, "unidirectional": 1})
    yield Case(op, "past_mask", [x, w, b, masks(LENGTH + 3)["raw"], past], both, {**base, "unidirectional": 1})
    yield Case(op, "present", [x, w, b], both, {**base, "unidirectional": 1})
    step = draw.real(BATCH, 1, 12)
    yield Case(op, "step", [step, w, b, None, past], both, {**base, "unidirectional": 1})
    wide, bias = fixed(draw.real(12, 2 * HIDDEN + 8, scale=0.3)), fixed(draw.real(2 * HIDDEN + 8))
    yield Case(op, "hidden_sizes", [x, wide, bias], attributes={**base, "qkv_hidden_sizes": [HIDDEN, HIDDEN, 8]})


def multi_head():
    op, draw, keys = "MultiHeadAttention", Draw("multi_head"), 5
    q, k, v = draw.real(BATCH, LENGTH, HIDDEN), draw.real(BATCH, keys, HIDDEN), draw.real(BATCH, keys, HIDDEN)
    own_k, own_v = draw.real(BATCH, LENGTH, HIDDEN), draw.real(BATCH, LENGTH, HIDDEN)
    bias, base = fixed(draw.real(3 * HIDDEN)), {"num_heads": HEADS}
    yield Case(op, "plain", [q, k, v], attributes=base)
    yield Case(op, "bias", [q, k, v, bias], attributes=base)
    yield Case(op, "scale", [q, k, v], attributes={**base, "scale": 0.2})
    yield Case(op, "causal", [q, own_k, own_v], attributes={**base, "unidirectional": 1})
    small = draw.real(BATCH, keys, 6)
    yield Case(op, "narrow_values", [q, k, small], attributes=base)
    yield Case(op, "lengths", [q, k, v, None, np.array([5, 3], np.int32)], attributes=base)
    padding = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    yield Case(op, "padding", [q, k, v, bias, padding], attributes=base)
    yield Case(op, "padding_filter", [q, k, v, None, padding], attributes={**base, "mask_filter_value": -2.0})
    square = masks(keys)["square"]
    yield Case(op, "padding_square", [q, k, v, None, square], attributes=base)
    for name, shape in (("full", (BATCH, HEADS)), ("shared", (1, 1)), ("heads", (1, HEADS)), ("samples", (BATCH, 1))):
        yield Case(op, f"added_{name}", [q, k, v, None, None, draw.real(*shape, LENGTH, keys)], attributes=base)
    yield Case(op, "added_and_padding", [q, k, v, None, padding, draw.real(1, 1, LENGTH, keys)], attributes=base)
    heads = draw.real(BATCH, HEADS, keys, SIZE), draw.real(BATCH, HEADS, keys, SIZE)
    yield Case(op, "cross_keys", [q, *heads], attributes=base)
    yield Case(op, "cross_keys_bias", [q, *heads, bias], attributes=base)
    present, past = ["y", "present_key", "present_value"], [draw.real(BATCH, HEADS, 3, SIZE) for _ in range(2)]
    yield Case(op, "present", [q, own_k, own_v], present, base)
    yield Case(op, "past", [q, own_k, own_v, bias, None, None, *past], present, base)
    yield Case(op, "past_causal", [q, own_k, own_v, None, None, None, *past], present, {**base, "unidirectional": 1})
    mask = masks(LENGTH + 3)["raw"]
    yield Case(op, "past_padding", [q, own_k, own_v, None, mask, None, *past], present, base)
    step = [draw.real(BATCH, 1, HIDDEN) for _ in range(3)]
    added = draw.real(1, HEADS, 1, 4)
    yield Case(op, "step", [*step, None, None, added, *past], present, base)
    for name, parts in (("packed", 3), ("packed_pair", 2)):
        together = draw.real(BATCH, keys, HEADS, parts, SIZE)
        apart = [together[:, :, :, i].reshape(BATCH, keys, HIDDEN) for i in range(parts)]
        yield Case(op, name, [together] if parts == 3 else [q, together], attributes=base,
                   answer=lambda run, apart=apart: run(Case(op, "", apart if len(apart) == 3 else [q, *apart], attributes=base)))
    half = [a.astype(np.float16) for a in (q, k, v)]
    yield Case(op, "f16", half, attributes=base, relative=5e-3, absolute=5e-3)


def angles(count, half):
    steps = np.arange(count)[:, None] / 10000 ** (np.arange(half)[None, :] / half)
    return fixed(np.cos(steps).astype(np.float32)), fixed(np.sin(steps).astype(np.float32))


def rotary():
    op, draw = "RotaryEmbedding", Draw("rotary")
    cos, sin = angles(16, SIZE // 2)
    offset, ids = np.array([3], np.int64), np.array([[0, 1, 2, 3], [5, 6, 9, 15]], np.int64)
    flat, heads = draw.real(BATCH, LENGTH, HIDDEN), draw.real(BATCH, HEADS, LENGTH, SIZE)
    for interleaved in (0, 1):
        more, t = {"interleaved": interleaved}, "_interleaved" if interleaved else ""
        yield Case(op, "offset" + t, [flat, offset, cos, sin], attributes=more)
        yield Case(op, "ids" + t, [flat, ids, cos, sin], attributes=more)
        yield Case(op, "heads" + t, [heads, ids, cos, sin], attributes=more)
        half_cos, half_sin = angles(16, SIZE // 4)
        yield Case(op, "partial" + t, [flat, ids, half_cos, half_sin],
                   attributes={**more, "num_heads": HEADS, "rotary_embedding_dim": SIZE // 2})
    f16 = [flat.astype(np.float16), ids, fixed(cos.array.astype(np.float16)), fixed(sin.array.astype(np.float16))]
    yield Case(op, "f16", f16, relative=5e-3, absolute=5e-3)


def group_query():
    op, draw = "GroupQueryAttention", Draw("group_query")
    heads, key_heads, size, room = 4, 2, 32, 10
    base = {"num_heads": heads, "kv_num_heads": key_heads}
    outputs = ["y", "present_key", "present_value"]
    cos, sin = angles(16, size // 2)

    def qkv(batch, length):
        return [draw.real(batch, length, heads * size), draw.real(batch, length, key_heads * size),
                draw.real(batch, length, key_heads * size)]

    def counts(batch, total):
        """The lengths and the total, which decides shapes."""
        return [np.full(batch, total - 1, np.int32), fixed(np.array(total, np.int32))]

    def past(batch, length, filled=None):
        made = [draw.real(batch, key_heads, length, size) for _ in range(2)]
        for one in made if filled is not None else []:
            one[:, :, filled:] = 0
        return made

    prompt, none = qkv(2, LENGTH), [np.zeros((2, key_heads, 0, size), np.float32)] * 2
    rotary_of = {**base, "do_rotary": 1}
    yield Case(op, "prompt", [*prompt, None, None, *counts(2, LENGTH)], outputs, base)
    yield Case(op, "prompt_rotary", [*prompt, None, None, *counts(2, LENGTH), cos, sin], outputs, rotary_of)
    yield Case(op, "prompt_interleaved", [*prompt, None, None, *counts(2, LENGTH), cos, sin], outputs,
               {**rotary_of, "rotary_interleaved": 1})
    half = angles(16, size // 4)
    yield Case(op, "prompt_partial", [*prompt, None, None, *counts(2, LENGTH), *half], outputs, rotary_of)
    yield Case(op, "prompt_packed", [np.concatenate(prompt, -1), None, None, None, None, *counts(2, LENGTH), cos, sin], outputs, rotary_of)
    yield Case(op, "prompt_of_a_buffer", [*prompt, *past(2, room, 0), *counts(2, LENGTH), cos, sin], outputs, rotary_of)
    yield Case(op, "scale", [*prompt, None, None, *counts(2, LENGTH)], outputs, {**base, "scale": 0.3})
    yield Case(op, "softcap", [*prompt, None, None, *counts(2, LENGTH)], outputs, {**base, "softcap": 1.5})
    yield Case(op, "window", [*prompt, None, None, *counts(2, LENGTH)], outputs, {**base, "local_window_size": 2})
    bias = draw.real(1, heads, LENGTH, LENGTH)
    yield Case(op, "bias", [*prompt, None, None, *counts(2, LENGTH), None, None, None, bias], outputs, base)
    for name, more, tables in (("", base, []), ("_rotary", rotary_of, [cos, sin])):
        yield Case(op, "step" + name, [*qkv(2, 1), *past(2, 5), *counts(2, 6), *tables], outputs, more)
        yield Case(op, "step_in_a_buffer" + name, [*qkv(2, 1), *past(2, room, 5), *counts(2, 6), *tables], outputs, more)
        ragged = [np.array([5, 3], np.int32), fixed(np.array(6, np.int32))]
        kept = past(2, room, 5)
        for one in kept:
            one[1, :, 3:] = 0
        yield Case(op, "step_ragged" + name, [*qkv(2, 1), *kept, *ragged, *tables], outputs, more)
        yield Case(op, "steps" + name, [*qkv(1, 3), *past(1, 5), *counts(1, 8), *tables], outputs, more)
        yield Case(op, "steps_in_a_buffer" + name, [*qkv(1, 3), *past(1, room, 5), *counts(1, 8), *tables], outputs, more)
        lengths = [np.full(2, 5, np.int32), np.array(6, np.int32)]
        yield Case(op, "step_by_data" + name, [*qkv(2, 1), *past(2, room, 5), *lengths, *tables], outputs, more)
    half_of = [a.astype(np.float16) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a
               for a in (*qkv(2, 1), *past(2, room, 5), *counts(2, 6))]
    half_of += [fixed(a.array.astype(np.float16)) for a in (cos, sin)]
    yield Case(op, "f16", half_of, outputs, rotary_of, relative=5e-3, absolute=5e-3)
    ids = np.array([[5], [5]], np.int64)
    yield Case(op, "step_ids", [*qkv(2, 1), *past(2, 5), *counts(2, 6), cos, sin, ids], outputs, rotary_of)
    yield Case(op, "step_window", [*qkv(2, 1), *past(2, 5), *counts(2, 6)], outputs, {**base, "local_window_size": 3})
    yield Case(op, "step_bias", [*qkv(2, 1), *past(2, room, 5), *counts(2, 6), None, None, None, draw.real(1, 1, 1, 6)], outputs, base)


def cases():
    for family in (attention, multi_head, rotary, group_query):
        yield from family()
