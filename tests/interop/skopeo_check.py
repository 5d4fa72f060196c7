#!/usr/bin/env python3
"""Copies the golden artifact as an OCI layout with skopeo and compares: an OCI client that knows nothing of Kiln takes it
whole and keeps its digest.

usage: skopeo_check.py ROOT
Exit 77 (skipped) if skopeo is not installed.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

# The bytes behind the golden artifact's layers (tests/support/sample_spec.h).
LAYERS = {"program.so": b"\x7fELF program", "weights/0000.bin": b"weights"}


def main(root):
    if not shutil.which("skopeo"):
        print("skipped: skopeo is not installed")
        return 77
    golden = root / "tests/golden/v1"
    artifact = (golden / "artifact.json").read_bytes()
    blobs = [artifact, (golden / "manifest.json").read_bytes(), *LAYERS.values()]
    digest = hashlib.sha256(artifact).hexdigest()
    with tempfile.TemporaryDirectory() as tmp:
        layout = pathlib.Path(tmp) / "layout"
        store = layout / "blobs/sha256"
        store.mkdir(parents=True)
        for blob in blobs:
            (store / hashlib.sha256(blob).hexdigest()).write_bytes(blob)
        (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{
            "mediaType": json.loads(artifact)["mediaType"], "digest": f"sha256:{digest}", "size": len(artifact),
            "annotations": {"org.opencontainers.image.ref.name": "it"}}]}))
        copy = pathlib.Path(tmp) / "copy"
        done = subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", f"oci:{layout}:it",
                               f"dir:{copy}"], capture_output=True, text=True)
        if done.returncode:
            print("skopeo refuses the artifact:", done.stderr)
            return 1
        problems = []
        if (copy / "manifest.json").read_bytes() != artifact:
            problems.append("the manifest changed on the way")
        for blob in blobs[1:]:
            if not (copy / hashlib.sha256(blob).hexdigest()).exists():
                problems.append(f"blob {hashlib.sha256(blob).hexdigest()} was left behind")
    print("\n".join(problems) or f"skopeo copied sha256:{digest} with {len(blobs)} blobs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
