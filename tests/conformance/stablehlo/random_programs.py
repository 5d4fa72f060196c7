#!/usr/bin/env python3
"""Random valid programs of StableHLO, compiled and run, beside what numpy makes of each operation.

usage: random_programs.py BIN [--seed N] [--count N] [--keep DIR]    BIN: the folder of kiln-cc and run_artifact
The same seed gives the same program on every machine. Values are f32, i32 and i1 of rank 0 to 4. Integers and booleans must be
equal; reals close, and where a program asks for more than rounding allows (a comparison, a sort), only what is exact is asked.
Ends with `N passed, M failed, K skipped`; --keep leaves the programs that failed. Exits 77 where numpy is not there.
"""
import argparse
import pathlib
import random
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
try:
    import numpy

    from compiled import Compiler, Failure, check
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NAMES = {"float32": "f32", "int32": "i32", "bool": "i1"}
MAX_ELEMENTS = 3000
MAX_REAL = 1e4


def type_of(array):
    return "tensor<" + "".join(f"{extent}x" for extent in array.shape) + NAMES[str(array.dtype)] + ">"


def integers(values):
    return "array<i64" + (": " + ", ".join(map(str, values)) if len(values) else "") + ">"


class Value:
    """`exact`: every right evaluation gives the same bits, so that it may decide something."""

    def __init__(self, name, array, exact):
        self.name, self.array, self.exact = name, array, exact

    type = property(lambda self: type_of(self.array))
    rank = property(lambda self: self.array.ndim)
    is_real = property(lambda self: self.array.dtype == numpy.float32)
    is_whole = property(lambda self: self.array.dtype == numpy.int32)
    is_number = property(lambda self: self.array.dtype != numpy.bool_)


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values, self.inputs, self.count = [], [], [], 0

    def shape(self):
        rank = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        return tuple(self.random.choice((1, 2, 3, 3, 4, 5, 7, 16)) for _ in range(rank))

    def data(self, dtype, shape):
        """Reals are quarters of small numbers: sums and products of few of them are exact."""
        size = int(numpy.prod(shape, dtype=int))
        if dtype == "bool":
            return numpy.array([self.random.random() < 0.5 for _ in range(size)], dtype=bool).reshape(shape)
        if dtype == "int32":
            return numpy.array([self.random.randint(-20, 20) for _ in range(size)], dtype=dtype).reshape(shape)
        return numpy.array([self.random.randint(-8, 8) / 4 for _ in range(size)], dtype=dtype).reshape(shape)

    def input(self):
        array = self.data(self.random.choice(("float32", "float32", "int32", "bool")), self.shape())
        value = Value(f"%arg{len(self.inputs)}", array, True)
        self.inputs.append(value)
        self.values.append(value)

    def pick(self, fits=lambda value: True):
        """A value that fits, later ones more often; None where there is none."""
        fitting = [value for value in self.values if fits(value)]
        return fitting[max(self.random.randrange(len(fitting)), self.random.randrange(len(fitting)))] if fitting else None

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text, array, exact):
        """`text` without its name; `array` is what numpy says of it."""
        value = Value(self.fresh(), numpy.asarray(array), exact)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def keeps(self, array):
        """Whether a result is one to calculate further with."""
        if array.size > MAX_ELEMENTS:
            return False
        return array.dtype != numpy.float32 or (numpy.isfinite(array).all() and numpy.abs(array).max(initial=0) <= MAX_REAL)

    def operation(self, name, operands, array, exact, attributes=""):
        array = numpy.asarray(array)
        if not self.keeps(array):
            return None
        types = ", ".join(value.type for value in operands)
        text = f'"stablehlo.{name}"({", ".join(value.name for value in operands)})'
        return self.emit(f"{text} {{{attributes}}} : ({types}) -> {type_of(array)}", array, exact)

    def constant(self, array):
        def literal(part):
            if part.ndim:
                return "[" + ", ".join(literal(one) for one in part) + "]"
            if part.dtype == bool:
                return "true" if part else "false"
            return str(part) if part.dtype == numpy.int32 else f"{float(part):.8e}"
        text = literal(array) if array.size else ""
        return self.emit(f"stablehlo.constant dense<{text}> : {type_of(array)}", array, True)

    def body(self, name, element, function="stablehlo"):
        """A region that combines two scalars."""
        scalar = f"tensor<{element}>"
        a, b, out = self.fresh(), self.fresh(), self.fresh()
        return (f"({{\n  ^bb0({a}: {scalar}, {b}: {scalar}):\n    {out} = {function}.{name} {a}, {b} : {scalar}\n"
                f"    stablehlo.return {out} : {scalar}\n  }})")


