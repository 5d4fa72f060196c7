#!/usr/bin/env python3
"""The services over HTTP on a real farm: every read against what gRPC says, a job from submission to its end, hostile requests.

The farm's own user comes over the private Unix socket, as over gRPC. Who else may do what is for
tests/coordinator/server/http_api_access_test.cc.
"""
import base64
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

from farm import TARGET, FarmCase, artifact_of, json_of, wait_for

I = "/api/v1/instances/default"
JSON = ("-H", "Content-Type: application/json")


class HttpApiTest(FarmCase):
    def curl(self, path, *options, code=200, plain=False):
        """The body of an answer, which must have this status."""
        where = [self.farm.env["KILN_HTTP"] + path] if plain else \
            ["--unix-socket", self.farm.env["KILN_HTTP_SOCKET"], "http://localhost" + path]
        out = subprocess.run(["curl", "-sS", "--noproxy", "*", "--path-as-is", "-m", "60", "-w", "\n%{http_code}", *options, *where],
                             capture_output=True, timeout=120)
        body, _, status = out.stdout.decode(errors="replace").rpartition("\n")
        self.assertEqual(status, str(code), f"{path}\n{body[:2000]}\n{out.stderr.decode()}")
        return body

    def get(self, path, code=200):
        return json.loads(self.curl(path, code=code))

    def post(self, path, body, code=200):
        return json.loads(self.curl(path, *JSON, "--data-binary", body if isinstance(body, str) else json.dumps(body), code=code))

    def error(self, path, *options, code):
        """An error has its class, an exit code and words."""
        error = json.loads(self.curl(path, *options, code=code))
        detail = error["details"][0]
        self.assertEqual(detail["@type"], "type.googleapis.com/kiln.v1.JobError")
        self.assertEqual((detail["code"], detail["message"]), (error["code"], error["message"]))
        self.assertGreater(detail["exitCode"], 0)
        return error

    def raw(self, data, patience=30):
        """What a server answers to these bytes."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(patience)
            client.connect(self.farm.env["KILN_HTTP_SOCKET"])
            answer = b""
            try:
                client.sendall(data)
                while chunk := client.recv(65536):
                    answer += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass  # it answers before it has read all of what it refuses
            return answer

    # Reads, beside what the command says by gRPC.

    def test_artifacts(self):
        listed = self.get(f"{I}/artifacts")["artifacts"]
        self.assertEqual([one["digest"] for one in listed], [self.artifact])
        one = self.get(f"{I}/artifacts/{self.artifact}")
        self.assertEqual(one, listed[0])
        self.assertEqual(one, self.get(f"{I}/artifacts/{self.artifact[:24]}"), "cut as kiln lets it be")
        self.assertEqual(one["target"], TARGET)
        self.assertIn(one["toolchainLabel"], json.dumps(json_of(self.kiln("toolchain", "list", "--json"))))
        # The manifest and the statements themselves, by digest.
        blobs = [one["manifest"], *one["bundles"]]
        answers = self.post(f"{I}/blobs:batchRead", {"digests": blobs})["responses"]
        self.assertEqual([answer["digest"] for answer in answers], blobs)
        manifest = json.loads(base64.b64decode(answers[0]["data"]))
        self.assertEqual(manifest["artifactType"], "application/vnd.kiln.artifact.v1+json")
        pulled = self.curl(f"/v2/default/artifacts/manifests/{self.artifact}")
        self.assertEqual(base64.b64decode(answers[0]["data"]).decode(), pulled)
        config = manifest["config"]
        read = self.post(f"{I}/blobs:batchRead", {"digests": [{"hash": config["digest"][7:], "sizeBytes": config["size"]}]})
        text = base64.b64decode(read["responses"][0]["data"])
        self.assertEqual("sha256:" + hashlib.sha256(text).hexdigest(), config["digest"])
        self.assertIn(TARGET, text.decode())
        self.assertIn("dsseEnvelope", json.loads(base64.b64decode(answers[1]["data"])))

    def test_provenance_statements_and_affected(self):
        shown = json_of(self.kiln("provenance", self.artifact, "--json"))
        told = self.get(f"{I}/artifacts/{self.artifact}/provenance")
        self.assertEqual(sorted(one["statement"]["payload"] for one in told["statements"]), sorted(shown["statements"]))
        statements = self.get(f"{I}/artifacts/{self.artifact}/statements")["statements"]
        self.assertEqual([one["statement"]["statement"]["payload"] for one in statements],
                         [one["statement"]["payload"] for one in told["statements"]])
        verdicts = [one["verdict"] for one in statements if "verdict" in one]
        self.assertEqual([verdict.get("passed", False) for verdict in verdicts], [True])
        found = self.get(f"{I}/affected?worker=worker-1")["affected"]
        asked = json_of(self.kiln("affected", "--worker", "worker-1", "--json"))["affected"]
        self.assertEqual([one["statement"]["payload"] for one in found], [one["statement"]["payload"] for one in asked])
        submissions = self.get(f"{I}/artifacts/{self.artifact}/submissions")["submissions"]
        self.assertEqual([one["submitter"] for one in submissions], [one["submitter"] for one in shown["submissions"]])
        self.assertEqual(self.get(f"{I}/artifacts/{self.artifact}/differences/{self.artifact}").get("differences", []), [])

    def test_pages(self):
        whole = self.get(f"{I}/artifacts/{self.artifact}/provenance")["statements"]
        self.assertGreater(len(whole), 1)
        paged, token = [], ""
        while True:
            page = self.get(f"{I}/artifacts/{self.artifact}/provenance?page_size=1&page_token={urllib.parse.quote(token, safe='')}")
            paged += page["statements"]
            token = page.get("nextPageToken", "")
            if not token:
                break
        self.assertEqual(paged, whole)
        self.error(f"{I}/artifacts/{self.artifact}/provenance?page_size=501", code=400)
        self.error(f"{I}/artifacts/{self.artifact}/provenance?page_token=x", code=400)

    def test_jobs(self):
        listed = self.get(f"{I}/jobs")["jobs"]
        asked = json_of(self.kiln("jobs", "--json"))["jobs"]
        self.assertEqual([job["id"] for job in listed], [job["id"] for job in asked])
        job = self.get(f"{I}/jobs/{listed[-1]['id']}")
        self.assertEqual(job["artifacts"][0]["digest"], self.artifact)
        self.assertEqual(job["state"], "JOB_SUCCEEDED")
        self.assertIn("builders", json.dumps(job["actions"]))
        logs = self.get(f"{I}/jobs/{job['id']}/logs").get("logs", [])
        self.assertTrue(all(log["kind"].startswith("ACTION_") for log in logs))
        outputs = self.get(f"{I}/jobs/{job['id']}/outputs/worker-1?target={urllib.parse.quote(TARGET)}")
        self.assertIn("program.so", [pathlib.Path(file["path"]).name for file in outputs["files"]])
        self.assertEqual(self.error(f"{I}/jobs/none", code=404)["details"][0]["exitCode"], 6)

    def test_fleet_toolchains_log_and_recalls(self):
        workers = self.get(f"{I}/workers")["workers"]
        asked = json_of(self.kiln("workers", "--json"))
        self.assertEqual([one["description"]["name"] for one in workers], ["worker-1"])
        self.assertIn("worker-1", json.dumps(asked))
        self.assertEqual(workers[0]["description"]["devices"][0]["id"], "cpu")
        toolchains = self.get(f"{I}/toolchains")["toolchains"]
        label = toolchains[0]["label"]
        self.assertEqual(self.get(f"{I}/toolchains/{urllib.parse.quote(label, safe='')}")["label"], label)
        self.assertEqual(self.get(f"{I}/toolchains/{label}")["toolchainDigest"], toolchains[0]["toolchainDigest"])
        log = self.get(f"{I}/log?from=0&page_size=500")
        self.assertEqual([int(one.get("place", 0)) for one in log["entries"]], list(range(len(log["entries"]))))
        checkpoint = self.curl("/log/checkpoint").split("\n")
        self.assertEqual(int(checkpoint[1]), int(log["size"]))
        recalls = self.get("/api/v1/recalls")
        self.assertEqual(recalls.get("document", ""), "", "none was published")
        self.assertIn(checkpoint[0], recalls["checkpoint"])
        self.assertEqual(self.get(f"{I}/queue")["instance"], "default")
        self.get("/api/v1/queues")
        for index in ("artifacts", "toolchains", "tuning"):
            self.get(f"{I}/index/{index}")

    # A job from submission to its end.

    def submission(self, key):
        """What kiln build would submit, of the model that is there already, for a target that was not built yet."""
        job = self.get(f"{I}/jobs")["jobs"][-1]
        model = pathlib.Path(self.BUILD[0])
        source = self.get(f"{I}/artifacts/{self.artifact}/submissions")["submissions"][0]["sources"][0]
        return {"idempotencyKey": key, "targets": ["cpu:x86-64-v4"], "toolchain": job["toolchainLabel"],
                "sources": [{"path": source["path"], "blob": {"hash": source["digest"][7:], "sizeBytes": model.stat().st_size}}]}

    def test_submit_watch_and_cancel(self):
        job = self.post(f"{I}/jobs", self.submission("over-http"))
        self.assertEqual(self.post(f"{I}/jobs", self.submission("over-http"))["id"], job["id"], "the same key is the same job")
        told = self.curl(f"{I}/jobs/{job['id']}:watch", "-N", "-m", "240")
        events = [dict(line.split(": ", 1) for line in event.split("\n") if ": " in line) for event in told.split("\n\n") if event]
        events = [event for event in events if event]
        self.assertEqual(events[-1]["event"], "end")
        states = [json.loads(event["data"])["state"] for event in events[:-1]]
        self.assertEqual(states[-1], "JOB_SUCCEEDED", told[-3000:])
        ids = [int(event["id"]) for event in events[:-1]]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertIn(job["id"], self.kiln("jobs").stdout)
        # Whoever has had an event goes on after it, and whoever has had them all need not ask again.
        later = self.curl(f"{I}/jobs/{job['id']}:watch", "-N", "-H", f"Last-Event-ID: {ids[-1] - 1}")
        self.assertIn(f"id: {ids[-1]}\n", later)
        self.assertNotIn(f"id: {ids[0]}\n", later if ids[0] != ids[-1] else "")
        self.assertEqual(self.curl(f"{I}/jobs/{job['id']}:watch", "-H", f"Last-Event-ID: {ids[-1]}", code=204), "")
        self.error(f"{I}/jobs/{job['id']}:watch", "-H", "Last-Event-ID: x", code=400)
        self.error(f"{I}/jobs/none:watch", code=404)

    def put(self, data, digest=None, instance="default", code=200):
        digest = digest or "sha256:" + hashlib.sha256(data).hexdigest()
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return json.loads(self.curl(f"/api/v1/instances/{instance}/blobs/{digest}", "-T", file.name, code=code))

    def test_uploads_a_model_and_has_it_built_without_the_command(self):
        model = self.farm.home / "put.onnx"
        model.write_bytes(pathlib.Path(self.BUILD[0]).read_bytes() + b"\x32\x03put")  # with another doc_string: the farm does not have it
        blob = self.put(model.read_bytes())
        self.assertEqual(blob, {"hash": hashlib.sha256(model.read_bytes()).hexdigest(), "sizeBytes": str(model.stat().st_size)})
        self.assertEqual(self.put(model.read_bytes()), blob, "it is there already")
        job = self.post(f"{I}/jobs", {"idempotencyKey": "put", "targets": [TARGET], "sources": [{"path": model.name, "blob": blob}]})
        self.curl(f"{I}/jobs/{job['id']}:watch", "-N", "-m", "240")
        job = self.get(f"{I}/jobs/{job['id']}")
        self.assertEqual(job["state"], "JOB_SUCCEEDED", json.dumps(job))
        self.assertEqual(job["artifacts"][0]["digest"], artifact_of(self.farm.build(model, target=TARGET)), "as the command has it built")

    def test_uploads_are_what_their_digest_says(self):
        other = "sha256:" + hashlib.sha256(b"wanted").hexdigest()
        for data in (b"another", os.urandom(3_000_000)):
            error = self.put(data, other, code=400)
            self.assertIn(hashlib.sha256(data).hexdigest(), error["message"])
            self.assertEqual(error["details"][0]["exitCode"], 2)
        head = f"PUT {I}/blobs/{other} HTTP/1.1\r\nHost: localhost\r\n"
        self.assertIn(b" 411 ", self.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n6\r\nwanted\r\n0\r\n\r\n".encode()))
        self.assertIn(b" 413 ", self.raw(f"{head}Content-Length: {(1 << 40) + 1}\r\n\r\n".encode()))
        self.put(b"wanted", instance="default%2Fblobs", code=400)
        self.curl(f"{I}/blobs/{other}", code=405)
        self.curl(f"{I}/blobs/{other}", "-X", "PUT", "-d", "wanted", plain=True, code=401)
        missing = self.submission("not-put")
        missing["sources"][0]["blob"] = {"hash": other[7:], "sizeBytes": 6}
        self.curl(f"{I}/jobs", *JSON, "-d", json.dumps(missing), code=400)

    def test_cancel(self):
        self.farm.kill("worker-1", 19)  # stopped: nothing is built meanwhile
        try:
            wanted = self.submission("to-be-cancelled") | {"targets": ["cpu:aarch64"]}
            job = self.post(f"{I}/jobs", wanted)
            seen = []
            watch = threading.Thread(target=lambda: seen.append(self.curl(f"{I}/jobs/{job['id']}:watch", "-N")))
            watch.start()
            time.sleep(1)
            self.assertEqual(self.post(f"{I}/jobs/{job['id']}:cancel", {})["id"], job["id"])
            watch.join(60)
            self.assertIn("JOB_CANCELLED", seen[0])
            self.assertTrue(seen[0].endswith("event: end\ndata: {}\n\n"))
        finally:
            self.farm.kill("worker-1", 18)
        self.assertEqual(self.get(f"{I}/jobs/{job['id']}")["state"], "JOB_CANCELLED")

    def test_a_quiet_watch_lives(self):
        self.farm.kill("worker-1", 19)
        try:
            job = self.post(f"{I}/jobs", self.submission("quiet") | {"targets": ["cpu:aarch64-neoverse-n1"]})
            out = subprocess.run(["curl", "-sN", "-m", "30", "--unix-socket", self.farm.env["KILN_HTTP_SOCKET"],
                                  f"http://localhost{I}/jobs/{job['id']}:watch"], capture_output=True, text=True)
            self.assertEqual(out.returncode, 28, "it would have gone on")
            self.assertIn("\n:\n\n", out.stdout)
            self.post(f"{I}/jobs/{job['id']}:cancel", {})
        finally:
            self.farm.kill("worker-1", 18)

    # What is refused.

    def test_a_submission_that_cannot_be_is_told_as_the_command_is(self):
        error = json.loads(self.curl(f"{I}/jobs", *JSON, "-d", json.dumps(self.submission("bad") | {"targets": ["native"]}), code=400))
        self.assertEqual(error["details"][0]["exitCode"], 2)
        missing = self.submission("missing")
        missing["sources"][0]["blob"]["hash"] = "ab" * 32
        error = json.loads(self.curl(f"{I}/jobs", *JSON, "-d", json.dumps(missing), code=400))
        self.assertEqual(json.loads(error["details"][0]["detailsJson"])["missing"][0]["digest"], "sha256:" + "ab" * 32)

    def test_a_typo_is_told_by_name_with_what_to_write(self):
        digest = "0123456789ab"
        for path, wanted in ((f"artifacts/{digest}", f'digest: "{digest}" is no digest; give sha256:<64 lowercase hex>, or the first 12 of them or more'),
                             (f"artifacts?before={digest}", f'before: "{digest}" is no digest; give sha256:<64 lowercase hex>'),
                             *((f"artifacts/{digest}/{what}", f'artifact: "{digest}" is no digest; give sha256:<64 lowercase hex>')
                               for what in ("provenance", "statements", "submissions"))):
            self.assertEqual(self.error(f"{I}/{path}", code=400)["message"], wanted)
        error = self.error(f"{I}/jobs", *JSON, "-d", '{"target": "cpu:x86-64-v3"}', code=400)
        self.assertEqual(error["message"], "the body: target: Cannot find field; /openapi.json has its form")
        error = self.error(f"{I}/jobs", *JSON, "-d", '{"targets": ["cpu:x86-64-v3"]}', code=400)
        self.assertIn("the same key is the same job", error["message"])
        for name in ("/openapi.json", "/api/v1/"):
            self.assertIn(name, self.curl("/nothing", plain=True, code=404))

    def test_without_the_socket_nobody_is_known(self):
        error = json.loads(self.curl(f"{I}/jobs", plain=True, code=401))
        self.assertEqual(error["details"][0]["exitCode"], 8)
        self.curl(f"{I}/jobs", *JSON, "-d", "{}", plain=True, code=401)
        self.assertEqual(json.loads(self.curl("/openapi.json", plain=True))["openapi"], "3.1.0")
        mode = os.stat(self.farm.env["KILN_HTTP_SOCKET"]).st_mode & 0o777
        self.assertEqual(mode, 0o600)

    def test_hostile_requests_are_refused_and_the_farm_goes_on(self):
        jobs = f"{I}/jobs"
        for path, code in ((f"{jobs}?nothing=1", 400), (f"{jobs}?limit=1&limit=1", 400), (f"{jobs}?limit=1e400", 400),
                           (f"{jobs}?limit=99999999999999999999", 400), (f"{jobs}?before=%00", 400), (f"{jobs}?before=%ff", 400),
                           (f"{jobs}?before=%", 400), (f"{jobs}?limit=-1", 400), (f"{jobs}/%2e%2e%2f%2e%2e%2fetc", 404),
                           (f"{jobs}/../../../etc/passwd", 404), ("/api/v1/instances/..%2f..%2fdefault/jobs", 404),
                           ("/api/v1/instances/%00/jobs", 400), ("/api/v1/instances//jobs", 404), ("/api/", 404), ("/api/v2/x", 404),
                           (f"{jobs}?" + "&".join(f"p{i}=1" for i in range(1000)), 400)):
            error = json.loads(self.curl(path, code=code))
            self.assertLess(len(error["message"]), 1000)
            self.assertNotIn("\\u0000", json.dumps(error))
        self.assertEqual(self.raw(f"GET {jobs}?{'&'.join(f'p{i}=1' for i in range(10000))} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                         .split(b" ")[1], b"431")
        deep = "[" * 100000 + "]" * 100000
        bad = self.submission("hostile")
        for body, code in ((deep, 400), ('{"targets":' + deep + "}", 400), ('{"targets":[],"targets":[]}', 400), ("{", 400), ("", 400),
                           ("null", 400), ('{"nothing":1}', 400), ('{"instance":"other"}', 400), ('{"targets":[1e999]}', 400),
                           ('{"sources":[{"blob":{"sizeBytes":"1' + "0" * 400 + '"}}]}', 400), ("\xff\xfe", 400),
                           (json.dumps(bad | {"specJson": "\0"}), 400), (json.dumps(bad | {"idempotencyKey": "\0"}), 400),
                           (json.dumps(bad | {"targets": ["\0"]}), 400), (json.dumps(bad | {"toolchain": "\0"}), 404)):
            given = subprocess.run(["curl", "-s", "-o", "/dev/stdout", "-w", "\n%{http_code}", *JSON, "--data-binary", "@-", "--unix-socket",
                                    self.farm.env["KILN_HTTP_SOCKET"], f"http://localhost{jobs}"], input=body.encode("latin-1"), capture_output=True)
            text, _, status = given.stdout.decode().rpartition("\n")
            self.assertIn(status, {str(code), "400"}, body[:100] + text[:500])
        self.curl(jobs, "-d", "{}", code=415)
        self.curl(jobs, *JSON, "-H", "Origin: https://evil.example", "-d", "{}", code=403)
        self.curl(jobs, "-X", "DELETE", code=405)
        self.curl(jobs, "-X", "OPTIONS", "-H", "Origin: https://evil.example", "-H", "Access-Control-Request-Method: POST", code=403)
        head = self.curl(jobs, "-D", "-", "-H", "Origin: http://localhost").lower()
        self.assertNotIn("access-control", head)
        too = b"POST " + jobs.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n"
        self.assertEqual(self.raw(too).split(b" ")[1], b"413")
        slow = time.monotonic()
        self.assertEqual(self.raw(too.replace(b"1048577", b"100") + b"{"), b"", "a body that does not come")
        self.assertLess(time.monotonic() - slow, 20)
        self.assertEqual(self.get(jobs)["jobs"], self.get(jobs)["jobs"])

    def test_many_watches_leave_room(self):
        job = self.get(f"{I}/jobs")["jobs"][-1]["id"]
        self.farm.kill("worker-1", 19)
        clients = []
        try:
            job = self.post(f"{I}/jobs", self.submission("many") | {"targets": ["cpu:x86-64-v4+avx512vnni+avx512bf16"]})["id"]
            for _ in range(60):
                client = socket.socket(socket.AF_UNIX)
                client.connect(self.farm.env["KILN_HTTP_SOCKET"])
                client.sendall(f"GET {I}/jobs/{job}:watch HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                clients.append(client)
            statuses = []
            for client in clients:
                client.settimeout(30)
                statuses.append(client.recv(12)[9:])
            self.assertEqual(set(statuses), {b"200", b"429"})
            self.assertLessEqual(statuses.count(b"200"), 48)
            self.get(f"{I}/jobs")
        finally:
            for client in clients:
                client.close()
            self.post(f"{I}/jobs/{job}:cancel", {})
            self.farm.kill("worker-1", 18)
        wait_for(lambda: self.get(f"{I}/jobs/{job}")["state"] == "JOB_CANCELLED", 30, "the job is cancelled")


if __name__ == "__main__":
    unittest.main()
