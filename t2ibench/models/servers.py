"""Ask models on servers: retries, waits, and many requests at a time.

Requests run on an event loop in a thread of its own, because only there can a deadline end one
wherever it hangs: in the connection, in the headers, or in a body that comes byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache
from ssl import SSLWantReadError
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.api_key import ApiKey
from t2ibench.models.proxies import ask_loopback_directly, proxy_advice, through_proxy
from t2ibench.models.server_errors import (
    BadReplyError,
    LongWaitError,
    Reply,
    ServerAwayError,
    UnusableServerError,
    one_line,
)
from t2ibench.models.server_states import (
    filter_took,
    is_busy,
    is_long_limit,
    is_unpaid,
    takes_no_images,
    unpaid_code,
)
from t2ibench.models.tls_problems import tls_problem
from t2ibench.models.waits import in_words, names_day_quota, seconds_to_wait

if TYPE_CHECKING:
    from tenacity import RetryCallState

K = TypeVar("K")
T = TypeVar("T")
_OPENAI = "https://api.openai.com/v1"
LARGEST_REPLY = 8_000_000  # bytes, unpacked
_RATE_LIMITED = 429
_PATIENCE = 300.0  # seconds without any answer, after which requests fail
_LONGEST_WAIT = 30.0  # seconds, unless the server asks for more
_WORTH_SAYING = 5.0  # seconds; shorter waits are not announced
_NO_WORDS = re.compile(r"Error code: \d+")
_WORDS = 160  # characters of a busy server's message that are shown
# Parts of the names of library exceptions that mean there was no answer at all.
_AWAY = (
    "connect",
    "timeout",
    "network",
    "protocol",
    "readerror",
    "incompleteread",
    "proxyerror",
)
_EXAMPLE = "expected an address such as http://127.0.0.1:8000/v1"
_ARGUMENTS = "--model-args, --judge-args, --rewriter-args or --proposer-args"


class ServerArguments(Arguments):
    """Where a server is, and how long it is waited for.

    The key itself is never an argument, because arguments are stored with the run.

    Attributes:
        base_url: The address of the server.
        api_key_env: The environment variable that has the key.
        timeout: Seconds of one attempt, until the last byte.
        retries: Number of attempts; waiting for a rate limit does not count as one.
        first_attempts: Number of attempts at a server that has not answered anything yet.
        largest_reply: Bytes of the largest reply that is read, unpacked.
    """

    first_attempts: ClassVar[int | None] = None
    largest_reply: ClassVar[int] = LARGEST_REPLY

    base_url: str | None = None
    api_key_env: str | None = None
    timeout: PositiveInt = 120
    retries: PositiveInt = 5


def checked_address(base_url: str) -> str:
    """Return a server's address without a final slash; raise an error if it is invalid."""
    import httpx

    try:
        parts = urlsplit(base_url)
        valid = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
        )
        httpx.URL(base_url)
    except (ValueError, httpx.InvalidURL):  # http://[::1, or a port that is no number
        parts, valid = None, False
    # An address that may contain a password or a key is not shown.
    shown = f"base_url={base_url}" if not set("@?#") & set(base_url) else "base_url"
    if parts is None or not valid or not base_url.isprintable() or " " in base_url:
        raise T2IBenchError(f"{' '.join(shown.split())[:200]}: {_EXAMPLE}.")
    if "@" in parts.netloc or set("?#") & set(base_url):
        what = (
            "user name or a password" if "@" in parts.netloc else "query or a fragment"
        )
        raise T2IBenchError(
            f"base_url has a {what} in it: {_EXAMPLE}.",
            "Addresses are stored with the run. Put a key into the environment variable that "
            "api_key_env names.",
        )
    return base_url.rstrip("/")


class Failure(Exception):
    """Raised if a request has no answer yet, with the reason.

    Attributes:
        why: The reason, in words that follow 'The server …'.
        limited: Whether the server asks for fewer requests, so that waiting alone will help.
        wait: Seconds that the server asks to wait; None if it does not say.
        answered: Whether there was an answer at all.
        lasting: Whether the server names a limit for a day or longer.
    """

    def __init__(
        self,
        why: str,
        limited: bool = False,
        wait: float | None = None,
        answered: bool = False,
        lasting: bool = False,
    ) -> None:
        super().__init__(why)
        self.lasting = lasting
        self.why, self.limited, self.wait, self.answered = why, limited, wait, answered


