"""SIGTERM ends any command with one line and exit status 143, from its first moment on.

Nothing but the standard library's smallest modules is imported here: `main` calls this before all
other imports, which may take seconds. A run takes the signal over while it works: it stores the
batch in hand and ends as by Ctrl-C (see `pipeline.stop_request`).
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

STATUS = 128 + signal.SIGTERM if hasattr(signal, "SIGTERM") else 1
LINE = "ended by SIGTERM. Everything done so far is kept."
_in_command = False
_heard = False


def listen() -> None:
    """Handle SIGTERM from now on: at once, or as an interruption once `in_command` was called."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def in_command(*, begun: bool) -> None:
    """Say whether a command is running, which cleans up after itself when it is interrupted."""
    global _in_command  # noqa: PLW0603
    _in_command = begun


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
