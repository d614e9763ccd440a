"""Requests to a server of models: one pool of connections, deadlines, limits, and no key shown.

Requests run on an event loop in a thread of its own, because only there can a deadline end one
wherever it hangs: in the connection, in the headers, or in a body that comes byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import weakref
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.retries import BUSY, RATE_LIMITED, Failure, Patience, seconds_asked
from t2ibench.version import __version__

if TYPE_CHECKING:
    import httpx

LARGEST_REPLY = 8_000_000  # bytes, unpacked
_LARGEST_ERROR = 64_000
_WORTH_SAYING = 5.0  # seconds; shorter waits are not announced
_EXAMPLE = "expected an address such as http://127.0.0.1:8000/v1"
_ADDRESS = "Is it running, and is base_url=… (--judge-args, --proposer-args) its address?"


class ServerAwayError(T2IBenchError):
    """The server cannot be asked at all: not running, no access, no such model."""


class BadReplyError(T2IBenchError):
    """This one reply cannot be used."""


def checked_address(base_url: str) -> str:
    """The address of a server.

    Args:
        base_url: What the user gave.

    Returns:
        The same, without slashes at its end.

    Raises:
        T2IBenchError: it is no http(s) address, or it holds something that is stored with the run
            and must not be: a user name, a password, a query.
    """
    import httpx

    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        httpx.URL(base_url)
    except (ValueError, httpx.InvalidURL):  # http://[::1, or a port that is no number
        parts, valid = None, False
    # What may hold a password or a key is not shown.
    shown = f"base_url={base_url}" if not set("@?#") & set(base_url) else "base_url"
    if parts is None or not valid or not base_url.isprintable() or " " in base_url:
        raise T2IBenchError(f"{' '.join(shown.split())[:200]}: {_EXAMPLE}.")
    if "@" in parts.netloc:
        raise T2IBenchError(
            f"base_url has a user name or a password in it: {_EXAMPLE}.",
            "Addresses are stored with the run. Put a key into the environment variable that "
            "api_key_env names.",
        )
    if set("?#") & set(base_url):
        raise T2IBenchError(
            f"base_url has a query or a fragment in it: {_EXAMPLE}.",
            "Addresses are stored with the run. Put a key into the environment variable that "
            "api_key_env names.",
        )
    return base_url.rstrip("/")


def one_line(text: str, length: int = 200) -> str:
    """A text of a server for a message: one line, shortened, nothing that a terminal obeys.

    Args:
        text: Any text.
        length: Characters at most.

    Returns:
        The line.
    """
    line = " ".join(text[: 8 * length].split())[:length]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server replied.

    Attributes:
        status: The HTTP status.
        body: At most `LARGEST_REPLY` bytes.
        key: What is hidden from what it says.
    """

    status: int
    body: bytes
    key: ApiKey

    def json(self) -> Any:
        """The body as JSON, the key hidden.

        Returns:
            The value.

        Raises:
            BadReplyError: it is not JSON, or nested deeply.
        """
        try:
            return self.key.hide_all(json.loads(self.body))
        except (ValueError, RecursionError):
            raise BadReplyError("the server's reply is not JSON") from None

    def text(self) -> str:
        """The body as text, the key hidden.

        Returns:
            The text; what is not UTF-8 is replaced.
        """
        return self.key.hide(self.body.decode("utf-8", errors="replace"))


