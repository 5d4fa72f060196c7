"""The common calls of ONNX Runtime's InferenceSession over an artifact, for a service that switches by one import:

    from kiln import onnxruntime
    session = onnxruntime.InferenceSession("digits")  # a fetched directory in the place of model.onnx

Needs NumPy, as the original. What an artifact has no counterpart for is refused and says so: an artifact was optimised when it
was built.

>>> session = kiln.onnxruntime.InferenceSession("digits")
>>> session.get_inputs()[0].name, session.get_inputs()[0].type, session.get_inputs()[0].shape
('image', 'tensor(float)', [1, 1, 8, 8])
>>> session.run(["logits"], {"image": numpy.zeros((1, 1, 8, 8), numpy.float32)})[0].shape
(1, 10)
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy

from .errors import UsageError
from .model import Dimension, TensorInfo, load
from .trust import StrPath

_TYPES = {"f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "bool": "bool", "str": "string",
          **{f"{sign}{bits}": f"{'' if sign == 'i' else 'u'}int{bits}" for sign in "iu" for bits in (2, 4, 8, 16, 32, 64)}}


@dataclass(frozen=True)
class NodeArg:
    """An input or an output as ONNX Runtime describes it."""

    name: str
    type: str
    shape: list[Dimension]


class SessionOptions:
    """Of the original's options `intra_op_num_threads` counts. The others that say how to optimise, log and lay out memory are
    taken and change nothing."""

    _IGNORED = ("inter_op_num_threads", "graph_optimization_level", "execution_mode", "log_severity_level",
                "log_verbosity_level", "logid", "enable_mem_pattern", "enable_mem_reuse", "enable_cpu_mem_arena",
                "use_deterministic_compute")

    def __init__(self) -> None:
        object.__setattr__(self, "intra_op_num_threads", 0)

    intra_op_num_threads: int

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "intra_op_num_threads" and name not in self._IGNORED:
            raise UsageError(f"SessionOptions.{name}: an artifact has nothing for it; leave it out", 3)
        object.__setattr__(self, name, value)


class RunOptions:
    """Its log settings are taken and change nothing; others are refused."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("log_severity_level", "log_verbosity_level", "logid"):
            raise UsageError(f"RunOptions.{name}: a run of an artifact has nothing for it; leave it out", 3)
        object.__setattr__(self, name, value)


def _node(info: TensorInfo) -> NodeArg:
    return NodeArg(info.name, f"tensor({_TYPES.get(info.dtype, info.dtype)})", list(info.shape))


class InferenceSession:
    """A loaded artifact. `path_or_bytes` is the directory that `kiln fetch` made. Thread safe."""

    def __init__(self, path_or_bytes: StrPath | bytes, sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None, *,
                 root: StrPath | None = None, policy: StrPath | None = None, recalls: StrPath | None = None) -> None:
        if isinstance(path_or_bytes, bytes):
            raise UsageError("an artifact is a directory; give its path, as kiln fetch made it", 3)
        if provider_options:
            raise UsageError("provider_options: where an artifact runs was decided when it was built; leave them out", 3)
        threads = sess_options.intra_op_num_threads if sess_options is not None else 0
        self._model = load(path_or_bytes, root=root, policy=policy, recalls=recalls, threads=threads)
        self._options = sess_options or SessionOptions()
        on_device = self._model.counters.device_name is not None
        self._providers = (["CUDAExecutionProvider"] if on_device else []) + ["CPUExecutionProvider"]
        wanted = [one if isinstance(one, str) else one[0] for one in providers or ()]
        if wanted and not set(wanted) & set(self._providers):
            raise UsageError(f"providers {', '.join(wanted)}: this artifact runs on {', '.join(self._providers)}; build one for "
                             "the device that you mean", 3)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """The outputs as NumPy arrays, in the order of `output_names`; None or an empty list: all."""
        known = [info.name for info in self._model.outputs]
        for name in output_names or ():
            if name not in known:
                raise UsageError(f"there is no output {name!r}; the artifact has {', '.join(known)}", 3)
        feed = {name: value if type(value) is numpy.ndarray and value.flags.c_contiguous else numpy.asarray(value, order="C")
                for name, value in input_feed.items()}
        results = self._model.run(feed)
        texts = self._model._texts_out  # pylint: disable=protected-access
        return [numpy.array(results[name], dtype=object) if name in texts else numpy.asarray(results[name])
                for name in output_names or known]

    def get_inputs(self) -> list[NodeArg]:
        return [_node(info) for info in self._model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [_node(info) for info in self._model.outputs]

    def get_providers(self) -> list[str]:
        return list(self._providers)

    def get_session_options(self) -> SessionOptions:
        return self._options


def get_available_providers() -> list[str]:
    """What artifacts may run on."""
    return ["CUDAExecutionProvider", "CPUExecutionProvider"]


def get_device() -> str:
    """
    >>> kiln.onnxruntime.get_device()
    'CPU'
    """
    return "CPU"
