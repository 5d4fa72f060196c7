"""Fetching and verifying, under a trust root that is named and never looked for."""
from __future__ import annotations

import os
from dataclasses import dataclass

from . import _native
from .errors import UsageError

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Check:
    """One thing that was checked and holds, such as `file program.so` or `policy minBuilders`."""

    name: str
    detail: str


@dataclass(frozen=True)
class Verdict:
    """An artifact that verified: its digest, its directory, and what was checked."""

    digest: str
    directory: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Named:
    """Root, policy and recalls as the extension takes them."""

    root: str
    policy: str | None
    recalls: str | None


def path_of(value: StrPath) -> str:
    return os.fsdecode(value)


def or_variable(value: StrPath | None, variable: str) -> str | None:
    """The path that was given, else the variable's; an empty variable counts as not set."""
    return path_of(value) if value is not None else os.environ.get(variable) or None


def credentials_of(tls_ca: StrPath | None, tls_cert: StrPath | None, tls_key: StrPath | None,
                   token_file: StrPath | None) -> tuple[str, str, str, str]:
    """Who asks, by files; "" for none. What is left out comes from the variables of the command line."""
    return (or_variable(tls_ca, "KILN_TLS_CA") or "", or_variable(tls_cert, "KILN_TLS_CERT") or "",
            or_variable(tls_key, "KILN_TLS_KEY") or "", or_variable(token_file, "KILN_TOKEN_FILE") or "")


def named(root: StrPath | None, policy: StrPath | None, recalls: StrPath | None) -> Named:
    """What is left out comes from $KILN_TRUST_ROOT, $KILN_POLICY and $KILN_RECALLS, as for the command line."""
    found = or_variable(root, "KILN_TRUST_ROOT")
    if found is None:
        raise UsageError("no trust root is named; give root= or set KILN_TRUST_ROOT", 3)
    return Named(found, or_variable(policy, "KILN_POLICY"), or_variable(recalls, "KILN_RECALLS"))


def verdict_of(found: tuple[str, list[tuple[str, str]]], directory: str) -> Verdict:
    """From what the extension says."""
    return Verdict(found[0], directory, tuple(Check(*line) for line in found[1]))


def verify(path: StrPath, *, digest: str | None = None, root: StrPath | None = None, policy: StrPath | None = None,
           recalls: StrPath | None = None) -> Verdict:
    """Checks hashes, signatures and policy of a fetched directory, as `kiln verify`; no farm is asked.

    >>> kiln.verify("digits").checks[0].name
    'artifact'
    >>> kiln.verify("digits", digest="sha256:" + 64 * "0")
    Traceback (most recent call last):
    ...
    kiln.errors.VerificationError: ...
    """
    trust = named(root, policy, recalls)
    directory = path_of(path)
    return verdict_of(_native.verify(directory, digest, trust.root, trust.policy, trust.recalls), directory)


def fetch(digest: str, out: StrPath | None = None, *, endpoint: str | None = None, instance: str | None = None,
          root: StrPath | None = None, policy: StrPath | None = None, recalls: StrPath | None = None,
          tls_ca: StrPath | None = None, tls_cert: StrPath | None = None, tls_key: StrPath | None = None,
          token_file: StrPath | None = None) -> Verdict:
    """Fetches an artifact by its hash into `out` (default: kiln-<hash>), as `kiln fetch --mirror`; what does not verify
    leaves nothing behind. `endpoint` is the URL of a mirror, or of the farm's own HTTP side (default: $KILN_HTTP),
    which serves no fixtures; `Farm.fetch` brings them. What is left out of who asks comes from $KILN_TLS_CA,
    $KILN_TLS_CERT, $KILN_TLS_KEY and $KILN_TOKEN_FILE, and counts for https alone.

    >>> kiln.fetch(ARTIFACT, "fetched").digest == ARTIFACT
    True
    >>> kiln.fetch(ARTIFACT, "fetched")
    Traceback (most recent call last):
    ...
    kiln.errors.UsageError: ...
    """
    trust = named(root, policy, recalls)
    url = endpoint if endpoint is not None else os.environ.get("KILN_HTTP", "")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"endpoint={url!r}: give the URL of a mirror or of the farm's HTTP side, as http://HOST:PORT, "
                         "or set KILN_HTTP", 3)
    directory = path_of(out) if out is not None else "kiln-" + digest.removeprefix("sha256:")[:12]
    found = _native.fetch(digest, directory, url, instance or os.environ.get("KILN_INSTANCE") or "default", trust.root,
                          trust.policy, trust.recalls, *credentials_of(tls_ca, tls_cert, tls_key, token_file))
    return verdict_of(found, directory)
