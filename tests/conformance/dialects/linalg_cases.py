"""linalg's named operations and generics, and what arith, math and tensor do beside them."""
import math

import numpy as np

from program_text import File, kind
from tosa_cases import numbers

FILES = {}
IDENTITY = "affine_map<(d0, d1) -> (d0, d1)>"


def file(operation):
    return FILES.setdefault(operation, File(operation))


def element_of(array):
    return kind(array.reshape(-1)[:1])[len("tensor<1x"):-1]


def filled(name, value, like):
    """Lines that make %name a tensor of `like`'s type with this value everywhere."""
    element = element_of(like)
    return (f"%{name}v = arith.constant {value} : {element}\n%{name}e = tensor.empty() : {kind(like)}\n"
            f"%{name} = linalg.fill ins(%{name}v : {element}) outs(%{name}e : {kind(like)}) -> {kind(like)}\n")


def into(operation, inputs, out, start="0.0", attributes="", names=None):
    """An operation that starts from a filled tensor."""
    names = names or ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(kind(a) for a in inputs)
    return filled("o", start, out) + (f"%r = linalg.{operation} {attributes} ins({names} : {types}) outs(%o : {kind(out)}) -> "
                                      f"{kind(out)}\nreturn %r")


def products(rng):
    for dtype in (np.float32, np.float16, np.int32):
        start = "0" if dtype == np.int32 else "0.0"
        low, high = (-9, 9) if dtype == np.int32 else (-2, 2)
        loose = dict(rtol=4e-3, atol=2e-2) if dtype == np.float16 else {}

        def one(operation, shapes, spec, label=""):
            inputs = [numbers(rng, shape, dtype, low, high) for shape in shapes]
            wide = [a.astype(np.float64 if a.dtype.kind == "f" else dtype) for a in inputs]
            result = np.asarray(np.einsum(spec, *wide)).astype(dtype)
            file(f"linalg.{operation}").add(f"{np.dtype(dtype).name}{label}", inputs, [result], into(operation, inputs, result, start), **loose)

        one("matmul", ((3, 4), (4, 5)), "mk,kn->mn")
        one("batch_matmul", ((2, 3, 4), (2, 4, 5)), "bmk,bkn->bmn")
        one("matvec", ((3, 4), (4,)), "mk,k->m")
        one("vecmat", ((4,), (4, 5)), "k,kn->n")
        one("dot", ((4,), (4,)), "k,k->")
        one("batch_matvec", ((2, 3, 4), (2, 4)), "bmk,bk->bm")
        one("batch_vecmat", ((2, 4), (2, 4, 5)), "bk,bkn->bn")
        one("batch_reduce_matmul", ((2, 3, 4), (2, 4, 5)), "bmk,bkn->mn")
    a, b, c = (numbers(rng, shape, np.float32) for shape in ((3, 4), (4, 5), (3, 5)))
    file("linalg.matmul").add("accumulates", [a, b, c], [c + a @ b],
        f"%r = linalg.matmul ins(%a0, %a1 : {kind(a)}, {kind(b)}) outs(%a2 : {kind(c)}) -> {kind(c)}\nreturn %r")
    x, y = numbers(rng, (3, 4), np.int8), numbers(rng, (4, 5), np.int8)
    result = x.astype(np.int32) @ y.astype(np.int32)
    file("linalg.matmul").add("int8 to int32", [x, y], [result], into("matmul", [x, y], result, "0"))
    turned = np.ascontiguousarray(b.T)
    maps = "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]"
    file("linalg.matmul").add("transposed", [a, turned], [a @ b], into("matmul", [a, turned], c, attributes=f"indexing_maps = {maps}"))
    file("linalg.contract").add("transposed", [a, turned], [a @ b], into("contract", [a, turned], c, attributes=f"indexing_maps = {maps}"))
    z0, z1 = np.array(3, np.int32), np.array(-2, np.int32)
    result = (x.astype(np.int32) - 3) @ (y.astype(np.int32) + 2)
    points = "%p = arith.constant 3 : i32\n%q = arith.constant -2 : i32\n"
    file("linalg.quantized_matmul").add("int8", [x, y], [result], points + filled("o", "0", result) +
        f"%r = linalg.quantized_matmul ins(%a0, %a1, %p, %q : {kind(x)}, {kind(y)}, i32, i32) outs(%o : {kind(result)}) -> "
        f"{kind(result)}\nreturn %r")
    x, y = numbers(rng, (2, 3, 4), np.int8), numbers(rng, (2, 4, 5), np.int8)
    result = (x.astype(np.int32) - 3) @ (y.astype(np.int32) + 2)
    file("linalg.quantized_batch_matmul").add("int8", [x, y], [result], points + filled("o", "0", result) +
        f"%r = linalg.quantized_batch_matmul ins(%a0, %a1, %p, %q : {kind(x)}, {kind(y)}, i32, i32) outs(%o : {kind(result)}) -> "
        f"{kind(result)}\nreturn %r")


