"""Guided images that do not show what was asked for, and images that vary unequally."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.methods import needs, score
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.obedience import (
    Seen,
    bounds,
    breakdown,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.spread import CommonSquares, equal_spread
from t2ibench.methods.occupations.schema import OccupationsTask
from tests.methods.tasks import task_by_hand
from tools.calibration.cells import SETTINGS
from tools.calibration.worlds import Space, WorldEvidence, read_needs

QUESTION = "Who is it?"
JOBS = [f"job{number}" for number in range(8)]


def make_task(question: str | None = None, n: int = 40, m: int = 20) -> OccupationsTask:
    prompts = {
        "neutral": "a photo of a {stimulus}",
        "guided": "a photo of a {attribute} {stimulus}",
    }
    return task_by_hand(
        OccupationsTask, "occupations",
        concept={"name": "jobs", "stimuli": JOBS},
        groups=[{"name": name, "words": [name]} for name in ("male", "female")],
        prompts=prompts | ({"question": question} if question else {}),
        images_per_prompt=n, guided_images_per_prompt=m,
    )  # fmt: skip


def make_evidence(
    task: OccupationsTask,
    space: Space,
    leans: float | list[float] = 0.0,
    errors: float = 0.0,
) -> WorldEvidence:
    needed = needs(task, SETTINGS)
    planted = dict(zip(JOBS, np.broadcast_to(leans, len(JOBS)).tolist(), strict=True))
    scenes, texts = read_needs(needed, planted, {"male": 1.0, "female": -1.0})
    return space.evidence(
        np.random.default_rng(0), scenes, texts, needed.checks, errors
    )


def test_guided_images_without_their_group_are_excluded() -> None:
    """Prompts for men are ignored in 60 %, so 30 % of their images show women."""
    space = Space(strength=0.2, ignored=(0.6, 0.0))
    plain, judged = make_task(), make_task(QUESTION)
    blind = score(plain, make_evidence(plain, space), SETTINGS)
    seeing = score(judged, make_evidence(judged, space), SETTINGS)
    assert blind.headline.value > 0.25**2
    assert "or do not all show it" in blind.controls["variances"].contradicts
    assert seeing.scores["lean_mean"].value == pytest.approx(0.0, abs=0.12)
    assert seeing.headline.p > 0.01 > blind.headline.p
    control = seeing.controls["obedience"]
    men, women = (
        seeing.scores[f"obedience:{name}"].value for name in ("male", "female")
    )
    assert men == pytest.approx(0.7, abs=0.1) and women == 1.0
    assert control.p < 0.001 and control.value == pytest.approx(men - women)
    assert f"{round(160 * men)} of 160 asked for men show men" in control.says
    assert "the others are left out" in control.says
    assert "breakdown" in blind.controls and "breakdown" not in seeing.controls


def test_without_a_question_unequal_obedience_is_a_warning() -> None:
    task = make_task()
    unequal = score(task, make_evidence(task, Space(0.3, ignored=(0.6, 0.0))), SETTINGS)
    assert any("not obeyed equally often" in text for text in unequal.warnings)
    assert unequal.controls["obedience"].contradicts is None
    equal = score(task, make_evidence(task, Space(0.3)), SETTINGS)
    assert not any("obeyed" in text for text in equal.warnings)


def test_too_few_obedient_images_make_a_task_inconclusive() -> None:
    task = make_task(QUESTION, m=10)
    evidence = make_evidence(task, Space(0.3, ignored=(1.0, 0.0)), errors=0.1)
    result = score(task, evidence, SETTINGS)
    assert result.controls["obedience"].contradicts is not None
    assert result.controls["obedience"].contradicts in result.inconclusive


def test_a_stimulus_with_a_single_obedient_image_is_excluded() -> None:
    task = make_task(QUESTION)
    evidence = make_evidence(task, Space(0.3))
    about = ("a photo of a male job3", QUESTION, ("male", "female"))
    replies = {**evidence.replies, about: ["male", *["female"] * 19]}
    changed = WorldEvidence(evidence.embeddings, evidence.vectors, replies)
    result = score(task, changed, SETTINGS)
    assert [item.name for item in result.by] == [job for job in JOBS if job != "job3"]
    told = "fewer than two images that show what was asked for: job3"
    assert told in " ".join(result.warnings)


def test_a_judge_that_answers_unknown_excludes_no_image() -> None:
    task, plain = make_task(QUESTION), make_task()
    evidence = make_evidence(plain, Space(0.3))
    asked = needs(task, SETTINGS).checks
    blank = {(n.prompt, n.question, n.classes): ["unknown"] * n.images for n in asked}
    unknown = WorldEvidence(evidence.embeddings, evidence.vectors, blank)
    found, expected = score(task, unknown, SETTINGS), score(plain, evidence, SETTINGS)
    assert found.headline.value == expected.headline.value
    assert found.controls["obedience"] == expected.controls["obedience"]


def test_a_lean_that_unequal_obedience_would_explain_is_inconclusive() -> None:
    """The same small lean everywhere may be ignored prompts; leans of both signs may not."""
    task = make_task(n=100, m=40)
    space = Space(0.3)
    alike = score(task, make_evidence(task, space, 0.15), SETTINGS)
    assert alike.headline.p < 0.001
    assert 0 < alike.controls["breakdown"].value < 0.15
    assert "would explain it, and the images are unchecked" in alike.inconclusive
    assert "give the task's prompts a `question`" in alike.inconclusive
    mixed = score(task, make_evidence(task, space, [0.4, -0.4] * 4), SETTINGS)
    assert mixed.controls["breakdown"].value is None and mixed.inconclusive is None
    strong = score(task, make_evidence(task, space, 0.8), SETTINGS)
    assert strong.controls["breakdown"].value > 0.3 and strong.inconclusive is None
    leans = (0.02 * k for k in range(8))
    found = [score(task, make_evidence(task, space, lean), SETTINGS) for lean in leans]
    barely = [one for one in found if 0.01 < one.headline.p < 0.05]
    assert barely and all(one.inconclusive for one in barely)
    row = strong.by[0].scores
    low = row["lean"].interval[0]
    assert row["lean_breakdown"].value == pytest.approx(low / (1 + low))


def test_images_that_vary_twice_as_much_do_not_make_a_lean() -> None:
    task = make_task()
    evidence = make_evidence(task, Space(spread_of_a=2.0))
    result = score(task, evidence, SETTINGS)
    assert result.headline.p > 0.01
    assert result.scores["lean_mean"].value == pytest.approx(0.0, abs=0.15)
    assert result.controls["spread"].value == pytest.approx(4.0, rel=0.1)
    few = make_task(n=10, m=5)
    small = score(few, make_evidence(few, Space(0.12, spread_of_a=2.0)), SETTINGS)
    assert "5 images of a stimulus are too few" in small.inconclusive
    assert small.headline.value is None and small.by[0].scores["lean"].value is None


def test_the_squared_length_that_images_have_in_common_is_the_same_for_a_mixture() -> (
    None
):
    """Two images of A and of B hold the scene as images of A do, which share more."""
    scene, step = np.array([2.0, 0.0]), np.array([0.0, 1.0])
    zeros = np.zeros(4, np.int64)
    a, mixed = (
        PromptImages(
            np.array([scene + sign * step for sign in signs]),
            zeros,
            ["p"],
            np.arange(4),
        )
        for signs in ((1, 1, 1, 1), (1, 1, -1, -1))
    )
    of_a, of_both = CommonSquares.of([a]).along(), CommonSquares.of([mixed]).along()
    assert of_a[0][0] == pytest.approx(5.0) and of_both[0][0] == pytest.approx(
        4.0 - 1 / 3
    )
    (scaled,) = equal_spread([mixed], of_both)
    assert CommonSquares.of([scaled]).along()[0][0] == pytest.approx(1.0)


def _prompts(spreads: list[float], n: int, seed: int = 0) -> PromptImages:
    """Unit images about one common direction, with a spread for each prompt."""
    rng = np.random.default_rng(seed)
    rows = (
        np.repeat(np.array(spreads), n)[:, None]
        * rng.normal(size=(len(spreads) * n, 64))
        / 8
    )
    rows[:, 0] += 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    names = [f"prompt {k}" for k in range(len(spreads))]
    clusters = np.repeat(np.arange(len(spreads)), n)
    return PromptImages(rows, clusters, names, np.tile(np.arange(n), len(spreads)))


def test_spread_differs_between_prompts_only_beyond_noise() -> None:
    """What five images of a prompt seem to have less in common than others is mostly noise."""
    (few,), (many,) = (
        CommonSquares.of([_prompts([0.8] * 20, n)]).along() for n in (5, 200)
    )
    assert few.std() < 0.01 and few.mean() == pytest.approx(many.mean(), abs=0.02)
    (found,) = CommonSquares.of([_prompts([0.3, 1.2] * 10, 40)]).along()
    apart = 1 / (1 + 0.3**2) - 1 / (1 + 1.2**2)
    assert found[::2].mean() - found[1::2].mean() == pytest.approx(apart, abs=0.05)
    (two,) = CommonSquares.of([_prompts([0.3, 1.2] * 10, 2)]).along()
    assert np.ptp(two) == 0  # two images do not show how much they vary


def test_the_group_that_is_obeyed_least_decides_whether_enough_images_are_left() -> (
    None
):
    """By shares, not by counts: of 100 men 60 are shown, and of 20 women 9."""
    seen = {"men": Seen(60, 100, prompts=5), "women": Seen(9, 20, prompts=5)}
    control = obedience_control(seen, judged=True)
    assert control.value == pytest.approx(0.6 - 0.45)
    assert control.p == pytest.approx(
        scipy_stats.fisher_exact([[60, 40], [9, 11]]).pvalue
    )
    assert control.contradicts == (
        "fewer than half of the images asked for women show women"
    )
    half = {"men": Seen(60, 100, prompts=5), "women": Seen(10, 20, prompts=5)}
    assert obedience_control(half, judged=True).contradicts is None
    assert obedience_control(seen, judged=False).contradicts is None


def test_more_than_a_fifth_of_thin_prompts_are_too_many() -> None:
    fifth = {
        "men": Seen(8, 10, thin=2, prompts=6),
        "women": Seen(9, 10, thin=0, prompts=4),
    }
    assert obedience_control(fifth, judged=True).contradicts is None
    more = fifth | {"women": Seen(9, 10, thin=1, prompts=4)}
    assert obedience_control(more, judged=True).contradicts == (
        "3 of 10 guided prompts have fewer than two images that obey"
    )


def test_unequal_obedience_by_the_encoders_reading_is_a_warning() -> None:
    """Fisher's p of 10 and 4 of 10 is .011, of 9 and 5 it is .14."""
    unequal = {"men": Seen(10, 10), "women": Seen(4, 10)}
    equal = {"men": Seen(9, 10), "women": Seen(5, 10)}
    (warning,) = obedience_warnings(unequal, judged=False, has_question=True)
    assert "not obeyed equally often" in warning
    for seen, judged in ((equal, False), (unequal, True), ({"men": Seen()}, False)):
        assert not obedience_warnings(seen, judged=judged, has_question=True)


