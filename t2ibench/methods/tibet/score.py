"""TIBET: which counterfactuals the images of a prompt are made of (Chinchure et al. 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.concepts import synonyms
from t2ibench.methods.core.controls import contradiction
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.needs import Needs, PromptNeed, QuestionNeed
from t2ibench.methods.tibet.associations import Sensitivity, sensitivity
from t2ibench.methods.tibet.baselines import (
    baseline_scores,
    coverage,
    vocabulary,
    word_vectors,
)
from t2ibench.methods.tibet.controls import Adherence, adherence, controls_of
from t2ibench.methods.tibet.explanations import mean_curve, top_concepts
from t2ibench.methods.tibet.image_sets import ImageSet, PromptSets, gather
from t2ibench.methods.tibet.published import mean_column, published_scores
from t2ibench.methods.tibet.questions import all_questions, questions_of
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask
from t2ibench.methods.tibet.shares import (
    AxisShares,
    average_headlines,
    axis_shares,
    headline_of,
    mean_square_estimate,
    share_estimate,
    share_estimates,
)
from t2ibench.settings import Settings

_NO_AXIS = "no prompt has two answered images of itself and of each of two counterfactuals"
_NAMED = 5  # rows in a warning


def needs(task: TibetTask, settings: Settings) -> Needs:
    """Images of each prompt and of its counterfactuals, and the same questions about them all."""
    n, guided = task.image_counts(settings)
    prompts: dict[tuple[str, int], PromptNeed] = {}
    questions: dict[tuple[str, int, str], QuestionNeed] = {}
    for target in settings.limited(task.prompts):
        wanted = [PromptNeed(target.prompt, n, "as they stand", target.prompt)]
        wanted += [
            PromptNeed(cf.prompt, guided, f"changed to {cf.name}", target.prompt)
            for axis in target.axes
            for cf in axis.counterfactuals
        ]
        for need in wanted:
            prompts.setdefault((need.prompt, need.images), need)
            for question in all_questions(task, target):
                questions.setdefault(
                    (need.prompt, need.images, question),
                    QuestionNeed(need.prompt, need.images, question),
                )
    return Needs(tuple(prompts.values()), vocabulary(task), tuple(questions.values()))


@dataclass(frozen=True, slots=True)
class _Row:
    """One axis of one prompt, scored.

    Attributes:
        axis: The axis.
        item: Its row of the result.
        shares: The shares of its counterfactuals, or why there are none.
        adherence: How often the counterfactuals' images show what their name says.
        curve: How stable its published scores are; None without a MAD.
    """

    axis: Axis
    item: Item
    shares: AxisShares | str
    adherence: Adherence
    curve: Sensitivity | None = None

    @property
    def decided(self) -> AxisShares | None:
        """The shares, where the counterfactuals can be told apart."""
        if isinstance(self.shares, str) or self.shares.reason:
            return None
        return self.shares


def score(task: TibetTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Which shares of its counterfactuals' images make up the images of each prompt.

    With phi the concepts, 0 or 1, that the answers about an image name, and pi the shares of the
    counterfactuals' mean phi that come nearest to the prompt's (`tibet.mixture`), K along an axis:

        squared_lean = (|pi - 1/K|² - its sampling variance) / (1 - 1/K)

    is 0 on average where the images are an even mixture, at any number of images, and 1 where they
    are those of one counterfactual. The headline is its mean over prompts and axes, without those
    whose counterfactuals' answers cannot be told apart.

    Args:
        task: The task.
        evidence: One judge's answers, and an encoder's embeddings where it saw the images.
        settings: How to measure.

    Returns:
        By prompt and axis: 'squared_lean', each counterfactual's 'share' (and 'share_clip', from
        embeddings), for two counterfactuals 'lean' = 2 share - 1, and the paper's 'cas',
        'cas_share', 'cas_clip', 'mad' and 'mad_before_root'. For the task the means over prompts
        that share an axis; in `details` the concepts, the intersections and the sensitivity. With
        `baselines` the paper's other measures, too, and means over societal and incidental axes.
    """
    merging = synonyms()
    vectors = word_vectors(task, evidence)
    covered: list[float] = []
    rows: list[_Row] = []
    prompts: list[dict[str, Any]] = []
    image_sets: dict[str, tuple[ImageSet, Sequence[str]]] = {}
    for target in settings.limited(task.prompts):
        questions = all_questions(task, target)
        sets = gather(task, target, questions, evidence, settings, merging)
        for prompt, image_set in sets.sets.items():
            image_sets.setdefault(prompt, (image_set, questions))
        similar = None if vectors is None else vectors.similarity(sets.names)
        rows += [_row(task, target, axis, sets, settings, similar) for axis in target.axes]
        prompts.append(top_concepts(target, sets))
        covered += [] if vectors is None else [coverage(sets, vectors)]
    known = [row.shares for row in rows if isinstance(row.shares, AxisShares)]
    controls = controls_of(
        known, [row.adherence for row in rows], settings.rng(task.id, "shuffled"), settings.level
    )
    curves = [row.curve for row in rows if row.curve is not None]
    decided = [row for row in known if row.reason is None]
    reason = (known[0].reason if known else None) or _NO_AXIS
    headline = Headline.undefined(reason, "mean_square")
    if decided:
        headline = headline_of(decided, settings.level)
    details: dict[str, Any] = {"prompts": prompts}
    details |= {"sensitivity": mean_curve(curves, pooled=task.baselines)} if curves else {}
    details |= {"matched_words": float(np.mean(covered))} if covered else {}
    return MethodResult(
        headline=headline,
        scores=_task_scores(rows, settings.level)
        | (_by_kind(rows, settings.level) if task.baselines else {}),
        by=[row.item for row in rows],
        n_images=sum(len(image_set) for image_set, _ in image_sets.values()),
        n_prompts=len(image_sets),
        excluded=sum((image_set.excluded for image_set, _ in image_sets.values()), Counter()),
        conventions=_conventions(task, merging.name),
        warnings=_warnings(known),
        details=details,
        samples=[
            row
            for image_set, questions in image_sets.values()
            for row in image_set.samples(questions)
        ],
        reason=None if known else _NO_AXIS,
        controls=controls,
        inconclusive=contradiction(controls),
    )


