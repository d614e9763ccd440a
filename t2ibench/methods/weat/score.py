"""Word embedding association test (Caliskan, Bryson & Narayanan 2017) on a text encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods.core.association import association, standardised, standardised_draws
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, missing, tested
from t2ibench.methods.core.evidence import Evidence, FloatArray
from t2ibench.methods.core.needs import Needs
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats import resample_weights, two_sample_bootstrap, two_sample_permutation


def _groups(task: WeatTask) -> dict[str, WordGroup]:
    return {
        "X": task.targets.X,
        "Y": task.targets.Y,
        "A": task.attributes.A,
        "B": task.attributes.B,
    }


def _words(task: WeatTask, side: str, settings: Settings) -> Sequence[str]:
    return settings.limited(_groups(task)[side].words)


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Texts of every word in every template."""
    words = [word for side in "XYAB" for word in _words(task, side, settings)]
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Effect size, test and components of one WEAT.

    Returns:
        Scores 'd' (ddof 1), 'S' (sum over X less sum over Y), 'cliffs_delta', the means
        'asc_X' and 'asc_Y' (SC-WEAT) and the four cell means.
    """
    vectors, kept, dropped = {}, {}, {}
    for side in "XYAB":
        words = list(_words(task, side, settings))
        embedded = _embed(words, task.templates, evidence)
        there = np.atleast_1d(np.isfinite(embedded).all(axis=1))
        vectors[side] = embedded[there]
        kept[side] = [word for word, ok in zip(words, there, strict=True) if ok]
        dropped[side] = [word for word, ok in zip(words, there, strict=True) if not ok]
        if len(dropped[side]) > task.allow_missing * len(words) or not kept[side]:
            reason = (
                f"{side} ({_groups(task)[side].name}) keeps {len(kept[side])} of {len(words)} "
                f"words; the vocabulary lacks {', '.join(dropped[side][:8])}"
                f"{' …' if len(dropped[side]) > 8 else ''}. "
                "`allow_missing` in the task file sets how many may be lacking."
            )
            return MethodResult(missing(reason), reason=reason)
    result = _score_words(task, vectors, kept, settings)
    result.details["missing_words"] = {side: words for side, words in dropped.items() if words}
    return result


def _embed(words: Sequence[str], templates: Sequence[str], evidence: Evidence) -> FloatArray:
    """One unit vector a word: the mean over templates, normalised again."""
    stacked = [
        evidence.texts([fill(template, word=word) for word in words]) for template in templates
    ]
    mean: FloatArray = np.mean(np.asarray(stacked, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: FloatArray = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return unit


def _score_words(
    task: WeatTask,
    vectors: dict[str, FloatArray],
    kept: dict[str, list[str]],
    settings: Settings,
) -> MethodResult:
    x, y, a, b = (vectors[side] for side in "XYAB")
    s_x, s_y = association(x, a, b), association(y, a, b)
    weights = _weights(task, vectors, settings)
    draws_x, draws_y = (_association_draws(vectors, side, weights) for side in "XY")
    boot = two_sample_bootstrap(
        draws_x,
        draws_y,
        statistics=("mean_difference", "weat_d", "cliffs_delta", "mean_x", "mean_y"),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(x) + len(y)) < len(x),
        statistics=("mean_difference", "weat_d", "cliffs_delta"),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    scores = {
        "d": tested(tests["weat_d"], boot["weat_d"], task.alternative),
        "S": tested(tests["mean_difference"], boot["mean_difference"], task.alternative),
        "cliffs_delta": tested(tests["cliffs_delta"], boot["cliffs_delta"], task.alternative),
        "asc_X": Estimate(float(s_x.mean()), boot["mean_x"]),
        "asc_Y": Estimate(float(s_y.mean()), boot["mean_y"]),
    }
    _as_sums(scores["S"], len(x), len(y), float(s_x.sum() - s_y.sum()))
    for target in "XY":
        for attribute in "AB":
            cosines = vectors[target] @ vectors[attribute].T
            boot_cell = ((weights[target] @ cosines) * weights[attribute]).sum(axis=1)
            scores[f"cell_{target}{attribute}"] = Estimate(float(cosines.mean()), boot_cell)
    headline = tested(tests["cliffs_delta"], boot["cliffs_delta"], task.alternative)
    headline.signed = True
    by = _by_word(task, vectors, kept, weights, {"X": draws_x, "Y": draws_y})
    return MethodResult(
        headline,
        scores,
        by,
        n_prompts=sum(len(words) for words in kept.values()),
        conventions={
            "effect_size": "weat (SD over X and Y together, ddof 1)",
            "S": "sum over X less sum over Y",
            "unit": "word",
            "templates": list(task.templates),
        },
    )


def _as_sums(estimate: Estimate, n_x: int, n_y: int, observed: float) -> None:
    """Turn the difference of means into the paper's difference of sums (sets of one size)."""
    factor = (n_x + n_y) / 2
    if estimate.boot is not None:
        estimate.boot = estimate.boot * factor
    if estimate.null is not None:
        estimate.null = estimate.null * factor
    if estimate.value is not None:
        estimate.value = observed if n_x == n_y else estimate.value * factor


def _weights(
    task: WeatTask, vectors: dict[str, FloatArray], settings: Settings
) -> dict[str, FloatArray]:
    """Bootstrap weights of the words of each set, shape (draws, words)."""
    return {
        side: resample_weights(
            np.arange(len(vectors[side])),
            settings.n_bootstrap,
            settings.rng(task.id, f"words {side}"),
        )
        for side in "XYAB"
    }


def _association_draws(
    vectors: dict[str, FloatArray], side: str, weights: dict[str, FloatArray]
) -> FloatArray:
    """Associations of a target set's words under resampling of the attribute words."""
    to_a, to_b = (vectors[name] @ vectors[side].T for name in "AB")
    draws: FloatArray = weights["A"] @ to_a - weights["B"] @ to_b
    return draws


def _by_word(
    task: WeatTask,
    vectors: dict[str, FloatArray],
    kept: dict[str, list[str]],
    weights: dict[str, FloatArray],
    draws: dict[str, FloatArray],
) -> list[Item]:
    """Each word's association and its own effect size (SC-WEAT)."""
    rows = []
    for side in "XY":
        to_a, to_b = vectors[side] @ vectors["A"].T, vectors[side] @ vectors["B"].T
        asc = to_a.mean(axis=1) - to_b.mean(axis=1)
        effect = standardised(to_a, to_b)
        effect_draws = standardised_draws(to_a, to_b, weights["A"], weights["B"])
        for place, word in enumerate(kept[side]):
            scores = {
                "asc": Estimate(float(asc[place]), draws[side][:, place]),
                "sc_weat_d": Estimate(float(effect[place]), effect_draws[:, place]),
            }
            rows.append(Item(word, scores, group=_groups(task)[side].name))
    return rows
