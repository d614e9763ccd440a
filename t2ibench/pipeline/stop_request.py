"""Handling of SIGTERM: the run stops once its current batch is stored."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()
# whether SIGTERM came inside the present context of `on_sigterm`
_terminated = False
_handler: Callable[[int, FrameType | None], None] | None = None
# whether a stage runs, which checks for the request between two batches
_working = False


def ask() -> None:
    """Request that this process's run stops after its current batch."""
    _asked.set()


def asked() -> bool:
    """Return whether this process's run was asked to stop."""
    return _asked.is_set()


def terminated() -> bool:
    """Return whether SIGTERM came inside the present context of `on_sigterm`, not Ctrl-C."""
    return _terminated


@contextmanager
def between_batches() -> Iterator[None]:
    """Let a stop request inside this context wait for workers, then raise KeyboardInterrupt."""
    global _working  # noqa: PLW0603
    _working = True
    try:
        yield
        if _asked.is_set():
            raise KeyboardInterrupt
    finally:
        _working = False
        _asked.clear()


@contextmanager
def held() -> Iterator[None]:
    """Delay Ctrl-C inside this context until current writes are complete."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


@contextmanager
def on_sigterm() -> Iterator[None]:
    """Stop after the batch at a first SIGTERM inside this context, and at once at a second."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may install signal handlers
        return

    def hear(number: int, _: FrameType | None) -> None:
        global _terminated  # noqa: PLW0603
        _terminated = True
        signal.signal(number, signal.SIG_DFL)
        ask()
        if not _working:
            raise KeyboardInterrupt

    global _handler, _terminated  # noqa: PLW0603
    _handler = hear
    before = signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        _handler = None
        _terminated = False
        _asked.clear()
        signal.signal(signal.SIGTERM, before)


def restore_handler() -> None:
    """Restore the handler of SIGTERM after a library has replaced it."""
    if _handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _handler)
