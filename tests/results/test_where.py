"""Where a lean comes from: what was planted by hand comes out, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.reports.figures.word_order import word_order_file
from t2ibench.reports.html.where_page import where_html
from t2ibench.reports.where_sentences import where_sentences
from t2ibench.results.lean_split import change_of_split, split_leans
from t2ibench.results.rewritten_words import rewritten_words
from t2ibench.results.where import Where, where
from tests.conftest import Cli
from tests.reports.test_frontier_page import NASTY, write
from tests.results.where_runs import (
    BESIDE,
    FAIR,
    JOBS,
    LIKE_WORDS,
    WORDS,
    rewritten,
    run,
    with_rewriter,
)


def lean(value: float, name: str) -> Part:
    """A lean of two images, with the variance .01."""
    return Part(
        name, value, Influence.of_mean(name, [0, 1], [value - 0.1, value + 0.1])
    )


def clear(result: Where, place: int = 0) -> list[str]:
    return [finding.name for finding in result.sources[place].findings if finding.clear]


def test_the_parts_are_those_of_a_case_by_hand() -> None:
    values = (-0.6, 0.2, -0.2, 0.6)
    leans = [lean(value, job) for value, job in zip(values, "abcd", strict=True)]
    split = split_leans(leans, [-1.0, 0.0, 0.0, 1.0], 0.95)
    parts = [split.total, split.common, split.following, split.beside]
    assert [part.value for part in parts] == pytest.approx(
        [0.19, -0.0025, 0.1775, 0.015]
    )
    assert split.mean.value == pytest.approx(0)
    assert split.slope.value == pytest.approx(0.6)


def test_an_offset_of_all_texts_changes_nothing() -> None:
    leans = [
        lean(value, job)
        for value, job in zip((-0.6, 0.2, 0.1, 0.6), "abcd", strict=True)
    ]
    near = split_leans(leans, [-1.0, 0.0, 0.1, 1.0], 0.95)
    far = split_leans(leans, [4.0, 5.0, 5.1, 6.0], 0.95)
    assert near.slope.value == pytest.approx(far.slope.value)
    assert near.beside.value == pytest.approx(far.beside.value)


@pytest.mark.parametrize(
    ("men", "parts"),
    [
        (FAIR, []),
        ((20,) * 8, ["mean"]),
        (LIKE_WORDS, ["slope"]),
        (BESIDE, ["beside"]),
    ],
)
def test_each_origin_is_named_and_no_other(
    men: Sequence[int], parts: list[str]
) -> None:
    assert clear(where([run("toy", men)])) == parts


def test_the_parts_add_up_to_the_headline() -> None:
    made = run("toy", LIKE_WORDS)
    split = where([made]).sources[0].split
    parts = (split.common, split.following, split.beside)
    total = sum(part.value or 0.0 for part in parts)
    assert total == pytest.approx(made.results.tasks["jobs"].headline.value)


def test_a_run_and_itself_differ_by_nothing() -> None:
    split = where([run("toy", LIKE_WORDS)]).sources[0].split
    change = change_of_split(split, split, np.random.default_rng(0), 0.95)
    for contrast in (change.mean, change.slope, change.beside):
        assert (contrast.value, contrast.low, contrast.high, contrast.p) == (0, 0, 0, 1)
    assert change.shift.value == 0


def test_what_a_rewriter_names_and_what_images_add_are_told_apart() -> None:
    plain, behind = run("toy", LIKE_WORDS), run("behind", (16,) * 8)
    result = where([plain, behind], samples=[[], rewritten([16] * 8, [8] * 8)])
    source = result.sources[1]
    assert source.rewritten is not None and source.added is not None
    assert (source.rewritten.first, source.rewritten.second) == (128, 64)
    assert source.rewritten.parts[0].value == pytest.approx(1 / 3)
    # Images show whom their prompts name, one by one.
    assert source.added.mean.value == pytest.approx(0)
    assert source.added.square.value == pytest.approx(0)
    assert source.is_clear("change_of_slope") and source.is_clear("change_of_mean")
    assert not source.is_clear("added_mean")
    silent = where([plain, behind], samples=[[], rewritten([0] * 8, [0] * 8)])
    assert silent.sources[1].is_clear("added_mean")
    text = " ".join(where_sentences(silent))
    assert "those of 0 name men alone, those of 0 women alone" in text
    assert "lean beyond these words" in text


def test_prompts_that_nobody_rewrote_say_nothing() -> None:
    rows = [{"stimulus": "nurse", "prompt": "a nurse", "index": 0}]
    assert rewritten_words(rows, ("male", "female")) is None


def named_by_prompt(wordings: Mapping[str, int]) -> list[dict[str, object]]:
    """Two images a prompt: all of prompt a's name men, none of b's anybody, all of c's women."""
    texts = {"a": "a male nurse", "b": "a nurse at night", "c": "a female nurse"}
    return [
        {"stimulus": "nurse", "prompt": prompt, "index": index, "revised_prompt": text}
        | ({"wording": wordings[prompt]} if wordings else {})
        for prompt, text in texts.items()
        for index in range(2)
    ]


