"""Tests of words alone, several judges, wordings: sections of pages and of results.md."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from t2ibench.methods.core.score_table import ScoreTable
from t2ibench.methods.core.wording_report import PartScore, WordingReport
from t2ibench.methods.openbias.agreement import Agreement
from t2ibench.reports.html.design_sections import (
    score_tables_section,
    wordings_section,
)
from t2ibench.reports.html.reader_sections import agreement_section, judges_views
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.method_agreement import in_words
from t2ibench.reports.results_tables import OF_ENCODERS
from t2ibench.reports.sentences import interval_text, spoken
from t2ibench.reports.terminal import screen
from t2ibench.reports.view import run_view
from t2ibench.results.display import text_only
from t2ibench.results.method_agreement import Measure, MeasuredPair
from t2ibench.results.schema import Headline, Results, Score, TaskResult
from t2ibench.settings import Settings
from t2ibench.stats.method_agreement import Correlation, MethodAgreement
from tests import hand


def task(method: str, p: float, n_images: int, **parts: object) -> TaskResult:
    head, scores = Headline(value=0.5, p=p, scale="lean"), {"d": Score(value=1.0, p=p)}
    return hand.task(method, headline=head, scores=scores, n_images=n_images, **parts)


BOTH = {"of_images": task("t2iat", 0.02, 8), "of_words": task("weat", 0.03, 0)}


def test_words_alone_come_second_with_the_line_that_says_what_they_describe() -> None:
    text = results_markdown(hand.results(**BOTH))
    first, _, second = text.partition("## Text encoders")
    assert "| of_images" in first and "| of_words" not in first
    assert OF_ENCODERS in second
    assert "| of_words" in second and "| of_images" not in second
    # Images that are missing are still images.
    assert text_only(BOTH["of_words"]) and not text_only(task("t2iat", 0.5, 0))
    assert not text_only(task("weat", 0.5, 0, excluded={"refused": 3}))


@pytest.mark.parametrize("width", [60, 120])
def test_the_terminal_counts_tests_of_words_and_shows_them_where_there_are_no_others(
    width: int,
) -> None:
    words = {"of_words": BOTH["of_words"]}
    lines, alone = (
        [line.plain for line in screen(run_view(hand.results(**tasks)), width)]
        for tasks in (BOTH, words)
    )
    text = " ".join(" ".join(lines).split())
    assert text.index("of_images") < text.index("Words alone")
    assert "1 of 1 lean clearly" in text and "of_words" not in text
    assert any("of_words" in line and "+0.50" in line for line in alone)
    assert max(map(len, [*lines, *alone])) <= width


GENDER = Agreement([0, 1], "person gender", 40, 0.9, 0.89, 0.8, 0.004, True)
RACE = Agreement([0, 1], "person race", 38, 0.55, 0.31, 0.02, 0.41, False)
NEVER = Agreement([0, 1], "cake type", 0, None, None, None, None, False)


def test_an_easy_question_does_not_hide_a_hard_one() -> None:
    found = task(
        "openbias", 0.5, 80,
        details={"rater_agreement": [asdict(one) for one in (GENDER, RACE, NEVER)]},
        settings=hand.settings(judges={"llava": "1" * 64, "<clip>": "2" * 64}),
    )  # fmt: skip
    run = run_view(hand.results(examples=found), {})
    gender, race, never = judges_views(run.tasks[0])
    assert (
        judges_views(run_view(hand.results(one=task("openbias", 0.5, 8))).tasks[0])
        == []
    )
    assert gender.scores == ("0.90", "0.89", "0.80", "0.00")
    assert (race.images, race.majority) == (38, False)
    assert never.scores == ("–",) * 4 and never.majority is None
    page = str(agreement_section(run))
    assert "llava and &lt;clip&gt;" in page
    for text in (
        "person gender",
        "person race",
        "0.80",
        "0.02",
        "! differs",
        "KL, nats",
    ):
        assert text in page


PARTS = [
    PartScore("a <b>photo</b> of {stimulus}", "en", 1, 0.25, 0.1, 0.4),
    PartScore("ein Foto | {stimulus}", "de", 1, None, None, None, "nothing | to tell"),
]
REPORT = WordingReport(
    None, "lean", "other wordings", PARTS, [PartScore("en", "en", 1, 0.25, 0.1, 0.4)],
    0.12, 0.004, "30% of it <script>alert(1)</script>.",
)  # fmt: skip


def worded(*reports: WordingReport) -> Results:
    details = {"wording": [asdict(report) for report in reports]}
    return hand.results(
        worded=task("t2iat", 0.02, 8, details=details), plain=task("t2iat", 0.5, 8)
    )


def wording_of(results: Results) -> str | None:
    """The part on wordings in the card of a run's one test that has some, or of its last."""
    sections = [wordings_section(task) for task in run_view(results).tasks]
    section = next(filter(None, sections), None)
    return None if section is None else fragment("wordings.html", section=section)


def test_a_page_has_the_sentence_and_every_wording() -> None:
    html = wording_of(worded(REPORT))
    assert html is not None and wording_of(worded()) is None
    assert (
        "<script>" not in html and "ein Foto | {stimulus}" in html and "+0.25" in html
    )
    assert "30% of it &lt;script&gt;" in html and "+0.10 to +0.40" in html
    assert "a &lt;b&gt;photo" in html and "nothing | to tell" in html


