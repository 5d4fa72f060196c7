"""Loading and running."""
from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from . import _native
from ._native import Tensor
from .errors import UsageError
from .trust import StrPath, named, path_of

_MOST_DIMENSIONS = 64
# One dimension: its size, or the name or formula of one that may differ between runs.
Dimension = int | str


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output: its name, Kiln's name of its element type ("f32"; "str" for texts), and its shape, in which
    a dimension that may differ between runs is a text: "N", "(N + 1) floordiv 2"."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...]


@dataclass(frozen=True)
class Counters:
    """What a model's session has done so far; kiln_runtime.h says what each counts."""

    runs: int
    failed_runs: int
    guard_failures: int
    transfer_bytes: int
    tensor_bytes: int
    padding_bytes: int
    planned_bytes: int
    observed_peak_bytes: int
    weight_bytes: int
    load_nanoseconds: int
    warmup_nanoseconds: int
    first_run_nanoseconds: int
    run_nanoseconds: int
    threads: int
    path: str | None
    device_planned_bytes: int
    device_observed_bytes: int
    device_transfer_bytes: int
    replayed_runs: int
    device_name: str | None
    out_of_range_indices: int


def empty(shape: Sequence[int], dtype: str = "f32") -> Tensor:
    """A tensor of zeros at an address that models use in place; numpy.asarray(t) fills it without a copy.

    >>> kiln.empty((2, 3), "i64")
    <kiln.Tensor i64(2, 3)>
    """
    return _native.empty(tuple(shape), dtype)


def load(path: StrPath, *, digest: str | None = None, root: StrPath | None = None, policy: StrPath | None = None,
         recalls: StrPath | None = None, threads: int = 0, checked: bool = False, device_driver: StrPath | None = None,
         device: int = 0) -> "Model":
    """Verifies a fetched directory and loads it, as `kiln run` does. `threads` 0 is one per processor; with `checked` a run
    that meets an index outside its dimension fails.

    >>> with kiln.load("digits", threads=1) as model:
    ...     model.inputs
    (TensorInfo(name='image', dtype='f32', shape=(1, 1, 8, 8)),)
    """
    if not 0 <= threads <= 1024:
        raise UsageError(f"threads={threads}: give 0 to 1024", 3)
    trust = named(root, policy, recalls)
    driver = path_of(device_driver) if device_driver is not None else None
    return Model(_native.open_model(path_of(path), digest, trust.root, trust.policy, trust.recalls, threads, checked,
                                    driver, device))


def _flattened(value: Any, depth: int = 0) -> tuple[list[str], tuple[int, ...]]:
    """Texts in nested lists, or an array of them (NumPy's str, bytes or object), row by row, and their shape."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if depth > _MOST_DIMENSIONS:
        raise UsageError(f"texts in more than {_MOST_DIMENSIONS} nested lists", 3)
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"a text is no UTF-8: {error}", 3) from error
    if isinstance(value, str):
        return [value], ()
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"a text is wanted, given {type(value).__name__}; give str in nested lists, or an array of str", 3)
    texts: list[str] = []
    inner: set[tuple[int, ...]] = set()
    for one in value:
        more, shape = _flattened(one, depth + 1)
        texts += more
        inner.add(shape)
    if len(inner) > 1:
        raise UsageError("texts in lists of different lengths; give a rectangular nest", 3)
    return texts, (len(value), *(inner.pop() if inner else ()))


def _nested(texts: Iterator[str], shape: tuple[int, ...]) -> Any:
    if not shape:
        return next(texts)
    return [_nested(texts, shape[1:]) for _ in range(shape[0])]


class Model:
    """A loaded artifact. Any number of threads may use it: runs take turns, and other Python threads go on meanwhile. A
    process that was forked off loads its own."""

    def __init__(self, native: _native.Model) -> None:
        self._native = native
        self.digest = native.digest()
        self.inputs = tuple(TensorInfo(*one) for one in native.inputs())
        self.outputs = tuple(TensorInfo(*one) for one in native.outputs())
        self._texts_in = [info.name for info in self.inputs if info.dtype == "str"]
        self._texts_out = [info.name for info in self.outputs if info.dtype == "str"]
        self._lock = threading.Lock()
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None

    def run(self, inputs: dict[str, Any], out: dict[str, Any] | None = None) -> dict[str, Any]:
        """Runs on arrays by name and gives a `Tensor` for each output; texts go in and come out as nested lists of str. Arrays
        that begin at a multiple of 64 bytes are used in place (`kiln.empty` makes such), others are copied once. `out` names
        arrays to write outputs to.

        >>> image = numpy.zeros((1, 1, 8, 8), numpy.float32)
        >>> model.run({"image": image})
        {'logits': <kiln.Tensor f32(1, 10)>}
        >>> model.run({"image": image.astype(numpy.float64)})
        Traceback (most recent call last):
        ...
        kiln.errors.UsageError: input "image" takes f32, given f64; convert the array (numpy: x.astype)
        """
        if self._texts_in and isinstance(inputs, dict):
            inputs = dict(inputs)
            for name in self._texts_in:
                if name in inputs:
                    inputs[name] = self._native.numbers_of(*_flattened(inputs[name]))
        results = self._native.run(inputs, out)
        for name in self._texts_out:
            results[name] = _nested(iter(self._native.texts_of(results[name])), results[name].shape)
        return results

    async def run_async(self, inputs: dict[str, Any], out: dict[str, Any] | None = None) -> dict[str, Any]:
        """As `run`, while the event loop goes on. A run that has begun ends, whatever its awaiter does.

        >>> asyncio.run(model.run_async({"image": numpy.zeros((1, 1, 8, 8), numpy.float32)}))
        {'logits': <kiln.Tensor f32(1, 10)>}
        """
        with self._lock:
            if self._executor is None:
                self._executor = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="kiln")
            executor = self._executor
        return await asyncio.get_running_loop().run_in_executor(executor, self.run, inputs, out)

    def warmup(self) -> None:
        """Runs the artifact's fixtures and compares; `ready` afterwards. Errors: CheckFailedError if an output differs."""
        self._native.warmup()

    @property
    def ready(self) -> bool:
        """Whether the fixtures gave what they should. `run` works before."""
        return self._native.ready()

    @property
    def counters(self) -> Counters:
        """
        >>> model.counters.failed_runs >= 0
        True
        """
        return Counters(**self._native.counters())

    def recheck(self, *, root: StrPath | None = None, policy: StrPath | None = None, recalls: StrPath | None = None) -> None:
        """Whether the artifact would still be accepted, by newer recalls for one; else VerificationError says why. It runs on."""
        trust = named(root, policy, recalls)
        self._native.recheck(trust.root, trust.policy, trust.recalls)

    def close(self) -> None:
        """Gives memory and threads back, after the runs that go on."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()
        self._native.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kiln.Model {self.digest}>"
