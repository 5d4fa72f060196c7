#!/usr/bin/env python3
"""A farm of infra/up whose callers come with tokens of issuers that it finds by OpenID discovery: what the script of infra/ci does
from end to end, which claims let in whom, and what an issuer and a caller who mean harm can do.

The issuers are oidc-provider-mock, which infra/setup installs, and one of our own (issuer.py), since the former cannot change keys.
"""
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
from farm import MODELS, ROOT, TARGET, Farm, wait_for  # noqa: E402
from issuer import (Issuer, Key, Mock, base64url, drop_by_drop, endless_headers, free_port, make_certificates,  # noqa: E402
                    packed, without_end)

SCRIPT = ROOT / "infra/ci/kiln-ci.sh"
AUDIENCE = "https://farm.example.org"
MAIN = {"repository": "acme/model", "repository_owner_id": "4711", "ref": "refs/heads/main", "environment": "production",
        "job_workflow_ref": "acme/model/.github/workflows/model.yml@refs/heads/main"}
# gRPC would write into the log of either side what calls carry.
TRACING = {"GRPC_VERBOSITY": "INFO", "GRPC_TRACE": "all"}


def options_of(pid):
    program, *words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
    return program, list(zip(words[::2], words[1::2]))


@contextlib.contextmanager
def process_lists():
    """A list that gets, again and again while the block runs, the command lines of all processes."""
    lines, over = [], threading.Event()

    def look():
        while not over.wait(0.02):
            for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    lines.append(entry.read_bytes().decode(errors="replace"))
    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    yield lines
    over.set()
    looker.join()


class OidcTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = Farm(workers=1, options=("--no-sample",))
        cls.addClassCleanup(cls.farm.close)
        cls.home = cls.farm.home / "ci"
        cls.home.mkdir()
        make_certificates(cls.home, "farm", "issuer")
        make_certificates(cls.home, "impostor", ca="other-ca")
        cls.issuer = Issuer(cls.home, AUDIENCE)
        cls.addClassCleanup(cls.issuer.close)
        cls.bad = Issuer(cls.home, AUDIENCE, "bad")
        cls.addClassCleanup(cls.bad.close)
        cls.mock = Mock(AUDIENCE) if Mock.program() else None
        if cls.mock:
            cls.addClassCleanup(cls.mock.close)
        cls.write_access()
        cls.start_coordinator()

    @classmethod
    def write_access(cls):
        tls = {"ca": "ca.pem"}
        issuers = [{"issuer": cls.issuer.url, "audience": AUDIENCE, "discovery": tls},
                   {"issuer": cls.bad.url, "audience": AUDIENCE, "discovery": tls}]
        grants = [{"name": "main-of-acme", "roles": ["submitter"], "instances": ["default"],
                   "token": {"issuer": cls.issuer.url,
                             "claims": {"repository": "acme/*", "repository_owner_id": "4711", "ref": "refs/heads/main",
                                        "environment": "production",
                                        "job_workflow_ref": "acme/model/.github/workflows/*@refs/heads/main"}}},
                  {"name": "auditors", "roles": ["auditor"], "instances": ["default"],
                   "token": {"issuer": cls.issuer.url, "subject": "repo:acme/audits:*"}},
                  {"name": "spoiled", "roles": ["submitter"], "instances": ["default"],
                   "token": {"issuer": cls.bad.url, "subject": "repo:acme/*"}}]
        if cls.mock:
            issuers.append({"issuer": cls.mock.url, "audience": [AUDIENCE], "discovery": {"loopbackHttp": True}})
            grants.append({"name": "mock", "roles": ["submitter"], "instances": ["default"],
                           "token": {"issuer": cls.mock.url, "claims": {"repository": "acme/mock"}}})
        (cls.home / "access.json").write_text(json.dumps(
            {"apiVersion": "kiln/v1", "kind": "Access", "tokenIssuers": issuers, "grants": grants}))

    @classmethod
    def start_coordinator(cls):
        """A second coordinator of the farm, for callers with tokens."""
        program, options = options_of(cls.farm.pid("coordinator"))
        other = ("--listen", "--reapi-listen", "--http", "--http-socket", "--http-port-file", "--metrics", "--metrics-port-file")
        kept = [word for option in options if option[0] not in other for word in option]
        cls.port, cls.metrics = free_port(), free_port()
        cls.program = program
        with open(cls.home / "coordinator.log", "wb") as log:
            cls.coordinator = subprocess.Popen(
                [program, *kept, "--listen", f"unix:{cls.home}/c.sock", "--token-listen", f"127.0.0.1:{cls.port}", "--tls-cert", "farm.pem",
                 "--tls-key", "farm.key", "--tls-client-ca", "ca.pem", "--access", "access.json", "--metrics",
                 f"127.0.0.1:{cls.metrics}"], cwd=cls.home, stdout=log, stderr=log, env=cls.farm.env | TRACING)
        cls.addClassCleanup(cls.stop_coordinator)
        wait_for(lambda: "serving " in cls.log() or cls.coordinator.poll() is not None, 60, "the coordinator serves")
        assert cls.coordinator.poll() is None, cls.log()

    @classmethod
    def stop_coordinator(cls):
        cls.coordinator.terminate()
        cls.coordinator.wait()

    @classmethod
    def log(cls):
        return (cls.home / "coordinator.log").read_text()

    def environment(self, **more):
        return {name: value for name, value in self.farm.env.items() if name != "KILN_INSTANCE"} | {
            "KILN_ENDPOINT": f"localhost:{self.port}", "KILN_TLS_CA": str(self.home / "ca.pem")} | TRACING | more

    def kiln(self, token, *arguments, wait="0s"):
        file = self.home / "token"
        file.touch(mode=0o600)
        file.write_text(token)
        done = self.farm.kiln(*arguments, env=self.environment(KILN_TOKEN_FILE=str(file), KILN_WAIT=wait))
        for part in [token, *token.split(".")]:
            self.assertNotIn(part or token, done.stdout + done.stderr + self.log())
        return done

    def jobs(self, token, code, wait="0s"):
        done = self.kiln(token, "jobs", wait=wait)
        self.assertEqual(done.returncode, code, f"{done.stdout}{done.stderr}\n{self.log()[-4000:]}")
        return done.stderr

    def check(self, *arguments):
        return subprocess.run([self.program, "check-access", "--access", self.home / "access.json", *map(str, arguments)],
                              capture_output=True, text=True, timeout=60)

    def test_the_script_builds_gates_and_reports(self):
        self.issuer.job = MAIN | {"sub": "repo:acme/model:environment:production"}
        out, step, output = self.home / "out", self.home / "step", self.home / "output"
        variables = self.environment(
            KILN_AUDIENCE=AUDIENCE, KILN_OUT=str(out), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(step), GITHUB_OUTPUT=str(output),
            ACTIONS_ID_TOKEN_REQUEST_URL=f"{self.issuer.url}/job-token?v=1", ACTIONS_ID_TOKEN_REQUEST_TOKEN=Issuer.BEARER,
            CURL_CA_BUNDLE=str(self.home / "ca.pem"), KILN_WAIT="1m")
        with process_lists() as lines:
            done = subprocess.run([SCRIPT, MODELS / "digits_cnn.onnx", "--target", TARGET], env=variables, cwd=self.home,
                                  capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}\n{self.log()[-4000:]}")
        artifact = output.read_text().strip().partition("artifacts=")[2]
        self.assertRegex(artifact, "^sha256:[0-9a-f]{64}$")
        self.assertRegex(step.read_text(), rf"\| `{artifact}` \| passed `policy.json` \| PASSED under urn:kiln:policy:")
        self.assertTrue((out / artifact[7:] / "vsa.json").exists())
        self.assertEqual(self.farm.kiln("verify", out / artifact[7:]).returncode, 0)
        # Which grant let it in is in the coordinator's log and in the pipeline's.
        self.assertRegex(self.log(), r"job admitted by a grant.*grant=main-of-acme")
        self.assertIn("let in by the grant main-of-acme\n", done.stderr)
        self.assertTrue(any("kiln\0fetch" in line for line in lines), "the script was seen at work")
        everything = done.stdout + done.stderr + step.read_text() + self.log() + "".join(lines)
        self.assertNotIn("eyJ", everything)
        self.assertNotIn(Issuer.BEARER, everything)

        # From a branch: refused, and the caller is not told what would have done.
        self.issuer.job |= {"ref": "refs/heads/try"}
        done = subprocess.run([SCRIPT, MODELS / "digits_cnn.onnx", "--target", TARGET], env=variables, cwd=self.home, capture_output=True,
                              text=True, timeout=400)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertNotIn("refs/heads/main", done.stderr)
        self.assertNotIn("main-of-acme", done.stderr)
        self.assertIn(r'main-of-acme: ref is \"refs/heads/try\" and not \"refs/heads/main\"', self.log())
        self.assertIn("exit code 8", (out / "summary.md").read_text())

    def test_claims_decide(self):
        self.jobs(self.issuer.token(MAIN), 0, wait="30s")
        for name in MAIN:
            self.jobs(self.issuer.token({key: value for key, value in MAIN.items() if key != name}), 8)
            self.jobs(self.issuer.token(MAIN | {name: "x" + MAIN[name]}), 8)
        self.jobs(self.issuer.token(MAIN | {"repository_owner_id": 4711}), 8)
        self.jobs(self.issuer.token({}, sub="repo:acme/audits:ref:x"), 0)
        # A '*' of the token is a character, and a name that whoever runs it may choose reaches no further than itself.
        self.jobs(self.issuer.token(MAIN | {"ref": "*"}), 8)
        self.jobs(self.issuer.token({}, sub="repo:*"), 8)
        branch = "acme/model/.github/workflows/model.yml@refs/heads/x@refs/heads/main"
        self.jobs(self.issuer.token(MAIN | {"job_workflow_ref": branch}), 8)

    def test_claims_for_a_terminal_reach_none(self):
        said = self.jobs(self.issuer.token(MAIN | {"ref": "\x1b]0;owned\x07\nforged line"}), 8)
        said += self.jobs(self.issuer.token(MAIN, sub="x\x1b[2J"), 8)
        self.assertNotIn("\x1b", said + self.log())
        self.assertNotIn("\nforged line", self.log())

    def test_tokens_that_prove_nothing(self):
        self.jobs(self.issuer.token(MAIN), 0, wait="30s")
        forger = Key(self.home, "forger")
        elsewhere = f"{self.bad.url}/keys"
        for token in (self.issuer.token(MAIN, key=forger), self.issuer.token(MAIN, key=forger, header={"kid": "issuer-1"}),
                      self.issuer.token(MAIN, key=forger, header={"kid": "issuer-1", "jku": elsewhere, "x5u": elsewhere, "jwk": forger.jwk}),
                      self.issuer.token(MAIN, aud="other"), self.issuer.token(MAIN, exp=int(time.time()) - 100),
                      self.issuer.token(MAIN, header={"typ": "at+jwt"}), self.issuer.token(MAIN, header={"crit": ["exp"]}),
                      self.issuer.token(MAIN, header={"alg": "HS256"}), self.issuer.token(MAIN, iss=f"{self.issuer.url}/"),
                      *self.unsigned(), *self.for_others()):
            self.jobs(token, 8)
        # With others beside it, the farm is meant all the same.
        self.jobs(self.issuer.token(MAIN, aud=["other", AUDIENCE]), 0)

    def unsigned(self):
        """No signature, or one by what everybody knows."""
        for name in ("none", "None", "NONE", ""):
            yield self.issuer.token(MAIN, header={"alg": name}, sign=lambda _: b"")
        yield self.issuer.token(MAIN, sign=lambda _: b"")
        public = self.issuer.keys[-1].public_pem()
        yield self.issuer.token(MAIN, header={"alg": "HS256"}, sign=lambda text: hmac.digest(public, text, hashlib.sha256))

    def for_others(self):
        """Not for this farm, not now, or said twice."""
        for audience in ([], ["other"], [AUDIENCE + "/"], [[AUDIENCE]], 7, None, {"farm": AUDIENCE}, AUDIENCE[:-1]):
            yield self.issuer.token(MAIN, aud=audience)
        later = int(time.time()) + 600
        for times in ({"nbf": later}, {"iat": later}, {"exp": str(later)}, {"exp": 1e300}, {"exp": None}, {"exp": -1}):
            yield self.issuer.token(MAIN | times)
        twice = json.dumps(self.issuer.claims(MAIN | {"ref": "x"}))[:-1] + ',"ref":"refs/heads/main"}'
        yield self.issuer.keys[-1].token(base64url(twice.encode()))

    def test_keys_that_change(self):
        self.jobs(self.issuer.token(MAIN), 0, wait="30s")
        old, new = self.issuer.keys[-1], Key(self.home, f"issuer-{len(self.issuer.keys) + 1}")
        self.issuer.keys = [new]
        token = self.issuer.token(MAIN)
        wait_for(lambda: self.kiln(token, "jobs").returncode == 0, 40, "the new key is known")
        self.jobs(self.issuer.token(MAIN, key=old), 8)
        # Names that nobody has bring about a fetch each ten seconds at most.
        before, began = self.issuer.fetches(), time.monotonic()
        for number in range(12):
            self.jobs(self.issuer.token(MAIN, key=old, header={"kid": f"flood-{number}"}), 8)
        self.assertLessEqual(self.issuer.fetches() - before, 1 + (time.monotonic() - began) / 10)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics") as answer:
            text = answer.read().decode()
        self.assertRegex(text, rf'kiln_issuer_key_fetches_total{{issuer="{self.issuer.url}",outcome="taken"}} [1-9]')
        self.assertRegex(text, rf'kiln_issuer_key_fetches_held_back_total{{issuer="{self.issuer.url}"}} [1-9]')

    def test_an_issuer_that_means_harm(self):
        """Each answer is tried by check-access, which fetches as the coordinator does, but at once."""
        token = self.home / "bad.token"
        token.touch(mode=0o600)
        token.write_text(self.bad.token({}))
        good = self.check("--token-file", token)
        self.assertEqual(good.returncode, 0, good.stdout + good.stderr)
        self.assertRegex(good.stdout, "grant    spoiled: submitter in default")

        def fetched_in_vain(why):
            done = self.check("--token-file", token)
            self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
            self.assertIn(why, done.stderr)
        document = dict(self.bad.document)
        try:
            self.bad.key_set = b"[" * 300_000
            fetched_in_vain("too long")
            self.bad.key_set = {"keys": [self.bad.keys[0].jwk] * 65}
            fetched_in_vain("more than 64 keys")
            small = Key(self.home, "small", bits=1024)
            self.bad.key_set = {"keys": [small.jwk]}
            fetched_in_vain("shorter than 2048 bits")
            self.bad.key_set = {"keys": [{"kty": "oct", "k": "AAAA", "kid": "bad-1", "alg": "HS256"}]}
            fetched_in_vain("has no RSA key")
            self.bad.key_set = packed
            fetched_in_vain("/keys: JSON: NUL")
            self.bad.key_set = without_end
            fetched_in_vain("too long")
            self.bad.key_set = None
            self.bad.redirects = {"/keys": f"{self.issuer.url}/keys"}
            fetched_in_vain("redirects elsewhere")
            self.bad.redirects = {"/.well-known/openid-configuration": f"{self.issuer.url}/.well-known/openid-configuration"}
            fetched_in_vain("redirects elsewhere")
            self.bad.redirects = {}
            self.bad.document = document | {"issuer": self.issuer.url}
            fetched_in_vain("the document is of the issuer")
            self.bad.document = document | {"jwks_uri": "http://127.0.0.1/keys"}
            fetched_in_vain("must be https")
            twice = json.dumps(document)[:-1] + f',"issuer":"{self.issuer.url}"}}'
            self.bad.document = twice.encode()
            fetched_in_vain("issuer")
            self.bad.document = b"[" * 60_000
            fetched_in_vain("openid-configuration")
            self.bad.document = endless_headers
            fetched_in_vain("openid-configuration")
            # Another host is allowed, and its keys count for this issuer alone.
            self.bad.document = document | {"jwks_uri": f"{self.issuer.url}/keys"}
            done = self.check("--token-file", token)
            self.assertEqual(done.returncode, 8, done.stdout + done.stderr)
            began = time.monotonic()
            self.bad.document = drop_by_drop
            fetched_in_vain("timed out")
            self.assertLess(time.monotonic() - began, 20)
        finally:
            self.bad.document, self.bad.redirects, self.bad.key_set = document, {}, None

    def test_an_impostor_at_the_address_of_an_issuer(self):
        """Who has the name and the port, and no certificate of the authority."""
        impostor = Issuer(self.home, AUDIENCE, "impostor", certificate="impostor")
        self.addCleanup(impostor.close)
        access = json.loads((self.home / "access.json").read_text())
        access["tokenIssuers"] = [{"issuer": impostor.url, "audience": AUDIENCE, "discovery": {"ca": "ca.pem"}}]
        access["grants"] = [{"name": "all", "roles": ["submitter"], "instances": ["default"],
                             "token": {"issuer": impostor.url, "subject": "repo:acme/*"}}]
        path, token = self.home / "impostor.json", self.home / "impostor.token"
        path.write_text(json.dumps(access))
        token.touch(mode=0o600)
        token.write_text(impostor.token({}))
        done = subprocess.run([self.program, "check-access", "--access", path, "--token-file", token], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("certificate", done.stderr)
        self.assertEqual(impostor.asked, [])

    def test_rules_are_tried_without_a_farm(self):
        claims = self.home / "claims.json"
        claims.write_text(json.dumps({"iss": self.issuer.url, "aud": AUDIENCE, "sub": "x", "exp": int(time.time()) + 60} | MAIN))
        done = self.check("--claims", claims)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("proof    claims alone: nothing is proven\n", done.stdout)
        self.assertIn("grant    main-of-acme: submitter in default\n", done.stdout)
        self.assertIn('no       auditors: the subject is "x" and not "repo:acme/audits:*"\n', done.stdout)
        self.assertEqual(self.check("--claims", claims, "--instance", "other").returncode, 8)
        token = self.home / "offline.token"
        token.touch(mode=0o600)
        token.write_text(self.issuer.token(MAIN, key=Key(self.home, "nobody")))
        done = self.check("--token-file", token, "--offline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("SIGNATURE NOT PROVEN", done.stdout)
        self.assertNotIn(token.read_text(), done.stdout)
        self.assertEqual(self.check("--token-file", token).returncode, 8)
        self.assertEqual(self.check().returncode, 2)

    @unittest.skipUnless(Mock.program(), "oidc-provider-mock is not there; infra/setup installs it")
    def test_an_issuer_that_others_wrote(self):
        self.jobs(self.mock.token("someone", {"repository": "acme/mock"}), 0, wait="30s")
        self.jobs(self.mock.token("other", {"repository": "acme/other"}), 8)
        self.jobs(self.mock.token("number", {"repository": 7}), 8)


if __name__ == "__main__":
    os.environ.pop("KILN_ENDPOINT", None)
    unittest.main()
