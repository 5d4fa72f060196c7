"""TOSA's elementwise operations, reductions, shapes, indices and control flow."""
import math

import numpy as np

from program_text import File, kind, to_bf16

F32 = np.float32


def dense_of(value, element):
    return f'"tosa.const"() <{{values = dense<{value}> : tensor<1x{element}>}}> : () -> tensor<1x{element}>'


def shape_of(values):
    values = list(values)
    inner = ", ".join(map(str, values))
    return (f'"tosa.const_shape"() <{{values = dense<[{inner}]> : tensor<{len(values)}xindex>}}> : () -> '
            f"!tosa.shape<{len(values)}>")


def shape_type(values):
    return f"!tosa.shape<{len(list(values))}>"


def call(operation, inputs, output, attributes=""):
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(inputs)
    return f'%r = "tosa.{operation}"({names}){attributes} : ({types}) -> {output}\nreturn %r'


def numbers(rng, shape, dtype, low=None, high=None):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return rng.uniform(-3 if low is None else low, 3 if high is None else high, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min if low is None else low, (info.max if high is None else high) + 1, shape, dtype=dtype)


def elementwise(rng):
    def binary(operation, function, dtypes, low=None, high=None, out=None, attributes="", suffix=""):
        file = FILES.setdefault(operation, File(f"tosa.{operation}"))
        for dtype in dtypes:
            for a_shape, b_shape in (((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (1, 3, 1))):
                a, b = numbers(rng, a_shape, dtype, low, high), numbers(rng, b_shape, dtype, low, high)
                with np.errstate(all="ignore"):
                    result = np.asarray(function(a, b)).astype(out or dtype)
                file.add(f"{np.dtype(dtype).name}{suffix} {'x'.join(map(str, b_shape))}", [a, b], [result],
                         call(operation, [kind(a), kind(b)], kind(result), attributes))

    ints, floats = [np.int8, np.int16, np.int32], [np.float32, np.float16]
    binary("add", np.add, [np.int32, np.float32, np.float16], -1000, 1000)
    binary("sub", np.subtract, [np.int32, np.float32, np.float16], -1000, 1000)
    for operation, function in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                                ("bitwise_xor", np.bitwise_xor)):
        binary(operation, function, ints)
    for operation, function in (("logical_and", np.logical_and), ("logical_or", np.logical_or),
                                ("logical_xor", np.logical_xor)):
        binary(operation, function, [np.bool_])
    binary("equal", np.equal, [np.int32, np.float32], -2, 2, out=bool)
    binary("greater", np.greater, [np.int32, np.float32], -2, 2, out=bool)
    binary("greater_equal", np.greater_equal, [np.int32, np.float32], -2, 2, out=bool)
    binary("maximum", np.maximum, [np.int32] + floats)
    binary("minimum", np.minimum, [np.int32] + floats)
    binary("pow", lambda a, b: np.power(a.astype(np.float64), b.astype(np.float64)), floats, 0.25, 2)
    binary("intdiv", lambda a, b: np.trunc(a.astype(float) / b.astype(float)), [np.int32], 1, 50)
    nan = np.array([np.nan, 1, np.nan, -2], F32), np.array([3, np.nan, np.nan, 5], F32)
    for operation, function in (("maximum", np.fmax), ("minimum", np.fmin)):
        plain = np.maximum if operation == "maximum" else np.minimum
        for mode, how in (("IGNORE", function), ("PROPAGATE", plain)):
            result = how(*nan)
            FILES[operation].add(f"nan {mode}", list(nan), [result],
                                 call(operation, [kind(nan[0])] * 2, kind(result), f" <{{nan_mode = #tosa.nan_mode<{mode}>}}>"))
    for round_up in (False, True):
        file = FILES.setdefault("arithmetic_right_shift", File("tosa.arithmetic_right_shift"))
        for dtype in ints:
            a, by = numbers(rng, (3, 5), dtype), numbers(rng, (3, 5), dtype, 0, np.iinfo(dtype).bits - 1)
            wide = [int(x) >> int(s) for x, s in zip(a.flat, by.flat)]
            if round_up:
                wide = [w + ((int(x) >> (int(s) - 1)) & 1 if s > 0 else 0) for w, x, s in zip(wide, a.flat, by.flat)]
            result = np.array(wide).reshape(a.shape).astype(dtype)
            file.add(f"{np.dtype(dtype).name} {round_up}", [a, by], [result],
                     call("arithmetic_right_shift", [kind(a)] * 2, kind(a), f" <{{round = {str(round_up).lower()}}}>"))
    for operation in ("logical_left_shift", "logical_right_shift"):
        file = FILES.setdefault(operation, File(f"tosa.{operation}"))
        for dtype in ints:
            bits = np.iinfo(dtype).bits
            a, by = numbers(rng, (3, 5), dtype), numbers(rng, (3, 5), dtype, 0, bits - 1)
            unsigned = a.view(f"u{dtype().itemsize}").astype(np.uint64)
            moved = unsigned << by.astype(np.uint64) if "left" in operation else unsigned >> by.astype(np.uint64)
            result = (moved & np.uint64(2**bits - 1)).astype(f"u{dtype().itemsize}").view(dtype)
            file.add(np.dtype(dtype).name, [a, by], [result], call(operation, [kind(a)] * 2, kind(a)))


