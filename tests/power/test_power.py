"""Forecasts agree with what simulations of the larger design show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods import score
from t2ibench.methods.core.headline import HeadlineEstimate, Part, square_headline
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.power.designs import Goal, plan, reach
from t2ibench.power.forecasters import Shares, Signed, Squares, forecaster, least
from t2ibench.power.pilots import Pilot, Size
from t2ibench.stats.squares import mean_square
from t2ibench.stats.student import t_interval
from tests.conftest import Cli
from tests.tools import coins
from tools.calibration import vibex
from tools.calibration.cells import SETTINGS


def toss(lean: float, n: int, seed: int) -> HeadlineEstimate:
    """The headline of one simulated run."""
    sample = coins.CoinWorld(lean, n).draw(np.random.default_rng(seed))
    task = coins.task("coin", n)
    return coins.score(task, sample.evidence, SETTINGS).headline


def test_more_images_are_forecast_as_they_turn_out() -> None:
    pilot = toss(0.2, 40, seed=5)
    known = forecaster(pilot, "fixed_prompts", coins.PROMPTS, 0.95)
    larger = [toss(0.2, 120, seed) for seed in range(400)]
    widths = [run.chosen.ci_high - run.chosen.ci_low for run in larger]
    assert known.width(0.2, 3.0, 1.0) == pytest.approx(np.mean(widths), rel=0.05)
    seen = np.mean([run.p < 0.05 for run in larger])
    # The Monte Carlo error of the share is .02, and the pilot's own variance is 2 % off at most.
    assert known.power(0.2, 3.0, 1.0) == pytest.approx(seen, abs=0.06)
    fair = np.mean([toss(0.0, 120, seed).p < 0.05 for seed in range(400)])
    assert (
        known.power(0.0, 3.0, 1.0)
        == pytest.approx(0.05)
        == pytest.approx(fair, abs=0.03)
    )


def test_the_forecast_for_a_mean_square_matches_simulations() -> None:
    rng = np.random.default_rng(1)
    known = Squares(np.full(8, 0.04), np.full(8, 20.0), 0.95)
    rows = rng.normal(0.3 * np.tile([1.0, -1.0], 4), np.sqrt(0.04 / 2), (600, 8))
    noise = 0.04 / 2 * rng.chisquare(40, (600, 8)) / 40
    found = [
        mean_square(*pair, np.full(8, 40.0)) for pair in zip(rows, noise, strict=True)
    ]
    seen = np.mean([one.p < 0.05 for one in found])
    assert known.power(0.3, 2.0, 1.0) == pytest.approx(seen, abs=0.04)
    widths = [np.sqrt(max(one.high, 0)) - np.sqrt(max(one.low, 0)) for one in found]
    assert known.width(0.3, 2.0, 1.0) == pytest.approx(np.mean(widths), rel=0.1)
    assert known.power(0.0, 2.0, 1.0) == pytest.approx(0.05, abs=1e-6)


def test_shares_are_forecast_as_they_turn_out() -> None:
    """h = ((2 p - 1)² of n answers, unbiased) over 10 captions: Var = 4 h (1 - h) / N + 2 / N²."""
    rng = np.random.default_rng(2)
    captions, n, lean = 10, 40, 0.3

    def draw(n: int) -> np.ndarray:
        women = rng.binomial(n, (1 + lean) / 2, size=(4000, captions))
        pairs = (women * (women - 1) + (n - women) * (n - women - 1)) / (n * (n - 1))
        return (2 * pairs - 1).mean(axis=1)

    small = draw(n // 4).var()
    floor = 2 / (n // 4) ** 2 / captions
    known = Shares((small - floor) / lean**2, floor, 0.0, 0.95)
    large = draw(n)
    critical = 1.645 * np.sqrt(2 / n**2 / captions)
    assert known.power(lean, 4.0, 1.0) == pytest.approx(
        (large > critical).mean(), abs=0.05
    )
    ends = [
        np.sqrt(np.clip(large + side * 1.96 * large.std(), 0, None)) for side in (-1, 1)
    ]
    assert known.width(lean, 4.0, 1.0) == pytest.approx(
        (ends[1] - ends[0]).mean(), rel=0.1
    )


def signed_pilot(by_image: float, by_prompt: float) -> Pilot:
    """A pilot of 10 images of 16 prompts whose two variances are known."""
    value, df = 0.3, 30.0
    images = Influence.of_mean("a photo of a nurse", range(10), np.arange(10.0))
    images = images.scaled(np.sqrt(by_image / images.variance))
    inference = {
        "fixed_prompts": Inference(*t_interval(value, by_image, df), 0.1, df),
        "prompt_population": Inference(
            *t_interval(value, by_image + by_prompt, df), 0.1, df
        ),
    }
    headline = HeadlineEstimate(
        value, "lean", HeadlineInference(inference), (Part("", value, images),)
    )
    size = Size(10, 16, 160)
    strata = {"a photo of a nurse"}
    return Pilot(
        "x", "fixed_prompts",
        lambda question: forecaster(headline, question, strata, 0.95), size,
        "a test", 2.0,
    )  # fmt: skip


def test_goals_that_more_images_cannot_reach_are_reported() -> None:
    goal = Goal(effect=0.3, width=0.2, power=0.8)
    pilot = signed_pilot(by_image=0.04, by_prompt=0.04)
    these = plan(pilot, "fixed_prompts", goal)
    assert not [line for line in these.lines if "power" in line or "interval" in line]
    by_width = next(row for row in these.rows if row.what.startswith("interval"))
    assert by_width.prompts == 16 and by_width.images > 100
    assert 2 * by_width.half <= 0.2
    assert by_width.total == by_width.images * 16
    like = plan(pilot, "prompt_population", goal)
    assert like.lines == (
        "Images alone do not reach this: clear in 0.8 of runs at 0.3. It takes more prompts.",
        "Images alone do not reach this: interval narrower than 0.2. It takes more prompts.",
    )
    by_width = next(row for row in like.rows if row.what.startswith("interval"))
    assert by_width.images == 10 and by_width.prompts > 16


def test_the_least_size_is_enough_and_one_less_is_not() -> None:
    known = Signed(0.04, 0.0, 1e6, True, 0.95)
    times = least(lambda times: known.width(0.3, times, 1.0) <= 0.2)
    exact = (2 * 1.96 * 0.2 / 0.2) ** 2
    assert times == pytest.approx(exact, rel=0.011)
    assert times >= exact * 0.9999


def test_rows_of_a_mean_square_come_from_their_influences() -> None:
    influence = Influence.of_mean("job", range(10), np.arange(10.0) / 10)
    headline = square_headline([Part(name, 0.3, influence) for name in "abcd"], 0.95)
    known = forecaster(headline, "fixed_prompts", ["job"], 0.95)
    assert isinstance(known, Squares)
    assert known.variances == pytest.approx([influence.variance] * 4)
    assert known.dfs == pytest.approx([9.0] * 4)
    with pytest.raises(T2IBenchError, match="the encoder does not see the attribute"):
        lacking = HeadlineEstimate.undefined("the encoder does not see the attribute")
        forecaster(lacking, "fixed_prompts", (), 0.95)


def test_a_run_is_a_pilot(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    status, out, _ = cli("power", shared_run, "--effect", ".3", "--width", ".2")
    # More than fifty images were generated, so the speed is known.
    assert status == 0 and all(
        said in out
        for said in ("t2iat_science_arts, about", "interval narrower than 0.2", "time")
    )
    for words, message in [
        (
            (shared_run, "--tasks", "occupations_t2iat"),
            "has results of none of these tasks",
        ),
        ((tmp_path / "nothing",), "is not a run folder"),
    ]:
        status, _, err = cli("power", *words)
        assert (status, message in err) == (1, True), err
    assert cli("power", shared_run, "--effect", "2")[0] == 2


def test_a_large_effect_is_always_seen() -> None:
    known = Signed(
        by_image=0.006, by_prompt=0.0, df=15.0, df_by_image=False, level=0.95
    )
    powers = [known.power(effect, 1.0, 1.0) for effect in np.linspace(0.01, 4.0, 80)]
    assert np.isfinite(powers).all() and np.all(np.diff(powers) >= -1e-9)
    assert powers[-1] == pytest.approx(1.0)


def test_reach_is_the_smallest_effect_that_is_seen_and_the_images_that_halve_the_interval() -> (
    None
):
    inference = {"fixed_prompts": Inference(-0.08, 0.08, 0.9, 200.0)}
    headline = HeadlineEstimate(0.0, "lean", HeadlineInference(inference))
    size = Size(10, 4, 40)
    known = forecaster(headline, "fixed_prompts", (), 0.95)
    found = reach(
        Pilot("by_hand", "fixed_prompts", lambda _: known, size, "by hand"), 0.0
    )
    error = 0.08 / 1.972  # Student's t for 200 degrees of freedom
    assert found.half == pytest.approx(0.08)
    assert found.effect == pytest.approx((1.972 + 0.843) * error, rel=0.02)
    assert found.images in {40, 41}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pilots", "worlds"), [(3, 12), pytest.param(5, 60, marks=pytest.mark.nightly)]
)
def test_the_forecast_for_an_excess_matches_simulations(
    pilots: int, worlds: int
) -> None:
    """In worlds whose concepts' squares are three times those of everyday words.

    Chance moves the share of 60 worlds by ± .13 and that of these 12 by ± .28.
    """
    task = vibex._task(16, 20)

    def headline(factor: float, seed: int) -> HeadlineEstimate:
        sample = vibex.WordWorld(task, factor, cosine=0.9).draw(
            np.random.default_rng(seed)
        )
        settings = SETTINGS.model_copy(
            update={"n_permutations": 1000, "n_bootstrap": 20}
        )
        return score(task, sample.evidence, settings).headline

    known = [
        forecaster(headline(1.0, seed), "prompt_population", (), 0.95)
        for seed in range(pilots)
    ]
    runs = [headline(3.0, 100 + seed) for seed in range(worlds)]
    seen = np.mean([run.chosen.p < 0.05 for run in runs])
    assert np.median([one.power(0.5, 1.0, 1.0) for one in known]) == pytest.approx(
        seen, abs=0.15
    )
    widths = [run.chosen.ci_high - run.chosen.ci_low for run in runs]
    forecast = np.median([one.width(0.5, 1.0, 1.0) for one in known])
    assert forecast == pytest.approx(np.median(widths), rel=0.2)
    concepts = [one.power(0.5, 1.0, times) for one in known for times in (1.0, 4.0)]
    assert np.median(concepts[1::2]) > 0.8 > np.median(concepts[::2])
