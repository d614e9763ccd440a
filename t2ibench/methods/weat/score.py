"""Word embedding association test (Caliskan, Bryson & Narayanan 2017) on a text encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import association, standardised, standardised_draws
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.needs import Needs
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats import resample_weights, two_sample_bootstrap, two_sample_permutation

_SHOWN = 8  # missing words that a message names
_TESTED = ("mean_difference", "union_d", "cliffs_delta")


@dataclass(frozen=True, slots=True)
class _WordSet:
    """One of the sets X, Y, A and B.

    Attributes:
        name: What reports call it.
        words: Words that the encoder has a vector for.
        vectors: Shape (words, d), unit rows.
        missing: Words that it lacks.
    """

    name: str
    words: list[str]
    vectors: Float64Array
    missing: list[str]

    def lacks_too_many(self, allowed: float) -> str | None:
        """The reason why a test with this set has no score; None where it has enough words."""
        total = len(self.words) + len(self.missing)
        if self.words and len(self.missing) <= allowed * total:
            return None
        return (
            f"({self.name}) keeps {len(self.words)} of {total} "
            f"words; the vocabulary lacks {', '.join(self.missing[:_SHOWN])}"
            f"{' …' if len(self.missing) > _SHOWN else ''}. "
            "`allow_missing` in the task file sets how many may be lacking."
        )


def _groups(task: WeatTask) -> dict[str, WordGroup]:
    return {
        "X": task.targets.X,
        "Y": task.targets.Y,
        "A": task.attributes.A,
        "B": task.attributes.B,
    }


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Texts of every word in every template.

    Args:
        task: The task.
        settings: How it is measured.

    Returns:
        Texts, and no images.
    """
    words = [word for group in _groups(task).values() for word in settings.limited(group.words)]
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Effect size, test and components of one WEAT (Caliskan et al. 2017).

    With s(w) = mean over A of cos(w, a) - mean over B of cos(w, b):

    S = sum over X of s(x) - sum over Y of s(y)
    d = (mean over X of s(x) - mean over Y of s(y)) / SD of s over X and Y together, ddof 1
    headline = |P(s(x) > s(y)) - P(s(x) < s(y))|, Cliff's delta of the words of X and Y

    The null of all three: every split of the words of X and Y into sets of these sizes. The word
    is what is resampled. `association` holds s, with a worked example.

    Args:
        task: The task.
        evidence: Embeddings of the task's texts.
        settings: How it is measured.

    Returns:
        Scores 'd', 'S', 'cliffs_delta', the means 'asc_X' and 'asc_Y' of s and the four cell
        means such as 'cell_XA'. By word: 'asc' (s) and 'sc_weat_d' (see `standardised`).

    Raises:
        MissingEvidence: a text was never embedded.
    """
    sets: dict[str, _WordSet] = {}
    for side, group in _groups(task).items():
        sets[side] = _word_set(task, group, evidence, settings)
        reason = sets[side].lacks_too_many(task.allow_missing)
        if reason:
            return MethodResult.undefined(f"{side} {reason}")
    weights = {
        side: resample_weights(
            np.arange(len(words.vectors)),
            settings.n_bootstrap,
            settings.rng(task.id, f"words {side}"),
        )
        for side, words in sets.items()
    }
    draws = {side: _association_draws(sets, side, weights) for side in "XY"}
    headline, scores = _differential(task, sets, draws, settings)
    return MethodResult(
        headline,
        {**scores, **_cell_means(sets, weights)},
        _by_word(sets, weights, draws),
        n_prompts=sum(len(words.words) for words in sets.values()),
        conventions={
            "effect_size": "weat (SD over X and Y together, ddof 1)",
            "S": "sum over X less sum over Y",
            "unit": "word",
            "templates": list(task.templates),
        },
        details={
            "missing_words": {side: words.missing for side, words in sets.items() if words.missing}
        },
    )


def _word_set(task: WeatTask, group: WordGroup, evidence: Evidence, settings: Settings) -> _WordSet:
    words = list(settings.limited(group.words))
    vectors = _word_vectors(words, task.templates, evidence)
    known = np.atleast_1d(np.isfinite(vectors).all(axis=1))
    return _WordSet(
        group.name,
        [word for word, is_known in zip(words, known, strict=True) if is_known],
        vectors[known],
        [word for word, is_known in zip(words, known, strict=True) if not is_known],
    )


def _word_vectors(
    words: Sequence[str], templates: Sequence[str], evidence: Evidence
) -> Float64Array:
    """One unit vector for each word: the mean over templates, normalised again."""
    stacked = [
        evidence.texts([fill(template, word=word) for word in words]) for template in templates
    ]
    mean: Float64Array = np.mean(np.asarray(stacked, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Float64Array = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return unit


def _association_draws(
    sets: Mapping[str, _WordSet], side: str, weights: Mapping[str, Float64Array]
) -> Float64Array:
    """Associations of a target set's words under resampling of the attribute words."""
    to_a, to_b = (sets[name].vectors @ sets[side].vectors.T for name in "AB")
    draws: Float64Array = weights["A"] @ to_a - weights["B"] @ to_b
    return draws


