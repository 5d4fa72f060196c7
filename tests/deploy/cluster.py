"""A Kubernetes API server with its etcd, of the real programs: kube-apiserver from Go's module proxy, built once and kept as
tests/interop keeps what it fetches; etcd from Debian's package, unpacked and not installed. No kubelet, no controllers."""
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
from fetched import CACHE, Skip, last_line, made_once, run  # noqa: E402
from rendered import kubectl  # noqa: E402

KUBERNETES, STAGING = "v1.36.3", "v0.36.3"  # the module, and those that it keeps in its own tree
READY = 180  # seconds; a limit for hangs


def api_server():
    home = CACHE / f"kube-apiserver-{KUBERNETES}"
    if (home / "ready").exists():
        return home / "kube-apiserver"
    go = shutil.which("go")
    if not go:
        raise Skip("the Go toolchain, which builds kube-apiserver, is not installed")
    with made_once(home) as missing:
        if missing:
            done = run([go, "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"], cwd="/")
            if done.returncode:
                raise Skip(f"Go could not fetch Kubernetes: {last_line(done)}")
            theirs = pathlib.Path(re.search(r'"GoMod": "([^"]+)"', done.stdout).group(1)).read_text()
            staged = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", theirs, re.M)
            go_version = re.search(r"^go \S+$", theirs, re.M).group(0)
            (home / "go.mod").write_text("\n".join(["module cluster", go_version, f"require k8s.io/kubernetes {KUBERNETES}",
                                                    *(f"replace {name} => {name} {STAGING}" for name in staged)]) + "\n")
            done = run([go, "build", "-mod=mod", "-trimpath", "-o", home / "kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"], cwd=home)
            if done.returncode:
                raise Skip(f"Go could not build it: {last_line(done)}")
    return home / "kube-apiserver"


def etcd():
    installed = shutil.which("etcd")
    if installed:
        return installed
    home = CACHE / "etcd"
    with made_once(home) as missing:
        if missing:
            done = subprocess.run("apt-get download -q etcd-server && dpkg --fsys-tarfile etcd-server_*.deb | "
                                  "tar -x --strip-components=3 ./usr/bin/etcd && rm etcd-server_*.deb", shell=True, cwd=home,
                                  capture_output=True, text=True)
            if done.returncode or not (home / "etcd").exists():
                raise Skip(f"etcd is not to be had: {last_line(done)}")
    return home / "etcd"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Cluster:
    def __init__(self):
        server, store, self.kubectl_program = api_server(), etcd(), kubectl()
        self.home, self.processes = pathlib.Path(tempfile.mkdtemp(prefix="kiln-cluster-")), []
        clients, peers, self.port, self.token = free_port(), free_port(), free_port(), secrets.token_hex(16)
        (self.home / "tokens").write_text(f'{self.token},admin,admin,"system:masters"\n')
        run(["openssl", "genpkey", "-algorithm", "RSA", "-out", self.home / "accounts.key"])
        self.start("etcd", store, "--data-dir", self.home / "etcd", "--listen-client-urls", f"http://127.0.0.1:{clients}",
                   "--advertise-client-urls", f"http://127.0.0.1:{clients}", "--listen-peer-urls", f"http://127.0.0.1:{peers}")
        self.start("server", server, "--etcd-servers", f"http://127.0.0.1:{clients}", "--bind-address=127.0.0.1",
                   f"--secure-port={self.port}", "--cert-dir", self.home / "certificates", "--token-auth-file", self.home / "tokens",
                   "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://cluster.local",
                   "--service-account-key-file", self.home / "accounts.key", "--service-account-signing-key-file",
                   self.home / "accounts.key")
        end = time.monotonic() + READY
        while self.kubectl("get", "--raw", "/readyz").returncode:
            if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                said = "".join((self.home / f"{name}.log").read_text()[-3000:] for name in ("etcd", "server"))
                self.close()
                raise AssertionError(f"the API server did not get ready: {said}")
            time.sleep(0.5)

    def start(self, name, *command):
        with open(self.home / f"{name}.log", "w") as log:
            self.processes.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def kubectl(self, *words, given=None):
        # Its certificate is of this moment, and it listens on loopback.
        return run([self.kubectl_program, "--server", f"https://127.0.0.1:{self.port}", "--token", self.token, "--insecure-skip-tls-verify",
                    *words], input=given, env={**os.environ, "HOME": str(self.home), "KUBECONFIG": "/dev/null"})

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
