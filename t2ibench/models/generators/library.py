"""Images through a client library that waits for its answer: the retries and limits are ours."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from t2ibench.errors import first_line
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, Received
from t2ibench.models.generators.image_replies import (
    Images,
    Sender,
    UnusableServerError,
    drawn_of,
)
from t2ibench.models.generators.request_fields import Fields
from t2ibench.models.http import Reply, ServerAwayError, pause
from t2ibench.models.protocols import Drawn, ImageRequest
from t2ibench.models.retries import BUSY, RATE_LIMITED, Failure, Patience, seconds_asked
from t2ibench.models.throttle import Throttle

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
_LARGEST = 100_000_000
_FIRST_ATTEMPTS = 2
_WORTH_SAYING = 5.0
_AWAY = ("connect", "timeout", "network", "protocol", "readerror", "incompleteread")


@dataclass(frozen=True, slots=True)
class Library:
    """How a client library is called.

    Attributes:
        call: From prompt, number of images and optional fields to images, or to the pixels of one.
            It may raise whatever the library raises.
        code_of: The code that stands for an exception of the library, such as
            'content_policy_violation'; None where it stands for none.
        hopeless: Exceptions that mean that no call can work.
    """

    call: Callable[[str, int, Mapping[str, Any]], Images | Image]
    code_of: Callable[[Exception], str | None]
    hopeless: tuple[type[Exception], ...]


class LibraryImages:
    """Asks for images through a library (see hosted.Backend).

    Args:
        library: How it is called.
        where: What messages call it.
        key: What is hidden from what it says.
        args: Settings and limits.
        settings: What decides an image beside the arguments.
        price: What an image costs by the library's own table.
    """

    def __init__(
        self,
        library: Library,
        where: str,
        key: ApiKey,
        args: HostedArguments,
        settings: Mapping[str, Any],
        price: float | None = None,
    ) -> None:
        self.where = where
        self.settings: Mapping[str, Any] = {**settings, **args.deciding()}
        self.price = price
        self._library = library
        self._key = key
        self._timeout = float(args.timeout)
        self._base = args.base_url or "https://0.0.0.0"
        self._sender = Sender(self._base, ApiKey("T2IBENCH_NO_KEY"), _LARGEST, self._timeout)
        self._fields = Fields(where, key, args, {})
        self._patience = Patience(args.retries)
        self._answered = False

    def report(self, tell: Callable[[str], None]) -> None:
        """Say what the server does not take, and when it is waited for."""
        self._fields.tell = tell

    def effective(self) -> Mapping[str, Any]:
        """What the server took; empty before its first image."""
        return self._fields.effective()

    async def ask(self, requests: Sequence[ImageRequest], throttle: Throttle) -> Received:
        """Ask for images of one prompt; see `hosted.Backend`."""
        prompt, waits = requests[0].prompt, self._patience.request()
        while True:
            optional = self._fields.of(requests[0])
            found = await self._attempt(prompt, len(requests), optional)
            if isinstance(found, Received):
                self._fields.took(optional)
                self._patience.answered()
                return found
            if isinstance(found, Reply):
                if not self._fields.left_out(found, optional, prompt):
                    self._patience.answered()
                    return Received(self._fields.declined(found, len(requests)))
                continue
            throttle.failed(found)
            self._answered |= found.answered
            wait = waits.after(found)
            if wait is None or (not self._answered and waits.made >= _FIRST_ATTEMPTS):
                times = "once" if waits.made == 1 else f"{waits.made} times"
                raise ServerAwayError(f"{self.where} {found.why}; tried {times}.")
            if wait >= _WORTH_SAYING:
                self._fields.tell(f"{self.where} {found.why}; the next attempt is in {wait:.0f} s.")
            await pause(wait)

    async def _attempt(
        self, prompt: str, images: int, optional: Mapping[str, Any]
    ) -> Received | Reply | Failure:
        try:
            found = await asyncio.wait_for(
                _in_thread(lambda: self._library.call(prompt, images, optional)), self._timeout
            )
        except (TimeoutError, asyncio.TimeoutError):
            return Failure(f"does not answer within {self._timeout:g} s")
        except UnusableServerError:
            raise
        except Exception as error:
            return self._read(error)
        self._answered = True
        if not isinstance(found, Images):
            return Received((Drawn("ok", found),), 1)
        outcomes = await asyncio.gather(
            *(drawn_of(item, self._key, self._sender) for item in found.items[:images])
        )
        missing = Drawn("filtered", reason="the reply has no image, as where a filter takes it")
        made = sum(item.blocked is None for item in found.items)
        lacking = [missing] * (images - len(outcomes))
        return Received((*outcomes, *lacking), made, found.cost)

    def _read(self, error: Exception) -> Reply | Failure:
        """An exception of the library as what a server replied, or as no answer."""
        response = getattr(error, "response", None)
        status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
        words = self._key.hide(first_line(error))
        kind = type(error).__name__
        away = any(word in kind.lower() for word in _AWAY)
        if isinstance(status, int) and status >= 300 and not away:
            reply = Reply(status, self._body(error, response), self._key)
            if status not in BUSY or self._library.code_of(error):
                return reply
            headers = getattr(response, "headers", None) or {}
            wait = seconds_asked(headers.get("retry-after"))
            return Failure(f"replied with status {status}", status == RATE_LIMITED, wait, True)
        if isinstance(error, self._library.hopeless):
            raise UnusableServerError(f"{self.where}: {words.rstrip('.')} ({kind}).") from None
        if away or isinstance(error, OSError):
            return Failure(f"cannot be reached ({kind})")
        raise error

    def _body(self, error: Exception, response: Any) -> bytes:
        code = self._library.code_of(error)
        text = getattr(response, "text", None) if code is None else None
        try:
            if isinstance(text, str) and isinstance(json.loads(text), dict):
                return text.encode()
        except ValueError:
            pass
        return json.dumps({"error": {"message": str(error), "code": code}}).encode()


async def _in_thread(work: Callable[[], T]) -> T:
    """The result of work in a thread that does not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            result, error = work(), None
        except Exception as raised:
            result, error = None, raised
            if isinstance(raised, StopIteration):  # no future can carry it
                error = RuntimeError("the library stopped")
        loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await future
