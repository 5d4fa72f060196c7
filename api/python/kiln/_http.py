"""The HTTP that a fetch needs, for the extension (native/http.cc): plain http and https, no redirects, no proxy."""
from __future__ import annotations

import http.client
import ssl
import urllib.parse

_PATIENCE = 30.0


class Answer:
    """An answer as it comes; the connection ends with it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status

    def read(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        data = self._response.read1(most) if self._response.length != 0 else b""
        if not data:
            cut = self._response.length
            self._connection.close()
            if cut:
                raise OSError(f"the answer was cut, {cut} bytes before its end")
        return data


def open_url(url: str, ca: str, certificate: str, key: str, token: str) -> Answer:
    """GET. With `ca`, a file, the server's certificate must be of its authorities, without it of the system's."""
    parts = urllib.parse.urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca or None)
        if certificate:
            context.load_cert_chain(certificate, key)
        connection = http.client.HTTPSConnection(parts.netloc, timeout=_PATIENCE, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=_PATIENCE)
    try:
        headers = {"Authorization": "Bearer " + token} if token else {}
        connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""), headers=headers)
        return Answer(connection, connection.getresponse())
    except http.client.HTTPException as error:
        connection.close()
        raise OSError(f"is no answer of HTTP: {error!r}") from error
    except BaseException:
        connection.close()
        raise