def _differential(
    task: WeatTask,
    sets: Mapping[str, _WordSet],
    draws: Mapping[str, Float64Array],
    settings: Settings,
) -> tuple[Estimate, dict[str, Estimate]]:
    """The headline, and the scores that compare X with Y."""
    x, y, a, b = (sets[side].vectors for side in "XYAB")
    s_x, s_y = association(x, a, b), association(y, a, b)
    boot = two_sample_bootstrap(
        draws["X"],
        draws["Y"],
        statistics=(*_TESTED, "mean_x", "mean_y"),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(x) + len(y)) < len(x),
        statistics=_TESTED,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    difference, d, delta = (
        Estimate.from_permutation(tests[name], boot[name], task.alternative) for name in _TESTED
    )
    scores = {
        "d": d,
        "S": _as_sums(difference, len(x), len(y), float(s_x.sum() - s_y.sum())),
        "cliffs_delta": delta,
        "asc_X": Estimate(float(s_x.mean()), boot["mean_x"]),
        "asc_Y": Estimate(float(s_y.mean()), boot["mean_y"]),
    }
    return replace(delta, signed=True), scores


def _as_sums(difference: Estimate, n_x: int, n_y: int, observed: float) -> Estimate:
    """The paper's difference of sums (sets of one size), from the difference of means."""
    factor = (n_x + n_y) / 2
    value = difference.value
    if value is not None:
        value = observed if n_x == n_y else value * factor
    return replace(
        difference,
        value=value,
        boot=None if difference.boot is None else difference.boot * factor,
        null=None if difference.null is None else difference.null * factor,
    )


def _cell_means(
    sets: Mapping[str, _WordSet], weights: Mapping[str, Float64Array]
) -> dict[str, Estimate]:
    """The mean cosine of each target set to each attribute set."""
    cells = {}
    for target in "XY":
        for attribute in "AB":
            cosines = sets[target].vectors @ sets[attribute].vectors.T
            boot = ((weights[target] @ cosines) * weights[attribute]).sum(axis=1)
            cells[f"cell_{target}{attribute}"] = Estimate(float(cosines.mean()), boot)
    return cells


def _by_word(
    sets: Mapping[str, _WordSet],
    weights: Mapping[str, Float64Array],
    draws: Mapping[str, Float64Array],
) -> list[Item]:
    """Each word's association and its own effect size (SC-WEAT)."""
    rows = []
    for side in "XY":
        to_a, to_b = (sets[side].vectors @ sets[name].vectors.T for name in "AB")
        asc = to_a.mean(axis=1) - to_b.mean(axis=1)
        effect = standardised(to_a, to_b)
        effect_draws = standardised_draws(to_a, to_b, weights["A"], weights["B"])
        for index, word in enumerate(sets[side].words):
            scores = {
                "asc": Estimate(float(asc[index]), draws[side][:, index]),
                "sc_weat_d": Estimate(float(effect[index]), effect_draws[:, index]),
            }
            rows.append(Item(word, scores, group=sets[side].name))
    return rows
