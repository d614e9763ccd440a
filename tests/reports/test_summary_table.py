"""One row a test, and tables as CSV within the page."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from t2ibench.methods.core.wording_report import PartScore, WordingReport
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.summary_table import summary_table_section
from t2ibench.reports.view import run_view
from t2ibench.results.files import read_results
from t2ibench.results.schema import Headline
from tests import hand

HOSTILE = '=1+1,"><script>alert(1)</script>&%41#\n'


def table_of(link: str) -> list[list[str]]:
    """The rows of the CSV that a link holds."""
    (address,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', link)
    return list(csv.reader(io.StringIO(unquote(html.unescape(address)))))


def test_a_link_holds_a_table_whatever_stands_in_it() -> None:
    link = csv_link("a <b>", ["näme", "value"], [[HOSTILE, 0.123456], ["x", None]])
    assert "<script" not in link and "a &lt;b&gt;.csv" in link
    assert table_of(link) == [["näme", "value"], [f"'{HOSTILE}", "0.123456"], ["x", ""]]


def test_numbers_in_a_link_are_those_that_programs_read() -> None:
    cells = ["−0.50", -0.0, 1234.0, 98765.0, 2 / 3, "a − b", "−1 of −2"]
    link = csv_link("numbers", ["cell"], [[cell] for cell in cells])
    assert [cell for (cell,) in table_of(link)[1:]] == [
        "-0.50",
        "0",
        "1234",
        "98765",
        "0.666667",
        "a − b",
        "−1 of −2",
    ]


def test_half_a_surrogate_pair_in_a_table_does_not_stop_a_page() -> None:
    link = csv_link("prompts", ["prompt"], [["a chef \ud83d"]])
    assert table_of(link) == [["prompt"], ["a chef \\ud83d"]]


def test_a_run_has_one_row_a_test_and_only_columns_that_were_measured() -> None:
    parts = [
        PartScore("a photo", "en", 1, 0.25, 0.1, 0.4),
        PartScore("a drawing", "en", 1, -0.5, -0.6, -0.4),
    ]
    report = WordingReport(None, "lean", "other wordings", parts, [], 0.1, 0.5, "So.")
    head = Headline(value=0.5, p=0.02, scale="lean", ci_low=0.25, ci_high=0.75)
    tested = {"headline": head, "n_images": 8, "reason": None}
    results = hand.results(
        a=hand.task(
            "t2iat",
            details={"wording": [asdict(report)]},
            excluded={"refused": 2},
            **tested,
        ),
        b=hand.task("t2iat", **tested),
    )
    section = summary_table_section(run_view(results), {})
    assert section is not None
    assert section.count('<th scope="row">') == 2
    assert ">By wording<" in section and "−0.50 to +0.25" in section
    assert ">Obeyed<" not in section and ">Diversity<" not in section
    assert "2 of 10" in section and "0 of 8" in section
    heads, first, second = table_of(section)
    row = dict(zip(heads, first, strict=True))
    assert (row["lean"], row["left out"], row["images"]) == ("+0.50", "2", "10")
    assert second[0] == "t"
    assert summary_table_section(run_view(hand.results()), {}) is None


def test_every_table_of_a_run_is_in_its_page(shared_run: Path) -> None:
    page = (shared_run / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'<a class="csv[^>]*>', page)
    names = [name for link in links for name in re.findall(r'download="([^"]*)"', link)]
    for name in ("tests.csv", "by stimulus.csv", "shown person gender.csv"):
        assert name in names
    (tests,) = [link for link in links if 'download="tests.csv"' in link]
    n_on_images = len(read_results(shared_run).tasks) - 1
    assert len(table_of(tests)) == 1 + n_on_images


@pytest.mark.smoke
def test_a_link_saves_its_table(browser: Any, shared_run: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((shared_run / "report.html").as_uri())
    with page.expect_download() as waiting:
        page.locator("#table a.csv").first.click()
    waiting.value.save_as(tmp_path / "tests.csv")
    assert waiting.value.suggested_filename == "tests.csv"
    assert (tmp_path / "tests.csv").read_text().startswith("test,shows,lean,")
    assert said == []
    page.close()
