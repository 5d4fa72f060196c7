#!/usr/bin/env python3
"""Whether a TCP port on loopback is free. usage: ports.py FILE: exit 0 if the port that FILE names can be had."""
import errno
import pathlib
import socket
import sys


def is_free(port):
    """False only where somebody else listens on 127.0.0.1:`port`; what cannot be told counts as free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def read(path):
    """The port in the file; 0, which stands for any, where there is none."""
    try:
        port = int(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65536 else 0


if __name__ == "__main__":
    sys.exit(0 if is_free(read(sys.argv[1])) else 1)
