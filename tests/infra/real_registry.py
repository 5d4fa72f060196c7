"""distribution's registry, whichever release of it, over a store of its own: for the tests that push to a real one."""
import contextlib
import crypt
import socket
import subprocess
import time


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def distribution(program, folder, password=None):
    """distribution's registry with its store in `folder`; its host. With a password for "pusher" it wants that, and speaks TLS with
    `folder`/cert.pem."""
    port = free_port()
    folder.mkdir()
    config = folder / "config.yml"
    guarded = ""
    if password:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                        folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
        (folder / "users").write_text(f"pusher:{crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n")
        guarded = (f"  tls: {{certificate: '{folder}/cert.pem', key: '{folder}/key.pem'}}\n"
                   f"auth: {{htpasswd: {{realm: here, path: '{folder}/users'}}}}\n")
    config.write_text(f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: '{folder}/store'}}}}\n"
                      f"http:\n  addr: '127.0.0.1:{port}'\n{guarded}")
    with subprocess.Popen([program, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 30
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                if time.monotonic() > end or process.poll() is not None:
                    raise AssertionError("the registry did not start")
                time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
