"""Figures over several columns, combinations and distances: what is drawn, said and in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from markupsafe import Markup

from t2ibench.methods.core.presentation import Apart, Combinations, Panel, Panels, Quantity, Scatter
from t2ibench.methods.tibet.concept_panels import concept_figures
from t2ibench.reports.figures.canvas import Box, Canvas, Disc, Line, Text
from t2ibench.reports.figures.figure import Figure, draw
from t2ibench.reports.html.page import fragment, style
from t2ibench.reports.view import TaskView, run_view
from t2ibench.results.schema import Row, Score
from tests import hand

CROSS = Combinations("t", "gender x age", "c")
APART = Apart("t", "apart", "apart_halves", "object", "objects", "c", "Hudson")
HOSTILE = '<script>alert(1)</script> "x" & a rather long name of something'


def task_of(rows: list[Row], details: dict[str, Any] | None = None, **scores: Score) -> TaskView:
    record = hand.record(hand.mean_lean({"x": [1.0, 1.0, 1.0, -1.0]}))
    update = {"by": rows, "details": details or {}, "scores": scores}
    (view,) = run_view(hand.results(a=record.model_copy(update=update))).tasks
    return view


def cell(name: str, share: float | None, alone: float, p: float = 0.5) -> Row:
    if share is None:
        reason = {"reason": "too few"}
        return Row(name=name, group="gender x age", scores={
            key: Score(**reason) for key in ("joint_share", "independent_share", "excess")
        })  # fmt: skip
    excess = Score(
        value=share - alone, ci_low=share - alone - 0.02, ci_high=share - alone + 0.02, p=p,
        p_holm=p,
    )  # fmt: skip
    scores = {"joint_share": Score(value=share), "independent_share": Score(value=alone)}
    return Row(name=name, group="gender x age", scores={**scores, "excess": excess})


def crossing(*p: float | None) -> dict[str, Any]:
    tests = [
        {"name": f"interaction:a x {k}", "p": one, "p_holm": one, "reason": None if one else "few"}
        for k, one in enumerate(p)
    ]
    return {"crossings": [{"crossing": "gender x age", "tests": tests, "most_over": {"cell": "x"}}]}


def shown(drawn: Figure | None) -> Figure:
    """A figure whose marks are within it, and which can be a part of a page."""
    assert drawn is not None
    canvas = drawn.canvas
    for mark in canvas.marks:
        for x, y in places(mark):
            assert -1 <= x <= canvas.width + 1 and -1 <= y <= canvas.height + 1, mark
    html = fragment("figure.html", drawn=drawn)
    assert "<script>" not in html
    assert html.count("<table") == len(drawn.tables)
    return drawn


def places(mark: Line | Disc | Box | Text) -> list[tuple[float, float]]:
    if isinstance(mark, Line):
        return list(mark.points)
    if isinstance(mark, Box):
        return [(mark.x, mark.y), (mark.x + mark.width, mark.y + mark.height)]
    return [(mark.x, mark.y)]


def texts(canvas: Canvas) -> list[str]:
    return [mark.text for mark in canvas.marks if isinstance(mark, Text)]


def test_a_combination_stands_beside_what_its_parts_make_it() -> None:
    rows = [cell("old x female", 0.10, 0.20, 0.001), cell("old x male", 0.30, 0.20, 0.001),
            cell("young x male", 0.21, 0.20)]  # fmt: skip
    drawn = shown(draw(CROSS, task_of(rows, crossing(0.001, 0.7)), []))
    assert [row[0] for row in drawn.rows] == ["old x male", "young x male", "old x female"]
    kinds = [mark.name for mark in drawn.canvas.marks if isinstance(mark, Disc)]
    assert kinds == ["hollow", "high", "hollow", "plain", "hollow", "low"]
    dots = [mark.x for mark in drawn.canvas.marks if isinstance(mark, Disc)]
    assert dots[1] - dots[0] == pytest.approx(dots[4] - dots[5])
    # The interval of the difference begins where the parts alone are.
    (line,) = (m for m in drawn.canvas.marks if isinstance(m, Line) and m.name == "line high")
    assert line.points[0][0] - dots[0] == pytest.approx(0.08 / 0.10 * (dots[1] - dots[0]))
    assert drawn.tables[0].rows[0][1:5] == ["30.0 %", "20.0 %", "+10.0 %", "+8.0 to +12.0 %"]
    assert "Clearly not independent: a x 0 (1 of 2 tests" in drawn.says


def test_combinations_without_numbers_say_why_and_invent_none() -> None:
    drawn = shown(draw(CROSS, task_of([cell("a x b", None, 0.0)], crossing(0.001)), []))
    assert drawn.rows == []
    assert drawn.says.startswith("No combination has a number: too few.")
    assert not any(isinstance(mark, Disc) for mark in drawn.canvas.marks)
    assert draw(CROSS, task_of([]), []) is None


@pytest.mark.parametrize("count", [1, 40])
def test_many_or_long_combinations_stay_in_their_figure(count: int) -> None:
    rows = [cell(f"{HOSTILE} {k:02} x young", k / 100, 0.2, 0.001) for k in range(count)]
    drawn = shown(draw(CROSS, task_of(rows), []))
    assert len(drawn.rows) == count
    assert sum(isinstance(mark, Disc) for mark in drawn.canvas.marks) == 2 * min(count, 12)
    assert ("differ most are drawn" in drawn.caption) == (count == 40)


def distance(name: str, value: float | None, p: float = 0.001) -> Row:
    return Row(name=name, scores={"apart": Score(value=value, p=p, p_holm=p)})


def test_a_distance_is_drawn_with_the_intervals_that_it_has() -> None:
    whole = Score(value=0.5, ci_low=0.4, ci_high=0.6, p=0.001)
    halves = Score(value=-0.01, ci_low=-0.1, ci_high=0.08)
    rows = [distance("cup", 0.3, 0.4), distance("car", 0.6), distance("none", None)]
    drawn = shown(draw(APART, task_of(rows, apart=whole, apart_halves=halves), []))
    assert [row[0] for row in drawn.rows] == ["all 2", "two halves", "car", "cup"]
    assert "makes 50 % (40 to 60 %)" in drawn.says and "it is −1 %" in drawn.says
    assert draw(APART, task_of(rows, apart=Score(reason="few")), []) is None
    discs = [mark for mark in drawn.canvas.marks if isinstance(mark, Disc)]
    assert [disc.name for disc in discs] == ["mean", "hollow", "plain", "hollow"]
    intervals = [m for m in drawn.canvas.marks if isinstance(m, Line) and m.name == "line"]
    assert len(intervals) == 2  # single rows have none
    (zero,) = (m for m in drawn.canvas.marks if isinstance(m, Line) and m.name == "zero")
    per_unit = (discs[2].x - zero.points[0][0]) / 0.6
    assert discs[3].x == pytest.approx(zero.points[0][0] + 0.3 * per_unit)


def concepts(*pairs: tuple[str, float]) -> list[list[object]]:
    return [list(pair) for pair in pairs]


def tibet() -> dict[str, Any]:
    def axis(name: str, males: float) -> dict[str, Any]:
        return {
            "axis": name,
            "concepts": concepts(("woman", 1 - males), ("man", males)),
            "counterfactuals": [
                {
                    "name": "male", "concepts": concepts(("man", 2.0), ("cook", 1.0)),
                    "axis_concepts": concepts(("man", 1.0)),
                    "intersections": {"place": concepts(("p0", 1.0), ("p1", 0.9), ("p2", 0.8))},
                },
                {
                    "name": "female", "concepts": concepts(("woman", 2.0)),
                    "axis_concepts": [], "intersections": {"place": concepts(("p0", 0.2))},
                },
            ],
        }  # fmt: skip

    axes = [axis("gender", 0.25), axis("place", 0.5)]
    prompts = [{"prompt": name, "concepts": concepts(("man", 1.0)), "axes": axes}
               for name in ("a chef", HOSTILE)]  # fmt: skip
    return {"prompts": prompts}


def test_what_a_column_lacks_is_zero_only_where_its_list_is_whole() -> None:
    _, aligned, crossed = (figure.read(tibet()) for figure in concept_figures())
    gender = dict(aligned[0].items)
    assert aligned[0].columns == ("as it stands", "male", "female")
    assert gender["woman"] == (0.75, 0.0, None)  # no image of the last has an answer
    assert gender["man"] == (0.25, 1.0, None)
    (place,) = [one for one in crossed if one.title == "a chef, place by gender"]
    by_name = dict(place.items)
    assert by_name["p1"][1:] == (0.9, 0.0)
    assert by_name["woman"][1:] == (None, 0.0)  # a full list of three hides what comes fourth


def test_forty_items_and_columns_and_one_of_each_fit() -> None:
    for count in (1, 2, 40):
        columns = tuple(f"{HOSTILE} {k}" for k in range(count))
        items = tuple(
            (f"{HOSTILE} {k}", tuple(float(k + 1) for _ in columns)) for k in range(count)
        )
        panel = Panel(HOSTILE, "r", columns, items)
        figure = Panels("t", lambda _, one=panel: [one] * 9, None, "thing", "d", "c")
        drawn = shown(draw(figure, task_of([]), []))
        assert len(drawn.rows) == 9 * count * count
        assert drawn.says.startswith("No thing sets the columns of")
        assert drawn.tables[0].further == max(count - 10, 0)
        assert any("more in the table" in text for text in texts(drawn.canvas)) == (count == 40)


def test_points_clearly_off_the_line_have_the_side_and_the_rest_is_not_on_it() -> None:
    given = {"nurse": 0.9, "chef": 0.5, "clerk": 0.4}
    found = {"nurse": (0.2, 0.001), "chef": (0.9, 0.001), "clerk": (0.6, 0.3)}

    rows = [
        Row(name=name, scores={
            "share": Score(value=share, ci_low=share - 0.1, ci_high=share + 0.1),
            "off": Score(value=share - given[name], p=p, p_holm=p),
        })
        for name, (share, p) in found.items()
    ]  # fmt: skip
    figure = Scatter(
        "t", Quantity("at work", given=given), Quantity("here", "share"), "c", diagonal=True,
        intervals=True, difference="off",
    )  # fmt: skip
    drawn = shown(draw(figure, task_of(rows), []))
    kinds = {m.tip.split(":")[0]: m.name for m in drawn.canvas.marks if isinstance(m, Disc)}
    assert kinds == {"nurse": "low", "chef": "high", "clerk": "pt"}
    assert "1 of 3 rows above it, 1 below" in drawn.says
    assert [row[0] for row in drawn.tables[0].rows][-1] == "clerk"
    assert drawn.tables[0].rows[-1] == ["clerk", "0.40", "0.60", "0.50 to 0.70"]


def test_figures_and_their_tables_are_accessible_and_fit_a_phone(
    tmp_path: Path, browser: Any
) -> None:
    many = [cell(f"{HOSTILE} {k:02} x young", k / 40, 0.4, 0.001 if k % 2 else 0.5)
            for k in range(40)]  # fmt: skip
    far = [distance(f"{HOSTILE} {k}", k / 50 - 0.3, 0.001 if k > 20 else 0.5) for k in range(45)]
    figures = [
        draw(CROSS, task_of(many, crossing(0.001, None)), []),
        draw(APART, task_of(far, apart=Score(value=0.1, ci_low=0.0, ci_high=0.2)), []),
        *(draw(figure, task_of([], tibet()), []) for figure in concept_figures()),
    ]
    parts = Markup("").join(fragment("figure.html", drawn=shown(one)) for one in figures)
    page = Markup(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><style>{}</style>'
        '<main class="wrap"><h1>t</h1><h2>t</h2><h3>t</h3>{}</main></html>'
    )
    file = tmp_path / "page.html"
    file.write_text(page.format(style(), parts), encoding="utf-8")
    for width, scheme in ((390, "dark"), (1280, "light")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab = context.new_page()
        tab.goto(file.as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        cells = "[...document.querySelectorAll('.numbers td')]"
        assert tab.evaluate(f"{cells}.every(one => one.offsetWidth > 0)")
        found = Axe().run(tab).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        context.close()
