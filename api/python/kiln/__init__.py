"""Kiln's artifacts in Python: fetch by hash, verify, load, run.

>>> import kiln, numpy
>>> model = kiln.load("digits")  # verified under $KILN_TRUST_ROOT and $KILN_POLICY
>>> numpy.asarray(model.run({"image": numpy.zeros((1, 1, 8, 8), numpy.float32)})["logits"]).shape
(1, 10)

Arrays go in and out without a copy, by the buffer protocol and by DLPack; NumPy is not needed. Every error is a
`kiln.Error` with the exit code of the command line in `exit_code`.
"""
from ._native import Tensor
from .errors import (CancelledError, CheckFailedError, DeniedError, Error, InternalError, InvalidModelError,
                     NotFoundError, NotReproducibleError, UnavailableError, UnsupportedError, UsageError,
                     VerificationError)
from .farm import Affected, Artifact, Farm, Job
from .model import Counters, Model, TensorInfo, empty, load
from .trust import Check, Verdict, fetch, verify

__version__ = "0.1.0"
__all__ = ["Affected", "Artifact", "CancelledError", "Check", "CheckFailedError", "Counters", "DeniedError", "Error", "Farm",
           "InternalError", "InvalidModelError", "Job", "Model", "NotFoundError", "NotReproducibleError", "Tensor",
           "TensorInfo", "UnavailableError", "UnsupportedError", "UsageError", "VerificationError", "Verdict", "empty",
           "fetch", "load", "verify"]
