"""What remedies change and cost, as table, plane and page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.reports.figures.plane import axes_of, pairs_of_axes, plane, plane_file
from t2ibench.reports.frontier_sentences import remedy_sentences
from t2ibench.reports.frontier_table import frontier_table
from t2ibench.reports.html.frontier_page import frontier_html, frontier_view
from t2ibench.reports.writers import render
from t2ibench.results.frontier import AXES, Frontier, frontier
from t2ibench.results.paired import dump_paired
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.store.database import Database
from t2ibench.store.scores import ScoreStore, StoredScore
from tests.apps.explorer.page import Watch, axe
from tests.conftest import Cli
from tests.results.test_frontier import run

NASTY = "<script>alert(1)</script>"
LEAN_AND_DIVERSITY = axes_of("lean,diversity")
FAULTY = {
    "women": (4, 18, 4),
    "contradicting": 8,
    "sunny": 22,
    "diversity": 0.4,
    "refused": 20,
}


def two_remedies(name: str = "faulty") -> Frontier:
    """A model before, with a remedy that costs nothing, and with one that costs a lot."""
    fine = run("fine!!", women=(12, 12, 12))
    faulty = replace(run("faulty", **FAULTY), name=name)  # type: ignore[arg-type]
    return frontier([run("before"), fine, faulty])


def write(folder: Path, made: ComparedRun) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(made.results.to_json(), encoding="utf-8")
    scores = ScoreStore(Database(folder))
    for task, paired in made.paired.items():
        content = StoredScore("{}", "[]", dump_paired({task: paired}))
        scores.add(task, "by hand", content)
    scores.publish(dict.fromkeys(made.paired, "by hand"), set(made.paired))
    return folder


def test_each_clear_cost_is_a_sentence() -> None:
    both = two_remedies()
    fine, faulty = (" ".join(remedy_sentences(both, each)) for each in both.remedies)
    assert "falls from" in fine and "No cost is clear" in fine
    for words in (
        "over-corrects: 33 %, before 0 %, of the images asked for male",
        "turned from one side to the other",
        "entangled: leans of other tests move: weather (valence",
        "collapses a group: the diversity of images asked for male",
        "refuses more: 28 %, before 0 %, of the images of female",
    ):
        assert words in faulty, words
    assert "agree less" not in faulty


def test_the_table_has_all_numbers_for_people_and_for_programs() -> None:
    table = frontier_table(two_remedies())
    names = [row[1] for row in table.rows if row[0] == "faulty"]
    assert len(names) == 6 and names[0] == "lean"
    rows = json.loads(render("json", table))
    rows = rows["rows"] if isinstance(rows, dict) else rows
    spill = [row for row in rows if row["number"] == "spill_over"]
    assert [row["of"] for row in spill] == ["", "weather (valence)"] * 2
    assert all(row["before"] == 0 for row in spill)
    turned = {row["of"] for row in rows if row["number"] == "turned"}
    assert turned == {"a nurse", "a chef", "a judge"}
    text = render("md", table)
    assert "a clear cost" in text and "two runs" not in text


def test_numbers_are_written_as_the_reading_guide_has_it() -> None:
    """Signs stand before changes alone, and a Vendi score has three significant digits."""
    rows = {row[1]: row for row in frontier_table(two_remedies()).rows}
    before, after, change, interval = rows["· male: Vendi score"][2:6]
    assert (before[:2], after[:2], change[:3]) == ("6.", "6.", "−0.")
    assert len(before) == len(after) == 4 and len(change) == 6
    assert "+" not in before + after + interval
    for row in rows.values():
        assert "+" not in row[2] + row[3] + row[5]


def test_the_plane_has_an_arrow_an_outline_and_the_band() -> None:
    both = two_remedies()
    canvas = plane(both, LEAN_AND_DIVERSITY)
    assert canvas is not None
    drawn = str(canvas.svg())
    assert drawn.count("polyline") == 4 and 'class="band"' in drawn
    assert "faulty, after: lean 0.59" in drawn
    assert "<style>" in plane_file(both, LEAN_AND_DIVERSITY)
    assert len(pairs_of_axes(LEAN_AND_DIVERSITY)) == len(AXES) * (len(AXES) - 1) / 2
    # Nothing is drawn of numbers that nobody measured.
    bare = frontier([replace(run(name), paired={}) for name in ("a", "b")], "jobs")
    assert plane(bare, LEAN_AND_DIVERSITY) is None
    with pytest.raises(T2IBenchError, match="No remedy has both"):
        plane_file(bare, LEAN_AND_DIVERSITY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lean,divercity", "Did you mean 'diversity'"),
        ("lean", "two different axes"),
        ("lean,lean", "two different axes"),
    ],
)
def test_wrong_axes_are_one_line(text: str, message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        axes_of(text)


def test_the_page_escapes_names_and_has_every_plane() -> None:
    both = two_remedies(NASTY)
    html = frontier_html(both, LEAN_AND_DIVERSITY)
    assert NASTY not in html and "&lt;script&gt;" in html
    assert "default-src 'none'" in html and "<script" not in html
    view = frontier_view(both, LEAN_AND_DIVERSITY)
    assert len(view.planes) == 10
    assert [row.name for row in view.rows if row.heading] == ["lean", "lean"]


def test_the_command_prints_and_writes(cli: Cli, tmp_path: Path) -> None:
    before = write(tmp_path / "before", run("before"))
    after = write(tmp_path / "after", run("faulty", **FAULTY))  # type: ignore[arg-type]
    status, printed, _ = cli("frontier", str(before), str(after))
    assert status == 0 and "over-corrects" in printed
    for form in ("html", "svg"):
        assert cli("frontier", str(before), str(after), "--format", form)[0] == 0
        assert (after / f"frontier.{form}").is_file()
    target = tmp_path / "numbers.csv"
    words = ("--format", "csv", "--output", str(target))
    assert cli("frontier", str(before), str(after), *words)[0] == 0
    assert target.read_text(encoding="utf-8").startswith("remedy,number,of,before")
    status, _, error = cli("frontier", str(before), str(after), "--axes", "lean,size")
    assert status == 1 and "unknown axis 'size'" in error


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_the_page_is_accessible_and_fits(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    page_file = tmp_path / "page.html"
    html = frontier_html(two_remedies(), LEAN_AND_DIVERSITY)
    page_file.write_text(html, encoding="utf-8")
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, "file://", bypass_csp=True, **options)
    watch.page.goto(page_file.as_uri())
    watch.page.locator("summary").click()
    assert axe(watch.page) == []
    assert watch.page.evaluate("document.documentElement.scrollWidth") <= width
    watch.close()
