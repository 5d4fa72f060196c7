#!/usr/bin/env python3
"""Clients of the Remote Execution API that others wrote, unmodified, at a farm within TLS: rexec, remotetool and Debian's Bazel, with a
token through nginx and with a certificate. What each says to whom the farm refuses.

usage: reapi_tokens_test.py [-v]     Exit 77 if one of them cannot be had.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import unittest

import tool_action
import toolchain_root
from bazel import Bazel, want_bazel
from buildbarn import programs
from fetched import Skip
from token_door import TokenDoor, nginx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import Farm  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent / "bazel_project"
EXECUTED = (r"\b\d+ remote[,.]", r"\d+ remote cache hit")  # in Bazel's summary
# What the farm says to callers whom it refuses, by what they show.
REFUSED = {None: "nothing says who calls", "forged": "that this farm knows signed it", "expired": "it expired at",
           "stranger": 'in the instance "default"; an administrator grants it'}


class ReapiTokensTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.binaries = programs()
        cls.farm = Farm(workers=2, options=("--no-sample",))
        cls.addClassCleanup(cls.farm.close)
        cls.door = TokenDoor(cls.farm, nginx())
        cls.addClassCleanup(cls.door.close)
        cls.bazel = Bazel(PROJECT, tls=True)
        cls.addClassCleanup(cls.bazel.close)
        cls.inputs = tool_action.make(cls.door.home)

    # As rexec and remotetool take it: a program that prints a token.
    def shows(self, caller):
        service = ("-service", self.door.address, "-tls_ca_cert", self.door.authority)
        if caller is None:
            return *service, "-service_no_auth"
        helper = self.door.home / f"{caller}.sh"
        helper.write_text(f"#!/bin/sh\necho '{json.dumps({'token': self.door.tokens[caller]})}'\n")
        helper.chmod(0o700)
        return *service, "-use_external_auth_token", "-credentials_helper", helper

    def call(self, program, *arguments):
        return subprocess.run([self.binaries / program, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.door.home)

    def rexec(self, how, output):
        return self.call("rexec", *how, "-exec_root", self.inputs, "-inputs", tool_action.INPUTS, "-output_files", output,
                         "-download_outputs", "--", *tool_action.COMMAND[:-1], output)

    def remotetool(self, caller, operation, *arguments):
        return self.call("remotetool", *self.shows(caller), "-operation", operation, *arguments)

    # The options of Bazel's way in, as whoever has this token.
    def way(self, kind, caller):
        token = () if caller is None else (f"--remote_header=authorization=Bearer {self.door.tokens[caller]}",)
        return f"--{kind}=grpcs://{self.door.address}", f"--tls_certificate={self.door.authority}", *token

    def cached(self, caller, *more):
        return self.bazel.run("build", "//:hello", "--spawn_strategy=local", *self.way("remote_cache", caller), *more)

    def succeeds(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_rexec_with_a_token(self):
        self.succeeds(self.rexec(self.shows("writer"), "by-token.txt"))
        self.assertEqual((self.inputs / "by-token.txt").read_text(), "HELLO\n")

    def test_rexec_with_a_certificate_at_the_coordinator_itself(self):
        shown = ("-service", self.door.certificates, "-tls_ca_cert", self.door.authority, "-service_no_auth", "-tls_client_auth_cert",
                 self.door.client, "-tls_client_auth_key", self.door.client_key)
        self.succeeds(self.rexec(shown, "by-certificate.txt"))
        self.assertEqual((self.inputs / "by-certificate.txt").read_text(), "HELLO\n")

    # It may read what was executed, and only read.
    def test_rexec_of_a_reader(self):
        self.succeeds(self.rexec(self.shows("writer"), "read.txt"))
        (self.inputs / "read.txt").unlink()
        self.succeeds(self.rexec(self.shows("reader"), "read.txt"))
        self.assertEqual((self.inputs / "read.txt").read_text(), "HELLO\n")
        refused = self.rexec(self.shows("reader"), "not-executed.txt").stderr
        self.assertIn("PermissionDenied", refused)
        self.assertIn('it wants a role among submitter, worker, toolchain-admin, admin in the instance "default"', refused)

    def test_remotetool_with_a_token(self):
        text = b"some bytes\n" * 100_000
        (self.door.home / "blob").write_bytes(text)
        self.succeeds(self.remotetool("writer", "upload_blob", "-path", "blob"))
        self.succeeds(self.remotetool("reader", "download_blob", "-digest", f"{hashlib.sha256(text).hexdigest()}/{len(text)}", "-path",
                                      "back"))
        self.assertEqual((self.door.home / "back").read_bytes(), text)
        said = self.succeeds(self.remotetool("writer", "check_determinism", "-action_root", self.inputs.parent, "-exec_attempts", "2"))
        self.assertNotIn("mismatch", said.lower())

    def test_rexec_and_remotetool_say_why_they_are_refused(self):
        for caller, why in REFUSED.items():
            with self.subTest(caller=caller):
                for done in (self.rexec(self.shows(caller), "refused.txt"),
                             self.remotetool(caller, "download_blob", "-digest", f"{'0' * 64}/1", "-path", "none")):
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(why, done.stderr)
        self.assertIn("call refused rpc=build.bazel.remote.execution.v2.Capabilities/GetCapabilities", self.door.log())

    def test_bazel_executes_with_a_token(self):
        root = toolchain_root.uploaded(self.binaries / "remotetool", self.door.home / "root", *self.shows("writer"))
        remote = ("--spawn_strategy=remote", f"--remote_default_exec_properties=kiln-root={root}")
        first = self.bazel.build("//:hello", *remote, *self.way("remote_executor", "writer"))
        self.assertRegex(first, EXECUTED[0])
        hello = subprocess.run([self.bazel.project / "bazel-bin/hello"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(hello, "built through the farm\n")
        self.bazel.clean()
        again = self.bazel.build("//:hello", *remote, *self.way("remote_executor", "writer"))
        self.assertRegex(again, EXECUTED[1])
        self.assertNotRegex(again, EXECUTED[0])
        self.bazel.clean()
        refused = self.bazel.run("build", "//:hello", *remote, *self.way("remote_executor", "reader"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the current account is not authorized to use remote execution", refused.stderr)

    def test_bazel_writes_into_the_cache_as_a_writer_alone(self):
        self.succeeds(self.cached("writer"))
        self.bazel.clean()
        self.assertRegex(self.succeeds(self.cached("reader", "--noremote_upload_local_results")), EXECUTED[1])
        self.bazel.clean()
        writes = self.cached("reader")
        self.assertNotEqual(writes.returncode, 0)
        self.assertIn("the current account is not authorized to write local results to the remote cache", writes.stderr)

    def test_bazel_with_a_certificate_at_the_coordinator_itself(self):
        self.succeeds(self.bazel.run(
            "build", "//:hello", "--spawn_strategy=local", f"--remote_cache=grpcs://{self.door.certificates}",
            f"--tls_certificate={self.door.authority}", f"--tls_client_certificate={self.door.client}",
            f"--tls_client_key={self.door.client_key}"))

    def test_bazel_says_why_it_is_refused(self):
        for caller, why in REFUSED.items():
            with self.subTest(caller=caller):
                done = self.cached(caller)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    try:
        want_bazel(tls=True)
        programs()
        if nginx() is None:
            raise Skip("nginx is not installed")
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
