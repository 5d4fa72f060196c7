"""A farm over gRPC: build, follow, list, ask what is affected. Needs the extra `kiln[farm]` (grpcio and protobuf)."""
from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

from . import _native
from ._wire import Wire
from .errors import CancelledError, Error, InternalError, UsageError, VerificationError, from_code
from .trust import StrPath, Verdict, credentials_of, named, or_variable, path_of, verdict_of

_ENDED = ("JOB_SUCCEEDED", "JOB_FAILED", "JOB_CANCELLED")


@dataclass(frozen=True)
class BuiltFor:
    """What a job made for one target; `digest` is "" until it is published, `check` "" without one."""

    target: str
    digest: str
    cached: bool
    builders: tuple[str, ...]
    check: str


@dataclass(frozen=True)
class Job:
    """A job as the farm sees it: queued, running, publishing, succeeded, failed or cancelled."""

    id: str
    state: str
    model_name: str
    toolchain: str
    stages: tuple[str, ...]  # "compile cpu:x86-64-v3: codegen", what its actions are at
    artifacts: tuple[BuiltFor, ...]
    error: Error | None

    @property
    def ended(self) -> bool:
        return "JOB_" + self.state.upper() in _ENDED


@dataclass(frozen=True)
class Artifact:
    """An artifact of the farm's index. Nothing here is proven: `kiln.fetch` verifies."""

    digest: str
    target: str
    toolchain: str
    published: float  # seconds since 1970
    jobs: tuple[str, ...]
    builders: tuple[str, ...]


@dataclass(frozen=True)
class Affected:
    """An artifact that meets what was asked, and the signed statement that proves it, by its payload's digest."""

    artifact: str
    target: str
    statement: str
    predicate_type: str


def _names(prefix: str, value: str) -> str:
    return value.removeprefix(prefix).lower()


def _job(message: Any, wire: Wire) -> Job:
    state = wire.enum("kiln.v1.JobState", message.state)
    stages = tuple(f"{_names('ACTION_', wire.enum('kiln.v1.ActionKind', one.kind))} {one.target}: {one.stage or one.state}"
                   for one in message.actions)
    error = None
    if state == "JOB_FAILED":
        told = message.error
        error = from_code(told.code, told.message, told.details_json, told.exit_code)
    elif state == "JOB_CANCELLED":
        error = CancelledError(f"job {message.id} was cancelled", 1)
    return Job(message.id, _names("JOB_", state), message.model_name, message.toolchain_label, stages,
               tuple(BuiltFor(one.target, one.digest, one.cached, tuple(one.builders), one.check) for one in message.artifacts),
               error)


