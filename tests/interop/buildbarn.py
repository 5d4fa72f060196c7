"""A Remote Execution cluster that others wrote (Buildbarn), and the clients rexec and remotetool, for farms of tests."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

from fetched import CACHE, HERE, Skip, last_line, made_once, run, stamp

ENGINES = HERE / "engines"
PINS = [f"engines/{name}" for name in ("build", "cluster/go.mod", "cluster/go.sum", "cluster/tools.go", "storage/go.mod",
                                       "storage/go.sum", "clients/go.mod", "clients/go.sum")]
PLATFORM = "OSFamily=linux"
PORTS = ("STORAGE_PORT", "CLIENTS_PORT", "WORKERS_PORT", "ADMIN_PORT")


def programs():
    """The folder with bb_storage, bb_scheduler, bb_worker, bb_runner, rexec and remotetool. Built once, which takes ten minutes."""
    home = CACHE / f"engines-{stamp(*PINS)}"
    if (home / "ready").exists():
        return home
    for tool in ("go", "patch"):
        if not shutil.which(tool):
            raise Skip(f"{tool}, which builds Buildbarn, is not installed")
    with made_once(home) as missing:
        if missing:
            try:
                done = run([ENGINES / "build", home])
            except subprocess.TimeoutExpired:
                raise Skip("Buildbarn was not built in time") from None
            if done.returncode:
                raise Skip(f"Buildbarn could not be built: {last_line(done)}")
    return home


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


class Buildbarn:
    """Four processes on loopback. `home` is made and holds their logs; `address` serves CAS, ActionCache and Execution without TLS
    for every instance name."""

    def __init__(self, home, binaries):
        self.home, self.binaries, self.processes = pathlib.Path(home), pathlib.Path(binaries), {}
        for folder in ("build", "cache"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        self.ports = dict(zip(PORTS, map(str, free_ports(len(PORTS)))))
        self.address = f"127.0.0.1:{self.ports['STORAGE_PORT']}"
        try:
            for name in ("storage", "scheduler", "runner", "worker"):
                self.start(name)
            self.wait()
        except BaseException:
            self.kill()
            raise

    def start(self, name):
        """Starts one of the four; again, after `stop`."""
        with open(self.home / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [self.binaries / f"bb_{name}", ENGINES / f"config/{name}.jsonnet"], stdout=log, stderr=log,
                env={**os.environ, **self.ports, "DIR": str(self.home)})

    def stop(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def wait(self):
        """Until a no-op has run: then all four know each other."""
        end = time.monotonic() + 120
        while True:
            done = self.execute("/bin/true")
            if done.returncode == 0:
                return
            gone = [name for name, process in self.processes.items() if process.poll() is not None]
            if gone or time.monotonic() > end:
                raise RuntimeError(f"Buildbarn does not run (ended: {gone}); logs in {self.home}: {last_line(done)}")
            time.sleep(0.5)

    def execute(self, *command):
        """Runs a command without inputs by rexec."""
        return run([self.binaries / "rexec", "-service_no_security", "-service", self.address, "-platform", PLATFORM, "-exec_root",
                    self.home / "build", "-working_directory", "", "--", *command])

    def kill(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
