#!/usr/bin/env python3
"""Keeps the processes of a farm on one machine running. Standard library only; infra/up uses it.

usage: supervisor.py list D | run D | start D | stop D | reload D | status D
  list    writes D/run/services.json: from standard input, each of name, words of the command and an empty word, ended by NULs;
          {database} stands for PostgreSQL's conninfo, {FILE.port} for the port in D/FILE.port (ports.py); KILN_* go along
  run     stays: starts what D/run/services.json lists, in order, after PostgreSQL, and starts again what ends
  start   has `run` go on in the background unless it does, under systemd's user manager where there is one
  reload  has it read services.json again and start at once whatever does not run, also what it had given up; waits for that
  stop    ends all of it, in the opposite order
  status  prints a line per process; exits 3 if nothing supervises D
What ends is started again after a pause that doubles from half a second to half a minute, and starts anew with whoever ran
for a minute. What was started ten times within ten minutes is given up. D/run/state.json has the state of each for
`kiln doctor`, D/run/NAME.pid who it is: the pid and when it was started, in clock ticks.
"""
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import ports

SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FIRST_PAUSE, LONGEST_PAUSE, STEADY = 0.5, 30.0, 60.0  # seconds
MOST_STARTS, WITHIN = 10, 600.0
STOP_TIMEOUT = 15.0  # for one that was asked to end
PORT = re.compile(r"\{([a-z0-9/-]+\.port)\}")
EDITION = 2  # of what services.json may say; 1 knew no port but that of http.port
clock = time.monotonic  # of pauses: nobody sets it


def started_at(pid):
    """When a process was started, in clock ticks; None if there is none or only its zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def write_whole(path, text):
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError as error:  # a write does not name its file
        raise OSError(error.errno, error.strerror, str(path)) from None


def surroundings():
    """The environment without libpq's variables, which are about other servers than the farm's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def say(what):
    """For the log, which may be full itself."""
    try:
        print(f"supervisor: {what}", file=sys.stderr, flush=True)
    except OSError:
        pass


class Service:
    """One process: ours, or one that an earlier supervisor left running."""

    def __init__(self, name, farm):
        self.name, self.farm = name, farm
        self.child = self.pid = self.born = None
        self.state, self.since, self.ended, self.starts, self.restarts = "stopped", time.time(), "", [], 0
        self.began, self.failures, self.next, self.noted = clock(), 0, 0.0, True
        self.file = farm / "run" / f"{name}.pid"
        try:
            pid, born = self.file.read_text().split()
        except (OSError, ValueError):
            return
        if started_at(pid) == born:
            self.pid, self.born, self.state = int(pid), born, "running"

    def start(self, command, environment):
        try:
            with open(self.farm / "logs" / f"{self.name}.log", "ab", 0, opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
                try:
                    self.child = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment,
                        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS))
                except OSError as error:
                    log.write(f"supervisor: {command[0]}: {error}\n".encode())
                    raise
        except OSError as error:
            return self.lost(str(error))
        self.pid, self.born = self.child.pid, started_at(self.child.pid)
        self.state, self.since, self.began = "running", time.time(), clock()
        self.restarts += self.ended != ""
        self.note()

    def note(self):
        """Who it is, for the next supervisor; again with each look while that cannot be written."""
        try:
            write_whole(self.file, f"{self.pid} {self.born}\n")
            self.noted = True
        except OSError as error:
            if self.noted:
                say(error)
            self.noted = False

    def look(self):
        """Notices an end; True if the state changed."""
        if self.state != "running":
            return False
        if not self.noted:
            self.note()
        if self.child is not None:
            code = self.child.poll()
            if code is None:
                return False
            self.lost(f"killed by signal {-code}" if code < 0 else f"exit code {code}")
        elif started_at(self.pid) == self.born:
            return False
        else:
            self.lost("ended")
        return True

    def lost(self, how):
        now = clock()
        self.failures = 1 if now - self.began >= STEADY else self.failures + 1
        self.ended, self.child, self.pid = how, None, None
        self.starts = [at for at in self.starts if now - at < WITHIN]
        self.state = "failed" if len(self.starts) >= MOST_STARTS else "waiting"
        self.since, self.next = time.time(), now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self.failures - 1))

    def forgive(self):
        self.failures, self.next, self.starts = 0, 0.0, []

    def stop(self):
        if self.state == "running":
            self.signal(signal.SIGTERM)
            end = time.monotonic() + STOP_TIMEOUT
            while not self.look() and time.monotonic() < end:
                time.sleep(0.05)
            if self.state == "running":
                say(f"{self.name} did not end by itself")
                self.signal(signal.SIGKILL)
                while not self.look():
                    time.sleep(0.05)
        self.state, self.pid = "stopped", None
        self.file.unlink(missing_ok=True)

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def described(self):
        return {"name": self.name, "state": self.state, "pid": self.pid, "since": int(self.since),
                "restarts": self.restarts, "ended": self.ended}


