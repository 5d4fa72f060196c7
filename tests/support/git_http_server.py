#!/usr/bin/env python3
"""Serves bare git repositories of a directory over HTTP through `git http-backend`, for tests.

usage: git_http_server.py DIRECTORY PORT_FILE [TOKEN]
With TOKEN, only basic authentication with that password is let in. Paths below /redirect/ are answered with a
redirect to the same server under another host name. Paths below /answer/NAME/ get an answer that is no git server's.
Git LFS is answered by lfs_answers.py.
Ends at the end of its input.
"""
import base64
import http.server
import os
import subprocess
import sys
import threading

import lfs_answers

directory, port_file = sys.argv[1:3]
token = sys.argv[3] if len(sys.argv) > 3 else None


ADVERTISEMENT, RESULT = (f"application/x-git-upload-pack-{kind}" for kind in ("advertisement", "result"))


def line(text):
    return b"%04x" % (len(text) + 4) + text


REFS = line(b"# service=git-upload-pack\n") + b"0000" + line(
    b"1" * 40 + b" refs/heads/main\0ofs-delta side-band-64k allow-tip-sha1-in-want allow-reachable-sha1-in-want\n") + b"0000"
# NAME: status, content type, body; of those of GET that are git's, the answer to POST.
ANSWERS = {
    "page": (200, "text/html", b"<html>\x1b[31m"),
    "error": (200, ADVERTISEMENT, line(b"# service=git-upload-pack\n") + b"0000" + line(b"ERR go away")),
    "noise": (200, ADVERTISEMENT, b"zzzz" + b"?" * 100),
    "file": (302, "text/plain", b""),
    "gone": (410, "text/plain", b""),
    "teapot": (418, "text/plain", b""),
    "busy": (503, "text/plain", b""),
    "version": (200, ADVERTISEMENT, REFS),
    "short": (200, ADVERTISEMENT, REFS),
}
PACKS = {"version": b"PACK" + b"\xff" * 1000, "short": b"PA"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *args):
        pass

    def allowed(self):
        if token is None:
            return True
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Basic" and base64.b64decode(value).decode().endswith(":" + token)

    def other_answer(self, name):
        status, kind, body = ANSWERS[name]
        if self.command == "POST":
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind, body = RESULT, line(b"NAK\n") + line(b"\x01" + PACKS[name]) + b"0000"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", "file:///etc")
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        if self.path.startswith("/answer/"):
            return self.other_answer(self.path.split("/")[2])
        if self.path.startswith("/redirect/"):
            self.send_response(301)
            self.send_header("Location", f"http://localhost:{server.server_port}" + self.path.replace("/redirect/", "/", 1))
            self.end_headers()
            return
        if lfs_answers.answer(self, directory, token):
            return
        if not self.allowed():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = dict(os.environ, GIT_PROJECT_ROOT=directory, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
                           QUERY_STRING=query, REQUEST_METHOD=self.command,
                           CONTENT_TYPE=self.headers.get("Content-Type", ""), CONTENT_LENGTH=str(len(body)))
        if self.headers.get("Content-Encoding"):
            environment["HTTP_CONTENT_ENCODING"] = self.headers["Content-Encoding"]
        output = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE).stdout
        head, _, content = output.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as out:
    out.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
