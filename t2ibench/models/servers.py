"""Models on servers: how long one is waited for, and many requests at a time.

Requests run on an event loop in a thread of its own, because only there can a deadline end one
wherever it hangs: in the connection, in the headers, or in a body that comes byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from time import monotonic, time
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.api_key import ApiKey
from t2ibench.models.server_errors import (
    BadReplyError,
    Reply,
    ServerAwayError,
    UnusableServerError,
)
from t2ibench.redaction import is_secret_name

if TYPE_CHECKING:
    from tenacity import RetryCallState

K = TypeVar("K")
T = TypeVar("T")
_OPENAI = "https://api.openai.com/v1"
LARGEST_REPLY = 8_000_000  # bytes, unpacked
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_RATE_LIMITED = 429
_PATIENCE = 300.0  # seconds without any answer
_LONGEST_WAIT = 30.0  # unless the server asks for more
_WORTH_SAYING = 5.0  # seconds; shorter waits are not announced
# Parts of the names that libraries give to what is no answer at all.
_AWAY = ("connect", "timeout", "network", "protocol", "readerror", "incompleteread")
_EXAMPLE = "expected an address such as http://127.0.0.1:8000/v1"
_ARGUMENTS = "--model-args, --judge-args, --rewriter-args or --proposer-args"


class ServerArguments(Arguments):
    """Where a server is, and how long it is waited for.

    The key itself is never an argument, because arguments are stored with the run: `api_key_env`
    names the environment variable that holds it. `timeout` is of one attempt, in seconds, to the
    last byte; waiting for a rate limit does not count as one of the `retries`. `first_attempts` are
    those at a server that has not answered anything yet, `largest_reply` is in bytes, unpacked.
    """

    first_attempts: ClassVar[int | None] = None
    largest_reply: ClassVar[int] = LARGEST_REPLY

    base_url: str | None = None
    api_key_env: str | None = None
    timeout: PositiveInt = 120
    retries: PositiveInt = 5


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
    if "@" in parts.netloc or set("?#") & set(base_url):
        what = "user name or a password" if "@" in parts.netloc else "query or a fragment"
        raise T2IBenchError(
            f"base_url has a {what} in it: {_EXAMPLE}.",
            "Addresses are stored with the run. Put a key into the environment variable that "
            "api_key_env names.",
        )
    return base_url.rstrip("/")


class Failure(Exception):
    """Why a request has no answer yet: words that follow 'The server …'.

    `limited`: the server asks for fewer requests; it works, and waiting alone will help. `wait` is
    the seconds that it asks to wait, and `answered` whether there was an answer at all.
    """

    def __init__(
        self, why: str, limited: bool = False, wait: float | None = None, answered: bool = False
    ) -> None:
        super().__init__(why)
        self.why, self.limited, self.wait, self.answered = why, limited, wait, answered


class Server:
    """A server behind a client library, asked again where it is busy or away for a moment.

    A request is made again until as many attempts have failed as the arguments say. A rate limit
    is no failure: it is waited for. Both end once the server has answered nothing at all for five
    minutes, so that a server that is gone is not waited for by one request after the other.

    `where` is what messages call it. `code_of` gives the code that stands for an exception of the
    library, such as 'content_policy_violation'; `hopeless` are its exceptions that mean that no
    call can work. `tell` gets a sentence about every longer wait, and `failed` every attempt that
    failed, both from another thread.
    """

    def __init__(
        self,
        where: str,
        key: ApiKey,
        args: ServerArguments,
        *,
        code_of: Callable[[Exception], str | None] = lambda _: None,
        hopeless: tuple[type[Exception], ...] = (),
    ) -> None:
        self.where = where
        self.key = key
        self.tell: Callable[[str], None] = lambda _: None
        self.failed: Callable[[Failure], None] = lambda _: None
        self._timeout = float(args.timeout)
        self._attempts = args.retries
        self._first_attempts = args.first_attempts or args.retries
        self._code_of = code_of
        self._hopeless = hopeless
        self._answered = False
        self._silent_since: float | None = None
        self._told_until = 0.0

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        """What a call of the library brings, or what the server replies instead."""
        from tenacity import (
            AsyncRetrying,
            retry_if_exception_type,
            wait_exponential,
            wait_random,
        )

        failures: list[Failure] = []
        backoff = wait_exponential(0.5, _LONGEST_WAIT) + wait_random(0, 0.25)
        ends = 0.0

        async def attempt() -> T | Reply:
            nonlocal ends
            try:
                found = await self._attempt(call)
            except Failure as failure:
                now = monotonic()
                self._silent_since = now if self._silent_since is None else self._silent_since
                ends = min(ends or now + _PATIENCE, self._silent_since + _PATIENCE)
                self._answered |= failure.answered
                failures.append(failure)
                with contextlib.suppress(Exception):
                    self.failed(failure)
                raise
            self._answered, self._silent_since = True, None
            return found

        def delay(state: RetryCallState) -> float:
            asked = failures[-1].wait or 0.0
            return min(max(backoff(state), asked + wait_random(0, 0.5)(state)), ends - monotonic())

        def stop(_: RetryCallState) -> bool:
            errors = sum(not failure.limited for failure in failures)
            hasty = not self._answered and len(failures) >= self._first_attempts
            return errors >= self._attempts or hasty or monotonic() >= ends

        try:
            return await AsyncRetrying(
                sleep=pause,
                stop=stop,
                wait=delay,
                retry=retry_if_exception_type(Failure),
                before_sleep=lambda state: self._announce(failures[-1], state.upcoming_sleep),
                reraise=True,
            )(attempt)
        except Failure as failure:
            times = "once" if len(failures) == 1 else f"{len(failures)} times"
            address = (
                f"Check that it is running and that base_url=… (in {_ARGUMENTS}) is its address."
                if self.where.startswith("http")
                else None
            )
            raise ServerAwayError(
                f"The server {self.where} {failure.why}; tried {times}.",
                "Run the same command again later." if failure.limited else address,
            ) from None

    async def _attempt(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        task = asyncio.ensure_future(call())
        try:
            # Not wait_for: before Python 3.12 it may take a cancellation for the end of the task.
            done, _ = await asyncio.wait({task}, timeout=self._timeout)
            if not done:
                raise Failure(f"does not answer within {self._timeout:g} s")
            return task.result()
        except (Failure, T2IBenchError):
            raise
        except Exception as error:
            return self._read(error)
        finally:
            task.cancel()

    def _read(self, error: Exception) -> Reply:
        """An exception of a library as what the server replied; raises what is no reply."""
        chain: list[BaseException] = [error]
        while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
            if isinstance(cause, T2IBenchError):
                raise cause
            chain.append(cause)
        kinds = [type(one).__name__ for one in chain]
        away = [kind for kind in kinds if any(word in kind.lower() for word in _AWAY)]
        response: Any = getattr(error, "response", None)
        status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
        if isinstance(status, int) and status >= 300 and not away:
            code = self._code_of(error)
            body = json.dumps({"error": {"message": str(error), "code": code}}).encode()
            with contextlib.suppress(Exception):  # a library may not have read it
                if code is None and response.content:
                    body = bytes(response.content)
            reply = Reply(status, body, self.key)
            limited = status == _RATE_LIMITED
            final = limited and "insufficient_quota" in reply.message().codes
            if status not in _BUSY or final or code:
                return reply
            asked = seconds_asked((getattr(response, "headers", None) or {}).get("retry-after"))
            raise Failure(f"replied with status {status}", limited, asked, True) from None
        if any("CERTIFICATE_VERIFY_FAILED" in str(one) for one in chain):
            raise ServerAwayError(
                f"The certificate of the server {self.where} cannot be verified.",
                "Name your own authority's certificates in SSL_CERT_FILE.",
            ) from None
        words = self.key.hide(first_line(error))
        if isinstance(error, self._hopeless):
            raise UnusableServerError(f"{self.where}: {words.rstrip('.')} ({kinds[0]}).") from None
        if away or isinstance(error, OSError):
            raise Failure(f"cannot be reached ({[*kinds[:1], *away][-1]})") from None
        raise BadReplyError(f"{kinds[0]}: {words}") from None

    def _announce(self, failure: Failure, wait: float) -> None:
        """Say that there is a wait, once for all the requests that wait together."""
        now = monotonic()
        if wait < _WORTH_SAYING or now < self._told_until:
            return
        self._told_until = now + wait
        with contextlib.suppress(Exception):  # to say it is no reason to fail
            self.tell(
                f"The server {self.where} {failure.why}; the next attempt is in {wait:.0f} s."
            )


class OpenAiServer(Server):
    """A server behind the openai client, which the first call makes."""

    def __init__(self, path: str, args: ServerArguments) -> None:
        self.base_url = checked_address(args.base_url or _OPENAI)
        key = ApiKey(args.api_key_env or "OPENAI_API_KEY")
        super().__init__(self.base_url + path, key, args)
        self.address = self.where
        self._largest = args.largest_reply
        self.client: Any = None

    def check_access(self) -> None:
        """Refuse what is known to need a key, before anything is sent."""
        host = urlsplit(_OPENAI).hostname  # others say so themselves
        if not self.key and urlsplit(self.base_url).hostname == host:
            name = self.key.variable
            raise ServerAwayError(
                f"{host} needs an API key, and {name} is not set.",
                f"Set it with `export {name}=…`, or name a server of your own with base_url=… in "
                f"{_ARGUMENTS}.",
            )

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        """The same as `Server.ask`, with the client there before an attempt's time begins."""
        self.check_access()
        if self.client is None:
            from openai import AsyncOpenAI

            from t2ibench.models.http import USER_AGENT, BoundedClient

            # Any: from its version 3 on, openai's types name a copy of httpx.
            below: Any = BoundedClient(self._largest, self.key)
            self.client = AsyncOpenAI(
                base_url=self.base_url,
                api_key="unused",  # the client below sends the key
                max_retries=0,
                timeout=below.timeout,
                http_client=below,
                default_headers={"User-Agent": USER_AGENT},
            )
            _ = self.client.chat.completions, self.client.images  # their modules take a while
            weakref.finalize(self, lambda: submit(below.aclose())).atexit = False
        return await super().ask(call)


