"""results.json, its tables, and what a reader sees of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.averages import average
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import HeadlineEstimate, lean_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.reports.markdown.document import results_markdown
from t2ibench.results import read_results
from t2ibench.results.builder import (
    adjusted_run,
    headline_record,
    rounded,
    score_record,
)
from t2ibench.results.schema import Control, Headline, Row, Score, TaskResult
from tests import hand


def task(p: float | None, **changes: object) -> TaskResult:
    headline = Headline(
        value=0.5, ci_low=0.4, ci_high=0.6, p=p, scale="lean", square=0.24, fair_low=-0.1,
        fair_high=0.1, question="fixed_prompts",
    )  # fmt: skip
    scores = {
        "effect_size": Score(value=1.0, p=p),
        "differential_association": Score(value=0.1),
    }
    return hand.task(
        **{"headline": headline, "scores": scores, "n_images": 10, **changes}
    )


def markdown(**tasks: TaskResult) -> str:
    return results_markdown(hand.results("m | <b>", **tasks))


def test_a_headline_is_written_with_both_of_its_questions() -> None:
    these = Influence.of_mean("a nurse", [0, 1, 2], [-0.5, -0.4, -0.3])
    found = headline_record(
        lean_headline(-0.4, these, 0.95, these.scaled(2.0), "prompt_population")
    )
    assert (found.value, found.scale, found.question) == (
        -0.4,
        "lean",
        "prompt_population",
    )
    assert found.fixed_prompts is not None and found.prompt_population is not None
    chosen = found.prompt_population
    assert (found.ci_low, found.ci_high) == (chosen.ci_low, chosen.ci_high)
    assert found.ci_low is not None and found.fixed_prompts.ci_low is not None
    assert found.ci_low + 0.4 == pytest.approx(2 * (found.fixed_prompts.ci_low + 0.4))
    assert found.fair_low == pytest.approx(found.ci_low + 0.4)
    assert found.square == pytest.approx(0.16 - 4 * these.variance)


def test_a_missing_value_stays_missing() -> None:
    found = score_record(Estimate(None, reason="no image"), 0.95)
    assert found.value is None and found.ci_low is None and found.reason == "no image"
    undefined = score_record(Estimate(float("nan"), np.array([1.0]), p=0.3), 0.95)
    assert undefined.value is None and undefined.p is None and undefined.reason
    assert headline_record(HeadlineEstimate.undefined("no image")).reason == "no image"


def test_the_mean_of_encoders_is_tested_on_the_mean_null() -> None:
    one = Estimate(
        1.0, np.array([0.9, 1.1]), np.array([-1.0, 0.0, 1.0, 0.5]), 0.5, "exact"
    )
    two = Estimate(
        0.0, np.array([0.1, -0.1]), np.array([0.0, 1.0, 0.0, 0.5]), 1.0, "exact"
    )
    both = average([one, two])
    assert both.value == pytest.approx(0.5)
    assert both.boot == pytest.approx([0.5, 0.5])
    assert both.p == pytest.approx(1.0)  # all four means are at least 0.5 away from 0
    assert average([one, Estimate(None, reason="x")]).reason == "x"


def test_p_values_are_corrected_over_the_run_by_score() -> None:
    found = adjusted_run({"a": task(0.01), "b": task(0.04), "c": task(None)})
    assert [one.headline.p_holm for one in found.values()] == pytest.approx(
        [0.02, 0.04, None]
    )
    assert found["a"].scores["effect_size"].p_bh == pytest.approx(0.02)
    assert found["a"].scores["differential_association"].p_holm is None
    found["b"] = found["b"].model_copy(update={"positive_control": True})
    apart = adjusted_run(found)
    assert [one.headline.p_holm for one in apart.values()] == pytest.approx(
        [0.01, 0.04, None]
    )


def test_a_file_is_read_as_written_and_unknown_keys_are_refused(tmp_path: Path) -> None:
    before = hand.results(b=task(0.5), a=task(None, reason="no images"))
    text = before.to_json()
    (tmp_path / "results.json").write_text(text)
    assert read_results(tmp_path).to_json() == text
    data = json.loads(text)
    assert list(data["tasks"]) == ["a", "b"] and data["schema"] == 3
    data["tasks"]["a"]["headlin"] = 1
    (tmp_path / "results.json").write_text(json.dumps(data))
    with pytest.raises(T2IBenchError, match="not a results file of schema 3"):
        read_results(tmp_path)
    with pytest.raises(T2IBenchError, match="cannot be read"):
        read_results(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "forged",
    [{"diversity": {"toy-clip": []}}, {"published": [{}]}, {"published": [{"a": 1}]}],
)
def test_results_without_what_every_report_shows_are_refused(
    forged: dict[str, object], tmp_path: Path
) -> None:
    data = json.loads(hand.results(a=task(0.5)).to_json())
    data["tasks"]["a"] |= forged
    (tmp_path / "results.json").write_text(json.dumps(data))
    with pytest.raises(T2IBenchError, match="not a results file of schema 3"):
        read_results(tmp_path)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = dict.fromkeys(("value", "ci_low", "ci_high", "p", "p_holm", "p_bh"), _NUMBER)
_SCORES = st.dictionaries(
    _TEXT, st.builds(Score, **_VALUES, reason=st.none() | _TEXT), max_size=2
)
_ROWS = st.lists(
    st.builds(Row, name=_TEXT, group=st.none() | _TEXT, scores=_SCORES), max_size=2
)
_HEADLINE = st.builds(
    Headline, **_VALUES, square=_NUMBER, fair_low=_NUMBER, fair_high=_NUMBER
)
_TASK = st.builds(
    task, st.none(), headline=_HEADLINE, scores=_SCORES, by=_ROWS,
    warnings=st.lists(_TEXT, max_size=2), details=st.dictionaries(_TEXT, _NUMBER | _TEXT),
)  # fmt: skip


@settings(max_examples=25)
@given(tasks=st.dictionaries(_TEXT, _TASK, max_size=2))
def test_any_results_are_read_as_they_were_written(
    tasks: dict[str, TaskResult], tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = hand.results().model_copy(update={"tasks": tasks})
    file = tmp_path_factory.getbasetemp() / "any-results.json"
    file.write_text(before.to_json(), encoding="utf-8")
    after = read_results(file)
    assert after == before
    assert after.to_json() == before.to_json()


def test_markdown_says_what_a_reader_must_know() -> None:
    text = markdown(
        a=task(
            0.5,
            warnings=["the <b>manipulation</b> may have failed"],
            encoder_agreement=False,
        ),
        b=task(
            None,
            headline={"reason": "none"},
            reason="no images",
            excluded={"filtered": 3},
        ),
    )
    assert "| a" in text and "[0.40, 0.60]" in text and "effect size = +1.00" in text
    assert "| +0.50" in text and "[−0.10, 0.10]" in text and "| these" in text
    assert "3 filtered" in text and "`b` has no score: no images" in text
    assert "do not agree on the sign" in text and "<b>" not in text


def test_headlines_are_shown_on_their_scale() -> None:
    square = {"scale": "mean_square", "fair_low": -0.02, "fair_high": 0.09}
    text = markdown(
        left=task(
            0.5, headline=Headline(value=-0.47, scale="lean", direction="To the left.")
        ),
        many=task(
            0.5, headline=Headline(value=0.25, ci_low=-0.01, ci_high=0.36, **square)
        ),
        more=task(0.5, headline=Headline(value=0.1, scale="excess")),
    )
    rows = {
        line.split("|")[1].strip(): line
        for line in text.splitlines()
        if line[:2] == "| "
    }
    assert "| −0.47" in rows["left"] and "- `left`: To the left." in text
    assert "| rms 0.50" in rows["many"]
    assert "[0.00, 0.60]" in rows["many"] and "[0.00, 0.30]" in rows["many"]
    assert "| excess +0.10" in rows["more"]
    assert "rms: the root mean square" in text and "excess: how much more" in text
    alone = markdown(a=task(0.5))
    assert "rms" not in alone and "excess" not in alone and "inconclusive" not in alone


def test_an_inconclusive_test_shows_neither_interval_nor_p() -> None:
    why = "its two halves disagree"
    says = "The even images lean by +0.9, the odd ones by -0.1."
    control = Control(says=says, p=0.001, contradicts=why)
    head = task(0.001).headline.model_copy(update={"direction": f"Cannot tell: {why}."})
    found = task(0.001, headline=head, inconclusive=why, controls={"halves": control})
    text = markdown(a=found)
    (row,) = (line for line in text.splitlines() if line.startswith("| a "))
    assert "inconclusive (+0.50)" in row and "[0.40" not in row and "0.001" not in row
    assert f"- `a`: Cannot tell: {why}." in text
    assert f"- `a` is inconclusive: {why}" in text and f"  - {says}" in text
    nothing = Headline(scale="lean", reason="the encoder sees no difference")
    text = markdown(a=task(None, headline=nothing, inconclusive="it is blind"))
    assert "| inconclusive " in text and "inconclusive (" not in text


def test_the_level_of_the_intervals_is_in_the_head_and_scores_as_published_are_marked() -> (
    None
):
    scores = {"effect_size": Score(value=1.0, p=0.01, as_published=True)}
    ninety = task(0.5, scores=scores, settings=hand.settings(level=0.9))
    text = markdown(a=ninety)
    assert "effect size = +1.00†" in text and "† as the paper computes it" in text
    assert "| 90 % CI" in text and "| CI" in markdown(a=task(0.5), b=ninety)
    assert "†" not in markdown(a=task(0.5))


def test_numbers_are_rounded_to_what_means_something() -> None:
    assert [rounded(x) for x in (0.1 + 0.2, float("nan"), None)] == [0.3, None, None]


def test_rows_that_may_lean_either_way_are_in_the_text_of_results() -> None:
    given = hand.mean_square({"nurse": [1.0, 1.0, 0.9], "chef | a": [-1.0, -0.8, -1.0]})
    flat = hand.mean_lean({"nurse": [1.0, 0.5, 1.0]})
    text = markdown(jobs=hand.record(given), flat=hand.record(flat))
    table = text.partition("## Rows of jobs")[2].partition("##")[0]
    assert "| nurse" in table and "+0.97" in table and "95 % CI" in table
    assert "chef \\| a" in table and "−0.93" in table
    assert "Rows of flat" not in text  # its headline has the direction of all


def test_results_in_python_are_short_and_a_table(tmp_path: Path) -> None:
    squares = hand.mean_square({"nurse": [1.0, 0.9], "chef": [0.0, 1]})
    given = hand.results(jobs=hand.record(squares))
    assert (
        len(repr(given)) < 80 and "1 task>" in repr(given) and str(given) == repr(given)
    )
    assert len(repr(given.tasks["jobs"])) < 120 and "headline +" in repr(
        given.tasks["jobs"]
    )
    assert given.folder is None
    (tmp_path / "results.json").write_text(given.to_json())
    read = read_results(tmp_path)
    assert read == given and read.folder == tmp_path and str(tmp_path) in repr(read)
    assert read != given.model_copy(update={"limited": True}) and read != "results"


def test_reasons_of_excluded_images_are_in_the_text_of_results() -> None:
    because = {"filtered": {"the image is all black": 4}, "failed": {"x|y": 1}}
    text = markdown(a=task(0.5, excluded_because=because, missing_prompts=["p|q"]))
    assert "`a`: 4 images filtered: the image is all black" in text
    assert "`a`: 1 image failed: x\\|y" in text
    assert "1 prompt without images" in text and "'p\\|q'" in text
