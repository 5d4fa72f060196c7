"""Each stock verifier as a function: takes the evidence, returns what it judged wrongly, raises Skip if it cannot be had or
has nothing to judge. The good must be accepted and every damaged copy refused."""
import base64
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile

from evidence import OTHER_ED25519, OTHER_P256, flipped, log_key, pem
from fetched import HERE, Skip, go_program, last_line, node_modules, python_environment, run


def compare(cases, verdicts):
    """cases: (what, good?) of each verdict. What was judged wrongly."""
    if len(cases) != len(verdicts):
        return [f"{len(verdicts)} verdicts about {len(cases)} cases"]
    return [f"{'refuses' if good else 'accepts'} {what}" for (what, good), verdict in zip(cases, verdicts) if verdict != good]


def judged(command, questions, cases):
    done = run(command, input=json.dumps(questions))
    return [last_line(done)] if done.returncode else compare(cases, json.loads(done.stdout))


def sigstore_js(evidence):
    home, node = node_modules()
    hint = evidence.bundle["verificationMaterial"]["publicKey"]["hint"]
    log = evidence.trusted_root if evidence.logged() else None
    cases, questions = [], []

    def ask(what, good, bundle=evidence.bundle, trusted_root=log, key=evidence.spki, name=hint):
        cases.append((what, good))
        questions.append({"bundle": bundle, "trustedRoot": trusted_root, "keys": {name: pem(key)}})

    ask("a good bundle", True)
    for what, bundle in evidence.damaged():
        ask(f"a bundle with a damaged {what}", False, bundle=bundle)
    ask("another key", False, key=OTHER_P256)
    ask("an unknown key", False, name="unknown")
    for what, root in evidence.other_logs() if log else ():
        ask(what, False, trusted_root=root)
    return judged([node, HERE / "verify.js", home], questions, cases)


def securesystemslib(evidence):
    python = python_environment("requirements.txt")
    cases = [("a good envelope", True), ("another key", False)]
    questions = [{"envelope": evidence.bundle["dsseEnvelope"], "pem": pem(key)} for key in (evidence.spki, OTHER_P256)]
    for what, bundle in evidence.damaged():
        if bundle["dsseEnvelope"] != evidence.bundle["dsseEnvelope"]:  # it knows nothing of logs
            cases.append((f"an envelope with a damaged {what}", False))
            questions.append({"envelope": bundle["dsseEnvelope"], "pem": pem(evidence.spki)})
    return judged([python, HERE / "dsse_verify.py"], questions, cases)


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as tmp:
        yield pathlib.Path(tmp)


def cosign(evidence):
    program = go_program("cosign")
    log = evidence.trusted_root if evidence.logged() else None
    problems = []
    with folder() as tmp:
        def check(what, good, bundle=evidence.bundle, trusted_root=log, key=evidence.spki, artifact=evidence.artifact):
            (tmp / "key.pem").write_text(pem(key))
            (tmp / "bundle.json").write_text(json.dumps(bundle))
            (tmp / "trusted_root.json").write_text(json.dumps(trusted_root))
            logs = ["--trusted-root", tmp / "trusted_root.json"] if trusted_root else ["--insecure-ignore-tlog"]
            done = run([program, "verify-blob-attestation", "--key", tmp / "key.pem", "--bundle", tmp / "bundle.json", *logs,
                        "--type", evidence.statement["predicateType"], artifact])
            problems.extend(compare([(what, good)], [done.returncode == 0]))
            if good and done.returncode:
                problems.append(last_line(done))

        check("a good bundle", True)
        for what, bundle in evidence.damaged():
            if what != "leaf":  # it makes the leaf anew from what was signed, and does not read the bundle's
                check(f"a bundle with a damaged {what}", False, bundle=bundle)
        check("another key", False, key=OTHER_P256)
        for what, root in evidence.other_logs() if log else ():
            check(what, False, trusted_root=root)
        other = tmp / "other"
        other.write_bytes(evidence.artifact.read_bytes() + b" ")
        check("a bundle about another artifact", False, artifact=other)
    return problems