def test_a_mean_square_is_shown_as_its_root() -> None:
    square = WordingReport(
        "a-b", "mean_square", "other wordings", [PartScore("x", None, 2, 0.25, -0.01, 0.36)], [],
        0.0, None, "",
    )  # fmt: skip
    html = wording_of(worded(square))
    assert html is not None and "(a-b)" in html
    assert ">0.50<" in html and ">0.00 to 0.60<" in html and "Language" not in html


@pytest.mark.parametrize("hostile", ["text", [1], [{"pair": None}], {"a": 1}])
def test_malformed_wording_reports_are_not_shown(hostile: object) -> None:
    other = task("t2iat", 0.02, 8, details={"wording": hostile})
    assert wording_of(hand.results(other=other)) is None


TABLE = ScoreTable(
    "Forms of the <jobs>: men or women", "About | others.",
    {"masculine − neutral": "forms:masculine-neutral", "gone": "forms:gone", "none": "forms:none"},
    "forms_holm",
)  # fmt: skip


def compared(**details: object) -> Results:
    scores = {
        "forms:masculine-neutral": Score(value=0.41, ci_low=0.2, ci_high=0.62, p=0.01),
        "forms:none": Score(reason="too few stimuli"),
    }
    return hand.results(forms=hand.task("occupations", scores=scores, details=details))


def test_score_tables_of_a_task_are_shown_as_tables() -> None:
    results = compared(
        score_tables=[asdict(TABLE)], forms_holm={"forms:masculine-neutral": 0.03}
    )
    html = score_tables_section(run_view(results))
    assert (
        html is not None
        and "Forms of the &lt;jobs&gt;" in html
        and "[0.20, 0.62]" in html
    )
    assert (
        ">+0.41<" in html and ">0.03<" in html and "No value: too few stimuli." in html
    )
    text = results_markdown(results)
    assert "## Forms of the &lt;jobs>: men or women: forms" in text
    row = next(line for line in text.splitlines() if "masculine − neutral" in line)
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        *("masculine − neutral", "+0.41", "[0.20, 0.62]", "0.01", "0.03"),
    ]
    assert "About \\| others." in text and "No value: too few stimuli." in text
    assert score_tables_section(run_view(compared())) is None


def test_shares_have_no_plus() -> None:
    shares = ScoreTable(
        "What is so", "Shares.", {"men": "forms:masculine-neutral"}, signed=False
    )
    results = compared(score_tables=[asdict(shares)])
    html = score_tables_section(run_view(results))
    assert html is not None and ">0.41<" in html and "+0.41" not in html
    assert "p (Holm)" not in html  # nothing is corrected, so no column of dashes
    assert "+0.41" not in results_markdown(results)


def test_a_size_is_spoken_without_a_plus() -> None:
    values = {"value": 0.25, "ci_low": 0.16, "ci_high": 0.36, "p": 0.01}
    values |= {"fair_low": 0.0, "fair_high": 0.04}
    square = Headline(scale="mean_square", **values)
    size = hand.task("occupations", headline=square)
    size_view = run_view(hand.results(rms=size)).tasks[0]
    assert "0.50, interval 0.40 to 0.60" in spoken(size_view)
    assert "between 0.00 and 0.20" in interval_text(size_view)
    lean = hand.task("t2iat", headline=Headline(scale="lean", **values))
    lean_view = run_view(hand.results(lean=lean)).tasks[0]
    assert "+0.25, interval +0.16 to +0.36" in spoken(lean_view)


@pytest.mark.parametrize("hostile", ["text", [1], [{"title": None}], {"a": 1}])
def test_malformed_score_tables_are_not_shown(hostile: object) -> None:
    results = compared(score_tables=hostile)
    assert score_tables_section(run_view(results)) is None
    bad_p_values = compared(score_tables=[asdict(TABLE)], forms_holm=hostile)
    assert score_tables_section(run_view(bad_p_values)) is not None


NAN = float("nan")


@pytest.mark.parametrize(
    ("true", "reason", "said"),
    [
        ((1.02, 0.9, 1.0), None, "They agree; no difference beyond noise is shown."),
        ((0.8, 0.5, 0.93), None, "They agree, but not fully: at most 0.93."),
        (
            (0.3, -0.1, 0.6),
            None,
            "Cannot tell whether they agree: the interval holds 0.",
        ),
        ((-0.8, -1.0, -0.5), None, "They see opposite leans."),
        (
            (NAN, NAN, NAN),
            "5 items; 8 are the fewest",
            "Cannot tell: 5 items; 8 are the fewest.",
        ),
    ],
)
def test_agreement_of_two_methods_is_described_in_words(
    true: tuple[float, float, float], reason: str | None, said: str
) -> None:
    measure = Measure("a", "t2iat", "clip", ("female", "male"), {}, {}, Settings())
    skin = replace(measure, attribute=("dark", "light"))

    def pair(
        second: Measure, linear: float, others: tuple[MeasuredPair, ...] = ()
    ) -> MeasuredPair:
        seen = Correlation(linear, linear - 0.1, linear + 0.1)
        found = MethodAgreement(20, seen, seen, (0.9, 0.8), Correlation(*true), reason)
        return MeasuredPair(measure, second, found, (), others)

    assert in_words(pair(measure, 0.6, (pair(skin, 0.2),))) == said
    other = in_words(pair(measure, 0.6, (pair(skin, 0.2), pair(skin, -0.7))))
    assert other == f"{said} Another attribute (dark / light) correlates as much."
    page = str(agreement_section(run_view(hand.results(**BOTH)), [pair(measure, 0.6)]))
    assert "Do the methods agree?" in page and "a, clip" in page
    assert (">female / male: cannot tell<" in page) == (reason is not None)
