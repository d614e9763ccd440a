"""Wait for the jobs of a ComfyUI server: told by its websocket, or by looking at its queue."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from t2ibench.models.generators.comfyui.client import ComfyServer, Queue
from t2ibench.models.generators.comfyui.websocket import messages_of
from t2ibench.models.server_errors import BadReplyError, UnusableServerError
from t2ibench.models.servers import WaitEndedError, is_stopping

_FIRST_LOOK = 0.05  # seconds until the first look at a job; each wait is longer
_GROWTH = 1.5
_LOOK = 1.0  # seconds between two looks at a job that the websocket does not tell about
_LOOK_BESIDE_SOCKET = 3.0  # the same where it does
_MISSED = 5  # looks at which a job is nowhere, after which the server has lost it
_BEHIND = 5.0  # seconds of waiting behind other jobs after which the user is told
# A job that comes no nearer to its turn is waited for so many times as long as an image may take:
# other people's jobs may be videos, which take an hour.
_PATIENCE = 12
# Messages of a job's end that hurry a look at it; two or three are usual.
_MOST_HURRIES = 10
_ENDS = {"execution_success", "execution_error", "execution_interrupted"}


class _Turn:
    """How near a job that waits has come to its turn.

    Attributes:
        since: When it came nearer the last time.
    """

    def __init__(self, posted: float) -> None:
        self.since = posted
        self._nearest: int | None = None

    def look(self, before: int, now: float) -> None:
        """Take note of how many jobs come before it."""
        if self._nearest is None or before < self._nearest:
            self._nearest, self.since = before, now


class Jobs:
    """Waits for jobs; one look at the queue serves all of them.

    Attributes:
        tell: Gets a sentence about a long wait behind other jobs.
        posted: The ids of jobs that this process posted and that have not ended.
    """

    def __init__(self, server: ComfyServer, client: str, timeout: float) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        self.posted: set[str] = set()
        self._server = server
        self._client = client
        self._timeout = timeout
        self._events: dict[str, asyncio.Event] = {}
        self._hurried: Counter[str] = Counter()
        self._queue: Queue | None = None
        self._looked = 0.0
        self._lock: asyncio.Lock | None = None
        self._listener: asyncio.Task[None] | None = None
        self._is_connected = False
        self._has_said = False
        self._quiet_until = 0.0

    async def outcome(self, job: str) -> Mapping[str, Any] | None:
        """Return what the history says of a job once it has ended; None if it is lost.

        Raises:
            BadReplyError: it took too long, and was stopped.
            UnusableServerError: it waits, and the server has worked on nothing for as long; or it
                came no nearer to its turn for twelve times as long.
            WaitEndedError: the run stops, and the job had not begun.
        """
        self._listen()
        event = self._events.setdefault(job, asyncio.Event())
        wait = _FIRST_LOOK
        missed = 0
        asked = posted = monotonic()
        begun: float | None = None
        idle_since: float | None = None
        turn = _Turn(posted)
        try:
            while missed < _MISSED:
                queue = await self._fresh_queue(asked)
                if queue.running:
                    idle_since = None
                elif idle_since is None:
                    idle_since = asked
                if job in queue.pending:
                    await self._stop_if_asked(job)
                    await self._stop_if_idle(job, idle_since)
                    turn.look(queue.before[job], asked)
                    await self._stop_if_stuck(job, monotonic() - turn.since)
                    self._say_behind(queue, job, monotonic() - posted)
                    self._say_stuck(monotonic() - turn.since)
                elif job in queue.running:
                    begun = asked if begun is None else begun
                    if monotonic() - begun > self._timeout:
                        await self._server.cancel([job])
                        raise BadReplyError(
                            f"ComfyUI did not finish the image within {self._timeout:g} s; it was "
                            "stopped (--model-args timeout=…)"
                        )
                else:
                    entry = await self._server.history(job)
                    if entry is not None:
                        return entry
                    missed += 1
                # Messages do not hurry the looks for a job that is nowhere: it would count as lost
                # before the server has had time to put it somewhere.
                if missed:
                    await asyncio.sleep(wait)
                else:
                    with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                        await asyncio.wait_for(event.wait(), wait)
                event.clear()
                asked = monotonic()
                longest = (
                    _LOOK_BESIDE_SOCKET if self._is_connected and not missed else _LOOK
                )
                wait = min(longest, wait * _GROWTH)
            return None
        finally:
            self._events.pop(job, None)
            self._hurried.pop(job, None)

    async def _fresh_queue(self, asked: float) -> Queue:
        """Return the queue as it is after the moment `asked`, which others may have looked up."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            if self._queue is None or self._looked < asked:
                looked = monotonic()
                self._queue = await self._server.queue()
                self._looked = looked
            return self._queue

    async def _stop_if_asked(self, job: str) -> None:
        if is_stopping():
            await self._server.cancel([job])
            self.posted.discard(job)
            raise WaitEndedError("The wait for ComfyUI ended: the run stops.")

    async def _stop_if_idle(self, job: str, idle_since: float | None) -> None:
        """Raise an error if the server has worked on nothing for too long; None if it works.

        A server whose thread for jobs has died still takes jobs, and runs none of them.
        """
        if idle_since is not None and monotonic() - idle_since > self._timeout:
            await self._server.cancel([job])
            self.posted.discard(job)
            raise UnusableServerError(
                f"ComfyUI at {self._server.where} works on nothing, though jobs have waited in "
                f"its queue for {self._timeout:g} s.",
                "Look at what it logs, and restart it; the same command goes on.",
            )

    async def _stop_if_stuck(self, job: str, seconds: float) -> None:
        """Raise an error if a job came no nearer to its turn for too long."""
        most = _PATIENCE * self._timeout
        if seconds > most:
            await self._server.cancel([job])
            self.posted.discard(job)
            raise UnusableServerError(
                f"ComfyUI at {self._server.where} works on other jobs, and an image of this run "
                f"came no nearer to its turn for {most:g} s.",
                "Look at its queue, and stop the job that does not end; the same command goes on. "
                "A larger timeout in --model-args waits longer.",
            )

    def _say_stuck(self, seconds: float) -> None:
        """Say, once in as many seconds as an image may take, that the queue does not move."""
        now = monotonic()
        if seconds < self._timeout or now < self._quiet_until:
            return
        self._quiet_until = now + self._timeout
        left = max(0.0, _PATIENCE * self._timeout - seconds)
        self.tell(
            f"The queue of ComfyUI at {self._server.where} has not moved for {seconds:.0f} s. If "
            "the job that it works on does not end, stop it in ComfyUI. This run waits for "
            f"{left:.0f} s more; Ctrl-C ends it now, and the same command goes on."
        )

    def _say_behind(self, queue: Queue, job: str, seconds: float) -> None:
        """Say once that other people's jobs come first."""
        everything = queue.running | queue.pending
        others = len(everything - self.posted - {job})
        if others and seconds > _BEHIND and not self._has_said:
            self._has_said = True
            plural = "" if others == 1 else "s"
            self.tell(
                f"ComfyUI at {self._server.where} has {others} job{plural} of others in its queue; "
                "they are waited for."
            )

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        """Wake whoever waits for a job that the server's websocket says has ended.

        Where the library is missing, or the connection breaks, jobs are looked up more often.
        """
        messages = messages_of(self._server, self._client)
        try:
            async with contextlib.aclosing(messages):
                async for message in messages:
                    self._is_connected = True
                    self._wake(message)
        except asyncio.CancelledError:
            raise
        # Whatever breaks here costs no image: the queue and the history have everything, too.
        except Exception:
            pass
        finally:
            self._is_connected = False
            for event in self._events.values():
                event.set()

    def _wake(self, message: str) -> None:
        try:
            event = json.loads(message)
            kind, data = event["type"], event["data"]
            job = data.get("prompt_id")
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return
        is_over = kind in _ENDS or (kind == "executing" and data.get("node") is None)
        if is_over and job in self._events and self._hurried[job] < _MOST_HURRIES:
            self._hurried[job] += 1
            self._events[job].set()

    async def close(self) -> None:
        """Cancel what this process posted and did not get, and end the websocket."""
        left, self.posted = self.posted, set()
        listener, self._listener = self._listener, None
        try:
            await self._server.cancel(left)
        finally:
            if listener is not None:
                listener.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await listener