def slsa_verifier(evidence):
    if not evidence.statement["predicateType"].startswith("https://slsa.dev/verification_summary/"):
        raise Skip("no verification summary to judge")
    program = go_program("slsa-verifier")
    predicate = evidence.statement["predicate"]
    problems = []
    with folder() as tmp:
        def check(what, good, bundle=evidence.bundle, key=evidence.spki, digest=evidence.digest, **other):
            (tmp / "key.pem").write_text(pem(key))
            (tmp / "vsa.json").write_text(json.dumps(bundle["dsseEnvelope"]))
            done = run([program, "verify-vsa", "--subject-digest", f"sha256:{digest}", "--attestation-path", tmp / "vsa.json",
                        "--verifier-id", other.get("verifier", predicate["verifier"]["id"]),
                        "--resource-uri", other.get("resource", predicate["resourceUri"]),
                        "--verified-level", other.get("level", predicate["verifiedLevels"][0]),
                        "--public-key-path", tmp / "key.pem"])
            problems.extend(compare([(what, good)], [done.returncode == 0]))
            if good and done.returncode:
                problems.append(last_line(done))

        check("a good summary", True)
        for what, bundle in evidence.damaged():
            if bundle["dsseEnvelope"] != evidence.bundle["dsseEnvelope"]:
                check(f"a summary with a damaged {what}", False, bundle=bundle)
        check("another key", False, key=OTHER_P256)
        check("a summary about another artifact", False, digest="0" * 64)
        check("another verifier's name", False, verifier="urn:other")
        check("another resource", False, resource="urn:other")
        level, number = predicate["verifiedLevels"][0].rsplit("_", 1)
        check("a level beyond the summary's", False, level=f"{level}_{int(number) + 1}")
    return problems


def tessera_fsck(evidence):
    if not evidence.tiles:
        raise Skip("no log tiles to judge")
    program = go_program("fsck")
    name = (evidence.tiles / "checkpoint").read_text().split("\n")[0]
    own = next(log_key(name, base64.b64decode(log["spki"]))[0] for log in evidence.root["logs"] if log["origin"] == name)
    problems = []

    def check(what, good, damage=lambda tree: None, key=own):
        with folder() as tmp:
            tree = tmp / "log"
            shutil.copytree(evidence.tiles, tree)
            damage(tree)
            (tmp / "key").write_text(key)
            # It ends with 0 whatever it found, and with few workers it may not end when it finds something.
            command = [program, "--ui=false", "--N=64", f"--storage_url=file://{tree}/", f"--public_key={tmp / 'key'}"]
            try:
                done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
                verdict = "Successfully fsck'd" in done.stderr
            except subprocess.TimeoutExpired:
                verdict = False
            problems.extend(compare([(what, good)], [verdict]))

    def change(pattern, at):
        def damage(tree):
            # The largest: smaller ones may be earlier states of the log's edge, which nobody reads any more.
            file = max((path for path in tree.glob(pattern) if path.is_file()), key=lambda path: path.stat().st_size)
            data = bytearray(file.read_bytes())
            data[at] ^= 1
            file.chmod(0o644)
            file.write_bytes(bytes(data))
        return damage

    def checkpoint(tree):
        file = tree / "checkpoint"
        origin, size, root, rest = file.read_text().split("\n", 3)
        file.chmod(0o644)
        file.write_text("\n".join([origin, size, flipped(root), rest]))

    check("a good log", True)
    check("a log with a changed entry", False, change("tile/entries/**/*", 40))
    check("a log with a changed hash", False, change("tile/0/**/*", 0))
    check("a log with a changed checkpoint", False, checkpoint)
    check("another log's key", False, key=log_key(name, OTHER_ED25519)[0])
    return problems


VERIFIERS = {
    "@sigstore/verify": sigstore_js,
    "securesystemslib": securesystemslib,
    "cosign": cosign,
    "slsa-verifier": slsa_verifier,
    "Tessera fsck": tessera_fsck,
}
