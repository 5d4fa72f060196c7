"""The manifests of infra/deploy/kubernetes as kustomize renders them, and what judges them: programs of others, pinned and fetched as
tests/interop does. What cannot be had is a Skip that says why."""
import json
import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/interop"))
from fetched import Skip, python_environment, run  # noqa: E402

KUBERNETES = ROOT / "infra/deploy/kubernetes"
OVERLAYS = ("one-node", "ha", "gpu", "scaled")
SCHEMAS = "1.36"  # of Kubernetes
# Definitions of other people's kinds, from their modules: folder in it.
DEFINITIONS = {"github.com/cert-manager/cert-manager@v1.19.1": "deploy/crds", "github.com/kedacore/keda/v2@v2.18.0": "config/crd/bases"}


def with_yaml():
    """Goes on in the environment that has yaml and kubernetes_validate."""
    if "KILN_WITH_YAML" in os.environ:
        return
    python = python_environment(str(HERE / "requirements.txt"))
    os.execve(python, [str(python), "-Bu", *sys.argv], {**os.environ, "KILN_WITH_YAML": "1"})


def kubectl():
    """One that renders components and replacements."""
    program = shutil.which("kubectl")
    said = run([program, "version", "--client"]).stdout if program else ""
    version = re.search(r"v1\.(\d+)", said)
    if not version or int(version.group(1)) < 24:
        raise Skip("kubectl 1.24 or later, which renders the manifests, is not installed")
    return program


def rendered(folder):
    done = run([kubectl(), "kustomize", folder])
    if done.returncode:
        raise AssertionError(f"{folder}: {done.stderr}")
    return done.stdout


def definitions():
    """Folders with definitions; Go's module proxy has them."""
    go = shutil.which("go")
    if not go:
        raise Skip("the Go toolchain, which fetches the definitions of cert-manager and KEDA, is not installed")
    out = []
    for module, folder in DEFINITIONS.items():
        done = run([go, "mod", "download", "-json", module], cwd="/")
        if done.returncode:
            raise Skip(f"Go could not fetch {module}")
        out.append(pathlib.Path(json.loads(done.stdout)["Dir"]) / folder)
    return out
