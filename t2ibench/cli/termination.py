"""SIGTERM and SIGINT (Ctrl-C) end any command with one line and status 143 or 130, from the start.

Nothing but the standard library's smallest modules is imported here: `main` calls this before all
other imports, which may take seconds. A run takes the signals over while it works: it stores the
batch in hand and ends (see `pipeline.stop_request`).
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

STATUS = 128 + signal.SIGTERM if hasattr(signal, "SIGTERM") else 1
LINE = "ended by SIGTERM. Everything done so far is kept."
INTERRUPTED_STATUS = 128 + signal.SIGINT
INTERRUPTED = "interrupted. Everything done so far is kept. Run the same command again to continue."
INTERRUPTED_AFTERWARDS = "interrupted after the command had done all its work."
_in_command = False
_is_done = False  # the command of this process, with all its work
_heard = False
_ends_by_interruption = False  # once the command ends


def listen() -> None:
    """Handle SIGTERM from now on: at once, or as an interruption once `in_command` was called."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def listen_to_interruptions() -> None:
    """End this process by SIGINT with one line, except while a command works.

    Where SIGINT is ignored, as in a background job of a shell, it stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_by_interruption)


def in_command(*, begun: bool) -> None:
    """Say whether a command is running, which cleans up after itself when it is interrupted."""
    global _in_command, _is_done, _ends_by_interruption  # noqa: PLW0603
    _in_command = begun
    if begun:
        _is_done = False
    # Python's own handler raises KeyboardInterrupt, and libraries look for that handler.
    if begun and signal.getsignal(signal.SIGINT) is _end_by_interruption:
        _ends_by_interruption = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
    elif not begun and _ends_by_interruption:
        _ends_by_interruption = False
        signal.signal(signal.SIGINT, _end_by_interruption)


def command_is_done() -> None:
    """Say that the command has done all its work, so that it need not be run again."""
    global _is_done  # noqa: PLW0603
    _is_done = True


def heard() -> bool:
    """Return whether SIGTERM interrupted the command of this process."""
    return _heard


def _end(number: int, _: FrameType | None) -> None:
    global _heard  # noqa: PLW0603
    # A second one ends a command that does not stop.
    signal.signal(number, signal.SIG_DFL)
    if _in_command:
        _heard = True
        raise KeyboardInterrupt
    os.write(2, f"t2ibench: {LINE}\n".encode())
    os._exit(STATUS)


def _end_by_interruption(_: int, __: FrameType | None) -> None:
    # The terminal has shown ^C.
    line = INTERRUPTED_AFTERWARDS if _is_done else INTERRUPTED
    os.write(2, f"\nt2ibench: {line}\n".encode())
    os._exit(INTERRUPTED_STATUS)