def products(rng):
    file = FILES.setdefault("mul", File("tosa.mul"))
    for dtype, shift in ((np.int8, 0), (np.int16, 0), (np.int32, 0), (np.int32, 7), (np.int32, 31), (np.float32, 0),
                         (np.float16, 0)):
        big = 2**15 if dtype == np.int32 and shift == 0 else None
        a = numbers(rng, (2, 3), dtype, -big if big else None, big)
        b = numbers(rng, (2, 1), dtype, -big if big else None, big)
        if np.dtype(dtype).kind == "f":
            result = a * b
        else:
            exact = [[int(x) * int(y[0]) for x in row] for row, y in zip(a, b)]
            half = (1 << (shift - 1)) if shift else 0
            if shift == 7:
                a, b = a // 2**16, b // 2**16
                exact = [[int(x) * int(y[0]) for x in row] for row, y in zip(a, b)]
            result = np.array([[(x + half) >> shift for x in row] for row in exact]).astype(np.int32)
        body = f"%s = {dense_of(shift, 'i8')}\n" + (
            f'%r = "tosa.mul"(%a0, %a1, %s) : ({kind(a)}, {kind(b)}, tensor<1xi8>) -> {kind(result)}\nreturn %r')
        file.add(f"{np.dtype(dtype).name} shift {shift}", [a, b], [result], body, rtol=1e-3 if dtype == np.float16 else 1e-5)


