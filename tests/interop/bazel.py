"""Debian's Bazel for tests, in folders of its own and without a network: its builds need nothing that is downloaded."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from fetched import Skip

# Debian's netty does TLS for HTTP/2 by this library alone, which it finds under another name than the package gives it.
TLS_LIBRARY = pathlib.Path("/usr/lib/x86_64-linux-gnu/jni/libnetty-tcnative.so")


def install(package):
    if os.geteuid() != 0 or subprocess.run(["apt-get", "install", "-y", "-qq", package], capture_output=True).returncode:
        raise Skip(f"Debian's {package} cannot be installed")


def want_bazel(tls=False):
    if not shutil.which("bazel"):
        install("bazel-bootstrap")
    if tls and not TLS_LIBRARY.exists():
        install("libnetty-tcnative-jni")


class Bazel:
    """One workspace, `project`, below `home`: of `source`, a folder, or empty. `tls`: it can call grpcs://."""

    def __init__(self, source=None, tls=False):
        # It takes no path with a space, which a farm of tests has.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-bazel-"))
        self.project = self.home / "project"
        if source:
            shutil.copytree(source, self.project)
        else:
            self.project.mkdir()
        self.startup = [f"--output_user_root={self.home}/bazel"]
        if tls:
            (self.home / "jni").mkdir()
            shutil.copy(TLS_LIBRARY, self.home / "jni/libnetty_tcnative.so")
            self.startup.append(f"--host_jvm_args=-Djava.library.path={self.home}/jni")

    def run(self, *words):
        return subprocess.run(["bazel", *self.startup, *map(str, words)], capture_output=True, text=True, timeout=1200,
                              cwd=self.project)

    def build(self, target, *options):
        """What it says of a build that succeeds."""
        done = self.run("build", target, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def clean(self):
        done = self.run("clean")
        assert done.returncode == 0, done.stdout + done.stderr

    def close(self):
        self.run("shutdown")
        # What it has put away may not be written.
        subprocess.run(["chmod", "-R", "u+w", self.home], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)
