"""An S3 server that others wrote, with a bucket of its own, for farms of tests."""
import os
import socket
import subprocess
import time

from fetched import go_program, python_environment

BUCKET = "farm-bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDFARM", "AWS_SECRET_ACCESS_KEY": "secret/of+the-farm"}
BOTO = """
import sys, boto3
from botocore.config import Config
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1",
                  config=Config(s3={"addressing_style": "path"}, signature_version="s3v4", retries={"max_attempts": 10}))
exec(sys.argv[2])
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """`kind`: moto, which keeps objects in memory, or versitygw, whose objects outlive it. Skip if it cannot be had."""

    def __init__(self, home, kind="moto"):
        self.python = python_environment("requirements-moto.txt")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.command = [self.python.parent / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
        if kind == "versitygw":
            (home / "objects").mkdir()
            self.command = [go_program("versitygw"), "--port", f"127.0.0.1:{port}", "posix", home / "objects"]
        self.start()
        end = time.monotonic() + 120
        while True:
            try:
                self.do(f"s3.create_bucket(Bucket={BUCKET!r})")
                return
            except subprocess.CalledProcessError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def start(self):
        env = {**os.environ, "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
        self.process = subprocess.Popen([str(part) for part in self.command], env=env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def store(self, prefix):
        """As infra/up and kiln-coordinator take it."""
        return f"s3://{BUCKET}/{prefix}?endpoint={self.url}"

    def do(self, code):
        """What Python code prints that finds boto3's client as `s3`."""
        return subprocess.run([self.python, "-c", BOTO, self.url, code], check=True, capture_output=True, text=True,
                              env={**os.environ, **KEYS}).stdout

    def keys(self, prefix):
        return self.do(f"""
for page in s3.get_paginator("list_objects_v2").paginate(Bucket={BUCKET!r}, Prefix={prefix!r}):
    for one in page.get("Contents", []): print(one["Key"])""").split()

    def kill(self):
        self.process.kill()
        self.process.wait()
