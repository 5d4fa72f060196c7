#!/usr/bin/env python3
"""Takes TLS connections for localhost and passes them on in the clear, for tests.

usage: tls_front.py DIRECTORY HOST:PORT
Makes DIRECTORY/ca.pem (a certificate for localhost that is its own authority), writes the port to DIRECTORY/port, and
ends at the end of its input.
"""
import asyncio
import os
import ssl
import subprocess
import sys

directory, behind = sys.argv[1:3]
certificate, key = os.path.join(directory, "ca.pem"), os.path.join(directory, "key.pem")
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
               check=True, stderr=subprocess.DEVNULL)


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
    except OSError:
        writer.close()


async def serve(reader, writer):
    host, port = behind.rsplit(":", 1)
    inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
    await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))
    inner_writer.close()
    writer.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    with open(os.path.join(directory, "port.new"), "w") as out:
        out.write(str(server.sockets[0].getsockname()[1]))
    os.rename(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())
