"""HTTP/2 (RFC 9113) and HPACK (RFC 7541) by hand, for what no client library would send."""
import socket
import struct

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS = 1, 4
HEALTH = "/grpc.health.v1.Health/Check"


def frame(kind, flags, stream, body):
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def integer(value, bits, first=0):
    top = (1 << bits) - 1
    if value < top:
        return bytes([first | value])
    out, value = bytes([first | top]), value - top
    while value >= 128:
        out, value = out + bytes([value % 128 | 128]), value // 128
    return out + bytes([value])


def string(text):
    return integer(len(text), 7) + text


def literal(name, value, indexed=False):
    return bytes([0x40 if indexed else 0]) + string(name) + string(value)


def request(path=HEALTH, more=(), **changed):
    """The fields of a call, some of them changed: method, scheme, path, authority, te."""
    fields = {"method": "POST", "scheme": "http", "path": path, "authority": "localhost"} | {
        key: value for key, value in changed.items() if key != "te"}
    block = b"".join(literal(b":" + key.encode(), value.encode()) for key, value in fields.items())
    block += literal(b"content-type", b"application/grpc") + literal(b"te", changed.get("te", "trailers").encode())
    return block + b"".join(literal(name, value) for name, value in more)


def call(block, stream=1):
    """A whole call with an empty message."""
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, bytes(5))


class Connection:
    """To a Unix socket, or over a stream that is connected; the preface and our settings are sent."""

    def __init__(self, path=None, preface=True, timeout=10, stream=None):
        self.socket = stream or socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        if stream is None:
            self.socket.connect(str(path))
        self.read = b""
        if preface:
            self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b""))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def sends(self, data, times):
        """How often it was taken, until the other side closed."""
        for count in range(times):
            try:
                self.send(data)
            except OSError:
                return count
        return times

    def frames(self, until, seconds=30):
        """The frames that come, [(kind, flags, stream, body)], until one for which `until` holds, the end or a time limit."""
        self.socket.settimeout(seconds)
        found = []
        while True:
            while len(self.read) >= 9 and len(self.read) >= 9 + (size := int.from_bytes(self.read[:3], "big")):
                kind, flags, stream = self.read[3], self.read[4], int.from_bytes(self.read[5:9], "big")
                found.append((kind, flags, stream, self.read[9:9 + size]))
                self.read = self.read[9 + size:]
                if until(*found[-1]):
                    return found
            try:
                more = self.socket.recv(65536)
            except OSError:
                return found
            if not more:
                return found + [("closed", 0, 0, b"")]
            self.read += more

    def settings(self):
        """What the server says of itself: {identifier: value}."""
        body = self.frames(lambda kind, flags, *_: kind == SETTINGS and not flags)[-1][3]
        return dict(struct.unpack_from(">HI", body, at) for at in range(0, len(body), 6))

    def ended(self, stream):
        """Whether the call got its trailers, or None where the connection was closed instead."""
        last = self.frames(lambda kind, flags, on, _: on == stream and (kind == RESET or kind == HEADERS and flags & END_STREAM))[-1:]
        return last[0][0] == HEADERS if last and last[0][0] in (HEADERS, RESET) else None


def unary(path, method, message, seconds=10):
    """A call of gRPC over a Unix socket: (its code, its message or b""); (None, b"") where the connection ended without trailers."""
    with Connection(path) as one:
        one.send(frame(HEADERS, END_HEADERS, 1, request(method)))
        body = b"\0" + len(message).to_bytes(4, "big") + message
        chunks = [body[at:at + 16384] for at in range(0, len(body), 16384)]
        for number, chunk in enumerate(chunks):
            one.send(frame(DATA, END_STREAM if number + 1 == len(chunks) else 0, 1, chunk))
        came = one.frames(lambda kind, flags, stream, _: stream == 1 and kind == HEADERS and flags & END_STREAM, seconds)
    if not came or came[-1][0] != HEADERS:
        return None, b""
    trailers = came[-1][3]
    at = trailers.find(b"grpc-status") + 11  # gRPC writes it without compression the first time
    code = int(trailers[at + 1:at + 1 + trailers[at]])
    return code, b"".join(part for kind, _, stream, part in came if kind == DATA and stream == 1)[5:]


def answers(path):
    """Whether a new connection has a call answered."""
    try:
        with Connection(path) as fresh:
            fresh.send(call(request()))
            return fresh.ended(1) is True
    except OSError:
        return False
