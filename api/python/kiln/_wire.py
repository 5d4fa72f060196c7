"""gRPC without generated code: the messages come from the descriptors that the package carries (protos.desc, made of
api/proto), in a pool of their own, so that no other package's protos are in the way."""
from __future__ import annotations

import hashlib
import os
import pathlib
import re
import stat
import uuid
from typing import Any, Callable, Iterator

from .errors import DeniedError, Error, UnavailableError, UsageError, VerificationError, from_code

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError
except ImportError:
    grpc = None

_REAPI = "build.bazel.remote.execution.v2"
_MOST_IN_BATCH = 2 << 20
_CHUNK = 1 << 20
_MOST_SECRET = 1 << 20
_MOST_ENTRIES = 4096


def _read(path: str, secret: bool = False) -> bytes:
    with open(path, "rb") as file:
        if secret and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DeniedError(f"{path}: others may read this secret; run chmod 600 on it", 7)
        data = file.read(_MOST_SECRET + 1)
    if len(data) > _MOST_SECRET:
        raise UsageError(f"{path}: has more than {_MOST_SECRET} bytes", 3)
    return data


def _token_of(path: str) -> Callable[[Any, Any], None]:
    """The token of the file as it is at each call: such tokens are short-lived."""
    def give(_context: Any, callback: Any) -> None:
        try:
            callback((("authorization", "Bearer " + _read(path, secret=True).decode().rstrip("\r\n")),), None)
        except Exception as error:  # pylint: disable=broad-except
            callback((), error)
    return give