def unary_real(p):
    x = p.pick(lambda value: value.is_real)
    if x is None:
        return
    smooth = {"tanh": numpy.tanh, "logistic": lambda a: 1 / (1 + numpy.exp(-a.astype("f8"))), "cosine": numpy.cos, "sine": numpy.sin,
              "exponential": numpy.exp, "cbrt": numpy.cbrt, "exponential_minus_one": numpy.expm1}
    exact = {"abs": numpy.abs, "negate": numpy.negative}
    steps = {"floor": numpy.floor, "ceil": numpy.ceil, "sign": numpy.sign, "round_nearest_even": numpy.rint}
    name = p.random.choice([*smooth, *exact, *exact, *(steps if x.exact else ())])
    with numpy.errstate(over="ignore"):
        array = {**smooth, **exact, **steps}[name](x.array).astype("f4")
    if name in smooth and numpy.abs(x.array).max(initial=0) > 30:
        return
    p.operation(name, [x], array, x.exact and name not in smooth)


def unary_whole(p):
    x = p.pick(lambda value: not value.is_real)
    if x is None:
        return
    if not x.is_whole:
        p.operation("not", [x], ~x.array, True)
        return
    bits = x.array.astype("u4")
    name, array = p.random.choice((
        ("not", ~x.array), ("negate", -x.array), ("abs", numpy.abs(x.array)), ("sign", numpy.sign(x.array)),
        ("popcnt", numpy.array([bin(int(b)).count("1") for b in bits.flat], dtype="i4").reshape(bits.shape)),
        ("count_leading_zeros", numpy.array([32 - int(b).bit_length() for b in bits.flat], dtype="i4").reshape(bits.shape))))
    p.operation(name, [x], array, True)