def unary(rng):
    erf = np.vectorize(math.erf)

    def one(operation, function, dtypes, low=None, high=None, out=None, rtol=1e-5):
        file = FILES.setdefault(operation, File(f"tosa.{operation}"))
        for dtype in dtypes:
            a = numbers(rng, (3, 7), dtype, low, high)
            wide = a.astype(np.float64) if a.dtype.kind == "f" else a
            result = np.asarray(function(wide)).astype(out or dtype)
            file.add(np.dtype(dtype).name, [a], [result], call(operation, [kind(a)], kind(result)),
                     rtol=2e-3 if dtype == np.float16 else rtol)

    floats = [np.float32, np.float16]
    one("abs", np.abs, [np.int32] + floats, -100, 100)
    one("bitwise_not", np.bitwise_not, [np.int8, np.int16, np.int32])
    one("logical_not", np.logical_not, [np.bool_])
    for operation, function in (("ceil", np.ceil), ("floor", np.floor), ("cos", np.cos), ("sin", np.sin), ("exp", np.exp),
                                ("tanh", np.tanh), ("erf", erf), ("sigmoid", lambda x: 1 / (1 + np.exp(-x)))):
        one(operation, function, floats)
    one("log", np.log, floats, 0.1, 10)
    one("rsqrt", lambda x: 1 / np.sqrt(x), floats, 0.1, 10)
    one("reciprocal", lambda x: 1 / x, floats, 0.1, 10)
    one("identity", lambda x: x, [np.float32, np.int8, np.bool_])
    one("clz", np.vectorize(lambda x: 32 - int(x & 0xFFFFFFFF).bit_length() if x >= 0 else 0), [np.int32])
    zero = np.array([0, 1, -1, 2**31 - 1, -(2**31), 255], np.int32)
    FILES["clz"].add("edges", [zero], [np.array([32, 31, 0, 1, 0, 24], np.int32)], call("clz", [kind(zero)], kind(zero)))
    file = FILES.setdefault("negate", File("tosa.negate"))
    for dtype, in_zero, out_zero in ((np.int8, 3, -5), (np.int16, 0, 0), (np.int32, 0, 0), (np.float32, 0, 0)):
        a = numbers(rng, (4, 5), dtype)
        t = kind(a)[len("tensor<4x5x"):-1]
        if a.dtype.kind == "f":
            result = -a
        else:
            info = np.iinfo(dtype)
            exact = [out_zero + in_zero - int(x) for x in a.flat]
            result = np.array([x if dtype == np.int32 else min(max(x, info.min), info.max) for x in exact]).reshape(a.shape)
            result = result.astype(np.int64).astype(dtype)
        literal = (lambda v: f"{v}.0") if a.dtype.kind == "f" else str
        file.add(np.dtype(dtype).name, [a], [result],
                 f"%i = {dense_of(literal(in_zero), t)}\n%o = {dense_of(literal(out_zero), t)}\n"
                 f'%r = "tosa.negate"(%a0, %i, %o) : ({kind(a)}, tensor<1x{t}>, tensor<1x{t}>) -> {kind(a)}\nreturn %r')
    file = FILES.setdefault("clamp", File("tosa.clamp"))
    for dtype, low, high in ((np.int8, -10, 100), (np.int16, -300, 3000), (np.float32, -1.5, 0.75)):
        a = numbers(rng, (4, 5), dtype)
        t = kind(a)[len("tensor<4x5x"):-1]
        result = np.clip(a, low, high).astype(dtype)
        file.add(np.dtype(dtype).name, [a], [result],
                 call("clamp", [kind(a)], kind(a), f" <{{min_val = {low} : {t}, max_val = {high} : {t}}}>"))
    a = np.array([np.nan, -7, 7, 0], F32)
    for mode, first in (("PROPAGATE", np.nan), ("IGNORE", -1)):
        result = np.array([first, -1, 2, 0], F32)
        file.add(f"nan {mode}", [a], [result], call("clamp", [kind(a)], kind(a),
                 f" <{{min_val = -1.0 : f32, max_val = 2.0 : f32, nan_mode = #tosa.nan_mode<{mode}>}}>"))


def casts(rng):
    file = FILES.setdefault("cast", File("tosa.cast"))
    for source, target in ((np.float32, np.int8), (np.float32, np.int16), (np.float32, np.int32), (np.float16, np.int32),
                           (np.int8, np.float32), (np.int16, np.float16), (np.int32, np.float32), (np.float32, np.float16),
                           (np.float16, np.float32), (np.int32, np.int8), (np.int8, np.int32), (np.int16, np.int8),
                           (np.int32, np.bool_), (np.bool_, np.int8), (np.bool_, np.int32)):
        a = numbers(rng, (24,), source, -300 if np.dtype(source).kind == "f" else None, 300 if np.dtype(source).kind == "f" else None)
        if np.dtype(source).kind == "f":
            a[:6] = [0.5, 1.5, 2.5, -0.5, -1.5, 1000]
        if np.dtype(source).kind == "f" and np.dtype(target).kind == "i":
            info = np.iinfo(target)
            result = np.clip(np.rint(a.astype(np.float64)), info.min, info.max).astype(target)
        elif np.dtype(target) == np.bool_:
            a[3] = 0
            result = a != 0
        else:
            result = a.astype(target)
        file.add(f"{np.dtype(source).name} to {np.dtype(target).name}", [a], [result], call("cast", [kind(a)], kind(result)))
    a = numbers(rng, (12,), np.float32)
    file.add("float32 to bfloat16", [a], [(to_bf16(a), "bf16")], call("cast", [kind(a)], "tensor<12xbf16>"))


