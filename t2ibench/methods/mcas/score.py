"""Multimodal composite association scores, diffusion bias and bias amplification.

Mandal, Leavy & Little 2023 (MCAS) and 2024 (delta, alpha). The four association scores are
averaged over encoders first, as in section 5.2 of the paper; the composite scores are computed
from those means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warning,
    association,
    standardised,
    standardised_draws,
)
from t2ibench.methods.core.estimate import (
    Estimate,
    Item,
    MethodResult,
    average,
    average_results,
    missing,
    tested,
)
from t2ibench.methods.core.evidence import Evidence, FloatArray, Gatherer, Pool
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.mcas.schema import McasAttribute, McasTarget, McasTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    percentile_interval,
    resample_weights,
    two_sample_bootstrap,
    two_sample_permutation,
)

TERMS = ("ii", "itp", "it", "tt")


def _attributes(task: McasTask) -> dict[str, McasAttribute]:
    return {"A": task.attributes.A, "B": task.attributes.B}


def needs(task: McasTask, settings: Settings) -> Needs:
    """Images of attribute and target prompts; target prompts and attribute words as texts."""
    n_attribute = settings.guided_images(task.attribute_images_per_prompt)
    n_target = settings.images(task.images_per_prompt)
    prompts = [
        PromptNeed(prompt, n_attribute, "attribute", attribute=attribute.name)
        for attribute in _attributes(task).values()
        for prompt in attribute.prompts
    ]
    texts = [word for attribute in _attributes(task).values() for word in attribute.words]
    for target in settings.limited(task.targets):
        prompts.append(PromptNeed(target.prompt, n_target, "target", stimulus=target.name))
        texts.append(target.prompt)
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


def composite(ii: Any, itp: Any, it: Any, tt: Any) -> dict[str, Any]:
    """MCAS, delta, its signed form, and alpha (eqs. 3, 4 and 5), for numbers or arrays.

    Alpha is nan where TT is 0.
    """
    tt = np.asarray(tt, dtype=np.float64)
    safe = np.where(tt == 0.0, np.nan, tt)
    signed = np.abs(ii) - np.abs(tt)
    return {
        "mcas": ii + itp + it + tt,
        "delta": np.abs(signed),
        "signed_delta": signed,
        "alpha": np.abs((itp + it) / (2.0 * safe)),
    }


def summarise(values: Sequence[float], stereotypes: Sequence[str | None]) -> dict[str, Any]:
    """Minimum, maximum, mean and standard error by stereotype (Table 4 of the 2024 paper).

    Returns:
        Keys 'A', 'B' and 'all'; a side without values is left out. The standard error divides
        the standard deviation (ddof 1) by the root of the number of targets.
    """
    table: dict[str, Any] = {}
    for side in ("A", "B", "all"):
        chosen = np.array(
            [
                value
                for value, stereotype in zip(values, stereotypes, strict=True)
                if side in {"all", stereotype}
            ],
            dtype=np.float64,
        )
        if len(chosen):
            table[side] = {
                "min": float(chosen.min()),
                "max": float(chosen.max()),
                "mean": float(chosen.mean()),
                "standard_error": (
                    float(chosen.std(ddof=1) / np.sqrt(len(chosen))) if len(chosen) > 1 else None
                ),
                "n": len(chosen),
            }
    return table


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute as images and as words.

    Attributes:
        images: Its images.
        words: Shape (k, d).
        image_weights: Bootstrap weights of the images, shape (draws, n).
        word_weights: Bootstrap weights of the words, shape (draws, k).
    """

    images: Pool
    words: FloatArray
    image_weights: FloatArray
    word_weights: FloatArray


@dataclass(frozen=True, slots=True)
class _Target:
    target: McasTarget
    images: FloatArray
    terms: dict[str, Estimate]
    asc: FloatArray


