#!/usr/bin/env python3
"""A pair of PostgreSQL servers on loopback, of which Patroni makes one the primary and the other a synchronous standby. For tests.

usage: patroni.py up DIR | conninfo DIR | primary DIR | kill DIR | start DIR | down DIR
  up        makes the pair with an empty database "kiln", waits until the standby is synchronous, prints libpq's conninfo
  conninfo  the same words once more
  primary   the name of the server that takes writes: p1 or p2
  kill      ends the primary at once (SIGKILL), Patroni and PostgreSQL; prints its name
  start     starts again what of the pair does not run
  down      ends all of it; what lies in DIR stays
Needs Debian's patroni and etcd-server (up installs them as root). Without them it exits with 77 and says so.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

NAMES = ("p1", "p2")
TTL = 20  # seconds without word from the primary, after which the standby may take over
PACKAGES = ("patroni", "etcd-server")
USER = "postgres"


class Missing(Exception):
    """What this machine lacks."""


def programs():
    """Of Debian's packages, which are installed where that is allowed."""
    def found():
        return shutil.which("patroni") and shutil.which("etcd", path=os.environ["PATH"] + ":/usr/sbin")
    if not found() and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES], capture_output=True,
                       env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    if not found():
        raise Missing(f"Debian's packages {' and '.join(PACKAGES)} are not installed")
    servers = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not servers:
        raise Missing("PostgreSQL is not installed; run infra/setup")
    return servers[-1].parent


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def answer(port, path):
    """What Patroni says, whatever the status of its answer; None if it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as response:
            return json.load(response)
    except OSError:
        return None


def wait(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.3)
    raise SystemExit(f"patroni: not within {seconds} s: {what}")


class Pair:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory).absolute()
        kept = self.dir / "ports.json"
        if not kept.exists():
            self.dir.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(dict(zip(("etcd", "peer", "p1", "p2", "rest-p1", "rest-p2"), free_ports(6)))))
        self.ports = json.loads(kept.read_text())

    def conninfo(self, database="kiln"):
        return (f"host=127.0.0.1,127.0.0.1 port={self.ports['p1']},{self.ports['p2']} dbname={database} user={USER} "
                "target_session_attrs=read-write")

    def sql(self, text, database="kiln"):
        return subprocess.run(["psql", self.conninfo(database), "-v", "ON_ERROR_STOP=1", "-Atc", text], capture_output=True, text=True)

    def launch(self, name, command):
        """In the background, as the user who may run PostgreSQL."""
        who = {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}
        with open(self.dir / f"{name}.log", "ab") as log:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/", **who)
        (self.dir / f"{name}.pid").write_text(str(started.pid))

    def pid(self, name):
        """Of a process that was launched and runs; None otherwise."""
        try:
            pid = int((self.dir / f"{name}.pid").read_text())
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, ValueError):
            return None
        return None if state in "ZX" else pid

    def postmaster(self, name):
        try:
            return int((self.dir / name / "data/postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return None

    def write(self, name, binaries):
        port, rest = self.ports[name], self.ports[f"rest-{name}"]
        loopback = [f"host {what} all 127.0.0.1/32 trust" for what in ("all", "replication")]
        config = {
            "scope": "kiln", "name": name,
            "restapi": {"listen": f"127.0.0.1:{rest}", "connect_address": f"127.0.0.1:{rest}"},
            "etcd3": {"hosts": [f"127.0.0.1:{self.ports['etcd']}"]},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": 2, "retry_timeout": 5, "synchronous_mode": True,
                        "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200, "wal_log_hints": "on"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"]},
            "postgresql": {
                "listen": f"127.0.0.1:{port}", "connect_address": f"127.0.0.1:{port}", "data_dir": str(self.dir / name / "data"),
                "bin_dir": str(binaries), "pgpass": str(self.dir / name / "pgpass"), "pg_hba": loopback,
                "authentication": {role: {"username": USER} for role in ("superuser", "replication", "rewind")},
                "parameters": {"unix_socket_directories": str(self.dir / name)}}}
        (self.dir / name).mkdir(exist_ok=True)
        (self.dir / f"{name}.yml").write_text(json.dumps(config, indent=1))  # JSON is YAML

    def start(self):
        """Whatever of it does not run."""
        binaries = programs()
        for name in NAMES:
            self.write(name, binaries)
        (self.dir / "etcd").mkdir(exist_ok=True)
        if os.geteuid() == 0:
            for place in (self.dir, *(self.dir / name for name in (*NAMES, "etcd"))):
                shutil.chown(place, USER, USER)
        if self.pid("etcd") is None:
            client, peer = (f"http://127.0.0.1:{self.ports[which]}" for which in ("etcd", "peer"))
            self.launch("etcd", [shutil.which("etcd", path=os.environ["PATH"] + ":/usr/sbin"), "--data-dir", str(self.dir / "etcd"),
                                 "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"])
        for name in NAMES:
            if self.pid(name) is None:
                self.launch(name, [shutil.which("patroni"), str(self.dir / f"{name}.yml")])

    def members(self):
        """{name: role}, as whoever answers says."""
        for name in NAMES:
            said = answer(self.ports[f"rest-{name}"], "/cluster")
            if said:
                return {member["name"]: member["role"] for member in said["members"] if member.get("state") in ("running", "streaming")}
        return {}

    def primary(self):
        """The one that takes writes, by its own word; None if there is none."""
        return next((name for name in NAMES if (answer(self.ports[f"rest-{name}"], "/primary") or {}).get("role") in ("master", "primary")), None)

    def wait_for_standby(self, seconds=180):
        wait(lambda: "sync_standby" in self.members().values(), seconds, f"a synchronous standby; see {self.dir}/p1.log and p2.log")

    def up(self):
        self.start()
        wait(self.primary, 180, f"a primary; see {self.dir}/p1.log and p2.log")
        self.wait_for_standby()
        if self.sql("SELECT 1").returncode != 0:
            made = self.sql("CREATE DATABASE kiln", "postgres")
            if made.returncode != 0:
                raise SystemExit(f"patroni: {made.stderr}")

    def kill(self):
        name = wait(self.primary, 60, "a primary")
        for pid in (self.pid(name), self.postmaster(name)):
            if pid:
                os.kill(pid, signal.SIGKILL)
        return name

    def down(self):
        for name in (*NAMES, "etcd"):
            pid = self.pid(name)
            if pid is None:
                continue
            os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + 60
            while self.pid(name) == pid and time.monotonic() < end:
                time.sleep(0.1)
        for name in NAMES:  # of one whose Patroni was killed
            pid = self.postmaster(name)
            if pid and pathlib.Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGQUIT)


def main(command, directory):
    pair = Pair(directory)
    if command == "up":
        pair.up()
    elif command == "start":
        pair.start()
    elif command == "kill":
        print(pair.kill())
    elif command == "primary":
        print(pair.primary() or "none")
    elif command == "down":
        pair.down()
    if command in ("up", "conninfo"):
        print(pair.conninfo())


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("up", "conninfo", "primary", "kill", "start", "down"):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except Missing as lacking:
        print(f"patroni: {lacking}", file=sys.stderr)
        sys.exit(77)
