"""What of this Debian goes into an image: files of packages and the shared libraries that programs load."""
import functools
import hashlib
import os
import pathlib
import re
import subprocess


# Program -> what it loads by itself once it needs it (storage/late_curl).
LATE = {"kiln": ["libcurl.so.4"]}


class Missing(Exception):
    """Something that an image needs and this machine lacks; says the next step."""


def said(*command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        raise Missing(f"{' '.join(command[:2])}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@functools.lru_cache(maxsize=None)
def libraries(program):
    """Path in the image -> path here, of what the loader maps for a program, and of the loader."""
    found = {}
    for line in said("ldd", str(program)).splitlines():
        if "not found" in line:
            raise Missing(f"{program}: {line.strip()}; run infra/setup")
        named = re.search(r"=> (/\S+)|^\s*(/\S+ld-linux\S+)", line)
        if named:
            path = named.group(1) or named.group(2)
            # /lib and /lib64 are links into /usr.
            found["usr" + path if path.startswith("/lib") else path[1:]] = os.path.realpath(path)
    for name in LATE.get(pathlib.Path(program).name, []):
        known = re.search(rf"^\s*{re.escape(name)} .*=> (/\S+)$", said("/sbin/ldconfig", "-p"), re.M)
        if not known:
            raise Missing(f"{name} is not there; run infra/setup")
        path = pathlib.Path(known.group(1))
        found["usr" + str(path) if str(path).startswith("/lib") else str(path)[1:]] = os.path.realpath(path)
        found.update(libraries(path))
    return found


@functools.lru_cache(maxsize=None)
def owners():
    """File -> package, of all that are installed: dpkg's own lists, which asking dpkg reads anew for each file."""
    out = {}
    for listed in sorted(pathlib.Path("/var/lib/dpkg/info").glob("*.list")):
        for path in listed.read_text().splitlines():
            out[path] = listed.stem.split(":")[0]
    return out


def owner(path):
    """The package that a file belongs to; Debian's database may know it by its place before /usr was merged."""
    name = owners().get(path) or owners().get(path.removeprefix("/usr"))
    if name is None:
        raise Missing(f"{path} belongs to no Debian package, so that nobody could tell its version; install the package's own")
    return name


@functools.lru_cache(maxsize=None)
def records():
    """Package -> its entry for scanners, as in Debian's status file, of all that are installed for this architecture."""
    shown = ("Package: ${Package}\nStatus: install ok installed\nArchitecture: ${Architecture}\nSource: ${source:Package} "
             "(${source:Version})\nVersion: ${Version}\nMaintainer: ${Maintainer}\nDescription: ${binary:Summary}\n")
    native = said("dpkg", "--print-architecture").strip()
    out = {}
    for text in said("dpkg-query", "-W", "-f", shown + "\f").split("\f"):
        kept = re.match(r"Package: (\S+)\n.*\nArchitecture: (\S+)\n", text)
        if kept and kept.group(2) in (native, "all"):
            out[kept.group(1)] = text
    return out


class Packages:
    """The packages that an image's files come from."""

    def __init__(self, begun=None):
        self.names, self.files = (set(begun.names), dict(begun.files)) if begun else (set(), {})

    def read(self, path):
        """A file of a package."""
        real = os.path.realpath(path)
        if not os.path.isfile(real):
            raise Missing(f"{path} is not there; run infra/setup")
        return self.made_by(owner(real), real)

    def made_by(self, package, path):
        """A file that a package makes when it is installed, and so does not list."""
        self.names.add(package)
        content = pathlib.Path(path).read_bytes()
        self.files[path] = hashlib.sha256(content).hexdigest()
        return content

    def records(self):
        """Name -> its entry for scanners."""
        return {name: records()[name] for name in sorted(self.names)}

    def copyrights(self):
        """Path in the image -> text, of each package's licences."""
        paths = [pathlib.Path(f"/usr/share/doc/{name}/copyright") for name in sorted(self.names)]
        return {str(path)[1:]: path.read_bytes() for path in paths if path.exists()}

    def lock(self):
        versions = {name: re.search(r"^Version: (.*)$", text, re.M).group(1) for name, text in self.records().items()}
        return {"packages": versions, "files": dict(sorted(self.files.items()))}
