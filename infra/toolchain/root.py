"""A root that holds the locked packages and nothing else, and commands in it: no network, no host files, one user, one
name, one set of paths, whoever builds and wherever."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

from lockfile import Package, Refused, Wheel

# Debian's merged /usr: packages ship files below both names.
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
# Where the parts of a build stand inside. Paths would show in a program that records them.
MOUNTS = {"source": "/source", "build": "/build", "cuda": "/cuda", "out": "/out"}
ENVIRONMENT = {"HOME": "/build", "LANG": "C.UTF-8", "PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1",
               "SOURCE_DATE_EPOCH": "0", "TZ": "UTC"}


def make(found, root):
    """Unpacks the packages into root. Maintainer scripts do not run."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for wanted, path in found.items():
        if not isinstance(wanted, Package):
            continue
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(path)], stdout=subprocess.PIPE) as unpacked:
            # Confined: a link that one package brings must not lead another's files out of the root.
            done = subprocess.run(["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--bind", str(root),
                                   str(root), "--", "tar", "-x", "-C", str(root), "--keep-directory-symlink",
                                   "--no-same-owner", "--no-same-permissions"], stdin=unpacked.stdout,
                                  capture_output=True, text=True, check=False)
            unpacked.stdout.close()
        if done.returncode != 0 or unpacked.returncode != 0:
            raise Refused(f"{wanted.text()} cannot be unpacked: {done.stderr.strip()}")
    for name in ("dev", "proc", "tmp", *(place[1:] for place in MOUNTS.values())):
        (root / name).mkdir(exist_ok=True)


def unpack_cuda(found, target):
    """CUDA's compiler parts from the wheels, as bin/ and nvvm/."""
    with tempfile.TemporaryDirectory(dir=target) as work:
        for wanted, path in found.items():
            if isinstance(wanted, Wheel):
                with zipfile.ZipFile(path) as wheel:
                    wheel.extractall(work)
        parts = pathlib.Path(work) / "nvidia/cu13"
        for name in ("bin", "nvvm"):
            if (parts / name).is_dir():
                shutil.move(parts / name, target / name)
    if (target / "bin/ptxas").is_file():
        (target / "bin/ptxas").chmod(0o755)


def run(root, places, command):
    """Runs a command inside; places maps the names of MOUNTS to folders, of which build and out can be written.
    What it printed."""
    bwrap = ["bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--as-pid-1", "--uid", "1000", "--gid",
             "1000", "--hostname", "localhost", "--ro-bind", str(root), "/", "--dev", "/dev", "--proc", "/proc",
             "--tmpfs", "/tmp", "--clearenv"]
    for name, path in places.items():
        bwrap += ["--bind" if name in ("build", "out") else "--ro-bind", str(path), MOUNTS[name]]
    for name, value in ENVIRONMENT.items():
        bwrap += ["--setenv", name, value]
    old = os.umask(0o022)
    try:
        done = subprocess.run([*bwrap, "--chdir", MOUNTS["build"], "--", *command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    except OSError as error:
        raise Refused(f"bubblewrap: {error.strerror}; run infra/setup") from None
    finally:
        os.umask(old)
    if done.returncode != 0:
        raise Refused(f"{command[0]} failed in the locked root:\n{done.stdout[-4000:]}")
    return done.stdout
