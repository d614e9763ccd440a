"""Who may ask the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_LARGEST_BODY = 8_000_000


class Guard:
    """Lets in only requests that were meant for this server and, to change things, from its page.

    A page of another site can make a browser send requests here; it cannot forge their Host and
    Origin.

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
        headers = {key.decode().lower(): value.decode("latin-1") for key, value in scope["headers"]}
        refusal = self._refusal(scope["method"], headers)
        if refusal:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    (b"content-security-policy", _POLICY.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                ]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, method: str, headers: dict[str, str]) -> str:
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
            if int(headers.get("content-length") or 0) > _LARGEST_BODY:
                return "Too large."
        return ""
