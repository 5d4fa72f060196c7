#!/usr/bin/env python3
"""Serves bare git repositories of a directory over HTTP through `git http-backend`, for tests.

usage: git_http_server.py DIRECTORY PORT_FILE [TOKEN]
With TOKEN, only basic authentication with that password is let in. Paths below /redirect/ are answered with a
redirect to the same server under another host name. Ends at the end of its input.
"""
import base64
import http.server
import os
import subprocess
import sys
import threading

directory, port_file = sys.argv[1:3]
token = sys.argv[3] if len(sys.argv) > 3 else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *args):
        pass

    def allowed(self):
        if token is None:
            return True
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Basic" and base64.b64decode(value).decode().endswith(":" + token)

    def answer(self):
        if self.path.startswith("/redirect/"):
            self.send_response(301)
            self.send_header("Location", f"http://localhost:{server.server_port}" + self.path.replace("/redirect/", "/", 1))
            self.end_headers()
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
