"""Cases as text: a module with @main, @inputs (what it is called with) and @expected (what it must give)."""
import numpy as np

TYPES = {
    np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64",
}


def kind(array, element=None):
    """tensor<2x3xf32>; `element` where the array's own type is not the program's (i48, i4, bf16)."""
    shape = "".join(f"{extent}x" for extent in array.shape)
    return f"tensor<{shape}{element or TYPES[array.dtype]}>"


def rows(array):
    if array.ndim == 0:
        value = array.item()
        return str(value).lower() if isinstance(value, bool) else repr(value)
    return "[" + ", ".join(rows(part) for part in array) + "]"


def dense(array, element=None):
    if array.size == 0:
        return "dense<>"
    if element in ("i48", "i4") or array.dtype == np.bool_:
        return f"dense<{rows(array)}>"
    return f'dense<"0x{np.ascontiguousarray(array).tobytes().hex().upper()}">'


def to_bf16(array):
    """The bits of the nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype(np.uint16).view(np.int16)


def constants(name, tensors):
    lines = [f"  func.func private @{name}() -> ({', '.join(kind(a, t) for a, t in tensors)}) {{"]
    for i, (array, element) in enumerate(tensors):
        lines.append(f"    %{i} = arith.constant {dense(array, element)} : {kind(array, element)}")
    names = ", ".join(f"%{i}" for i in range(len(tensors)))
    types = ", ".join(kind(a, t) for a, t in tensors)
    lines.append(f"    return {names} : {types}" if tensors else "    return")
    return "\n".join(lines + ["  }"])


def pair(tensor):
    return tensor if isinstance(tensor, tuple) else (np.asarray(tensor), None)


class File:
    """The cases of one operation."""

    def __init__(self, operation):
        self.operation, self.cases = operation, []

    def add(self, name, inputs, expected, body, rtol=1e-5, atol=1e-6, maps=""):
        """`body`: of @main, whose arguments are %a0, %a1...; it ends with what is returned: "return %r"."""
        inputs, expected = [pair(t) for t in inputs], [pair(t) for t in expected]
        arguments = ", ".join(f"%a{i}: {kind(a, t)}" for i, (a, t) in enumerate(inputs))
        results = ", ".join(kind(a, t) for a, t in expected)
        *lines, last = [line.strip() for line in body.strip().splitlines()]
        text = [f"// {name}"] + ([maps] if maps else [])
        text.append(f"module attributes {{check.rtol = {rtol:e} : f64, check.atol = {atol:e} : f64}} {{")
        text.append(f"  func.func @main({arguments}) -> ({results}) {{")
        text += [f"    {line}" for line in lines + [f"{last} : {results}"]]
        text += ["  }", constants("inputs", inputs), constants("expected", expected), "}"]
        self.cases.append("\n".join(text))

    def write(self, folder):
        (folder / f"{self.operation}.mlir").write_text("\n// -----\n".join(self.cases) + "\n")