def target_terms(
    images: FloatArray, text: FloatArray, a: Attribute, b: Attribute, weights: FloatArray
) -> dict[str, Estimate]:
    """The four association scores of one target (eqs. 1 and 2), plain and standardised.

    Args:
        images: Target images, shape (n, d).
        text: The target's text, shape (1, d).
        a: First attribute.
        b: Second attribute.
        weights: Bootstrap weights of the target images, shape (draws, n).

    Returns:
        'ii', 'itp', 'it', 'tt' with bootstrap draws, and 'ii_d' … 'tt_d', each association
        divided by the standard deviation (ddof 1) of its cosines over A and B.
    """
    one = np.ones((len(weights), 1))
    cells = {
        "ii": (images, weights, "images"),
        "itp": (text, one, "images"),
        "it": (images, weights, "words"),
        "tt": (text, one, "words"),
    }
    found: dict[str, Estimate] = {}
    for name, (rows, row_weights, kind) in cells.items():
        sides = []
        for side in (a, b):
            columns = side.images.embeddings if kind == "images" else side.words
            column_weights = side.image_weights if kind == "images" else side.word_weights
            sides.append((rows @ columns.T, column_weights))
        (cos_a, weights_a), (cos_b, weights_b) = sides
        per_row = weights_a @ cos_a.T - weights_b @ cos_b.T
        difference = cos_a.mean(axis=1) - cos_b.mean(axis=1)
        found[name] = Estimate(float(difference.mean()), (per_row * row_weights).sum(axis=1))
        d_rows = standardised_draws(cos_a, cos_b, weights_a, weights_b)
        found[f"{name}_d"] = Estimate(
            float(standardised(cos_a, cos_b).mean()), (d_rows * row_weights).sum(axis=1)
        )
    return found


