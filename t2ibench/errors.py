"""User-facing errors: one clear line, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
    """The option spelt most like `name`, or None where nothing is near."""
    choices = sorted(set(options))
    lowered = {choice.lower(): choice for choice in choices}
    found = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """' Did you mean 'x'?' or an empty string, to append to a message."""
    found = nearest(name, options)
    return f" Did you mean '{found}'?" if found else ""


def first_line(error: BaseException) -> str:
    """What a library says went wrong, on one line; its kind where it says nothing."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300]
