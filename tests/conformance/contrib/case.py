"""One node of an operator with its inputs, as the cases of this folder state it."""
import dataclasses
import typing
import zlib

import numpy as np


@dataclasses.dataclass
class Fixed:
    """An input that the model holds itself."""
    array: np.ndarray


@dataclasses.dataclass
class Case:
    operator: str
    name: str
    inputs: list  # arrays, Fixed ones and None for an absent input
    outputs: list = dataclasses.field(default_factory=lambda: ["y"])  # "" for one that is not wanted
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = "com.microsoft"
    opset: int = 17  # of ONNX's own domain
    relative: float = 1e-3
    absolute: float = 1e-5
    # What the outputs are where ONNX Runtime's CPU provider does not run the operator: given a function that runs another
    # case, by operators that say the same.
    answer: typing.Callable = None

    @property
    def folder(self):
        return f"{self.operator}_{self.name}"


def fixed(array):
    return Fixed(array)


class Draw:
    """Random tensors, the same ones for the same name."""

    def __init__(self, name):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def real(self, *shape, scale=1.0, kind=np.float32):
        return (self.random.standard_normal(shape) * scale).astype(kind)

    def whole(self, low, high, *shape, kind=np.int32):
        return self.random.integers(low, high, shape).astype(kind)

    def codes(self, *shape, kind=np.uint8):
        limits = np.iinfo(kind)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(kind)