class Farm:
    """A farm's instance, as who the certificate or the token says. Thread safe. What is left out comes from the variables of
    the command line ($KILN_ENDPOINT, $KILN_INSTANCE, $KILN_TLS_CA, ...).

    >>> farm = kiln.Farm()
    >>> job = farm.build("digits_cnn.onnx", targets=["cpu:x86-64-v3"])
    >>> job.state, job.artifacts[0].digest == ARTIFACT
    ('succeeded', True)
    >>> [artifact.target for artifact in farm.artifacts(limit=1)]
    ['cpu:x86-64-v3']
    >>> farm.build("digits_cnn.onnx", targets=["cpu:x86-64-v9"])
    Traceback (most recent call last):
    ...
    kiln.errors.UsageError: ...
    """

    def __init__(self, endpoint: str | None = None, *, instance: str | None = None, tls_ca: StrPath | None = None,
                 tls_cert: StrPath | None = None, tls_key: StrPath | None = None, token_file: StrPath | None = None,
                 timeout: float = 30.0) -> None:
        self.endpoint = or_variable(endpoint, "KILN_ENDPOINT") or ""
        self.instance = or_variable(instance, "KILN_INSTANCE") or "default"
        self._wire = Wire(self.endpoint, *credentials_of(tls_ca, tls_cert, tls_key, token_file), timeout)

    def build(self, model: StrPath, *, targets: Sequence[str], data: Sequence[StrPath] = (), toolchain: str = "",
              profiles: Sequence[str] = (), pins: Mapping[str, Sequence[float]] | None = None, sequences: Sequence[str] = (),
              precision: str = "", reassociation: str = "", fallback: str = "", affinities: Sequence[str] = (),
              exclusions: Sequence[str] = (), builders: int = 1, operators: int = 1, majority: bool = False,
              tune: str = "catalogue", check: bool = False, cache: bool = True, max_artifact_bytes: int = 0,
              max_planned_bytes: int = 0, detach: bool = False) -> Job:
        """Builds a model file, one artifact per target, as `kiln build` with the options of these names; external data is found
        beside it, and an option that is "" is what `kiln build` takes without it. Waits until the job has ended and raises its
        error if it failed; with `detach` it returns at once."""
        if isinstance(targets, str) or not targets:
            raise UsageError("targets: give a list, such as [\"cpu:x86-64-v3\"]", 3)
        named = [f"{name}=" + ",".join(map(str, values)) for name, values in (pins or {}).items()]
        options = {"targets": list(targets), "profiles": list(profiles), "pins": named, "sequences": list(sequences),
                   "precision": precision, "reassociation": reassociation, "fallback": fallback,
                   "affinities": list(affinities), "exclusions": list(exclusions), "builders": builders,
                   "operators": operators, "majority": majority, "tune": tune, "check": check, "cache": cache,
                   "max_artifact_bytes": max_artifact_bytes, "max_planned_bytes": max_planned_bytes}
        spec, delivery, files = _native.request(json.dumps(options), path_of(model), [path_of(one) for one in data])
        request = self._wire.message("kiln.v1.SubmitJobRequest")(
            instance=self.instance, idempotency_key=uuid.uuid4().hex, targets=list(targets), toolchain=toolchain,
            spec_json=spec, delivery_json=delivery)
        self._jobs("ListJobs", self._wire.message("kiln.v1.ListJobsRequest")(instance=self.instance, limit=1))
        for name, path in files:
            hash_, size = self._wire.upload_file(self.instance, path)
            source = request.sources.add(path=name)
            source.blob.hash, source.blob.size_bytes = hash_, size
        if check:
            self._wire.upload_bytes(self.instance, b"{}")  # a plan that adds nothing to the fixtures
        job = _job(self._jobs("SubmitJob", request), self._wire)
        if detach:
            return job
        for job in self.watch(job.id):
            pass
        if job.error is not None:
            raise job.error
        return job

    def watch(self, job: str) -> Iterator[Job]:
        """The job as it is, then again at each change until it has ended. Errors of the job stand in it and are not raised."""
        request = self._wire.message("kiln.v1.GetJobRequest")(instance=self.instance, id=job)
        last = None
        for message in self._wire.stream("kiln.v1.JobService", "WatchJob", request):
            last = _job(message, self._wire)
            yield last
        if last is None or not last.ended:
            raise InternalError(f"{self.endpoint}: the watch of job {job} ended before the job; call watch again", 14)

    def jobs(self, limit: int = 50) -> list[Job]:
        """The newest jobs of the instance."""
        request = self._wire.message("kiln.v1.ListJobsRequest")(instance=self.instance, limit=limit)
        return [_job(one, self._wire) for one in self._jobs("ListJobs", request).jobs]

    def cancel(self, job: str) -> Job:
        """Ends a job."""
        request = self._wire.message("kiln.v1.GetJobRequest")(instance=self.instance, id=job)
        return _job(self._jobs("CancelJob", request), self._wire)

    def artifacts(self, limit: int = 50) -> list[Artifact]:
        """The newest artifacts of the instance."""
        request = self._wire.message("kiln.v1.ListArtifactsRequest")(instance=self.instance, limit=limit)
        answer = self._wire.call("kiln.v1.ArtifactService", "ListArtifacts", request)
        return [Artifact(one.digest, one.target, one.toolchain_label, one.published.seconds + one.published.nanos / 1e9,
                         tuple(one.jobs), tuple(one.builders)) for one in answer.artifacts]

    def fetch(self, digest: str, out: StrPath | None = None, *, root: StrPath | None = None, policy: StrPath | None = None,
              recalls: StrPath | None = None) -> Verdict:
        """Fetches an artifact and its fixtures into `out` (default: kiln-<hash>), as `kiln fetch`; 12 digits of the hash will do.
        What does not verify leaves nothing behind.

        >>> farm.fetch(ARTIFACT[:19], "whole").digest == ARTIFACT
        True
        """
        trust = named(root, policy, recalls)
        request = self._wire.message("kiln.v1.GetArtifactRequest")(instance=self.instance, digest=digest)
        found = self._wire.call("kiln.v1.ArtifactService", "GetArtifact", request)
        if not ("sha256:" + found.manifest.hash).startswith(digest) or not digest.startswith("sha256:"):
            raise VerificationError(f"{self.endpoint}: the index answers {digest} with another artifact", 15)
        fixtures = self._wire.tree(self.instance, found.fixtures) if found.HasField("fixtures") else []
        offered = self._wire.call("kiln.v1.RecallService", "GetRecalls", self._wire.message("kiln.v1.GetRecallsRequest")())
        parts = (self.instance, (found.manifest.hash, found.manifest.size_bytes),
                 [(one.hash, one.size_bytes) for one in found.bundles], fixtures, offered.document.decode(errors="replace"))
        directory = path_of(out) if out is not None else "kiln-" + found.manifest.hash[:12]
        checked = _native.fetch_with(parts, lambda hash_, size: self._wire.read_blob(self.instance, hash_, size), directory,
                                     trust.root, trust.policy, trust.recalls)
        return verdict_of(checked, directory)

    def affected(self, *, artifact: str = "", source: str = "", toolchain: str = "", component: str = "", worker: str = "",
                 operator: str = "", key: str = "", target: str = "", submitter: str = "",
                 device: str = "") -> Iterator[Affected]:
        """What a toolchain, a worker, an input, ... has touched, newest first, as `kiln affected`; all conditions hold.

        >>> ARTIFACT in {one.artifact for one in farm.affected(target="cpu:x86-64-v3")}
        True
        """
        request = self._wire.message("kiln.v1.ListAffectedRequest")(
            instance=self.instance, artifact=artifact, source=source, toolchain=toolchain, component=component, worker=worker,
            operator=operator, key=key, target=target, submitter=submitter, device=device, page_size=500)
        seen = {""}
        while True:
            page = self._wire.call("kiln.v1.AuditService", "ListAffected", request)
            for one in page.affected:
                yield Affected(one.artifact, one.target, one.statement.payload, one.statement.predicate_type)
            if page.next_page_token in seen:  # the end, or a list that leads in a circle
                return
            seen.add(page.next_page_token)
            request.page_token = page.next_page_token

    def close(self) -> None:
        """Ends the connection."""
        self._wire.close()

    def __enter__(self) -> "Farm":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _jobs(self, method: str, request: Any) -> Any:
        return self._wire.call("kiln.v1.JobService", method, request)
