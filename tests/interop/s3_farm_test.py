#!/usr/bin/env python3
"""A farm whose blobs lie in a bucket of a server that others wrote: build, fetch past the coordinator, verify, audit, examine,
collect garbage, back up. Prints how many bytes a fetch moves through the coordinator for each byte of the artifact.

usage: s3_farm_test.py [-v]     KILN_S3_SERVER=moto|versitygw (moto unless given). Exit 77 if it cannot be had.
"""
import hashlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

from bucket import BUCKET, KEYS, Server
from fetched import Skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "infra"))
import tiny_onnx  # noqa: E402
from farm import MODELS, Farm, artifact_of, json_of  # noqa: E402

MOST = 0.05
lacking = None


class Counter:
    """A Unix socket before the coordinator's, which counts what passes in both directions."""

    def __init__(self, home, target):
        self.path, self.target, self.bytes = f"{home}/counted.sock", target, 0
        self.lock = threading.Lock()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.target)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                with self.lock:
                    self.bytes += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listening.close()


def large_model(path, side=2048):
    """One product with 16 MiB of weights."""
    weights = b"".join(struct.pack("<f", (i * 2654435761 % 1000) / 1000) for i in range(1000))
    raw = (weights * (side * side // 1000 + 1))[:side * side * 4]
    tensor = (tiny_onnx.field(1, side) + tiny_onnx.field(1, side) + tiny_onnx.field(2, 1) + tiny_onnx.field(8, b"w") +
              tiny_onnx.field(9, raw))
    path.write_bytes(tiny_onnx.model([tiny_onnx.node("MatMul", ["x", "w"], ["y"], "product")],
                                     [tiny_onnx.value_info("x", [1, side])], [tiny_onnx.value_info("y", [1, side])], [tensor]))
    return path


class FarmInABucket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global lacking
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-s3-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        try:
            cls.server = Server(cls.home, os.environ.get("KILN_S3_SERVER", "moto"))
        except Skip as skip:
            lacking = skip
            raise unittest.SkipTest(str(skip))
        cls.addClassCleanup(cls.server.kill)
        os.environ.update(KEYS)
        cls.farm = Farm(workers=1, options=("--no-sample", "--store", cls.server.store("farm")))
        for name in KEYS:
            del os.environ[name]
        cls.addClassCleanup(cls.farm.close)
        built = cls.farm.build(MODELS / "digits_cnn.onnx")
        assert built.returncode == 0, built.stderr
        cls.artifact = artifact_of(built)

    def kiln(self, *arguments, code=0, env=None):
        result = self.farm.kiln(*arguments, env=env)
        self.assertEqual(result.returncode, code, f"\n--- out\n{result.stdout}\n--- err\n{result.stderr}")
        return result

    def test_the_artifact_is_in_the_bucket_and_nowhere_else(self):
        self.assertIn(f"farm/blobs/{self.artifact[7:9]}/{self.artifact[7:]}", self.server.keys("farm/blobs/"))
        self.assertFalse((self.farm.dir / "store/blobs").exists())
        self.assertEqual(self.server.keys("farm/uploads/"), [], "whatever was uploaded is where it belongs")

    def test_it_is_fetched_verified_and_audited(self):
        out = self.farm.home / "fetched"
        self.kiln("fetch", self.artifact, "--out", out)
        self.kiln("verify", out)
        self.assertEqual(json_of(self.kiln("audit", "--json"))["findings"], [])
        self.assertIn(f"s3://{BUCKET}/farm", self.kiln("doctor").stdout)

    def test_garbage_is_collected_and_nothing_needed_goes(self):
        report = json_of(self.kiln("gc", "--json"))
        self.assertGreater(report["keptBlobs"], 0)
        self.kiln("fetch", self.artifact, "--out", self.farm.home / "after gc")

    def test_a_fetch_moves_its_bytes_past_the_coordinator(self):
        built = self.farm.build(large_model(self.farm.home / "large.onnx"))
        self.assertEqual(built.returncode, 0, built.stderr)
        counter = Counter(self.home, self.farm.env["KILN_ENDPOINT"].removeprefix("unix:"))
        self.addCleanup(counter.close)
        out = self.farm.home / "large"
        self.kiln("fetch", artifact_of(built), "--out", out, env={**self.farm.env, "KILN_ENDPOINT": f"unix:{counter.path}"})
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        share = counter.bytes / size
        print(f"\nfetch: {counter.bytes} bytes through the coordinator for {size} of the artifact: {share:.4f} for each")
        self.assertLessEqual(share, MOST)

    def test_when_an_object_is_corrupt_it_is_refused_by_name(self):  # the last one: the farm lacks that blob from then on
        built = self.farm.build(MODELS / "digits_mlp.onnx", "--profile", "N=1:1:1")
        self.assertEqual(built.returncode, 0, built.stderr)
        artifact = artifact_of(built)
        self.kiln("fetch", artifact, "--out", self.farm.home / "sound")
        largest = max((file for file in (self.farm.home / "sound").rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
        name = hashlib.sha256(largest.read_bytes()).hexdigest()
        key = f"farm/blobs/{name[:2]}/{name}"
        for folder in (self.farm.dir / "cache").iterdir():
            for kept in folder.glob(f"{name}.*"):
                kept.unlink()
        self.server.do(f"""
body = bytearray(s3.get_object(Bucket={BUCKET!r}, Key={key!r})["Body"].read())
body[len(body) // 2] ^= 4
s3.put_object(Bucket={BUCKET!r}, Key={key!r}, Body=bytes(body))""")
        refused = self.farm.kiln("fetch", artifact, "--out", self.farm.home / "corrupt")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(name, refused.stdout + refused.stderr)
        self.assertFalse((self.farm.home / "corrupt").exists())

    def test_a_backup_says_what_it_does_not_hold(self):
        status = subprocess.run([pathlib.Path(__file__).resolve().parents[2] / "infra/postgres", "status", self.farm.dir / "pg"],
                                check=True, capture_output=True, text=True).stdout.strip()
        made = self.kiln("backup", "--farm", self.farm.dir, "--database", status, "--out", self.farm.home / "backup")
        self.assertIn(f"the blobs stay in the bucket s3://{BUCKET}/farm", made.stdout + made.stderr)

    def test_the_store_is_not_moved_by_an_option(self):
        again = self.farm.up("--no-sample", "--store", self.server.store("elsewhere"))
        self.assertEqual(again.returncode, 2, again.stdout + again.stderr)
        self.assertIn("--store does not move them", again.stderr)


if __name__ == "__main__":
    program = unittest.main(exit=False)
    sys.exit(77 if lacking and program.result.wasSuccessful() else not program.result.wasSuccessful())
