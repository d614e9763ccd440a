"""Where the page's plots put their marks, as the browser works it out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench.apps.explorer

MODULE = (
    Path(t2ibench.apps.explorer.__file__).parent / "static" / "geometry.js"
).read_text()

pytestmark = pytest.mark.smoke  # a hundredth of a second each


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    found = context.new_page()
    found.evaluate(
        """async text => {
          const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          window.g = await import(address);
        }""",
        MODULE,
    )
    yield found
    context.close()


def swarm(page: Any, xs: list[float], half: float) -> tuple[list[float], float, bool]:
    found = page.evaluate(
        "([xs, half]) => { const f = g.swarm(xs, half); return { ...f, ys: [...f.ys] }; }",
        [xs, half],
    )
    return found["ys"], found["side"], found["dots"]


@pytest.mark.parametrize("n", [0, 1, 50, 401, 10_000])
@pytest.mark.parametrize("shape", ["normal", "equal", "two"])
def test_marks_stay_in_their_row(n: int, shape: str, page: Any) -> None:
    draw = np.random.default_rng(n)
    xs = {
        "normal": draw.normal(300, 60, n),
        "equal": np.full(n, 300.0),
        "two": np.where(np.arange(n) % 2, 100.0, 500.0),
    }[shape].tolist()
    ys, side, _ = swarm(page, xs, 40)
    assert len(ys) == n
    assert all(abs(y) + side / 2 <= 40 + 1e-9 for y in ys)


@pytest.mark.parametrize("n", [10, 40])
def test_few_marks_do_not_overlap(n: int, page: Any) -> None:
    xs = np.random.default_rng(1).uniform(0, 500, n)
    ys, side, dots = swarm(page, xs.tolist(), 40)
    assert not dots
    far = np.maximum(
        np.abs(xs[:, None] - xs[None, :]),
        np.abs(np.array(ys)[:, None] - np.array(ys)[None, :]),
    )
    assert (far[~np.eye(n, dtype=bool)] >= side).all()


def test_the_height_of_a_mark_says_nothing_of_its_value(page: Any) -> None:
    """Piles that lean would show an order that is not in the data."""
    xs = np.random.default_rng(2).normal(300, 40, 1000)
    ys, _, dots = swarm(page, xs.tolist(), 40)
    assert dots
    assert abs(np.corrcoef(xs, ys)[0, 1]) < 0.05
    for low in range(220, 380, 20):
        inside = (xs >= low) & (xs < low + 20)
        assert abs(np.corrcoef(xs[inside], np.array(ys)[inside])[0, 1]) < 0.25
    # The outline is the density: wide in the middle, thin at the ends.
    assert (
        np.abs(ys)[np.abs(xs - 300) < 20].max()
        > 3 * np.abs(ys)[np.abs(xs - 300) > 100].max()
    )


def test_no_group_is_always_on_top(page: Any) -> None:
    order = page.evaluate("Array.from(g.shuffled(10000))")
    assert sorted(order) == list(range(10_000))
    assert order == page.evaluate("Array.from(g.shuffled(10000))")
    last = np.array(order[-1000:]) < 5000  # the first of two groups of 5,000
    assert 0.45 < last.mean() < 0.55


def test_ticks_and_ends_of_an_axis_are_round(page: Any) -> None:
    for ends, ticks in (
        ([0, 1], [0, 0.2, 0.4, 0.6, 0.8, 1]),
        ([-0.3, 0.3], [-0.2, 0, 0.2]),
    ):
        found = page.evaluate("([a, b]) => g.ticks(a, b)", ends)
        assert found["at"] == pytest.approx(ticks) and found["digits"] == 1
    for value, end in ((0.17, 0.2), (0.2, 0.2), (0.21, 0.25), (3.2, 4), (0, 1)):
        assert page.evaluate("value => g.roundUp(value)", value) == pytest.approx(end)
    assert page.evaluate("g.extent([2, 4])") == pytest.approx([1.92, 4.08])
    for values in ([], [3.0], [3.0, 3.0]):
        low, high = page.evaluate("values => g.extent(values)", values)
        assert high > low


def test_a_lasso(page: Any) -> None:
    # notched: its middle top is outside
    arrow = [[0, 0], [4, 0], [4, 4], [2, 1], [0, 4]]
    inside = "([x, y, around]) => g.inside(x, y, around)"
    assert page.evaluate(inside, [1, 1, arrow])
    assert not page.evaluate(inside, [2, 3, arrow])
    assert not page.evaluate(inside, [5, 1, arrow])


def test_the_nearest_point_is_the_nearest(page: Any) -> None:
    draw = np.random.default_rng(3)
    points, asked = draw.uniform(-1, 1, (2000, 2)), draw.uniform(-1, 1, (50, 2))
    found = page.evaluate(
        """([xs, ys, asked]) => {
          const cells = new g.Cells(xs, ys, 40);
          return asked.map(([x, y]) => cells.nearest(x, y, 0.2));
        }""",
        [points[:, 0].tolist(), points[:, 1].tolist(), asked.tolist()],
    )
    far = np.linalg.norm(points[None] - asked[:, None], axis=2)
    assert found == far.argmin(axis=1).tolist()
    nothing = "(() => new g.Cells([0.9], [0.9], 8).nearest(-0.9, -0.9, 0.1))()"
    assert page.evaluate(nothing) == -1
