"""The HTTP client for client libraries; importing this module takes a while."""

from __future__ import annotations

import zlib
from contextlib import suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import httpx

from t2ibench.models.api_key import ApiKey
from t2ibench.models.certificates import trusted_certificates
from t2ibench.models.proxies import proxy_variables
from t2ibench.models.server_errors import BadReplyError, ServerAwayError, one_line
from t2ibench.version import __version__

# Seconds until a connection is made; a reachable server answers at once.
CONNECT = 20.0
USER_AGENT = f"t2ibench/{__version__}"
_LARGEST_ERROR = 64_000
_PARTIAL = 206  # the status of a part of a reply; no request asks for one
_SENT = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "user-agent",
}
_OF_THE_BODY = {"content-encoding", "content-length", "transfer-encoding"}
# The extension of a request that sets how large its reply may be.
LARGEST = "t2ibench_largest"


class BoundedClient(httpx.AsyncClient):
    """An HTTP client without cookies and redirects, whose only deadline is that of connecting.

    A reply is decompressed as it arrives, so that it never takes more than `largest` bytes. The
    key is sent with every request. Other headers by which a library identifies its user are not
    sent, because only the key can be hidden from replies.

    Each request has a connection of its own. On one that is kept, whatever a server sends beyond a
    reply would be read as the reply to the next request, such as the answer about another image.

    Args:
        largest: Bytes of the largest reply that is read; a request may set another number in its
            extension `LARGEST`.
        key: The key to send; None for none.
    """

    def __init__(self, largest: int, key: ApiKey | None = None) -> None:
        try:
            super().__init__(
                verify=trusted_certificates(),
                timeout=httpx.Timeout(None, connect=CONNECT),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
                headers={"Accept-Encoding": "gzip", "User-Agent": USER_AGENT},
            )
        # The environment may have invalid settings of proxies or certificates.
        except Exception as error:
            proxies = ", ".join(proxy_variables()) or "the system's proxies"
            raise ServerAwayError(
                f"No connection can be made: {type(error).__name__}.",
                f"Check {proxies} and SSL_CERT_FILE.",
            ) from None
        self.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._largest = largest
        self._key = key

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and return the reply, read in full; an error's body only in part."""
        sent = request
        await request.aread()  # the parts of a form are a stream until then
        if self._key is not None:
            ours = {
                name: value for name, value in request.headers.items() if name in _SENT
            }
            sent = httpx.Request(
                request.method,
                request.url,
                headers=ours | dict(self._key.headers()),
                content=request.content,
                extensions=request.extensions,
            )
        options["stream"] = True
        response = await super().send(sent, **options)
        try:
            largest = request.extensions.get(LARGEST, self._largest)
            body = await self._body(response, largest)
        finally:
            await response.aclose()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in _OF_THE_BODY
        ]
        return httpx.Response(
            response.status_code, headers=headers, content=body, request=request
        )

    async def _body(self, response: httpx.Response, largest: int) -> bytes:
        if response.status_code == _PARTIAL:
            raise BadReplyError("the server sent a part of its reply alone (206)")
        if response.status_code not in range(200, 300):
            with suppress(BadReplyError):
                message, _ = await _unpacked(response, _LARGEST_ERROR)
                return bytes(message[:_LARGEST_ERROR])
            return b""
        data, is_complete = await _unpacked(response, largest)
        if len(data) > largest:
            raise BadReplyError(f"the server's reply is larger than {largest:,} bytes")
        if not is_complete:
            raise ConnectionResetError("the packed reply ends early")
        return bytes(data)


async def _unpacked(response: httpx.Response, largest: int) -> tuple[bytearray, bool]:
    """Return a reply's body unpacked, and whether it is complete.

    Reading ends with the first bytes beyond `largest`.

    Raises:
        BadReplyError: it cannot be unpacked.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise BadReplyError(
            f"the server's reply has the encoding '{one_line(encoding, 40)}'"
        )
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    data = bytearray()
    async for chunk in response.aiter_raw():
        room = largest - len(data) + 1
        try:
            data += unpacker.decompress(chunk, room) if unpacker else chunk
        except zlib.error:
            raise BadReplyError("the server's reply cannot be unpacked") from None
        # zlib would hold whatever follows the end, however much it is.
        if len(data) > largest or (unpacker and unpacker.eof):
            break
    return data, unpacker is None or unpacker.eof
