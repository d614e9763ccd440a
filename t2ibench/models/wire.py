"""Connections of clients: one event loop for all of them, bounded bodies, and their errors."""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import Coroutine
from concurrent.futures import Future
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar

from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
LARGEST_ERROR = 64_000
CONNECT = 20.0  # seconds to a connection; a server that is there answers at once


class ServerAwayError(T2IBenchError):
    """The server cannot be asked at all: not running, no access, no such model."""


class BadReplyError(T2IBenchError):
    """This one reply cannot be used."""


def one_line(text: str, length: int = 200) -> str:
    """A text of a server for a message: one line, shortened, nothing that a terminal obeys."""
    line = " ".join(text[: 8 * length].split())[:length]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


async def whole_body(response: httpx.Response, largest: int) -> bytes:
    """The body, unpacked as it comes, so that no more than the limit is ever held."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise BadReplyError(f"the server's reply has the encoding '{one_line(encoding, 40)}'")
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    data = bytearray()
    async for chunk in response.aiter_raw():
        room = largest - len(data) + 1
        try:
            data += unpacker.decompress(chunk, room) if unpacker else chunk
        except zlib.error:
            raise BadReplyError("the server's reply cannot be unpacked") from None
        if len(data) > largest:
            raise BadReplyError(f"the server's reply is larger than {largest:,} bytes")
    if unpacker and not unpacker.eof:
        raise ConnectionResetError("the packed reply ends early")
    return bytes(data)


async def first_part(response: httpx.Response) -> bytes:
    """As much of an error's body as a message needs; nothing of one that is packed."""
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return b""
    data = b""
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > LARGEST_ERROR:
            break
    return data[:LARGEST_ERROR]


def new_client() -> httpx.AsyncClient:
    """A client without cookies, redirects and deadlines but that of connecting."""
    import httpx

    try:
        client = httpx.AsyncClient(
            # Each attempt has one deadline for all it does.
            timeout=httpx.Timeout(None, connect=CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
            follow_redirects=False,
        )
    except Exception as error:  # what the environment says of proxies and certificates
        raise ServerAwayError(
            f"No connection can be made: {type(error).__name__}.",
            "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE.",
        ) from None
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


class _Loop:
    """The event loop of all sessions, begun with the first request."""

    def __init__(self) -> None:
        # Garbage may be collected, and a session with it closed, while this thread holds the lock.
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="http", daemon=True).start()
            return self._loop


_LOOP = _Loop()


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Begin work on the event loop of all sessions."""
    return asyncio.run_coroutine_threadsafe(work, _LOOP.running())


def close(client: httpx.AsyncClient) -> None:
    """Close a client, whoever's thread this is."""
    asyncio.run_coroutine_threadsafe(client.aclose(), _LOOP.running())
