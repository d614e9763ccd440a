"""What sentences, table and figure say of where a lean comes from."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.reports.figures.word_order import word_order_file
from t2ibench.reports.where_sentences import about, where_sentences
from t2ibench.reports.where_table import where_table
from t2ibench.results.corrected_tests import NamedTest
from t2ibench.results.lean_split import split_leans
from t2ibench.results.where import Where, where
from tests import hand
from tests.results.where_runs import (
    BESIDE,
    FAIR,
    JOBS,
    LIKE_WORDS,
    rewritten,
    run,
    with_rewriter,
    with_task,
)


def sentences(result: Where) -> str:
    return " ".join(where_sentences(result))


def test_a_mean_lean_is_said_of_the_average() -> None:
    """Seven occupations show men and one shows women: not all prompts lean to men."""
    text = sentences(where([run("toy", (2, *[20] * 7))]))
    assert "On average, images of toy lean to men (+0.48" in text
    assert "All prompts" not in text


def test_the_threshold_is_that_of_the_level() -> None:
    made = run("toy", LIKE_WORDS)
    assert "p-value is below 0.05 after Holm" in about(where([made]))
    wide = with_task(made, settings=hand.settings(level=0.9))
    assert "p-value is below 0.1 after Holm" in about(where([wide]))


def test_rewritten_prompts_are_counted_by_image() -> None:
    behind = with_rewriter(run("behind", FAIR), "polite")
    rows = rewritten([12] * 8, [6] * 8)
    text = sentences(where([run("toy", FAIR), behind], samples=[[], rows]))
    assert (
        "The prompts of 192 of 192 images of behind were rewritten by polite: those of 96 name "
        "men alone, those of 48 women alone." in text
    )


def test_numbers_have_as_many_decimals_as_their_kind() -> None:
    behind = with_rewriter(run("behind", FAIR), "polite")
    rows = rewritten([12] * 8, [6] * 8)
    table = where_table(where([run("toy", LIKE_WORDS), behind], samples=[[], rows]))
    written = {row[1]: row[2] for row in reversed(table.rows)}
    parts = [value for name, value in written.items() if name.startswith("· ")]
    assert len(parts) == 3
    for value in (written["mean squared lean"], *parts):
        assert re.fullmatch(r"−?0\.\d{3}", value)
    for name in (
        "slope on the words' leans, these prompts",
        "slope on the words' leans",
    ):
        assert re.fullmatch(r"[+−]\d\.\d{3}", written[name])
    assert written["share that names men alone"] == "50 %"
    assert written["mean lean of the words"] == "+0.25"


def test_the_figure_fills_the_parts_that_the_sentences_call_clear() -> None:
    """Of the mean squared lean beside the words, the figure has what Holm's correction left."""
    result = where([run("toy", BESIDE)])
    assert result.sources[0].is_clear("beside")
    filled = word_order_file(result)
    unclear = tuple(
        NamedTest(finding.name, finding.p, 0.2)
        for finding in result.sources[0].findings
    )
    source = replace(result.sources[0], findings=unclear)
    hollow = word_order_file(replace(result, sources=(source,)))
    assert source.split.beside.ci_low is not None and source.split.beside.ci_low > 0
    squares = [
        len(re.findall(r'<rect[^>]*"hollow"', text)) for text in (filled, hollow)
    ]
    # One of them is in the key.
    assert squares == [3, 4]
    assert "a part that is clear" in filled and "one that is not" in filled


@pytest.mark.filterwarnings("error")
def test_a_slope_that_rests_on_one_prompt_says_nothing_of_others() -> None:
    """Texts 0, 0, 0, 1: the line goes through the last prompt whatever its images show."""
    words = dict.fromkeys(JOBS, 0.0)
    result = where([run("toy", LIKE_WORDS, {**words, "smith": 1.0})])
    split = result.sources[0].split
    assert split.slope.low is not None
    assert (split.slope_of_others.low, split.slope_of_others.p) == (None, None)
    assert (
        "no interval for other prompts: but for smith, all texts lean alike"
        in sentences(result)
    )


def test_stretching_all_texts_changes_the_slope_alone() -> None:
    leans = where([run("toy", LIKE_WORDS)]).sources[0].split.parts
    words = np.linspace(-1.0, 1.0, len(leans)) ** 3
    near = split_leans(leans, words, 0.95)
    far = split_leans(leans, 4.0 * words + 3.0, 0.95)
    bent = split_leans(leans, np.linspace(-1.0, 1.0, len(leans)), 0.95)
    assert far.following.value == pytest.approx(near.following.value)
    assert far.slope.value == pytest.approx(near.slope.value / 4)
    # Another order is not needed to change what lies in line with the words.
    assert bent.order.tau == near.order.tau
    assert bent.following.value != pytest.approx(near.following.value, rel=0.05)
