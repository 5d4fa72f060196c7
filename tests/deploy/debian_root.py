"""An empty Debian with systemd as its first process, for tests that install packages into it.

The root is made once by debootstrap, which wants the network, and kept in Kiln's cache; each test boots a layer of its own above it, with
a network of its own and nothing of this machine but the folders that it is given. Wants root, systemd-nspawn and overlayfs.
"""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

TOOLS = ("debootstrap", "systemd-nspawn", "nsenter", "mount", "dpkg-deb")
SUITE = "bookworm"
BASE = ("systemd-sysv", "dbus", "ca-certificates")
PATIENCE = 120  # seconds; limits for hangs


class Unavailable(Exception):
    """This machine cannot run such a root; says what is missing."""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1500, **more)


def must(*command, **more):
    done = run(*command, **more)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, command))}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done


def prepared(packages):
    """A root that has `packages` of Debian and what they depend on."""
    if os.geteuid() != 0:
        raise Unavailable("it takes root")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise Unavailable(f"{', '.join(missing)} not installed")
    cache = pathlib.Path(os.environ.get("KILN_CACHE") or
                         os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kiln"))
    name = hashlib.sha256(repr((SUITE, BASE, sorted(packages))).encode()).hexdigest()[:12]
    root = cache / f"debian-root-{name}"
    if root.exists():
        return root
    cache.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix="debian-root-new-", dir=cache))
    try:
        made.chmod(0o755)
        must("debootstrap", "--variant=minbase", f"--include={','.join(BASE)}", SUITE, made)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        # Nothing is started while packages are unpacked.
        (made / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (made / "usr/sbin/policy-rc.d").chmod(0o755)
        for command in (("update",), ("install", "-y", "--no-install-recommends", *packages), ("clean",)):
            must("systemd-nspawn", "-q", "--register=no", "--keep-unit", "--resolv-conf=copy-host", "-D", made,
                 "--setenv=DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", *command, env=quiet)
        (made / "usr/sbin/policy-rc.d").unlink()
        made.rename(root)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return root


class Machine:
    """A booted layer above a root. `folders`: {place inside: folder here}, read-only there. Not thread safe."""

    def __init__(self, root, folders):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-debian-"))
        self.process = self.leader = None
        self.folders = folders
        for name in ("upper", "work", "root"):
            (self.home / name).mkdir(mode=0o755)
        try:
            must("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={root},upperdir={self.home}/upper,workdir={self.home}/work",
                 self.home / "root")
            self.boot()
        except BaseException:
            self.close()
            raise

    def boot(self):
        # bubblewrap makes a /proc for an action, which the kernel allows only where nothing is mounted over this one's.
        writable = {**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes"}
        binds = [f"--bind-ro={here}:{there}" for there, here in self.folders.items()]
        self.log = open(self.home / "boot.log", "ab")
        self.process = subprocess.Popen(["systemd-nspawn", "-q", "--boot", "--register=no", "--keep-unit", "--private-network",
                                         "-M", "kiln", "-D", self.home / "root", *binds],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=writable)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            children = run("ps", "-o", "pid=", "--ppid", self.process.pid).stdout.split()
            self.leader = children[0] if children else None
            if self.leader and self("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"):
                return
            time.sleep(0.5)
        raise Unavailable(f"systemd did not come up: {(self.home / 'boot.log').read_text(errors='replace')[-1500:]}")

    def __call__(self, *command, environment=()):
        """Runs a command inside, as root, with a plain environment."""
        plain = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *environment]
        return run("nsenter", "-t", self.leader, "-a", "env", "-i", "-C", "/", *plain, *command)

    def shell(self, script, environment=()):
        return self("sh", "-euc", script, environment=environment)

    def stop(self):
        if self.process:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)  # which asks for a shutdown
                try:
                    self.process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            self.log.close()
            self.process = self.leader = None

    def close(self):
        self.stop()
        run("umount", self.home / "root")
        shutil.rmtree(self.home, ignore_errors=True)
