"""A forger who stays within the tolerance of every embedding, and tilts all of them to one side."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from t2ibench import evaluate
from t2ibench.apps.leaderboard import reembed, tilts
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.tilt_summary import CheckedTilt, tilt_summary
from t2ibench.apps.leaderboard.tilts import (
    Score,
    Shift,
    _share_of_flips,
    _smallest_size,
    shift_of,
    smallest_noticed,
)
from t2ibench.apps.leaderboard.tolerance import largest_distance
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.stores import Stores, open_stores
from t2ibench.results.run import open_run
from t2ibench.stats.student import satterthwaite
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore
from tests.apps.leaderboard.forging import (
    edit_embeddings,
    invent_hashes,
    record,
    refusal,
    rename_model,
)
from tools.calibration.tilts import WORLDS, simulated

pytestmark = pytest.mark.networks

# Few prompts: each embedding that is drawn has the whole task scored once more.
TASK = "t2iat_judaism_christianity"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tilted")
    evaluate(
        "toyland",
        TASK,
        encoder="toy-clip",
        images_per_prompt=2,
        guided_images_per_prompt=1,
        output_dir=folder,
        control_encoder="none",
    )
    return folder / "toyland"


Change = Callable[[list[str], Any], Any]


def tilt_of(run: Path, angle: float) -> Change:
    """A change that tilts the images of both concepts along the axis of the test, against its lean.

    The axis is the mean of the images of pleasant words less that of unpleasant ones.
    """
    plan, stores, attempts = evidence(run)
    (store,) = stores.encoders.values()
    spec = plan.tasks[0].spec
    sides: dict[bool, list[Any]] = {True: [], False: []}
    signs: dict[str, float] = {}
    for attempt in attempts:
        key = attempt.sha256 or ""
        neutral, _, word = attempt.prompt.rpartition(", ")
        if neutral:
            sides[word in spec.attributes.A.words].append(store.get("images", key))
            continue
        is_x = any(stimulus in word for stimulus in spec.concepts.X.stimuli)
        signs[key] = -1.0 if is_x else 1.0
    axis = np.mean(sides[True], axis=0) - np.mean(sides[False], axis=0)
    axis /= np.linalg.norm(axis)

    def change(keys: list[str], rows: Any) -> Any:
        rows = rows.astype(float)
        across = axis - (rows @ axis)[:, None] * rows
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        sign = np.array([signs.get(key, 0.0) for key in keys])[:, None]
        return np.cos(angle * sign) * rows + np.sin(angle * sign) * across

    return change


def evidence(run: Path) -> tuple[Plan, Stores, list[Attempt]]:
    """The plan, the stores and the images of a run."""
    folder = open_run(run)
    generator = folder.record.generator
    assert generator is not None
    images = ImageStore(folder.database, generator.fingerprint)
    stores = open_stores(folder.database, folder.record.encoders, {})
    stores = replace(stores, images=DistinctImages(images))
    return stored_plan(folder), stores, list(images.all_attempts())


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "forged"))


def packed_of(run: Path) -> Path:
    return pack(run, run.parent / "submissions", SilentReporter())


def test_an_honest_submission_says_what_was_made_again(
    run: Path, tmp_path: Path
) -> None:
    verdict = verify(pack(run, tmp_path, SilentReporter()), draw=32)
    assert (verdict.level, verdict.problems) == ("reproduced", [])
    total = verdict.totals["images"]
    assert verdict.regenerated_parts()[0] == f"32 images of {total} (32 byte for byte)"
    assert any(
        "9 % of its images forged, or of what was read from them, spread evenly over its tests and "
        "their kinds of prompts, is noticed in 95% of such checks" in note
        for note in verdict.notes
    )
    assert verdict.tilt_check in verdict.notes
    assert (
        "of 1 test, with 16 images drawn of each kind of prompt" in verdict.tilt_check
    )
    assert "1 test came out as sent" in verdict.tilt_check


@pytest.mark.parametrize("cosine", [0.9992, 0.99995, 1 - 3e-6])
def test_a_tilt_beyond_what_processors_do_is_refused(cosine: float, copy: Path) -> None:
    """With invented hashes and without: the forger does not choose the tolerance."""
    if cosine < 0.9999:
        invent_hashes(copy)
    tilt = tilt_of(copy, float(np.arccos(cosine)))
    edit_embeddings(copy, "images", tilt, "toy-clip")
    folder = packed_of(copy)
    assert verify(folder).level == "recomputed"
    assert "does not look to toy-clip as the submission says" in refusal(folder, 32)


def test_a_tilt_within_the_tolerance_of_half_precision_is_refused(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bfloat16 rounding hides a tilt of one embedding, but not that all go to one side.

    100 of 100 simulated tilts of this size, and 100 of 100 that move the headline by .02, are
    refused: at least .96 (docs/reproducibility.md).
    """
    largest = largest_distance("bfloat16")
    monkeypatch.setattr(reembed, "largest_distance", lambda _: largest)
    edit_embeddings(copy, "images", tilt_of(copy, 0.018), "toy-clip")
    said = refusal(packed_of(copy), 32)
    assert "its headline" in said and "those that were sent are tilted" in said


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_the_models_precision_excuses_no_embedding_of_the_same_file_or_text(
    kind: str, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder worked in float32, whatever precision the images were made in."""
    monkeypatch.setattr(reembed, "_dtype", lambda _: "bfloat16")

    def turn(_: list[str], rows: Any) -> Any:
        """A turn of 1 - cosine = 5e-5, which other files of images may have."""
        rows = rows.astype(float)
        across = np.roll(rows, 1, axis=1)
        across -= (across * rows).sum(axis=1, keepdims=True) * rows
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        return np.cos(0.01) * rows + np.sin(0.01) * across

    edit_embeddings(copy, kind, turn, "toy-clip")
    message = "does not look to" if kind == "images" else "embeds otherwise by"
    assert f"{message} toy-clip" in refusal(packed_of(copy), 2)
    if kind == "images":
        invent_hashes(copy)
        assert not any(
            message in line for line in verify(packed_of(copy), draw=2).problems
        )


def test_rounding_in_half_precision_is_reproduced(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = largest_distance("bfloat16")
    monkeypatch.setattr(reembed, "largest_distance", lambda _: largest)
    rng = np.random.default_rng(0)

    def noise(_: list[str], rows: Any) -> Any:
        rows = rows + 0.009 / np.sqrt(rows.shape[1]) * rng.normal(size=rows.shape)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    edit_embeddings(copy, "images", noise, "toy-clip")
    verdict = verify(packed_of(copy), draw=32)
    assert (verdict.level, verdict.problems) == ("reproduced", [])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_deviations_along_the_axis_of_the_test_are_no_tilt_if_they_go_to_either_side(
    seed: int, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another card changes lies in few directions, and one may be the axis of a test.

    In simulated checks of 32 images, 2 of 2,000 were refused where the largest deviations that
    bfloat16 allows lie on that axis alone, and 0 of 2,000 where they are those of another
    processor: at most .4 % and .2 % (docs/reproducibility.md).
    """
    largest = largest_distance("bfloat16")
    monkeypatch.setattr(reembed, "largest_distance", lambda _: largest)
    rng = np.random.default_rng(seed)
    tilt = tilt_of(copy, 0.018)
    back = tilt_of(copy, -0.018)

    def noise(keys: list[str], rows: Any) -> Any:
        signs = rng.integers(2, size=(len(keys), 1))
        return np.where(signs, tilt(keys, rows), back(keys, rows))

    edit_embeddings(copy, "images", noise, "toy-clip")
    verdict = verify(packed_of(copy), draw=8, seed=seed)
    assert (verdict.level, verdict.problems) == ("reproduced", [])
    assert any("too few images were drawn to tell" in note for note in verdict.notes)
    assert re.search(
        "a tilt (that moves the headline by|of any size)", verdict.tilt_check
    )


def shift(effects: list[float], score: Score, total: int = 100) -> Shift:
    """The shift of a score by effects of one group."""
    return shift_of("its headline", score, [np.array(effects)], [total], chance=1e-2)


def test_a_score_that_moves_by_half_a_hundredth_is_tilted() -> None:
    """The sizes that docs/reproducibility.md states, on either side."""
    assert tilts.FALSE_ALARMS == 0.01
    for side in (1.0, -1.0):
        for least, tilted in ((0.0051, True), (0.0049, False)):
            found = Shift("its headline", side * 0.01, side * least, 0.03)
            assert found.tilted == tilted
            # What is tilted is refused, and not undecided as well.
            assert found.undecided != tilted
    open_to = Shift("its headline", 0.0, 0.0, 0.0201)
    assert open_to.undecided and not replace(open_to, most=0.0199).undecided
    assert not replace(open_to, name="its score x").undecided


def test_a_tilt_to_the_other_side_is_the_same_tilt() -> None:
    effects = [9e-4, 1e-3, 1.1e-3, 1e-3] * 4
    up = shift(effects, Score(0.5))
    down = shift([-effect for effect in effects], Score(0.5))
    assert up.tilted and down.tilted
    ends = (down.size, down.least, down.most)
    assert ends == pytest.approx((-up.size, -up.least, up.most))
    assert 0 < up.least < up.size < up.most


def test_the_interval_of_a_shift_is_students_over_all_groups() -> None:
    """Of groups of four, two and one, where the one effect itself stands for its spread."""
    effects = [np.array([9e-4, 1e-3, 1.1e-3, 1.3e-3]), np.array([2e-4, 5e-4])]
    effects.append(np.array([3e-5]))
    totals = [100, 60, 20]
    variances = [100**2 * 2.9166667e-8 / 4, 60**2 * 4.5e-8 / 2, (20 * 3e-5) ** 2]
    variance, df = satterthwaite(variances, [3, 1, 1])
    total = 100 * 1.075e-3 + 60 * 3.5e-4 + 20 * 3e-5
    found = shift_of("x", Score(0.5), effects, totals, chance=0.05, scores=2)
    margin = float(t.ppf(1 - 0.05 / 4, df)) * variance**0.5
    assert found.size == pytest.approx(total)
    assert found.most == pytest.approx(total + margin)
    # Random signs of seven effects give as large a sum in 1 of 64.
    assert found.least == pytest.approx(total - margin)


def test_random_signs_weigh_each_effect_by_what_it_stands_for() -> None:
    """Each drawn one stands for those of its group that were not; all signs can be counted."""
    effects = [np.array([1.0, 0.9, 1.1, 0.4]), np.array([-2.0, -1.5])]
    weighted = np.concatenate([effects[0] * 100 / 4, effects[1] * 20 / 2])
    signs = np.array(list(product((1.0, -1.0), repeat=6)))
    sums = np.abs(signs @ weighted)
    expected = float((sums >= abs(weighted.sum()) - 1e-9).mean())
    assert 0.1 < expected < 0.9
    # The share of 100,000 draws has a standard error of .0011.
    assert _share_of_flips(effects, [100, 20]) == pytest.approx(expected, abs=0.005)
    # The signs that came out count as one more draw, so that the share is never 0.
    assert _share_of_flips([np.ones(40)], [40]) == 1 / 100_001


@pytest.mark.parametrize("threshold", [2e-6, 0.0013, 0.0317, 7.0])
def test_the_smallest_size_is_found_to_three_percent(threshold: float) -> None:
    found = _smallest_size(lambda size: size >= threshold)
    assert threshold <= found <= 1.03 * threshold
    assert _smallest_size(lambda _: False) == np.inf


def test_more_scores_widen_the_interval_of_each() -> None:
    effects = [np.array([9e-4, 1e-3, 1.1e-3, 1e-3] * 4)]
    one, ten = (
        shift_of("x", Score(0.5), effects, [100], chance=1e-2, scores=scores)
        for scores in (1, 10)
    )
    alone = shift_of("x", Score(0.5), effects, [100], chance=1e-3)
    assert ten.least == pytest.approx(alone.least) and ten.least < one.least


def test_effects_without_a_spread_are_no_finding() -> None:
    same = shift([1e-3] * 8, Score(0.5))
    assert same.size == pytest.approx(0.1) and same.least == 0.0
    assert not same.tilted and not same.undecided


def test_a_root_that_is_cut_off_at_0_is_judged_by_its_square() -> None:
    """A tilt to a mean square below 0 shows a root of 0, which single images do not move."""
    tilt = [9e-4, 1e-3, 1.1e-3, 1e-3] * 4
    cut_off = shift(tilt, Score(-0.01, squared=True))
    assert cut_off.size == pytest.approx(0.3) and cut_off.tilted
    noise = [2e-3, -2.2e-3, 1.9e-3, -1.6e-3] * 4
    honest = shift(noise, Score(-0.01, squared=True))
    assert not honest.tilted and honest.undecided
    below = shift(tilt, Score(-0.5, squared=True))
    assert (below.size, below.tilted, below.undecided) == (0.0, False, False)


def test_a_tilt_of_one_group_is_not_taken_for_noise_of_the_other() -> None:
    tilt = np.array([9e-4, 1e-3, 1.1e-3, 1e-3] * 2)
    none = np.array([1e-5, -2e-5, 1e-5, 0.0] * 2)
    both = shift_of("x", Score(0.5), [tilt, none], [100, 100], chance=1e-2)
    assert both.tilted and both.size == pytest.approx(0.1)


def test_four_effects_of_one_sign_are_too_few() -> None:
    """Signs of which neither is more likely are the same in 1 of 8 such draws."""
    few = shift([9e-4, 1e-3, 1.1e-3, 1e-3], Score(0.5))
    assert not few.tilted and few.undecided


def noticed(effects: list[float], score: Score, total: int = 100) -> float:
    """The smallest shift by one group that would have been noticed."""
    return smallest_noticed(score, [np.array(effects)], [total], chance=1e-2)


ROUNDING = [2e-4, -2.2e-4, 1.9e-4, -1.6e-4] * 3


def test_what_is_said_to_be_noticed_is_a_tilt() -> None:
    """It was noticed in .94 to 1 of 500 simulated checks (docs/reproducibility.md)."""
    size = noticed(ROUNDING, Score(0.5))
    assert 0.01 < size < 0.2
    assert shift([effect + size / 100 for effect in ROUNDING], Score(0.5)).tilted
    # Fewer images show less, and more rounding hides more.
    assert noticed(ROUNDING[:8], Score(0.5)) > size
    assert noticed([3 * effect for effect in ROUNDING], Score(0.5)) > 2 * size
    assert noticed(ROUNDING, Score(0.25, squared=True)) == pytest.approx(size, rel=0.25)
    # A single further embedding hides hardly more.
    groups = [np.array(ROUNDING), np.array([5e-5])]
    with_one = smallest_noticed(Score(0.5), groups, [100, 1], chance=1e-2)
    assert with_one == pytest.approx(size, rel=0.1)
    # A tilt that is there already is no rounding.
    tilted = [effect + 5e-3 for effect in ROUNDING]
    assert noticed(tilted, Score(0.5)) == pytest.approx(size)


def test_each_size_that_is_tried_is_judged_like_a_shift_that_came_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of eight effects all have to go to one side, and one of these is far from the others."""
    monkeypatch.setattr(tilts, "_FLIPS", 10_000)
    tried: dict[float, bool] = {}

    def recorded(holds: Callable[[float], bool]) -> float:
        def noted(size: float) -> bool:
            tried[size] = holds(size)
            return tried[size]

        return _smallest_size(noted)

    monkeypatch.setattr(tilts, "_smallest_size", recorded)
    effects = np.array([3e-4, 4e-4, 3.5e-4, 3.8e-4, 3.3e-4, 3.7e-4, 3.7e-4, -2.5e-3])
    assert np.isfinite(noticed([*effects], Score(0.5)))
    effects = (effects - effects.mean()) * tilts._spread_of_others((8,), (100,))
    for size, is_noticed in tried.items():
        moved = shift([*(effects + size / 100)], Score(0.5))
        assert moved.tilted == is_noticed, size
    assert {*tried.values()} == {True, False}


@pytest.mark.slow
def test_a_tilt_as_small_as_named_is_noticed_where_deviations_have_heavy_tails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In 147 to 150 of 150 pairs of checks; with tails of a normal distribution in 133 to 141."""
    monkeypatch.setattr(tilts, "_FLIPS", 10_000)
    world = next(
        world for world in WORLDS if "t with" in world.name and world.drawn == 8
    )
    checks = np.array([simulated(world, 0, number) for number in range(150)])
    honest, _, noticed_there = checks.mean(axis=0)
    assert honest <= 0.02
    assert noticed_there >= 0.95


def test_too_few_deviations_notice_no_tilt_of_any_size() -> None:
    assert noticed(ROUNDING[:7], Score(0.5)) == np.inf
    assert noticed([*ROUNDING[:7], *[0.0] * 20], Score(0.5)) == np.inf


def test_the_summary_says_of_how_many_tests_what_could_be_noticed() -> None:
    tested = [
        CheckedTilt("a", scores=3, drawn=[4, 16], noticed=0.0),
        CheckedTilt("b", scores=2, drawn=[8], noticed=0.031),
        CheckedTilt("c", scores=2, drawn=[8], noticed=0.12),
        CheckedTilt("d", scores=1, drawn=[0], noticed=np.inf),
    ]
    assert tilt_summary(tested) == (
        "tilted embeddings were looked for along 8 scores of 4 tests, with 0 to 16 images drawn of "
        "each kind of prompt; 1 test came out as sent, so what was drawn of it is not tilted at "
        "all; of 2 tests, a tilt that moves the headline by 0.031 to 0.120 (by test) would have "
        "been noticed in at least 95% of such checks, a smaller one less often; of 1 test, such as "
        "d, a tilt of any size could have gone unnoticed, since too little was made again; a "
        "larger --draw tells"
    )
    assert tilt_summary([]) == ""


def test_invented_hashes_are_said(copy: Path) -> None:
    invent_hashes(copy)
    verdict = verify(packed_of(copy), draw=32)
    assert "(0 byte for byte)" in verdict.notes[0]
    assert any("the hashes are invented" in note for note in verdict.notes)


def test_an_encoder_that_is_not_here_leaves_it_recomputed(copy: Path) -> None:
    name = "open_clip:ViT-L-14/openai"
    rename_model(copy, "encoder", name, "a" * 64)
    entry = {name: {"fingerprint": "a" * 64, "embeds_images": True}}
    record(copy, "encoders", value=entry)
    record(copy, "settings", "encoder", value=[name])
    verdict = verify(packed_of(copy), draw=8)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert verdict.parts["images"] == 8
    assert any(
        f"not more than recomputed, because this was not asked again: encoder {name}"
        in note
        for note in verdict.notes
    )
