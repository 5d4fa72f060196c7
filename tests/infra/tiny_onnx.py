"""ONNX models of a few bytes, written field by field (onnx.proto's numbers), for models that no exporter would make."""


def field(number, value):
    """A protobuf field: ints as varints, the rest length-delimited."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def value_info(name, dims, dtype=1):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def node(op, inputs, outputs, name):
    return b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4, op)


def external_weight(name, dims, location):
    """An f32 initialiser whose bytes are said to lie in another file."""
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(13, field(1, "location") + field(2, location)) + field(14, 1)


def model(nodes, inputs, outputs, weights=(), opset=17):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "tiny") + b"".join(field(5, w) for w in weights)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))
