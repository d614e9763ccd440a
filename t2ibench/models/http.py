"""Requests to a server of models: one pool of connections, deadlines, limits, and no key shown.

Requests run on an event loop in a thread of its own, because only there can a deadline end one
wherever it hangs: in the connection, in the headers, or in a body that comes byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.retries import BUSY, RATE_LIMITED, Failure, Patience, seconds_asked
from t2ibench.models.wire import (
    CONNECT,
    BadReplyError,
    ServerAwayError,
    close,
    first_part,
    new_client,
    one_line,
    submit,
    whole_body,
)
from t2ibench.version import __version__

if TYPE_CHECKING:
    import httpx

__all__ = [
    "LARGEST_REPLY",
    "BadReplyError",
    "HttpSession",
    "Reply",
    "ServerAwayError",
    "checked_address",
    "one_line",
    "pause",
]
LARGEST_REPLY = 8_000_000  # bytes, unpacked
_NEEDS_KEY = "api.openai.com"  # it answers no request without; others say so themselves
_WORTH_SAYING = 5.0  # seconds; shorter waits are not announced
_EXAMPLE = "expected an address such as http://127.0.0.1:8000/v1"
_ADDRESS = (
    "Check that it is running and that base_url=… (in --model-args, --judge-args, --rewriter-args "
    "or --proposer-args) is its address."
)


def checked_address(base_url: str) -> str:
    """The address of a server."""
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


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server replied.

    Attributes:
        status: The HTTP status.
        body: As many bytes as the session takes.
        key: What is hidden from what it says.
    """

    status: int
    body: bytes
    key: ApiKey

    def json(self) -> Any:
        """The body as JSON, the key hidden."""
        try:
            return self.key.hide_all(json.loads(self.body))
        except (ValueError, RecursionError):
            raise BadReplyError("the server's reply is not JSON") from None

    def text(self) -> str:
        """The body as text, the key hidden."""
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
        largest: Bytes of a reply, unpacked, that are taken at most.
        first_attempts: Attempts at a server that has not answered anything yet; None is as many
            as at any other time.

    Attributes:
        tell: Told, in a sentence, of every longer wait. It is called from another thread.
        failed: Told of every attempt that failed, from the other thread too.
    """

    def __init__(
        self,
        url: str,
        key: ApiKey,
        *,
        timeout: float,
        attempts: int,
        passes: Callable[[Reply], bool] = lambda _: True,
        largest: int = LARGEST_REPLY,
        first_attempts: int | None = None,
    ) -> None:
        self.url = url
        self.tell: Callable[[str], None] = lambda _: None
        self.failed: Callable[[Failure], None] = lambda _: None
        self._largest = largest
        self._first_attempts = first_attempts
        self._answered = False
        self._key = key
        self._timeout = timeout
        self._patience = Patience(attempts)
        self._passes = passes
        self._client: httpx.AsyncClient | None = None
        self._told_until = 0.0
        self._lock = threading.Lock()

    def check_access(self) -> None:
        """Refuse what is known to need a key, before anything is sent."""
        if not self._key and urlsplit(self.url).hostname == _NEEDS_KEY:
            name = self._key.variable
            raise ServerAwayError(
                f"{_NEEDS_KEY} needs an API key, and {name} is not set.",
                f"Set it with `export {name}=…`, or name a server of your own with base_url=… in "
                "--model-args, --judge-args, --rewriter-args or --proposer-args.",
            )

    def post(self, value: Any) -> Future[Reply]:
        """Begin a request."""
        return submit(self.send(value))

    async def send(self, value: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """The same as `post`, as a coroutine for `submit`."""
        self.check_access()
        body = json.dumps(value).encode()
        with self._lock:
            if self._client is None:
                self._client = new_client()
                weakref.finalize(self, close, self._client).atexit = False
        return await self._persist(self._client, body, headers or {})

    async def _persist(
        self, client: httpx.AsyncClient, body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        """Attempts until there is a reply."""
        waits = self._patience.request()
        while True:
            found = await self._attempt(client, body, headers)
            if isinstance(found, Reply):
                self._answered = True
                self._patience.answered()
                return found
            self._answered |= found.answered
            with contextlib.suppress(Exception):
                self.failed(found)
            wait = waits.after(found)
            hasty = self._first_attempts is not None and not self._answered
            if wait is None or (hasty and waits.made >= (self._first_attempts or 1)):
                times = "once" if waits.made == 1 else f"{waits.made} times"
                raise ServerAwayError(
                    f"The server {self.url} {found.why}; tried {times}.",
                    "Run the same command again later." if found.limited else _ADDRESS,
                )
            self._announce(found, wait)
            await pause(wait)

    async def _attempt(
        self, client: httpx.AsyncClient, body: bytes, headers: Mapping[str, str]
    ) -> Reply | Failure:
        import httpx

        try:
            reply, retry_after = await asyncio.wait_for(
                self._once(client, body, headers), self._timeout
            )
        except httpx.ConnectTimeout:
            return Failure(f"cannot be reached (no connection within {CONNECT:g} s)")
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
        return Failure(
            f"replied with status {reply.status}", limited, seconds_asked(retry_after), True
        )

    async def _once(
        self, client: httpx.AsyncClient, body: bytes, further: Mapping[str, str]
    ) -> tuple[Reply, str | None]:
        headers = {
            **further,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": f"t2ibench/{__version__}",
            **self._key.headers(),
        }
        async with client.stream("POST", self.url, content=body, headers=headers) as response:
            good = response.status_code == 200
            data = await (whole_body(response, self._largest) if good else first_part(response))
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
    """Wait between two attempts."""
    await asyncio.sleep(seconds)
