"""Word embedding association test (Caliskan, Bryson & Narayanan 2017) on a text encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import association, standardised, standardised_draws
from t2ibench.methods.core.controls import Control, contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Headline, Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.needs import Needs
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.weat import controls
from t2ibench.methods.weat.headline import delta_estimate, delta_influence, headline_of
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.words import ALIKE, WordSet, groups_of, read_sets
from t2ibench.settings import Settings
from t2ibench.stats import resample_weights, two_sample_bootstrap, two_sample_permutation

_PUBLISHED = ("mean_difference", "union_d")
Sets = Mapping[str, WordSet]


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Texts of every word in every template."""
    words = [word for group in groups_of(task).values() for word in settings.limited(group.words)]
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Effect size, test and components of one WEAT (Caliskan et al. 2017).

    With s(w) = mean over A of cos(w, a) - mean over B of cos(w, b):

    S = sum over X of s(x) - sum over Y of s(y)
    d = (mean over X of s(x) - mean over Y of s(y)) / SD of s over X and Y together, ddof 1
    headline = P(s(x) > s(y)) - P(s(x) < s(y)), Cliff's delta of X and Y

    The null of all three: every split of the words of X and Y into sets of these sizes, where
    near-duplicate words stay together. The headline counts near-duplicates as one word, d and S
    count words. `association` holds s, with a worked example.

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
    sets = read_sets(task, evidence, settings)
    if isinstance(sets, str):
        return MethodResult.undefined(sets)
    delta = _delta(task, sets, settings)
    found: dict[str, Control] = {
        "units": controls.units(task, sets),
        "separation": controls.separation(task, sets, settings),
        "shuffled": controls.shuffled(task, sets, settings, delta.p),
    }
    weights = {
        side: resample_weights(
            sets[side].clusters, settings.n_bootstrap, settings.rng(task.id, f"words {side}")
        )
        for side in "AB"
    }
    return MethodResult(
        _gated(headline_of(delta, settings.level), found["separation"]),
        {
            **_as_published(task, sets, weights, settings),
            "cliffs_delta": delta,
            **_means(sets, settings.level),
        },
        _by_word(sets, weights, settings.level),
        n_prompts=sum(len(words.words) for words in sets.values()),
        conventions={
            "effect_size": "weat (SD over X and Y together, ddof 1)",
            "S": "sum over X less sum over Y",
            "unit": f"word; near-duplicates (cosine above {ALIKE}) are one unit",
            "templates": list(task.templates),
        },
        warnings=controls.warnings_of(sets),
        details=_details(sets),
        controls=found,
        inconclusive=contradiction(found),
    )


def _details(sets: Sets) -> dict[str, object]:
    """Missing words and near-duplicates by side."""
    missing = {side: words.missing for side, words in sets.items() if words.missing}
    alike = {side: words.near_duplicates() for side, words in sets.items()}
    details: dict[str, object] = {"missing_words": missing}
    if any(alike.values()):
        details["near_duplicates"] = {side: groups for side, groups in alike.items() if groups}
    return details


def _gated(headline: Headline, gate: Control) -> Headline:
    """The headline; without a value where the encoder does not tell the attributes apart."""
    if gate.contradicts is None:
        return headline
    p_only = {headline.question: Inference(p=headline.p)}
    return replace(
        headline, value=None, inference=p_only, fair=None, parts=(), reason=gate.contradicts
    )


def _associations(sets: Sets) -> tuple[Float64Array, Float64Array]:
    """The association s of each word of X and of Y."""
    x, y, a, b = (sets[side].vectors for side in "XYAB")
    return association(x, a, b), association(y, a, b)


def _delta(task: WeatTask, sets: Sets, settings: Settings) -> Estimate:
    """Cliff's delta over clusters of words, with its exact test."""
    x, y = sets["X"], sets["Y"]
    of_x, of_y = _associations(sets)
    s_x, s_y = x.cluster_means(of_x), y.cluster_means(of_y)
    test = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        statistics=("cliffs_delta",),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )["cliffs_delta"]
    influence = delta_influence(x, y, s_x, s_y)
    return delta_estimate(test, influence, task.alternative, settings.level)


