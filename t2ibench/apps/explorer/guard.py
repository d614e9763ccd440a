"""Who may ask the server, how much they may send, and what they are told when something fails."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.tasks.explain import explain

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_LARGEST_BODY = 8_000_000
# A sender reads the answer only after it has sent everything: so much is read, and thrown away.
_DRAINED = 64_000_000
_DRAINED_SECONDS = 10.0
_LINE = 400  # characters of an error
_LOG = logging.getLogger(__name__)


class _TooLargeError(Exception):
    """The body is larger than may be."""


class Guard:
    """Lets in only requests that were meant for this server and, to change things, from its page.

    A page of another site can make a browser send requests here; it cannot forge their Host and
    Origin. Whatever goes wrong is one line of JSON, and one in the terminal where it is a defect.

    Args:
        app: What is guarded.
        hosts: Accepted values of Host.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = set(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            key.decode("latin-1").lower(): v.decode("latin-1") for key, v in scope["headers"]
        }
        answer = _Answer(scope, receive, send)
        refusal = self._refusal(scope["method"], headers)
        if refusal:
            await answer.error(403, refusal)
            return
        try:
            if _length(headers) > _LARGEST_BODY:
                raise _TooLargeError
            await self._app(scope, answer.receive, answer.send)
        except _TooLargeError:
            await answer.drain()
            await answer.error(413, f"more than {_LARGEST_BODY:,} bytes were sent")
        except ClientDisconnect:
            pass
        except ValidationError as error:
            await answer.error(400, _sentence(error))
        except T2IBenchError as error:
            await answer.error(400, " ".join(str(error).split())[:_LINE])
        except Exception as error:  # a defect is told in a line, and ends this request alone
            line = f"{type(error).__name__}: {first_line(error)}"
            _LOG.warning("%s %r failed with %s", scope["method"], scope["path"], line)
            await answer.error(500, line)

    def _refusal(self, method: str, headers: Mapping[str, str]) -> str:
        if headers.get("host") not in self._hosts:
            return "This server answers only to its own address."
        origin = headers.get("origin")
        allowed = {f"http://{host}" for host in self._hosts}
        if origin is not None and origin not in allowed:
            return "Another site may not ask here."
        if method not in {"GET", "HEAD"}:
            if origin is None:
                return "Changes come from the page itself."
            if not headers.get("content-type", "").startswith("application/json"):
                return "Expected JSON."
        return ""


def _sentence(error: ValidationError) -> str:
    """What is wrong with a question."""
    first = error.errors(include_url=False)[0]
    if first["loc"] == ("anchors",) and first["type"] == "too_short":
        return "Choose two anchors first, such as two prompts of the run."
    where = ".".join(map(str, first["loc"]))
    text = explain(first, type(None))
    why = text.removeprefix(f"{where}: ")[:_LINE]
    if why != text and where and first["type"] != "value_error":
        return f"The value of '{where}' does not fit: {why}."
    return f"{why[:1].upper()}{why[1:]}."


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


class _Answer:
    """What comes in and goes out for one request: counted, and with the policy in its headers."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._read = 0
        self._begun = False
        self._ended = False  # the request: nothing more will come

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._read > _LARGEST_BODY:
                raise _TooLargeError
        else:
            self._ended = True
        return message

    async def drain(self) -> None:
        """Read the rest of the request, within bounds."""
        with anyio.move_on_after(_DRAINED_SECONDS):
            while not self._ended and self._read <= _DRAINED:
                try:
                    await self.receive()
                except _TooLargeError:
                    continue

    async def send(self, message: Any) -> None:
        """The next part of the answer."""
        if message["type"] == "http.response.start":
            self._begun = True
            message["headers"] = [
                *message.get("headers", []),
                (b"content-security-policy", _POLICY.encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
                (b"cross-origin-resource-policy", b"same-origin"),
            ]
        await self._send(message)

    async def error(self, status: int, why: str) -> None:
        """A line of JSON, unless an answer has begun already."""
        if not self._begun:
            # What is still to come of the request is not read.
            headers = None if self._ended else {"connection": "close"}
            response = JSONResponse({"error": why}, status_code=status, headers=headers)
            await response(self._scope, self._receive, self.send)
