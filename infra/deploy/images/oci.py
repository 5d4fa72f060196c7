"""Layers and images as files: an OCI image layout whose bytes hang on its contents alone (OCI image specification 1.0).

Layers are plain tar archives: a compressor's bytes change with its release. Entries are sorted, owned by root, dated second 1.
"""
import hashlib
import io
import json
import pathlib
import shutil
import tarfile

CREATED = "1970-01-01T00:00:01Z"
LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def parents(path):
    """The folders above a path, the outermost first."""
    above = [str(folder) for folder in pathlib.PurePosixPath(path).parents if str(folder) != "."]
    return list(reversed(above))


class Layer:
    """Entries by their path in the image, without a leading slash."""

    def __init__(self):
        self.entries = {}

    def folder(self, path, mode=0o755):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        self._put(entry, b"")

    def link(self, path, target):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, target
        self._put(entry, b"")

    def file(self, path, content, executable=False):
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(content), 0o755 if executable else 0o644
        self._put(entry, content)

    def _put(self, entry, content):
        for above in parents(entry.name):
            if above not in self.entries:
                self.folder(above)
        entry.mtime = 1
        self.entries[entry.name] = (entry, content)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name in sorted(self.entries):
                entry, content = self.entries[name]
                archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()


class Layout:
    """A new folder with images. Whole once save() has returned."""

    def __init__(self, folder):
        self.folder, self.images = pathlib.Path(folder), []
        self.fresh = self.folder.with_name(self.folder.name + ".new")
        shutil.rmtree(self.fresh, ignore_errors=True)
        (self.fresh / "blobs/sha256").mkdir(parents=True)

    def blob(self, content, kind):
        digest = hashlib.sha256(content).hexdigest()
        (self.fresh / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def layer(self, layer):
        """Its descriptor; several images may name it."""
        return self.blob(layer.tar(), LAYER)

    def image(self, name, layers, config, labels):
        """Adds an image of these layers' descriptors; its digest."""
        whole = {"architecture": "amd64", "os": "linux", "created": CREATED, "config": {**config, "Labels": labels},
                 "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
                 "history": [{"created": CREATED, "created_by": "infra/deploy/images/build"} for _ in layers]}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.blob(encoded(whole), CONFIG), "layers": layers,
                    "annotations": labels}
        made = self.blob(encoded(manifest), MANIFEST)
        self.images.append({**made, "platform": {"architecture": "amd64", "os": "linux"},
                            "annotations": {"org.opencontainers.image.ref.name": name}})
        return made["digest"]

    def save(self):
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": self.images}
        (self.fresh / "index.json").write_bytes(encoded(index))
        (self.fresh / "oci-layout").write_bytes(encoded({"imageLayoutVersion": "1.0.0"}))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.fresh.rename(self.folder)


def encoded(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
