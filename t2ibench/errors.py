"""User-facing errors: one clear line, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class T2IBenchError(Exception):
    """Something the user can fix; the command line prints it as one line and exits 1.

    Args:
        message: What is wrong and what was expected.
        hint: The next step, as a sentence.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class TaskFileError(T2IBenchError):
    """One or more problems in task or stimuli files; `problems` holds a line for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        super().__init__(
            "\n".join(self.problems) + f"\n{count} problem{'s' if count != 1 else ''} found."
        )


class MissingEvidence(T2IBenchError):
    """A text or an image that a score needs was never observed.

    Args:
        what: Names it, as the subject of a sentence: "the text 'a nurse'".
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what[:1].upper()}{what[1:]} was never observed.",
            "Run the same command again to complete the evidence.",
        )


def nearest(name: str, options: Iterable[str]) -> str | None:
    """Find the option spelt most like a name.

    Args:
        name: What the user wrote.
        options: What is allowed.

    Returns:
        The option, or None if none is close.
    """
    choices = sorted(set(options))
    lowered = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Suggest the option spelt most like a name, to append to a message.

    Args:
        name: What the user wrote.
        options: What is allowed.

    Returns:
        " Did you mean 'x'?", or an empty string if none is close.
    """
    suggestion = nearest(name, options)
    return f" Did you mean '{suggestion}'?" if suggestion else ""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class where it has none.

    Args:
        error: What was raised.

    Returns:
        One line, of at most 300 characters.
    """
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300]


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn the exceptions of an adapter's or a plug-in's own code into one line.

    Args:
        what: Begins the line, up to the class of the exception: "The encoder 'x' failed with".

    Yields:
        Nothing.

    Raises:
        T2IBenchError: what was raised; one that is already a `T2IBenchError` passes unchanged.
    """
    try:
        yield
    except T2IBenchError:
        raise
    except Exception as error:
        raise T2IBenchError(f"{what} {type(error).__name__}: {first_line(error)}") from error
