#!/usr/bin/env python3
"""Makes a bare git repository whose model is a delta of itself, by way of COUNT objects.

usage: endless_pack.py DIRECTORY COUNT     prints the commit
"""
import hashlib
import os
import struct
import sys
import zlib

directory, count = sys.argv[1], int(sys.argv[2])


def name(kind, body):
    return hashlib.sha1(b"%s %d\0" % (kind, len(body)) + body).digest()


def header(kind, size):
    first, size, out = kind << 4 | size & 15, size >> 4, b""
    while size:
        out += bytes([first | 128])
        first, size = size & 127, size >> 7
    return out + bytes([first])


deltas = [bytes([17 + i]) * 20 for i in range(count)]
tree = b"100644 m.onnx\0" + deltas[0]
commit = b"tree " + name(b"tree", tree).hex().encode() + b"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"
objects = {name(b"commit", commit): header(1, len(commit)) + zlib.compress(commit),
           name(b"tree", tree): header(2, len(tree)) + zlib.compress(tree)}
delta = b"\4\4\x90\4"  # four bytes, all of them the base's
for i, each in enumerate(deltas):
    objects[each] = header(7, len(delta)) + deltas[(i + 1) % count] + zlib.compress(delta)

pack, offsets = b"PACK" + struct.pack(">II", 2, len(objects)), {}
for each, data in objects.items():
    offsets[each] = len(pack)
    pack += data
pack += hashlib.sha1(pack).digest()
names = sorted(objects)
index = b"\377tOc" + struct.pack(">I", 2)
index += b"".join(struct.pack(">I", sum(each[0] <= first for each in names)) for first in range(256))
index += b"".join(names) + b"\0\0\0\0" * len(names) + b"".join(struct.pack(">I", offsets[each]) for each in names)
index += pack[-20:]
index += hashlib.sha1(index).digest()

os.makedirs(directory + "/objects/pack")
os.makedirs(directory + "/refs/heads")
for path, data in (("HEAD", b"ref: refs/heads/main\n"), ("config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
                   (f"objects/pack/pack-{pack[-20:].hex()}.pack", pack), (f"objects/pack/pack-{pack[-20:].hex()}.idx", index)):
    with open(directory + "/" + path, "wb") as out:
        out.write(data)
print(name(b"commit", commit).hex())
