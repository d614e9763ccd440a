"""Hear what a ComfyUI server says over its websocket, as long as it does not say too much.

The websocket shares the event loop with all requests. A server that floods it would hold them up,
so that images fail which have long been made.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Any

from t2ibench.models.generators.comfyui.client import ComfyServer

_CONNECT = 20.0  # seconds until the websocket is connected
_LARGEST_FRAME = 4_000_000  # bytes; previews of images come between the messages
_FRAMES = 4  # of them that are held before they are read
# Characters of a message that is read; the end of a job takes a hundred.
_LARGEST_MESSAGE = 100_000
_FAREWELL = 1.0  # seconds for the server to end the connection
# A frame counts as one, and as one more for so many bytes. A job sends some hundred.
_BYTES = 10_000
_MOST_A_SECOND = 1_000.0
_MOST_AT_ONCE = 10_000.0


class Patience:
    """Counts frames, and says when they come faster than they are listened to.

    Args:
        now: The moment from which on it counts, in seconds.

    Examples:
        >>> patience = Patience(now=0.0)
        >>> patience.outlasts(9_999, now=1.0), patience.outlasts(9_999, now=2.0)
        (True, False)
    """

    def __init__(self, now: float) -> None:
        self._left = _MOST_AT_ONCE
        self._then = now

    def outlasts(self, frames: float, now: float) -> bool:
        """Return whether so many more frames are listened to."""
        grown = self._left + (now - self._then) * _MOST_A_SECOND
        self._left, self._then = min(grown, _MOST_AT_ONCE) - frames, now
        return self._left >= 0.0


async def messages_of(server: ComfyServer, client: str) -> AsyncGenerator[str, None]:
    """Yield the messages for a client, the first of which is '' once the websocket is connected.

    Raises:
        ImportError: the library of websockets is not installed.
        Exception: the websocket cannot be connected, or it breaks, or there is too much on it.
    """
    websockets = importlib.import_module("websockets.asyncio.client")
    address = f"ws{server.base_url.removeprefix('http')}/ws?clientId={client}"
    async with websockets.connect(
        address,
        additional_headers=server.key.headers(),
        compression=None,  # a few bytes would become megabytes
        open_timeout=_CONNECT,
        close_timeout=_FAREWELL,
        max_size=_LARGEST_FRAME,
        max_queue=_FRAMES,
        create_connection=_bounded(websockets.ClientConnection),
    ) as socket:
        yield ""
        async for message in socket:
            if isinstance(message, str) and len(message) < _LARGEST_MESSAGE:
                yield message


def _bounded(connection: type[Any]) -> type[Any]:
    """Return the library's class of connections, changed so that a server cannot misuse it.

    The library would follow a redirect to any host, and send the key there. It would also take
    frames without end: pings, whose answers wait in memory for a server that reads none, fragments
    of a message that hold nothing, and the rest of a message that it does not take.
    """

    async def handshake(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            await connection.handshake(self, *args, **kwargs)
        except Exception as error:
            raise ConnectionError("no websocket at this address") from error

    def outlasts(self: Any, frames: float) -> bool:
        now = monotonic()
        if not hasattr(self, "patience"):
            self.patience = Patience(now)
        if self.patience.outlasts(frames, now):
            return True
        self.transport.abort()
        return False

    def data_received(self: Any, data: bytes) -> None:
        if outlasts(self, len(data) / _BYTES):
            connection.data_received(self, data)

    def process_event(self: Any, event: Any) -> None:
        if outlasts(self, 1.0):
            connection.process_event(self, event)

    changed = (handshake, data_received, process_event)
    methods = {method.__name__: method for method in changed}
    return type("Connection", (connection,), methods)
