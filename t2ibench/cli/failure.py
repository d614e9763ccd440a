"""What a failure that nothing expected looks like to a user: one line, and a file to report.

Nothing here may fail: every step that can (a full disk, a closed stream) is given up quietly.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError, first_line, one_line, shown
from t2ibench.redaction import of_command
from t2ibench.store.file_errors import why

TRACEBACK = "T2IBENCH_TRACEBACK"
KEPT = "Everything done so far is kept."
# What a write to standard output answers where it cannot be written.
_STREAM = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG}
_LONGEST = 200_000  # characters of a report
# What marks become in a pipe that cannot carry them, such as one of cp1252.
_PLAIN = dict(zip("●○◌─│╌░−–→₁₂²±†…’Σ", "*o.-|-:-->122~+.'S", strict=True))
_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


def say(line: str) -> None:
    """Write one line to standard error, if there is one to write to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"t2ibench: {line}", file=sys.stderr, flush=True)


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    known = (_PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lost)
    return "".join(known), error.end


codecs.register_error("t2ibench.plain", _plain)


def usable_streams() -> None:
    """Make standard output and error usable: closed ones lead nowhere, and any text can go out."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Its number is free: the next file that is opened would be taken for the stream.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        with contextlib.suppress(AttributeError, ValueError, OSError):
            getattr(sys, name).reconfigure(errors="t2ibench.plain")


def flush_output(last: str = "") -> OSError | None:
    """Write what waits for standard output."""
    try:
        sys.stdout.write(last)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # or Python would say it again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.stdout.flush()
        return error
    except ValueError:  # a caller has closed it
        return None
    return None


def output_lost(error: OSError, status: int) -> int:
    """Say that standard output could not be written."""
    if isinstance(error, BrokenPipeError):
        return status
    reason, advice = why(error, Path("/"))
    say(f"standard output cannot be written: {reason}. {KEPT} {advice or ''}".rstrip())
    return 1


@dataclass(slots=True)
class Outcome:
    """What became of a command: its exit status."""

    status: int = 0


@contextlib.contextmanager
def explained(argv: Sequence[str]) -> Iterator[Outcome]:
    """Inside, every error becomes a line and an exit status."""
    import warnings

    outcome = Outcome()
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                # What libraries announce to each other; a user cannot act on it.
                warnings.simplefilter("ignore")
            yield outcome
    except KeyboardInterrupt:
        print(file=sys.stderr)
        say(f"interrupted. {KEPT} Run the same command again to continue.")
        outcome.status = 130
    except BrokenPipeError:
        outcome.status = 0
    except SystemExit as stop:
        lost = flush_output()
        if lost is None:
            raise
        outcome.status = output_lost(lost, int(stop.code or 0))
    except GeneratorExit:
        raise
    except BaseException as error:  # libraries written in Rust raise kinds of their own
        outcome.status = explain(error, argv)


def explain(error: BaseException, argv: Sequence[str]) -> int:
    """Say in one line what happened, whatever it was."""
    print_traceback(error)
    if isinstance(error, T2IBenchError):
        say(str(error))
        return 1
    if isinstance(error, OSError):
        lost = flush_output("\n") if error.errno in _STREAM and error.filename is None else None
        if lost is not None:
            return output_lost(lost, 0)
        if error.filename is not None:
            path = Path(os.fsdecode(error.filename))
            reason, advice = why(error, path)
            say(one_line(f"{shown(path, 400)}: {reason}. {advice or ''} {KEPT}".replace("  ", " ")))
            return 1
    what = f"{type(error).__name__}: {first_line(error)}"
    if _out_of_memory(error):
        say(one_line(f"memory ran out ({of_command(argv).of(what)}). {KEPT} {_smaller(error)}"))
        return 1
    report = write_report(error, argv)
    where = f"Please report it with {report}." if report else f"{TRACEBACK}=1 shows where."
    what = f"unexpected error: {of_command(argv).of(what)}; this is a fault of t2ibench."
    say(one_line(f"{what} {KEPT} {where}"))
    return 1


def print_traceback(error: BaseException) -> None:
    """Print where an error comes from, where the user asked for it (T2IBENCH_TRACEBACK=1)."""
    if os.environ.get(TRACEBACK, "") not in {"", "0"}:
        with contextlib.suppress(OSError, ValueError):
            print(_trace(error), file=sys.stderr)


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _MEMORY)


def _smaller(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return (
            "Run fewer tasks in one call, or lower --bootstrap, --permutations or --batch-size; "
            "stored work is not done again."
        )
    return (
        "Lower --batch-size, or give --dtype float16, a smaller size or offload=model in "
        "--model-args; stored work is not done again."
    )


def _trace(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
    except Exception as again:  # an exception whose own text raises
        lines = [f"{type(error).__name__}, which cannot be shown: {type(again).__name__}\n"]
        lines += traceback.format_tb(error.__traceback__)
    text = "".join(lines)
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        text = f"{text[:half]}\n… {len(text) - _LONGEST} characters left out …\n{text[-half:]}"
    return text


def write_report(error: BaseException, argv: Sequence[str]) -> Path | None:
    """Write what a developer needs: the traceback, versions and the command, without secrets."""
    with contextlib.suppress(Exception):
        data = _report(error, argv).encode(errors="backslashreplace")
        # Readable by its owner alone, and never through a link that waits for it.
        number, name = tempfile.mkstemp(".txt", "t2ibench-error-")
        with os.fdopen(number, "wb") as file:
            file.write(data)
        return Path(name)
    return None


def _report(error: BaseException, argv: Sequence[str]) -> str:
    from datetime import datetime, timezone

    from t2ibench.results.run import environment
    from t2ibench.version import __version__

    secrets = of_command(argv)
    command = secrets.of(shlex.join(["t2ibench", *argv]))
    versions = "\n".join(f"  {name} {version}" for name, version in environment().items())
    return (
        f"t2ibench {__version__}, {datetime.now(timezone.utc).isoformat(timespec='seconds')}\n"
        f"Command: {command}\n{versions}\n\n{secrets.of(_trace(error))}"
    )
