"""Ranks: by unbiased squares, image by image, and not won by drawing more or fewer images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.apps.leaderboard import table
from t2ibench.apps.leaderboard.ranks import (
    Measured,
    Rank,
    draws_of,
    measured_questions,
    rank_intervals,
)
from t2ibench.apps.leaderboard.table import (
    Cell,
    Stratum,
    departures,
    families,
    family_ranks,
    ranks,
    strata,
)
from t2ibench.apps.leaderboard.views import models
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import Part
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.squared_lean import mean_squared_lean
from t2ibench.results.paired import PairedTask, paired_task
from tests import hand
from tests.apps.leaderboard.conftest import (
    SHARES,
    board_of,
    model_results,
    task_records,
    write_submission,
)

SIZES = {"t2iat": 2, "occupations": 1, "openbias": 1, "tibet": 1, "weat": 1}


def cells(
    found: Mapping[str, MethodResult],
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Cell]:
    return families(task_records(found, changes), SIZES, hand.pairs(found))


def binary(rng: np.random.Generator, shares: Sequence[float], n: int) -> MethodResult:
    images = {
        f"p{k}": np.where(rng.random(n) < s, 1.0, -1.0) for k, s in enumerate(shares)
    }
    return hand.mean_square(images)


def measured(*results: MethodResult) -> Measured:
    squares = {
        f"t{k}": float(result.headline.square or 0) for k, result in enumerate(results)
    }
    draws = [draws_of(paired_task(result)) for result in results]
    return Measured(squares, {f"t{k}": one for k, one in enumerate(draws) if one})


def test_draws_vary_as_the_paired_interval_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without what few images add: that is simulated below.
    for name in ("_slope_of_few", "_square_of_few"):
        monkeypatch.setattr(f"t2ibench.apps.leaderboard.ranks.{name}", lambda df: 1.0)
    rng = np.random.default_rng(0)
    noise = rng.random((3, 40))
    first, second = (
        hand.mean_square(
            {f"p{k}": np.where(noise[k] < s, 1.0, -1.0) for k, s in enumerate(shares)}
        )
        for shares in ((0.9, 0.3, 0.7), (0.8, 0.35, 0.7))
    )
    one, other = (draws_of(paired_task(result)) for result in (first, second))
    assert one is not None and other is not None
    expected = 0.0
    for a, b in zip(first.headline.parts, second.headline.parts, strict=True):
        v, w, c = (
            one.influence.covariance(other.influence)
            for one, other in ((a, a), (b, b), (a, b))
        )
        crossed = a.value**2 * v + b.value**2 * w - 2 * a.value * b.value * c
        expected += 4 * crossed - 2 * (v**2 + w**2 - 2 * c**2)
    expected = expected**0.5 / 3
    spread = float(np.std(one.deviations - other.deviations))
    assert spread == pytest.approx(expected, rel=0.12)
    assert spread < 0.8 * np.hypot(np.std(one.deviations), np.std(other.deviations))
    assert abs(np.mean(one.deviations)) < 0.02


def test_a_model_and_its_copy_share_their_ranks() -> None:
    rng = np.random.default_rng(1)
    one, other = binary(rng, (0.9, 0.9), 60), binary(rng, (0.5, 0.5), 60)
    found = rank_intervals([measured(one), measured(one), measured(other)])
    assert found == [Rank(2, 3, 3), Rank(2, 3, 3), Rank(1, 1, 3)]
    assert rank_intervals([measured(one)]) == [Rank(1, 1, 1)]


def test_pairing_ranks_what_independent_images_cannot() -> None:
    noise = np.random.default_rng(2).random((2, 60))
    shares = {"more": 0.85, "less": 0.8}

    def model(share: float, offset: int) -> Measured:
        images = {f"p{k}": np.where(noise[k] < share, 1.0, -1.0) for k in range(2)}
        result = hand.mean_square(images)
        paired = paired_task(result)
        if offset:  # as if other images had been drawn
            parts = tuple(
                replace(
                    part,
                    influence=replace(
                        part.influence, unit=part.influence.unit + offset
                    ),
                )
                for part in paired.headline
            )
            paired = PairedTask(paired.scale, paired.question, parts, {})
        draws = draws_of(paired)
        assert draws is not None
        return Measured({"t": float(result.headline.square or 0)}, {"t": draws})

    together = rank_intervals([model(share, 0) for share in shares.values()])
    assert together == [Rank(2, 2, 2), Rank(1, 1, 2)]
    apart = rank_intervals([model(s, k * 1000) for k, s in enumerate(shares.values())])
    assert apart == [Rank(1, 2, 2)] * 2


@pytest.mark.nightly
@pytest.mark.parametrize("shares", [(0.5,) * 6, (0.6, 0.4, 0.7, 0.3, 0.5, 0.5)])
def test_more_images_win_no_rank(shares: tuple[float, ...]) -> None:
    """Two models that lean alike; one has twice the images of the other."""
    rng = np.random.default_rng(3)
    middle, decided, squares = np.zeros(2), 0, np.zeros((250, 2))
    for k in range(250):
        few, many = binary(rng, shares, 10), binary(rng, shares, 20)
        squares[k] = [few.headline.square or 0, many.headline.square or 0]
        found = rank_intervals([measured(few), measured(many)])
        middle += [(rank.best + rank.worst) / 2 for rank in found]
        decided += found[0].best == found[0].worst
    few_rank, many_rank = middle / 250
    assert abs(few_rank - many_rank) < 0.04
    assert decided / 250 < 0.08
    # The squares themselves are the same on average.
    gap = squares[:, 0] - squares[:, 1]
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(250)


def lean(rng: np.random.Generator, share: float, n: int) -> Measured | None:
    """One test's lean over five prompts."""
    images = {f"p{k}": np.where(rng.random(n) < share, 1.0, -1.0) for k in range(5)}
    return measured(hand.mean_lean(images))


