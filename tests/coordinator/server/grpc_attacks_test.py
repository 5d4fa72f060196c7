#!/usr/bin/env python3
"""What is published against gRPC 1.51, tried against the gRPC that the coordinator is linked with, and the limits that it sets.

A trigger that works is stated in coordinator/LIMITS.md with what stands before it; one that no longer works, since the
package is another, is to be struck there and here. Whatever works ends with its connection: the coordinator goes on.
"""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True
from http2 import CONTINUATION, END_HEADERS, GOAWAY, HEADERS, PING, RESET, SETTINGS  # noqa: E402
from http2 import Connection, answers, call, frame, integer, literal, request, string  # noqa: E402

BIN = pathlib.Path(os.environ["KILN_TEST_BIN"])
MIB = 1 << 20
LARGE = [(b"x-pad%d" % n, b"a" * 4000) for n in range(6)]  # beyond the limit of a call's metadata


class Grpc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="kiln-grpc-"))
        cls.socket = cls.dir / "coordinator.sock"
        quiet = {"check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([BIN / "kiln-signer", "make-worker-ca", "--out", cls.dir], **quiet)
        subprocess.run([BIN / "kiln-log", "make-key", "--origin", "log.test", "--out", cls.dir / "log"], **quiet)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def setUp(self):
        self.log = open(self.dir / "log.txt", "w")
        # It listens before it has a database, and there is none. Few descriptors, unless it asks for more.
        self.process = subprocess.Popen(
            [BIN / "kiln-coordinator", "--listen", f"unix:{self.socket}", "--database", f"host={self.dir}/none dbname=kiln",
             "--store", self.dir / "store", "--signer", f"unix:{self.dir}/signer.sock", "--log-key", self.dir / "log.vkey",
             "--worker-ca", self.dir / "worker-ca.pem", "--builder-id", "urn:kiln:builder:test"], stdout=self.log, stderr=self.log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096)))
        self.until(lambda: answers(self.socket), 30, "it listens")

    def tearDown(self):
        died = self.process.poll()
        serving = died is None and answers(self.socket)
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.assertIsNone(died, (self.dir / "log.txt").read_text()[-2000:])
        self.assertTrue(serving, "after the attack somebody else is not served")

    def until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)

    def works(self, answer):
        self.assertTrue(answer, "this gRPC no longer does it: strike it here and in coordinator/LIMITS.md")

    # --- published triggers

    def test_cve_2023_1428_fields_that_abort_with_too_much_metadata(self):
        for changed in ({"te": "x"}, {"scheme": "x"}, {"more": [(b"grpclb_client_stats", b"x")]}):
            for pad in ([], LARGE):
                with self.subTest(changed=changed, padded=bool(pad)), Connection(self.socket) as one:
                    changed = dict(changed)
                    block = request(more=changed.pop("more", []), **changed) + b"".join(literal(*field) for field in pad)
                    one.send(frame(HEADERS, 0, 1, block[:16000]) + frame(CONTINUATION, END_HEADERS, 1, block[16000:]))
                    one.frames(lambda kind, flags, stream, _: stream == 1, 2)
                    self.assertIsNone(self.process.poll())

    def test_cve_2023_32731_a_refused_call_takes_the_rest_of_its_table_along(self):
        with Connection(self.socket) as one:
            block = request() + b"".join(literal(*field) for field in LARGE) + literal(b"x-later", b"value", indexed=True)
            one.send(frame(HEADERS, 0, 1, block[:16000]) + frame(CONTINUATION, END_HEADERS, 1, block[16000:]))
            # Entry 62 is x-later if it was kept; a table without it ends the connection.
            one.send(call(request() + bytes([0x80 | 62]), 3))
            self.assertTrue(one.ended(3))

    def test_cve_2023_32732_a_bad_binary_field_ends_the_connection(self):
        with Connection(self.socket) as one:
            one.send(call(request(more=[(b"a-bin", b"!!!!")])))
            self.works(("closed", 0, 0, b"") in one.frames(lambda kind, *_: kind == "closed"))

    def test_cve_2023_33953_one_field_of_any_size(self):
        with Connection(self.socket) as one:
            one.send(frame(HEADERS, 0, 1, request() + b"\0" + string(b"x") + integer(1 << 31, 7)))
            self.works(one.sends(frame(CONTINUATION, 0, 1, b"a" * 16384), 2 * MIB // 16384) == 2 * MIB // 16384)

    def test_cve_2023_33953_an_integer_without_end(self):
        with Connection(self.socket) as one:
            one.send(frame(HEADERS, 0, 1, request() + b"\0" + string(b"x") + b"\x7f"))
            self.works(one.sends(frame(CONTINUATION, 0, 1, b"\x80" * 16384), MIB // 16384) == MIB // 16384)

    def test_cve_2023_33953_fields_without_end(self):
        with Connection(self.socket) as one:
            one.send(frame(HEADERS, 0, 1, request()))
            chunk = frame(CONTINUATION, 0, 1, b"".join(literal(b"x%d" % n, b"b" * 4000) for n in range(4)))
            self.works(one.sends(chunk, 16 * MIB // len(chunk)) == 16 * MIB // len(chunk))

    def test_cve_2023_4785_more_connections_than_descriptors(self):
        many = [Connection(self.socket, preface=False) for _ in range(800)]
        self.assertTrue(answers(self.socket), "it took the descriptors that it may have")
        for one in many:
            one.socket.close()

    def test_cve_2023_44487_calls_that_are_reset_at_once(self):
        with Connection(self.socket) as one:
            block = request()
            for start in range(1, 20001, 200):
                if one.sends(b"".join(frame(HEADERS, END_HEADERS, stream, block) + frame(RESET, 0, stream, b"\0\0\0\x08")
                                      for stream in range(start, start + 200, 2)), 1) == 0:
                    break
            begin = time.monotonic()
            self.assertTrue(answers(self.socket))
            self.assertLess(time.monotonic() - begin, 20)

    # --- limits

    def test_what_a_connection_may_ask_for(self):
        with Connection(self.socket) as one:
            said = one.settings()
            self.assertEqual(said[3], 128, "concurrent streams")
            self.assertEqual(said[6], 16 << 10, "bytes of metadata")

    def test_who_says_nothing_is_dropped(self):
        silent = [Connection(self.socket, preface=False) for _ in range(20)]
        begin = time.monotonic()
        for one in silent:
            self.assertIn("closed", [kind for kind, *_ in one.frames(lambda *_: False, 30)])
            one.socket.close()
        self.assertLess(time.monotonic() - begin, 25)

    def test_a_flood_of_pings_is_ended(self):
        with Connection(self.socket) as one:
            one.sends(frame(PING, 0, 0, b"12345678") * 100, 10)
            self.assertIn(GOAWAY, [kind for kind, *_ in one.frames(lambda kind, *_: kind == GOAWAY)])

    def test_settings_without_end_are_one_connections_trouble(self):
        with Connection(self.socket) as one:
            one.socket.settimeout(1)
            one.sends(frame(SETTINGS, 0, 0, b"") * 1000, 50)
            self.assertTrue(answers(self.socket))


if __name__ == "__main__":
    unittest.main()
