"""The way into a farm of infra/up from other machines: a second coordinator of it, within TLS, for callers with a certificate or a
token, and nginx before it with the file of infra/deploy for those with a token alone."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from buildbarn import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISSUER, AUDIENCE = "https://tokens.example.org", "kiln"
# Who comes with a token, and what the farm grants him.
CALLERS = {"writer": ("submitter", "default"), "reader": ("auditor", "default"), "stranger": ("submitter", "elsewhere")}


def nginx():
    """The program, installed where that can be; None if it cannot."""
    def found():
        return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not found() and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "nginx-light"], capture_output=True)
    return found()


def openssl(home, *words, **more):
    return subprocess.run(["openssl", *words], cwd=home, check=True, capture_output=True, **more).stdout


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """An issuer of tokens with an RSA key, as `name`.pem and, for the access file, `name`.jwks.json in `home`."""

    def __init__(self, home, name):
        self.home, self.key = home, f"{name}.pem"
        openssl(home, "genrsa", "-out", self.key, "2048")
        modulus = openssl(home, "rsa", "-in", self.key, "-noout", "-modulus").decode().strip().partition("=")[2]
        (home / f"{name}.jwks.json").write_text(json.dumps(
            {"keys": [{"kty": "RSA", "alg": "RS256", "kid": "1", "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"}]}))

    def token(self, subject, lasts=3600):
        parts = ({"alg": "RS256", "kid": "1"}, {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": int(time.time()) + lasts})
        text = ".".join(base64url(json.dumps(part).encode()) for part in parts)
        return f"{text}.{base64url(openssl(self.home, 'dgst', '-sha256', '-sign', self.key, input=text.encode()))}"


def options_of(pid):
    """The command line of a coordinator, as its program and (option, value) pairs; each of its options has a value."""
    program, *words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
    return program, list(zip(words[::2], words[1::2]))


class TokenDoor:
    """`address` takes tokens, through nginx; `certificates` is the coordinator's own port for callers with a certificate. `authority`
    signed the server's certificate, `client` and `client_key` are a submitter's of the farm. `tokens` has one of each caller,
    and what is refused: "forged", signed by another key, and "expired"."""

    def __init__(self, farm, program):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-door-"))
        self.processes = []
        self.authority, self.client, self.client_key = (self.home / name for name in ("ca.pem", "client.pem", "client.key"))
        try:
            self.make_certificates()
            issuer = Issuer(self.home, "issuer")
            self.tokens = {name: issuer.token(name) for name in CALLERS}
            self.tokens["forged"] = Issuer(self.home, "forger").token("writer")
            self.tokens["expired"] = issuer.token("writer", lasts=-3600)
            self.write_access()
            public, certificates, tokens = free_ports(3)
            self.address, self.certificates = f"localhost:{public}", f"localhost:{certificates}"
            self.start_coordinator(farm, certificates, tokens)
            self.start_nginx(program, public, tokens)
            self.wait(public, tokens)
        except BaseException:
            self.close()
            raise

    def make_certificates(self):
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        openssl(self.home, "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-addext",
                "basicConstraints=critical,CA:TRUE")
        for name in ("farm", "client"):
            openssl(self.home, "req", "-x509", "-CA", "ca.pem", "-CAkey", "ca.key", *curve, "-keyout", f"{name}.key", "-out",
                    f"{name}.pem", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:farm.example.org,DNS:localhost")
            (self.home / f"{name}.key").chmod(0o600)

    def write_access(self):
        grants = [{"token": {"issuer": ISSUER, "subject": name}, "roles": [role], "instances": [instance]}
                  for name, (role, instance) in CALLERS.items()]
        grants.append({"certificate": {"subject": "CN=client"}, "roles": ["submitter"], "instances": ["default"]})
        (self.home / "access.json").write_text(json.dumps(
            {"apiVersion": "kiln/v1", "kind": "Access", "grants": grants,
             "tokenIssuers": [{"issuer": ISSUER, "audience": AUDIENCE, "jwks": "issuer.jwks.json"}]}))

    def start(self, name, command):
        with open(self.home / f"{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, cwd=self.home))

    def start_coordinator(self, farm, certificates, tokens):
        program, options = options_of(farm.pid("coordinator"))
        other = ("--listen", "--reapi-listen", "--http", "--http-port-file", "--metrics", "--metrics-port-file")
        kept = [word for option in options if option[0] not in other for word in option]
        self.start("coordinator", [
            program, *kept, "--listen", f"unix:{self.home}/coordinator.sock", "--listen", f"127.0.0.1:{certificates}", "--token-listen",
            f"127.0.0.1:{tokens}", "--tls-cert", "farm.pem", "--tls-key", "farm.key", "--tls-client-ca", "ca.pem", "--access", "access.json"])

    def start_nginx(self, program, public, tokens):
        conf = (ROOT / "infra/deploy/tokens.nginx.conf").read_text()
        for printed, here in (("0.0.0.0:7445", f"127.0.0.1:{public}"), ("127.0.0.1:7444", f"127.0.0.1:{tokens}"),
                              ("/etc/kiln/tls", str(self.home))):
            assert printed in conf, printed
            conf = conf.replace(printed, here)
        home = self.home / "nginx"
        home.mkdir()
        paths = "".join(f"{kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (home / "nginx.conf").write_text(
            f"daemon off; pid {home}/nginx.pid; error_log {home}/error.log; worker_processes 1;\n"
            + ("user root;\n" if os.getuid() == 0 else "") + f"events {{}}\nhttp {{ access_log {home}/access.log;\n{paths}{conf}}}\n")
        self.start("nginx", [program, "-c", home / "nginx.conf", "-p", home])

    def wait(self, *ports):
        end = time.monotonic() + 60
        for port in ports:
            while subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL,
                                 capture_output=True).returncode:
                gone = [one.args[0] for one in self.processes if one.poll() is not None]
                assert not gone and time.monotonic() < end, f"ended: {gone}\n{self.log()}"
                time.sleep(0.2)

    def log(self):
        """What the coordinator wrote."""
        return (self.home / "coordinator.log").read_text()

    def close(self):
        for process in self.processes:
            process.terminate()
            process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
