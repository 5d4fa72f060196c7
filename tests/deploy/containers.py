"""The images of infra/deploy as containers: built once for a test, run without root by crun as a pod would be."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KILN_TEST_BIN", ROOT / "build/release/bin"))
USER, HOST_USER = 65532, 58901  # in the image; and here, which is to be nobody's
SECONDS = 120  # a limit for hangs


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, **more)


def build(out, *options):
    return run(ROOT / "infra/deploy/images/build", "--out", out, "--bin", BIN, *options)


class Image:
    """One image of a layout."""

    def __init__(self, layout, name):
        self.layout = layout
        index = json.loads((layout / "index.json").read_text())
        entry = next(one for one in index["manifests"] if one["annotations"]["org.opencontainers.image.ref.name"] == name)
        self.manifest = json.loads(self.blob(entry).read_text())
        self.config = json.loads(self.blob(self.manifest["config"]).read_text())

    def blob(self, descriptor):
        return self.layout / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")

    def layers(self):
        return [self.blob(layer) for layer in self.manifest["layers"]]

    def unpack(self, folder):
        for layer in self.layers():
            with tarfile.open(layer) as archive:
                archive.extractall(folder, numeric_owner=True)


def filter_like_a_runtimes():
    """What containerd's and crun's own profiles do to a process without capabilities: no namespaces, no mounts."""
    new_namespaces = 0x7E020000
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [
        {"names": ["mount", "umount2", "pivot_root", "setns", "unshare"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        *({"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
           "args": [{"index": 0, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}]}
          for bit in (1 << n for n in range(32)) if bit & new_namespaces)]}


class Bundle:
    """An image unpacked for crun. `close` removes it."""

    def __init__(self, image):
        self.image = image
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln-bundle-"))
        self.home.chmod(0o755)
        image.unpack(self.home / "bundle/rootfs")
        (self.home / "run").mkdir()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def crun(self, *arguments, seccomp=None, masked=False, mounts=(), environment=()):
        """Runs a command as the image's user with a read-only root and no capability; `masked`: with runtimes' usual /proc."""
        outside = HOST_USER if os.geteuid() == 0 else os.geteuid()
        one_id = [{"containerID": USER, "hostID": outside, "size": 1}]
        spec = {
            "ociVersion": "1.0.2", "hostname": "pod", "root": {"path": "rootfs", "readonly": True},
            "process": {"user": {"uid": USER, "gid": USER}, "args": list(arguments), "cwd": "/", "noNewPrivileges": True, "capabilities": {},
                        "env": [*self.image.config["config"]["Env"], *environment]},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
                       {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
                       *mounts],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network", "user")],
                      "uidMappings": one_id, "gidMappings": one_id, "seccomp": seccomp}}
        if masked:
            spec["linux"] |= {"maskedPaths": ["/proc/kcore", "/proc/keys"], "readonlyPaths": ["/proc/sys", "/proc/irq", "/proc/bus"]}
        if seccomp is None:
            del spec["linux"]["seccomp"]
        (self.home / "bundle/config.json").write_text(json.dumps(spec))
        # Without newuidmap on the PATH crun maps the one id itself.
        command = ["env", "PATH=/nonexistent", f"XDG_RUNTIME_DIR={self.home}/run", shutil.which("crun"), "--root", self.home / "run/crun",
                   "--cgroup-manager=disabled", "run", "-b", self.home / "bundle", "kiln"]
        if os.geteuid() == 0:
            os.chown(self.home / "run", HOST_USER, HOST_USER)
            command = ["setpriv", f"--reuid={HOST_USER}", f"--regid={HOST_USER}", "--clear-groups", *command]
            # crun 1.8 wants one hierarchy of control groups, also where it makes none.
            command = ["unshare", "-m", "sh", "-c", "umount -l /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec \"$@\"", "sh",
                       *command]
        return run(*command)