def _as_published(
    task: WeatTask, sets: Sets, weights: Mapping[str, Float64Array], settings: Settings
) -> dict[str, Estimate]:
    """The paper's effect size and test statistic, over words."""
    x, y = sets["X"], sets["Y"]
    s_x, s_y = _associations(sets)
    boot = two_sample_bootstrap(
        _association_draws(sets, "X", weights),
        _association_draws(sets, "Y", weights),
        x.clusters,
        y.clusters,
        statistics=_PUBLISHED,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        np.concatenate([x.clusters, x.n_clusters + y.clusters]),
        statistics=_PUBLISHED,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    difference, d = (
        replace(
            Estimate.from_permutation(tests[name], boot[name], task.alternative), as_published=True
        )
        for name in _PUBLISHED
    )
    # The paper's difference of sums, of sets of one size, from the difference of means.
    factor, total = (len(s_x) + len(s_y)) / 2, difference.value
    if total is not None:
        total = float(s_x.sum() - s_y.sum()) if len(s_x) == len(s_y) else total * factor
    sums = replace(
        difference,
        value=total,
        boot=None if difference.boot is None else difference.boot * factor,
        null=None if difference.null is None else difference.null * factor,
    )
    return {"d": d, "S": sums}


def _association_draws(sets: Sets, side: str, weights: Mapping[str, Float64Array]) -> Float64Array:
    """Associations of a target set's words under resampling of the attribute words."""
    to_a, to_b = (sets[name].vectors @ sets[side].vectors.T for name in "AB")
    draws: Float64Array = weights["A"] @ to_a - weights["B"] @ to_b
    return draws


def _described(value: float, influence: Influence, level: float) -> Estimate:
    """A mean with its interval over words like these; it is no test of anything."""
    found = Estimate.from_influence(value, influence, level)
    return replace(found, p=None, test=None, influence=None)


def _means(sets: Sets, level: float) -> dict[str, Estimate]:
    """Mean associations of the target sets, and the mean cosine of each pair of sets."""
    scores = {}
    for target in "XY":
        cells = {side: sets[target].vectors @ sets[side].vectors.T for side in "AB"}
        difference = cells["A"].mean(axis=1) - cells["B"].mean(axis=1)
        of_attributes = [
            (sign, sets[side].influence(cells[side].mean(axis=0)))
            for side, sign in (("A", 1.0), ("B", -1.0))
        ]
        of_words = sets[target].influence(difference)
        scores[f"asc_{target}"] = _described(
            float(difference.mean()), Influence.combined([(1.0, of_words), *of_attributes]), level
        )
    for target in "XY":
        for side in "AB":
            cosines = sets[target].vectors @ sets[side].vectors.T
            both = [
                (1.0, sets[target].influence(cosines.mean(axis=1))),
                (1.0, sets[side].influence(cosines.mean(axis=0))),
            ]
            scores[f"cell_{target}{side}"] = _described(
                float(cosines.mean()), Influence.combined(both), level
            )
    return scores


def _by_word(sets: Sets, weights: Mapping[str, Float64Array], level: float) -> list[Item]:
    """Each word's association and its own effect size (SC-WEAT)."""
    rows = []
    for side in "XY":
        to_a, to_b = (sets[side].vectors @ sets[name].vectors.T for name in "AB")
        asc = to_a.mean(axis=1) - to_b.mean(axis=1)
        effect = standardised(to_a, to_b)
        effect_draws = standardised_draws(to_a, to_b, weights["A"], weights["B"])
        for index, word in enumerate(sets[side].words):
            attributes = [
                (1.0, sets["A"].influence(to_a[index])),
                (-1.0, sets["B"].influence(to_b[index])),
            ]
            scores = {
                "asc": _described(float(asc[index]), Influence.combined(attributes), level),
                "sc_weat_d": Estimate(
                    float(effect[index]), effect_draws[:, index], as_published=True
                ),
            }
            rows.append(Item(word, scores, group=sets[side].name))
    return rows
