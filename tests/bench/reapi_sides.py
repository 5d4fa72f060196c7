"""What tests/bench/reapi.py has take turns: Buildbarn, a farm with its own worker, a farm whose worker offers the cluster, and the
client of a server."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import speed

sys.path[:0] = [str(speed.ROOT / "tests" / part) for part in ("interop", "infra")]
import buildbarn  # noqa: E402
import reapi_cluster_test  # noqa: E402
from farm import Farm  # noqa: E402

BIN = speed.ROOT / "build/release/bin"
# With three words it copies a file and adds the first word, so that no two actions have the same output. Else it does nothing.
TOOL = """#include <stdio.h>
int main(int count, char** words) {
  static char bytes[1 << 20];
  if (count < 4) return 0;
  FILE *from = fopen(words[2], "rb"), *to = from ? fopen(words[3], "wb") : 0;
  if (!to) return 3;
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, from)) > 0;) fwrite(bytes, 1, got, to);
  fputs(words[1], to);
  return fclose(to) ? 4 : 0;
}
"""


def cpu_seconds(roots):
    """What the processes and all below them have used, ended ones included."""
    used, children = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else None
        except OSError:
            continue
        if fields:
            used[int(entry.name)] = sum(map(int, fields[11:15]))
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    below, found = list(roots), set()
    while below:
        one = below.pop()
        if one in used and one not in found:
            found.add(one)
            below += children.get(one, [])
    return sum(used[one] for one in found) / os.sysconf("SC_CLK_TCK")


class Server:
    """One of the two with its client: a process that does what a line says. `cpu`: what the server used during asked lines."""

    def __init__(self, name, address, roots, tool, mib):
        self.name, self.roots, self.cpu = name, roots, 0.0
        self.client = subprocess.Popen([BIN / "bench_reapi", address, tool, str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.client.stdout.readline().strip() != "ready":
            raise SystemExit(f"reapi: {name} does not take the tool")

    def ask(self, *words):
        """Numbers, or a text that says why not."""
        before = cpu_seconds(self.roots())
        self.client.stdin.write(" ".join(map(str, words)) + "\n")
        self.client.stdin.flush()
        answer = self.client.stdout.readline().strip()
        self.cpu = cpu_seconds(self.roots()) - before
        if not answer:
            raise SystemExit(f"reapi: the client of {self.name} ended at {words}")
        return answer if answer.startswith("refused") else [float(word) for word in answer.split()]

    def want(self, *words):
        answer = self.ask(*words)
        if isinstance(answer, str):
            raise SystemExit(f"reapi: {self.name}: {words}: {answer}")
        return answer

    def close(self):
        self.client.kill()
        self.client.wait()


def used_by_others():
    """How many processors something uses now, before or after all of this."""
    def ticks():
        fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]))
        return sum(fields) - fields[3] - fields[4], sum(fields)
    before = ticks()
    time.sleep(5)
    busy, every = (after - one for after, one in zip(ticks(), before))
    return f"{busy / every * os.cpu_count():.1f}"


def make_tool(path):
    """The static program that actions run."""
    path.with_suffix(".c").write_text(TOOL)
    subprocess.run(["cc", "-static", "-O1", path.with_suffix(".c"), "-o", path], check=True)
    return path


def cluster(stack, home):
    """Buildbarn, until the stack is closed. Skip if it cannot be had."""
    barn = buildbarn.Buildbarn(home / "buildbarn", buildbarn.programs())
    stack.callback(barn.kill)
    return barn


def up(farm, *options):
    begun = farm.up("--no-sample", *options)
    if begun.returncode:
        raise SystemExit(f"reapi: {begun.stderr}")
    farm.env = farm.environment()


def own_farm(stack):
    """A farm with one worker of its own, and the address of its Remote Execution API."""
    port = buildbarn.free_ports(1)[0]
    farm = Farm(workers=1, start=False)
    stack.callback(farm.close)
    up(farm, "--reapi", str(port))
    return farm, f"127.0.0.1:{port}"


def cluster_farm(stack, barn):
    """A farm that compiles in the cluster alone, and its worker."""
    executor = f"reapi={barn.address},platform={buildbarn.PLATFORM}"
    farm = Farm(workers=1, start=False)
    stack.callback(farm.close)
    farm.dir.mkdir(mode=0o700)
    (farm.dir / "clusters").write_text(reapi_cluster_test.Clusters.sandbox(executor) + "\n")
    policy = json.loads((speed.ROOT / "signing/policy/development.json").read_text()) | {"minOwnSandbox": 0}
    (farm.dir / "policy.json").write_text(json.dumps(policy))
    up(farm)
    worker = reapi_cluster_test.ClusterWorker(farm, "cluster", executor)
    stack.callback(worker.kill)
    farm.kill("worker-1", signal.SIGSTOP)  # what it is given before that is noticed goes to the cluster later
    stack.callback(farm.kill, "worker-1", signal.SIGCONT)
    return farm, worker
