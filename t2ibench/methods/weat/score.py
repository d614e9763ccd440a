"""The word embedding association test and its scores (Caliskan et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, HeadlineEstimate, contradiction
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.weat.controls import controls_of, few_words_warnings
from t2ibench.methods.weat.headline import (
    delta_over_encoders,
    dominance,
    headline_of_delta,
)
from t2ibench.methods.weat.published import (
    attribute_weights,
    published_scores,
    word_rows,
)
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.word_sets import (
    WordSets,
    associations_of_targets,
    read_word_sets,
)
from t2ibench.settings import Settings


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of one WEAT: its headline, and the paper's effect size and test.

    With s(w) = mean over A of cos(w, a) - mean over B of cos(w, b):

    S = sum over X of s(x) - sum over Y of s(y)
    d = (mean over X of s(x) - mean over Y of s(y)) / SD of s over X and Y together, ddof 1
    headline = P(s(x) > s(y)) - P(s(x) < s(y)), Cliff's delta of X and Y

    The null of d and S is the paper's: every split of the words of X and Y into sets of these
    sizes. That of the headline knows that related words have like associations: how alike, as a
    function of their cosine, is learnt from the reference words for this direction
    (`stats.relatedness`). `association` computes s, with a worked example.

    Args:
        task: The task.
        evidence: Embeddings of the task's texts.
        settings: How it is measured.

    Returns:
        By word: 'association' (s) and 'single_category_effect_size' (see `standardised`).
    """
    sets = read_word_sets(task, evidence, settings)
    if isinstance(sets, str):
        return MethodResult.undefined(sets)
    delta = dominance(task, sets, settings)
    controls = controls_of(task, sets, delta, settings)
    weights = attribute_weights(task, sets, settings)
    scores = published_scores(task, sets, weights, settings)
    scores["cliffs_delta"] = delta
    scores |= _mean_associations(sets)
    missing = {side: words.missing for side, words in sets.items() if words.missing}
    return MethodResult(
        headline=_headline(delta, controls["separation"], settings),
        scores=scores,
        by=word_rows(sets, weights),
        n_prompts=sum(len(words.words) for words in sets.values()),
        warnings=few_words_warnings(sets),
        details={"missing_words": missing},
        controls=controls,
        inconclusive=contradiction(controls),
    )


def _headline(
    delta: Estimate, separation: Control, settings: Settings
) -> HeadlineEstimate:
    """Return the headline, without a value if the encoder does not distinguish A from B."""
    headline = headline_of_delta(delta, settings.level)
    if separation.contradicts is None:
        return headline
    return replace(
        headline,
        value=None,
        inference=replace(
            headline.inference,
            by_question={headline.question: Inference(p=headline.p)},
            fair=None,
        ),
        parts=(),
        reason=separation.contradicts,
    )


def _mean_associations(sets: WordSets) -> dict[str, Estimate]:
    """Return the mean association of X's words, and of Y's words, as scores."""
    s_x, s_y = associations_of_targets(sets)
    return {
        "association_of_x": Estimate(float(s_x.mean())),
        "association_of_y": Estimate(float(s_y.mean())),
    }


def combine(
    task: WeatTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the result averaged over encoders, with Cliff's delta tested over all of them."""
    mean = average_results(results, settings.level)
    scores = [result.scores.get("cliffs_delta") for result in results]
    deltas = [delta for delta in scores if delta is not None and delta.null is not None]
    if len(results) == 1 or mean.headline.value is None or len(deltas) < len(results):
        return mean
    delta = delta_over_encoders(
        deltas, mean.scores["cliffs_delta"], task, settings.level
    )
    return replace(
        mean,
        headline=headline_of_delta(delta, settings.level),
        scores={**mean.scores, "cliffs_delta": delta},
    )
