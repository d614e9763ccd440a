"""Overview of a run in lines of text, for the terminal and results.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from t2ibench.methods.core.answer_counts import (
    ShownAttribute,
    ShownRow,
    bar_order,
    sorted_rows,
)
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.sentences import too_wide, why_unsure
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import IntervalMark
from t2ibench.results.states import STATES, State

Line = tuple[str, State | None]  # a line, and what its test shows
_SHADES = "█▒▓░▚▞"
# For a terminal that cannot show the others.
ASCII = str.maketrans("░│─╌●○□◌‹›█▒▓▚▞·…’−", ":|-~@on?<>#-=*+..'-")
_BAR, _NARROW = 21, 15  # columns of an axis
_NAME = 34
_FEW_ROWS = 3
_SHORTEST_NAME, _SHORTEST_BAR = 12, 8  # columns of a prompt, and of its bar
_READABLE = 24  # columns of a prompt, for which its bar becomes shorter
_COUNTED = 9  # lines of who is shown as what


def interval_bar(mark: IntervalMark, width: int = _BAR) -> str:
    """Return one line of text that draws a mark on an axis from −1 to 1.

    Examples:
        >>> interval_bar(IntervalMark(0.5, 0.25, 0.75, "clear", "high", -0.2, 0.2), 17)
        '      ░░│░──●──  '
    """
    mark = mark.on_axis
    cells = [" "] * width
    _fill(cells, mark.fair_low, mark.fair_high, "░")
    cells[width // 2] = "│"
    _fill(cells, mark.low, mark.high, "╌" if STATES[mark.state].unsure else "─")
    ends = [
        number for number in (mark.low, mark.value, mark.high) if number is not None
    ]
    below, above = (mark.cut and end in ends for end in (-1.0, 1.0))
    if mark.value is not None:
        place = min(max(_place(mark.value, width), below), width - 1 - above)
        cells[place] = STATES[mark.state].sign
    if below:
        cells[0] = "‹"
    if above:
        cells[-1] = "›"
    return "".join(cells)


def _scale(width: int) -> str:
    half = width // 2
    return "-1" + "0".rjust(half - 1) + "+1".rjust(width - half - 1)


def _place(value: float, width: int) -> int:
    return round((min(max(value, -1.0), 1.0) + 1) / 2 * (width - 1))


def _fill(cells: list[str], low: float | None, high: float | None, sign: str) -> None:
    if low is not None and high is not None:
        for place in range(_place(low, len(cells)), _place(high, len(cells)) + 1):
            cells[place] = sign


def counts(run: RunView) -> str:
    """Return as text how many tests are in each state, without states that do not occur."""
    return "   ".join(
        f"{STATES[state].sign} {count} {STATES[state].word}"
        for state, count in run.shown_counts().items()
        if count
    )


def bars(
    run: RunView,
    width: int = 80,
    groups: Iterable[tuple[str, Sequence[TaskView]]] | None = None,
) -> list[Line]:
    """Return lines of text that draw each test as a bar, under the name of its family."""
    size = _BAR if width >= 80 else _NARROW
    lines: list[Line] = [(f"{'':{_NAME}} {_scale(size)}", None)]
    if groups is None:
        groups = [(family.title, family.tasks) for family in run.groups]
    for title, tasks in groups:
        lines.append((_with_axis(title, tasks), None))
        lines += [_bar(task, width, size) for task in tasks]
    return lines


def _with_axis(title: str, tasks: Sequence[TaskView]) -> str:
    """Return a title with a note on where the axis ends, if it does not run from −1 to 1."""
    ends = dict.fromkeys(task.mark.scale.ends for task in tasks)
    further = "; ".join(text for text in ends if text)
    return f"{title} ({further})" if further else title


def prompts(run: RunView, width: int = 80) -> list[Line]:
    """Return lines with judges' answers about prompts, for as many questions as fit."""
    lines: list[Line] = []
    for task in run.tasks:
        for attribute in task.prompts:
            rows = sorted_rows(attribute)
            room = _COUNTED - len(lines) - 2
            if room < min(len(rows), _FEW_ROWS):
                return lines
            shades = _shades(attribute)
            about = attribute.counted.attribute
            key = ", ".join(
                f"{sign} {people(name, about)}" for name, sign in shades.items()
            )
            lines.append(
                (_cut(f"{task.id}: {attribute.counted.attribute} ({key})", width), None)
            )
            ends = len(rows) if len(rows) <= room else (room - 1) // 2  # of each side
            drawn = _prompt_lines(rows, shades, width)
            lines += drawn[:ends]
            if ends < len(rows):
                lines.append(
                    (f" {len(rows) - 2 * ends} between them, in results.md", None)
                )
                lines += drawn[-ends:]
    return lines


