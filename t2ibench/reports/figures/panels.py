"""Items by columns, panel by panel, as small bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.presentation import Panel, Panels
from t2ibench.reports.figures.axes import Scale
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.figure import (
    WIDTH,
    Figure,
    Samples,
    caption_of,
    described,
    first_rows,
)
from t2ibench.reports.html.numbers import plain
from t2ibench.reports.view import TaskView

_LEFT = 104.0  # where columns begin
_NUMBER = 32.0  # of a column, for the number behind its bar
_GAP = 8.0  # between columns
_LETTER = 5.8
_LINE, _HEAD, _BETWEEN = 16.0, 36.0, 20.0
_SAID = 30  # letters of a name in a sentence
_COLUMNS = 5  # of a panel that are drawn at most
_ITEMS = 6
_TABLES = 12  # panels that are tables on the page, too
_CONCEPTS = 10  # lines of such a table


def draw(figure: Panels, task: TaskView, _: Samples) -> Figure | None:
    """Panels, those with the largest score first."""
    panels = _sorted(figure, task)
    if not panels:
        return None
    shown = panels[: figure.most]
    height = sum(_height(panel) for panel in shown) + _BETWEEN * (len(shown) - 1)
    canvas = Canvas(WIDTH, height, described(figure))
    drawn = [
        value or 0.0
        for panel in shown
        for _, numbers in panel.items[:_ITEMS]
        for value in numbers[:_COLUMNS]
    ]
    most = max([1.0, *drawn])
    y = 0.0
    for panel in shown:
        _panel(canvas, panel, figure, most, y)
        y += _height(panel) + _BETWEEN
    rows: list[tuple[object, ...]] = [
        (panel.title, item, column, "" if value is None else value)
        for panel in panels
        for item, numbers in panel.items
        for column, value in zip(panel.columns, numbers, strict=True)
    ]
    return Figure(
        canvas,
        figure.title,
        f"{caption_of(figure)} {figure.absent}",
        ("of", figure.item, "column", "value"),
        rows,
        _says(figure, panels),
        tuple(
            first_rows(
                panel.title,
                [figure.item, *panel.columns],
                [[name, *map(plain, values)] for name, values in panel.items],
                _CONCEPTS,
            )
            for panel in panels[:_TABLES]
        ),
    )


def _sorted(figure: Panels, task: TaskView) -> list[Panel]:
    panels = [panel for panel in figure.read(task.result.details) if panel.items]
    if figure.order is None:
        return sorted(panels, key=lambda panel: -_spread(panel))
    scores = {row.name: row.scores.get(figure.order) for row in task.result.by}
    order = {name: score.value for name, score in scores.items() if score is not None}

    def key(panel: Panel) -> float:
        value = order.get(panel.row)
        return float("inf") if value is None else -value

    return sorted(panels, key=key)


def _spread(panel: Panel) -> float:
    """How far the first item sets the columns apart."""
    known = [value for value in panel.items[0][1] if value is not None]
    return max(known) - min(known) if known else 0.0


def _height(panel: Panel) -> float:
    return _HEAD + _LINE * min(len(panel.items), _ITEMS)


def _panel(canvas: Canvas, panel: Panel, figure: Panels, most: float, top: float) -> None:
    columns = panel.columns[:_COLUMNS]
    width = (WIDTH - _LEFT + _GAP) / max(len(columns), 2)
    more = len(panel.columns) - len(columns)
    told = f"+ {more} more in the table" if more else ""
    canvas.text(0, top + 11, shortened(panel.title, 66 - len(told)), name="strong")
    if told:
        canvas.text(WIDTH, top + 11, told, "end")
    for place, name in enumerate(columns):
        x = _LEFT + place * width
        style = "strong" if place == 0 else ""
        canvas.text(x, top + 29, shortened(name, int(width / _LETTER)), name=style)
    for number, (item, values) in enumerate(panel.items[:_ITEMS]):
        y = top + _HEAD + _LINE * number
        canvas.text(_LEFT - 8, y + 11, shortened(item, 15), "end")
        for place, value in enumerate(values[:_COLUMNS]):
            x = _LEFT + place * width
            across = Scale(0.0, most, x, x + width - _GAP - _NUMBER)
            canvas.line(x, y, x, y + _LINE)
            if value is None:
                canvas.text(x + 5, y + 11, "–")
                continue
            end = across(min(max(value, 0.0), most))
            if value > 0:
                canvas.box(x, y + 3, end - x, _LINE - 6, "bar" if place == 0 else "soft")
            canvas.text(end + 5, y + 11, plain(value))


def _says(figure: Panels, panels: Sequence[Panel]) -> str:
    """The item that sets the columns of the first panel most apart."""
    panel = panels[0]
    item, values = panel.items[0]
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:
        return f"No {figure.item} sets the columns of “{panel.title}” apart."
    parts = [
        f"{plain(value)} times for “{shortened(column, _SAID)}”"
        if place
        else f"{plain(value)} times in each picture {column}"
        for place, (column, value) in enumerate(zip(panel.columns, values, strict=True))
        if value is not None
    ][:_COLUMNS]
    return f"“{panel.title}”: “{shortened(item, _SAID)}” is named {', '.join(parts)}."