def score(task: McasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Association scores by target; composites and category means from them.

    Returns:
        By target: the four terms, 'mcas', 'delta', 'signed_delta', 'alpha' (None where the
        interval of TT covers 0) and the standardised terms. For the task: their means, and
        'cliffs_delta' of the image associations of stereotypically A and B targets.
    """
    gatherer = Gatherer(evidence)
    result = MethodResult(missing(""))
    attributes = _gather_attributes(task, evidence, settings, gatherer)
    targets = []
    for target in settings.limited(task.targets):
        images = gatherer.pool([target.prompt], settings.images(task.images_per_prompt))
        if len(images) and attributes:
            targets.append(_score_target(task, target, images, attributes, evidence, settings))
            result.samples += [
                {"prompt": target.prompt, "index": int(index), "target": target.name, "asc": asc}
                for index, asc in zip(images.indices, targets[-1].asc.tolist(), strict=True)
            ]
        else:
            result.warnings.append(f"Left out, because it has no image: {target.name}.")
    result.n_images, result.n_prompts = gatherer.n_images, len(gatherer.seen)
    result.excluded = gatherer.excluded
    if attributes is None or not targets:
        which = "target" if attributes else "attribute"
        result.reason = f"there are no {which} images"
        result.headline = missing(result.reason)
        return result
    result.headline = _headline(task, targets, settings)
    result.scores["cliffs_delta"] = replace(result.headline, signed=False)
    result.by = [
        Item(one.target.name, dict(one.terms), _side_name(task, one.target), len(one.images))
        for one in targets
    ]
    a, b = attributes["A"], attributes["B"]
    hits, total = adherence(a.images.embeddings, b.images.embeddings, a.words, b.words)
    result.scores["adherence"] = adherence_estimate(hits, total)
    warning = adherence_warning(hits, total, "attribute")
    if warning:
        result.warnings.append(warning)
    result.conventions = {
        "sign": f"positive is nearer '{task.attributes.A.name}'",
        "encoders": "association scores are averaged before composites are computed",
        "unit": "prompt of attribute images, then image; word; target image",
        "similarity": "cosine",
    }
    return result


def _side_name(task: McasTask, target: McasTarget) -> str | None:
    return _attributes(task)[target.stereotype].name if target.stereotype else None


def _gather_attributes(
    task: McasTask, evidence: Evidence, settings: Settings, gatherer: Gatherer
) -> dict[str, Attribute] | None:
    rng = settings.rng(task.id, "attributes")
    found = {}
    for side, attribute in _attributes(task).items():
        images = gatherer.pool(
            attribute.prompts, settings.guided_images(task.attribute_images_per_prompt)
        )
        if not len(images):
            return None
        words = evidence.texts(list(attribute.words)).astype(np.float64)
        found[side] = Attribute(
            images,
            words,
            resample_weights(images.clusters, settings.n_bootstrap, rng),
            resample_weights(np.arange(len(words)), settings.n_bootstrap, rng),
        )
    return found


def _score_target(
    task: McasTask,
    target: McasTarget,
    images: Pool,
    attributes: Mapping[str, Attribute],
    evidence: Evidence,
    settings: Settings,
) -> _Target:
    rng = settings.rng(task.id, f"bootstrap of {target.name}")
    weights = resample_weights(np.arange(len(images)), settings.n_bootstrap, rng)
    text = evidence.texts([target.prompt]).astype(np.float64)
    a, b = attributes["A"], attributes["B"]
    terms = target_terms(images.embeddings, text, a, b, weights)
    asc = association(images.embeddings, a.images.embeddings, b.images.embeddings)
    return _Target(target, images.embeddings, terms, asc)


def _headline(task: McasTask, targets: list[_Target], settings: Settings) -> Estimate:
    """Cliff's delta between the image associations of stereotypically A and B targets."""
    sides = {side: [one for one in targets if one.target.stereotype == side] for side in ("A", "B")}
    if not sides["A"] or not sides["B"]:
        return missing(
            "the targets that were drawn are of one stereotype only, so there are no two groups "
            "(--limit keeps the first ones)"
        )
    values, labels = {}, {}
    for side, chosen in sides.items():
        values[side] = np.concatenate([one.asc for one in chosen])
        labels[side] = np.repeat(np.arange(len(chosen)), [len(one.asc) for one in chosen])
    by_prompt = task.unit == "prompt"
    boot = two_sample_bootstrap(
        values["A"],
        values["B"],
        labels["A"] if by_prompt else None,
        labels["B"] if by_prompt else None,
        statistics=("cliffs_delta",),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    pooled = np.concatenate([values["A"], values["B"]])
    test = two_sample_permutation(
        pooled,
        np.arange(len(pooled)) < len(values["A"]),
        np.concatenate([labels["A"], labels["B"] + len(sides["A"])]) if by_prompt else None,
        statistics=("cliffs_delta",),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    headline = tested(test["cliffs_delta"], boot["cliffs_delta"], task.alternative)
    headline.signed = True
    return headline


def combine(task: McasTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """Mean of the association scores over encoders (or of one), then the composite scores."""
    combined = average_results(results)
    if combined.reason:
        return combined
    stereotypes = {target.name: target.stereotype for target in task.targets}
    by = [
        Item(
            item.name,
            {**item.scores, **_composites(item.scores, settings)},
            item.group,
            item.n_images,
        )
        for item in combined.by
    ]
    scores = dict(combined.scores)
    details: dict[str, Any] = {"by_stereotype": {}}
    for name in (*TERMS, "mcas", "delta", "signed_delta", "alpha"):
        known = [item for item in by if item.scores[name].value is not None]
        values = [item.scores[name].value or 0.0 for item in known]
        sides = [stereotypes[item.name] for item in known]
        details["by_stereotype"][name] = summarise(values, sides)
        scores[f"{name}_mean"] = (
            _mean([item.scores[name] for item in known])
            if known
            else missing("no target has a value")
        )
    details["alpha_by_delta_loess"] = _loess(by)
    return replace(combined, by=by, scores=scores, details=details)


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    merged = average(estimates)
    return Estimate(merged.value, merged.boot)


def _composites(terms: Mapping[str, Estimate], settings: Settings) -> dict[str, Estimate]:
    values = composite(*(terms[name].value for name in TERMS))
    boots = composite(*(terms[name].boot for name in TERMS))
    found = {name: Estimate(float(value), boots[name]) for name, value in values.items()}
    tt = terms["tt"].boot
    low, high = percentile_interval(tt, settings.level) if tt is not None else (-1.0, 1.0)
    if low <= 0.0 <= high:
        found["alpha"] = missing("the interval of TT covers 0, so the ratio is not defined")
    return found


def _loess(by: Sequence[Item]) -> list[list[float]] | None:
    """The smoothed curve of alpha over delta (Figures 2 to 4), where there are enough targets."""
    points = [
        (item.scores["delta"].value, item.scores["alpha"].value)
        for item in by
        if item.scores["alpha"].value is not None
    ]
    if len(points) < 6:
        return None
    from statsmodels.nonparametric.smoothers_lowess import lowess

    delta, alpha = np.array(points, dtype=np.float64).T
    return [[float(x), float(y)] for x, y in lowess(alpha, delta) if np.isfinite(y)]
