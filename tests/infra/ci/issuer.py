"""Issuers of tokens for the tests: one of our own within TLS, whose keys can be changed and whose answers can be spoiled, and
oidc-provider-mock, which others wrote. Standard library and openssl alone."""
import base64
import gzip
import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request


def openssl(home, *words, **more):
    return subprocess.run(["openssl", *words], cwd=home, check=True, capture_output=True, **more).stdout


def make_certificates(home, *names, ca="ca"):
    """CA.pem, and NAME.pem and NAME.key of each name, for localhost and 127.0.0.1."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl(home, "req", "-x509", *curve, "-keyout", f"{ca}.key", "-out", f"{ca}.pem", "-subj", f"/CN={ca}", "-addext",
            "basicConstraints=critical,CA:TRUE")
    for name in names:
        openssl(home, "req", "-x509", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", *curve, "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        (home / f"{name}.key").chmod(0o600)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Key:
    def __init__(self, home, name, bits=2048):
        self.home, self.name = home, name
        openssl(home, "genrsa", "-out", f"{name}.rsa", str(bits))
        modulus = openssl(home, "rsa", "-in", f"{name}.rsa", "-noout", "-modulus").decode().strip().partition("=")[2]
        self.jwk = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": name, "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"}

    def token(self, claims, sign=None, **header):
        """`sign` makes something else of the text than a signature."""
        parts = ({"alg": "RS256", "typ": "JWT", "kid": self.name} | header, claims)
        text = ".".join(part if isinstance(part, str) else base64url(json.dumps(part).encode()) for part in parts)
        return f"{text}.{base64url((sign or self.signature)(text.encode()))}"

    def signature(self, text):
        return openssl(self.home, "dgst", "-sha256", "-sign", f"{self.name}.rsa", input=text)

    def public_pem(self):
        return openssl(self.home, "rsa", "-in", f"{self.name}.rsa", "-pubout")


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        issuer = self.server.issuer
        path, _, query = self.path.partition("?")
        issuer.asked.append(path)
        if path in issuer.redirects:
            self.send_response(302)
            self.send_header("Location", issuer.redirects[path])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if path == "/.well-known/openid-configuration":
            return self.answer(issuer.document)
        if path == "/keys":
            return self.answer(issuer.key_set if issuer.key_set is not None else {"keys": [key.jwk for key in issuer.keys]})
        if path == "/job-token" and self.headers.get("Authorization") == f"bearer {issuer.BEARER}":
            audience = urllib.parse.parse_qs(query)["audience"][0]
            return self.answer({"value": issuer.token(issuer.job, aud=audience)})
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, value):
        if callable(value):
            return value(self)
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def drop_by_drop(answer):
    """A long answer, one byte in half a second."""
    answer.send_response(200)
    answer.send_header("Content-Length", "60000")
    answer.end_headers()
    pour(answer, b" ", 0.5)


def without_end(answer):
    """An answer that says no length and goes on."""
    answer.send_response(200)
    answer.end_headers()
    pour(answer, b" " * 65536, 0)


def endless_headers(answer):
    answer.wfile.write(b"HTTP/1.1 200 OK\r\n")
    pour(answer, b"X-More: " + b"x" * 1000 + b"\r\n", 0)


def packed(answer):
    """64 MiB in some kilobytes, though nobody has asked for that."""
    body = gzip.compress(bytes(64 << 20))
    answer.send_response(200)
    answer.send_header("Content-Encoding", "gzip")
    answer.send_header("Content-Length", str(len(body)))
    answer.end_headers()
    answer.wfile.write(body)


def pour(answer, data, pause):
    try:
        while True:
            answer.wfile.write(data)
            time.sleep(pause)
    except OSError:
        pass  # whoever asked has had enough


class Issuer:
    """At `url`, within TLS under `home`/ca.pem. `job` has the claims that /job-token of GitHub's form gives a job. `document` and
    `key_set` are JSON values, bytes, or functions that answer."""
    BEARER = "bearer-of-the-job-4711"

    def __init__(self, home, audience, name="issuer", certificate="issuer"):
        self.audience, self.keys = audience, [Key(home, f"{name}-1")]
        self.asked, self.redirects, self.key_set, self.job = [], {}, None, {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.server.issuer = self
        self.server.handle_error = lambda *_: None  # who hangs up early is meant to
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(home / f"{certificate}.pem", home / f"{certificate}.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.server.server_port}"
        self.document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def claims(self, claims):
        now = int(time.time())
        return {"iss": self.url, "aud": self.audience, "sub": "repo:acme/model:ref:refs/heads/main", "iat": now, "nbf": now,
                "exp": now + 600} | claims

    def token(self, claims, key=None, header=(), sign=None, **more):
        return (key or self.keys[-1]).token(self.claims(claims | more), sign, **dict(header))

    def fetches(self):
        return self.asked.count("/.well-known/openid-configuration")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Mock:
    """oidc-provider-mock at `url`, in plain HTTP on loopback."""

    @staticmethod
    def program():
        return shutil.which("oidc-provider-mock", path=str(pathlib.Path(sys.executable).parent))

    def __init__(self, audience):
        self.audience = audience
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([self.program(), "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/jwks", timeout=5).close()
                return
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < end and self.process.poll() is None
                time.sleep(0.2)

    def token(self, subject, claims):
        """By the authorization code flow, as a browser goes through it."""
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None
        back = "http://localhost/back"
        user = urllib.request.Request(f"{self.url}/users/{urllib.parse.quote(subject, safe='')}", json.dumps(claims).encode(),
                                      {"Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(user).close()
        asked = urllib.parse.urlencode({"client_id": self.audience, "redirect_uri": back, "response_type": "code", "scope": "openid"})
        try:
            urllib.request.build_opener(Stay).open(f"{self.url}/oauth2/authorize?{asked}",
                                                   urllib.parse.urlencode({"sub": subject}).encode())
        except urllib.error.HTTPError as redirect:
            code = urllib.parse.parse_qs(urllib.parse.urlsplit(redirect.headers["Location"]).query)["code"][0]
        form = urllib.parse.urlencode({"grant_type": "authorization_code", "code": code, "redirect_uri": back}).encode()
        name = urllib.parse.quote(self.audience, safe="")  # RFC 6749 2.3.1: a ':' would end it
        basic = base64.b64encode(f"{name}:secret".encode()).decode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/oauth2/token", form,
                                                           {"Authorization": f"Basic {basic}"})) as answer:
            return json.load(answer)["id_token"]

    def close(self):
        self.process.terminate()
        self.process.wait()
