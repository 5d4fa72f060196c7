#!/usr/bin/env python3
"""Clients of the Remote Execution API that others wrote, unmodified, at a farm of infra/up --reapi: rexec and remotetool.

usage: reapi_clients_test.py [-v]     Exit 77 if they cannot be had.
"""
import hashlib
import pathlib
import re
import subprocess
import sys
import unittest

import tool_action
from buildbarn import free_ports, programs
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
from farm import Farm, json_of  # noqa: E402


class ReapiClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.binaries = programs()
        port = free_ports(1)[0]
        cls.address = f"127.0.0.1:{port}"
        cls.farm = Farm(workers=1, options=("--no-sample", "--reapi", str(port)))
        cls.inputs = tool_action.make(cls.farm.home)

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()

    def call(self, program, *arguments):
        return subprocess.run([self.binaries / program, "-service_no_security", "-service", self.address, *map(str, arguments)],
                              capture_output=True, text=True, timeout=300, cwd=self.farm.home)

    def rexec(self, *command, output="o.txt", more=()):
        return self.call("rexec", "-exec_root", self.inputs, "-inputs", tool_action.INPUTS, "-output_files", output,
                         "-download_outputs", *more, "--", *command)

    def remotetool(self, operation, *arguments):
        done = self.call("remotetool", "-operation", operation, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_rexec_executes_an_action_and_brings_its_output(self):
        done = self.rexec(*tool_action.COMMAND)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((self.inputs / "o.txt").read_text(), "HELLO\n")

    # rexec itself ends with 0 whatever came of its action.
    def test_the_exit_code_of_the_tool_is_told(self):
        done = self.rexec("./tool", "not-there", "o.txt")
        self.assertIn("FAILED with exit code 3", done.stdout + done.stderr)

    def test_a_property_that_nobody_has_is_refused_at_once(self):
        done = self.rexec(*tool_action.COMMAND, more=("-platform", "gpu=1"))
        self.assertIn('the property "gpu" is not known here', done.stdout + done.stderr)

    def test_remotetool_uploads_and_downloads(self):
        text = b"some bytes\n" * 1000
        sent = self.farm.home / "blob"
        sent.write_bytes(text)
        self.remotetool("upload_blob", "-path", sent)
        digest = f"{hashlib.sha256(text).hexdigest()}/{len(text)}"
        back = self.farm.home / "back"
        self.remotetool("download_blob", "-digest", digest, "-path", back)
        self.assertEqual(back.read_bytes(), text)

    def test_remotetool_executes_and_finds_the_action_deterministic(self):
        out = self.farm.home / "out"
        self.remotetool("execute_action", "-action_root", self.inputs.parent, "-path", out)
        self.assertEqual((out / "o.txt").read_text(), "HELLO\n")
        said = self.remotetool("check_determinism", "-action_root", self.inputs.parent, "-exec_attempts", "2")
        self.assertNotRegex(said, re.compile("mismatch", re.I))

    def test_what_the_client_says_of_itself_is_in_the_log(self):
        told = ("-tool_name", "mine", "-invocation_id", "run\n7", "-do_not_cache")
        self.assertEqual(self.rexec(*tool_action.COMMAND, more=told).returncode, 0)
        log = (self.farm.dir / "logs/coordinator.log").read_text()
        self.assertRegex(log, r"info kiln-coordinator tool calls tool=\S*mine\S* invocation=run\?7 ")
        self.assertRegex(log, r"info kiln-coordinator execution submitted .* tool=\S*mine\S* invocation=run\?7 ")

    def test_executions_are_listed_and_are_no_evidence(self):
        self.assertEqual(self.rexec("./tool", "hello.txt", "listed.txt", output="listed.txt").returncode, 0)
        jobs = self.farm.kiln("jobs")
        self.assertIn("executed action", jobs.stdout, jobs.stderr)
        audit = self.farm.kiln("audit")
        self.assertEqual(audit.returncode, 0, audit.stdout + audit.stderr)
        self.assertIsNotNone(json_of(self.farm.kiln("jobs", "--json")))


if __name__ == "__main__":
    try:
        programs()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
