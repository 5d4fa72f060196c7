#!/usr/bin/env python3
"""Whether a farm's workers have all reported since they, and the coordinator, were started.

usage: kiln workers --json | reported.py D COUNT     (D/run as the supervisor keeps it)
Exits 1 and says what is missing, for worker-1 to worker-COUNT.
"""
import datetime
import json
import pathlib
import sys


def main(state, count):
    farm = pathlib.Path(state)
    try:
        known = {worker["name"]: worker for worker in json.load(sys.stdin)["workers"]}
    except (ValueError, KeyError):
        return ["the coordinator does not answer"]
    missing = []
    for name in (f"worker-{n}" for n in range(1, int(count) + 1)):
        started = max((farm / "run" / f"{each}.pid").stat().st_mtime for each in (name, "coordinator"))
        worker = known.get(name)
        if worker is None or worker["state"] == "lost":
            missing.append(f"{name} has not reported")
        elif datetime.datetime.fromisoformat(worker["lastContact"].replace("Z", "+00:00")).timestamp() < int(started):
            missing.append(f"{name} has not reported since the start")
        elif not worker["targets"] or not worker["devices"]:
            missing.append(f"{name} has not said what it is")
    return missing


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    missing = main(*sys.argv[1:])
    if missing:
        print("; ".join(missing))
        sys.exit(1)