def combine(task: TibetTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """The scores over all judges."""
    mean = average_results(results, settings.level)
    if len(results) == 1 or mean.reason:
        return mean
    prompts = {
        f"{target.prompt} | {axis.name}": target.prompt
        for target in task.prompts
        for axis in target.axes
    }
    headlines = [result.headline for result in results]
    return replace(
        mean,
        headline=average_headlines(headlines, prompts, settings.level),
        scores=_without_p(mean.scores),
        by=[replace(item, scores=_without_p(item.scores)) for item in mean.by],
    )


def _without_p(scores: dict[str, Estimate]) -> dict[str, Estimate]:
    """Shares without a test that they are 0, which nobody asks."""
    return {
        name: replace(estimate, p=None, test=None) if name.startswith("share") else estimate
        for name, estimate in scores.items()
    }


def _warnings(known: Sequence[AxisShares]) -> list[str]:
    """Rows that the headline leaves out."""
    left_out = [axis.name for axis in known if axis.reason]
    if not left_out or len(left_out) == len(known):
        return []
    names = [f"'{name}'" for name in left_out[:_NAMED]]
    if len(left_out) > _NAMED:
        names.append(f"{len(left_out) - _NAMED} more")
    return [
        f"{len(left_out)} of {len(known)} rows are not in the headline, because the answers do not "
        f"tell their counterfactuals apart: {listed(names)}."
    ]


def _conventions(task: TibetTask, merging: str) -> dict[str, Any]:
    return {
        "share": "of the counterfactuals' mean concepts, 0 or 1 an image, nearest to the prompt's; "
        "from the answers to the axis's own questions",
        "headline": "mean over prompts and axes of (|share - 1/K|² - variance) / (1 - 1/K)",
        "left_out": "rows whose counterfactuals' answers cannot be told apart",
        "cas": "sum min / sum max of the two concept histograms",
        "cas_share": "the same on histograms of sum 1, made to sum to 1 over the counterfactuals",
        "mad": "of the cas_shares; square root of the ratio to the greatest possible, as published",
        "null": "of mad: the prompt's images drawn from its counterfactuals' in equal parts",
        "synonyms": merging,
        "min_frequency": task.min_frequency,
        "unit": "image, within its prompt",
    }


def _row(
    task: TibetTask,
    target: TibetPrompt,
    axis: Axis,
    sets: PromptSets,
    settings: Settings,
    similarity: Float64Array | None,
) -> _Row:
    """One row: the prompt against the counterfactuals of one axis."""
    start = sets.sets[target.prompt]
    changed = [sets.sets[cf.prompt] for cf in axis.counterfactuals]
    names = [cf.name for cf in axis.counterfactuals]
    row = f"{target.prompt} | {axis.name}"
    features = [sets.features(image_set, questions_of(axis)) for image_set in (start, *changed)]
    shares = axis_shares(row, names, features)
    scores = share_estimates(shares, names, settings.level)
    if all(len(image_set.embedded) for image_set in (start, *changed)):
        embedded = [image_set.embedding_features() for image_set in (start, *changed)]
        by_clip = share_estimates(axis_shares(row, names, embedded), names, settings.level)
        scores |= {
            f"share_clip:{name}": by_clip[f"share:{name}"]
            for name in names
            if f"share:{name}" in by_clip
        }
    curve = None
    lacking = [one.prompt for one in (start, *changed) if not len(one)]
    if lacking:
        scores["mad"] = Estimate.undefined(f"no answered image of: {', '.join(lacking)}")
    else:
        key = f"{target.prompt} {axis.name}"
        scores |= published_scores(
            start, changed, names, task.min_frequency,
            settings.n_permutations, settings.rng(task.id, f"null {key}"),
        )  # fmt: skip
        if scores["mad"].value is not None:
            rng = settings.rng(task.id, f"flips of {key}")
            curve = sensitivity(
                start, changed, task.min_frequency, rng, alternatives=task.baselines
            )
            if task.baselines:
                found = [scores[f"cas_share:{name}"].value or 0.0 for name in names]
                scores |= baseline_scores(
                    start, changed, names, found, task.min_frequency, similarity
                )
    n_images = len(start) + sum(map(len, changed))
    item = Item(row, scores, axis.name, n_images)
    return _Row(axis, item, shares, adherence(axis, sets, features[1:]), curve)


def _task_scores(rows: Sequence[_Row], level: float) -> dict[str, Estimate]:
    """The mean MAD, and means over prompts that share an axis."""
    values = [row.item.scores["mad"] for row in rows]
    kept = [estimate for estimate in values if estimate.value is not None]
    reason = next((estimate.reason for estimate in values if estimate.reason), None)
    scores = {"mad": mean_column(kept) if kept else Estimate.undefined(reason or _NO_AXIS)}
    for axis in dict.fromkeys(row.axis.name for row in rows):
        members = [row for row in rows if row.axis.name == axis]
        scores |= _mean_shares(axis, [row.decided for row in members if row.decided], level)
        names = dict.fromkeys(name for row in members for name in row.item.scores)
        for name in names:
            kind, _, label = name.partition(":")
            if kind not in {"cas", "cas_share", "cas_clip", "mad"}:
                continue
            found = [row.item.scores[name] for row in members if name in row.item.scores]
            found = [estimate for estimate in found if estimate.value is not None]
            if len(found) > 1:
                key = f"{kind}:{axis}:{label}" if label else f"{kind}:{axis}"
                scores[key] = mean_column(found)
    return scores


def _by_kind(rows: Sequence[_Row], level: float) -> dict[str, Estimate]:
    """The mean squared lean and MAD of societal and of incidental axes, and the other measures."""
    scores: dict[str, Estimate] = {}
    for kind in ("societal", "incidental"):
        members = [row for row in rows if row.axis.kind == kind]
        decided = [row.decided for row in members if row.decided]
        if decided:
            scores[f"squared_lean_{kind}"] = mean_square_estimate(decided, level)
        values = [row.item.scores["mad"] for row in members]
        values = [estimate for estimate in values if estimate.value is not None]
        if values:
            scores[f"mad_{kind}"] = mean_column(values)
    for name in ("mad_clip", "mad_bipartite", "wasserstein", "deviation"):
        values = [row.item.scores[name] for row in rows if name in row.item.scores]
        values = [estimate for estimate in values if estimate.value is not None]
        if values:
            scores[name] = mean_column(values)
    return scores


def _mean_shares(axis: str, found: Sequence[AxisShares], level: float) -> dict[str, Estimate]:
    """Mean shares over prompts with the same counterfactuals, the most common ones of the axis."""
    if not found:
        return {}
    sizes = Counter(one.counterfactuals for one in found)
    names, size = sizes.most_common(1)[0]
    if size < 2:
        return {}
    same = [one for one in found if one.counterfactuals == names]
    mean = np.mean([one.mixture.shares for one in same], axis=0)

    def influence(weights: Any) -> Influence:
        return Influence.combined([(1.0 / size, one.influence(weights)) for one in same])

    scores = {
        f"share:{axis}:{name}": share_estimate(float(share), influence(weights), level)
        for name, share, weights in zip(names, mean, np.eye(len(names)), strict=True)
    }
    if len(names) == 2:
        lean = Estimate.from_influence(
            float(mean[0] - mean[1]), influence(np.array([1.0, -1.0])), level
        )
        scores[f"lean:{axis}"] = lean
    return scores
