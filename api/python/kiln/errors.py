"""The errors of Kiln: one class per exit code of the command line (manifest/base/exit_code.h)."""
from __future__ import annotations

import json
from typing import Any, Type

from . import _native


class Error(Exception):
    """What went wrong, where, and the next step. `exit_code` is what `kiln` would end with, `code` the canonical number
    (gRPC's), `details` structured facts where there are any.

    >>> error = from_code(15, "weights/0000.bin: not what was signed", "")
    >>> type(error).__name__, error.exit_code
    ('VerificationError', 5)
    """

    exit_code: int = 1

    def __init__(self, message: str, code: int = 13, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details: dict[str, Any] = details or {}


class InternalError(Error):
    """A fault of Kiln, or a call that the state does not allow."""


class UsageError(Error, ValueError):
    """The call is wrong: a name, a type, a shape outside every profile."""

    exit_code = 2


class InvalidModelError(Error, ValueError):
    """The model is malformed."""

    exit_code = 3


class UnsupportedError(Error):
    """An operator, a target or a device that is not served, or a budget that is exceeded."""

    exit_code = 4


class VerificationError(Error):
    """Bytes or signatures are wrong, or the policy is not satisfied."""

    exit_code = 5


class NotFoundError(Error, LookupError):
    """There is no such file, artifact or job."""

    exit_code = 6


class UnavailableError(Error, OSError):
    """Nobody answered, or memory, disk, threads or files ran out; trying again may help."""

    exit_code = 7


class DeniedError(Error, PermissionError):
    """The caller may not do that."""

    exit_code = 8


class NotReproducibleError(Error):
    """A rebuild gave other bytes."""

    exit_code = 9


class CheckFailedError(Error):
    """A check, a warmup's fixture, or an index outside its dimension."""

    exit_code = 10


class CancelledError(Error):
    """The job was cancelled."""

    exit_code = 11


_CLASSES: dict[int, Type[Error]] = {
    kind.exit_code: kind
    for kind in (InternalError, UsageError, InvalidModelError, UnsupportedError, VerificationError, NotFoundError,
                 UnavailableError, DeniedError, NotReproducibleError, CheckFailedError, CancelledError)}


def from_code(code: int, message: str, details: str, exit_code: int = 0) -> Error:
    """The error of a canonical code. An exit code, given or in the details (the text of a JSON object), says more."""
    try:
        facts = json.loads(details) if details else {}
    except ValueError:
        facts = {}
    if not isinstance(facts, dict):
        facts = {}
    exit_code = exit_code or facts.get("exitCode", 0)
    if exit_code not in _CLASSES:
        exit_code = _native.exit_code(code)
    return _CLASSES[exit_code](message, code, facts)
