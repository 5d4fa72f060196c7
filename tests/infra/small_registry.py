"""An OCI registry in memory, for one test: pushes and reads as skopeo and kiln do them, over plain http. No referrers API, so that
clients fall back to the index under a tag. Standard library only."""
import contextlib
import hashlib
import http.server
import json
import re
import threading

NAME = re.compile(r"/v2/([a-z0-9/._-]+)/(blobs|manifests)/([^/?]+)")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        if self.path == "/v2/":
            return self.answer(200)
        if self.path.endswith("/tags/list"):
            tags = sorted({name for _, room, name in self.server.held if room == "manifests" and ":" not in name})
            return self.answer(200, json.dumps({"name": self.path[4:-10], "tags": tags}).encode())
        found = NAME.match(self.path)
        held = found and self.server.held.get(found.groups())
        if not held:
            return self.answer(404)
        data, kind = held
        return self.answer(200, data, Content_Type=kind, Docker_Content_Digest="sha256:" + hashlib.sha256(data).hexdigest())

    do_HEAD = do_GET

    def do_POST(self):
        self.body()
        self.server.uploads += 1
        self.answer(202, Location=f"{self.path}{self.server.uploads}")

    def do_PUT(self):
        data, kind = self.body(), self.headers.get("Content-Type", "")
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        repository, room, name = NAME.match(self.path).groups()
        if room == "blobs":
            name = self.path.rsplit("digest=", 1)[1].replace("%3A", ":")
        if name.startswith("sha256:") and name != digest:
            return self.answer(400)
        for one in {name, digest}:
            self.server.held[(repository, room, one)] = (data, kind)
        return self.answer(201, Docker_Content_Digest=digest)


@contextlib.contextmanager
def small_registry():
    """The server, with `host`; `held` by (repository, "blobs" or "manifests", digest or tag); `uploads`, how many blobs were sent."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.held, server.uploads, server.host = {}, 0, f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
