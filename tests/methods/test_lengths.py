"""How leans change with how a stimulus is asked for: word, phrase, sentence, paragraph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.group_words import groups_named
from t2ibench.methods.core.score_table import score_tables
from t2ibench.methods.occupations.lengths import (
    slope_weights,
    words_of_kinds,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.tasks.files import JOBS, load, spoil
from tools.calibration.lengths import LengthWorld, _evidence
from tools.calibration.worlds import Space

QUICK = Settings(n_bootstrap=10, n_permutations=20, max_exact=10)
STRONG = Space(strength=0.3)
PLANTED = LengthWorld("planted", 8, spread=0.2, slope=0.12, varying=0.03, space=STRONG)


def scored(world: LengthWorld, seed: int = 0) -> MethodResult:
    task = world.task
    return score(task, _evidence(world, task, np.random.default_rng(seed)), QUICK)


def test_a_planted_slope_and_its_lengths_come_out() -> None:
    results = [scored(PLANTED, seed) for seed in range(3)]
    slopes = [result.scores["asked_slope"] for result in results]
    assert np.mean([slope.value for slope in slopes]) == pytest.approx(0.12, abs=0.02)
    assert all(slope.p < 0.05 for slope in slopes)
    means = [
        [result.scores[f"asked:{kind}"].value for result in results]
        for kind in ("word", "phrase", "sentence", "paragraph")
    ]
    rising = np.mean(means, axis=1)
    assert (np.diff(rising) > 0).all()


def test_a_lean_that_is_the_same_at_every_length_has_no_slope() -> None:
    """Also where long prompts are framed otherwise: so are the images of the groups."""
    world = replace(PLANTED, mean=0.4, slope=0.0)
    framed = replace(
        world,
        frames_long=True,
        space=replace(STRONG, framing=0.4, framing_of_a=0.1),
    )
    for made in (world, framed):
        values = [scored(made, seed).scores["asked_slope"].value for seed in range(3)]
        assert np.mean(values) == pytest.approx(0, abs=0.04)


def test_the_slope_is_that_of_a_line_by_hand() -> None:
    """Leans .1, .2, .4 and .5 at 1, 2, 4 and 8 words: .14 for each doubling."""
    weights = slope_weights(np.array([1.0, 2.0, 4.0, 8.0]))
    assert weights @ np.array([0.1, 0.2, 0.4, 0.5]) == pytest.approx(0.14)


def test_lengths_are_those_of_the_prompts_without_a_group() -> None:
    (loaded,) = load_tasks(["occupations_lengths_gender"])
    assert isinstance(loaded.spec, OccupationsTask)
    numbers = words_of_kinds(loaded.spec)
    assert list(numbers) == ["word", "phrase", "sentence", "paragraph"]
    assert numbers["word"] < 3 < numbers["phrase"] < 7 < numbers["sentence"] < 20
    assert 45 < numbers["paragraph"] < 60


def test_no_prompt_of_the_shipped_task_names_a_group_but_those_that_ask_for_it() -> (
    None
):
    (loaded,) = load_tasks(["occupations_lengths_gender"])
    spec = loaded.spec
    assert isinstance(spec, OccupationsTask)
    for wording in spec.prompts.wordings:
        for name in spec.concept.names:
            for prompt in wording.without_attribute(name):
                assert not groups_named(prompt, ["male", "female"])


def test_a_length_in_which_the_groups_look_alike_decides_nothing() -> None:
    result = scored(replace(PLANTED, space=Space(strength=0.07)))
    slope = result.scores["asked_slope"]
    assert slope.value is None
    assert slope.reason is not None and "tells the groups apart" in slope.reason


def test_the_slope_alone_is_tested_and_a_kind_needs_its_own_groups_apart() -> None:
    result = scored(PLANTED)
    kinds = [result.scores[f"asked:{kind}"] for kind in ("word", "paragraph")]
    assert all(kind.p is None and kind.interval is not None for kind in kinds)
    assert result.scores["asked_slope"].p is not None


def test_pages_have_a_row_for_each_length_and_the_slope() -> None:
    result = scored(PLANTED)
    (table,) = score_tables(result.details)
    assert [name.split(" ")[0] for name in table.rows][:4] == [
        "word",
        "phrase",
        "sentence",
        "paragraph",
    ]
    assert set(table.rows.values()) <= set(result.scores)
    assert table.rows["per doubling of the words"] == "asked_slope"


def test_tasks_without_lengths_have_neither_scores_nor_another_hash() -> None:
    (loaded,) = load_tasks(["core_occupations_gender"])
    assert "asked_as" not in str(loaded.spec.model_dump())


PROMPTS = """\
prompts:
  neutral: "A photo of {a stimulus}"
  guided: "A photo of a {attribute} {stimulus}"
"""


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("novel", "'word', 'phrase', 'sentence' or 'paragraph'"),
        ("word", "all do, or none"),
    ],
)
def test_a_mistake_in_lengths_is_reported(
    tmp_path: Path, kind: str, message: str
) -> None:
    prompts = f"""{PROMPTS}\
  asked_as: {kind}
  paraphrases:
    - neutral: "A picture of {{a stimulus}}"
      guided: "A picture of a {{attribute}} {{stimulus}}"
"""
    _, problems = load(tmp_path, spoil(JOBS, (PROMPTS, prompts)))
    assert any(message in problem.message for problem in problems)
