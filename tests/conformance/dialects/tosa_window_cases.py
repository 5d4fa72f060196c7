"""TOSA's convolutions, products of matrices, poolings, resizing and rescaling, as the specification's loops have them."""
import numpy as np

from program_text import File, kind
from tosa_cases import dense_of, numbers, shape_of

FILES = {}


def file(operation):
    return FILES.setdefault(operation, File(f"tosa.{operation}"))


def window_sum(image, filter_at, kernel, stride, pad, dilation, result_shape):
    """For [N, D..., C] images: filter_at(position in the kernel) multiplies the channels of one point into the result's."""
    spatial = len(kernel)
    result = np.zeros(result_shape, np.int64 if image.dtype.kind == "i" else np.float64)
    for place in np.ndindex(*result_shape[1:-1]):
        for k in np.ndindex(*kernel):
            at = [place[d] * stride[d] - pad[2 * d] + k[d] * dilation[d] for d in range(spatial)]
            if all(0 <= at[d] < image.shape[1 + d] for d in range(spatial)):
                result[(slice(None), *place)] += filter_at(image[(slice(None), *at)], k)
    return result


def extents(image, kernel, stride, pad, dilation):
    return [(image.shape[1 + d] + pad[2 * d] + pad[2 * d + 1] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1
            for d in range(len(kernel))]


def whole(image, kernel, stride, pad, dilation):
    """Whether TOSA allows it: the windows end where the image does."""
    return all((image.shape[1 + d] - 1 + pad[2 * d] + pad[2 * d + 1] - (kernel[d] - 1) * dilation[d]) % stride[d] == 0
               for d in range(len(kernel)))


KINDS = (  # input, weights, accumulator, zero points
    (np.float32, np.float32, np.float32, "f32", 0, 0),
    (np.float16, np.float16, np.float16, "f32", 0, 0),
    (np.int8, np.int8, np.int32, "i32", 0, 0),
    (np.int8, np.int8, np.int32, "i32", 5, -3),
    (np.int16, np.int8, np.int64, "i48", 0, 0),
)


def zero_points(inputs, points):
    lines = []
    for name, array, point in zip("iw", inputs, points):
        element = kind(array.reshape(-1)[:1])[len("tensor<1x"):-1]
        lines.append(f"%{name} = {dense_of(f'{point}.0' if array.dtype.kind == 'f' else point, element)}")
    return lines, [f"tensor<1x{line.split('tensor<1x')[1].split('>')[0]}>" for line in lines]


def convolved(operation, name, image, weights, bias, result, points, attributes, accumulator):
    lines, types = zero_points((image, weights), points)
    out = "i48" if accumulator == "i48" else None
    types = ", ".join([kind(image), kind(weights), kind(bias, out), *types])
    lines.append(f'%r = "tosa.{operation}"(%a0, %a1, %a2, %i, %w) <{{{attributes}, acc_type = {accumulator}}}> : ({types}) '
                 f"-> {kind(result, out)}\nreturn %r")
    narrow = result.dtype == np.float16
    file(operation).add(name, [image, weights, (bias, out)], [(result, out)], "\n".join(lines),
                        rtol=4e-3 if narrow else 1e-4, atol=4e-2 if narrow else 1e-4)


def attributes_of(pad, stride, dilation):
    text = [f"pad = array<i64: {', '.join(map(str, pad))}>", f"stride = array<i64: {', '.join(map(str, stride))}>"]
    if dilation:
        text.append(f"dilation = array<i64: {', '.join(map(str, dilation))}>")
    return ", ".join(text)


def convolutions(rng):
    plane = [((1, 1), (0, 0, 0, 0), (1, 1)), ((2, 2), (1, 0, 1, 0), (1, 1)), ((1, 1), (1, 2, 0, 1), (2, 2))]
    for in_type, w_type, out_type, accumulator, in_zero, w_zero in KINDS:
        label = f"{np.dtype(in_type).name} zero {in_zero}"
        low, high = (-2, 2) if np.dtype(in_type).kind == "f" else (None, None)
        wide = np.float64 if np.dtype(in_type).kind == "f" else np.int64

        def biased(channels):
            return numbers(rng, (channels,), out_type, -1000 if wide == np.int64 else -1, 1000 if wide == np.int64 else 1)

        for number, (stride, pad, dilation) in enumerate(plane):
            image = numbers(rng, (2, 6, 5, 3), in_type, low, high)
            weights = numbers(rng, (4, 2, 3, 3), w_type, low, high)
            kernel = weights.shape[1:3]
            if not whole(image, kernel, stride, pad, dilation):
                image = numbers(rng, (2, 7 if stride[0] == 2 else 6, 6, 3), in_type, low, high)
            assert whole(image, kernel, stride, pad, dilation), (stride, pad)
            shifted, filters = image.astype(wide) - in_zero, weights.astype(wide) - w_zero
            bias = biased(4 if number else 1)
            shape = (2, *extents(image, kernel, stride, pad, dilation), 4)
            result = window_sum(shifted, lambda x, k: x @ filters[:, k[0], k[1]].T, kernel, stride, pad, dilation, shape)
            convolved("conv2d", f"{label} {number}", image, weights, bias, (result + bias.astype(wide)).astype(out_type),
                      (in_zero, w_zero), attributes_of(pad, stride, dilation), accumulator)
            each = numbers(rng, (2, 3, 3, 2), w_type, low, high)  # KH, KW, C, M
            filters = each.astype(wide) - w_zero
            bias = biased(6)
            result = window_sum(shifted, lambda x, k: (x[:, :, None] * filters[k]).reshape(2, 6), kernel, stride, pad, dilation,
                                (*shape[:3], 6))
            convolved("depthwise_conv2d", f"{label} {number}", image, each, bias, (result + bias.astype(wide)).astype(out_type),
                      (in_zero, w_zero), attributes_of(pad, stride, dilation), accumulator)
        image, weights = numbers(rng, (1, 4, 5, 3, 2), in_type, low, high), numbers(rng, (3, 2, 3, 1, 2), w_type, low, high)
        shifted, filters, bias = image.astype(wide) - in_zero, weights.astype(wide) - w_zero, biased(3)
        stride, pad, dilation = (2, 1, 1), (0, 0, 1, 1, 0, 0), (1, 1, 1)
        shape = (1, *extents(image, weights.shape[1:4], stride, pad, dilation), 3)
        result = window_sum(shifted, lambda x, k: x @ filters[:, k[0], k[1], k[2]].T, weights.shape[1:4], stride, pad, dilation, shape)
        if whole(image, weights.shape[1:4], stride, pad, dilation):
            convolved("conv3d", label, image, weights, bias, (result + bias.astype(wide)).astype(out_type), (in_zero, w_zero),
                      attributes_of(pad, stride, dilation), accumulator)
        for number, (stride, outside) in enumerate((((1, 1), (0, 0, 0, 0)), ((2, 3), (0, 1, 1, 0)), ((2, 2), (-1, 0, 0, -1)))):
            image, weights = numbers(rng, (2, 3, 4, 2), in_type, low, high), numbers(rng, (3, 2, 3, 2), w_type, low, high)
            shifted, filters, bias = image.astype(wide) - in_zero, weights.astype(wide) - w_zero, biased(3)
            height = (3 - 1) * stride[0] + outside[0] + outside[1] + 2
            width = (4 - 1) * stride[1] + outside[2] + outside[3] + 3
            result = np.zeros((2, height, width, 3), wide) + bias.astype(wide)
            for y, x, ky, kx in np.ndindex(3, 4, 2, 3):
                oy, ox = y * stride[0] + outside[0] + ky, x * stride[1] + outside[2] + kx
                if 0 <= oy < height and 0 <= ox < width:
                    result[:, oy, ox] += shifted[:, y, x] @ filters[:, ky, kx].T
            convolved("transpose_conv2d", f"{label} {number}", image, weights, bias, result.astype(out_type), (in_zero, w_zero),
                      f"out_pad = array<i64: {', '.join(map(str, outside))}>, stride = array<i64: {', '.join(map(str, stride))}>",
                      accumulator)
        if (in_type, w_type) == (np.int16, np.int8):
            w_type = np.int16
        a, b = numbers(rng, (2, 3, 4), in_type, low, high), numbers(rng, (2, 4, 5), w_type, low, high)
        if out_type == np.int64:
            w_zero = 0
        result = ((a.astype(wide) - in_zero) @ (b.astype(wide) - w_zero)).astype(out_type)
        lines, types = zero_points((a, b), (in_zero, w_zero))
        out = "i48" if accumulator == "i48" else None
        lines.append(f'%r = "tosa.matmul"(%a0, %a1, %i, %w) : ({", ".join([kind(a), kind(b), *types])}) -> {kind(result, out)}\n'
                     "return %r")
        narrow = out_type == np.float16
        file("matmul").add(label, [a, b], [(result, out)], "\n".join(lines), rtol=4e-3 if narrow else 1e-4, atol=4e-2 if narrow else 1e-4)


def reciprocal(count):
    bits = (count - 1).bit_length()
    return (((1 << 30) + 1) << bits) // count, 30 + bits


def pools(rng):
    windows = (((2, 2), (2, 2), (0, 0, 0, 0)), ((3, 2), (1, 2), (1, 1, 1, 1)), ((3, 3), (2, 1), (1, 0, 0, 2)))
    for number, (kernel, stride, pad) in enumerate(windows):
        for dtype in (np.float32, np.float16, np.int8, np.int16):
            image = numbers(rng, (2, 6, 6, 3), dtype)
            if not whole(image, kernel, stride, pad, (1, 1)):
                image = numbers(rng, (2, 6 if whole(image, kernel[:1], stride[:1], pad[:2], (1,)) else 7,
                                      7 if kernel[1] == 2 and stride[1] == 2 and pad[2:] != (1, 1) else 6, 3), dtype)
            assert whole(image, kernel, stride, pad, (1, 1)), (image.shape, kernel, stride, pad)
            height, width = extents(image, kernel, stride, pad, (1, 1))
            in_zero, out_zero = (4, -7) if dtype == np.int8 and number else (0, 0)
            largest = np.zeros((2, height, width, 3), dtype)
            average = np.zeros((2, height, width, 3), dtype)
            for y, x in np.ndindex(height, width):
                top, left = y * stride[0] - pad[0], x * stride[1] - pad[2]
                part = image[:, max(top, 0):top + kernel[0], max(left, 0):left + kernel[1]]
                count = part.shape[1] * part.shape[2]
                largest[:, y, x] = part.max((1, 2))
                if image.dtype.kind == "f":
                    average[:, y, x] = part.astype(np.float64).sum((1, 2)) / count
                else:
                    multiplier, shift = reciprocal(count)
                    total = (part.astype(np.int64) - in_zero).sum((1, 2))
                    mean = ((total * multiplier + (1 << (shift - 1))) >> shift) + out_zero
                    average[:, y, x] = np.clip(mean, np.iinfo(dtype).min, np.iinfo(dtype).max)
            attributes = (f"kernel = array<i64: {kernel[0]}, {kernel[1]}>, stride = array<i64: {stride[0]}, {stride[1]}>, "
                          f"pad = array<i64: {', '.join(map(str, pad))}>")
            narrow = dtype == np.float16
            file("max_pool2d").add(f"{np.dtype(dtype).name} {number}", [image], [largest],
                f'%r = "tosa.max_pool2d"(%a0) <{{{attributes}}}> : ({kind(image)}) -> {kind(largest)}\nreturn %r')
            element = kind(image.reshape(-1)[:1])[len("tensor<1x"):-1]
            literal = (lambda v: f"{v}.0") if image.dtype.kind == "f" else str
            file("avg_pool2d").add(f"{np.dtype(dtype).name} {number}", [image], [average],
                f"%i = {dense_of(literal(in_zero), element)}\n%o = {dense_of(literal(out_zero), element)}\n"
                f'%r = "tosa.avg_pool2d"(%a0, %i, %o) <{{{attributes}, acc_type = {"f32" if image.dtype.kind == "f" else "i32"}}}> : '
                f"({kind(image)}, tensor<1x{element}>, tensor<1x{element}>) -> {kind(average)}\nreturn %r",
                rtol=2e-3 if narrow else 1e-5, atol=2e-3 if narrow else 1e-5)


def resized(image, scale, offset, border, mode):
    n_y, d_y, n_x, d_x = scale
    rows = ((image.shape[1] - 1) * n_y - offset[0] + border[0]) // d_y + 1
    columns = ((image.shape[2] - 1) * n_x - offset[1] + border[1]) // d_x + 1
    floating = image.dtype.kind == "f"
    wide = np.float64 if floating else np.int64
    result = np.zeros((image.shape[0], rows, columns, image.shape[3]), wide)
    for oy, ox in np.ndindex(rows, columns):
        y, x = oy * d_y + offset[0], ox * d_x + offset[1]
        iy, ix = y // n_y, x // n_x
        dy, dx = y - iy * n_y, x - ix * n_x
        y0, y1 = max(iy, 0), min(iy + 1, image.shape[1] - 1)
        x0, x1 = max(ix, 0), min(ix + 1, image.shape[2] - 1)
        if mode == "NEAREST_NEIGHBOR":
            result[:, oy, ox] = image[:, y1 if 2 * dy >= n_y else y0, x1 if 2 * dx >= n_x else x0]
            continue
        of = image.astype(wide)
        value = ((of[:, y0, x0] * (n_x - dx) + of[:, y0, x1] * dx) * (n_y - dy) +
                 (of[:, y1, x0] * (n_x - dx) + of[:, y1, x1] * dx) * dy)
        result[:, oy, ox] = value / (n_y * n_x) if floating else value
    return result


def resizes(rng):
    forms = (((4, 2, 4, 2), (0, 0), (0, 0)), ((2, 1, 6, 2), (-1, -2), (1, 2)), ((1, 2, 2, 2), (0, 0), (0, 0)))
    for number, (scale, offset, border) in enumerate(forms):
        for dtype in (np.float32, np.float16, np.int8, np.int16):
            for mode in ("NEAREST_NEIGHBOR", "BILINEAR"):
                image = numbers(rng, (1, 5, 4, 2), dtype)
                assert ((4 * scale[0] - offset[0] + border[0]) % scale[1], (3 * scale[2] - offset[1] + border[1]) % scale[3]) == (0, 0)
                out = dtype if mode[0] == "N" or image.dtype.kind == "f" else np.int32 if dtype == np.int8 else np.int64
                element = "i48" if out == np.int64 else None
                result = resized(image, scale, offset, border, mode).astype(out)
                file("resize").add(f"{np.dtype(dtype).name} {mode} {number}", [image], [(result, element)],
                    f"%s = {shape_of(scale)}\n%o = {shape_of(offset)}\n%b = {shape_of(border)}\n"
                    f'%r = "tosa.resize"(%a0, %s, %o, %b) <{{mode = #tosa.resize_mode<{mode}>}}> : ({kind(image)}, !tosa.shape<4>, '
                    f"!tosa.shape<2>, !tosa.shape<2>) -> {kind(result, element)}\nreturn %r",
                    rtol=2e-3 if dtype == np.float16 else 1e-5)


def scaled(value, multiplier, shift, double):
    rounding = 1 << (shift - 1)
    if double and shift > 31:
        rounding += (1 << 30) if value >= 0 else -(1 << 30)
    return (value * multiplier + rounding) >> shift


def rescales(rng):
    forms = (  # from, to, zero points, scale32, rounding, per channel, unsigned input, unsigned output
        (np.int8, np.int8, 3, -4, True, "SINGLE_ROUND", False, False, False),
        (np.int8, np.int32, 3, 0, True, "SINGLE_ROUND", True, False, False),
        (np.int32, np.int8, 0, 5, True, "DOUBLE_ROUND", True, False, False),
        (np.int32, np.int16, 0, 0, True, "DOUBLE_ROUND", False, False, False),
        (np.int16, np.int8, 0, -9, False, "SINGLE_ROUND", True, False, False),
        (np.int16, np.int32, 0, 0, False, "SINGLE_ROUND", False, False, False),
        (np.int8, np.int8, 100, 3, True, "SINGLE_ROUND", True, True, False),
        (np.int8, np.int8, -3, 120, True, "SINGLE_ROUND", True, False, True),
        (np.int64, np.int16, 0, 0, False, "SINGLE_ROUND", True, False, False),
        (np.int32, np.int32, 0, 0, True, "INEXACT_ROUND", False, False, False),
    )
    for source, target, in_zero, out_zero, wide, rounding, per_channel, from_unsigned, to_unsigned in forms:
        channels = 4
        a = numbers(rng, (3, channels), source, *((-(2**40), 2**40) if source == np.int64 else (-(2**30), 2**30) if source == np.int32 else ()))
        count = channels if per_channel else 1
        multiplier = numbers(rng, (count,), np.int32 if wide else np.int16, 2**30 if wide else 2**14, None)
        bits = {np.int8: 0, np.int16: 6, np.int32: 20, np.int64: 26}[source] - {np.int8: 0, np.int16: 5, np.int32: 18}[target]
        shift = np.array([min(max((30 if wide else 14) + bits + int(x), 2), 62) for x in rng.integers(0, 4, count)], np.int8)
        info = np.iinfo(target)
        low, high = (0, 2**info.bits - 1) if to_unsigned else (info.min, info.max)
        result = np.zeros(a.shape, target)
        for i, j in np.ndindex(*a.shape):
            value = int(a[i, j])
            if from_unsigned and value < 0:
                value += 2**np.iinfo(source).bits
            c = j if per_channel else 0
            value = scaled(value - in_zero, int(multiplier[c]), int(shift[c]), rounding == "DOUBLE_ROUND" and wide) + out_zero
            value = min(max(value, low), high)
            result[i, j] = value - 2**info.bits if value > info.max else value
        source_type = "i48" if source == np.int64 else None
        element = source_type or kind(a.reshape(-1)[:1])[len("tensor<1x"):-1]
        out = kind(result.reshape(-1)[:1])[len("tensor<1x"):-1]
        file("rescale").add(f"{element} to {out} {rounding} {from_unsigned} {to_unsigned}", [(a, source_type)], [result],
            f'%m = "tosa.const"() <{{values = dense<{multiplier.tolist()}> : {kind(multiplier)}}}> : () -> {kind(multiplier)}\n'
            f'%s = "tosa.const"() <{{values = dense<{shift.tolist()}> : {kind(shift)}}}> : () -> {kind(shift)}\n'
            f"%i = {dense_of(in_zero, element)}\n%o = {dense_of(out_zero, out)}\n"
            f'%r = "tosa.rescale"(%a0, %m, %s, %i, %o) <{{scale32 = {str(wide).lower()}, rounding_mode = #tosa.rounding_mode<{rounding}>, '
            f"per_channel = {str(per_channel).lower()}, input_unsigned = {str(from_unsigned).lower()}, "
            f"output_unsigned = {str(to_unsigned).lower()}}}> : ({kind(a, source_type)}, {kind(multiplier)}, {kind(shift)}, tensor<1x{element}>, "
            f"tensor<1x{out}>) -> {kind(result)}\nreturn %r")


def files():
    rng = np.random.default_rng(2)
    for family in (convolutions, pools, resizes, rescales):
        family(rng)
    return FILES.values()
