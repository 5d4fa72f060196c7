"""A build on a real farm as one trace, over every process, as an OTLP receiver gets it; and what is built does not depend on it."""
import os
import sys
import unittest

from farm import MODELS, Farm, artifact_of, json_of, wait_for
from otlp_receiver import Receiver

MLP = MODELS / "digits_mlp.onnx"
# What a span is part of, by name.
PARENTS = {
    "upload": {"kiln build"}, "SubmitJob": {"kiln build"}, "submission": {"SubmitJob"}, "job": {"submission"},
    "queue": {"job"}, "lease": {"job"}, "publish": {"job"}, "action": {"lease"}, "result": {"lease"},
    "inputs": {"action"}, "stage": {"action"}, "sign and log": {"publish"}, "index": {"publish"},
    "image": {"publish"}, "sign": {"sign and log", "image"}, "log": {"sign"},
}
SERVICES = {"kiln build": "kiln", "job": "kiln-coordinator", "action": "kiln-worker", "stage": "kiln-worker",
            "sign": "kiln-signer", "log": "kiln-log", "index": "kiln-coordinator"}
PIPELINE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.receiver = Receiver()
        cls.farm = Farm(workers=1, options=("--no-sample", "--traces", cls.receiver.url))
        assert cls.farm.first.returncode == 0, cls.farm.first.stderr

    @classmethod
    def tearDownClass(cls):
        cls.farm.close()
        cls.receiver.close()

    def build(self, *options, env=None):
        result = self.farm.kiln("build", MLP, "--target", "cpu:x86-64-v3", "--profile", "N=5:5:5", *options,
                                env=dict(self.farm.env, **(env or {})))
        self.assertEqual(result.returncode, 0, result.stderr)
        return artifact_of(result), json_of(self.farm.kiln("jobs", "--limit", "1", "--json"))["jobs"][0]["id"]

    def test_a_build_is_one_trace_over_all_processes(self):
        artifact, job = self.build(env={"KILN_TRACES": self.receiver.url, "TRACEPARENT": PIPELINE})

        def whole():
            spans = self.receiver.of_job(job)
            there = {span["spanId"] for span in spans}
            parents = {span["parentSpanId"] for span in spans if span["name"] != "kiln build"}
            return spans if set(SERVICES) | set(PARENTS) <= {span["name"] for span in spans} and parents <= there else None
        spans = wait_for(whole, 60, "every kind of span")
        self.assertEqual(self.receiver.wrong, [])
        by_id = {span["spanId"]: span for span in spans}
        self.assertEqual(len(by_id), len(spans))
        for span in spans:
            self.assertEqual(span["traceId"], PIPELINE[3:35])
            self.assertNotIn("code", span["status"], span)
            if span["name"] == "kiln build":
                self.assertEqual(span["parentSpanId"], PIPELINE[36:52])
                continue
            self.assertIn(by_id[span["parentSpanId"]]["name"], PARENTS[span["name"]], span)
            if span["name"] in SERVICES:
                self.assertEqual(span["service"], SERVICES[span["name"]])
        stages = {span["values"]["kiln.stage"] for span in spans if span["name"] == "stage"}
        self.assertLessEqual({"capture", "codegen", "package"}, stages)
        logs = "".join(path.read_text(errors="replace") for path in (self.farm.dir / "logs").iterdir())
        for process in ("kiln-coordinator", "kiln-worker", "kiln-signer"):
            self.assertRegex(logs, rf"{process} .* trace={PIPELINE[3:35]}")

        # Nothing of it is in what was signed, and the receiver's end changes nothing.
        self.assertEqual(self.farm.kiln("fetch", artifact, "--out", self.farm.home / "traced").returncode, 0)
        for path in (self.farm.home / "traced").rglob("*"):
            if path.is_file():
                self.assertNotIn(PIPELINE[3:35].encode(), path.read_bytes(), path)
        self.receiver.close()
        again, _ = self.build("--no-cache", env={"KILN_TRACES": self.receiver.url})
        self.assertEqual(again, artifact)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    os.environ.pop("TRACEPARENT", None)
    unittest.main()
