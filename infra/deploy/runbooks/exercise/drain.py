#!/usr/bin/env python3
"""Tries out ../drain.md on this machine: SIGTERM while a worker works. usage: drain.py [--bin DIR]"""
import sys
import time

sys.dont_write_bytecode = True
from farm import Failed, expect, main, step, wait_for

LEASE = 200  # seconds after which a silent worker's work would go to another one anyway


def caught(farm, worker):
    """(job, action, attempt) of what this worker compiles just now. A job has two actions, and either worker may get its compile."""
    for _ in range(20):
        job = farm.detached("--no-cache")
        while not farm.ended(job):
            if compiles := farm.running(worker):
                return compiles[0]
    raise Failed(f"{worker} compiles none of twenty jobs")


def ended(farm, worker):
    """When it was asked to end."""
    began = time.monotonic()
    codes = farm.stop(f"kiln-worker@{worker}")
    print(f"  it ended {time.monotonic() - began:.1f} s after SIGTERM")
    expect(codes == [0], f"exit {codes}")
    return began


def action_of(farm, job, action):
    return next(one for one in farm.job(job)["actions"] if one["action"] == action)


def exercise(new):
    farm = new()
    farm.more["kiln-coordinator"] = [f"--lease-seconds={LEASE}"]
    farm.up("w1", "w2")
    step("a worker that is asked to end finishes what it runs")
    job, action, attempt = caught(farm, "w1")
    ended(farm, "w1")
    farm.succeeds(job)
    done = action_of(farm, job, action)
    expect((done["state"], done["worker"], done["attempt"]) == ("done", "w1", attempt), f"w1 did not finish it: {done}")

    step("without the time for it, it hands back, and another one has the work before the lease is over")
    farm.instead["--drain-seconds=840"] = "--drain-seconds=0"
    farm.start("kiln-worker@w1")
    farm.restart("kiln-worker@w2")
    wait_for(lambda: farm.live() >= {"w1", "w2"}, "both have called")
    job, action, attempt = caught(farm, "w2")
    began = ended(farm, "w2")
    wait_for(lambda: action_of(farm, job, action)["worker"] == "w1", "w1 has the work", LEASE - 20)
    print(f"  w1 had the work {time.monotonic() - began:.1f} s after SIGTERM")
    farm.succeeds(job)
    expect(action_of(farm, job, action)["attempt"] > attempt, "it was no other attempt")


if __name__ == "__main__":
    sys.exit(main(exercise))