@pytest.mark.parametrize(
    ("wordings", "lean"),
    [
        # The first wording has the alternatives a and b: ((1 + 0) / 2 - 1) / 2.
        ({"a": 1, "b": 1, "c": 2}, -0.25),
        # Three prompts of one wording, or of one each: (1 + 0 - 1) / 3.
        ({"a": 1, "b": 1, "c": 1}, 0.0),
        ({"a": 1, "b": 2, "c": 3}, 0.0),
        ({}, 0.0),
    ],
)
def test_each_wording_counts_alike_in_rewritten_words(
    wordings: Mapping[str, int], lean: float
) -> None:
    words = rewritten_words(named_by_prompt(wordings), ("male", "female"))
    assert words is not None
    assert words.parts[0].value == pytest.approx(lean)
    assert words.has_wordings == bool(wordings)


def test_a_stimulus_without_a_lean_of_its_own_is_left_out_of_what_images_add() -> None:
    made = run("behind", FAIR)
    paired = made.paired["jobs"]
    rows = {key: part for key, part in paired.rows.items() if key[0] != "nurse"}
    made = replace(made, paired={"jobs": replace(paired, rows=rows)})
    result = where(
        [run("toy", FAIR), made], samples=[[], rewritten([12] * 8, [12] * 8)]
    )
    added = result.sources[1].added
    assert added is not None and added.left_out == ("nurse",)
    text = " ".join(where_sentences(result))
    assert "What images of behind add leaves out nurse" in text


def test_one_correction_covers_all_that_is_shown() -> None:
    """The least p-value is multiplied by eleven: twice three parts, three changes, two added."""
    runs = [run("toy", FAIR), run("behind", BESIDE)]
    result = where(runs, samples=[[], rewritten([12] * 8, [12] * 8)])
    findings = [
        finding
        for source in result.sources
        for finding in (*source.findings, *source.changes)
    ]
    tested = [finding for finding in findings if finding.p is not None]
    assert len(tested) == 11
    least = min(tested, key=lambda finding: finding.p or 0.0)
    assert least.p_holm == pytest.approx(11 * (least.p or 0.0))


def test_stimuli_without_a_text_are_left_out_and_named() -> None:
    words = {job: value for job, value in WORDS.items() if job != "nurse"}
    result = where([run("toy", LIKE_WORDS, words)])
    assert result.left_out == ("nurse",) and len(result.stimuli) == 7
    assert any(
        "Left out" in text and "nurse" in text for text in where_sentences(result)
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (dict.fromkeys(JOBS, 0.3), "the texts of all prompts lean alike"),
        ({"nurse": 0.1, "chef": 0.4, "cook": 0.5}, "fewer than 4 prompts"),
        ({}, "no test in common"),
    ],
)
def test_what_cannot_be_split_is_a_sentence(
    words: Mapping[str, float], reason: str
) -> None:
    with pytest.raises(T2IBenchError, match=reason):
        where([run("toy", LIKE_WORDS, words)])


def test_a_test_that_is_not_there_is_a_sentence() -> None:
    made = run("toy", LIKE_WORDS)
    with pytest.raises(T2IBenchError, match=r"no test 'job' in common\. Did you mean"):
        where([made], "job")
    with pytest.raises(T2IBenchError, match="t2ibench score RUN"):
        where([replace(made, paired={})], "jobs")


def test_names_of_runs_and_rewriters_are_text_on_the_page() -> None:
    made = replace(run("toy", LIKE_WORDS), name=NASTY)
    other = with_rewriter(run("behind", FAIR), f"{NASTY} of words")
    result = where([made, other], samples=[[], rewritten([12] * 8, [12] * 8)])
    for content in (where_html(result), word_order_file(result)):
        assert NASTY not in content and "&lt;script&gt;" in content
    page = where_html(result)
    assert f"were rewritten by {escape(NASTY)} of words" in page


def test_the_command_prints_and_writes(tmp_path: Path, cli: Cli) -> None:
    folder = write(tmp_path / "toy", run("toy", LIKE_WORDS))
    behind = write(tmp_path / "behind", run("behind", FAIR))
    status, printed, _ = cli("where", str(folder), str(behind))
    assert status == 0
    assert "Images of toy lean with the words" in printed
    records = json.loads(cli("where", str(folder), "--format", "json")[1])
    assert "in line with the words" in json.dumps(records)
    for kind, start in (("html", "<!doctype html>"), ("svg", "<svg")):
        words = ("where", str(folder), str(behind), "--format", kind)
        assert cli(*words)[0] == 0
        content = (behind / f"where.{kind}").read_text(encoding="utf-8")
        assert content.lstrip().startswith(start)
    status, _, error = cli("where", str(folder), "--task", "job")
    assert status != 0 and "Did you mean" in error


def test_a_task_without_leans_of_texts_cannot_be_asked_for() -> None:
    with pytest.raises(T2IBenchError, match="core_occupations_gender"):
        where([run("toy", LIKE_WORDS, {})], "jobs")


def test_why_nothing_is_said_of_what_images_add() -> None:
    made = run("behind", LIKE_WORDS)
    paired = made.paired["jobs"]
    one = {key: part for key, part in paired.rows.items() if key[0] == "nurse"}
    single = {
        key: replace(part, influence=Influence.of_mean(key[0], [0], [part.value]))
        for key, part in paired.rows.items()
    }
    for rows, reason in ((one, "too alike"), (single, "too few images")):
        changed = replace(made, paired={"jobs": replace(paired, rows=rows)})
        result = where(
            [run("toy", FAIR), changed], samples=[[], rewritten([12] * 8, [12] * 8)]
        )
        source = result.sources[1]
        assert source.added is None and reason in source.not_added
