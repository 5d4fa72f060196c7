#!/usr/bin/env python3
"""Has Kiln's Git LFS client fetch from giftless, a server from PyPI.

usage: lfs_check.py BIN     (where storage_lfs_test lies)
Exit 77 (skipped) if the server cannot be had.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

from fetched import Skip, python_environment, run

SERVE = """
import os, sys
from giftless.app import init_app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, init_app())
with open("port.new", "w") as out:
    out.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
"""
# Whoever asks may do anything, by tokens that the server gives out for each object.
SETTINGS = {"GIFTLESS_CONFIG_STR": json.dumps(
    {"AUTH_PROVIDERS": ["giftless.auth.allow_anon:read_write"],
     "PRE_AUTHORIZED_ACTION_PROVIDER": {"factory": "giftless.auth.jwt:factory",
                                        "options": {"algorithm": "HS256", "private_key": "a key of 32 bytes or more, for tests"}}})}
TYPE = {"Accept": "application/vnd.git-lfs+json", "Content-Type": "application/vnd.git-lfs+json"}


def ask(method, url, body, headers):
    with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers, method=method), timeout=60) as answer:
        return answer.read()


def upload(repository, content):
    """As git-lfs does: a batch, the bytes, and the word that they are there."""
    thing = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}
    request = json.dumps({"operation": "upload", "transfers": ["basic"], "objects": [thing]}).encode()
    actions = json.loads(ask("POST", f"{repository}/info/lfs/objects/batch", request, TYPE))["objects"][0]["actions"]
    ask("PUT", actions["upload"]["href"], content, actions["upload"].get("header", {}) | {"Content-Type": "application/octet-stream"})
    if "verify" in actions:
        ask("POST", actions["verify"]["href"], json.dumps(thing).encode(), actions["verify"].get("header", {}) | TYPE)


def port_of(home, server):
    for _ in range(600):
        if (home / "port").exists():
            return (home / "port").read_text()
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit("giftless did not start:\n" + (home / "log").read_text())


def main():
    binaries = pathlib.Path(sys.argv[1])
    try:
        python = python_environment("requirements-giftless.txt")
    except Skip as skip:
        print(f"skipped: {skip}")
        return 77
    with tempfile.TemporaryDirectory(prefix="kiln-giftless-") as folder:
        home = pathlib.Path(folder)
        with open(home / "log", "wb") as log:
            server = subprocess.Popen([python, "-c", SERVE], cwd=home, env={**os.environ, **SETTINGS}, stdout=log, stderr=log)
        try:
            repository = f"http://127.0.0.1:{port_of(home, server)}/models/digits.git"
            upload(repository, b"model bytes")
            done = run([binaries / "storage_lfs_test", "--gtest_filter=ForeignServer.*"], env={**os.environ, "KILN_LFS_REPOSITORY": repository})
        finally:
            server.kill()
            server.wait()
        print(done.stdout[-6000:], done.stderr[-2000:])
        if done.returncode or "[  PASSED  ] 1 test" not in done.stdout or "[  SKIPPED ]" in done.stdout:
            print((home / "log").read_text()[-4000:])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
