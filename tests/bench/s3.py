#!/usr/bin/env python3
"""Put and get through the S3 store beside boto3, on moto and versitygw, in one run. Prints MiB/s, the best of three; no pass or fail.

usage: tests/bench/s3.py [MIB]     (64 by default; build bench_s3_store first)
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/interop"))
from fetched import go_program, python_environment  # noqa: E402

BOTO = """
import sys, time, boto3
from botocore.config import Config
url, path = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="AKID", aws_secret_access_key="secret",
                  config=Config(s3={"addressing_style": "path"}, signature_version="s3v4", retries={"max_attempts": 50}))
for _ in range(600):
    try:
        s3.create_bucket(Bucket="bench"); break
    except Exception:
        time.sleep(0.1)
for round in range(3):
    begun = time.monotonic(); s3.upload_file(path, "bench", f"k{round}"); print("put", time.monotonic() - begun)
    begun = time.monotonic(); s3.download_file("bench", f"k{round}", path + ".back"); print("get", time.monotonic() - begun)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def best(lines):
    out = {}
    for line in lines.splitlines():
        name, seconds = line.rsplit(" ", 1)
        out[name] = min(out.get(name, 1e9), float(seconds))
    return out


def main(mib):
    python = python_environment("requirements-moto.txt")
    moto, versity = python.parent / "moto_server", go_program("versitygw")
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/file"
        with open(path, "wb") as file:
            for _ in range(mib):
                file.write(os.urandom(1 << 20))
        env = {**os.environ, "KILN_MOTO_SERVER": str(moto), "KILN_VERSITYGW": str(versity)}
        ours = best(subprocess.run([ROOT / "build/release/bin/bench_s3_store", path], env=env, check=True, capture_output=True,
                                   text=True).stdout)
        os.mkdir(f"{scratch}/data")
        for name in ("Moto", "Versity"):
            port = free_port()
            command = [moto, "-H", "127.0.0.1", "-p", str(port)] if name == "Moto" else [
                versity, "--port", f"127.0.0.1:{port}", "posix", f"{scratch}/data"]
            server = subprocess.Popen(command, env={**env, "ROOT_ACCESS_KEY": "AKID", "ROOT_SECRET_KEY": "secret"},
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(1)
                theirs = best(subprocess.run([python, "-c", BOTO, f"http://127.0.0.1:{port}", path], check=True,
                                             capture_output=True, text=True).stdout)
            finally:
                server.kill()
                server.wait()
            for what in ("put", "get"):
                own, other = mib / ours[f"{name} {what}"], mib / theirs[what]
                print(f"{name:8} {what}  store {own:7.1f} MiB/s   boto3 {other:7.1f} MiB/s   {own / other:.2f} x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