def convolution(image, weights, image_dims, filter_dims, result_dims, stride, dilation):
    """Dimensions by letters; `h` and `w` of the image are windows over those of the filter (`y`, `x`)."""
    spatial = [d for d in "dhw" if d in image_dims]
    windows = dict(zip("dhw", "zyx"))
    sizes = dict(zip(filter_dims, weights.shape)) | {d: n for d, n in zip(image_dims, image.shape) if d not in "dhw"}
    extents = {}
    for d, s, e in zip(spatial, stride, dilation):
        extents[d] = (image.shape[image_dims.index(d)] - (sizes[windows[d]] - 1) * e - 1) // s + 1
    parts = np.zeros([extents.get(d) or sizes[d] for d in result_dims], np.float64)
    for k in np.ndindex(*[sizes[windows[d]] for d in spatial]):
        cut = [slice(None)] * image.ndim
        for d, s, e, at in zip(spatial, stride, dilation, k):
            cut[image_dims.index(d)] = slice(at * e, at * e + (extents[d] - 1) * s + 1, s)
        chosen = [slice(None)] * weights.ndim
        for d, at in zip(spatial, k):
            chosen[filter_dims.index(windows[d])] = at
        rest = "".join(d for d in filter_dims if d not in "zyx")
        parts += np.einsum(f"{image_dims},{rest}->{result_dims}", image[tuple(cut)].astype(np.float64), weights[tuple(chosen)].astype(np.float64))
    return parts


def convolutions(rng):
    forms = {  # image, filter and result, whose letters are: n batch, c and f channels, g groups, m multiplier
        "conv_1d_nwc_wcf": ("nwc", "xcf", "nwf"), "conv_1d_ncw_fcw": ("ncw", "fcx", "nfw"),
        "conv_2d_nhwc_hwcf": ("nhwc", "yxcf", "nhwf"), "conv_2d_nhwc_fhwc": ("nhwc", "fyxc", "nhwf"),
        "conv_2d_nchw_fchw": ("nchw", "fcyx", "nfhw"), "conv_3d_ndhwc_dhwcf": ("ndhwc", "zyxcf", "ndhwf"),
        "conv_3d_ncdhw_fcdhw": ("ncdhw", "fczyx", "nfdhw"), "conv_2d_ngchw_fgchw": ("ngchw", "fgcyx", "ngfhw"),
        "conv_2d_ngchw_gfchw": ("ngchw", "gfcyx", "ngfhw"), "conv_2d_nhwgc_gfhwc": ("nhwgc", "gfyxc", "nhwgf"),
        "depthwise_conv_1d_nwc_wc": ("nwc", "xc", "nwc"), "depthwise_conv_1d_ncw_cw": ("ncw", "cx", "ncw"),
        "depthwise_conv_1d_nwc_wcm": ("nwc", "xcm", "nwcm"), "depthwise_conv_2d_nhwc_hwc": ("nhwc", "yxc", "nhwc"),
        "depthwise_conv_2d_nchw_chw": ("nchw", "cyx", "nchw"), "depthwise_conv_2d_nhwc_hwcm": ("nhwc", "yxcm", "nhwcm"),
        "depthwise_conv_3d_ndhwc_dhwc": ("ndhwc", "zyxc", "ndhwc"), "depthwise_conv_3d_ncdhw_cdhw": ("ncdhw", "czyx", "ncdhw"),
        "depthwise_conv_3d_ndhwc_dhwcm": ("ndhwc", "zyxcm", "ndhwcm"),
    }
    sizes = {"n": 2, "c": 3, "f": 4, "g": 2, "m": 2, "d": 4, "h": 6, "w": 7, "z": 2, "y": 2, "x": 3}

    def both(operation, letters, stride, dilation, label):
        image_dims, filter_dims, result_dims = letters
        spatial = sum(d in "dhw" for d in image_dims)
        stride, dilation = stride[-spatial:], dilation[-spatial:]
        image = numbers(rng, [sizes[d] for d in image_dims], np.float32)
        weights = numbers(rng, [sizes[d] for d in filter_dims], np.float32)
        result = convolution(image, weights, image_dims, filter_dims, result_dims, stride, dilation).astype(np.float32)
        lists = [f"dense<{list(values)}> : tensor<{spatial}xi64>" for values in (stride, dilation)]
        attributes = f"{{strides = {lists[0]}, dilations = {lists[1]}}}"
        file(f"linalg.{operation}").add(f"float32 {label}", [image, weights], [result],
                                        into(operation, [image, weights], result, attributes=attributes), rtol=1e-4, atol=1e-4)

    for operation, letters in forms.items():
        both(operation, letters, (1, 1, 1), (1, 1, 1), "")
        both(operation, letters, (1, 2, 2), (2, 1, 2), "strided")
    for operation, dims in (("conv_1d", "w"), ("conv_2d", "hw"), ("conv_3d", "dhw")):
        image, weights = numbers(rng, [sizes[d] for d in dims], np.float32), numbers(rng, [sizes[dict(zip("dhw", "zyx"))[d]] for d in dims], np.float32)
        result = convolution(image, weights, dims, "zyx"[-len(dims):], dims, [1] * len(dims), [1] * len(dims)).astype(np.float32)
        file(f"linalg.{operation}").add("float32", [image, weights], [result], into(operation, [image, weights], result), rtol=1e-4, atol=1e-4)
    for operation, letters in (("conv_2d_nhwc_hwcf_q", forms["conv_2d_nhwc_hwcf"]), ("conv_2d_nhwc_fhwc_q", forms["conv_2d_nhwc_fhwc"]),
                               ("conv_2d_nchw_fchw_q", forms["conv_2d_nchw_fchw"]),
                               ("conv_2d_ngchw_gfchw_q", forms["conv_2d_ngchw_gfchw"]), ("conv_2d_nhwgc_gfhwc_q", forms["conv_2d_nhwgc_gfhwc"]),
                               ("conv_3d_ndhwc_dhwcf_q", forms["conv_3d_ndhwc_dhwcf"]),
                               ("depthwise_conv_2d_nhwc_hwc_q", forms["depthwise_conv_2d_nhwc_hwc"]),
                               ("depthwise_conv_2d_nhwc_hwcm_q", forms["depthwise_conv_2d_nhwc_hwcm"])):
        image, weights = (numbers(rng, [sizes[d] for d in dims], np.int8) for dims in letters[:2])
        spatial = sum(d in "dhw" for d in letters[0])
        result = convolution(image.astype(int) - 3, weights.astype(int) + 2, *letters, [1] * spatial, [1] * spatial).astype(np.int32)
        file(f"linalg.{operation}").add("int8", [image, weights], [result],
            "%p = arith.constant 3 : i32\n%q = arith.constant -2 : i32\n" + filled("o", "0", result) +
            f"%r = linalg.{operation} {{strides = dense<1> : tensor<{spatial}xi64>, dilations = dense<1> : tensor<{spatial}xi64>}} ins(%a0, %a1, %p, %q : "
            f"{kind(image)}, {kind(weights)}, i32, i32) outs(%o : {kind(result)}) -> {kind(result)}\nreturn %r")