def _shades(attribute: ShownAttribute) -> dict[str, str]:
    colours = bar_order(attribute.counted.classes)
    return {name: _SHADES[colour % len(_SHADES)] for name, colour in colours.items()}


def _prompt_lines(
    rows: Sequence[ShownRow], shades: Mapping[str, str], width: int
) -> list[Line]:
    """Return lines with the answers about each prompt as a bar and counts, all bars aligned.

    The counts stand in full, since they are what a reader quotes: where there is little room,
    the bar and the prompt are shortened, and counts of many classes go on in a line of their own.
    """
    counted = [
        f"{counts_text(row)}, clear" if row.clear else counts_text(row) for row in rows
    ]
    most = width - _SHORTEST_NAME - _SHORTEST_BAR - 3
    widest = min(max(map(len, counted), default=0), most)
    room = width - widest - 3  # for prompt and bar
    widest_bar = _BAR if width >= 80 else _NARROW
    size = min(widest_bar, max(room - _READABLE, _SHORTEST_BAR))
    name = min(_NAME - 1, room - size)
    lines: list[Line] = []
    for row, counts in zip(rows, counted, strict=True):
        first, *further = wrap(counts, widest)
        begun = f" {_cut(row.short, name):{name}} {_shares_bar(row, shades, size)} "
        state: State = "clear" if row.clear else "not_clear"
        lines.append((f"{begun}{first}", state))
        lines += [(f"{'':{len(begun)}}{text}", state) for text in further]
    return lines


def _shares_bar(row: ShownRow, shades: Mapping[str, str], size: int) -> str:
    """Return a bar of characters for the share of each class, dotted where unanswered."""
    counts = [row.counted.counts.get(name, 0) for name in shades]
    ends = [
        round(size * sum(counts[: last + 1]) / max(row.images, 1))
        for last in range(len(counts))
    ]
    drawn = "".join(
        shade * (end - start)
        for shade, start, end in zip(shades.values(), [0, *ends], ends, strict=False)
    )
    return f"{drawn:·<{size}}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _bar(task: TaskView, width: int, size: int) -> Line:
    mark = task.mark
    written = plain if mark.sized else signed
    unit = "" if mark.value is None else mark.scale.unit
    value = f"{written(mark.value)}{unit}"
    parts = [
        f" {_cut(task.id, _NAME - 1):{_NAME - 1}}",
        interval_bar(mark, size),
        f"{value:>5}",
    ]
    if (
        width >= 80
        and mark.low is not None
        and mark.high is not None
        and mark.state != "no_score"
    ):
        interval = f"{written(mark.low):>5} to {written(mark.high):>5}"
        # A number with a unit may leave no room for the interval.
        if len(" ".join([*parts, interval])) <= width:
            parts.append(interval)
    return _cut(" ".join(parts), width).rstrip(), mark.state


def inconclusive(run: RunView, width: int = 80) -> list[str]:
    """Return a line for each test that is inconclusive or has no score, with the reason."""
    tasks = [task for task in run.tasks if STATES[task.mark.state].unsure]
    longest = min(_NAME - 1, max((len(task.id) for task in tasks), default=0))
    return [
        _cut(f" {_cut(task.id, longest):{longest}}  {why_unsure(task)}", width)
        for task in sorted(tasks, key=too_wide)
    ]