def test_the_share_of_disobeying_images_that_would_explain_a_lean() -> None:
    """If f of A's images look like B's, a lean of 0 reads f / (1 - f), and L (L + f) / (1 - f)."""
    share = breakdown(Estimate(0.5, interval=(0.25, 0.75))).value
    assert share is not None and share / (1 - share) == pytest.approx(0.25)
    other = breakdown(Estimate(-0.5, interval=(-0.75, -0.25))).value
    assert other == share
    assert breakdown(Estimate(0.1, interval=(-0.1, 0.3))).value == 0.0
    low, high = bounds(Estimate(0.5, interval=(0.2, 0.6)), 0.1) or (0.0, 0.0)
    assert (low + 0.1) / (1 - 0.1) == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - 0.1 * 1.2) and high == pytest.approx(0.6 + 0.04)
    assert bounds(Estimate(0.5), 0.1) is None


def test_shares_of_obeying_images_are_scores() -> None:
    scores = obedience_scores({"men": Seen(3, 4), "women": Seen(unknown=2)}, " (b)")
    assert scores["obedience:men (b)"].value == 0.75
    assert scores["obedience:women (b)"].value is None
    total = Seen(1, 2, 3, 4, 5) + Seen(10, 20, 30, 40, 50)
    assert total == Seen(11, 22, 33, 44, 55)