class Server:
    """A server behind a client library, asked again if it is busy or briefly unavailable.

    A request is repeated until as many attempts have failed as the arguments say. A rate limit does
    not count as a failure; the request waits. Both end once the server has answered nothing at all
    for five minutes, so that requests do not wait one after the other for a server that is down. A
    server that asks for a longer wait than that is not waited for at all.

    Attributes:
        tell: Gets a sentence about every longer wait, from another thread.
        failed: Gets every failed attempt, from another thread.

    Args:
        where: How messages name the server.
        key: Its key.
        args: Its arguments.
        address: Its address, to which a proxy may apply.
        code_of: Returns the code that a library's exception stands for, such as
            'content_policy_violation'; None if there is none.
        hopeless: Exceptions of the library after which no call can succeed.
    """

    def __init__(
        self,
        where: str,
        key: ApiKey,
        args: ServerArguments,
        *,
        address: str | None = None,
        code_of: Callable[[Exception], str | None] = lambda _: None,
        hopeless: tuple[type[Exception], ...] = (),
    ) -> None:
        self.where = where
        self.address = address
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
        self._announced_until = 0.0

    def names(self) -> list[str]:
        """Return the server's host name in a list, to ignore it in messages; empty if unknown."""
        host = urlsplit(self.address or "").hostname
        return [host] if host else []

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        """Return what a call of the library returns, or the server's reply to a failed call."""
        from tenacity import (
            AsyncRetrying,
            retry_if_exception_type,
            wait_exponential,
            wait_random,
        )

        failures: list[Failure] = []
        backoff = wait_exponential(0.5, _LONGEST_WAIT) + wait_random(0, 0.25)
        began = monotonic()
        ends = 0.0

        async def attempt() -> T | Reply:
            nonlocal ends
            try:
                answer = await self._attempt(call)
            except Failure as failure:
                now = monotonic()
                self._silent_since = (
                    now if self._silent_since is None else self._silent_since
                )
                ends = min(ends or now + _PATIENCE, self._silent_since + _PATIENCE)
                self._answered |= failure.answered
                failures.append(failure)
                with contextlib.suppress(Exception):
                    self.failed(failure)
                if failure.lasting or (failure.wait or 0.0) > _PATIENCE:
                    raise self._too_long(failure) from None
                raise
            self._answered, self._silent_since = True, None
            return answer

        def delay(state: RetryCallState) -> float:
            asked = failures[-1].wait or 0.0
            return min(
                max(backoff(state), asked + wait_random(0, 0.5)(state)),
                ends - monotonic(),
            )

        def stop(_: RetryCallState) -> bool:
            errors = sum(not failure.limited for failure in failures)
            hasty = not self._answered and len(failures) >= self._first_attempts
            return errors >= self._attempts or hasty or monotonic() >= ends

        def announce(state: RetryCallState) -> None:
            self._announce(failures[-1], state.upcoming_sleep, ends - monotonic())

        try:
            return await AsyncRetrying(
                sleep=pause,
                stop=stop,
                wait=delay,
                retry=retry_if_exception_type(Failure),
                before_sleep=announce,
                reraise=True,
            )(attempt)
        except Failure as failure:
            raise self._given_up(failure, len(failures), monotonic() - began) from None

    def _too_long(self, failure: Failure) -> LongWaitError:
        """Return the error for a server that asks for a longer wait than is allowed."""
        if (failure.wait or 0.0) <= _PATIENCE:
            return LongWaitError(
                f"The server {self.where} {failure.why}: this limit is for a day or longer, and "
                f"it is waited for {in_words(_PATIENCE)} at most.",
                "What was made is kept; run the same command again when the limit is renewed, or "
                "after it was raised, and it goes on.",
            )
        wait = in_words(failure.wait or 0.0)
        return LongWaitError(
            f"The server {self.where} {failure.why} and asks to wait {wait}; it is waited for "
            f"{in_words(_PATIENCE)} at most.",
            f"What was made is kept; run the same command again in {wait}, and it goes on.",
        )

    def _given_up(
        self, failure: Failure, attempts: int, seconds: float
    ) -> ServerAwayError:
        """Return the error for a server that still fails after several attempts."""
        times = "once" if attempts == 1 else f"{attempts} times"
        within = f" in {in_words(seconds)}" if seconds >= _WORTH_SAYING else ""
        advice = proxy_advice(self.address)
        if failure.answered:
            advice = "Run the same command again later; what was made is kept."
        elif advice is None and self.where.startswith("http"):
            advice = (
                f"Check that it is running and that base_url=… (in {_ARGUMENTS}) is its "
                "address, with http:// or https:// as it speaks."
            )
        where = f"{self.where}{through_proxy(self.address)}"
        return ServerAwayError(
            f"The server {where} {failure.why}; tried {times}{within}.", advice
        )

    async def _attempt(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        task = asyncio.ensure_future(call())
        try:
            # Not wait_for: before Python 3.12 it may take a cancellation for the end of the task.
            done, _ = await asyncio.wait({task}, timeout=self._timeout)
            if not done:
                raise Failure(f"does not answer within {self._timeout:g} s")
            result = task.result()
            return (
                self._taken(result.as_it_says())
                if isinstance(result, Reply)
                else result
            )
        except (Failure, T2IBenchError):
            raise
        except Exception as error:
            return self._read(error)
        finally:
            task.cancel()

    def _read(self, error: Exception) -> Reply:
        """Return the server's reply in a library's exception; raise an error if it has none."""
        chain = _chain_of(error)
        for cause in chain[1:]:
            if isinstance(cause, T2IBenchError):
                raise cause
        # What waits for a handshake of TLS is no error of its own.
        causes = [cause for cause in chain if not isinstance(cause, SSLWantReadError)]
        kinds = [type(cause).__name__ for cause in causes]
        away = [kind for kind in kinds if any(word in kind.lower() for word in _AWAY)]
        redirect = _redirect_of(chain)
        if redirect is not None:
            return Reply(redirect, b"", self.key)
        response, status = _response_of(chain)
        if isinstance(status, int) and status >= 300 and not away:
            body = _body_of(error, response, self._code_of(error))
            headers = getattr(response, "headers", None)
            return self._taken(Reply(status, body, self.key), headers)
        problem = tls_problem(chain)
        if problem is not None:
            raise ServerAwayError(
                f"The server {self.where}{through_proxy(self.address)} {problem.what}.",
                problem.next_step,
            ) from None
        has_status = isinstance(status, int)
        raise self._without_reply(error, kinds, away, has_status) from None

    def _without_reply(
        self,
        error: Exception,
        kinds: Sequence[str],
        away: Sequence[str],
        has_status: bool,
    ) -> Exception:
        """Return the error of a request that got no reply.

        Args:
            error: A library's exception.
            kinds: The names of its class and of its causes' classes.
            away: Those of them that mean that the server was not reached.
            has_status: Whether the exception has a status all the same.
        """
        words = self.key.hide(first_line(error))
        if isinstance(error, self._hopeless):
            return UnusableServerError(
                f"{self.where}: {words.rstrip('.')} ({kinds[0]})."
            )
        if away or isinstance(error, OSError):
            kind = [*kinds[:1], *away][-1]
            # LiteLLM calls whatever goes wrong in it a connection's error of status 500.
            detail = f": {one_line(words, _WORDS)}" if has_status else ""
            return Failure(f"cannot be reached ({kind}{detail})")
        return BadReplyError(f"{kinds[0]}: {words}")

    def _taken(self, reply: Reply, headers: Any = None) -> Reply:
        """Return a reply that settles the request; raise Failure if the server is only busy."""
        # An image without an error is not searched for a message.
        if reply.status < 300 and b'"error"' not in reply.body:
            return reply
        message = reply.message()
        if filter_took(message.codes) or not is_busy(reply.status, message.codes):
            return reply
        limited = reply.status == _RATE_LIMITED
        body = _json_of(reply)
        wait = seconds_to_wait(headers, body)
        # Google also says "quota" about a limit per minute, but then says how long to wait.
        unpaid = wait is None and is_unpaid(message.codes, message.text)
        if (
            unpaid_code(message.codes)
            or (limited and unpaid)
            or takes_no_images(message.text)
        ):
            return reply
        words = one_line(message.text, _WORDS)
        by_words = wait is None and is_long_limit(message.text)
        raise Failure(
            f"replied with status {reply.status}{f' ({words})' if words else ''}",
            limited,
            wait,
            answered=True,
            lasting=limited and (by_words or names_day_quota(body)),
        )

    def _announce(self, failure: Failure, wait: float, left: float) -> None:
        """Report a wait, once for all requests that wait together."""
        now = monotonic()
        if wait < _WORTH_SAYING or now < self._announced_until:
            return
        self._announced_until = now + wait
        with contextlib.suppress(
            Exception
        ):  # a failing message must not fail the request
            self.tell(
                f"The server {self.where} {failure.why}; the next attempt is in {wait:.0f} s, the "
                f"last one in {in_words(left)} at the latest."
            )


def _response_of(chain: Sequence[BaseException]) -> tuple[Any, int | None]:
    """Return the HTTP response and status behind a chain of exceptions; None where missing."""
    for cause in chain:
        response = getattr(cause, "response", None)
        for source in (cause, response):
            status = getattr(source, "status_code", None)
            if isinstance(status, int):
                return response, status
    return None, None


def _redirect_of(chain: Sequence[BaseException]) -> int | None:
    """Return the status of a redirect behind a chain of exceptions; None if there is none.

    LiteLLM calls a redirect that is not followed a connection's error of status 500.
    """
    for cause in chain:
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(status, int) and 300 <= status < 400:
            return status
    return None


def _json_of(reply: Reply) -> Any:
    """Return the body of a reply as JSON; None if it is not JSON."""
    try:
        return reply.json()
    except BadReplyError:
        return None


def _body_of(error: Exception, response: Any, code: str | None) -> bytes:
    """Return the body of the reply that a library turned into an exception."""
    content = b""
    with contextlib.suppress(Exception):  # a library may not have read it
        content = bytes(response.content)
    if content and code is None:
        return content
    words = str(error)
    # What the openai client says of a reply without a body.
    fields: dict[str, Any] = {"message": "" if _NO_WORDS.fullmatch(words) else words}
    body = getattr(error, "body", None)  # LiteLLM's, of what the provider said
    if isinstance(body, dict):
        inner = body.get("error")
        fields = {**fields, **(inner if isinstance(inner, dict) else body)}
    if code is not None:
        fields["code"] = code
    return json.dumps({"error": fields}, default=str).encode()


class OpenAiServer(Server):
    """A server behind the openai client, which is created with the first request."""

    def __init__(self, path: str, args: ServerArguments) -> None:
        self.base_url = checked_address(args.base_url or _OPENAI)
        ask_loopback_directly(self.base_url)
        key = ApiKey(args.api_key_env or "OPENAI_API_KEY")
        where = self.base_url + path
        super().__init__(where, key, args, address=where)
        self._largest = args.largest_reply
        self.client: Any = None

    def check_access(self) -> None:
        """Raise an error if the server is known to need a key and there is none."""
        host = urlsplit(_OPENAI).hostname  # other servers reply that a key is missing
        if not self.key and urlsplit(self.base_url).hostname == host:
            name = self.key.variable
            raise ServerAwayError(
                f"{host} needs an API key, and {name} is not set.",
                f"Set it with `export {name}=…`, or name a server of your own with base_url=… in "
                f"{_ARGUMENTS}.",
            )

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T | Reply:
        """Ask the server, after creating the client if necessary (see `Server.ask`)."""
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
            # These import modules, which takes a while.
            _ = self.client.chat.completions, self.client.images
            weakref.finalize(self, lambda: submit(below.aclose())).atexit = False
        return await super().ask(call)


class StopHeard(BaseException):
    """Raised if a run was asked to stop while it waited for a server; no answer is discarded.

    It is not an `Exception`, so that no handler takes it for the failure of an image or an answer.
    """


class WaitEndedError(T2IBenchError):
    """Raised if a wait between two attempts ends because the run stops."""


_LISTENING = 0.2  # seconds between two checks whether the run was asked to stop
_stop_asked: Callable[[], bool] | None = (
    None  # None if the process cannot be asked to stop
)
_waits_end = threading.Event()  # once set, no request waits for its next attempt


def heed(stopping: Callable[[], bool]) -> None:
    """Set the function that returns whether this process was asked to stop."""
    global _stop_asked  # noqa: PLW0603
    _stop_asked = stopping


def is_stopping() -> bool:
    """Return whether the run was asked to stop, so that no request waits any longer."""
    return _waits_end.is_set()


async def pause(seconds: float) -> None:
    """Wait some seconds between two attempts, or until the run is asked to stop."""
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0:
        if _waits_end.is_set():
            raise WaitEndedError("The wait for the server ended: the run stops.")
        await asyncio.sleep(min(left, _LISTENING))


# Garbage may be collected, and a client with it closed, while this thread holds the lock.
_LOCK = threading.RLock()


@lru_cache(maxsize=1)
def _event_loop(_process: int) -> asyncio.AbstractEventLoop:
    """Return the event loop of all servers, which the first request of a process starts."""
    loop = asyncio.new_event_loop()
    # Errors of a request are raised where it is awaited; others need not be logged.
    loop.set_exception_handler(lambda *_: None)
    threading.Thread(target=loop.run_forever, name="http", daemon=True).start()
    return loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the event loop of all servers, and return its future."""
    with _LOCK:
        loop = _event_loop(os.getpid())
    return asyncio.run_coroutine_threadsafe(work, loop)


def _send(
    waiting: deque[K],
    begin: Callable[[K], Future[T]],
    room: Callable[[], int],
    running: dict[Future[T], K],
) -> Exception | None:
    """Send requests while there is room; return what one raised that cannot be begun."""
    while not _waits_end.is_set() and waiting and len(running) < room():
        key = waiting.popleft()
        try:
            running[begin(key)] = key
        except Exception as error:
            return error
    return None


def as_they_end(
    waiting: deque[K], begin: Callable[[K], Future[T]], room: Callable[[], int]
) -> Iterator[list[tuple[K, T | T2IBenchError]]]:
    """Send requests, as many at a time as there is room for, and yield results as they end.

    The caller may change what is waiting between two parts. If the generator is closed, requests
    under way are cancelled. Once the run is asked to stop, no request is sent, and requests that
    wait for another attempt end; those that a server is working on are still awaited. If a request
    cannot be begun, as where its image cannot be read, those under way are awaited first: they may
    have been paid for.

    Args:
        waiting: Keys of the requests to send.
        begin: Sends the request of a key; what it raises is raised.
        room: Returns how many requests may run at a time; 0 gives up all that wait.

    Raises:
        StopHeard: the run was asked to stop, and some requests were not answered.
    """
    running: dict[Future[T], K] = {}
    unanswered = False
    problem: Exception | None = None
    try:
        while True:
            if _stop_asked is not None and _stop_asked():
                unanswered = unanswered or bool(waiting)
                _waits_end.set()
            problem = problem or _send(waiting, begin, room, running)
            if not running:
                break
            done, _ = wait(running, timeout=_LISTENING, return_when=FIRST_COMPLETED)
            ended = []
            for future in done:
                key = running.pop(future)
                result = _result_of(future)
                if isinstance(result, WaitEndedError):
                    unanswered = True
                else:
                    ended.append((key, result))
            if ended:
                yield ended
        if problem is not None:
            raise problem
        if unanswered:
            raise StopHeard
    finally:
        _waits_end.clear()
        for future in running:
            future.cancel()


def _chain_of(error: BaseException) -> list[BaseException]:
    """Return an exception and its chain of causes, up to the first that is t2ibench's own."""
    chain = [error]
    while not isinstance(chain[-1], T2IBenchError):
        cause = chain[-1].__cause__ or chain[-1].__context__
        if cause is None or cause in chain:
            break
        chain.append(cause)
    return chain


def _result_of(future: Future[T]) -> T | T2IBenchError:
    """Return the result of a request, or the error with which it ended."""
    try:
        return future.result()
    except T2IBenchError as error:
        return error
    except Exception as error:  # one reply must not affect those to other requests
        return BadReplyError(f"{type(error).__name__}: {first_line(error)}")
