"""Just enough of ONNX's wire format to read a model, give it other weights, and write it again. No packages but numpy.

Field numbers are those of onnx.proto (ModelProto, GraphProto, NodeProto, TensorProto, ValueInfoProto).
"""
import numpy

FLOAT, UINT8, INT8, INT32, INT64, FLOAT16, BFLOAT16 = 1, 2, 3, 6, 7, 10, 16


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """(number, value) in order: ints for varints, bytes for the rest."""
    at, found = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + size], at + size
        found.append((key >> 3, kind, value))
    return found


def field(number, value, kind=None):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    if kind in (1, 5):
        return varint(number << 3 | kind) + data
    return varint(number << 3 | 2) + varint(len(data)) + data


def join(parts):
    return b"".join(field(number, value, kind) for number, kind, value in parts)


def all_of(parts, number):
    return [value for n, _, value in parts if n == number]


def text(parts, number):
    found = all_of(parts, number)
    return found[0].decode() if found else ""


def tensor(data):
    """(name, array) of a TensorProto of floats or int64."""
    parts = fields(data)
    dims = []
    for _, kind, value in (part for part in parts if part[0] == 1):
        if kind == 0:
            dims.append(value)
        else:
            at = 0
            while at < len(value):
                dim, at = read_varint(value, at)
                dims.append(dim)
    dtype = {FLOAT: numpy.float32, FLOAT16: numpy.float16}.get(all_of(parts, 2)[0], numpy.int64)
    raw = all_of(parts, 9)
    if raw:
        values = numpy.frombuffer(raw[0], dtype)
    elif dtype == numpy.float32:
        values = numpy.concatenate([numpy.frombuffer(value, dtype) for value in all_of(parts, 4)] or [numpy.zeros(0, dtype)])
    else:
        values = []
        for _, kind, value in (part for part in parts if part[0] == 7):
            at = 0
            while kind == 2 and at < len(value):
                number, at = read_varint(value, at)
                values.append(number)
            if kind == 0:
                values.append(value)
        values = numpy.array(values, dtype)
    return text(parts, 8), values.reshape(dims)


def tensor_bytes(name, array):
    number = {"float32": FLOAT, "int64": INT64, "float16": FLOAT16, "uint8": UINT8, "int8": INT8, "int32": INT32,
              "uint16": BFLOAT16}[array.dtype.name]
    return b"".join(field(1, dim) for dim in array.shape) + field(2, number) + field(8, name) + field(9, array.tobytes())


class Node:
    def __init__(self, data):
        parts = fields(data)
        self.data, self.op = data, text(parts, 4)
        self.inputs = [value.decode() for value in all_of(parts, 1)]
        self.outputs = [value.decode() for value in all_of(parts, 2)]


def packed(parts, number):
    """The integers of a repeated field, packed or not."""
    found = []
    for value in all_of(parts, number):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = read_varint(value, at)
            found.append(one)
    return [value - 2**64 if value >= 2**63 else value for value in found]


def attributes(node):
    """Integers, real numbers and lists of integers by name; what else a node has is left out."""
    found = {}
    for data in all_of(fields(node.data), 5):
        parts = fields(data)
        kind = all_of(parts, 20)
        if kind == [1]:
            found[text(parts, 1)] = float(numpy.frombuffer(all_of(parts, 2)[0], numpy.float32)[0])
        elif kind == [2]:
            found[text(parts, 1)] = (packed(parts, 3) or [0])[0]
        elif kind == [7]:
            found[text(parts, 1)] = packed(parts, 8)
    return found


class Model:
    """A ModelProto; `nodes` and `weights` (name to array) may be changed before bytes() is asked for."""

    def __init__(self, data):
        self.parts = fields(data)
        graph = fields(all_of(self.parts, 7)[0])
        self.nodes = [Node(value) for value in all_of(graph, 1)]
        self.weights = dict(tensor(value) for value in all_of(graph, 5))
        # What the caller gives: before IR version 4, initialisers were listed among the inputs.
        self.values = [value for value in all_of(graph, 11) if text(fields(value), 1) not in self.weights]
        self.rest = [part for part in graph if part[0] not in (1, 5, 11)]

    def inputs(self):
        """(name, dims) of what the caller gives."""
        found = []
        for value in self.values:
            parts = fields(value)
            shape = all_of(fields(all_of(fields(all_of(parts, 2)[0]), 1)[0]), 2)[0]
            found.append((text(parts, 1), [all_of(fields(dim), 1)[0] for dim in all_of(fields(shape), 1)]))
        return found

    def bytes(self):
        graph = b"".join(field(1, node.data) for node in self.nodes)
        graph += b"".join(field(5, tensor_bytes(name, array)) for name, array in self.weights.items())
        graph += b"".join(field(11, value) for value in self.values) + join(self.rest)
        # Initialisers that are no inputs need IR version 4.
        head = [part for part in self.parts if part[0] not in (1, 7)]
        return field(1, 8) + join(head) + field(7, graph)


# --- writing small models -------------------------------------------------------------------------------------------

def value_info(name, dims, dtype=FLOAT):
    """A ValueInfoProto; a dimension is a number or a name."""
    shape = b"".join(field(1, field(2 if isinstance(dim, str) else 1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def attribute(name, value):
    """An AttributeProto of an integer, a real number or a list of integers."""
    head = field(1, name)
    if isinstance(value, int):
        return head + field(3, value % 2**64) + field(20, 2)
    if isinstance(value, float):
        return head + field(2, numpy.float32(value).tobytes(), 5) + field(20, 1)
    return head + b"".join(field(8, number % 2**64) for number in value) + field(20, 7)


def node_bytes(op, inputs, outputs, name, attributes=None):
    text_fields = [(1, i) for i in inputs] + [(2, o) for o in outputs] + [(3, name), (4, op)]
    return b"".join(field(number, value) for number, value in text_fields) + b"".join(
        field(5, attribute(key, value)) for key, value in (attributes or {}).items())


def model_bytes(nodes, inputs, outputs, weights=None, opset=17):
    """nodes from node_bytes(); inputs and outputs from value_info(); weights: name to array."""
    graph = b"".join(field(1, node) for node in nodes) + field(2, "test")
    graph += b"".join(field(5, tensor_bytes(name, array)) for name, array in (weights or {}).items())
    graph += b"".join(field(11, value) for value in inputs) + b"".join(field(12, value) for value in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))