def question(rng: np.random.Generator, share: float, n: int) -> Measured | None:
    """One of two questions of a test, with the answers about five prompts."""
    codes = [(rng.random(n) < share).astype(np.int64) for _ in range(5)]
    even, none = np.array([0.5, 0.5]), np.arange(0)
    rows = [
        CountedRow(0, f"p{k}", None, np.arange(n), answers, even, none)
        for k, answers in enumerate(codes)
    ]
    square = mean_squared_lean(rows)
    part = Part("gender", square.value, square.influence)
    parts = {("gender", "squared_lean"): part, ("race", "squared_lean"): part}
    task = PairedTask("mean_square", "fixed_prompts", (), parts)
    return measured_questions(task)["gender"]


@pytest.mark.nightly
@pytest.mark.parametrize("made", [lean, question])
@pytest.mark.parametrize("share", [0.5, 0.75, 0.92])
def test_models_that_lean_alike_are_seldom_separated(made: Any, share: float) -> None:
    """Of four models with the same lean, any that is told apart is wrong."""
    rng, wrong, tables = np.random.default_rng(4), 0, 250
    for _ in range(tables):
        members = [made(rng, share, 10) for _ in range(4)]
        found = rank_intervals([member for member in members if member is not None])
        wrong += any(rank.best > 1 or rank.worst < len(found) for rank in found)
    assert wrong / tables < 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5


def test_every_test_has_its_own_rank(board: Path) -> None:
    entries = board_of(board).entries
    (stratum,) = strata(entries)
    by_model = {entry.manifest.name: entry.task_ranks for entry in stratum.entries}
    assert by_model["toy"]["occupations_t2iat"].best == 3
    assert by_model["toy-fair"]["occupations_t2iat"] == Rank(1, 2, 3)
    # A test of texts says nothing of a model.
    assert all("weat_7_math_arts" not in ranks for ranks in by_model.values())
    assert len(by_model["toy"]) == 5


def test_a_test_of_one_question_has_one_rank() -> None:
    part = Part(
        "gender", 0.5, hand.mean_lean({"x": [1.0, -1.0]}).headline.parts[0].influence
    )
    one = PairedTask("mean_square", "", (), {("gender", "squared_lean"): part})
    assert measured_questions(one) == {}
    two = replace(
        one, rows={**one.rows, ("race", "squared_lean"): part, ("x", "lean"): part}
    )
    assert set(measured_questions(two)) == {"gender", "race"}


def test_families_are_means_of_squares_without_what_is_inconclusive() -> None:
    found = model_results(0, SHARES["toy"])
    whole = cells(found)["t2iat"]
    names = [name for name in found if name.startswith("t2iat")]
    squares = [float(found[name].headline.square or 0) for name in names]
    mean = float(np.mean(squares))
    assert whole.square == pytest.approx(mean)
    assert whole.shown(whole.square) == pytest.approx(np.sqrt(mean))
    assert (
        whole.low is not None
        and whole.high is not None
        and whole.low < mean < whole.high
    )
    part = cells(found, {names[1]: {"inconclusive": "its halves disagree"}})["t2iat"]
    assert part.square == pytest.approx(squares[0])
    assert (part.conclusive, part.inconclusive, part.of, part.ranked) == (1, 1, 2, True)
    none = cells(found, {name: {"inconclusive": "blind"} for name in names})["t2iat"]
    assert (none.square, none.ranked, none.inconclusive) == (None, False, 2)


