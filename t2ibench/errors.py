"""Errors that users see, as one line without a traceback, and helpers that write their messages."""

from __future__ import annotations

import difflib
import json
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from t2ibench.redaction import redacted

# Characters that control a terminal or are invisible: control characters, line and paragraph
# separators, bidirectional controls, zero-width characters, lone surrogates; not the two joiners
# that scripts and emoji need.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LAYOUT = {"\n", "\r\n", "\t"}
# Characters of a value that a message shows.
_VALUE = 120
# Characters of a path that a message shows.
_PATH = 400
# Characters of a message that are shown.
_LINE = 2000
# What reading JSON may raise that has another form than expected, or is nested too deeply.
UNEXPECTED_JSON = (
    ValueError,
    OverflowError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
# Characters of the longest name for which similar names are suggested.
_LONGEST_NAME = 200
# The most names among which a similar one is looked for; among 20,000 it takes a third of a second.
_MOST_NAMES = 2_000


def visible(text: str) -> str:
    r"""Return a text with each character escaped that a terminal would obey or not show.

    Examples:
        >>> print(visible("a\nb\u202ec"))
        a\nb\u202ec
    """

    def escape(match: re.Match[str]) -> str:
        return match.group().encode("unicode_escape").decode("ascii")

    return _UNSEEN.sub(escape, text)


def visible_lines(text: str) -> str:
    """Return a text of several lines, escaped except for its line breaks and tabs."""
    return "".join(
        part if part in _LAYOUT else visible(part)
        for part in re.split("(\r?\n|\t)", text)
    )


def visible_json(text: str) -> str:
    r"""Return JSON, escaped like other text but with the escapes that JSON has.

    Examples:
        >>> print(visible_json('["a\xadb\U000e0041"]'))
        ["a\u00adb\udb40\udc41"]
    """

    def escape(match: re.Match[str]) -> str:
        character = match.group()
        if character in _LAYOUT:
            return character
        return json.dumps(character).strip('"')

    return _UNSEEN.sub(escape, text)


def shown(value: object, width: int = _VALUE) -> str:
    """Return a value as messages show it: in one line, escaped and shortened.

    Examples:
        >>> shown("short"), shown("x" * 5000, 3)
        ('short', 'xxx… (5000 characters)')
    """
    text = str(value)
    if len(text) <= width:
        return visible(text)
    return f"{visible(text[:width])}… ({len(text)} characters)"


def shown_path(path: object) -> str:
    """Return a path, or the text of one, as messages show it: in one line and shortened."""
    return shown(path, _PATH)


def one_line(text: str) -> str:
    """Return a message in one line, escaped, without secrets, and shortened if it is very long."""
    if len(text) > _LINE:
        left_out = len(text) - _LINE
        head = text[: _LINE * 2 // 3]
        tail = text[-(_LINE // 3) :]
        text = f"{head} … ({left_out} characters left out) … {tail}"
    return redacted(visible(text))


class T2IBenchError(Exception):
    """An error that the user can fix; the command line prints it as one line and exits with 1.

    Args:
        message: What is wrong and what was expected.
        hint: The next step, as a sentence.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = one_line(message)
        self.hint = hint and one_line(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class CostLimitError(T2IBenchError):
    """Raised if the cost limit, --max-cost, allows no further image."""


class TaskFileError(T2IBenchError):
    """Raised for problems in task files or word lists; its message has a line for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = [one_line(problem) for problem in problems]
        count = len(self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} found.")
        self.message = "\n".join([*self.problems, self.message])


class MissingEvidence(T2IBenchError):
    """Raised if a text or an image that a score needs was never embedded or judged.

    Args:
        what: The missing evidence, as the subject of a sentence: "the text 'a nurse'".
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what[:1].upper()}{what[1:]} was never observed.",
            "Run the same command again to complete the evidence.",
        )


def nearest(name: str, options: Iterable[str]) -> str | None:
    """Return the option whose spelling is most similar to a name; None if none is similar."""
    if len(name) > _LONGEST_NAME:
        return None
    choices = sorted(set(options))
    if len(choices) > _MOST_NAMES:
        return None
    lowered = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return ' Did you mean …?' with the most similar option; empty if none is similar."""
    suggestion = nearest(name, options)
    return f" Did you mean '{suggestion}'?" if suggestion else ""


def signal_name(number: int) -> str:
    """Return the name of a signal by which a process was ended.

    Examples:
        >>> signal_name(9), signal_name(999)
        ('SIGKILL', 'signal 999')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its class where it has none."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # str() of an exception of a plug-in may itself raise
        lines = []
    return redacted(visible((lines[0] if lines else type(error).__name__)[:300]))


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn an exception of an adapter or plug-in in this context into a one-line T2IBenchError."""
    try:
        yield
    except T2IBenchError:
        raise
    # Code that calls sys.exit() has failed, too.
    except (Exception, SystemExit) as error:
        raise T2IBenchError(
            f"{what} {type(error).__name__}: {first_line(error)}"
        ) from error


def check_installed(module: str, extra: str) -> None:
    """Raise an error if the package of an extra is not installed, without importing it."""
    package = find_spec(module)
    # wandb writes its files to a folder named wandb, which looks like a package.
    if package is None or package.origin is None:
        raise T2IBenchError(
            f"{module} is not installed.", f"pip install 't2ibench[{extra}]'"
        )
