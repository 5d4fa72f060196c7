"""What has been seen of which commit: one JSON object a line, appended under a lock.

Each line has commit, piece, result (passed, failed or skipped), seconds, at (UTC, RFC 3339) and, of a skipped or failed
piece, the last lines of its output as `why`. Ledgers of several machines are joined with `cat`.
"""
import dataclasses
import datetime
import fcntl
import json
import os
import pathlib

RESULTS = ("passed", "failed", "skipped")


@dataclasses.dataclass(frozen=True)
class Entry:
    commit: str
    piece: str
    result: str
    seconds: int
    at: str
    why: str = ""


def default_path():
    """Shared by the checkouts of one user, like the other things that KILN_CACHE keeps."""
    cache = os.environ.get("KILN_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "kiln")
    return pathlib.Path(cache, "pieces.jsonl")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Ledger:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self):
        """[Entry] in the order of writing. A line that was cut off by a kill is passed over, everything else that is no
        entry raises ValueError with its place."""
        if not self.path.exists():
            return []
        out, lines = [], self.path.read_text().split("\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                entry = Entry(**json.loads(line))
                if entry.result not in RESULTS:
                    raise ValueError(f"result {entry.result!r}")
            except (ValueError, TypeError) as error:
                raise ValueError(f"{self.path}:{number} is no entry of a ledger ({error}); correct or remove the line") from error
            out.append(entry)
        return out

    def append(self, entry):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":  # a write that was cut off: what follows it must not be lost with it
                    file.truncate(file_end(file, size))
            file.write(json.dumps(dataclasses.asdict(entry)).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def file_end(file, size):
    """Where the last whole line of `file` ends."""
    file.seek(0)
    return file.read(size).rfind(b"\n") + 1


def latest(entries, commit):
    """{piece: Entry}: the newest of `commit`."""
    return {entry.piece: entry for entry in entries if entry.commit == commit}


def durations(entries):
    """{piece: seconds}: the newest that passed, of any commit."""
    return {entry.piece: entry.seconds for entry in entries if entry.result == "passed"}
