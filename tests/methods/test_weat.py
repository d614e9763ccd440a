"""WEAT against Caliskan et al.'s formulas computed in plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.weat.describe import describe
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_bootstrap=500)
SETS = {side: [f"{side}{i}" for i in range(8)] for side in "XYAB"}


def make_task(**changes: object) -> WeatTask:
    parts: dict[str, object] = {
        "targets": {side: {"name": side, "words": SETS[side]} for side in "XY"},
        "attributes": {side: {"name": side, "words": SETS[side]} for side in "AB"},
    }
    return task_by_hand(WeatTask, "weat", **{**parts, **changes})


def make_texts(seed: int = 0, bias: float = 0.4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    axis = unit(rng.normal(size=20))
    lean = {"X": bias, "Y": -bias, "A": 1.0, "B": -1.0}
    return {
        word: unit(rng.normal(size=20) * 0.5 + lean[side] * axis)
        for side, words in SETS.items()
        for word in words
    }


def test_effect_size_uses_ddof_1_and_the_exact_test_all_12870_splits() -> None:
    texts = make_texts()
    s = {
        word: np.mean([texts[word] @ texts[a] for a in SETS["A"]])
        - np.mean([texts[word] @ texts[b] for b in SETS["B"]])
        for word in SETS["X"] + SETS["Y"]
    }
    values = np.array(list(s.values()))
    x, y = values[:8], values[8:]
    result = score(make_task(), HandEvidence(texts=texts), SETTINGS)
    d = (x.mean() - y.mean()) / values.std(ddof=1)
    assert result.scores["d"].value == pytest.approx(d)
    assert result.scores["d"].value != pytest.approx((x.mean() - y.mean()) / values.std(ddof=0))
    assert result.scores["S"].value == pytest.approx(x.sum() - y.sum())
    assert len(result.scores["S"].null) == 12_870
    assert result.scores["S"].test == "exact"
    total = values.sum()
    sums = np.array([values[list(pick)].sum() for pick in combinations(range(16), 8)])
    statistics = 2 * sums - total
    extreme = (np.abs(statistics) >= abs(x.sum() - y.sum()) - 1e-12).mean()
    assert result.scores["S"].p == pytest.approx(extreme)
    words = {item.name: item.scores["asc"].value for item in result.by}
    assert words == pytest.approx(s)


def test_one_sided() -> None:
    evidence = HandEvidence(texts=make_texts(bias=0.15))
    both = score(make_task(), evidence, SETTINGS).scores["S"].p
    greater = score(make_task(alternative="greater"), evidence, SETTINGS).scores["S"].p
    less = score(make_task(alternative="less"), evidence, SETTINGS).scores["S"].p
    assert greater == pytest.approx(both / 2, abs=0.002)
    assert greater + less == pytest.approx(1.0, abs=0.001)


def test_missing_words_are_dropped_counted_and_bounded() -> None:
    texts = make_texts()
    texts["X0"] = np.full(20, np.nan)
    result = score(make_task(), HandEvidence(texts=texts), SETTINGS)
    assert result.details["missing_words"] == {"X": ["X0"]}
    assert result.scores["d"].value is not None
    texts["X1"] = np.full(20, np.nan)
    failed = score(make_task(), HandEvidence(texts=texts), SETTINGS)
    assert failed.headline.value is None
    assert "6 of 8" in (failed.reason or "")
    allowed = score(make_task(allow_missing=0.3), HandEvidence(texts=texts), SETTINGS)
    assert allowed.scores["d"].value is not None


def test_templates_are_averaged() -> None:
    task = make_task(templates=["{word}", "a photo of {word}"])
    plain = make_texts(0)
    texts = {**plain, **{f"a photo of {word}": row for word, row in make_texts(1).items()}}
    assert len(needs(task, SETTINGS).texts) == 64
    result = score(task, HandEvidence(texts=texts), SETTINGS)
    mean = {word: unit(plain[word] + texts[f"a photo of {word}"]) for word in plain}
    expected = score(make_task(), HandEvidence(texts=mean), SETTINGS)
    assert result.scores["d"].value == pytest.approx(expected.scores["d"].value)


def test_no_variation_is_no_effect_size() -> None:
    texts = {word: np.array([1.0, 0.0]) for words in SETS.values() for word in words}
    result = score(make_task(), HandEvidence(texts=texts), SETTINGS)
    assert result.scores["d"].value is None
    assert result.scores["d"].p is None
    assert "do not vary" in (result.scores["d"].reason or "")


def test_encoders_that_lack_different_words_are_averaged_word_by_word() -> None:
    task = make_task()
    everything = make_texts()
    without = [
        HandEvidence(texts={**everything, word: np.full(20, np.nan)}) for word in ("X0", "X1")
    ]
    results = [score(task, evidence, SETTINGS) for evidence in without]
    expected = {item.name: item.scores["asc"].value for item in results[0].by}
    both = combine(task, results, SETTINGS)
    assert {item.name for item in both.by} == set(SETS["X"] + SETS["Y"]) - {"X0", "X1"}
    for item in both.by:
        assert item.scores["asc"].value == pytest.approx(expected[item.name])


@pytest.mark.parametrize(("bias", "near", "far"), [(0.4, "X", "Y"), (-0.4, "Y", "X")])
def test_the_description_has_the_direction(bias: float, near: str, far: str) -> None:
    result = score(make_task(), HandEvidence(texts=make_texts(bias=bias)), SETTINGS)
    assert describe(make_task(), result) == (
        f"The association of {near} with A, rather than B, is stronger than that of {far}."
    )


def test_the_description_claims_no_direction_beyond_the_test() -> None:
    unbiased = HandEvidence(texts=make_texts(bias=0.0))
    result = score(make_task(), unbiased, SETTINGS)
    assert result.headline.p > 0.05
    assert describe(make_task(), result) == (
        "No evidence beyond chance that X and Y differ in their association with A rather than B."
    )
    against = HandEvidence(texts=make_texts(bias=-0.4))
    task = make_task(alternative="greater")
    assert describe(task, score(task, against, SETTINGS)) == (
        "No evidence beyond chance that the association of X with A, rather than B, is stronger "
        "than that of Y."
    )


def test_the_description_of_no_score_has_the_reason() -> None:
    texts = make_texts() | {word: np.full(20, np.nan) for word in SETS["X"]}
    text = describe(make_task(), score(make_task(), HandEvidence(texts=texts), SETTINGS))
    assert text.startswith("No score: X (X) keeps 0 of 8 words")
    assert text.endswith(".")
