"""An OTLP receiver for tests: takes ExportTraceServiceRequests over HTTP as JSON, and nothing that the published protos do not know."""
import http.server
import json
import re
import threading

# opentelemetry/proto/trace/v1/trace.proto and resource/v1/resource.proto, as far as Kiln fills them in: member -> its check.
ID = {16: re.compile(r"(?!0+$)[0-9a-f]{16}"), 32: re.compile(r"(?!0+$)[0-9a-f]{32}")}


def attributes(value):
    return isinstance(value, list) and all(
        set(one) == {"key", "value"} and one["key"] and set(one["value"]) == {"stringValue"} and isinstance(one["value"]["stringValue"], str)
        for one in value)


def status(value):
    return set(value) <= {"code", "message"} and value.get("code", 0) in (0, 1, 2)


SPAN = {
    "traceId": lambda value: ID[32].fullmatch(value),
    "spanId": lambda value: ID[16].fullmatch(value),
    "parentSpanId": lambda value: ID[16].fullmatch(value),
    "name": lambda value: isinstance(value, str) and value,
    "kind": lambda value: value in (1, 2, 3),
    "startTimeUnixNano": lambda value: isinstance(value, str) and value.isdigit(),
    "endTimeUnixNano": lambda value: isinstance(value, str) and value.isdigit(),
    "attributes": attributes,
    "status": status,
}


def only(value, *members):
    if set(value) != set(members):
        raise ValueError(f"members {sorted(value)}, not {members}")
    return value


def spans_of(request):
    """The spans, each with its service's name; ValueError for what is no such request."""
    found = []
    for resource in only(request, "resourceSpans")["resourceSpans"]:
        only(resource, "resource", "scopeSpans")
        about = only(resource["resource"], "attributes")["attributes"]
        if not attributes(about):
            raise ValueError("attributes of the resource")
        service = {one["key"]: one["value"]["stringValue"] for one in about}["service.name"]
        for scope in resource["scopeSpans"]:
            only(only(scope, "scope", "spans")["scope"], "name")
            for span in scope["spans"]:
                for member, value in span.items():
                    if member not in SPAN or not SPAN[member](value):
                        raise ValueError(f"span member {member}: {value!r}")
                if set(SPAN) - set(span) - {"parentSpanId"} or int(span["startTimeUnixNano"]) > int(span["endTimeUnixNano"]):
                    raise ValueError(f"span {span}")
                values = {one["key"]: one["value"]["stringValue"] for one in span["attributes"]}
                found.append(dict(span, service=service, values=values))
    return found


class Receiver:
    def __init__(self):
        self.spans, self.wrong, self.lock = [], [], threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/json":
                        raise ValueError(f"{self.path} {self.headers['Content-Type']}")
                    found = spans_of(json.loads(body))
                except (ValueError, KeyError, TypeError) as error:
                    with receiver.lock:
                        receiver.wrong.append(str(error))
                    self.send_response(400)
                    self.end_headers()
                    return
                with receiver.lock:
                    receiver.spans += found
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of_job(self, job):
        """All spans of the trace that has this job's span."""
        with self.lock:
            traces = {span["traceId"] for span in self.spans if span["name"] == "job" and span["values"]["kiln.job"] == job}
            return [span for span in self.spans if span["traceId"] in traces]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