def selections(rng):
    file = FILES.setdefault("select", File("tosa.select"))
    for dtype in (np.float32, np.int32, np.int8, np.bool_):
        c, a, b = numbers(rng, (2, 1, 4), np.bool_), numbers(rng, (2, 3, 4), dtype), numbers(rng, (1, 3, 1), dtype)
        result = np.where(c, a, b)
        file.add(np.dtype(dtype).name, [c, a, b], [result], call("select", [kind(c), kind(a), kind(b)], kind(result)))


def reductions(rng):
    def one(operation, function, dtypes, low=None, high=None):
        file = FILES.setdefault(operation, File(f"tosa.{operation}"))
        for dtype in dtypes:
            for axis in (0, 1, 2):
                a = numbers(rng, (3, 4, 5), dtype, low, high)
                wide = a.astype(np.float64) if a.dtype.kind == "f" else a
                result = np.asarray(function(wide, axis=axis, keepdims=True)).astype(dtype)
                file.add(f"{np.dtype(dtype).name} axis {axis}", [a], [result],
                         call(operation, [kind(a)], kind(result), f" <{{axis = {axis} : i32}}>"),
                         rtol=2e-3 if dtype == np.float16 else 1e-5, atol=1e-2 if dtype == np.float16 else 1e-5)

    one("reduce_all", np.all, [np.bool_])
    one("reduce_any", np.any, [np.bool_])
    one("reduce_max", np.max, [np.int8, np.int32, np.float32, np.float16])
    one("reduce_min", np.min, [np.int16, np.int32, np.float32])
    one("reduce_sum", np.sum, [np.int32, np.float32, np.float16], -50, 50)
    one("reduce_product", np.prod, [np.float32], 0.5, 1.5)
    nan = np.array([[np.nan, 1, 5], [np.nan, np.nan, np.nan]], F32)
    for operation, function in (("reduce_max", np.fmax.reduce), ("reduce_min", np.fmin.reduce)):
        plain = np.maximum if operation == "reduce_max" else np.minimum
        for mode, how in (("IGNORE", function), ("PROPAGATE", plain.reduce)):
            result = how(nan, axis=1, keepdims=True)
            FILES[operation].add(f"nan {mode}", [nan], [result],
                                 call(operation, [kind(nan)], kind(result), f" <{{axis = 1 : i32, nan_mode = #tosa.nan_mode<{mode}>}}>"))
    file = FILES.setdefault("argmax", File("tosa.argmax"))
    for dtype in (np.int8, np.int16, np.float32, np.float16):
        for axis in (0, 1, 2):
            a = numbers(rng, (3, 4, 5), dtype, -3, 3)
            result = np.argmax(a, axis=axis).astype(np.int32)
            file.add(f"{np.dtype(dtype).name} axis {axis}", [a], [result],
                     call("argmax", [kind(a)], kind(result), f" <{{axis = {axis} : i32}}>"))
    a = np.array([[1, np.nan, 3], [np.nan, np.nan, -1]], F32)
    for mode, result in (("IGNORE", [2, 2]), ("PROPAGATE", [1, 0])):
        result = np.array(result, np.int32)
        file.add(f"nan {mode}", [a], [result], call("argmax", [kind(a)], kind(result), f" <{{axis = 1 : i32, nan_mode = #tosa.nan_mode<{mode}>}}>"))


