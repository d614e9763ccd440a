"""What pages say of wordings: the sentence, a row a language and a wording, text escaped."""

from __future__ import annotations

import pytest

from t2ibench.methods.core.wording_report import PartScore, Shares, WordingReport
from t2ibench.reports.html import sections
from t2ibench.reports.markdown import results_markdown
from t2ibench.reports.view import run_view
from t2ibench.reports.wordings import wording_reports, wording_rows
from t2ibench.results.schema import Results
from tests.reports.test_encoder_table import results, task

REPORT = WordingReport(
    None,
    "lean",
    "other wordings",
    [
        PartScore("a <b>photo</b> of {stimulus}", "en", 1, 0.25, 0.1, 0.4),
        PartScore("ein Foto | {stimulus}", "de", 1, None, None, None, "nothing | to tell"),
    ],
    [PartScore("en", "en", 1, 0.25, 0.1, 0.4)],
    Shares(0.1, 0.2, 0.3, 0.4),
    0.12,
    0.004,
    "30% of it <script>alert(1)</script>.",
)


def run(*reports: WordingReport) -> Results:
    details = {"wording": [report.as_detail() for report in reports]}
    return results(worded=task("t2iat", 0.02, 8, details=details), plain=task("t2iat", 0.5, 8))


def test_page_and_results_md_have_the_sentence_and_every_wording() -> None:
    html = sections.wordings_section(run_view(run(REPORT)))
    assert html is not None and sections.wordings_section(run_view(run())) is None
    assert "<script>" not in html and "ein Foto | {stimulus}" in html and "+0.250" in html
    text = results_markdown(run(REPORT))
    assert text.count("## Wordings of") == 1
    section = text.partition("## Wordings of worded")[2]
    assert "30% of it &lt;script>" in section
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert "a &lt;b>photo&lt;/b> of {stimulus}" in section
    assert [row.split(" | ")[1].strip() for row in rows[2:4]] == ["en", "en"]
    assert "[0.100, 0.400]" in rows[2] and r"ein Foto \| {stimulus}" in rows[4]
    assert r"nothing \| to tell" in rows[4]


def test_a_mean_square_is_shown_as_its_root() -> None:
    square = WordingReport(
        "a-b", "mean_square", "other wordings", [PartScore("x", None, 2, 0.25, -0.01, 0.36)], [],
        None, 0.0, None, "",
    )  # fmt: skip
    (row,) = wording_rows(square)
    assert (row.value, row.interval, row.language) == ("0.500", "[0.000, 0.600]", "–")
    assert "## Wordings of worded (a-b)" in results_markdown(run(square))


@pytest.mark.parametrize("hostile", ["text", [1], [{"pair": None}], {"a": 1}])
def test_what_is_no_report_is_not_shown(hostile: object) -> None:
    other = task("t2iat", 0.02, 8, details={"wording": hostile})
    assert wording_reports(other) == []
    assert "## Wordings" not in results_markdown(results(other=other))