class Wire:
    """A channel to the first coordinator of a list that answers."""

    def __init__(self, endpoints: str, ca: str, certificate: str, key: str, token: str, timeout: float) -> None:
        if grpc is None:
            raise UsageError("a farm is reached through grpcio and protobuf; pip install \"kiln[farm]\"", 3)
        self._timeout = timeout
        pool = descriptor_pool.DescriptorPool()
        described = descriptor_pb2.FileDescriptorSet.FromString((pathlib.Path(__file__).parent / "protos.desc").read_bytes())
        for file in described.file:
            pool.Add(file)
        self._pool = pool
        names = [one for one in endpoints.split(",") if one]
        if not names:
            raise UsageError("no farm is named; give endpoint= or set KILN_ENDPOINT", 3)
        self._channels = [(name, self._open(name, ca, certificate, key, token)) for name in names]

    def _open(self, name: str, ca: str, certificate: str, key: str, token: str) -> Any:
        limits = [("grpc.max_receive_message_length", 16 << 20), ("grpc.initial_reconnect_backoff_ms", 100),
                  ("grpc.max_reconnect_backoff_ms", 1000), ("grpc.keepalive_time_ms", 30_000),
                  ("grpc.http2.max_pings_without_data", 0)]
        if name.startswith("unix:") and len(name) > 5:
            return grpc.insecure_channel(name, [*limits, ("grpc.default_authority", "localhost")])
        if not re.fullmatch(r"[^/,]+:[0-9]+", name):
            raise UsageError(f"{name!r} is no endpoint; give unix:/path/to/socket or host:port", 3)
        if not ca or bool(certificate) != bool(key) or not (certificate or token):
            raise UsageError(f"{name} is reached through TLS: give tls_ca, and tls_cert with tls_key or token_file", 3)
        try:
            credentials = grpc.ssl_channel_credentials(_read(ca), _read(key, secret=True) if key else None,
                                                       _read(certificate) if certificate else None)
            if token:
                _read(token, secret=True)
        except OSError as error:
            if isinstance(error, Error):
                raise
            raise UsageError(str(error), 3) from error
        if token:
            credentials = grpc.composite_channel_credentials(credentials, grpc.metadata_call_credentials(_token_of(token)))
        return grpc.secure_channel(name, credentials, limits)

    def message(self, name: str) -> Any:
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))

    def enum(self, name: str, number: int) -> str:
        value = self._pool.FindEnumTypeByName(name).values_by_number.get(number)
        return str(value.name) if value is not None else f"{number}"

    def call(self, service: str, method: str, request: Any) -> Any:
        return self._anywhere(lambda channel: self._method(channel.unary_unary, service, method)(
            request, timeout=self._timeout, wait_for_ready=len(self._channels) == 1))

    def stream(self, service: str, method: str, request: Any) -> Iterator[Any]:
        name, channel = self._channels[0]
        try:
            yield from self._method(channel.unary_stream, service, method)(request)
        except grpc.RpcError as error:
            raise self._error(name, error) from None

    def upload_bytes(self, instance: str, data: bytes) -> tuple[str, int]:
        hash_ = hashlib.sha256(data).hexdigest()
        request = self.message(_REAPI + ".BatchUpdateBlobsRequest")(instance_name=instance)
        one = request.requests.add(data=data)
        one.digest.hash, one.digest.size_bytes = hash_, len(data)
        answer = self.call(_REAPI + ".ContentAddressableStorage", "BatchUpdateBlobs", request)
        for told in answer.responses:
            if told.status.code != 0:
                raise from_code(told.status.code, told.status.message, "")
        return hash_, len(data)

    def upload_file(self, instance: str, path: str) -> tuple[str, int]:
        """The file's digest, once the farm has its bytes; nothing is sent that it has."""
        with open(path, "rb") as file:
            hash_, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
            asked = self.message(_REAPI + ".FindMissingBlobsRequest")(instance_name=instance)
            asked.blob_digests.add(hash=hash_, size_bytes=size)
            missing = self.call(_REAPI + ".ContentAddressableStorage", "FindMissingBlobs", asked).missing_blob_digests
            if not missing:
                return hash_, size
            file.seek(0)
            if size <= _MOST_IN_BATCH:
                return self.upload_bytes(instance, file.read())
            name = f"{instance}/uploads/{uuid.uuid4()}/blobs/{hash_}/{size}"
            self._write(file, name, size)
        return hash_, size

    def _write(self, file: Any, name: str, size: int) -> None:
        kind = self.message("google.bytestream.WriteRequest")

        def chunks() -> Iterator[Any]:
            offset = 0
            while offset < size:
                data = file.read(_CHUNK)
                if not data:
                    return  # it has shrunk: the farm says that bytes are missing
                yield kind(resource_name=name, write_offset=offset, data=data, finish_write=offset + len(data) >= size)
                offset += len(data)

        endpoint, channel = self._channels[0]
        try:
            self._method(channel.stream_unary, "google.bytestream.ByteStream", "Write")(chunks())
        except grpc.RpcError as error:
            raise self._error(endpoint, error) from None

    def read_blob(self, instance: str, hash_: str, size: int) -> Iterator[bytes]:
        """A blob's bytes as they come; nobody has verified them."""
        request = self.message("google.bytestream.ReadRequest")(resource_name=f"{instance}/blobs/{hash_}/{size}")
        for answer in self.stream("google.bytestream.ByteStream", "Read", request):
            yield answer.data

    def tree(self, instance: str, root: Any) -> list[tuple[str, str, int]]:
        """Path, hash and size of each file below a Directory; a bounded walk, for a farm may say anything."""
        files: list[tuple[str, str, int]] = []
        open_folders = [("", root.hash, root.size_bytes)]
        seen = 0
        while open_folders:
            path, hash_, size = open_folders.pop()
            seen += 1
            if seen > _MOST_ENTRIES or not 0 <= size <= _MOST_IN_BATCH:
                raise VerificationError(f"{path or 'fixtures'}: a tree larger than fixtures have", 15)
            data = b"".join(self.read_blob(instance, hash_, size)) if size else b""
            try:
                folder = self.message(_REAPI + ".Directory").FromString(data[:size])
            except DecodeError as error:
                raise VerificationError(f"{path or 'fixtures'}: is no Directory: {error}", 15) from error
            files += [(path + one.name, one.digest.hash, one.digest.size_bytes) for one in folder.files]
            open_folders += [(path + one.name + "/", one.digest.hash, one.digest.size_bytes) for one in folder.directories]
            if len(files) > _MOST_ENTRIES:
                raise VerificationError("fixtures: more files than fixtures have", 15)
        return files

    def _method(self, kind: Any, service: str, method: str) -> Any:
        described = self._pool.FindServiceByName(service).methods_by_name[method]
        answer = message_factory.GetMessageClass(described.output_type)
        return kind(f"/{service}/{method}", request_serializer=lambda message: message.SerializeToString(),
                    response_deserializer=answer.FromString)

    def _anywhere(self, call: Callable[[Any], Any]) -> Any:
        """Where one coordinator is away the next one is asked, and asked first from then on."""
        for at, (name, channel) in enumerate(list(self._channels)):
            try:
                answer = call(channel)
            except grpc.RpcError as error:
                told = self._error(name, error)
                if isinstance(told, UnavailableError) and at + 1 < len(self._channels):
                    continue
                raise told from None
            if at > 0:
                self._channels = self._channels[at:] + self._channels[:at]
            return answer
        raise AssertionError("a farm has an endpoint")

    def _error(self, endpoint: str, error: Any) -> Error:
        code, message, exit_code, details = error.code().value[0], error.details() or "", 0, ""
        for key, value in error.trailing_metadata() or ():
            if key != "grpc-status-details-bin":
                continue
            status = self.message("google.rpc.Status").FromString(value)
            for packed in status.details:
                job_error = self.message("kiln.v1.JobError")()
                if packed.type_url.endswith("/kiln.v1.JobError"):
                    job_error.ParseFromString(packed.value)
                    exit_code, details = job_error.exit_code, job_error.details_json
        if code in (4, 14) and not exit_code:
            message = f"coordinator not reachable at {endpoint}: {message}; start it, or name another with endpoint="
        return from_code(code, message, details, exit_code)

    def close(self) -> None:
        for _, channel in self._channels:
            channel.close()