def shapes(rng):
    a = numbers(rng, (2, 3, 4), np.float32)
    b = numbers(rng, (2, 3, 4), np.int8)
    flags = numbers(rng, (2, 3, 4), np.bool_)
    for array in (a, b, flags):
        name = array.dtype.name
        FILES.setdefault("reshape", File("tosa.reshape")).add(name, [array], [array.reshape(6, 4)],
            f"%s = {shape_of((6, 4))}\n%r = \"tosa.reshape\"(%a0, %s) : ({kind(array)}, {shape_type((6, 4))}) -> "
            f"{kind(array.reshape(6, 4))}\nreturn %r")
        for axis in (0, 2):
            result = np.flip(array, axis)
            FILES.setdefault("reverse", File("tosa.reverse")).add(f"{name} axis {axis}", [array], [result],
                call("reverse", [kind(array)], kind(array), f" <{{axis = {axis} : i32}}>"))
        result = array[1:2, 0:2, 1:4]
        FILES.setdefault("slice", File("tosa.slice")).add(name, [array], [result],
            f"%s = {shape_of((1, 0, 1))}\n%z = {shape_of((1, 2, 3))}\n%r = \"tosa.slice\"(%a0, %s, %z) : ({kind(array)}, "
            f"!tosa.shape<3>, !tosa.shape<3>) -> {kind(result)}\nreturn %r")
        result = np.tile(array, (2, 1, 3))
        FILES.setdefault("tile", File("tosa.tile")).add(name, [array], [result],
            f"%s = {shape_of((2, 1, 3))}\n%r = \"tosa.tile\"(%a0, %s) : ({kind(array)}, !tosa.shape<3>) -> {kind(result)}\n"
            "return %r")
        result = np.transpose(array, (2, 0, 1))
        FILES.setdefault("transpose", File("tosa.transpose")).add(name, [array], [result],
            call("transpose", [kind(array)], kind(result), " <{perms = array<i32: 2, 0, 1>}>"))
        for axis in (0, 1):
            other = numbers(rng, (2, 3, 4), array.dtype)
            result = np.concatenate([array, other, array], axis)
            FILES.setdefault("concat", File("tosa.concat")).add(f"{name} axis {axis}", [array, other], [result],
                f'%r = "tosa.concat"(%a0, %a1, %a0) <{{axis = {axis} : i32}}> : ({", ".join([kind(array)] * 3)}) -> '
                f"{kind(result)}\nreturn %r")
        amounts = (1, 0, 0, 2, 1, 1)
        value = {"float32": "1.5", "int8": "7", "bool": "true"}[name]
        result = np.pad(array, ((1, 0), (0, 2), (1, 1)), constant_values=eval(value.title() if name == "bool" else value))
        element = {"float32": "f32", "int8": "i8", "bool": "i1"}[name]
        FILES.setdefault("pad", File("tosa.pad")).add(name, [array], [result],
            f"%s = {shape_of(amounts)}\n%v = {dense_of(value, element)}\n%r = \"tosa.pad\"(%a0, %s, %v) : ({kind(array)}, "
            f"!tosa.shape<6>, tensor<1x{element}>) -> {kind(result)}\nreturn %r")
    small = np.array([[1, -2], [3, 4]], np.int32)
    FILES.setdefault("const", File("tosa.const")).add("int32", [small], [small + small],
        '%c = "tosa.const"() <{values = dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>}> : () -> tensor<2x2xi32>\n'
        '%r = "tosa.add"(%a0, %c) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>\nreturn %r')
    nibbles = np.array([1, -8, 7, 3], np.int8)
    FILES["const"].add("int4", [nibbles], [nibbles],
        '%c = "tosa.const"() <{values = dense<[1, -8, 7, 3]> : tensor<4xi4>}> : () -> tensor<4xi4>\n'
        '%d = "tosa.cast"(%c) : (tensor<4xi4>) -> tensor<4xi8>\n'
        '%r = "tosa.bitwise_and"(%a0, %d) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>\nreturn %r')
    FILES.setdefault("const_shape", File("tosa.const_shape")).add("reshape", [a], [a.reshape(24)],
        f"%s = {shape_of((24,))}\n%r = \"tosa.reshape\"(%a0, %s) : ({kind(a)}, !tosa.shape<1>) -> tensor<24xf32>\nreturn %r")


def shape_values(rng):
    a = numbers(rng, (4, 6), np.float32)

    def one(operation, lines, shape):
        """`lines` make the shape %s, of two extents."""
        result = a.reshape(shape)
        FILES.setdefault(operation, File(f"tosa.{operation}")).add("reshape", [a], [result],
            lines + f'\n%r = "tosa.reshape"(%a0, %s) : ({kind(a)}, !tosa.shape<2>) -> {kind(result)}\nreturn %r')

    for operation, left, right, shape in (("add_shape", (1, 3), (2, 5), (3, 8)), ("sub_shape", (5, 9), (2, 1), (3, 8)),
                                          ("mul_shape", (3, 2), (1, 4), (3, 8)), ("max_shape", (3, 2), (1, 8), (3, 8)),
                                          ("min_shape", (3, 9), (5, 8), (3, 8))):
        one(operation, f'%l = {shape_of(left)}\n%h = {shape_of(right)}\n%s = "tosa.{operation}"(%l, %h) : (!tosa.shape<2>, '
            "!tosa.shape<2>) -> !tosa.shape<2>", shape)
    two = '%d = "tosa.dim"(%a0) <{axis = 1 : i32}> : (tensor<4x6xf32>) -> !tosa.shape<1>\n' + f"%f = {shape_of((4,))}\n"
    join = '%s = "tosa.concat_shape"(%d, %f) : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<2>'
    one("dim", two + join, (6, 4))
    one("concat_shape", two + join, (6, 4))


