"""Where the inputs that a lock names come from: a folder of blobs first, then the package pools. Every byte is checked.

The folder holds files named by the hex of their SHA-256, as `infra/toolchain/build --inputs` fills it and as a farm's
CAS gives them back: package pools drop old versions.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from lockfile import Lock, Package, Refused, ROOT, Source, Wheel

# What kiln-cc and the files beside it are made from.
SOURCE_PATHS = ["CMakeLists.txt", "compiler_core", "infra/cmake", "infra/toolchain", "manifest"]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def blob(folder, digest):
    """The path of a blob whose bytes are right, or None."""
    path = folder / digest.removeprefix("sha256:")
    return path if path.is_file() and "sha256:" + sha256(path) == digest else None


def keep(folder, path):
    """Moves a file into the folder under its digest: (digest, size)."""
    size, digest = path.stat().st_size, sha256(path)
    path.chmod(0o644)
    os.replace(path, folder / digest)
    return f"sha256:{digest}", size


def source_of_checkout(folder):
    """The checkout's tracked files as one archive: sorted, no times, no owners, no compression to differ."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout
    try:
        commit = git("rev-parse", "HEAD").strip()
        names = git("ls-files", "-z", "--", *SOURCE_PATHS).split("\0")[:-1]
        if git("status", "--porcelain", "--", *SOURCE_PATHS):
            print("toolchain: the checkout differs from its commit; the archive in the lock says what was built",
                  file=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refused(f"{ROOT} is no git checkout that can be read ({error}); give a lock that names its source") from None
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name in sorted(names):
                path = ROOT / name
                if path.is_symlink() or not path.is_file():
                    continue
                info = tarfile.TarInfo(name)
                info.size = path.stat().st_size
                info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
                with open(path, "rb") as content:
                    archive.addfile(info, content)
    digest, size = keep(folder, pathlib.Path(file.name))
    return Source(commit, digest, size)


def from_pool(wanted, folder):
    """Tries to put one input into the folder; what was printed in vain is returned."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        work = pathlib.Path(work)
        if isinstance(wanted, Package):
            command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", f"{wanted.name}={wanted.version}"]
        else:
            pin = work / "pin.txt"
            pin.write_text(f"{wanted.name}=={wanted.version} --hash={wanted.digest}\n")
            platforms = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux2010_x86_64", "manylinux_2_12_x86_64")
            command = ["/usr/bin/python3", "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                       "--require-hashes", "--only-binary=:all:", *(f"--platform={name}" for name in platforms), "-r", str(pin)]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        for path in [*work.glob("*.deb"), *work.glob("*.whl")]:
            keep(folder, path)
        return done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]


def gather(lock, folder):
    """Every input of the lock as a blob in the folder: {input: path}."""
    folder.mkdir(parents=True, exist_ok=True)
    found, lacking = {}, []
    for wanted in lock.inputs:
        path = blob(folder, wanted.digest)
        reason = "it is not among the inputs"
        if path is None and not isinstance(wanted, Source):
            reason = from_pool(wanted, folder)[0]
            path = blob(folder, wanted.digest)
        if path is None:
            lacking.append(f"{wanted.text()} ({wanted.digest}): {reason}")
        else:
            found[wanted] = path
    if lacking:
        raise Refused("not rebuildable from source; these inputs are neither in "
                      f"{folder} nor to be had:\n  " + "\n  ".join(lacking) +
                      "\nA tree that was built from them still runs. With `kiln toolchain lock LABEL --inputs DIR` a farm "
                      "gives back the inputs that it keeps.")
    return found


def measured(lock, found):
    """The lock with the size of every wheel, and what was found under the names that it has then."""
    wheels = [Wheel(wheel.name, wheel.version, wheel.digest, found[wheel].stat().st_size) for wheel in lock.wheels]
    paths = {**found, **{new: found[old] for old, new in zip(lock.wheels, wheels)}}
    lock = Lock(lock.packages, wheels, lock.source)
    return lock, {wanted: paths[wanted] for wanted in lock.inputs}


def unpack_source(path, target):
    with tarfile.open(path) as archive:
        for member in archive:
            name = pathlib.PurePosixPath(member.name)
            if not member.isreg() or name.is_absolute() or ".." in name.parts:
                raise Refused(f"the source archive holds {member.name!r}, which is no plain file below it")
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(place, "xb") as file:
                shutil.copyfileobj(archive.extractfile(member), file)
            place.chmod(0o755 if member.mode & 0o100 else 0o644)
