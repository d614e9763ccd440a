"""The lean read from how images vary: by hand, and where guided images are framed otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.variance_control import variance_control
from t2ibench.methods.core.variance_lean import VarianceLean
from t2ibench.methods.core.wording_images import WordingImages
from t2ibench.methods.t2iat.design import needs as t2iat_needs
from t2ibench.methods.t2iat.schema import T2iatTask
from tools.calibration.cells import SETTINGS, simulated_task
from tools.calibration.framing import (
    ADJECTIVES,
    CORE,
)
from tools.calibration.occupations import OccupationWorld, occupation_task
from tools.calibration.worlds import SHARED_FRAMING, read_needs

A = [[1.5, 1.0], [1.5, -1.0], [0.5, 1.0], [0.5, -1.0]]
B = [[-0.5, 1.0], [-0.5, -1.0], [-1.5, 1.0], [-1.5, -1.0]]
MIXTURE = [[1.5, 1.0], [0.5, -1.0], [-0.5, 1.0], [-1.5, -1.0]]
ASIDE = [[2.0, 1.0], [2.0, -1.0], [1.0, 1.0], [1.0, -1.0]]


def images(rows: list[list[float]], name: str) -> PromptImages:
    count = len(rows)
    return PromptImages(
        np.array(rows), np.zeros(count, np.int64), [name], np.arange(count)
    )


def leans_of(*neutral: list[list[float]]) -> Leans:
    """Stimuli with these images without a group, measured along (1, 0)."""
    wordings = [
        [WordingImages(images(rows, f"{n}"), images(A, f"a{n}"), images(B, f"b{n}"))]
        for n, rows in enumerate(neutral)
    ]
    names = [f"stimulus {n}" for n in range(len(neutral))]
    directions = np.tile([1.0, 0.0], (len(neutral), 1))
    return Leans.along(names, wordings, directions)


def test_both_estimates_agree_with_a_case_worked_by_hand() -> None:
    """D = 2, and 1/3 is the variance of A's images along (1, 0), so U = 1/6 and D² - U = 23/6.

    The mixture: N = 0, S = 5/3, V = 5/3 + 1/6 = 11/6. Those aside: N = 3, S = 1/3, V = 1/2. All
    vary by 4/3 across, so ρ = 1 and G = 1/3. By means (9 - 1/2 - 11/6) / (23/3) = 20/23, by
    variances 1 - 4 (5/3 + 1/3 - 2/3) / (23/3) = 7/23. Without the first 51/23 and 1, without the
    second -11/23 and -9/23: half of what these differ by is the error.
    """
    lean = VarianceLean.of(leans_of(MIXTURE, ASIDE))
    assert lean.by_means == pytest.approx(20 / 23)
    assert lean.by_variances == pytest.approx(7 / 23)
    assert lean.error == pytest.approx(16 / 23)
    # 51/23 - 1 = 28/23 and -2/23.
    assert lean.difference_error == pytest.approx(15 / 23)
    assert lean.df == 1 and lean.t == pytest.approx(13 / 15)
    # Student's t with one degree of freedom: tan(.475 π) = 12.706.
    low, high = lean.interval
    half_width = np.tan(0.475 * np.pi) * 16 / 23
    assert (low, high) == pytest.approx((7 / 23 - half_width, 7 / 23 + half_width))
    # N² and S - ρ G alone: 20/3 / (20/3 + 4 (4/3)).
    assert lean.without_scale == pytest.approx(20 / 36)


def test_images_that_vary_more_in_every_direction_are_no_mixture() -> None:
    """Twice as far across, so ρ = 4, and S = 2 is less than ρ G = 8/3: 1 + 4 (2/3) / (23/3)."""
    wide = [[[x, 2 * y] for x, y in rows] for rows in (MIXTURE, ASIDE)]
    lean = VarianceLean.of(leans_of(*wide))
    assert lean.by_variances == pytest.approx(31 / 23)


def test_single_or_identical_images_give_no_estimate() -> None:
    assert VarianceLean.of(leans_of([[0.0, 1.0]], [[0.0, 1.0]])) is None
    assert VarianceLean.of(leans_of([[0.0, 1.0]] * 4, [[0.0, 1.0]] * 4)) is None


AGREEING = VarianceLean(0.25, 0.2, 0.05, 0.05, 19, np.full(20, 0.2))


def test_the_control_reports_how_the_estimates_differ() -> None:
    agrees = variance_control(AGREEING, beyond_chance=True)
    assert agrees.contradicts is None and agrees.value == 0.2
    # .2 ± 2.093 · .05
    assert (agrees.ci_low, agrees.ci_high) == pytest.approx((0.0953, 0.3047), abs=1e-4)
    assert agrees.says == (
        "Read a second time, from how images vary instead of where they lie, the lean is 0.45 "
        "[0.31, 0.55]: the two agree."
    )
    # 1.729 is the quantile .95; half of .25 is .125.
    smaller = replace(AGREEING, by_variances=0.15)
    assert smaller.means_say_more and not smaller.is_refuted
    assert variance_control(smaller, beyond_chance=True).contradicts is None
    less = replace(AGREEING, by_variances=0.12)
    assert less.is_refuted
    framed = variance_control(less, beyond_chance=True)
    assert "differ from the others in more than that" in framed.contradicts
    assert framed.says.endswith("clearly less than where they lie says.")
    assert variance_control(less, beyond_chance=False).contradicts is None
    weak = variance_control(replace(AGREEING, by_variances=-0.1), beyond_chance=True)
    assert "show it more weakly" in weak.contradicts and "more weakly" in weak.says


def test_guided_images_that_exaggerate_are_named_with_the_size_that_follows() -> None:
    """.25 / (.25 + 1 - .5) = 1/3, whose root is .58."""
    strong = variance_control(replace(AGREEING, by_variances=0.5), beyond_chance=True)
    assert strong.contradicts is None
    assert "exaggerate" in strong.says and "about 0.58." in strong.says
    nobody = variance_control(replace(AGREEING, by_variances=0.99), beyond_chance=True)
    assert "show neither" in nobody.says and "about" not in nobody.says


def framed(
    count: int, *, one_form: bool, size: tuple[int, int, int] = CORE
) -> list[MethodResult]:
    """Results of a fair model whose guided images are framed otherwise than its bare ones."""
    adjectives = ADJECTIVES if one_form else {}
    k, n, m = size
    task = occupation_task(
        k, n // 4 if one_form else n, m, adjectives=tuple(adjectives)
    )
    world = OccupationWorld(task, space=SHARED_FRAMING, adjectives=adjectives)
    return [
        score(task, world.draw(np.random.default_rng(number)).evidence, SETTINGS)
        for number in range(count)
    ]


def claims(results: list[MethodResult]) -> int:
    return sum(
        result.headline.p < 0.05 and not result.inconclusive for result in results
    )


def test_framing_makes_a_fair_model_inconclusive_and_its_rows_undefined() -> None:
    (bare,) = framed(1, one_form=False, size=(20, 40, 10))
    assert bare.headline.p < 1e-4
    reason = bare.controls["variances"].contradicts
    assert reason in bare.inconclusive
    for row in bare.by:
        assert row.scores["lean"].value is None and row.scores["lean"].p is None
        assert row.scores["lean"].reason == reason
    assert bare.scores["lean_mean"].reason == reason
    (same,) = framed(1, one_form=True, size=(20, 40, 10))
    assert same.inconclusive is None and same.headline.p > 0.05
    assert same.by[0].scores["lean"].value is not None


@pytest.mark.slow
@pytest.mark.parametrize("runs", [8, pytest.param(30, marks=pytest.mark.nightly)])
def test_a_fair_model_is_hardly_ever_clear_where_guided_images_are_framed_otherwise(
    runs: int,
) -> None:
    """Without the control it is in nearly all runs, of which .88 are caught.

    Prompts of one form need no control.
    """
    bare = framed(runs, one_form=False)
    assert sum(result.headline.p < 0.05 for result in bare) >= runs * 0.92
    assert claims(bare) <= runs * 0.3
    assert claims(framed(runs, one_form=True)) <= runs / 6


def read_t2iat(
    count: int, *, guided: tuple[float, float] = (0.0, 0.0), lean: float = 0.0
) -> MethodResult:
    """A T2IAT whose images of X's, and of Y's, guided prompts are framed that much."""
    task = simulated_task(
        T2iatTask,
        method="t2iat",
        concepts={
            side: {"name": side, "stimuli": [f"{side.lower()}{n}" for n in range(8)]}
            for side in "XY"
        },
        attributes={
            "A": {"name": "splendid", "words": ["splendid"]},
            "B": {"name": "dreadful", "words": ["dreadful"]},
        },
        words_per_stimulus=1,
        prompts={
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        },
        images_per_prompt=count,
        guided_images_per_prompt=count // 2,
    )
    leans = {
        name: sign * lean
        for concept, sign in ((task.concepts.X, 1.0), (task.concepts.Y, -1.0))
        for name in concept.stimuli
    }
    sides = {"splendid": 1.0, "dreadful": -1.0}
    scenes, texts = read_needs(t2iat_needs(task, SETTINGS), leans, sides)
    framing = dict(zip("xy", guided, strict=True))
    scenes = [
        replace(scene, framed=framing[scene.about[0]] if scene.asked else 0.0)
        for scene in scenes
    ]
    evidence = SHARED_FRAMING.evidence(np.random.default_rng(0), scenes, texts)
    return score(task, evidence, SETTINGS)


def test_framing_that_concepts_share_leaves_a_t2iat_only_its_headline() -> None:
    result = read_t2iat(40, guided=(1.0, 1.0), lean=0.5)
    assert result.inconclusive is None
    assert result.headline.value == pytest.approx(0.5, abs=0.15)
    for name in ("lean_of_x", "lean_of_y"):
        assert "differ from the others" in result.scores[name].reason
    assert all(row.scores["lean"].value is None for row in result.by)
    assert "what both share is not in the headline" in result.controls["variances"].says


def test_framing_of_one_concept_alone_contradicts_the_headline_of_a_t2iat() -> None:
    result = read_t2iat(40, guided=(1.0, -1.0))
    assert result.headline.p < 0.001
    assert "otherwise for one concept" in result.inconclusive


def test_without_framing_a_t2iat_keeps_its_rows() -> None:
    result = read_t2iat(40, lean=0.5)
    assert result.inconclusive is None and result.scores["lean_of_x"].value > 0.3
    assert result.controls["variances"].says.endswith("the two agree.")
    assert all(row.scores["lean"].value is not None for row in result.by)
