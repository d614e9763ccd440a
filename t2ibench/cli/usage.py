"""Define flags and their types, one-line usage errors, and groups of commands."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NoReturn

from t2ibench.cli.failure import say
from t2ibench.errors import did_you_mean, shown

LIST = ",…"  # ends the placeholder of a flag that takes several values
VERBOSE = (
    "print results.md too, or every task and prompt with --dry-run "
    "(default: the summary)"
)
_DIGITS = 1000  # most digits of a whole number; Python itself reads at most 4300
_WEEK = 604_800.0  # seconds
_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$", re.DOTALL)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter that preserves examples and wraps one-line descriptions."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return textwrap.fill(
            text, width, initial_indent=indent, subsequent_indent=indent
        )


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line, as are those of its subparsers."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Help)
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the parsed arguments; exit for an unknown flag, suggesting a similar one."""
        parsed, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left))
        return parsed, left

    def _unknown(self, words: Sequence[str]) -> str:
        flag = next((word for word in words if word.startswith("-")), None)
        if flag is None:
            return f"unexpected '{shown(words[0])}'"
        name = flag.partition("=")[0]
        return f"unknown flag '{shown(name)}'.{did_you_mean(name, self._option_string_actions)}"

    def error(self, message: str) -> NoReturn:
        """Print an error in one line, without usage, and exit."""
        text = message.removeprefix("argument ").rstrip(".")
        choice = _CHOICE.search(text)
        if choice:
            options = [option.strip("'") for option in choice[2].split(", ")]
            text = (
                f"{text[: choice.start()]}'{shown(choice[1])}' is not one of "
                f"{', '.join(options)}.{did_you_mean(choice[1], options)}"
            )
        end = "" if text.endswith(("?", ".")) else "."
        say(f"{shown(text, 600)}{end} `{self.prog} --help` says more.")
        raise SystemExit(2)


class Listed(argparse.Action):
    """Action for a flag with several values 'A,B', which accumulate on repetition."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        """Add `values` to those of earlier flags of the same name."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


def add_flag(parser: Any, flag: str, text: str | None = None, **options: Any) -> None:
    """Add a flag such as '--seed N', a switch such as '--json', or the argument 'run RUN'."""
    name, _, metavar = flag.partition(" ")
    if metavar:
        options["metavar"] = metavar
        if metavar.endswith(LIST):
            options["action"] = Listed
    elif name.startswith("-") and "choices" not in options:
        options.setdefault("action", "store_true")
    parser.add_argument(name, help=text, **options)


def add_device(parser: Any, model: str = "the model") -> None:
    """Add --device and --dtype, which select hardware and precision of a model."""
    add_flag(
        parser,
        "--device D",
        f"run {model} on cuda, mps or cpu (default: the best that is available)",
    )
    add_flag(
        parser,
        "--dtype T",
        f"run {model} in float32, float16 or bfloat16 (default: its own)",
    )


def tell_some(
    lines: Sequence[str], tell: Callable[[str], Any], most: int, and_more: str
) -> None:
    """Pass the first `most` lines to `tell`, and a line on how many others there are."""
    for line in lines[:most]:
        tell(line)
    if len(lines) > most:
        tell(and_more.format(len(lines) - most))


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > _DIGITS or int(text) < least:
            problem = f"'{shown(text)}' is not a whole number of {least} or more"
            raise argparse.ArgumentTypeError(problem)
        return int(text)

    return read


positive, not_negative = _whole(1), _whole(0)


def day(text: str) -> str:
    """Return a date such as 2026-05-01 in this form; raise an error if the text is none."""
    return date.fromisoformat(text).isoformat()


def seconds(text: str) -> float:
    """Return the seconds that a text gives, from a tenth to a week; raise an error otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= _WEEK:
        raise argparse.ArgumentTypeError(
            f"'{shown(text)}' is not a number of seconds from 0.1 to {_WEEK:,.0f}"
        )
    return value


def share(text: str) -> float:
    """Return the number between 0 and 1 that a text gives; raise an error if it is none."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(
            f"'{shown(text)}' is not a number between 0 and 1"
        )
    return value
