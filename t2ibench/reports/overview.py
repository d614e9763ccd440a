"""A run as text: the verdict, then every test as a bar on one axis, grouped by family.

The terminal and results.md show it. It fits 80 columns, and says more where there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from t2ibench.reports.cells import signed
from t2ibench.reports.rails import UNICODE, WIDTH, Signs, rail, scale
from t2ibench.reports.view import RunView, TaskView, verdict
from t2ibench.results.states import State

Line = tuple[str, State | None]  # a line, and what its test shows
_NAME = 34
_NARROW = 15
_SENTENCE = 112  # columns from which a test's result in words stands beside its bar


def sentence(run: RunView) -> str:
    """The run in a sentence.

    Args:
        run: The run.

    Returns:
        The words that report.html opens with.
    """
    return "".join(text for text, _ in verdict(run))


def counts(run: RunView, signs: Signs = UNICODE) -> str:
    """How many tests are in which state, with the mark of each.

    Args:
        run: The run.
        signs: The characters of the marks.

    Returns:
        One line.
    """
    found = run.counts()
    unsure = found["cannot_tell"] + found["no_score"]
    return (
        f"{signs.clear} {found['clear']} with a clear lean   {signs.not_clear} "
        f"{found['not_clear']} with no clear lean   {signs.cannot_tell} {unsure} cannot tell"
    )


def bars(run: RunView, width: int = 80, signs: Signs = UNICODE) -> list[Line]:
    """Every test on images as a bar, under the name of its family.

    Args:
        run: The run.
        width: Columns that there are; at least 60.
        signs: The characters.

    Returns:
        Lines of at most that many characters.
    """
    size = WIDTH - 4 if width >= 80 else _NARROW
    lines: list[Line] = [(f"{'':{_NAME}} {scale(size)}", None)]
    for family in run.groups:
        lines.append((family.title, None))
        lines += [_bar(task, width, size, signs) for task in family.tasks]
    return lines


def texts(run: RunView, width: int = 80, signs: Signs = UNICODE) -> list[Line]:
    """Every test of the text encoder alone as a bar.

    Args:
        run: The run.
        width: Columns that there are; at least 60.
        signs: The characters.

    Returns:
        Lines of at most that many characters; none without such tests.
    """
    size = WIDTH - 4 if width >= 80 else _NARROW
    return [_bar(task, width, size, signs) for task in run.texts]


def _bar(task: TaskView, width: int, size: int, signs: Signs) -> Line:
    name = task.id if len(task.id) <= _NAME - 1 else f"{task.id[: _NAME - 2]}…"
    if signs != UNICODE:
        name = name.replace("…", ".")
    parts = [f" {name:{_NAME - 1}}", rail(task.mark, size, signs), f"{_value(task):>5}"]
    if width >= 80:
        parts.append(_interval(task))
    if width >= _SENTENCE:
        parts[-1] = f"{parts[-1]:14}"
        parts.append(brief(task))
    return " ".join(parts)[:width].rstrip(), task.mark.state


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
    """The result of each test in words, in the order of the bars.

    Args:
        run: The run.

    Yields:
        Pairs of a task's id and its sentence.
    """
    everything: Iterable[TaskView] = [*run.tasks, *run.texts]
    for task in everything:
        if task.sentence:
            yield task.id, task.sentence


def brief(task: TaskView) -> str:
    """A task's result in a few words.

    Args:
        task: The task.

    Returns:
        The finding where it is clear, else its state and what is ruled out.
    """
    if task.mark.state == "clear":
        return task.finding or "Clear lean."
    if task.result.inconclusive:
        return "Cannot tell: a control contradicts it."
    if task.mark.state == "cannot_tell":
        return "Cannot tell: the interval is too wide."
    if task.mark.state == "no_score":
        return "No score."
    widest = max(abs(task.mark.low or 0.0), abs(task.mark.high or 0.0))
    return f"Not clear; a lean up to {widest:.2f} is still possible." if widest else "Not clear."
