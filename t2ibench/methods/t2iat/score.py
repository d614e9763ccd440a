"""Text-to-image association test (Wang et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warning,
    association,
    association_draws,
    cycle_words,
    guided_prompts,
)
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, missing, tested
from t2ibench.methods.core.evidence import Evidence, FloatArray, Gatherer, IntArray, Pool
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import Concept
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    one_sample_bootstrap,
    sign_flip_permutation,
    two_sample_bootstrap,
    two_sample_permutation,
)

_TWO_SAMPLE = ("mean_difference", "cohens_d", "weat_d", "cliffs_delta")
_CONVENTION = {
    "cohen": "Cohen's d over images, pooled within-group SD",
    "weat": "SD over X and Y together, ddof 1, over images",
    "t2iat_code": "SD over X and Y together, ddof 0, one association per prompt",
}


@dataclass(frozen=True, slots=True)
class _Cell:
    """The prompts of one stimulus."""

    side: str
    concept: str
    stimulus: str
    neutral: str
    guided: dict[str, list[str]]


def _cells(task: T2iatTask, settings: Settings) -> Iterator[_Cell]:
    words = {"A": task.attributes.A.words, "B": task.attributes.B.words}
    count = None if task.pairing == "cross" else task.words_per_stimulus
    sides: dict[str, Concept] = {"X": task.concepts.X, "Y": task.concepts.Y}
    for side, concept in sides.items():
        for number, stimulus in enumerate(settings.limited(concept.stimuli)):
            guided = {
                name: guided_prompts(
                    task.prompts.guided, stimulus, cycle_words(list_, number, count)
                )
                for name, list_ in words.items()
            }
            neutral = fill(task.prompts.neutral, stimulus=stimulus)
            yield _Cell(side, concept.name, stimulus, neutral, guided)


def _counts(task: T2iatTask, settings: Settings) -> tuple[int, int]:
    neutral = settings.images(task.images_per_prompt)
    return neutral, settings.guided_images(task.guided_images_per_prompt or task.images_per_prompt)


def needs(task: T2iatTask, settings: Settings) -> Needs:
    """Images of neutral and guided prompts; the guided prompts as texts for the adherence check."""
    n_neutral, n_guided = _counts(task, settings)
    names = {"A": task.attributes.A.name, "B": task.attributes.B.name}
    prompts, texts = [], []
    for cell in _cells(task, settings):
        prompts.append(PromptNeed(cell.neutral, n_neutral, "neutral", cell.concept, cell.stimulus))
        for side, guided in cell.guided.items():
            texts += guided
            prompts += [
                PromptNeed(prompt, n_guided, "guided", cell.concept, cell.stimulus, names[side])
                for prompt in guided
            ]
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


def variants(task: T2iatTask) -> dict[str, T2iatTask]:
    """The same task with each pairing of stimuli and attribute words, for comparing their cost."""
    names = {
        "cycle": f"pairing: cycle ({task.words_per_stimulus} words a stimulus)",
        "cross": "pairing: cross",
    }
    return {name: task.model_copy(update={"pairing": pairing}) for pairing, name in names.items()}


@dataclass(slots=True)
class _Side:
    """The associations of one concept's neutral images."""

    asc: list[FloatArray] = field(default_factory=list)
    clusters: list[IntArray] = field(default_factory=list)
    cells: list[_Cell] = field(default_factory=list)
    draws: FloatArray | None = None
    cosines: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def values(self) -> FloatArray:
        return np.concatenate(self.asc)

    @property
    def labels(self) -> IntArray:
        return np.concatenate(self.clusters)

    @property
    def prompt_means(self) -> FloatArray:
        return np.array([part.mean() for part in self.asc])


@dataclass(slots=True)
class _Gathered:
    """Images of one stimulus."""

    cell: _Cell
    neutral: Pool
    a: Pool
    b: Pool


