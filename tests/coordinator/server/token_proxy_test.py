#!/usr/bin/env python3
"""infra/deploy/tokens.nginx.conf: calls pass, and what is published against the coordinator's gRPC ends at nginx."""
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.dont_write_bytecode = True
from http2 import CONTINUATION, HEADERS, Connection, call, frame, integer, literal, request, string  # noqa: E402

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
MIB = 1 << 20
JOBS = "/kiln.v1.JobService/ListJobs"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class TokenProxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="kiln-proxy-"))
        cls.farm, cls.public = free_port(), free_port()
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": cls.dir}
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        subprocess.run(["openssl", "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-addext",
                        "basicConstraints=critical,CA:TRUE"], **quiet)
        subprocess.run(["openssl", "req", "-x509", "-CA", "ca.pem", "-CAkey", "ca.key", *curve, "-keyout", "farm.key", "-out",
                        "farm.pem", "-subj", "/CN=farm", "-addext", "subjectAltName=DNS:farm.example.org,DNS:localhost"], **quiet)
        (cls.dir / "farm.key").chmod(0o600)
        subprocess.run([BIN / "kiln-signer", "make-worker-ca", "--out", cls.dir], **quiet)
        subprocess.run([BIN / "kiln-log", "make-key", "--origin", "log.test", "--out", cls.dir / "log"], **quiet)
        (cls.dir / "access.json").write_text('{"apiVersion":"kiln/v1","grants":[],"kind":"Access","tokenIssuers":[]}')
        cls.log = open(cls.dir / "log.txt", "w")
        cls.coordinator = subprocess.Popen(
            [BIN / "kiln-coordinator", "--listen", f"unix:{cls.dir}/coordinator.sock", "--token-listen", f"127.0.0.1:{cls.farm}",
             "--tls-cert", "farm.pem", "--tls-key", "farm.key", "--tls-client-ca", "ca.pem", "--access", "access.json",
             "--database", "host=/nonexistent dbname=kiln", "--store", "store", "--signer", f"unix:{cls.dir}/signer.sock", "--log-key",
             "log.vkey", "--worker-ca", "worker-ca.pem", "--builder-id", "urn:kiln:builder:test"],
            cwd=cls.dir, stdout=cls.log, stderr=cls.log)
        cls.nginx = cls.start_nginx(cls.public)
        end = time.monotonic() + 30
        while not cls.reaches():
            assert time.monotonic() < end and cls.nginx.poll() is None, (cls.dir / "log.txt").read_text()
            time.sleep(0.2)

    @classmethod
    def start_nginx(cls, port, name="nginx", changes=()):
        """nginx with the file that is shipped, its addresses and paths, and what `changes` says, replaced."""
        conf = (ROOT / "infra/deploy/tokens.nginx.conf").read_text()
        for printed, here in (("0.0.0.0:7445", f"127.0.0.1:{port}"), ("127.0.0.1:7444", f"127.0.0.1:{cls.farm}"),
                              ("/etc/kiln/tls", str(cls.dir)), *changes):
            assert printed in conf, printed
            conf = conf.replace(printed, here)
        home = cls.dir / name
        home.mkdir()
        (home / "nginx.conf").write_text(
            f"daemon off; pid {home}/nginx.pid; error_log {home}/error.log; worker_processes 1;\n"
            + ("user root;\n" if os.getuid() == 0 else "") + "events {}\nhttp { access_log off;\n"
            + "".join(f"{kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + conf + "}\n")
        return subprocess.Popen([NGINX, "-c", home / "nginx.conf", "-p", home], stdout=cls.log, stderr=cls.log)

    @classmethod
    def tearDownClass(cls):
        for process in (cls.nginx, cls.coordinator):
            process.terminate()
            process.wait()
        cls.log.close()
        shutil.rmtree(cls.dir)

    @classmethod
    def connect(cls, port=None):
        context = ssl.create_default_context(cafile=str(cls.dir / "ca.pem"))
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", port or cls.public), timeout=10)
        return Connection(stream=context.wrap_socket(plain, server_hostname="farm.example.org"))

    @classmethod
    def reaches(cls, path=JOBS, more=()):
        """Whether a call comes to the coordinator, which refuses it and says so in its log."""
        before = (cls.dir / "log.txt").read_text().count("call refused rpc=")
        try:
            with cls.connect() as one:
                one.send(call(request(path, more=more, scheme="https", authority="farm.example.org")))
                one.frames(lambda kind, flags, stream, _: stream == 1 and flags & 1)
        except OSError:
            return False
        return (cls.dir / "log.txt").read_text().count("call refused rpc=") > before

    def memory(self):
        """Of the coordinator and of nginx's processes together, in bytes."""
        workers = pathlib.Path(f"/proc/{self.nginx.pid}/task/{self.nginx.pid}/children").read_text().split()
        lines = [line for pid in (self.coordinator.pid, self.nginx.pid, *workers)
                 for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))

    def test_calls_pass_and_are_judged_by_the_coordinator(self):
        self.assertTrue(self.reaches())
        self.assertIn("nothing says who calls", (self.dir / "log.txt").read_text())
        self.assertTrue(self.reaches(more=[(b"authorization", b"Bearer nonsense")]), "the token is the coordinator's to judge")
        self.assertFalse(self.reaches("/kiln.v1.WorkerService/Synchronize"))
        self.assertFalse(self.reaches("/grpc.health.v1.Health/Check"))

    def ends_at_nginx(self, first, chunk, size):
        """nginx refuses it, or closes, or throws away what still comes; nobody keeps it."""
        calls, before = (self.dir / "log.txt").read_text(), self.memory()
        with self.connect() as one:
            one.send(first)
            one.sends(chunk, size // len(chunk))
            self.assertLess(self.memory() - before, 8 * MIB)
        self.assertEqual((self.dir / "log.txt").read_text(), calls, "the coordinator saw a call")
        self.assertIsNone(self.coordinator.poll())
        self.assertTrue(self.reaches())

    def test_one_field_of_any_size(self):
        block = request(JOBS, scheme="https") + b"\0" + string(b"x") + integer(1 << 30, 7)
        self.ends_at_nginx(frame(HEADERS, 0, 1, block), frame(CONTINUATION, 0, 1, b"a" * 16384), 32 * MIB)

    def test_an_integer_without_end(self):
        block = request(JOBS, scheme="https") + b"\0" + string(b"x") + b"\x7f"
        self.ends_at_nginx(frame(HEADERS, 0, 1, block), frame(CONTINUATION, 0, 1, b"\x80" * 16384), 32 * MIB)

    def test_fields_without_end(self):
        chunk = frame(CONTINUATION, 0, 1, b"".join(literal(b"x%d" % n, b"b" * 4000) for n in range(4)))
        self.ends_at_nginx(frame(HEADERS, 0, 1, request(JOBS, scheme="https")), chunk, 64 * MIB)

    @contextlib.contextmanager
    def other_nginx(self, name, changes):
        """The port of one with a changed file."""
        port = free_port()
        nginx = self.start_nginx(port, name, changes)
        try:
            end = time.monotonic() + 30
            while not listens(port):
                self.assertLess(time.monotonic(), end)
            yield port
        finally:
            nginx.terminate()
            nginx.wait()

    def told_by_kiln(self, name, changes, wait="0s"):
        """What kiln says of a call through a changed nginx: its exit code and its lines on stderr."""
        token = self.dir / "token"
        token.write_text("nonsense")
        token.chmod(0o600)
        with self.other_nginx(name, changes) as port:
            for _ in range(2):  # the second is beyond a rate of one
                told = subprocess.run(
                    [BIN / "kiln", "jobs", "--endpoint", f"localhost:{port}", "--tls-ca", self.dir / "ca.pem", "--token-file", token,
                     "--wait", wait], text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertIn(f"localhost:{port}", told.stderr)
        self.assertNotIn("http2", told.stderr)
        self.assertNotIn("metadata", told.stderr)
        return told.returncode, told.stderr.splitlines()

    def is_worded(self, told, part):
        code, lines = told
        self.assertEqual(code, 7, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(part, lines[0])
        self.assertIn("--wait 10m", lines[0])

    def away(self):
        """The change after which nobody listens where nginx looks for the coordinator."""
        return f"127.0.0.1:{self.farm}", f"127.0.0.1:{free_port()}"

    def test_a_stopped_coordinator_is_told_in_words(self):
        self.is_worded(self.told_by_kiln("away", [self.away()]), "gets no answer from the coordinator")

    def test_a_wait_for_it_is_told_once(self):
        code, lines = self.told_by_kiln("waiting", [self.away()], "3s")
        self.assertEqual((code, len(lines)), (7, 2), lines)
        self.assertIn("waiting up to 3s for the farm", lines[0])
        self.assertIn("tried for 3 s", lines[1])

    def test_too_many_calls_are_told_in_words(self):
        told = self.told_by_kiln("crowded", [("rate=100r/s", "rate=1r/m"), (" burst=400 delay=200", "")])
        self.is_worded(told, "lets no more calls of this address through")

    def test_a_proxy_that_answers_in_html_is_told_in_words(self):
        told = self.told_by_kiln("html", [self.away(), ("error_page", "#"), ("default_type", "#")])
        self.is_worded(told, "HTTP status 502")

    def test_calls_beyond_the_rate_wait_for_their_turn(self):
        """One after the other, as an audit asks, and faster than the rate: each comes to the coordinator."""
        slower = [("rate=100r/s", "rate=20r/s"), ("burst=400", "burst=4"), ("delay=200", "delay=2")]
        before, calls = (self.dir / "log.txt").read_text().count("call refused rpc="), 20
        with self.other_nginx("slower", slower) as port, self.connect(port) as one:
            for number in range(calls):
                stream = 2 * number + 1
                one.send(call(request(JOBS, scheme="https", authority="farm.example.org"), stream))
                one.frames(lambda kind, flags, on, _, mine=stream: on == mine and flags & 1)
        self.assertEqual((self.dir / "log.txt").read_text().count("call refused rpc=") - before, calls)


if __name__ == "__main__":
    if NGINX is None:
        print("nginx is not installed")
        sys.exit(77)
    unittest.main()
