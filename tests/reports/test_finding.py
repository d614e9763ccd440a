"""From a word to its rows, its images and the other run, as a reader of report.html goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.html.evidence import Thumbnails
from t2ibench.reports.html.words import coded
from t2ibench.reports.sentences import row_spoken
from t2ibench.reports.view import RowView
from t2ibench.results.display import IntervalMark
from t2ibench.results.files import read_results
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Row
from tests.reports.test_page import NASTY

ROW = Row(name="nurse", scores={})
FEW = {"images_per_prompt": 6, "guided_images_per_prompt": 3, "permutations": 200}
MORE = {"bootstrap": 50, "control_encoder": "none"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Toyland as it is, and with nurses and chefs of both genders alike."""
    root = tmp_path_factory.mktemp("runs")
    even = {"nurse.gender.female": "0.5", "chef.gender.female": "0.5"}
    for name, args in (("plain", {}), ("even", even)):
        t2ibench.evaluate(
            "toyland", "occupations_tibet,weat_6_gender_career_family", model_args=args,
            output_dir=root / name, **FEW, **MORE,
        )  # fmt: skip
    return tuple(next((root / name).iterdir()) for name in ("plain", "even"))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def page(runs: tuple[Path, Path]) -> Path:
    target = runs[0].parent / "beside.html"
    assert main(["report", str(runs[0]), "--baseline", str(runs[1]), "--output", str(target)]) == 0
    return target


@pytest.mark.slow
def test_every_clear_stimulus_shows_images_of_its_own(runs: tuple[Path, Path]) -> None:
    text = (runs[0] / "report.html").read_text(encoding="utf-8")
    card = text.split('id="occupations_tibet"')[1].split("</article>")[0]
    section = card.split('class="stimuli"')[1].split("</details>")[0]
    by = read_results(runs[0]).tasks["occupations_tibet"].by
    clear = {row.name for row in by if (row.scores["lean"].p_holm or 1) < 0.05}
    assert clear and set(re.findall(r'<h5 class="small">(.*?) <span', section)) == clear
    strips = section.split('<div class="strip">')[1:]
    for strip in strips:
        name = strip.split(" <span")[0].rpartition(">")[2]
        alts = re.findall(r'alt="([^"]*)"', strip)
        assert len(alts) == 2 and all(name in alt for alt in alts)


def test_both_runs_are_compared_stimulus_by_stimulus(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    section = text.split('id="baseline"')[1].split("</section>")[0]
    rows = section.split('class="byrow"')[1].split("</details>")[0]
    names = re.findall(r'<th scope="row">([^<]*)</th>', rows)
    assert {"nurse", "chef"} <= set(names)
    assert len(names) == len(read_results(page.parent / "toyland").tasks["occupations_tibet"].by)
    cells = re.findall(r'<td class="num b">([^<]*)</td>', rows)
    sizes = [abs(float(cell.replace("−", "-"))) for cell in cells]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0.3


@pytest.mark.smoke
def test_a_word_leads_to_its_rows(browser: Any, page: Path) -> None:
    opened = browser.new_page()
    opened.goto(page.as_uri())
    assert opened.locator("form.finder").is_visible()
    opened.locator("#find").fill("NURSE")
    found = opened.locator(".finder li")
    texts = found.all_inner_texts()
    assert any("nurse: −" in text and ", clear" in text for text in texts)
    assert any("beside the other run" in text for text in texts)
    assert opened.locator(".byrow").first.get_attribute("open") is None
    found.filter(has_text="beside the other run").first.get_by_role("button").click()
    assert opened.locator(".byrow").first.get_attribute("open") is not None
    assert opened.locator(".rail.sought").is_visible()
    opened.locator("#find").fill(NASTY)
    assert opened.locator("#found").inner_text() == "Nothing found"
    opened.close()


def test_images_beyond_the_budget_leave_a_gap_however_often_they_are_shown(
    runs: tuple[Path, Path],
) -> None:
    row = read_samples(runs[0], "occupations_tibet")[0]
    size = len(Thumbnails(runs[0], runs[0]).of(row) or "")
    small = Thumbnails(runs[0], runs[0], budget=2 * size)
    assert [small.of(row) is None for _ in range(3)] == [False, False, True]
    other = read_samples(runs[0], "occupations_tibet")[-1]
    assert small.of(other) is None
    assert other["sha256"] not in small.made  # it is not even read


def test_backticks_set_code_and_the_rest_stays_text() -> None:
    assert coded("`a`<b>") == "<code>a</code>&lt;b&gt;"
    assert coded("one ` alone <i>") == "one ` alone &lt;i&gt;"
    assert coded("x `<s>` y") == "x <code>&lt;s&gt;</code> y"


def test_a_row_is_given_a_direction_only_where_it_is_clear() -> None:
    clear, not_clear = (
        RowView("nurse", None, 4, IntervalMark(-0.5, -0.75, -0.25, state, "low"), False, ROW)
        for state in ("clear", "not_clear")
    )
    axis = Axis("female", "male")
    assert row_spoken(clear, axis).startswith("nurse: −0.50 (to women), interval −0.75 to −0.25")
    assert "women" not in row_spoken(not_clear, axis) + row_spoken(clear, None)
