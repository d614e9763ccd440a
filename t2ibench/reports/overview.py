"""A run as text: the verdict, then every test as a bar on one axis, grouped by family.

The terminal and results.md show it. It fits 80 columns, and says more where there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from t2ibench.methods.core.answer_counts import (
    ShownAttribute,
    ShownRow,
    class_colours,
    sorted_rows,
)
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.reports.cells import signed
from t2ibench.reports.interval_bar import UNICODE, WIDTH, Signs, interval_bar, scale
from t2ibench.reports.sentences import too_wide, why_unsure
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import UNSURE, WORDS, State

Line = tuple[str, State | None]  # a line, and what its test shows
_NAME = 34
_NARROW = 15
_FEW_ROWS = 3
PROMPTS = 9  # lines of who is shown as what


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


def prompts(run: RunView, most: int, width: int = 80, signs: Signs = UNICODE) -> list[Line]:
    """Who is shown as what: a row a prompt of judged tasks, as many as there is room for."""
    lines: list[Line] = []
    for task in run.tasks:
        for one in task.prompts:
            rows = sorted_rows(one)
            room = most - len(lines) - 2
            if room < min(len(rows), _FEW_ROWS):
                return lines
            shades, about = _shades(one, signs), one.counted.attribute
            key = ", ".join(f"{sign} {people(name, about)}" for name, sign in shades.items())
            lines.append((_cut(f"{task.id}: {one.counted.attribute} ({key})", width, signs), None))
            ends = len(rows) if len(rows) <= room else (room - 1) // 2  # of each side
            drawn = [_prompt(row, shades, width, signs) for row in rows]
            lines += drawn[:ends]
            if ends < len(rows):
                lines.append((f" {len(rows) - 2 * ends} between them, in results.md", None))
                lines += drawn[-ends:]
    return lines


def _shades(one: ShownAttribute, signs: Signs) -> dict[str, str]:
    """The sign of each class."""
    shades = "█▒▓░▚▞" if signs == UNICODE else "#-=+*o"
    return {name: shades[k % len(shades)] for name, k in class_colours(one.counted.classes).items()}


def _prompt(row: ShownRow, shades: Mapping[str, str], width: int, signs: Signs) -> Line:
    size = WIDTH - 4 if width >= 80 else _NARROW
    name = _cut(row.short, _NAME - 1, signs)
    counts = [row.counted.counts.get(name, 0) for name in shades]
    ends = [round(size * sum(counts[: k + 1]) / max(row.images, 1)) for k in range(len(counts))]
    drawn = "".join(
        shade * (end - start)
        for shade, start, end in zip(shades.values(), [0, *ends], ends, strict=False)
    )
    text = f" {name:{_NAME - 1}} {drawn:·<{size}} {counts_text(row)}"
    state: State = "clear" if row.clear else "not_clear"
    if signs != UNICODE:
        text = text.replace("·", ".")
    return _cut(f"{text}{', clear' if row.clear else ''}", width, signs), state


def _cut(text: str, width: int, signs: Signs) -> str:
    end = "…" if signs == UNICODE else "."
    return text if len(text) <= width else f"{text[: width - 1]}{end}"


def _bar(task: TaskView, width: int, size: int, signs: Signs) -> Line:
    name = _cut(task.id, _NAME - 1, signs)
    parts = [f" {name:{_NAME - 1}}", interval_bar(task.mark, size, signs), f"{_value(task):>5}"]
    if width >= 80:
        parts.append(_interval(task))
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


def untold(run: RunView, width: int = 80, signs: Signs = UNICODE) -> list[str]:
    """Every test that cannot tell, and why."""
    tasks = [task for task in run.tasks if task.mark.state in UNSURE]
    longest = min(_NAME - 1, max((len(task.id) for task in tasks), default=0))
    return [
        _cut(f" {_cut(task.id, longest, signs):{longest}}  {why_unsure(task)}", width, signs)
        for task in sorted(tasks, key=too_wide)
    ]