class Database:
    """PostgreSQL, which infra/postgres starts and stops; what somebody stopped by hand stays so."""

    def __init__(self, command):
        self.tool, self.dir = command[0], pathlib.Path(command[1])
        self.conninfo, self.failures, self.next = "", 0, 0.0

    def running(self):
        try:
            pid = int((self.dir / "data/postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return False
        return started_at(pid) is not None

    def want(self):
        (self.dir / "stopped").unlink(missing_ok=True)
        self.next = 0.0

    def keep(self, now):
        """True once it runs and may be connected to."""
        if self.conninfo and (self.running() or (self.dir / "stopped").exists()):
            return True
        if now < self.next:
            return bool(self.conninfo)
        # The server it leaves behind has the signals that it should have.
        done = subprocess.run([self.tool, "start", str(self.dir)], capture_output=True, text=True, start_new_session=True,
                              preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS))
        if done.returncode == 0:
            self.conninfo, self.failures = done.stdout.splitlines()[-1], 0
            return True
        self.failures += 1
        self.next = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** self.failures)
        say(f"PostgreSQL: {done.stderr.strip()}")
        return bool(self.conninfo)

    def stop(self):
        subprocess.run([self.tool, "stop", str(self.dir)], check=False)


class Elsewhere:
    """PostgreSQL that others run; what is to use it waits for it by itself."""

    def __init__(self, conninfo):
        self.conninfo = conninfo

    def want(self):
        pass

    def keep(self, now):
        return True

    def stop(self):
        pass


class Supervisor:
    def __init__(self, farm):
        self.farm, self.services, self.listed, self.reloads, self.written, self.unwritten = farm, {}, [], 0, None, ""
        self.database = None

    def read(self):
        listed = json.loads((self.farm / "run/services.json").read_text())
        for directory in listed["directories"]:  # below /tmp, which a reboot empties
            os.makedirs(directory, mode=0o700, exist_ok=True)
        self.listed = listed["services"]
        named = self.farm / "keys/database"
        if named.exists():
            self.database = Elsewhere(named.read_text().strip())
        else:
            self.database = self.database or Database(listed["postgres"])
        self.database.want()
        names = [entry["name"] for entry in self.listed]
        left = {file.stem for file in (self.farm / "run").glob("*.pid")} - {"supervisor"}  # by an earlier supervisor
        for name in left.union(names) - self.services.keys():
            self.services[name] = Service(name, self.farm)
        for name in self.services.keys() - set(names):
            self.services.pop(name).stop()
        for service in self.services.values():
            service.look()
            service.forgive()

    def keep(self):
        now = clock()
        ready = self.database.keep(now)
        for entry in self.listed:
            service = self.services[entry["name"]]
            service.look()
            given_up = service.state == "failed" and service.starts
            if service.state == "running" or given_up or not ready or now < service.next:
                continue
            service.starts.append(now)
            try:
                command = [self.filled(word) for word in entry["command"]]
            except OSError as error:  # a full disk has no room for the port
                service.lost(str(error))
                continue
            service.start(command, surroundings() | entry["environment"])

    def filled(self, word):
        word = PORT.sub(lambda found: str(ports.kept(self.farm / found.group(1))), word)
        return word.replace("{database}", self.database.conninfo)

    def write(self):
        state = {"supervisor": {"pid": os.getpid(), "born": started_at(os.getpid()), "reloads": self.reloads, "edition": EDITION},
                 "processes": [self.services[entry["name"]].described() for entry in self.listed]}
        if state == self.written:
            return
        try:
            write_whole(self.farm / "run/state.json", json.dumps(state, indent=1) + "\n")
            self.written, self.unwritten = state, ""
        except OSError as error:  # the farm goes on; it is written once there is room
            if str(error) != self.unwritten:
                say(error)
            self.unwritten = str(error)

    def run(self):
        self.read()
        while True:
            self.keep()
            self.write()
            came = signal.sigtimedwait(SIGNALS, 0.5)
            if came is None or came.si_signo == signal.SIGCHLD:
                continue
            if came.si_signo != signal.SIGHUP:
                break
            self.read()
            self.keep()
            self.reloads += 1
        for entry in reversed(self.listed):
            self.services[entry["name"]].stop()
        self.database.stop()
        self.write()