def _load_litellm() -> Any:
    """The module; one line where it is not installed."""
    # Its table of prices comes with it; without this, the import asks the network for another.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")  # an extra
    except ImportError as error:
        if error.name != "litellm":
            raise
        raise T2IBenchError(
            "litellm:MODEL needs LiteLLM, which is not installed.",
            "pip install 't2ibench[litellm]'",
        ) from None
    litellm.suppress_debug_info = True
    return litellm


class LitellmServer(Server):
    """What LiteLLM reaches, by its own names, such as bedrock/…, at its own address or another."""

    def __init__(self, model: str, args: ServerArguments) -> None:
        self.library = _load_litellm()
        self.address = checked_address(args.base_url) if args.base_url else None
        # What LiteLLM may take for a key, and a server could send back.
        secrets = [value for name, value in os.environ.items() if is_secret_name(name)]
        super().__init__(
            self.address or f"litellm:{model}",
            ApiKey(args.api_key_env or "T2IBENCH_LITELLM_KEY", also=secrets),
            args,
            code_of=lambda error: (
                "content_policy_violation"
                if isinstance(error, self.library.exceptions.ContentPolicyViolationError)
                else None
            ),
            hopeless=(ImportError, NotImplementedError),
        )
        self._given = {"model": model, "api_base": self.address, "timeout": float(args.timeout)}

    def given(self) -> dict[str, Any]:
        """What every call is given."""
        return {**self._given, "api_key": self.key.value or None, "max_retries": 0}