def binary(p):
    a = p.pick()
    b = p.pick(lambda value: value.type == a.type)
    if not a.is_number:
        name = p.random.choice(("and", "or", "xor"))
        p.operation(name, [a, b], getattr(numpy, f"logical_{name}")(a.array, b.array), True)
        return
    names = {"add": numpy.add, "subtract": numpy.subtract, "multiply": numpy.multiply, "maximum": numpy.maximum, "minimum": numpy.minimum}
    if a.is_whole:
        names |= {"and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor}
    name = p.random.choice(list(names))
    with numpy.errstate(over="ignore"):
        array = names[name](a.array, b.array)
    # Products of exact values stay exact while few bits are in use.
    few = a.exact and b.exact and (a.is_whole or numpy.array_equal(array * 64, numpy.rint(array * 64)) and numpy.abs(array).max(initial=0) < 1e4)
    p.operation(name, [a, b], array, few)


def divide(p):
    a = p.pick(lambda value: value.is_number)
    b = p.pick(lambda value: value.type == a.type and bool((numpy.abs(value.array) >= 0.25).all())) if a else None
    if b is None:
        return
    if a.is_real:
        p.operation("divide", [a, b], a.array / b.array, False)
        return
    quotient = numpy.trunc(a.array.astype("f8") / b.array.astype("f8")).astype("i8").astype("i4")
    remainder = (a.array.astype("i8") - quotient.astype("i8") * b.array.astype("i8")).astype("i4")
    name, array = p.random.choice((("divide", quotient), ("remainder", remainder)))
    p.operation(name, [a, b], array, True)


def decide(p):
    """A comparison, and mostly a choice by it."""
    a = p.pick(lambda value: value.exact and value.is_number)
    b = p.pick(lambda value: value.type == a.type and value.exact) if a else None
    if b is None:
        return
    direction, compare = p.random.choice((("EQ", numpy.equal), ("NE", numpy.not_equal), ("LT", numpy.less), ("GE", numpy.greater_equal)))
    kind = "FLOAT" if a.is_real else "SIGNED"
    chosen = p.emit(f"stablehlo.compare {direction}, {a.name}, {b.name}, {kind} : ({a.type}, {b.type}) -> {type_of(compare(a.array, b.array))}",
                    compare(a.array, b.array), True)
    x = p.pick(lambda value: value.array.shape == a.array.shape)
    y = p.pick(lambda value: value.type == x.type)
    p.operation("select", [chosen, x, y], numpy.where(chosen.array, x.array, y.array), x.exact and y.exact)


def convert(p):
    x = p.pick(lambda value: not value.is_real or (value.exact and numpy.abs(value.array).max(initial=0) < 1e6))
    to = p.random.choice(("float32", "int32", "bool"))
    if x is None or (x.is_whole and to == "float32" and numpy.abs(x.array.astype("i8")).max(initial=0) >= 1 << 24):
        return
    array = x.array != 0 if to == "bool" else numpy.trunc(x.array).astype(to) if to == "int32" else x.array.astype(to)
    p.operation("convert", [x], array, True)


def rearrange(p):
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    shape = x.array.shape
    choice = p.random.randrange(5)
    if choice == 0:
        order = p.random.sample(range(x.rank), x.rank)
        p.operation("transpose", [x], x.array.transpose(order), x.exact, f"permutation = {integers(order)}")
    elif choice == 1:
        flat, new = x.array.size, []
        for factor in (2, 3, 4, 5, 7, 16):
            if flat % factor == 0 and p.random.random() < 0.4:
                new.append(factor)
                flat //= factor
        p.operation("reshape", [x], x.array.reshape([*new, flat]), x.exact)
    elif choice == 2:
        begin = [p.random.randrange(extent) for extent in shape]
        end = [p.random.randint(b + 1, extent) for b, extent in zip(begin, shape)]
        step = [p.random.choice((1, 1, 2, 3)) for _ in shape]
        array = x.array[tuple(slice(b, e, s) for b, e, s in zip(begin, end, step))]
        p.operation("slice", [x], array, x.exact, f"start_indices = {integers(begin)}, limit_indices = {integers(end)}, strides = {integers(step)}")
    elif choice == 3:
        axes = sorted(p.random.sample(range(x.rank), p.random.randint(1, x.rank)))
        p.operation("reverse", [x], numpy.flip(x.array, axes), x.exact, f"dimensions = {integers(axes)}")
    else:
        extra = [p.random.choice((1, 2, 3)) for _ in range(p.random.randint(0, max(0, 4 - x.rank)))]
        array = numpy.broadcast_to(x.array, (*extra, *shape))
        p.operation("broadcast_in_dim", [x], array, x.exact, f"broadcast_dimensions = {integers(range(len(extra), len(extra) + x.rank))}")


def concatenate(p):
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    axis = p.random.randrange(x.rank)
    same = lambda value: value.array.dtype == x.array.dtype and value.rank == x.rank and all(
        value.array.shape[i] == x.array.shape[i] for i in range(x.rank) if i != axis)
    parts = [p.pick(same) for _ in range(p.random.randint(1, 3))]
    p.operation("concatenate", parts, numpy.concatenate([part.array for part in parts], axis), all(part.exact for part in parts), f"dimension = {axis} : i64")


def pad(p):
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    filler = p.constant(p.data(str(x.array.dtype), ()))
    low = [p.random.randint(-1, 2) for _ in x.array.shape]
    high = [p.random.randint(-1, 2) for _ in x.array.shape]
    inner = [p.random.choice((0, 0, 1, 2)) for _ in x.array.shape]
    wide = [extent + (extent - 1) * i for extent, i in zip(x.array.shape, inner)]
    if any(w + a + b < 1 for w, a, b in zip(wide, low, high)):
        return
    spread = numpy.full(wide, filler.array)
    spread[tuple(slice(None, None, i + 1) for i in inner)] = x.array
    array = numpy.pad(spread, [(max(a, 0), max(b, 0)) for a, b in zip(low, high)], constant_values=filler.array)
    array = array[tuple(slice(max(-a, 0), array.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(zip(low, high)))]
    p.operation("pad", [x, filler], array, x.exact,
                f"edge_padding_low = {integers(low)}, edge_padding_high = {integers(high)}, interior_padding = {integers(inner)}")


def reduce(p):
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    axes = sorted(p.random.sample(range(x.rank), p.random.randint(1, x.rank)))
    element = NAMES[str(x.array.dtype)]
    if not x.is_number:
        name, start, function = p.random.choice((("or", False, numpy.any), ("and", True, numpy.all)))
    else:
        limits = (-numpy.inf, numpy.inf) if x.is_real else (-2**31, 2**31 - 1)
        name, start, function = p.random.choice((("add", 0, numpy.sum), ("maximum", limits[0], numpy.max), ("minimum", limits[1], numpy.min)))
    array = function(x.array.astype("f8") if x.is_real else x.array, axis=tuple(axes))
    array = numpy.asarray(array).astype("i8").astype("i4") if x.is_whole else numpy.asarray(array).astype(x.array.dtype)
    exact = x.exact and (name != "add" or not x.is_real or numpy.array_equal(x.array * 64, numpy.rint(x.array * 64)))
    if not p.keeps(array):
        return
    text = {-numpy.inf: "0xFF800000", numpy.inf: "0x7F800000"}.get(start) or (str(bool(start)).lower() if element == "i1" else str(start) if element == "i32" else "0.0")
    initial = p.fresh()
    p.lines.append(f"{initial} = stablehlo.constant dense<{text}> : tensor<{element}>")
    p.emit(f'"stablehlo.reduce"({x.name}, {initial}) {p.body(name, element)} {{dimensions = {integers(axes)}}} : '
           f"({x.type}, tensor<{element}>) -> {type_of(array)}", array, exact)


def product(p):
    a = p.pick(lambda value: value.is_number and value.rank > 0)
    b = p.pick(lambda value: value.array.dtype == a.array.dtype and value.rank > 0) if a else None
    if b is None:
        return
    pairs = [(i, j) for i in range(a.rank) for j in range(b.rank) if a.array.shape[i] == b.array.shape[j]]
    p.random.shuffle(pairs)
    taken = [pair for n, pair in enumerate(pairs) if all(pair[0] != q[0] and pair[1] != q[1] for q in pairs[:n])][:2]
    batch, contract = (taken[:1], taken[1:]) if len(taken) == 2 and p.random.random() < 0.5 else ([], taken)
    if not contract:
        return
    letters = iter("abcdefghijkl")
    left, right = [None] * a.rank, [None] * b.rank
    for i, j in batch + contract:
        left[i] = right[j] = next(letters)
    left = [letter or next(letters) for letter in left]
    right = [letter or next(letters) for letter in right]
    free = [l for i, l in enumerate(left) if l not in [left[i] for i, _ in batch + contract]]
    free += [r for j, r in enumerate(right) if r not in [right[j] for _, j in batch + contract]]
    result = [left[i] for i, _ in batch] + free
    wide = "f8" if a.is_real else "i8"
    array = numpy.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a.array.astype(wide), b.array.astype(wide))
    array = numpy.asarray(array).astype(a.array.dtype)
    dims = lambda name, pairs, side: f"{name} = [{', '.join(str(pair[side]) for pair in pairs)}]"
    numbers = ", ".join((dims("lhs_batching_dimensions", batch, 0), dims("rhs_batching_dimensions", batch, 1),
                         dims("lhs_contracting_dimensions", contract, 0), dims("rhs_contracting_dimensions", contract, 1)))
    p.operation("dot_general", [a, b], array, not a.is_real, f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")


def moving_slice(p):
    """Starts are clamped, and may be anywhere."""
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    starts = [p.constant(numpy.array(p.random.randint(-2, extent + 1), dtype="i4")) for extent in x.array.shape]
    sizes = [p.random.randint(1, extent) for extent in x.array.shape]
    clamped = [min(max(int(start.array), 0), extent - size) for start, extent, size in zip(starts, x.array.shape, sizes)]
    window = tuple(slice(begin, begin + size) for begin, size in zip(clamped, sizes))
    if p.random.random() < 0.5:
        p.operation("dynamic_slice", [x, *starts], x.array[window], x.exact, f"slice_sizes = {integers(sizes)}")
        return
    update = p.constant(p.data(str(x.array.dtype), sizes))
    array = x.array.copy()
    array[window] = update.array
    p.operation("dynamic_update_slice", [x, update, *starts], array, x.exact)


def rows(p):
    """A gather of whole rows, by indices that a run may have to clamp."""
    x = p.pick(lambda value: value.rank > 0)
    if x is None:
        return
    extent, rest = x.array.shape[0], x.array.shape[1:]
    indices = p.constant(numpy.array([p.random.randint(-1, extent) for _ in range(p.random.randint(1, 5))], dtype="i4"))
    array = x.array[numpy.clip(indices.array, 0, extent - 1)]
    numbers = f"offset_dims = [{', '.join(map(str, range(1, x.rank)))}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    p.operation("gather", [x, indices], array, x.exact, f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {integers([1, *rest])}")


def scatter(p):
    """Rows added or written; those outside are left out."""
    x = p.pick(lambda value: value.is_whole and value.rank > 0)
    if x is None:
        return
    extent, rest = x.array.shape[0], x.array.shape[1:]
    places = p.random.sample(range(-1, extent + 1), min(3, extent + 1))
    indices = p.constant(numpy.array([[place] for place in places], dtype="i4"))
    updates = p.constant(p.data("int32", (len(places), *rest)))
    array = x.array.copy()
    for place, row in zip(places, updates.array):
        if 0 <= place < extent:
            array[place] += row
    numbers = (f"update_window_dims = [{', '.join(map(str, range(1, x.rank)))}], inserted_window_dims = [0], "
               "scatter_dims_to_operand_dims = [0], index_vector_dim = 1")
    p.emit(f'"stablehlo.scatter"({x.name}, {indices.name}, {updates.name}) {p.body("add", "i32")} '
           f"{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}} : ({x.type}, {indices.type}, {updates.type}) -> {x.type}", array, True)


def sort(p):
    x = p.pick(lambda value: value.is_number and value.exact and value.rank > 0)
    if x is None:
        return
    axis, kind = p.random.randrange(x.rank), "FLOAT" if x.is_real else "SIGNED"
    scalar = f"tensor<{NAMES[str(x.array.dtype)]}>"
    a, b, less = p.fresh(), p.fresh(), p.fresh()
    p.emit(f'"stablehlo.sort"({x.name}) ({{\n  ^bb0({a}: {scalar}, {b}: {scalar}):\n'
           f"    {less} = stablehlo.compare LT, {a}, {b}, {kind} : ({scalar}, {scalar}) -> tensor<i1>\n    stablehlo.return {less} : tensor<i1>\n  }}) "
           f"{{dimension = {axis} : i64, is_stable = true}} : ({x.type}) -> {x.type}", numpy.sort(x.array, axis), True)


def loop(p):
    """A while that adds or doubles a known number of times."""
    x = p.pick(lambda value: value.is_whole)
    if x is None:
        return
    trips, double = p.random.randint(0, 4), p.random.random() < 0.5
    i, v, out, limit, more, one, next_i, next_v, zero = (p.fresh() for _ in range(9))
    p.lines.append(f"{zero} = stablehlo.constant dense<0> : tensor<i32>")
    array = x.array.copy()
    for _ in range(trips):
        array = array + array if double else array + x.array
    second = v if double else x.name
    pair = f"tensor<i32>, {x.type}"
    name = p.fresh()
    p.lines.append(
        f'{name}:2 = "stablehlo.while"({zero}, {x.name}) ({{\n  ^bb0({i}: tensor<i32>, {v}: {x.type}):\n'
        f"    {limit} = stablehlo.constant dense<{trips}> : tensor<i32>\n    {more} = stablehlo.compare LT, {i}, {limit}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"    stablehlo.return {more} : tensor<i1>\n  }}, {{\n  ^bb0({i}: tensor<i32>, {v}: {x.type}):\n"
        f"    {one} = stablehlo.constant dense<1> : tensor<i32>\n    {next_i} = stablehlo.add {i}, {one} : tensor<i32>\n"
        f"    {next_v} = stablehlo.add {v}, {second} : {x.type}\n    stablehlo.return {next_i}, {next_v} : {pair}\n  }}) : ({pair}) -> ({pair})")
    p.values.append(Value(f"{name}#1", array, True))


def branch(p):
    """A case whose index may be none of its branches': the last one runs."""
    x = p.pick(lambda value: value.is_number)
    if x is None:
        return
    index = p.constant(numpy.array(p.random.randint(-1, 3), dtype="i4"))
    names = ("abs", "negate", "sign" if x.exact else "abs")
    functions = (numpy.abs, numpy.negative, numpy.sign if x.exact else numpy.abs)
    regions = []
    for name in names:
        out = p.fresh()
        regions.append(f"{{\n    {out} = stablehlo.{name} {x.name} : {x.type}\n    stablehlo.return {out} : {x.type}\n  }}")
    chosen = int(index.array) if 0 <= int(index.array) < 3 else 2
    p.emit(f'"stablehlo.case"({index.name}) ({", ".join(regions)}) : (tensor<i32>) -> {x.type}', functions[chosen](x.array), x.exact)


RULES = (unary_real, unary_real, unary_whole, binary, binary, binary, divide, decide, convert, rearrange, rearrange, rearrange, concatenate, pad,
         reduce, reduce, product, moving_slice, rows, scatter, sort, loop, branch)


def generate(seed):
    """The text, its inputs and, for each result, what numpy has."""
    p = Program(seed)
    for _ in range(p.random.randint(2, 4)):
        p.input()
    for _ in range(p.random.randint(4, 20)):
        p.random.choice(RULES)(p)
    results = p.values[len(p.inputs):][-8:] or p.values[-1:]
    arguments = ", ".join(f"{value.name}: {value.type}" for value in p.inputs)
    types = ", ".join(value.type for value in results)
    body = "\n".join("  " + line for line in p.lines)
    text = (f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  func.return {', '.join(value.name for value in results)} : {types}\n}}\n")
    return text, [value.array for value in p.inputs], results