def score(task: T2iatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Differential association, its test and its components.

    Returns:
        Scores 'S' (eq. 1), 'd' (the task's convention), 'd_prompt' (Cohen's d over prompt means,
        larger by construction), 'cliffs_delta', each concept's own association 'asc_X' and
        'asc_Y', the four cell means, and 'adherence'.
    """
    gatherer = Gatherer(evidence)
    n_neutral, n_guided = _counts(task, settings)
    gathered: list[_Gathered] = []
    dropped: list[_Gathered] = []
    for cell in _cells(task, settings):
        one = _Gathered(
            cell,
            gatherer.pool([cell.neutral], n_neutral),
            gatherer.pool(cell.guided["A"], n_guided),
            gatherer.pool(cell.guided["B"], n_guided),
        )
        (gathered if len(one.neutral) and len(one.a) and len(one.b) else dropped).append(one)
    result = MethodResult(
        missing(""),
        n_images=gatherer.n_images,
        n_prompts=len(gatherer.seen),
        excluded=gatherer.excluded,
    )
    if dropped:
        names = ", ".join(one.cell.stimulus for one in dropped)
        result.warnings.append(f"Left out, because a prompt of theirs has no image: {names}.")
    sides = {side: _associate(task, side, gathered, settings) for side in "XY"}
    empty = [side for side in "XY" if not sides[side].asc]
    if empty:
        concept = task.concepts.X if empty[0] == "X" else task.concepts.Y
        result.reason = f"no stimulus of {empty[0]} ({concept.name}) has all of its images"
        result.headline = missing(result.reason)
        return result
    _differential(task, sides, settings, result)
    _adherence(gathered, evidence, result)
    result.by = _by_stimulus(sides, settings, task)
    result.samples = _samples(gathered, sides)
    result.conventions = {
        "effect_size": _CONVENTION[task.effect_size],
        "unit": task.unit,
        "match": task.match,
        "pairing": task.pairing,
        "similarity": "cosine",
    }
    return result


def _associate(task: T2iatTask, which: str, gathered: list[_Gathered], settings: Settings) -> _Side:
    """Every neutral image's association with the attribute images it is matched to."""
    side = _Side()
    own = [one for one in gathered if one.cell.side == which]
    if not own:
        return side
    side.cells = [one.cell for one in own]
    pooled_a, pooled_b = _merge([one.a for one in own]), _merge([one.b for one in own])
    cosines: dict[str, list[FloatArray]] = {"A": [], "B": []}
    for number, one in enumerate(own):
        a = pooled_a.embeddings if task.match == "concept" else one.a.embeddings
        b = pooled_b.embeddings if task.match == "concept" else one.b.embeddings
        side.asc.append(association(one.neutral.embeddings, a, b))
        side.clusters.append(np.full(len(one.neutral), number, dtype=np.int64))
        cosines["A"].append(one.neutral.embeddings @ a.mean(axis=0))
        cosines["B"].append(one.neutral.embeddings @ b.mean(axis=0))
    side.cosines = {key: np.concatenate(parts) for key, parts in cosines.items()}
    if task.match == "concept":
        # Shared by all neutral images, so resampling stimuli alone would miss their variation.
        neutral = np.concatenate([one.neutral.embeddings for one in own])
        rng = settings.rng(task.id, f"attribute images of {which}")
        side.draws = association_draws(neutral, pooled_a, pooled_b, settings.n_bootstrap, rng)
    return side


def _merge(pools: list[Pool]) -> Pool:
    """Several pools as one, prompts renumbered."""
    clusters, offset = [], 0
    for pool in pools:
        clusters.append(pool.clusters + offset)
        offset += len(pool.prompts)
    return Pool(
        np.concatenate([pool.embeddings for pool in pools]),
        np.concatenate(clusters),
        [prompt for pool in pools for prompt in pool.prompts],
        np.concatenate([pool.indices for pool in pools]),
    )


def _differential(
    task: T2iatTask, sides: dict[str, _Side], settings: Settings, result: MethodResult
) -> None:
    """The two-sample scores: images as they are, prompts (or images) resampled."""
    x, y = sides["X"], sides["Y"]
    by_prompt = task.unit == "prompt"
    boot = two_sample_bootstrap(
        x.values if x.draws is None else x.draws,
        y.values if y.draws is None else y.draws,
        x.labels if by_prompt else None,
        y.labels if by_prompt else None,
        statistics=(*_TWO_SAMPLE, "mean_x", "mean_y"),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    values = np.concatenate([x.values, y.values])
    tests = two_sample_permutation(
        values,
        np.arange(len(values)) < len(x.values),
        np.concatenate([x.labels, y.labels + len(x.asc)]) if by_prompt else None,
        statistics=_TWO_SAMPLE,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    found = {name: tested(tests[name], boot[name], task.alternative) for name in _TWO_SAMPLE}
    scores = result.scores
    scores["S"] = found["mean_difference"]
    if task.effect_size == "t2iat_code":
        scores["d"] = _over_prompts(task, sides, settings, "t2iat_code_d")
    else:
        scores["d"] = found["cohens_d" if task.effect_size == "cohen" else "weat_d"]
    scores["d_prompt"] = _over_prompts(task, sides, settings, "cohens_d")
    scores["cliffs_delta"] = found["cliffs_delta"]
    result.headline = tested(tests["cliffs_delta"], boot["cliffs_delta"], task.alternative)
    result.headline.signed = True
    for name, side in sides.items():
        flips = sign_flip_permutation(
            side.values,
            side.labels if by_prompt else None,
            n_draws=settings.n_permutations,
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"sign flips {name}"),
        )
        scores[f"asc_{name}"] = tested(flips, boot[f"mean_{name.lower()}"])
        for attribute, cosines in side.cosines.items():
            cell = one_sample_bootstrap(
                cosines,
                side.labels if by_prompt else None,
                n_draws=settings.n_bootstrap,
                rng=settings.rng(task.id, f"bootstrap of cell {name}"),
            )
            scores[f"cell_{name}{attribute}"] = Estimate(float(cosines.mean()), cell["mean"])


def _over_prompts(
    task: T2iatTask, sides: dict[str, _Side], settings: Settings, statistic: str
) -> Estimate:
    """An effect size over prompt means; averaging first makes it larger than one over images."""
    x, y = sides["X"].prompt_means, sides["Y"].prompt_means
    boot = two_sample_bootstrap(
        x,
        y,
        statistics=(statistic,),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap of prompts"),
    )
    test = two_sample_permutation(
        np.concatenate([x, y]),
        np.arange(len(x) + len(y)) < len(x),
        statistics=(statistic,),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation of prompts"),
    )
    return tested(test[statistic], boot[statistic], task.alternative)


def _adherence(gathered: list[_Gathered], evidence: Evidence, result: MethodResult) -> None:
    hits, total = 0, 0
    for one in gathered:
        a_texts, b_texts = (evidence.texts(one.cell.guided[name]) for name in "AB")
        found, count = adherence(one.a.embeddings, one.b.embeddings, a_texts, b_texts)
        hits, total = hits + found, total + count
    result.scores["adherence"] = adherence_estimate(hits, total)
    warning = adherence_warning(hits, total, "attribute")
    if warning:
        result.warnings.append(warning)


def _by_stimulus(sides: dict[str, _Side], settings: Settings, task: T2iatTask) -> list[Item]:
    rows = []
    for side in sides.values():
        for cell, asc in zip(side.cells, side.asc, strict=True):
            rng = settings.rng(task.id, f"bootstrap of {cell.side} {cell.stimulus}")
            boot = one_sample_bootstrap(asc, n_draws=settings.n_bootstrap, rng=rng)
            scores = {"asc": Estimate(float(asc.mean()), boot["mean"])}
            rows.append(Item(cell.stimulus, scores, cell.concept, len(asc)))
    return rows


def _samples(gathered: list[_Gathered], sides: dict[str, _Side]) -> list[dict[str, object]]:
    """One row a neutral image: what its association was."""
    values = {
        (side.cells[number].side, side.cells[number].stimulus): asc
        for side in sides.values()
        for number, asc in enumerate(side.asc)
    }
    return [
        {
            "prompt": one.cell.neutral,
            "index": int(index),
            "concept": one.cell.concept,
            "stimulus": one.cell.stimulus,
            "asc": float(asc),
        }
        for one in gathered
        for index, asc in zip(
            one.neutral.indices, values[one.cell.side, one.cell.stimulus], strict=True
        )
    ]
