#!/usr/bin/env python3
"""The console over a real farm whose index has many artifacts: a page of the list and all of it over HTTP, and the list, a page further on
and a search as a person sees them in headless Chromium.

usage: tests/bench/console.py [--artifacts N] [--rounds N]

The further artifacts are rows of one that was built, with digests of their own: whoever opens one of them is told that it is none.
"""
import argparse
import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/infra"))
from farm import MODELS, TARGET, Farm, artifact_of  # noqa: E402

# Of the artifact $1 as many more, each a second older than the one before, by which the last one is found as "far-model".
MORE = """
CREATE TEMP TABLE more AS SELECT i, sha256(convert_to('artifact ' || i, 'UTF8')) AS hash, sha256(convert_to('payload ' || i, 'UTF8')) AS payload
  FROM generate_series(1, {count}) i;
INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, toolchain_label, toolchain_hash, published)
  SELECT a.instance, m.hash, a.size, a.config_hash, a.config_size, a.target, a.toolchain_label, a.toolchain_hash, a.published - m.i * interval '1 second'
  FROM artifacts a, more m WHERE a.hash = decode('{hash}', 'hex');
INSERT INTO statements (instance, payload_hash, artifact_hash, predicate_type, bundle_hash, bundle_size, job_id, recorded)
  SELECT s.instance, m.payload, m.hash, s.predicate_type, s.bundle_hash, s.bundle_size, s.job_id, s.recorded
  FROM (SELECT * FROM statements WHERE artifact_hash = decode('{hash}', 'hex') ORDER BY recorded LIMIT 1) s, more m;
INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, reuse, submitted, ended, toolchain_label, toolchain_hash, toolchain_size, options, delivery,
    model_name)
  SELECT j.instance, 'more' || m.i, 'more' || m.i, j.request_hash, j.state, j.reuse, j.submitted - m.i * interval '1 second', j.ended, j.toolchain_label,
    j.toolchain_hash, j.toolchain_size, j.options, j.delivery, CASE WHEN m.i = {count} THEN 'far-model.onnx' ELSE j.model_name END
  FROM (SELECT * FROM jobs ORDER BY submitted LIMIT 1) j, more m;
INSERT INTO job_targets (instance, job_id, ordinal, target, artifact_hash)
  SELECT 'default', 'more' || m.i, 0, '{target}', m.hash FROM more m;
INSERT INTO builders (instance, payload_hash, artifact_hash, worker, operator)
  SELECT b.instance, m.payload, m.hash, b.worker, b.operator
  FROM (SELECT * FROM builders WHERE artifact_hash = decode('{hash}', 'hex') LIMIT 1) b, more m;
ANALYZE;
"""


class Http(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def fill(farm, artifact, count):
    conninfo = subprocess.run([ROOT / "infra/postgres", "status", farm.dir / "pg"], check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    subprocess.run(["psql", conninfo, "-q", "-v", "ON_ERROR_STOP=1", "-c", MORE.format(count=count, hash=artifact[7:], target=TARGET)], check=True)


def page(client, before, limit):
    client.request("GET", f"/api/v1/instances/default/artifacts?limit={limit}&before={urllib.parse.quote(before)}")
    answer = client.getresponse()
    body = answer.read()
    assert answer.status == 200, body
    return json.loads(body).get("artifacts", []), len(body)


def walk(client):
    """All artifacts, by pages of 1000: how many, their bytes, milliseconds of each page."""
    before, total, size, took = "", 0, 0, []
    while True:
        begin = time.monotonic()
        rows, length = page(client, before, 1000)
        took.append((time.monotonic() - begin) * 1e3)
        total, size = total + len(rows), size + length
        if len(rows) < 1000:
            return total, size, took
        before = rows[-1]["digest"]


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("--artifacts", 10000), ("--rounds", 5)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args()
    farm = Farm(workers=1, options=("--no-sample",))
    try:
        built = farm.build(MODELS / "digits_cnn.onnx", target=TARGET)
        assert built.returncode == 0, built.stderr
        fill(farm, artifact_of(built), options.artifacts - 1)
        client = Http(farm.env["KILN_HTTP_SOCKET"])
        walks = [walk(client) for _ in range(options.rounds)]
        total, size, _ = walks[0]
        fastest = [min(times) for times in zip(*(took for _, _, took in walks))]
        print(f"{total} artifacts over HTTP in pages of 1000: {size / 1e6:.1f} MB in {sum(fastest):.0f} ms, {statistics.median(fastest):.0f} ms a page "
              f"(fastest of {options.rounds} rounds, {os.cpu_count()} processors)")
        views = ["#/artifacts", "#/artifacts?q=far-model", "#/artifacts?q=digits"]
        rounds = []
        for _ in range(options.rounds):
            wanted = {"views": views, "audit": "", "once": True, "pictures": "", "axe": "", "recalled": False}
            out = subprocess.run(["node", ROOT / "tests/api/console/support/drive.mjs", json.dumps(wanted)], capture_output=True, text=True, env=farm.env, check=True)
            rounds.append(json.loads(out.stdout))
        assert all("All 10000" in one["views"][views[1]]["text"] for one in rounds) or options.artifacts != 10000
        print(f"first contentful paint {min(one['firstPaint'] for one in rounds):.0f} ms, {rounds[0]['loaded']} bytes of script and style")
        for view in views:
            print(f"{view}: shown after {min(one['views'][view]['took'] for one in rounds)} ms")
    finally:
        farm.close()


if __name__ == "__main__":
    main()
