"""Load for tests that end a farm's processes: builds in the background, whoever they were acknowledged by, and how long calls take."""
import random
import subprocess
import threading
import time

from farm import TARGET, artifact_of, json_of, wait_for
from tiny_onnx import model, node, value_info


def tiny(directory, number):
    """A network of its own for each number, which compiles in a moment."""
    dims = [1, 1 + number]
    path = directory / f"relu-{number}.onnx"
    path.write_bytes(model([node("Relu", ["x"], ["y"], "r")], [value_info("x", dims)], [value_info("y", dims)]))
    return path


class Load:
    """Builds networks one after the other on `threads` threads until stop(): every second one detached, and watched then. Each
    command has the farm's coordinators in an order of its own."""

    def __init__(self, farm, threads=3, seed=0):
        self.farm, self.random = farm, random.Random(seed)
        self.acknowledged, self.artifacts, self.failures, self.calls = {}, {}, [], []
        self.next, self.stopping, self.lock = 0, threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.build_for_ever) for _ in range(threads)]
        self.threads.append(threading.Thread(target=self.probe_for_ever))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            if thread.is_alive():
                thread.join()

    def environment(self):
        endpoints = self.farm.env["KILN_ENDPOINT"].split(",")
        with self.lock:
            self.random.shuffle(endpoints)
        return self.farm.env | {"KILN_ENDPOINT": ",".join(endpoints), "KILN_WAIT": "3m"}

    def kiln(self, *arguments):
        result = self.farm.kiln(*arguments, env=self.environment(), timeout=400)
        if result.returncode != 0:
            self.failures.append(f"kiln {' '.join(map(str, arguments))}: exit {result.returncode}\n{result.stderr[-1500:]}")
        return result

    def build_for_ever(self):
        while not self.stopping.is_set():
            with self.lock:
                number, self.next = self.next, self.next + 1
            path = tiny(self.farm.home, number)
            if number % 2:
                built = self.kiln("build", path, "--target", TARGET)
                if built.returncode == 0:
                    self.artifacts[number] = artifact_of(built)
                continue
            given = self.kiln("build", path, "--target", TARGET, "--detach", "--json")
            if given.returncode == 0:
                job = json_of(given)["job"]
                self.acknowledged[job] = number
                self.kiln("watch", job)

    def probe_for_ever(self):
        """How long a call takes that waits for whoever is there."""
        while not self.stopping.wait(0.2):
            began = time.monotonic()
            self.kiln("jobs", "--limit", "1")
            self.calls.append(time.monotonic() - began)

    def gap(self):
        """(median, 99 of 100, longest) of the calls, in seconds."""
        calls = sorted(self.calls) or [0.0]
        return calls[len(calls) // 2], calls[min(len(calls) - 1, len(calls) * 99 // 100)], calls[-1]

    def check(self, case):
        """After stop(): every command succeeded, nothing that was acknowledged is lost, and the farm's audit is clean."""
        case.assertEqual(self.failures, [])
        case.assertTrue(self.acknowledged and self.artifacts, "nothing was built")
        states = {}
        for job in self.acknowledged:
            states[job] = json_of(self.kiln("jobs", job, "--json"))["state"]
        case.assertEqual({job: state for job, state in states.items() if state != "succeeded"}, {})
        case.assertEqual(self.failures, [])
        audited = self.farm.kiln("audit", "--json", env=self.environment())
        case.assertEqual((audited.returncode, json_of(audited)["findings"]), (0, []), audited.stderr)


def restarted(farm, name, before):
    """Whether it runs as another process than `before`."""
    try:
        return farm.pid(name) != before
    except (OSError, ValueError, IndexError):  # none, or not written yet
        return False


def kill_at_random(farm, names, times, load, seed, print_to=print):
    """Kills one of `names` at a time, at random, and the next one once the supervisor has started it again."""
    chance = random.Random(seed)
    for _ in range(times):
        name = chance.choice(names)
        before = farm.pid(name)
        print_to(f"kill {name} with {len(load.acknowledged) + len(load.artifacts)} built", flush=True)
        try:
            farm.kill(name)
        except ProcessLookupError:
            continue
        wait_for(lambda: restarted(farm, name, before), 60, f"{name} is started again")
        time.sleep(chance.uniform(0.5, 4))


def leases_of(farm, names):
    """How many leases each has given, by its log."""
    return {name: (farm.dir / "logs" / f"{name}.log").read_text(errors="replace").count("lease given") for name in names}


def serving(farm, endpoint):
    return subprocess.run(["kiln", "jobs", "--endpoint", endpoint, "--wait", "0s"], env=farm.env, capture_output=True).returncode == 0
