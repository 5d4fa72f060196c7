"""The TCP port on loopback that a farm keeps: chosen once, and another one only where somebody else has it by now."""
import errno
import pathlib
import random
import socket

# Below the ports that the kernel gives to outgoing connections, any of which may take one of those while the farm is down.
LOWEST = 20000


def highest():
    try:
        first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 32768
    return first - 1 if first > LOWEST + 1000 else 65535


def is_free(port):
    """False only where somebody else listens on 127.0.0.1:`port`; what cannot be told counts as free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def kept(path):
    """The port in the file, which gets another one if there is none or somebody else has it."""
    try:
        port = int(path.read_text())
    except (OSError, ValueError):
        port = 0
    if not 0 < port < 65536 or not is_free(port):
        port = next(port for port in iter(lambda: random.randint(LOWEST, highest()), None) if is_free(port))
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(f"{port}\n")
        fresh.replace(path)
    return port
