"""Wordings and languages: prompts, numbers of images, intervals about other wordings, reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.over_stimuli import over_stimuli
from t2ibench.methods.core.wording_report import _between, over_stimuli_and_wordings
from t2ibench.methods.t2iat.design import stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from tests.tasks.files import TEA, load, spoil
from tools.calibration.cells import SETTINGS
from tools.calibration.wordings import WordingWorld, task_in_wordings

FEW = SETTINGS.model_copy(
    update={"n_permutations": 20, "n_bootstrap": 5, "max_exact": 20}
)
OLD = """\
  neutral: "a cup of {stimulus}"
  guided: "a cup of {stimulus}, {attribute}"
"""
ENGLISH = """\
    - {neutral: "a cup of {stimulus}", guided: "a cup of {stimulus}, {attribute}", language: en}
"""
GERMAN = """\
    - neutral: "eine Tasse {stimulus}"
      guided: "eine {attribute} Tasse {stimulus}"
      language: de
      words: {oolong: Oolongtee, assam: Assamtee, mocha: Mokka, latte: Milchkaffee, warm: warme,
        hot: heisse, cold: kalte, icy: eisige}
"""
TEMPLATES = f"  images: each\n  templates:\n{ENGLISH}"
BOTH = TEMPLATES + GERMAN


def tea(folder: Path, prompts: str) -> T2iatTask:
    task, problems = load(folder, spoil(TEA, (OLD, prompts)))
    assert task is not None and not problems, problems
    assert isinstance(task.spec, T2iatTask)
    return task.spec


def test_one_template_makes_the_prompts_of_a_neutral_and_guided_pair(
    tmp_path: Path,
) -> None:
    old, new, both = (tea(tmp_path, prompts) for prompts in (OLD, TEMPLATES, BOTH))
    assert needs(new, Settings()) == needs(old, Settings())
    assert set(old.model_dump()["prompts"]) == {"neutral", "guided", "paraphrases"}
    assert T2iatTask.model_validate(both.model_dump()) == both


def test_a_wording_in_another_language_uses_its_own_words(tmp_path: Path) -> None:
    first = next(stimuli_of(tea(tmp_path, BOTH), Settings()))
    assert first.neutral == ["a cup of oolong", "eine Tasse Oolongtee"]
    assert first.guided("B") == [
        "a cup of oolong, cold",
        "a cup of oolong, icy",
        "eine kalte Tasse Oolongtee",
        "eine eisige Tasse Oolongtee",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("images", "each"), [("each", 10), ("divided", 5)])
def test_a_number_of_images_is_for_each_wording_or_divided_among_them(
    tmp_path: Path, images: str, each: int
) -> None:
    task = tea(tmp_path, BOTH.replace("images: each", f"images: {images}"))
    assert {prompt.images for prompt in needs(task, Settings()).prompts} == {each}
    asked = needs(task, Settings(images_per_prompt=3, guided_images_per_prompt=1))
    assert max(prompt.images for prompt in asked.prompts) == (
        3 if images == "each" else 2
    )


@pytest.mark.parametrize(
    ("prompts", "says"),
    [
        (
            TEMPLATES + OLD.replace("cup", "mug"),
            "give either 'templates' or 'guided', not both",
        ),
        (TEMPLATES.replace("  images: each\n", ""), "'templates' needs 'images'"),
        (
            BOTH.replace("mocha: Mokka, ", ""),
            "the language 'de' has no words for 'mocha'",
        ),
        (
            BOTH.replace("mocha: Mokka", "moca: Mokka"),
            "no word 'moca'. Did you mean 'mocha'?",
        ),
        (
            BOTH.replace("Tasse {stimulus}", "Tasse {a stimulus}", 1),
            "an English article",
        ),
        (BOTH.replace("language: de", "language: Deutsch"), "language"),
        (BOTH.replace("images: each", "images: some"), "'each' or 'divided'"),
        (TEMPLATES + ENGLISH, "is given more than once"),
        (TEMPLATES.replace("guided:", "giuded:"), "giuded"),
    ],
)
def test_a_mistake_in_wordings_is_reported(
    tmp_path: Path, prompts: str, says: str
) -> None:
    _, problems = load(tmp_path, spoil(TEA, (OLD, prompts)))
    assert any(says in str(problem) for problem in problems), problems


def test_two_wordings_give_no_variance_between_wordings() -> None:
    numbers = np.arange(4)
    top, bottom = (
        np.array([[1.0, 9.0], [2.0, 8.0], [0.0, 9.0], [1.0, 7.0]]),
        np.full((4, 2), 10.0),
    )
    groups = [("stimuli", numbers, numbers)]
    plain = over_stimuli(top.mean(axis=1), bottom[:, 0], groups, 0.95)
    assert (
        over_stimuli_and_wordings(top, bottom, groups, 0.95).inference
        == plain.inference
    )


def test_wordings_that_differ_are_detected_and_widen_the_interval() -> None:
    task = task_in_wordings(5, 8, 10, 5)
    sample = WordingWorld(task, 0.2, 0.4).draw(np.random.default_rng(3))
    result = score(task, sample.evidence, FEW)
    (report,) = result.details["wording"]
    assert report["p"] < 0.001 and 0.2 < report["sd"] < 0.8
    assert "moves with the wording (standard deviation" in report["sentence"]
    assert report["interval_about"] == "other wordings"
    found = result.headline.inference
    like, these = found["prompt_population"], found["fixed_prompts"]
    assert like.ci_high - like.ci_low > 2 * (these.ci_high - these.ci_low)
    assert like.ci_low <= 0.2 <= like.ci_high
    assert these.ci_low <= sample.truth["fixed_prompts"] <= these.ci_high
    values = [one["value"] for one in report["by_wording"]]
    assert np.mean(values) == pytest.approx(result.headline.value, abs=0.05)
    assert all(
        one["ci_low"] < one["value"] < one["ci_high"] for one in report["by_wording"]
    )
    influence = result.headline.parts[0].influence
    assert "wordings" in influence.strata
    width = (like.ci_high - like.ci_low) / 2 / 2.6
    assert influence.variance == pytest.approx(width**2, rel=0.3)
    # Wordings that do not differ are said not to.
    sample = WordingWorld(task_in_wordings(3, 8, 10, 5), 0.2).draw(
        np.random.default_rng(1)
    )
    (report,) = score(task_in_wordings(3, 8, 10, 5), sample.evidence, FEW).details[
        "wording"
    ]
    assert report["p"] > 0.05
    assert "does not move with the wording beyond chance" in report["sentence"]


def test_the_interval_of_two_wordings_is_about_these_two_alone() -> None:
    task = task_in_wordings(2, 4, 6, 4)
    sample = WordingWorld(task, 0.3, 0.3).draw(np.random.default_rng(2))
    result = score(task, sample.evidence, FEW)
    (report,) = result.details["wording"]
    assert report["interval_about"] == "these wordings"
    assert report["sentence"].endswith("The interval is about these wordings alone.")
    assert len(report["by_wording"]) == 2 and report["by_language"] == []
    twice = combine(task, [result, result], FEW)
    assert twice.details["wording"] == [report]


def test_a_wording_that_the_encoder_does_not_understand_has_no_score_of_its_own() -> (
    None
):
    task = task_in_wordings(3, 6, 6, 6)
    texts = [one.model_dump() for one in task.prompts.templates]
    texts[2] |= {"language": "de"}
    prompts = task.prompts.model_dump() | {"templates": texts}
    task = T2iatTask.model_validate(task.model_dump() | {"prompts": prompts})
    world = WordingWorld(task, 0.3)
    blind = replace(world, space=replace(world.space, strength=0.0))
    rng = np.random.default_rng(5)
    seen, unseen = (one.draw(rng).evidence for one in (world, blind))
    embeddings = {
        prompt: (unseen if "wording 2" in prompt else seen).embeddings[prompt]
        for prompt in seen.embeddings
    }
    (report,) = score(task, replace(seen, embeddings=embeddings), FEW).details[
        "wording"
    ]
    named = {one["name"]: one for one in report["by_language"]}
    assert named["de"]["value"] is None and "hardly tells" in named["de"]["reason"]
    assert named["en"]["wordings"] == 2 and named["en"]["value"] > 0
    assert report["by_wording"][2]["value"] is None


def mean_square_of_interaction(cells: np.ndarray) -> float:
    """The mean square of what is left beside stimuli and wordings, cell by cell."""
    k, count = cells.shape
    total = 0.0
    for stimulus in range(k):
        for wording in range(count):
            left = cells[stimulus, wording] - cells[stimulus].mean()
            total += (left - cells[:, wording].mean() + cells.mean()) ** 2
    return total / ((k - 1) * (count - 1))


def test_the_mean_lean_is_compared_between_wordings_by_an_analysis_of_variance() -> (
    None
):
    """One group: F is the classical one of wordings over their interaction with stimuli."""
    rng = np.random.default_rng(4)
    top = rng.normal(size=(5, 4)) + np.array([0.0, 0.5, 1.0, 2.0])
    bottom = 3 + 0.1 * rng.normal(size=(5, 4))
    value = top.mean() / bottom.mean()
    moved = top - value * bottom
    of_interaction = mean_square_of_interaction(moved)
    of_wordings = 5 * moved.mean(axis=0).var(ddof=1)
    groups = [("stimuli", np.arange(5), np.arange(5))]
    sd, p = _between(top, bottom, groups)
    assert p == pytest.approx(stats.f.sf(of_wordings / of_interaction, 3, 12))
    variance = (of_wordings - of_interaction) / 5
    assert sd == pytest.approx(np.sqrt(variance) / bottom.mean())


def test_the_variances_of_several_groups_of_stimuli_add_up() -> None:
    """Groups of five and three: the noise is M₁ / 5 + M₂ / 3, with Satterthwaite's freedom."""
    rng = np.random.default_rng(5)
    top = rng.normal(size=(8, 4)) + np.array([0.0, 0.5, 1.0, 2.0])
    bottom = 3 + 0.1 * rng.normal(size=(8, 4))
    places = [np.arange(5), np.arange(5, 8)]
    value = sum(top[at].mean() for at in places)
    value /= sum(bottom[at].mean() for at in places)
    moved = top - value * bottom
    parts = [mean_square_of_interaction(moved[at]) / len(at) for at in places]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 12 + parts[1] ** 2 / 6)
    means = moved[places[0]].mean(axis=0) + moved[places[1]].mean(axis=0)
    ratio = means.var(ddof=1) / sum(parts)
    groups = [(f"group {number}", at, at) for number, at in enumerate(places)]
    sd, p = _between(top, bottom, groups)
    assert p == pytest.approx(stats.f.sf(ratio, 3, df))
    size = bottom[places[0]].mean() + bottom[places[1]].mean()
    assert sd == pytest.approx(np.sqrt(means.var(ddof=1) - sum(parts)) / size)


def test_one_stimulus_or_no_interaction_does_not_tell_wordings_apart() -> None:
    one = [("stimuli", np.arange(1), np.arange(1))]
    assert _between(np.ones((1, 4)), np.ones((1, 4)), one) == (0.0, None)
    two = [("stimuli", np.arange(2), np.arange(2))]
    top = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    sd, p = _between(top, np.ones((2, 3)), two)
    assert (sd, p) == (pytest.approx(1.0), None)
    alike = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    sd, p = _between(alike, np.ones((2, 3)), two)
    assert sd == 0.0 and p == pytest.approx(1.0)
