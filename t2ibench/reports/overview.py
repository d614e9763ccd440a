"""A run as text: the verdict, then every test as a bar on one axis, grouped by family.

The terminal and results.md show it. It fits 80 columns, and says more where there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from t2ibench.reports.cells import signed
from t2ibench.reports.interval_bar import UNICODE, WIDTH, Signs, interval_bar, scale
from t2ibench.reports.view import RunView, TaskView, possible, verdict
from t2ibench.results.display import UNSURE, WORDS, State

Line = tuple[str, State | None]  # a line, and what its test shows
_NAME = 34
_NARROW = 15
_NAMED = 3
_SENTENCE = 112  # columns from which a test's result in words stands beside its bar


def sentence(run: RunView) -> str:
    """The run in a sentence."""
    return "".join(text for text, _ in verdict(run))


def earlier(run: RunView) -> tuple[str, str] | None:
    """Which tests of earlier commands in the folder the report is not about."""
    names = list(run.results.earlier)
    if not names:
        return None
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    plural = "s" if len(names) > 1 else ""
    return (
        f"{len(names)} test{plural} of earlier commands left out.",
        f"results.json keeps {', '.join(names[:_NAMED])}{more} as 'earlier'. Name all tests in one "
        "command to report them together.",
    )


def counts(run: RunView, signs: Signs = UNICODE) -> str:
    """How many tests are in each state that any is in, with the mark of each."""
    found = run.counts()
    shown = {**found, "cannot_tell": found["cannot_tell"] + found["no_score"]}
    return "   ".join(
        f"{getattr(signs, state)} {shown[state]} {WORDS[state]}"
        for state in found
        if state != "no_score" and shown[state]
    )


def bars(
    run: RunView,
    width: int = 80,
    signs: Signs = UNICODE,
    groups: Iterable[tuple[str, Sequence[TaskView]]] | None = None,
) -> list[Line]:
    """Tests as bars, under the name of their family."""
    size = WIDTH - 4 if width >= 80 else _NARROW
    lines: list[Line] = [(f"{'':{_NAME}} {scale(size)}", None)]
    if groups is None:
        groups = [(family.title, family.tasks) for family in run.groups]
    for title, tasks in groups:
        lines.append((title, None))
        lines += [_bar(task, width, size, signs) for task in tasks]
    return lines


def untold(run: RunView, width: int = 80, signs: Signs = UNICODE) -> list[str]:
    """Every test that cannot tell, and why."""
    tasks = [task for task in run.tasks if task.mark.state in UNSURE]
    longest = min(_NAME - 1, max((len(task.id) for task in tasks), default=0))
    return [
        _cut(f" {_cut(task.id, longest, signs):{longest}}  {_why(task)}", width, signs)
        for task in sorted(tasks, key=too_wide)
    ]


def too_wide(task: TaskView) -> bool:
    """Whether a test cannot tell because its interval is wide, and for no other reason."""
    result = task.result
    unsure = task.mark.state == "cannot_tell" and not result.inconclusive
    return unsure and result.headline.p is not None


def _why(task: TaskView) -> str:
    if too_wide(task):
        return f"its interval, {_interval(task)}, is too wide"
    result = task.result
    why = result.inconclusive or result.reason or result.headline.reason
    return why or ("it has no p-value" if task.mark.value is not None else "no score")


def _cut(text: str, width: int, signs: Signs) -> str:
    end = "…" if signs == UNICODE else "."
    return text if len(text) <= width else f"{text[: width - 1]}{end}"


def _bar(task: TaskView, width: int, size: int, signs: Signs) -> Line:
    name = _cut(task.id, _NAME - 1, signs)
    parts = [f" {name:{_NAME - 1}}", interval_bar(task.mark, size, signs), f"{_value(task):>5}"]
    if width >= 80:
        parts.append(_interval(task))
    if width >= _SENTENCE:
        parts[-1] = f"{parts[-1]:14}"
        parts.append(brief(task))
    return _cut(" ".join(parts), width, signs).rstrip(), task.mark.state


def _value(task: TaskView) -> str:
    value = task.mark.value
    if value is None:
        return "-"
    return signed(value, 2) if task.scale in {"lean", "excess"} else f"{value:.2f}"


def _interval(task: TaskView) -> str:
    low, high = task.mark.low, task.mark.high
    if low is None or high is None or task.mark.state == "no_score":
        return ""
    return f"{low:+.2f} to {high:+.2f}"


def findings(run: RunView) -> Iterator[tuple[str, str]]:
    """The result of each test in words, in the order of the bars."""
    everything: Iterable[TaskView] = [*run.tasks, *run.texts]
    for task in everything:
        if task.sentence:
            yield task.id, task.sentence


def brief(task: TaskView) -> str:
    """A task's result in a few words."""
    if task.mark.state == "clear":
        return task.finding or "Clear lean."
    if task.result.inconclusive:
        return f"Cannot tell: {task.result.inconclusive.rstrip('.')}."
    if task.mark.state == "cannot_tell":
        return "Cannot tell: the interval is too wide."
    if task.mark.state == "no_score":
        return "No score."
    return f"{WORDS[task.mark.state].capitalize()}. {possible(task.mark, task.shown.axis)}."
