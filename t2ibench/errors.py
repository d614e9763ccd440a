"""User-facing errors: one clear line, no traceback."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from t2ibench.redaction import redacted

# What a terminal obeys instead of showing it, or shows as nothing: control characters, line and
# paragraph separators, bidirectional controls, zero-width characters, lone surrogates. The two
# joiners that scripts and emoji need are not among them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LAYOUT = {"\n", "\r\n", "\t"}
_VALUE = 120  # characters of a value that a message shows
_LINE = 2000  # characters of a line
_LONGEST_NAME = 200  # of anything that could be misspelt


def visible(text: str) -> str:
    r"""A text with every character that a terminal would obey, or not show, as its escape.

    Examples:
        >>> print(visible("a\nb\u202ec"))
        a\nb\u202ec
    """

    def escape(match: re.Match[str]) -> str:
        return match.group().encode("unicode_escape").decode("ascii")

    return _UNSEEN.sub(escape, text)


def visible_lines(text: str) -> str:
    """A text of several lines, such as a table, as `visible` shows one."""
    return "".join(
        part if part in _LAYOUT else visible(part)
        for part in re.split("(\r?\n|\t)", text)
    )


def shown(value: object, width: int = _VALUE) -> str:
    """A value as messages show it: in one line, visible, and not longer than a reader needs.

    Examples:
        >>> shown("short"), shown("x" * 5000, 3)
        ('short', 'xxx… (5000 characters)')
    """
    text = str(value)
    if len(text) <= width:
        return visible(text)
    return f"{visible(text[:width])}… ({len(text)} characters)"


def one_line(text: str) -> str:
    """A message in one visible line; of a very long one, the middle is left out."""
    if len(text) > _LINE:
        left_out = len(text) - _LINE
        head, tail = text[: _LINE * 2 // 3], text[-(_LINE // 3) :]
        text = f"{head} … ({left_out} characters left out) … {tail}"
    return redacted(visible(text))


class T2IBenchError(Exception):
    """Something the user can fix; the command line prints it as one line and exits 1.

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
    """No further image may be made, because of --max-cost."""


class TaskFileError(T2IBenchError):
    """One or more problems in task or stimuli files, a line for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = [one_line(problem) for problem in problems]
        count = len(self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} found.")
        self.message = "\n".join([*self.problems, self.message])


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
    """Find the option spelt most like a name."""
    if len(name) > _LONGEST_NAME:
        return None
    choices = sorted(set(options))
    lowered = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Suggest the option spelt most like a name, to append to a message."""
    suggestion = nearest(name, options)
    return f" Did you mean '{suggestion}'?" if suggestion else ""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class where it has none."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # an exception of other people's code, whose own text raises
        lines = []
    return redacted(visible((lines[0] if lines else type(error).__name__)[:300]))


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn the exceptions of an adapter's or a plug-in's own code into one line."""
    try:
        yield
    except T2IBenchError:
        raise
    except (
        Exception,
        SystemExit,
    ) as error:  # code that ends the program has failed, too
        raise T2IBenchError(
            f"{what} {type(error).__name__}: {first_line(error)}"
        ) from error


def check_installed(module: str, extra: str) -> None:
    """Check that a package of one of t2ibench's extras is there; it is not imported."""
    found = find_spec(module)
    # wandb keeps its files in a folder of its own name, which looks like a package.
    if found is None or found.origin is None:
        raise T2IBenchError(
            f"{module} is not installed.", f"pip install 't2ibench[{extra}]'"
        )
