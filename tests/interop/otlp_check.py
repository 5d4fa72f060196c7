"""Spans as Kiln sends them, read by the classes that are generated from OTLP's published protos.

usage: otlp_check.py FILE       (tests/golden/otlp/traces.json, or what a receiver was sent)
The wheels come from PyPI, pinned by hash; without them the check is skipped (77).
"""
import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def wheels(directory):
    """Installs what requirements-otlp.txt names; whether that is there."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "--target", directory, "-r", HERE / "requirements-otlp.txt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def checked_id(text, digits):
    """Of an id in OTLP's JSON, hexadecimal: as the JSON of protobuf has bytes."""
    if not re.fullmatch(f"[0-9a-f]{{{digits}}}", text) or set(text) == {"0"}:
        raise ValueError(f"{text!r} is no id of {digits} digits")
    return base64.b64encode(bytes.fromhex(text)).decode()


def with_bytes(request):
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                span["traceId"] = checked_id(span["traceId"], 32)
                span["spanId"] = checked_id(span["spanId"], 16)
                if "parentSpanId" in span:
                    span["parentSpanId"] = checked_id(span["parentSpanId"], 16)
    return request


def check(text):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    # A member that the protos do not know is an error.
    message = json_format.Parse(json.dumps(with_bytes(json.loads(text))), ExportTraceServiceRequest())
    spans = 0
    for resource in message.resource_spans:
        names = {attribute.key for attribute in resource.resource.attributes}
        assert {"service.name", "service.instance.id"} <= names, names
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
                assert span.name and span.kind in (1, 2, 3), span
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                spans += 1
    return spans


def main():
    with tempfile.TemporaryDirectory() as directory:
        if not wheels(directory):
            print("skipped: the packages of requirements-otlp.txt cannot be installed")
            return 77
        sys.path.insert(0, directory)
        spans = check(pathlib.Path(sys.argv[1]).read_text())
    print(f"{spans} spans read")
    return 0 if spans else 1


if __name__ == "__main__":
    sys.exit(main())