async def pause(seconds: float) -> None:
    """Wait between two attempts."""
    await asyncio.sleep(seconds)


def seconds_asked(retry_after: str | None) -> float | None:
    """What a server asks for in Retry-After."""
    text = (retry_after or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= 12:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, date.timestamp() - time())


# Garbage may be collected, and a client with it closed, while this thread holds the lock.
_LOCK = threading.RLock()


@lru_cache(maxsize=1)
def _event_loop(_process: int) -> asyncio.AbstractEventLoop:
    """The event loop of all servers, begun with the first request of a process."""
    loop = asyncio.new_event_loop()
    # What a request brings goes to who waits for it; what ends after that is no news.
    loop.set_exception_handler(lambda *_: None)
    threading.Thread(target=loop.run_forever, name="http", daemon=True).start()
    return loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Begin work on the event loop of all servers."""
    with _LOCK:
        loop = _event_loop(os.getpid())
    return asyncio.run_coroutine_threadsafe(work, loop)


def as_they_end(
    waiting: deque[K], begin: Callable[[K], Future[T]], room: Callable[[], int]
) -> Iterator[list[tuple[K, T | T2IBenchError]]]:
    """Begin what waits, as much as there is room for, and give what has ended.

    What waits may change between two parts; where `room` says 0, it is given up. What is under way
    when nobody asks for more is cancelled.
    """
    running: dict[Future[T], K] = {}
    try:
        while True:
            while waiting and len(running) < room():
                key = waiting.popleft()
                running[begin(key)] = key
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            ended: list[tuple[K, T | T2IBenchError]] = []
            for future in done:
                key = running.pop(future)
                try:
                    ended.append((key, future.result()))
                except T2IBenchError as error:
                    ended.append((key, error))
                except Exception as error:  # whatever a reply does, it costs its own answer only
                    ended.append(
                        (key, BadReplyError(f"{type(error).__name__}: {first_line(error)}"))
                    )
            yield ended
    finally:
        for future in running:
            future.cancel()
