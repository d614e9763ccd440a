"""The HTTP client for client libraries; importing this module takes a while."""

from __future__ import annotations

import zlib
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
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
_HEADERS = {"Accept-Encoding": "gzip", "User-Agent": USER_AGENT}
_TIMEOUT = httpx.Timeout(None, connect=CONNECT)
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)


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
        for_httpx: Its further options, such as those for certificates, `verify` and `cert`.
    """

    def __init__(
        self, largest: int, key: ApiKey | None = None, **for_httpx: Any
    ) -> None:
        # The environment may have invalid settings of proxies or certificates.
        try:
            options = {
                "headers": _HEADERS,
                "timeout": _TIMEOUT,
                "limits": _LIMITS,
                "verify": trusted_certificates(),
                **for_httpx,
            }
            super().__init__(**options)
        except Exception as error:
            raise _unusable_environment(error) from None
        self.cookies.jar.set_policy(_no_cookies())
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
        options |= {"stream": True, "follow_redirects": False}
        response = await super().send(sent, **options)
        try:
            body = _Body(response, request.extensions.get(LARGEST, self._largest))
            async for chunk in response.aiter_raw():
                if not body.add(chunk):
                    break
        finally:
            await response.aclose()
        return body.as_reply_to(request)


class BoundedSyncClient(httpx.Client):
    """The same client for a library that asks in a thread of its own, without `await`.

    The deadline of a request, its timeout for reading, is one for the whole reply: a thread cannot
    be cancelled.

    Args:
        largest: Bytes of the largest reply that is read.
        for_httpx: Its further options, such as those for certificates, `verify` and `cert`.
    """

    def __init__(self, largest: int, **for_httpx: Any) -> None:
        options = {
            "headers": _HEADERS,
            "timeout": _TIMEOUT,
            "limits": _LIMITS,
            **for_httpx,
        }
        try:
            super().__init__(**options)
        except Exception as error:
            raise _unusable_environment(error) from None
        self.cookies.jar.set_policy(_no_cookies())
        self._largest = largest

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and return the reply, read in full; an error's body only in part."""
        seconds = request.extensions.get("timeout", {}).get("read")
        deadline = None if seconds is None else monotonic() + seconds
        options |= {"stream": True, "follow_redirects": False}
        response = super().send(request, **options)
        try:
            body = _Body(response, self._largest)
            for chunk in response.iter_raw():
                if deadline is not None and monotonic() > deadline:
                    raise httpx.ReadTimeout(f"no reply within {seconds:g} s")
                if not body.add(chunk):
                    break
        finally:
            response.close()
        return body.as_reply_to(request)


class _Body:
    """The body of a reply, unpacked as it arrives and no further than it is read.

    Args:
        response: The reply, of which nothing was read yet.
        largest: Bytes of the largest body of a good reply.

    Raises:
        BadReplyError: it is a part of a reply.
    """

    def __init__(self, response: httpx.Response, largest: int) -> None:
        if response.status_code == _PARTIAL:
            raise BadReplyError("the server sent a part of its reply alone (206)")
        self._response = response
        self._is_error = response.status_code not in range(200, 300)
        self._largest = _LARGEST_ERROR if self._is_error else largest
        self._data = bytearray()
        self._problem: str | None = None
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            shown = one_line(encoding, 40)
            self._problem = f"the server's reply has the encoding '{shown}'"
        self._unpacker = zlib.decompressobj(wbits=31) if "gzip" in encoding else None

    def add(self, chunk: bytes) -> bool:
        """Add bytes as they came, and return whether further ones are wanted."""
        if self._problem is not None:
            return False
        room = self._largest - len(self._data) + 1
        unpacker = self._unpacker
        try:
            self._data += unpacker.decompress(chunk, room) if unpacker else chunk
        except zlib.error:
            self._problem = "the server's reply cannot be unpacked"
            return False
        # zlib would hold whatever follows the end, however much it is.
        has_ended = unpacker is not None and unpacker.eof
        return len(self._data) <= self._largest and not has_ended

    def as_reply_to(self, request: httpx.Request) -> httpx.Response:
        """Return the reply with this body.

        Raises:
            BadReplyError: a good reply cannot be unpacked or is too large.
            ConnectionResetError: a good reply ends early.
        """
        response = self._response
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in _OF_THE_BODY
        ]
        return httpx.Response(
            response.status_code,
            headers=headers,
            content=self._content(),
            request=request,
        )

    def _content(self) -> bytes:
        if self._is_error:
            message = b"" if self._problem is not None else self._data
            return bytes(message[: self._largest])
        if self._problem is not None:
            raise BadReplyError(self._problem)
        if len(self._data) > self._largest:
            raise BadReplyError(
                f"the server's reply is larger than {self._largest:,} bytes"
            )
        if self._unpacker is not None and not self._unpacker.eof:
            raise ConnectionResetError("the packed reply ends early")
        return bytes(self._data)


def _no_cookies() -> DefaultCookiePolicy:
    """Return a policy that neither stores nor sends cookies."""
    return DefaultCookiePolicy(allowed_domains=[])


def _unusable_environment(error: Exception) -> ServerAwayError:
    """Return the error for settings of proxies or certificates that httpx does not take."""
    proxies = ", ".join(proxy_variables()) or "the system's proxies"
    return ServerAwayError(
        f"No connection can be made: {type(error).__name__}.",
        f"Check {proxies} and SSL_CERT_FILE.",
    )
