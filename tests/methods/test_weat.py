"""WEAT against Caliskan et al.'s formulas computed in plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.weat.describe import describe
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats import cliffs_delta
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_bootstrap=500)
SETS = {side: [f"{side}{i}" for i in range(8)] for side in "XYAB"}


def groups(sides: str, count: int = 8) -> dict[str, object]:
    return {
        side: {"name": side, "words": [f"{side}{k}" for k in range(count)]}
        for side in sides
    }


def make_task(**changes: object) -> WeatTask:
    parts = {"targets": groups("XY"), "attributes": groups("AB"), "reference": []}
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


def scored(texts: dict[str, np.ndarray], **changes: object) -> MethodResult:
    return score(make_task(**changes), HandEvidence(texts=texts), SETTINGS)


def test_effect_size_uses_ddof_1_and_the_exact_test_all_12870_splits() -> None:
    texts = make_texts()
    s = {
        word: np.mean([texts[word] @ texts[a] for a in SETS["A"]])
        - np.mean([texts[word] @ texts[b] for b in SETS["B"]])
        for word in SETS["X"] + SETS["Y"]
    }
    values = np.array(list(s.values()))
    x, y = values[:8], values[8:]
    result = scored(texts)
    d = (x.mean() - y.mean()) / values.std(ddof=1)
    assert result.scores["effect_size"].value == pytest.approx(d)
    found = result.scores["differential_association"]
    assert found.value == pytest.approx(x.sum() - y.sum())
    assert (len(found.null), found.test) == (12_870, "exact")
    sums = np.array([values[list(pick)].sum() for pick in combinations(range(16), 8)])
    extreme = np.abs(2 * sums - values.sum()) >= abs(x.sum() - y.sum()) - 1e-12
    assert found.p == pytest.approx(extreme.mean())
    words = {item.name: item.scores["association"].value for item in result.by}
    assert words == pytest.approx(s)


def test_the_headline_is_cliffs_delta_with_a_test_near_that_of_all_splits() -> None:
    texts = make_texts(bias=0.15)
    result = scored(texts)
    s = [item.scores["association"].value for item in result.by]
    delta = cliffs_delta(s[:8], s[8:])
    headline = result.headline
    assert headline.value == pytest.approx(delta)
    assert (headline.scale, headline.question) == ("lean", "prompt_population")
    # The words are drawn independently, but some are a little alike by chance.
    assert headline.p == pytest.approx(mannwhitneyu(s[:8], s[8:]).pvalue, abs=0.1)
    error = np.sqrt(17 / (3 * 8 * 8))  # of Mann and Whitney's delta
    assert headline.fair == pytest.approx((-1.96 * error, 1.96 * error), abs=0.1)
    assert result.scores["cliffs_delta"].value == headline.value
    assert result.inconclusive is None


def test_the_case_by_hand_of_the_documentation() -> None:
    given = {"X": (0.4, 0.3, 0.2), "Y": (0.25, 0.1, -0.1)}
    texts = {"A0": np.eye(7)[0], "B0": -np.eye(7)[0]}
    for side, values in given.items():
        # s = 2 cos(w, a); each word has an axis of its own
        for k, s in enumerate(values):
            own = np.eye(7)[1 + k + 3 * (side == "Y")]
            texts[f"{side}{k}"] = s / 2 * np.eye(7)[0] + np.sqrt(1 - s**2 / 4) * own
    result = scored(texts, targets=groups("XY", 3), attributes=groups("AB", 1))
    assert result.headline.value == pytest.approx(7 / 9)
    assert result.headline.p == pytest.approx(4 / 20, abs=0.015)
    assert result.scores["effect_size"].value == pytest.approx(1.242, abs=5e-4)
    assert "too few for a test" in (result.inconclusive or "")


WIDE = groups("XY", 24)


def collapsed(words: int, clusters: int, seed: int = 0) -> dict[str, np.ndarray]:
    """As `make_texts`, but the words of X and Y are near-duplicates of a few."""
    rng = np.random.default_rng(seed)
    texts = make_texts(seed)
    centres = {side: [texts[f"{side}{k}"] for k in range(clusters)] for side in "XY"}
    return texts | {
        f"{side}{k}": unit(centres[side][k % clusters] + rng.normal(size=20) * 0.01)
        for side in "XY"
        for k in range(words)
    }


def test_near_duplicate_words_add_hardly_any_evidence() -> None:
    result = scored(collapsed(24, 6), targets=WIDE)
    s = np.array([item.scores["association"].value for item in result.by])
    assert result.headline.value == pytest.approx(cliffs_delta(s[:24], s[24:]))
    # As six words a side, which have 924 splits.
    assert result.controls["units"].value < 8
    assert 1 / 924 < result.headline.p < 0.02
    # As published they are 24.
    d = (s[:24].mean() - s[24:].mean()) / s.std(ddof=1)
    assert result.scores["effect_size"].value == pytest.approx(d)
    assert result.scores["effect_size"].as_published
    assert result.scores["differential_association"].p < 2 / 924
    assert result.inconclusive is None


def test_two_clusters_a_side_are_too_few_however_many_words_they_have() -> None:
    result = scored(collapsed(24, 2), targets=WIDE)
    # two of the six orders of four clusters, where all lie apart
    assert result.headline.p > 0.2
    assert result.scores["effect_size"].value > 1.8
    assert "too few for a test, whose p cannot be below 0.2" in (
        result.inconclusive or ""
    )
    assert result.warnings[0].startswith(
        "The 24 words of X are nearly alike to the encoder: they are worth "
    )
    assert result.reason is None


def test_the_similarity_of_related_words_is_estimated_from_everyday_words() -> None:
    """Cosines of .5 mean little where everyday words show that they do, and much where not."""
    everyday = [f"everyday {k}" for k in range(400)]
    words = [*(f"{side}{k}" for side in "XY" for k in range(24)), *everyday]
    texts = {word: np.pad(row, (0, 80)) for word, row in make_texts().items()}
    axis = unit(
        sum(texts[a] - texts[b] for a, b in zip(SETS["A"], SETS["B"], strict=True))
    )
    rng = np.random.default_rng(3)
    rows = np.repeat(rng.normal(size=(len(words) // 4, 100)), 4, axis=0)
    rows += rng.normal(size=rows.shape)
    effective = []
    for along in (
        rng.normal(size=len(words)),
        np.repeat(rng.normal(size=len(words) // 4), 4),
    ):
        turned = unit(rows + np.outer(along - rows @ axis, axis))
        texts |= dict(zip(words, turned, strict=True))
        found = scored(texts, targets=WIDE, reference=everyday)
        effective.append(found.controls["units"].value)
    assert 1.6 * effective[1] < effective[0], effective


def test_attributes_that_the_encoder_does_not_distinguish_are_inconclusive() -> None:
    texts = make_texts()
    rng = np.random.default_rng(5)
    texts |= {word: unit(rng.normal(size=20)) for word in SETS["A"] + SETS["B"]}
    result = scored(texts)
    assert result.headline.value is None
    assert result.headline.reason.startswith("the encoder does not tell A from B")
    assert result.reason is None
    assert result.scores["effect_size"].value is not None


def test_a_difference_along_every_direction_is_inconclusive() -> None:
    """X and Y differ in another way than A and B; the test over target words rejects often."""
    contradicted = rejected = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        axis, other = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
        texts = {}
        for side, (along, aside) in {
            "A": (1, 0),
            "B": (-1, 0),
            "X": (0, 2),
            "Y": (0, -2),
        }.items():
            noise = rng.normal(size=(8, 20)) * 0.4
            # the target words hardly differ along the attributes' own axis
            if side in "XY":
                noise -= 0.9 * np.outer(noise @ axis, axis)
            rows = unit(noise + along * axis + aside * other)
            texts |= dict(zip(SETS[side], rows, strict=True))
        result = scored(texts)
        rejected += result.headline.p < 0.05
        contradicted += "random split" in (result.inconclusive or "")
    assert rejected >= 8
    assert contradicted >= rejected - 2


def test_one_sided_p_values_are_halves_of_the_two_sided_one() -> None:
    texts = make_texts(bias=0.15)
    both, greater, less = (
        scored(texts, alternative=side).scores["differential_association"].p
        for side in ("two-sided", "greater", "less")
    )
    assert greater == pytest.approx(both / 2, abs=0.002)
    assert greater + less == pytest.approx(1.0, abs=0.001)


def test_missing_words_are_excluded_counted_and_limited() -> None:
    texts = make_texts()
    texts["X0"] = np.full(20, np.nan)
    result = scored(texts)
    assert result.details["missing_words"] == {"X": ["X0"]}
    assert result.scores["effect_size"].value is not None
    texts["X1"] = np.full(20, np.nan)
    failed = scored(texts)
    assert failed.headline.value is None
    assert "6 of 8" in (failed.reason or "")
    assert scored(texts, allow_missing=0.3).scores["effect_size"].value is not None


def test_templates_are_averaged() -> None:
    task = make_task(templates=["{word}", "a photo of {word}"])
    plain = make_texts(0)
    texts = {
        **plain,
        **{f"a photo of {word}": row for word, row in make_texts(1).items()},
    }
    assert len(needs(task, SETTINGS).texts) == 64
    result = score(task, HandEvidence(texts=texts), SETTINGS)
    mean = {word: unit(plain[word] + texts[f"a photo of {word}"]) for word in plain}
    expected = scored(mean).scores["effect_size"].value
    assert result.scores["effect_size"].value == pytest.approx(expected)


def test_the_effect_size_is_undefined_without_variation() -> None:
    texts = {word: np.array([1.0, 0.0]) for words in SETS.values() for word in words}
    size = scored(texts).scores["effect_size"]
    assert (size.value, size.p) == (None, None) and "do not vary" in size.reason


def test_encoders_that_lack_different_words_are_averaged_word_by_word() -> None:
    task = make_task()
    everything = make_texts()
    results = [
        scored({**everything, word: np.full(20, np.nan)}) for word in ("X0", "X1")
    ]
    expected = {item.name: item.scores["association"].value for item in results[0].by}
    both = combine(task, results, SETTINGS)
    assert {item.name for item in both.by} == set(SETS["X"] + SETS["Y"]) - {"X0", "X1"}
    for item in both.by:
        assert item.scores["association"].value == pytest.approx(expected[item.name])


def test_encoders_are_taken_to_err_together() -> None:
    task = make_task()
    results = [scored(make_texts(seed, 0.1)) for seed in (1, 2)]
    both = combine(task, results, SETTINGS)
    deltas = [result.headline.value for result in results]
    nulls = [np.sort(result.scores["cliffs_delta"].null) for result in results]
    assert both.headline.value == pytest.approx(np.mean(deltas))
    mean = np.abs(np.mean(nulls, axis=0))
    extreme = (mean >= abs(np.mean(deltas)) - 1e-12).sum()
    assert both.headline.p == pytest.approx((1 + extreme) / (1 + len(mean)))
    low, high = both.headline.chosen.interval
    assert low <= both.headline.value <= high
    assert (low > 0 or high < 0) == (both.headline.p <= 0.05)
    one, same = (
        results[0].headline,
        combine(task, [results[0], results[0]], SETTINGS).headline,
    )
    assert same.p == one.p and same.fair == pytest.approx(one.fair)
    assert same.chosen.interval == pytest.approx(one.chosen.interval)


@pytest.mark.parametrize(
    ("bias", "alternative", "says"),
    [
        (0.4, "two-sided", "Words for X are nearer to A, words for Y to B."),
        (-0.4, "two-sided", "Words for Y are nearer to A, words for X to B."),
        (0.0, "two-sided", "Not clear whether words for X or words for Y are nearer to A."),
        (-0.4, "greater", "Not clear whether words for X are nearer to A, words for Y to B."),
        (np.nan, "two-sided", "No score: X (X) keeps 0 of 8 words; the vocabulary lacks X0, X1, X2,"
         " X3, X4, X5, X6, X7. `allow_missing` in the task file sets how many may be lacking."),
    ],
)  # fmt: skip
def test_the_description_reports_the_direction_of_a_clear_result(
    bias: float, alternative: str, says: str
) -> None:
    result = scored(make_texts(bias=bias), alternative=alternative)
    assert describe(make_task(alternative=alternative), result) == says
