"""Random programs of TOSA: chains of some twenty operations on whole numbers and reals, beside NumPy. The same seed gives the same
program on every machine. Reals are quarters of small numbers, so that what decides something (a comparison, an argmax) is exact."""
import random

import numpy as np

from program_text import File, kind
from tosa_cases import dense_of, shape_of, shape_type

PROGRAMS, STEPS = 24, 20
MOST_ELEMENTS, MOST_REAL = 2000, 1e4


class Program:
    def __init__(self, seed):
        self.random, self.lines, self.values, self.count = random.Random(seed), [], [], 0
        self.inputs = [self.data(dtype, self.shape()) for dtype in (np.float32, np.int32, np.float32, np.bool_)]
        for i, array in enumerate(self.inputs):
            self.values.append((f"%a{i}", array, True))

    def shape(self):
        return tuple(self.random.choice((1, 2, 3, 4, 5)) for _ in range(self.random.choice((1, 2, 3, 3))))

    def data(self, dtype, shape):
        size = int(np.prod(shape))
        if dtype == np.bool_:
            return np.array([self.random.random() < 0.5 for _ in range(size)]).reshape(shape)
        scale = 4 if dtype == np.float32 else 1
        return np.array([self.random.randint(-12, 12) / scale for _ in range(size)], dtype).reshape(shape)

    def pick(self, fits=lambda array, exact: True):
        fitting = [value for value in self.values if fits(value[1], value[2])]
        return self.random.choice(fitting) if fitting else None

    def fresh(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def shaped(self, extents):
        return self.fresh(shape_of(extents)), shape_type(extents)

    def scalar(self, value, element):
        return self.fresh(dense_of(value, element)), f"tensor<1x{element}>"

    def emit(self, operation, operands, array, exact, attributes=""):
        """`operands`: name and type of each."""
        array = np.asarray(array)
        if array.size > MOST_ELEMENTS or (array.dtype == np.float32 and not (np.abs(array) <= MOST_REAL).all()):
            return
        names, types = zip(*operands)
        name = self.fresh(f'"tosa.{operation}"({", ".join(names)}){attributes} : ({", ".join(types)}) -> {kind(array)}')
        self.values.append((name, array, exact))


def given(value):
    return value[0], kind(value[1])


def unary(p):
    x = p.pick()
    array, exact = x[1], x[2]
    if array.dtype == np.bool_:
        p.emit("logical_not", [given(x)], ~array, True)
    elif array.dtype == np.int32:
        name, result = p.random.choice((("abs", np.abs(array)), ("bitwise_not", ~array)))
        p.emit(name, [given(x)], result, True)
    else:
        smooth = {"tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a.astype("f8"))), "sin": np.sin, "cos": np.cos}
        steps = {"abs": np.abs, "floor": np.floor, "ceil": np.ceil} if exact else {"abs": np.abs}
        name = p.random.choice([*smooth, *steps])
        if name in steps or np.abs(array).max() < 30:
            p.emit(name, [given(x)], {**smooth, **steps}[name](array).astype("f4"), exact and name in steps)


def binary(p):
    a = p.pick()
    b = p.pick(lambda array, _: array.dtype == a[1].dtype and array.ndim == a[1].ndim and
               all(m == n or 1 in (m, n) for m, n in zip(array.shape, a[1].shape)))
    if a[1].dtype == np.bool_:
        name = p.random.choice(("and", "or", "xor"))
        p.emit(f"logical_{name}", [given(a), given(b)], getattr(np, f"logical_{name}")(a[1], b[1]), True)
        return
    functions = {"add": np.add, "sub": np.subtract, "maximum": np.maximum, "minimum": np.minimum}
    if a[1].dtype == np.int32:
        functions |= {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
    name = p.random.choice([*functions, "mul"])
    with np.errstate(over="ignore"):
        array = a[1] * b[1] if name == "mul" else functions[name](a[1], b[1])
    if a[1].dtype == np.int32 and np.abs(array.astype("i8")).max() > 1 << 20:
        return
    extra = [p.scalar(0, "i8")] if name == "mul" else []
    exact = a[2] and b[2] and (a[1].dtype == np.int32 or np.array_equal(array * 64, np.rint(array * 64)))
    p.emit(name, [given(a), given(b), *extra], array, exact)


def decide(p):
    a = p.pick(lambda array, exact: exact and array.dtype != np.bool_)
    b = p.pick(lambda array, exact: exact and array.dtype == a[1].dtype and array.shape == a[1].shape)
    name, compare = p.random.choice((("greater", np.greater), ("greater_equal", np.greater_equal), ("equal", np.equal)))
    p.emit(name, [given(a), given(b)], compare(a[1], b[1]), True)
    chosen = p.values[-1]
    x = p.pick(lambda array, _: array.shape == a[1].shape and array.dtype != np.bool_)
    y = p.pick(lambda array, _: array.dtype == x[1].dtype and array.shape == x[1].shape)
    p.emit("select", [given(chosen), given(x), given(y)], np.where(chosen[1], x[1], y[1]), x[2] and y[2])


def rearrange(p):
    x = p.pick()
    array, axis = x[1], p.random.randrange(x[1].ndim)
    choice = p.random.randrange(6)
    if choice == 0:
        order = p.random.sample(range(array.ndim), array.ndim)
        p.emit("transpose", [given(x)], array.transpose(order), x[2], f" <{{perms = array<i32: {', '.join(map(str, order))}>}}>")
    elif choice == 1:
        flat = array.reshape(-1) if p.random.random() < 0.5 else array.reshape(array.shape[0], -1)
        p.emit("reshape", [given(x), p.shaped(flat.shape)], flat, x[2])
    elif choice == 2:
        begin = [p.random.randrange(extent) for extent in array.shape]
        size = [p.random.randint(1, extent - first) for first, extent in zip(begin, array.shape)]
        part = array[tuple(slice(b, b + s) for b, s in zip(begin, size))]
        p.emit("slice", [given(x), p.shaped(begin), p.shaped(size)], part, x[2])
    elif choice == 3:
        p.emit("reverse", [given(x)], np.flip(array, axis), x[2], f" <{{axis = {axis} : i32}}>")
    elif choice == 4:
        times = [p.random.choice((1, 1, 2)) for _ in array.shape]
        p.emit("tile", [given(x), p.shaped(times)], np.tile(array, times), x[2])
    else:
        amounts = [p.random.randint(0, 2) for _ in range(2 * array.ndim)]
        value, element = {"bool": ("true", "i1"), "int32": ("7", "i32"), "float32": ("1.5", "f32")}[array.dtype.name]
        padded = np.pad(array, list(zip(amounts[::2], amounts[1::2])), constant_values=np.array(1.5 if element == "f32" else 7).astype(array.dtype))
        p.emit("pad", [given(x), p.shaped(amounts), p.scalar(value, element)], padded, x[2])


def concat(p):
    a = p.pick()
    axis = p.random.randrange(a[1].ndim)
    b = p.pick(lambda array, _: array.dtype == a[1].dtype and array.ndim == a[1].ndim and
               all(m == n for i, (m, n) in enumerate(zip(array.shape, a[1].shape)) if i != axis))
    p.emit("concat", [given(a), given(b)], np.concatenate([a[1], b[1]], axis), a[2] and b[2], f" <{{axis = {axis} : i32}}>")


def reduce(p):
    x = p.pick()
    array, axis = x[1], p.random.randrange(x[1].ndim)
    functions = {"reduce_all": np.all, "reduce_any": np.any} if array.dtype == np.bool_ else \
        {"reduce_max": np.max, "reduce_min": np.min, "reduce_sum": np.sum}
    name = p.random.choice(list(functions))
    result = functions[name](array.astype("f8") if array.dtype == np.float32 else array, axis=axis, keepdims=True).astype(array.dtype)
    p.emit(name, [given(x)], result, x[2], f" <{{axis = {axis} : i32}}>")


def argmax(p):
    x = p.pick(lambda array, exact: exact and array.dtype == np.float32 and array.ndim > 1)
    if x is not None:
        axis = p.random.randrange(x[1].ndim)
        p.emit("argmax", [given(x)], np.argmax(x[1], axis).astype(np.int32), True, f" <{{axis = {axis} : i32}}>")


def cast(p):
    x = p.pick(lambda array, exact: exact and array.dtype != np.bool_ and np.abs(array.astype("f8")).max() < 1 << 20)
    if x is not None:
        target = np.int32 if x[1].dtype == np.float32 else np.float32
        p.emit("cast", [given(x)], (np.rint(x[1]) if target == np.int32 else x[1]).astype(target), True)


def product(p):
    a = p.pick(lambda array, _: array.ndim == 3 and array.dtype == np.float32)
    if a is None:
        return
    b = p.data(np.float32, (a[1].shape[0], a[1].shape[2], p.random.randint(1, 4)))
    values = ", ".join(f"{value:e}" for value in b.flat)
    flat = p.fresh(f'"tosa.const"() <{{values = dense<[{values}]> : tensor<{b.size}xf32>}}> : () -> tensor<{b.size}xf32>')
    shape = p.shaped(b.shape)
    factor = p.fresh(f'"tosa.reshape"({flat}, {shape[0]}) : (tensor<{b.size}xf32>, {shape[1]}) -> {kind(b)}')
    zeros = [p.scalar("0.0", "f32"), p.scalar("0.0", "f32")]
    p.emit("matmul", [given(a), (factor, kind(b)), *zeros], (a[1].astype("f8") @ b).astype("f4"), False)


RULES = (unary, unary, binary, binary, binary, decide, rearrange, rearrange, concat, reduce, argmax, cast, product)


def files():
    file = File("random")
    for seed in range(PROGRAMS):
        p = Program(seed)
        for _ in range(STEPS):
            p.random.choice(RULES)(p)
        made = p.values[len(p.inputs):][-6:]
        body = "\n".join(p.lines) + f"\nreturn {', '.join(name for name, _, _ in made)}"
        file.add(f"seed {seed}", p.inputs, [array for _, array, _ in made], body, rtol=1e-4, atol=1e-4)
    yield file