def list_services(farm):
    words, services = os.fsdecode(sys.stdin.buffer.read()).split("\0")[:-1], []
    environment = {name: value for name, value in os.environ.items() if name.startswith("KILN_")}
    while words:
        end = words.index("")
        services.append({"name": words[0], "command": words[1:end], "environment": environment})
        words = words[end + 1:]
    sockets = pathlib.Path(services[0]["command"][services[0]["command"].index("--listen") + 1].removeprefix("unix:")).parent
    postgres = pathlib.Path(__file__).absolute().parents[1] / "postgres"
    listed = {"directories": [str(sockets)], "postgres": [str(postgres), str(farm / "pg")], "services": services}
    write_whole(farm / "run/services.json", json.dumps(listed, indent=1) + "\n")


def run(farm):
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    lock = open(farm / "run/supervisor.lock", "a")  # held until the process ends, and by none that it starts
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"supervisor: {farm} is supervised already")
    write_whole(farm / "run/supervisor.pid", f"{os.getpid()} {started_at(os.getpid())}\n")
    Supervisor(farm).run()


def supervisor_of(farm):
    """The pid of who supervises it, or None."""
    try:
        pid, born = (farm / "run/supervisor.pid").read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if started_at(pid) == born else None


def state_of(farm):
    try:
        return json.loads((farm / "run/state.json").read_text())
    except (OSError, ValueError):
        return None


def wait(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"supervisor: {what} after {seconds} s")
        time.sleep(0.05)


def current(farm, reloads=0):
    """Whether the one that runs has written its state, and read services.json again so often."""
    state, pid = state_of(farm), supervisor_of(farm)
    return bool(state and pid and state["supervisor"]["pid"] == pid and state["supervisor"]["reloads"] >= reloads
                and all(process["state"] != "stopped" for process in state["processes"]))


def start(farm):
    if supervisor_of(farm) is None:
        import units
        if units.available():
            units.start(farm)
        else:
            with open(farm / "logs/supervisor.log", "a") as log:
                subprocess.Popen([sys.executable, __file__, "run", str(farm)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True, cwd="/")
    wait(lambda: current(farm), 120, f"no supervisor runs; see {farm}/logs/supervisor.log")


def reload(farm):
    pid = supervisor_of(farm)
    if pid is None:
        return start(farm)
    known = (state_of(farm) or {"supervisor": {"reloads": 0, "edition": EDITION}})["supervisor"]
    if known.get("edition", 1) < EDITION:  # one of an earlier release would start processes with words that it does not fill in
        stop(farm)
        return start(farm)
    before = known["reloads"]
    os.kill(pid, signal.SIGHUP)
    wait(lambda: current(farm, before + 1), 120, "it has not read services.json again")


def stop(farm):
    pid = supervisor_of(farm)
    if pid is None:  # it was killed: what it left still is to end
        leave = Supervisor(farm)
        if (farm / "run/services.json").exists():
            leave.read()
            for entry in reversed(leave.listed):
                leave.services[entry["name"]].stop()
            leave.database.stop()
        return
    import units
    if units.owns(farm):
        units.stop(farm)
    else:
        os.kill(pid, signal.SIGTERM)
    wait(lambda: supervisor_of(farm) is None, 180, "it has not ended")


def status(farm):
    state = state_of(farm)
    if state is None or supervisor_of(farm) is None:
        sys.exit(3)
    for process in state["processes"]:
        print(process["name"], process["state"], process["pid"] or "-", process["restarts"], process["ended"] or "-", sep="\t")


COMMANDS = {"list": list_services, "run": run, "start": start, "stop": stop, "reload": reload, "status": status}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.dont_write_bytecode = True
    try:
        COMMANDS[sys.argv[1]](pathlib.Path(sys.argv[2]).absolute())
    except OSError as refused:
        sys.exit(f"supervisor: {refused}")
