"""Worlds of several groups, stereotyped judges, clusters and bleeding: what they plant and show."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tools.calibration import bleeding, clusters, groups, judge_errors
from tools.calibration.outcomes import HEADS, Outcome, Tally, Trial, outcome_of

TRIALS: dict[str, Callable[[], list[Trial]]] = {
    "bleeding": bleeding.trials,
    "clusters": clusters.trials,
    "groups": groups.trials,
    "judge_errors": judge_errors.trials,
}


def trial(module: str, start: str) -> Trial:
    return next(t for t in TRIALS[module]() if t.cell.name.startswith(start))


@pytest.mark.parametrize("module", TRIALS)
def test_names_of_worlds_are_unique(module: str) -> None:
    """A world's name seeds its data sets."""
    names = [each.cell.name for each in TRIALS[module]()]
    assert len(set(names)) == len(names) > 8


@pytest.mark.parametrize(
    ("main", "world"),
    [
        (bleeding.main, "fair, men drawn older, ages differ; 20 stimuli, 16"),
        (clusters.main, "OpenBias: clusters of four, about these"),
        (groups.main, "TIBET: fair; 8 prompts of 20 images, 3"),
        (judge_errors.main, "TIBET: fair, errs .2 by prompt; 8 prompts of 10"),
    ],
)
def test_a_command_prints_a_row(
    main: Callable[[Sequence[str]], int],
    world: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--sets", "2", "--workers", "1", "--world", world]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [head in lines[0] for head in HEADS] == [True] * len(HEADS)
    assert len(lines) == 3 and world in lines[2]


def test_a_fair_model_of_three_groups_on_a_line_is_not_clear() -> None:
    """Old people look more like middle-aged ones than like young ones: no lean to the middle."""
    line = trial(
        "groups", "occupations: three groups on a line, one in the middle, fair"
    )
    outcome = outcome_of(line, seed=0, number=0)
    assert outcome.is_significant and not outcome.is_clear
    assert "other_groups" in outcome.contradicted_by
    assert outcome.has_clear_row is False


def test_synonyms_do_not_make_others_certain() -> None:
    """The first data set of which the test without regard to clusters rejects."""
    fours = trial("clusters", "T2IAT: fair, clusters of four; 8 + 8")
    outcomes = (outcome_of(fours, seed=0, number=number) for number in range(20))
    rejected = next(outcome for outcome in outcomes if outcome.is_significant)
    assert rejected.contradicted_by == ("related_stimuli",) and not rejected.is_clear


def test_what_bleeds_is_in_the_planted_world() -> None:
    """Of images asked for men half more show old than young people; asked by age none do."""
    task = bleeding.gender_task(2, 4, 4)
    world = bleeding.BleedingWorld(task, bleeds=0.5)
    assert world._asked_age("a photo of a male job0", 1.0) == 0.5
    assert world._asked_age("a photo of a young male job0", 1.0) == -1.0
    both = bleeding.gender_task(2, 4, 4, by_age=True)
    assert [group.words for group in both.groups] == [
        ("old male", "young male"),
        ("old female", "young female"),
    ]
    assert both.image_counts(bleeding.SETTINGS) == (4, 2)


def test_a_stereotyped_judge_errs_toward_one_class() -> None:
    rng = np.random.default_rng(0)
    shown = np.arange(4000) % 2 == 1
    answered = judge_errors._answered(rng, shown, 0.2, toward_second=True)
    assert answered[shown].all()
    assert answered[~shown].mean() == pytest.approx(0.2, abs=0.03)


def test_rates_of_a_table() -> None:
    outcomes = [
        Outcome(True, True, True, covers=False, error=0.2, rows_reject=0.5),
        Outcome(True, False, False, contradicted_by=("halves",)),
    ]
    row = Tally(outcomes).row("a world")
    assert row[:4] == ["a world", "2", "1.000 ± 1.000", ".500 ± .693"]
    assert row[5:8] == [".000 ± 1.000", ".200 ± .000", ".500 ± .000"]
    assert row[8:] == ["–", "halves .500"]
