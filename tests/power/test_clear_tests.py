"""A run calls a test clear after Holm's correction and its own controls; so does the forecast."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.headline import HeadlineEstimate, Part, square_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.power.clear_tests import ClearRule, clear_rule, common_share
from t2ibench.power.forecasters import Signed, Squares, forecaster
from tests.conftest import Cli
from tools.calibration import occupations
from tools.calibration.cells import SETTINGS
from tools.calibration.worlds import Space, read_needs

SIGNED = Signed(by_image=0.01, by_prompt=0.0, df=1e6, df_by_image=True, level=0.95)
SQUARES = Squares(np.full(8, 0.02), np.full(8, 20.0), 0.95)


def square(leans: list[float], spread: float = 0.05) -> HeadlineEstimate:
    """The mean square of these leans, of ten images each."""
    parts = []
    for number, lean in enumerate(leans):
        influence = Influence.of_mean(f"job {number}", range(10), np.arange(10.0))
        scaled = influence.scaled(spread / np.sqrt(influence.variance))
        parts.append(Part(f"job {number}", lean, scaled))
    return square_headline(parts, 0.95)


def test_the_first_step_of_holm_by_hand() -> None:
    """An effect of 3 standard errors: z has to reach 1.96 for one test, 2.81 for ten."""
    for n_tests, critical in ((1, 1.95996), (10, 2.80703)):
        clear = ClearRule(n_tests=n_tests).probability(SIGNED, 0.3, 1.0, 1.0)
        assert clear == pytest.approx(stats.norm.sf(critical - 3.0), abs=1e-3)
    assert SIGNED.power(0.3, 1.0, 1.0) == pytest.approx(0.851, abs=1e-3)


def test_images_that_nobody_saw_explain_what_all_leans_share() -> None:
    alike = ClearRule(n_tests=5, unseen=True, common=1.0)
    either_way = ClearRule(n_tests=5, unseen=True, common=0.0)
    judged = ClearRule(n_tests=5)
    # Of .3 that all share, .3 - .15 / .85 is left: .124.
    assert alike.unexplained(0.3) == pytest.approx(0.3 - 0.15 / 0.85)
    assert alike.unexplained(0.1) == 0.0
    left = SQUARES.power(alike.unexplained(0.3), 1.0, 1.0, 0.01)
    assert alike.probability(SQUARES, 0.3, 1.0, 1.0) == pytest.approx(left)
    # Where as many lean either way, nothing is explained: .01 is .05 / 5.
    full = SQUARES.power(0.3, 1.0, 1.0, 0.01)
    assert either_way.probability(SQUARES, 0.3, 1.0, 1.0) == pytest.approx(full)
    assert judged.probability(SQUARES, 0.3, 1.0, 1.0) == pytest.approx(full)
    alone = ClearRule(unseen=True, common=0.0).probability(SQUARES, 0.3, 1.0, 1.0)
    assert alone == pytest.approx(SQUARES.power(0.3, 1.0, 1.0))


def test_what_all_leans_share_is_read_from_a_pilot() -> None:
    # The mean of eight leans with a standard error of .05 each has a variance of .05² / 8.
    alike = square([0.5] * 8)
    expected = (0.25 - 0.05**2 / 8) / (0.25 - 0.05**2)
    assert common_share(alike, 0.95) == pytest.approx(min(expected, 1.0))
    assert common_share(square([0.5, -0.5] * 4), 0.95) == 0.0
    half = common_share(square([0.0, 0.6] * 4), 0.95)
    assert half == pytest.approx(0.5, abs=0.01)
    # A pilot that saw no lean does not say which it would be.
    assert common_share(square([0.01, -0.01] * 4), 0.95) == 1.0


def test_the_rule_knows_the_controls_of_the_pilot() -> None:
    headline = square([0.5, -0.5] * 4)
    assert clear_rule(headline, ["halves"], 0.95, 3) == ClearRule(3, False, 1.0)
    assert clear_rule(headline, ["breakdown"], 0.95, 3) == ClearRule(3, True, 0.0)
    several = ["breakdown:a-b", "breakdown:a-c"]
    assert clear_rule(headline, several, 0.95, 3) == ClearRule(3, True, 1.0)


def test_the_command_shows_both_and_corrects_for_the_tests_of_the_run(
    cli: Cli, shared_run: Path
) -> None:
    words = ("power", shared_run, "--tasks", "t2iat_science_arts", "--effect", ".3")
    status, out, _ = cli(*words)
    assert status == 0 and "clear at 0.3" in out and "p < .05" in out
    status, corrected, _ = cli(*words, "--corrected-for", "13")
    assert status == 0 and "Holm's correction over 13 tests" in corrected

    def forecast(text: str) -> tuple[float, float]:
        line = next(line for line in text.splitlines() if line.startswith("as it is"))
        clear, seen = line.split("±")[1].split()[1:3]
        return float(clear), float(seen)

    clear, seen = forecast(corrected)
    assert clear < seen == forecast(out)[1]
    assert cli("power", shared_run, "--corrected-for", "0")[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize("runs", [15, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("lean", "common"), [(0.5, 1.0), (0.7, 0.0)])
def test_the_forecast_promises_no_more_than_runs_find(
    lean: float, common: float, runs: int
) -> None:
    """Runs of 8 occupations, 10 and 5 images each: of 60 the share is known to ± .13."""
    task = occupations.occupation_task(8, 10, 5)
    needed = needs(task, SETTINGS)
    names = task.concept.names
    sides = np.where(np.arange(len(names)) % 2, -1.0, 1.0)
    leans = lean * (np.sqrt(common) + np.sqrt(1 - common) * sides)
    planted = dict(zip(names, leans.tolist(), strict=True))
    scenes, texts = read_needs(needed, planted, {"male": 1.0, "female": -1.0})
    forecasts = []
    found = []
    for seed in range(runs):
        evidence = Space(0.2).evidence(np.random.default_rng(seed), scenes, texts)
        result = combine(task, [score(task, evidence, SETTINGS)], SETTINGS)
        headline = result.headline
        found.append((headline.p or 1.0) < 0.05 / 5 and not result.inconclusive)
        by_pilot = forecaster(headline, "fixed_prompts", (), 0.95)
        rule = clear_rule(headline, list(result.controls), 0.95, 5)
        forecasts.append(rule.probability(by_pilot, lean, 1.0, 1.0))
    assert np.mean(found) - 0.25 < np.mean(forecasts) < np.mean(found) + 0.13