def compare(compiler, model, inputs, results, home):
    spec = compiler.spec(model, "cpu:x86-64-v3", home / "spec.json")
    out = home / "out"
    compiler.call(compiler.compiler, "compile", "--model", model, "--spec", spec, "--out", out)
    got, _ = compiler.run(out, inputs, [1])
    check(len(got) == len(results), f"{len(got)} results, not {len(results)}")
    for number, (data, value) in enumerate(zip(got, results)):
        found = numpy.frombuffer(data, dtype=value.array.dtype).reshape(value.array.shape)
        same = numpy.isclose(found, value.array, rtol=2e-4, atol=2e-4 * max(1.0, float(numpy.abs(value.array).max(initial=0)))) \
            if value.is_real else found == value.array
        check(bool(numpy.all(same)), f"result {number} {value.name} {value.type}: {found.flat[int(numpy.argmin(same))]} "
                                     f"where numpy has {value.array.flat[int(numpy.argmin(same))]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    compiler, passed, failed = Compiler(options.bin), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        text, inputs, results = generate(seed)
        with tempfile.TemporaryDirectory() as home:
            home = pathlib.Path(home)
            model = home / "program.mlir"
            model.write_text(text)
            try:
                compare(compiler, model, inputs, results, home)
                passed += 1
            except Failure as failure:
                failed += 1
                print(f"FAIL seed {seed}: {failure}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{seed}.mlir").write_text(text)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
