"""Figure of how far apart the images of two groups are, for all rows together and each row."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Apart
from t2ibench.reports.figures.axes import AXIS_HEIGHT, PixelScale, draw_ticks
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import (
    WIDTH,
    DrawnFigure,
    Samples,
    canvas_of,
    finished,
    score_cells,
)
from t2ibench.reports.figures.text_size import left_of, row_places
from t2ibench.reports.html.numbers import percent, plain
from t2ibench.reports.view import TaskView
from t2ibench.results.display import row_state
from t2ibench.results.schema import Score

_AXIS = "share of the squared distance that the group makes"
_NUMBERS = 40.0
_STEP = 16.0
_MOST = 40  # rows that are drawn
_TABLE = 60
_HEAD = ("row", "group_distance", "low", "high", "p", "p_holm")
_HALVES = "two halves"
_KEY = (
    ("mean", "all rows"),
    ("line", "interval"),
    ("plain", "a row, clear"),
    ("hollow", "not clear"),
)


# The name of a row, its distance as a score, and the value of that score.
_Row = tuple[str, Score, float]


def draw(figure: Apart, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a figure of how far apart two groups' images are, or None if that is unknown."""
    whole = task.result.scores.get(figure.score)
    if whole is None or whole.value is None:
        return None
    halves = task.result.scores.get(figure.halves, Score())
    rows = _rows(figure, task)
    shown = rows[:_MOST]
    over = [(f"all {len(rows)}", whole), (_HALVES, halves)]
    ends = [end for _, score in over for end in _numbers(score)]
    ends += [value for _, _, value in shown]
    names = [name for name, _ in over] + [name for name, _, _ in shown]
    left = left_of(names, 0.38 * WIDTH)
    places, height = row_places(names, left, _STEP)
    canvas = canvas_of(figure)
    top = canvas.key(8, _KEY)
    canvas.height = top + height + 8 + AXIS_HEIGHT
    across = PixelScale(
        min(0.0, *ends) - 0.03, max(1.0, *ends), left + 10, WIDTH - _NUMBERS
    ).to_ticks()
    bottom = canvas.height - AXIS_HEIGHT
    draw_ticks(canvas, across, bottom, name=_AXIS)
    canvas.line(across(0), top, across(0), bottom, "zero")
    for place, (name, score) in zip(places, over, strict=False):
        _over(canvas, across, top + place, name, score)
    first = top + (places[1] + places[2] if shown else 2 * height) / 2 + 2
    canvas.line(0, first, WIDTH, first)
    for place, row in zip(places[len(over) :], shown, strict=True):
        _row(canvas, across, top + 6 + place, left, row)
    cut = len(shown) < len(rows)
    more = (
        f" The {_MOST} of {len(rows)} that lie furthest apart are drawn." if cut else ""
    )
    every = [*over, *((name, score) for name, score, _ in rows)]
    numbers = [(name, *score_cells(score)) for name, score in every]
    says = _says(whole, halves, len(rows))
    return finished(figure, canvas, _HEAD, numbers, more, says, _TABLE + len(over))


def _rows(figure: Apart, task: TaskView) -> list[_Row]:
    """Return the rows that have a distance, the largest first."""
    rows = []
    for row in task.result.by:
        score = row.scores.get(figure.score, Score())
        if score.value is not None:
            rows.append((row.name, score, score.value))
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def _numbers(score: Score) -> list[float]:
    """Return a score's value and the ends of its interval, without those that are None."""
    numbers = (score.value, score.ci_low, score.ci_high)
    return [number for number in numbers if number is not None]


def _row(canvas: Canvas, across: PixelScale, y: float, left: float, row: _Row) -> None:
    name, score, value = row
    clear = row_state(score) == "clear"
    canvas.label(left, y, name, left)
    kind = "plain" if clear else "hollow"
    canvas.dot(across(value), y, kind, 4, f"{name}: {plain(value)}")
    canvas.text(WIDTH, y + 4, plain(value), "end", "strong" if clear else "")


def _over(
    canvas: Canvas, across: PixelScale, y: float, name: str, score: Score
) -> None:
    canvas.text(across.begin - 10, y + 4, name, "end", "strong")
    if score.value is None:
        canvas.text(across(0) + 8, y + 4, "not known: too few images")
        canvas.text(canvas.width, y + 4, "–", "end")
        return
    if score.ci_low is not None and score.ci_high is not None:
        canvas.line(across(score.ci_low), y, across(score.ci_high), y, "line")
    kind = "hollow" if name == _HALVES else "mean"
    canvas.dot(across(score.value), y, kind, 4, f"{name}: {plain(score.value)}")
    canvas.text(canvas.width, y + 4, plain(score.value), "end", "strong")


def _says(whole: Score, halves: Score, count: int) -> str:
    within = ""
    if whole.ci_low is not None and whole.ci_high is not None:
        within = f" ({percent(whole.ci_low)} to {percent(whole.ci_high)})"
    sentence = (
        f"Which group is named makes {percent(whole.value)}{within} of the squared distance "
        f"between an image of either, over {count} {'stimulus' if count == 1 else 'stimuli'}"
    )
    if halves.value is not None:
        sentence += f"; for two halves of the same images it is {percent(halves.value)}"
    sentence += "."
    if whole.ci_low is not None and whole.ci_low <= 0:
        sentence += " No distance is clear, which is not the same as none."
    return sentence