def indices(rng):
    for dtype in (np.float32, np.int8, np.int32):
        values, where = numbers(rng, (2, 5, 3), dtype), numbers(rng, (2, 4), np.int32, 0, 4)
        result = np.stack([values[n][where[n]] for n in range(2)])
        FILES.setdefault("gather", File("tosa.gather")).add(np.dtype(dtype).name, [values, where], [result],
            call("gather", [kind(values), kind(where)], kind(result)))
        places = np.stack([rng.permutation(5)[:3] for _ in range(2)]).astype(np.int32)
        updates, result = numbers(rng, (2, 3, 3), dtype), values.copy()
        for n in range(2):
            result[n][places[n]] = updates[n]
        FILES.setdefault("scatter", File("tosa.scatter")).add(np.dtype(dtype).name, [values, places, updates], [result],
            call("scatter", [kind(values), kind(places), kind(updates)], kind(result)))
    table = numbers(rng, (256,), np.int8)
    a = numbers(rng, (3, 7), np.int8)
    a[0, :2] = [-128, 127]
    FILES.setdefault("table", File("tosa.table")).add("int8", [a, table], [table[a.astype(int) + 128]],
        call("table", [kind(a), kind(table)], kind(a)))
    table = (np.linspace(-1, 1, 513) ** 3 * 20000).astype(np.int16)
    a = numbers(rng, (3, 7), np.int16)
    a[0, :2] = [-32768, 32767]
    index, part = (a.astype(int) + 32768) >> 7, (a.astype(int) + 32768) & 127
    base, after = table[index].astype(int), table[index + 1].astype(int)
    result = (base * 128 + (after - base) * part).astype(np.int32)
    FILES["table"].add("int16", [a, table], [result], call("table", [kind(a), kind(table)], kind(result)))


def control(rng):
    a, b = numbers(rng, (4,), np.float32), numbers(rng, (4,), np.float32)
    for condition in (True, False):
        flag, result = np.array(condition), a + b if condition else a - b
        FILES.setdefault("cond_if", File("tosa.cond_if")).add(str(condition), [flag, a, b], [result], """
            %r = "tosa.cond_if"(%a0, %a1, %a2) ({
            ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
              %s = "tosa.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              "tosa.yield"(%s) : (tensor<4xf32>) -> ()
            }, {
            ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
              %s = "tosa.sub"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              "tosa.yield"(%s) : (tensor<4xf32>) -> ()
            }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
            return %r""")
    for times in (0, 5):
        count = np.array(times, np.int32)
        FILES.setdefault("while_loop", File("tosa.while_loop")).add(f"{times} times", [count, a], [np.array(0, np.int32), a * F32(2) ** times], """
            %n, %r = "tosa.while_loop"(%a0, %a1) ({
            ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
              %z = "tosa.const"() <{values = dense<0> : tensor<i32>}> : () -> tensor<i32>
              %c = "tosa.greater"(%i, %z) : (tensor<i32>, tensor<i32>) -> tensor<i1>
              "tosa.yield"(%c) : (tensor<i1>) -> ()
            }, {
            ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
              %o = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
              %j = "tosa.sub"(%i, %o) : (tensor<i32>, tensor<i32>) -> tensor<i32>
              %y = "tosa.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              "tosa.yield"(%j, %y) : (tensor<i32>, tensor<4xf32>) -> ()
            }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
            return %n, %r""")


FILES = {}


def files():
    rng = np.random.default_rng(1)
    for family in (elementwise, products, unary, casts, selections, reductions, shapes, shape_values, indices, control):
        family(rng)
    return FILES.values()