def pools(rng):
    layouts = {"nhwc": (2, 6, 7, 3), "nchw": (2, 3, 6, 7), "nwc": (2, 7, 3), "ncw": (2, 3, 7), "ndhwc": (1, 4, 6, 5, 2)}
    operations = [f"{layout}_{what}" for layout in layouts for what in ("sum", "max", "min", "max_unsigned", "min_unsigned")]
    for operation in operations:
        layout, what = operation.split("_", 1)
        if (what == "min" and layout[1] == "c") or ("unsigned" in what and layout not in ("nhwc", "nwc")):
            continue
        dtypes = (np.int8,) if "unsigned" in what else (np.float32, np.int32)
        for dtype in dtypes:
            image = numbers(rng, layouts[layout], dtype, *((-100, 100) if dtype == np.int32 else ()))
            spatial = [i for i, d in enumerate(layout) if d in "dhw"]
            kernel, stride = (2, 3, 2)[:len(spatial)], (2, 1, 2)[:len(spatial)]
            shape = list(image.shape)
            for axis, k, s in zip(spatial, kernel, stride):
                shape[axis] = (shape[axis] - k) // s + 1
            order = image.view(np.uint8) if "unsigned" in what else image
            result = np.zeros(shape, order.dtype)
            for place in np.ndindex(*[shape[axis] for axis in spatial]):
                cut, at = [slice(None)] * image.ndim, [slice(None)] * image.ndim
                for axis, p, k, s in zip(spatial, place, kernel, stride):
                    cut[axis], at[axis] = slice(p * s, p * s + k), p
                result[tuple(at)] = getattr(order[tuple(cut)], what.split("_")[0])(tuple(spatial))
            result = result.view(dtype)
            start = {"sum": "0", "max": "-1000", "min": "1000", "max_unsigned": "0", "min_unsigned": "-1"}[what]
            window = np.zeros(kernel, dtype)
            element = element_of(image)
            start += ".0" if dtype == np.float32 else ""
            file(f"linalg.pooling_{operation}").add(np.dtype(dtype).name, [image], [result],
                f"%w = tensor.empty() : {kind(window)}\n" + filled("o", start, result) +
                f"%r = linalg.pooling_{operation} {{strides = dense<{list(stride)}> : tensor<{len(spatial)}xi64>, dilations = dense<1> : "
                f"tensor<{len(spatial)}xi64>}} ins(%a0, %w : {kind(image)}, {kind(window)}) outs(%o : {kind(result)}) -> {kind(result)}\n"
                "return %r", rtol=1e-4, atol=1e-4)


