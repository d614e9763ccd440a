"""`--fail-on`: conditions under which a program that runs t2ibench should stop."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.results.comparison import Contrast, Difference
from t2ibench.results.display import displayed
from t2ibench.results.schema import Headline, Results, Score

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(
    r"\s*([a-z_.]+)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*"
)
_HEADLINE = (
    *("value", "ci_low", "ci_high", "p", "p_holm", "p_bh", "fair_low", "fair_high"),
    *("magnitude", "magnitude_low", "magnitude_high"),
)
_TESTS = ("p", "p_holm", "p_items", "p_items_holm", "detectable")
_DIFFERENCE = ("value", "ci_low", "ci_high", *_TESTS)
RUN = tuple(f"headline.{name}" for name in _HEADLINE)
COMPARISON = (
    *(f"difference.{name}" for name in _DIFFERENCE),
    *(f"{run}.{name}" for run in ("old", "new") for name in _HEADLINE),
)


# A task, why it is not checked at all, its numbers, and what to know where one is missing.
_Row = tuple[str, str | None, Mapping[str, float | None], str]


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a number with a limit.

    Attributes:
        name: Of the number, such as 'headline.ci_low'.
        sign: '>', '>=', '<' or '<='.
        limit: What it is compared with.
    """

    name: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{self.limit:g}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of the gates.

    Attributes:
        failures: A line for each task that a gate stops.
        unchecked: A line for each reason for which tasks could not be checked.
        passed: Number of tasks that were checked and not stopped.
    """

    failures: list[str]
    unchecked: list[str]
    passed: int

    @property
    def failed(self) -> bool:
        """Whether a gate failed; where nothing could be checked, nothing was shown to be well."""
        return bool(self.failures) or (bool(self.unchecked) and not self.passed)


def parse_gates(texts: Sequence[str], names: Sequence[str]) -> list[tuple[Condition, ...]]:
    """Read the values of --fail-on.

    Examples:
        >>> ((condition,),) = parse_gates(["headline.ci_low > .2"], RUN)
        >>> str(condition)
        'headline.ci_low>0.2'
    """
    return [tuple(_condition(part, names) for part in text.split(",")) for text in texts]


def _condition(text: str, names: Sequence[str]) -> Condition:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise T2IBenchError(
            f"--fail-on cannot read '{text}'.",
            f'Write a name, >, >=, < or <=, and a number, such as "{names[1]}>0.2".',
        )
    name, sign, limit = found.groups()
    if name not in names:
        raise T2IBenchError(
            f"--fail-on does not know '{name}'.{did_you_mean(name, names)}",
            f"It knows {', '.join(names)}.",
        )
    return Condition(name, sign, float(limit))


def magnitude(headline: Headline) -> tuple[float | None, float | None, float | None]:
    """How strong a headline is, whichever way it leans, with its interval.

    Examples:
        >>> magnitude(Headline(value=-0.5, ci_low=-0.75, ci_high=-0.25, scale="lean"))
        (0.5, 0.25, 0.75)
    """
    shown = displayed(headline)
    value, low, high = shown.value, shown.low, shown.high
    if not shown.signed or value is None:
        return value, low, high
    if low is None or high is None:
        return abs(value), None, None
    return abs(value), max(0.0, low, -high), max(abs(low), abs(high))


def check_run(gates: Sequence[Sequence[Condition]], results: Results) -> Checked:
    """Try the gates on every task of a run."""
    rows: list[_Row] = []
    for name, task in results.tasks.items():
        numbers = {f"headline.{key}": one for key, one in _numbers(task.headline).items()}
        rows.append((name, "inconclusive" if task.inconclusive else None, numbers, ""))
    return _check(gates, rows)


def check_comparison(
    gates: Sequence[Sequence[Condition]], differences: Sequence[Difference]
) -> Checked:
    """Try the gates on the headlines of every task of two runs."""
    rows: list[_Row] = []
    for one in differences:
        if one.row:
            continue
        change = one.change if one.verdict is not None and one.change else Contrast(math.nan)
        ends = (None if math.isnan(change.value) else change.value, change.low, change.high)
        numbers: dict[str, float | None] = dict(zip(_DIFFERENCE[:3], ends, strict=True))
        numbers |= {name: getattr(one, name) for name in _TESTS}
        told = {f"difference.{name}": number for name, number in numbers.items()}
        for run, score in (("old", one.first), ("new", one.second)):
            told |= {f"{run}.{name}": number for name, number in _numbers(score).items()}
        rows.append((one.task, None, told, "; ".join(one.notes)))
    return _check(gates, rows)


def _numbers(score: Score) -> dict[str, float | None]:
    if not isinstance(score, Headline):
        return {}
    shown = displayed(score)
    numbers = (shown.value, shown.low, shown.high, score.p, score.p_holm, score.p_bh)
    more = (shown.fair_low, shown.fair_high, *magnitude(score))
    return dict(zip(_HEADLINE, (*numbers, *more), strict=True))


def _check(gates: Sequence[Sequence[Condition]], rows: Iterable[_Row]) -> Checked:
    failures: list[str] = []
    unchecked: dict[str, list[str]] = {}
    passed = 0
    for name, why, numbers, remark in rows:
        lacking, stopped = why, []
        for gate in gates if why is None else ():
            known = [(c, value) for c in gate if (value := numbers.get(c.name)) is not None]
            if len(known) < len(gate):
                absent = next(c.name for c in gate if numbers.get(c.name) is None)
                lacking = remark or f"no {absent}"
            elif all(_OPERATORS[c.sign](value, c.limit) for c, value in known):
                told = ", ".join(f"{c.name} is {value:.4g}" for c, value in known)
                stopped.append(f'{name}: {told} (--fail-on "{",".join(map(str, gate))}")')
        failures += stopped
        if lacking and not stopped:
            unchecked.setdefault(lacking, []).append(name)
        passed += not stopped and not lacking
    lines = [f"not checked ({why}): {', '.join(names)}" for why, names in unchecked.items()]
    return Checked(failures, lines, passed)
