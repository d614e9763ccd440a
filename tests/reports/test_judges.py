"""Several judges on the page: agreement about each question apart."""

from __future__ import annotations

from dataclasses import asdict

from t2ibench.methods.openbias.agreement import Agreement
from t2ibench.reports.html.sections import agreement_section, questions_of
from t2ibench.reports.view import run_view
from t2ibench.results.schema import TaskSettings
from tests.reports.test_encoder_table import results, task

GENDER = Agreement([0, 1], "person gender", 40, 0.9, 0.89, 0.8, 0.81, 0.004, 0.05, True)
RACE = Agreement([0, 1], "person race", 38, 0.55, 0.31, 0.02, 0.03, 0.41, 0.2, False)
NEVER = Agreement([0, 1], "cake type", 0, None, None, None, None, None, None, False)


def test_an_easy_question_does_not_hide_a_hard_one() -> None:
    found = task(
        "openbias", 0.5, 80,
        details={"agreement": [asdict(one) for one in (GENDER, RACE, NEVER)]},
        settings=TaskSettings(encoders={}, judges={"llava": "1" * 64, "<clip>": "2" * 64}),
    )  # fmt: skip
    run = run_view(results(examples=found), {})
    gender, race, never = questions_of(run.tasks[0])
    assert gender.scores == [0.9, 0.89, 0.8, 0.81, 0.004]
    assert (race.n, race.same_majority) == (38, False)
    assert never.scores == [None] * 5
    page = str(agreement_section(run))
    assert "llava and &lt;clip&gt;" in page
    for text in ("person gender", "person race", "0.80", "0.02", "! differs", "KL, nats"):
        assert text in page


def test_one_judge_has_nobody_to_agree_with() -> None:
    assert questions_of(run_view(results(one=task("openbias", 0.5, 8)), {}).tasks[0]) == []
