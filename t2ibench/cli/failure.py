"""Report user errors as one line on standard error, with an exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from t2ibench.cli import termination
from t2ibench.errors import (
    T2IBenchError,
    first_line,
    one_line,
    shown_path,
    visible_lines,
)
from t2ibench.redaction import redacted
from t2ibench.store.file_errors import why

TRACEBACK = "T2IBENCH_TRACEBACK"
SAVED = "Everything done so far is kept."
# Errors of a write to a stream that cannot be written.
_STREAM = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG}
# The last is what Linux says of a library for which there is no room.
_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "failed to map segment from shared object",
)
# What Python says of a limit on a user's processes, such as ulimit -u or that of a container.
_THREADS = "can't start new thread"
_FEWER = "Raise the limit on processes (ulimit -u, or the container's), or end some."
_SMALLER = (
    "Lower --batch-size, or give --dtype float16, a smaller size or offload=model in --model-args; "
    "while scoring, run fewer tasks in one call, or lower --bootstrap or --permutations."
)


def say(line: str) -> None:
    """Write one line to standard error if it is open."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"t2ibench: {line}", file=sys.stderr, flush=True)


def usable_streams() -> None:
    """Make standard output and error usable if they are closed or cannot encode some text."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Its file descriptor is free, so the next opened file would become the stream.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        with contextlib.suppress(AttributeError, ValueError, OSError):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def flush_output(last: str = "") -> OSError | None:
    """Write `last` to standard output and flush it; return the error if that fails."""
    try:
        sys.stdout.write(last)
        sys.stdout.flush()
    except OSError as error:
        # Otherwise Python would report the error a second time at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.stdout.flush()
        return error
    except ValueError:  # a caller has closed it
        return None
    return None


def report_output_error(error: OSError, status: int) -> int:
    """Report that standard output could not be written, and return the exit status."""
    if isinstance(error, BrokenPipeError):
        return status
    reason, advice = why(error, Path("/"))
    say(f"standard output cannot be written: {reason}. {SAVED} {advice or ''}".rstrip())
    return 1


@dataclass(slots=True)
class Outcome:
    """The exit status of a command."""

    status: int = 0


@contextlib.contextmanager
def explained() -> Iterator[Outcome]:
    """Turn every error inside this context into one line and an exit status."""
    import warnings

    outcome = Outcome()
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                # Warnings for developers of libraries, which users cannot act on.
                warnings.simplefilter("ignore")
            termination.in_command(begun=True)
            yield outcome
        if outcome.status == 0:
            termination.command_is_done()
    except KeyboardInterrupt:
        termination.in_command(begun=False)
        if termination.heard():
            say(termination.LINE)
            outcome.status = termination.STATUS
        elif (no_threads := _no_further_threads()) is not None:
            print(file=sys.stderr)
            outcome.status = explain(no_threads)
        else:
            print(file=sys.stderr)
            say(termination.INTERRUPTED)
            outcome.status = termination.INTERRUPTED_STATUS
    except BrokenPipeError:
        outcome.status = 0
    except SystemExit as stop:
        output_error = flush_output()
        if output_error is None:
            raise
        outcome.status = report_output_error(output_error, int(stop.code or 0))
    except GeneratorExit:
        raise
    except BaseException as error:  # libraries written in Rust raise their own kinds
        outcome.status = explain(error)
    finally:
        termination.in_command(begun=False)


def _no_further_threads() -> RuntimeError | None:
    """Return the error of starting a thread; None if the system allows one.

    OpenBLAS, which numpy loads, interrupts its process (SIGINT) where it can start no thread.
    """
    try:
        threading.Thread(target=int, daemon=True).start()
    except RuntimeError as error:
        return error
    return None


def explain(error: BaseException) -> int:
    """Print an error in one line, and return the exit status."""
    print_traceback(error)
    if isinstance(error, T2IBenchError):
        say(str(error))
        return 1
    if isinstance(error, OSError):
        output_error = (
            flush_output("\n")
            if error.errno in _STREAM and error.filename is None
            else None
        )
        if output_error is not None:
            return report_output_error(output_error, 0)
        if error.filename is not None and not _out_of_memory(error):
            path = Path(os.fsdecode(error.filename))
            reason, advice = why(error, path)
            say(
                one_line(
                    f"{shown_path(path)}: {reason}. {advice or ''} {SAVED}".replace(
                        "  ", " "
                    )
                )
            )
            return 1
    what = f"{type(error).__name__}: {first_line(error)}"
    if _out_of_memory(error):
        say(one_line(f"memory ran out ({what}). {SAVED} {_SMALLER}"))
        return 1
    if _THREADS in what:
        say(
            one_line(f"the system allows no further threads ({what}). {SAVED} {_FEWER}")
        )
        return 1
    what = f"unexpected error: {what}; this is a fault of t2ibench."
    say(one_line(f"{what} {SAVED} Please report it with what {TRACEBACK}=1 prints."))
    return 1


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an error, without secrets, if T2IBENCH_TRACEBACK=1 is set."""
    if os.environ.get(TRACEBACK, "") in {"", "0"}:
        return
    # The text of an error may itself raise one.
    with contextlib.suppress(Exception):
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        print(redacted(visible_lines("".join(lines))), end="", file=sys.stderr)


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, (RuntimeError, ImportError)) and any(
        words in str(error) for words in _MEMORY
    )
