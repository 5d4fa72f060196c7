"""Files of f32 tensors, written and read byte by byte after the formats' descriptions. Standard library only."""
import ast
import json
import math
import struct
import zipfile


def npy(shape, values):
    header = repr({"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def text_npy(shape, texts):
    """As NumPy saves an array of str."""
    width = max(map(len, texts), default=1) or 1
    header = repr({"descr": f"<U{width}", "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    body = b"".join(text.encode("utf-32-le").ljust(4 * width, b"\0") for text in texts)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def read_text_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    descr = ast.literal_eval(data[10:10 + length].decode())["descr"]
    width, body = 4 * int(descr[2:]), data[10 + length:]
    return [body[at:at + width].decode("utf-32-le").rstrip("\0") for at in range(0, len(body), width)]


def read_npy(data):
    """(shape, values)"""
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10:10 + length].decode())["shape"]
    return shape, struct.unpack(f"<{math.prod(shape)}f", data[10 + length:])


def safetensors(tensors):
    """`tensors`: {name: (shape, values)}"""
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def write_npz(path, tensors):
    with zipfile.ZipFile(path, "w") as archive:
        for name, (shape, values) in tensors.items():
            archive.writestr(name + ".npy", npy(shape, values))