class HttpSession:
    """Posts to one server; for any number of threads.

    Redirects are not followed, no cookies are kept, and no password is taken from ~/.netrc.

    Args:
        url: Where requests go.
        key: Sent with every request.
        timeout: Seconds that one attempt may take: connection, headers and body together.
        attempts: At one request; see `retries.Patience`.
        passes: Whether waiting can help after a reply that says 'too many requests'.

    Attributes:
        tell: Told, in a sentence, of every longer wait. It is called from another thread.
    """

    def __init__(
        self,
        url: str,
        key: ApiKey,
        *,
        timeout: float,
        attempts: int,
        passes: Callable[[Reply], bool] = lambda _: True,
    ) -> None:
        self.url = url
        self.tell: Callable[[str], None] = lambda _: None
        self._key = key
        self._timeout = timeout
        self._patience = Patience(attempts)
        self._passes = passes
        self._client: httpx.AsyncClient | None = None
        self._told_until = 0.0
        self._lock = threading.Lock()

    def post(self, value: Any) -> Future[Reply]:
        """Begin a request.

        Args:
            value: What is posted, as JSON values.

        Returns:
            The reply to come, of any status that is no reason to ask again. Its exception is a
            ServerAwayError or a BadReplyError. Cancelling it ends the request.
        """
        body = json.dumps(value).encode()
        with self._lock:
            if self._client is None:
                self._client = _new_client()
                weakref.finalize(self, _close, self._client).atexit = False
        return asyncio.run_coroutine_threadsafe(self._persist(self._client, body), _LOOP.running())

    async def _persist(self, client: httpx.AsyncClient, body: bytes) -> Reply:
        """Attempts until there is a reply."""
        waits = self._patience.request()
        while True:
            found = await self._attempt(client, body)
            if isinstance(found, Reply):
                self._patience.answered()
                return found
            wait = waits.after(found)
            if wait is None:
                times = "once" if waits.made == 1 else f"{waits.made} times"
                raise ServerAwayError(
                    f"The server {self.url} {found.why}; tried {times}.",
                    "Run the same command again later." if found.limited else _ADDRESS,
                )
            self._announce(found, wait)
            await pause(wait)

    async def _attempt(self, client: httpx.AsyncClient, body: bytes) -> Reply | Failure:
        import httpx

        try:
            reply, retry_after = await asyncio.wait_for(self._once(client, body), self._timeout)
        except (TimeoutError, asyncio.TimeoutError, httpx.TimeoutException):
            return Failure(f"does not answer within {self._timeout:g} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ServerAwayError(
                    f"The certificate of the server {self.url} cannot be verified.",
                    "Name your own authority's certificates in SSL_CERT_FILE.",
                ) from None
            return Failure(f"cannot be reached ({type(error).__name__})")
        limited = reply.status == RATE_LIMITED
        if reply.status not in BUSY or (limited and not self._passes(reply)):
            return reply
        return Failure(f"replied with status {reply.status}", limited, seconds_asked(retry_after))

    async def _once(self, client: httpx.AsyncClient, body: bytes) -> tuple[Reply, str | None]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": f"t2ibench/{__version__}",
            **self._key.headers(),
        }
        async with client.stream("POST", self.url, content=body, headers=headers) as response:
            data = await (_whole(response) if response.status_code == 200 else _start(response))
            reply = Reply(response.status_code, data, self._key)
            return reply, response.headers.get("retry-after")

    def _announce(self, failure: Failure, wait: float) -> None:
        """Say that there is a wait, once for all the requests that wait together."""
        now = monotonic()
        if wait < _WORTH_SAYING or now < self._told_until:
            return
        self._told_until = now + wait
        with contextlib.suppress(Exception):  # to say it is no reason to fail
            self.tell(f"The server {self.url} {failure.why}; the next attempt is in {wait:.0f} s.")


async def pause(seconds: float) -> None:
    """Wait between two attempts.

    Args:
        seconds: How long.
    """
    await asyncio.sleep(seconds)


async def _whole(response: httpx.Response) -> bytes:
    """The body, unpacked as it comes, so that no more than the limit is ever held."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise BadReplyError(f"the server's reply has the encoding '{one_line(encoding, 40)}'")
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    data = bytearray()
    async for chunk in response.aiter_raw():
        room = LARGEST_REPLY - len(data) + 1
        try:
            data += unpacker.decompress(chunk, room) if unpacker else chunk
        except zlib.error:
            raise BadReplyError("the server's reply cannot be unpacked") from None
        if len(data) > LARGEST_REPLY:
            raise BadReplyError(f"the server's reply is larger than {LARGEST_REPLY:,} bytes")
    if unpacker and not unpacker.eof:
        raise ConnectionResetError("the packed reply ends early")
    return bytes(data)


async def _start(response: httpx.Response) -> bytes:
    """As much of an error's body as a message needs; nothing of one that is packed."""
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return b""
    data = b""
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > _LARGEST_ERROR:
            break
    return data[:_LARGEST_ERROR]


def _new_client() -> httpx.AsyncClient:
    import httpx

    try:
        client = httpx.AsyncClient(
            timeout=None,  # each attempt has one deadline for all it does
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


def _close(client: httpx.AsyncClient) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), _LOOP.running())