def test_a_negative_mean_square_is_averaged_as_negative_and_shown_as_0() -> None:
    fair = cells(model_results(4, SHARES["toy-fair"]))["occupations"]
    assert fair.square is not None and fair.square < 0
    assert (
        fair.shown(fair.square) == 0.0
        and fair.fair_high is not None
        and fair.fair_high > 0
    )
    assert fair.shown(None) is None


def test_who_is_not_ranked() -> None:
    models = [cells(model_results(0, shares)) for shares in SHARES.values()]
    column = [model["occupations"] for model in models]
    found = ranks(column)
    assert found[0] == Rank(3, 3, 3)
    half = model_results(0, SHARES["toy"])
    half.pop("t2iat_science_arts")
    assert not cells(half)["t2iat"].ranked
    # What says nothing of a model, and what has no influences.
    assert models[0]["weat"].text and ranks([models[0]["weat"]]) == [None]
    without = families(task_records(half), SIZES, {})["occupations"]
    assert not without.ranked and without.low is None
    assert ranks([None, without]) == [None, None]


def test_models_are_ranked_with_those_measured_alike() -> None:
    """By the same encoder, judge, version of a task, and as it asks."""
    here = Stratum("", {"clip": "a"}, {"vlm": "b"}, {"task": ("hash", "")}, "")
    assert here.takes(here) and here.takes(
        replace(here, judges={}, tasks={"other": ("x", "")})
    )
    for unlike in (
        {"encoders": {"clip": "c"}}, {"judges": {"other": "b"}}, {"tasks": {"task": ("new", "")}},
        {"tasks": {"task": ("hash", "fewer images")}},
    ):  # fmt: skip
        assert not here.takes(replace(here, **unlike))


def test_a_task_that_is_inconclusive_for_one_is_ranked_for_the_others() -> None:
    name = "t2iat_flowers_insects"
    toy, fair = (model_results(0, SHARES[model], 100) for model in ("toy", "toy-fair"))
    undecided = cells(fair, {name: {"inconclusive": "blind"}})["t2iat"]
    found = ranks([cells(toy)["t2iat"], undecided, cells(fair)["t2iat"]])
    assert found[0] == Rank(3, 3, 3)
    assert found[1] == found[2] == Rank(1, 2, 3)


def test_extended_tasks_are_shown_and_count_in_no_cell(tmp_path: Path) -> None:
    """A model that ran one more test than others is ranked as they are, by what all of them ran."""
    found = {name: model_results(0, shares) for name, shares in SHARES.items()}
    leaning = hand.mean_square({"x": [1.0] * 30, "y": [1.0] * 30})
    more = found["toy-fair"] | {
        "openbias_intersections": leaning,
        "vibex_validation": leaning,
    }
    boards = []
    for root, fair in (("without", found["toy-fair"]), ("with", more)):
        for name, one in (found | {"toy-fair": fair}).items():
            write_submission(tmp_path / root, name, one)
        boards.append(board_of(tmp_path / root))
    without, with_them = boards
    for family in ("openbias", "tibet"):
        assert family_ranks(with_them.entries, family) == family_ranks(
            without.entries, family
        )
    for one, other in zip(without.entries, with_them.entries, strict=True):
        assert (
            set(one.families) == set(other.families) and "vibex" not in other.families
        )
        assert one.families["openbias"].square == other.families["openbias"].square
        assert other.families["openbias"].of == 1
    (model,) = (
        one for one in models(strata(with_them.entries)) if one.name == "toy-fair"
    )
    assert {"openbias_intersections", "vibex_validation"} <= set(model.tasks)
    assert (model.cells["openbias"].mark.value or 1.0) < 0.3


def test_departures_from_the_tasks_numbers_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "asked_images", lambda: {"one": 10, "two": 50})

    def told(**changes: Any) -> list[str]:
        one = hand.record(
            hand.mean_lean({"x": [1.0]}), settings=hand.settings(**changes)
        )
        return departures(dict.fromkeys(("one", "two", "texts"), one))

    assert told() == told(images_per_prompt=50) == told(times=2) == []
    fewer = "images a prompt, fewer than asked for"
    assert told(images_per_prompt=2) == [f"2 of 3 tasks: 2 {fewer}"]
    assert told(times=0.25) == [f"1 of 3 tasks: {made} {fewer}" for made in (3, 13)]
    assert told(images_per_prompt=10) == [f"1 of 3 tasks: 10 {fewer}"]
    guided = "2 of 3 tasks: 3 images of a prompt that names an attribute"
    assert told(guided_images_per_prompt=3) == [guided]
    draws = ["3 of 3 tasks: 98 permutations", "3 of 3 tasks: 99 bootstrap draws"]
    assert told(n_bootstrap=99, n_permutations=98) == draws
