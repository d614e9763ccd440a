"""SIGTERM, as Slurm, Kubernetes and `kill` send it: the run stops once its batch is stored."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()
_handler: Callable[[int, FrameType | None], None] | None = None
_working = False  # a stage looks for the request itself, between two batches


def ask() -> None:
    """Ask the run to stop after the batch in hand."""
    _asked.set()


def asked() -> bool:
    """Whether the run was asked to stop."""
    return _asked.is_set()


@contextmanager
def between_batches() -> Iterator[None]:
    """Inside, a request to stop waits for who works; at the end it is an interruption."""
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
    """Inside, Ctrl-C waits for the end: what is begun to be stored is stored."""
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
    """Inside, the first SIGTERM asks a run to stop after its batch; the second ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return

    def hear(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        ask()
        if not _working:
            raise KeyboardInterrupt

    global _handler  # noqa: PLW0603
    _handler = hear
    before = signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        _handler = None
        _asked.clear()
        signal.signal(signal.SIGTERM, before)


def heard_again() -> None:
    """Hear SIGTERM again, after a library has taken it for itself."""
    if _handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _handler)