def named_elementwise(rng):
    erf = np.vectorize(math.erf)
    for operation, function in (("exp", np.exp), ("log", np.log), ("abs", np.abs), ("ceil", np.ceil), ("floor", np.floor),
                                ("negf", np.negative), ("reciprocal", np.reciprocal), ("sqrt", np.sqrt), ("square", np.square),
                                ("tanh", np.tanh), ("erf", erf), ("rsqrt", lambda x: 1 / np.sqrt(x)),
                                ("round", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x))):
        a = numbers(rng, (3, 4), np.float32, *((0.1, 4) if operation in ("log", "sqrt", "rsqrt", "reciprocal") else ()))
        if operation == "round":
            a[0] = [0.5, 1.5, -0.5, -2.5]
        result = function(a.astype(np.float64)).astype(np.float32)
        file(f"linalg.{operation}").add("float32", [a], [result], into(operation, [a], result))
    for operation, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide), ("max", np.maximum),
                                ("min", np.minimum), ("powf", np.power)):
        a, b = numbers(rng, (3, 4), np.float32, 0.5, 3), numbers(rng, (3, 4), np.float32, 0.5, 3)
        result = function(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
        file(f"linalg.{operation}").add("float32", [a, b], [result], into(operation, [a, b], result))
    a, b = numbers(rng, (3, 4), np.int32, 1, 99), numbers(rng, (3, 4), np.int32, 1, 9)
    file("linalg.div_unsigned").add("int32", [a, b], [a // b], into("div_unsigned", [a, b], a, "0"))
    c, x, y = numbers(rng, (3, 4), np.bool_), numbers(rng, (3, 4), np.float32), numbers(rng, (3, 4), np.float32)
    file("linalg.select").add("float32", [c, x, y], [np.where(c, x, y)], into("select", [c, x, y], x))
    file("linalg.copy").add("float32", [x], [x], into("copy", [x], x))
    file("linalg.elementwise").add("add", [x, y], [x + y], into("elementwise", [x, y], x, attributes="kind=#linalg.elementwise_kind<add>"))
    file("linalg.elementwise").add("exp", [x], [np.exp(x)], into("elementwise", [x], x, attributes="kind=#linalg.elementwise_kind<exp>"))
    file("linalg.fill").add("float32", [x], [np.full((3, 4), 2.5, np.float32) + x], filled("f", "2.5", x) +
        f"%r = arith.addf %a0, %f : {kind(x)}\nreturn %r")
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    file("linalg.softmax").add("float32", [x], [(e / e.sum(1, keepdims=True)).astype(np.float32)],
        f"%o = tensor.empty() : {kind(x)}\n%r = linalg.softmax dimension(1) ins(%a0 : {kind(x)}) outs(%o : {kind(x)}) -> {kind(x)}\nreturn %r")


def moving(rng):
    a = numbers(rng, (2, 3, 4), np.float32)
    result = np.ascontiguousarray(a.transpose(2, 0, 1))
    file("linalg.transpose").add("float32", [a], [result], f"%o = tensor.empty() : {kind(result)}\n"
        f"%r = linalg.transpose ins(%a0 : {kind(a)}) outs(%o : {kind(result)}) permutation = [2, 0, 1]\nreturn %r")
    b = numbers(rng, (2, 4), np.float32)
    result = np.ascontiguousarray(np.broadcast_to(b[:, None, :], (2, 3, 4)))
    file("linalg.broadcast").add("float32", [b], [result], f"%o = tensor.empty() : {kind(result)}\n"
        f"%r = linalg.broadcast ins(%a0 : {kind(b)}) outs(%o : {kind(result)}) dimensions = [1]\nreturn %r")
    file("linalg.map").add("float32", [b, b], [b * b], f"%o = tensor.empty() : {kind(b)}\n"
        f"%r = linalg.map {{ arith.mulf }} ins(%a0, %a1 : {kind(b)}, {kind(b)}) outs(%o : {kind(b)})\nreturn %r")
    for what, function, start, kind_of in (("addf", np.sum, "0.0", np.float32), ("mulf", np.prod, "1.0", np.float32),
                                           ("maximumf", np.max, "-1000.0", np.float32), ("minimumf", np.min, "1000.0", np.float32),
                                           ("addi", np.sum, "0", np.int32), ("maxsi", np.max, "-99", np.int32)):
        x = numbers(rng, (2, 3, 4), kind_of, -9 if kind_of == np.int32 else None, 9 if kind_of == np.int32 else None)
        result = function(x, axis=1).astype(kind_of)
        file("linalg.reduce").add(what, [x], [result], filled("o", start, result) +
            f"%r = linalg.reduce {{ arith.{what} }} ins(%a0 : {kind(x)}) outs(%o : {kind(result)}) dimensions = [1]\nreturn %r")


def generics(rng):
    a, b = numbers(rng, (3, 4), np.float32), numbers(rng, (4,), np.float32)

    def generic(name, inputs, out, maps, iterators, body, start="0.0", operation="linalg.generic", **how):
        arguments = ", ".join(f"%x{i}: {element_of(t)}" for i, t in enumerate([*inputs, out]))
        names, types = ", ".join(f"%a{i}" for i in range(len(inputs))), ", ".join(kind(t) for t in inputs)
        kinds = ", ".join(f'"{i}"' for i in iterators)
        file(operation).add(name, inputs, [out], filled("o", start, out) +
            f"%r = linalg.generic {{indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs(%o : {kind(out)}) {{\n^bb0({arguments}):\n{body}\n}} -> {kind(out)}\nreturn %r", **how)

    p, r = "parallel", "reduction"
    generic("broadcast", [a, b], a * 2 + b, ["(i, j) -> (i, j)", "(i, j) -> (j)", "(i, j) -> (i, j)"], [p, p],
            "%c = arith.constant 2.0 : f32\n%m = arith.mulf %x0, %c : f32\n%s = arith.addf %m, %x1 : f32\nlinalg.yield %s : f32")
    generic("transposed", [a], np.ascontiguousarray(np.tanh(a).T), ["(i, j) -> (j, i)", "(i, j) -> (i, j)"], [p, p],
            "%t = math.tanh %x0 : f32\nlinalg.yield %t : f32")
    row = a[:1]
    generic("row", [row, a], row + a, ["(i, j) -> (0, j)", "(i, j) -> (i, j)", "(i, j) -> (i, j)"], [p, p],
            "%s = arith.addf %x0, %x1 : f32\nlinalg.yield %s : f32")
    generic("squares", [a], (a.astype(float) ** 2).sum(1).astype(np.float32), ["(i, j) -> (i, j)", "(i, j) -> (i)"], [p, r],
            "%m = arith.mulf %x0, %x0 : f32\n%s = arith.addf %x1, %m : f32\nlinalg.yield %s : f32")
    generic("largest", [a], a.max(0), ["(i, j) -> (j, i)", "(i, j) -> (i)"], [p, r],
            "%s = arith.maximumf %x1, %x0 : f32\nlinalg.yield %s : f32", start="0xFF800000")
    c, d = numbers(rng, (5, 2, 4), np.float32), numbers(rng, (4, 3, 2), np.float32)
    generic("contraction", [c, d], np.einsum("iaj,jka->ik", c.astype(float), d.astype(float)).astype(np.float32),
            ["(i, k, j, a) -> (i, a, j)", "(i, k, j, a) -> (j, k, a)", "(i, k, j, a) -> (i, k)"], [p, p, r, r],
            "%m = arith.mulf %x0, %x1 : f32\n%s = arith.addf %x2, %m : f32\nlinalg.yield %s : f32", rtol=1e-4, atol=1e-4)
    x, y = numbers(rng, (3, 4), np.int8), numbers(rng, (4, 5), np.int8)
    generic("unsigned by signed", [x, y], x.view(np.uint8).astype(np.int32) @ y.astype(np.int32),
            ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"], [p, p, r],
            "%u = arith.extui %x0 : i8 to i32\n%t = arith.extsi %x1 : i8 to i32\n%m = arith.muli %u, %t : i32\n"
            "%s = arith.addi %m, %x2 : i32\nlinalg.yield %s : i32", start="0")
    generic("index", [a], a + np.arange(4, dtype=np.float32) * 10, ["(i, j) -> (i, j)", "(i, j) -> (i, j)"], [p, p],
            "%j = linalg.index 1 : index\n%w = arith.index_cast %j : index to i32\n%f = arith.sitofp %w : i32 to f32\n"
            "%t = arith.constant 10.0 : f32\n%g = arith.mulf %f, %t : f32\n%s = arith.addf %x0, %g : f32\nlinalg.yield %s : f32",
            operation="linalg.index")
    where = np.array([3, 0, 2, 2, 1], np.int32)
    out = b[where]
    file("tensor.extract").add("in a body", [b, where], [out], filled("o", "0.0", out) +
        '%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} '
        f"ins(%a1 : {kind(where)}) outs(%o : {kind(out)}) {{\n^bb0(%x: i32, %y: f32):\n%i = arith.index_cast %x : i32 to index\n"
        f"%e = tensor.extract %a0[%i] : {kind(b)}\nlinalg.yield %e : f32\n}} -> {kind(out)}\nreturn %r")


def arithmetic(rng):
    def one(name, inputs, result, function, out=None):
        types = kind(inputs[0])
        file(f"{name}").add(inputs[0].dtype.name, inputs, [result], function(types) + "\nreturn %r")

    def binary(name, function, dtype, low=None, high=None):
        a, b = numbers(rng, (3, 4), dtype, low, high), numbers(rng, (3, 4), dtype, low, high)
        with np.errstate(all="ignore"):
            result = np.asarray(function(a, b)).astype(dtype)
        one(name, [a, b], result, lambda t: f"%r = {name} %a0, %a1 : {t}")

    unsigned = lambda f: lambda a, b: f(a.view(np.uint32), b.view(np.uint32)).view(np.int32)  # noqa: E731
    for name, function in (("addf", np.add), ("subf", np.subtract), ("mulf", np.multiply), ("divf", np.divide), ("remf", np.fmod),
                           ("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax), ("minnumf", np.fmin)):
        binary(f"arith.{name}", function, np.float32)
    for name, function in (("addi", np.add), ("subi", np.subtract), ("muli", np.multiply), ("andi", np.bitwise_and), ("ori", np.bitwise_or),
                           ("xori", np.bitwise_xor), ("maxsi", np.maximum), ("minsi", np.minimum), ("maxui", unsigned(np.maximum)),
                           ("minui", unsigned(np.minimum))):
        binary(f"arith.{name}", function, np.int32)
    a, b = numbers(rng, (3, 4), np.int32, -99, 99), numbers(rng, (3, 4), np.int32, 1, 9) * rng.choice([-1, 1], (3, 4)).astype(np.int32)
    for name, result in (("divsi", np.trunc(a / b)), ("remsi", np.fmod(a, b)), ("floordivsi", np.floor(a / b)), ("ceildivsi", np.ceil(a / b)),
                         ("divui", a.view(np.uint32) // b.view(np.uint32)), ("remui", a.view(np.uint32) % b.view(np.uint32)),
                         ("ceildivui", -(-a.view(np.uint32).astype(np.int64) // b.view(np.uint32)))):
        result = np.asarray(result).astype(np.int64).astype(np.int32)
        one(f"arith.{name}", [a, b], result, lambda t: f"%r = arith.{name} %a0, %a1 : {t}")
    by = numbers(rng, (3, 4), np.int32, 0, 31)
    for name, result in (("shli", a << by), ("shrsi", a >> by), ("shrui", (a.view(np.uint32) >> by.view(np.uint32)).view(np.int32))):
        one(f"arith.{name}", [a, by], result, lambda t: f"%r = arith.{name} %a0, %a1 : {t}")
    for predicate, function in (("eq", np.equal), ("ne", np.not_equal), ("slt", np.less), ("sge", np.greater_equal),
                                ("ult", lambda p, q: p.view(np.uint32) < q.view(np.uint32)), ("uge", lambda p, q: p.view(np.uint32) >= q.view(np.uint32))):
        file("arith.cmpi").add(predicate, [a, b], [function(a, b)], f"%r = arith.cmpi {predicate}, %a0, %a1 : {kind(a)}\nreturn %r")
    x, y = numbers(rng, (3, 4), np.float32), numbers(rng, (3, 4), np.float32)
    x[0, 0] = y[1, 1] = np.nan
    x[2] = y[2]
    for predicate, function in (("oeq", np.equal), ("une", np.not_equal), ("olt", np.less), ("oge", np.greater_equal),
                                ("ugt", lambda p, q: ~(p <= q)), ("ule", lambda p, q: ~(p > q)), ("one", lambda p, q: (p < q) | (p > q)),
                                ("ueq", lambda p, q: ~((p < q) | (p > q))), ("ord", lambda p, q: ~(np.isnan(p) | np.isnan(q))),
                                ("uno", lambda p, q: np.isnan(p) | np.isnan(q))):
        file("arith.cmpf").add(predicate, [x, y], [function(x, y)], f"%r = arith.cmpf {predicate}, %a0, %a1 : {kind(x)}\nreturn %r")
    c = numbers(rng, (3, 4), np.bool_)
    file("arith.select").add("float32", [c, x, y], [np.where(c, x, y)], f"%r = arith.select %a0, %a1, %a2 : {kind(c)}, {kind(x)}\nreturn %r")
    one("arith.negf", [x], -x, lambda t: f"%r = arith.negf %a0 : {t}")
    file("arith.constant").add("float32", [], [np.array([1, 2.5], np.float32)], "%r = arith.constant dense<[1.0, 2.5]> : tensor<2xf32>\nreturn %r")
    f, i8, i32 = numbers(rng, (3, 4), np.float32, -200, 200), numbers(rng, (3, 4), np.int8), numbers(rng, (3, 4), np.int32)
    for name, source, result in (("extf", f.astype(np.float16), f.astype(np.float16).astype(np.float32)), ("truncf", f, f.astype(np.float16)),
                                 ("extsi", i8, i8.astype(np.int32)), ("extui", i8, i8.view(np.uint8).astype(np.int32)),
                                 ("trunci", i32, i32.astype(np.int8)), ("trunci", i32, (i32 & 1).astype(bool)),
                                 ("extui", c, c.astype(np.int32)), ("extsi", c, -c.astype(np.int32)),
                                 ("sitofp", i8, i8.astype(np.float32)), ("uitofp", i8, i8.view(np.uint8).astype(np.float32)),
                                 ("fptosi", f, np.trunc(f).astype(np.int32)), ("fptoui", np.abs(f), np.trunc(np.abs(f)).astype(np.uint8).view(np.int8)),
                                 ("bitcast", f, f.view(np.int32))):
        file(f"arith.{name}").add(f"{source.dtype.name} to {result.dtype.name}", [source], [result],
                                  f"%r = arith.{name} %a0 : {kind(source)} to {kind(result)}\nreturn %r")
    file("tensor.bitcast").add("int8", [i8], [i8], f"%b = tensor.bitcast %a0 : {kind(i8)} to tensor<3x4xui8>\n"
        f"%r = tensor.bitcast %b : tensor<3x4xui8> to {kind(i8)}\nreturn %r")
    index = f"tensor<3x4xindex>"
    for name, wide in (("index_cast", i8.astype(np.int64)), ("index_castui", i8.view(np.uint8).astype(np.int64))):
        file(f"arith.{name}").add("int8", [i8], [wide.astype(np.int32)], f"%i = arith.{name} %a0 : {kind(i8)} to {index}\n"
            f"%r = arith.{name} %i : {index} to tensor<3x4xi32>\nreturn %r")


def functions(rng):
    vector = np.vectorize
    plain = {"absf": (np.abs, -3, 3), "acos": (np.arccos, -1, 1), "acosh": (np.arccosh, 1, 3), "asin": (np.arcsin, -1, 1),
             "asinh": (np.arcsinh, -3, 3), "atan": (np.arctan, -3, 3), "atanh": (np.arctanh, -0.9, 0.9), "ceil": (np.ceil, -3, 3),
             "cos": (np.cos, -3, 3), "cosh": (np.cosh, -3, 3), "erf": (vector(math.erf), -3, 3), "erfc": (vector(math.erfc), -3, 5),
             "exp": (np.exp, -3, 3), "exp2": (np.exp2, -3, 3), "expm1": (np.expm1, -1, 1), "floor": (np.floor, -3, 3),
             "log": (np.log, 0.1, 9), "log10": (np.log10, 0.1, 9), "log1p": (np.log1p, -0.5, 2), "log2": (np.log2, 0.1, 9),
             "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -3, 3), "roundeven": (np.rint, -3, 3),
             "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9), "sin": (np.sin, -3, 3), "sinh": (np.sinh, -3, 3), "sqrt": (np.sqrt, 0, 9),
             "tan": (np.tan, -1, 1), "tanh": (np.tanh, -3, 3), "trunc": (np.trunc, -3, 3)}
    for name, (function, low, high) in plain.items():
        for dtype in (np.float32, np.float16):
            a = numbers(rng, (3, 4), dtype, low, high)
            result = function(a.astype(np.float64)).astype(dtype)
            file(f"math.{name}").add(a.dtype.name, [a], [result], f"%r = math.{name} %a0 : {kind(a)}\nreturn %r",
                                     rtol=2e-3 if dtype == np.float16 else 1e-5, atol=1e-3 if dtype == np.float16 else 1e-7)
    a, b, c = (numbers(rng, (3, 4), np.float32, 0.25, 3) for _ in range(3))
    file("math.powf").add("float32", [a, b], [np.power(a.astype(float), b).astype(np.float32)], f"%r = math.powf %a0, %a1 : {kind(a)}\nreturn %r")
    file("math.copysign").add("float32", [a, -b], [np.copysign(a, -b)], f"%r = math.copysign %a0, %a1 : {kind(a)}\nreturn %r")
    file("math.fma").add("float32", [a, b, c], [a * b + c], f"%r = math.fma %a0, %a1, %a2 : {kind(a)}\nreturn %r")
    file("math.clampf").add("float32", [a], [np.clip(a, 1, 2)],
        f"%l = arith.constant dense<1.0> : {kind(a)}\n%h = arith.constant dense<2.0> : {kind(a)}\n"
        f"%r = math.clampf %a0 to [%l, %h] : {kind(a)}\nreturn %r")
    n = numbers(rng, (3, 4), np.int32, -3, 3)
    file("math.fpowi").add("float32", [a, n], [np.power(a.astype(float), n).astype(np.float32)], f"%r = math.fpowi %a0, %a1 : {kind(a)}, {kind(n)}\nreturn %r")
    m = np.abs(n)
    file("math.ipowi").add("int32", [n, m], [np.power(n, m)], f"%r = math.ipowi %a0, %a1 : {kind(n)}\nreturn %r")
    file("math.absi").add("int32", [n], [np.abs(n)], f"%r = math.absi %a0 : {kind(n)}\nreturn %r")
    special = np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)
    for name, function in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        file(f"math.{name}").add("float32", [special], [function(special)], f"%r = math.{name} %a0 : {kind(special)}\nreturn %r")
    bits = np.array([1, 0, -1, 2**31 - 1, -(2**31), 40], np.int32)
    for name, result in (("ctlz", [31, 32, 0, 1, 0, 26]), ("cttz", [0, 32, 0, 0, 31, 3]), ("ctpop", [1, 0, 32, 31, 1, 2])):
        file(f"math.{name}").add("int32", [bits], [np.array(result, np.int32)], f"%r = math.{name} %a0 : {kind(bits)}\nreturn %r")


def tensors(rng):
    a = numbers(rng, (4, 6), np.float32)
    result = a[1:4:2, 2:5]
    file("tensor.extract_slice").add("strided", [a], [result], f"%r = tensor.extract_slice %a0[1, 2] [2, 3] [2, 1] : {kind(a)} to {kind(result)}\nreturn %r")
    file("tensor.extract_slice").add("rank", [a], [a[2, 1:4]], f"%r = tensor.extract_slice %a0[2, 1] [1, 3] [1, 1] : {kind(a)} to tensor<3xf32>\nreturn %r")
    part, result = numbers(rng, (2, 3), np.float32), a.copy()
    result[1:4:2, 2:5] = part
    file("tensor.insert_slice").add("strided", [part, a], [result], f"%r = tensor.insert_slice %a0 into %a1[1, 2] [2, 3] [2, 1] : {kind(part)} into {kind(a)}\nreturn %r")
    result = np.pad(a, ((1, 2), (0, 3)), constant_values=1.5)
    file("tensor.pad").add("float32", [a], [result], f"%v = arith.constant 1.5 : f32\n%r = tensor.pad %a0 low[1, 0] high[2, 3] {{\n^bb0(%i: index, %j: index):\n"
        f"tensor.yield %v : f32\n}} : {kind(a)} to {kind(result)}\nreturn %r")
    b = a.reshape(2, 2, 6)
    file("tensor.expand_shape").add("float32", [a], [b], f"%r = tensor.expand_shape %a0 [[0, 1], [2]] output_shape [2, 2, 6] : {kind(a)} into {kind(b)}\nreturn %r")
    file("tensor.collapse_shape").add("float32", [b], [a], f"%r = tensor.collapse_shape %a0 [[0, 1], [2]] : {kind(b)} into {kind(a)}\nreturn %r")
    result = np.concatenate([a, a], 1)
    file("tensor.concat").add("float32", [a], [result], f"%r = tensor.concat dim(1) %a0, %a0 : ({kind(a)}, {kind(a)}) -> {kind(result)}\nreturn %r")
    file("tensor.reshape").add("float32", [a], [a.reshape(3, 8)], f"%s = arith.constant dense<[3, 8]> : tensor<2xi32>\n"
        f"%r = tensor.reshape %a0(%s) : ({kind(a)}, tensor<2xi32>) -> tensor<3x8xf32>\nreturn %r")
    file("tensor.splat").add("float32", [], [np.full((2, 3), 4, np.float32)], "%v = arith.constant 4.0 : f32\n%r = tensor.splat %v : tensor<2x3xf32>\nreturn %r")
    file("tensor.from_elements").add("float32", [], [np.array([4, 5, 4], np.float32)],
        "%v = arith.constant 4.0 : f32\n%w = arith.constant 5.0 : f32\n%r = tensor.from_elements %v, %w, %v : tensor<3xf32>\nreturn %r")
    file("tensor.extract").add("one", [a], [np.full((2,), a[2, 3], np.float32)], f"%i = arith.constant 2 : index\n%j = arith.constant 3 : index\n"
        f"%e = tensor.extract %a0[%i, %j] : {kind(a)}\n%r = tensor.splat %e : tensor<2xf32>\nreturn %r")
    result = np.add.outer(np.arange(3) * 10, np.arange(2)).astype(np.int32)
    file("tensor.generate").add("int32", [], [result], "%r = tensor.generate {\n^bb0(%i: index, %j: index):\n%t = arith.constant 10 : index\n"
        "%m = arith.muli %i, %t : index\n%s = arith.addi %m, %j : index\n%w = arith.index_cast %s : index to i32\n"
        "tensor.yield %w : i32\n} : tensor<3x2xi32>\nreturn %r")
    for name, body in (("dim", f"%o = arith.constant 1 : index\n%n = tensor.dim %a0, %o : {kind(a)}"), ("rank", f"%n = tensor.rank %a0 : {kind(a)}")):
        result = np.array([6 if name == "dim" else 2], np.int32)
        file(f"tensor.{name}").add("float32", [a], [result], f"{body}\n%c = arith.index_cast %n : index to i32\n%r = tensor.from_elements %c : tensor<1xi32>\nreturn %r")
    file("tensor.cast").add("float32", [a], [a], f"%d = tensor.cast %a0 : {kind(a)} to tensor<?x6xf32>\n%r = tensor.cast %d : tensor<?x6xf32> to {kind(a)}\nreturn %r")
    file("tensor.empty").add("float32", [a], [a * 0 + 1], filled("r", "1.0", a) + "return %r")


def files():
    rng = np.random.default_rng(3)
    for family in (products, convolutions, pools, named_elementwise, moving, generics, arithmetic, functions, tensors):
        family(rng)
    return FILES.values()
