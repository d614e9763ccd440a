"""Text-to-image association test (Wang et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.association import (
    association,
    association_draws,
    left_out_warnings,
)
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector, PromptImages
from t2ibench.methods.core.headline import (
    Control,
    Headline,
    Inference,
    Part,
    Question,
    contradiction,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import positions, row_scores
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.obedience import (
    breakdown,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.over_stimuli import bounded
from t2ibench.methods.core.stimulus_images import obeying, read_groups, text_leans
from t2ibench.methods.core.text_vectors import lacking as lacking_texts
from t2ibench.methods.core.wording_report import (
    by_wording,
    over_stimuli_and_wordings,
    wording_report,
)
from t2ibench.methods.t2iat.design import ConceptImages, balanced, collect
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    sign_flip_permutation,
    two_sample_bootstrap,
    two_sample_permutation,
)
from t2ibench.stats.student import satterthwaite, t_test

_SIGNS = {"X": 1.0, "Y": -1.0}


@dataclass(frozen=True, slots=True)
class _Design:
    """Which stimuli are X's and which are Y's."""

    # name, positions and numbers of each concept's stimuli
    groups: list[tuple[str, IntArray, IntArray]]
    signs: Float64Array  # 1 for X, -1 for Y, shape (stimuli,)
    # the mean over the concept of each stimulus, as weights, shape (stimuli, stimuli)
    means: Float64Array

    @classmethod
    def of(cls, images: Sequence[ConceptImages]) -> _Design:
        sides = np.array([one.stimulus.side for one in images])
        numbers = np.array([one.stimulus.number for one in images])
        groups = []
        for side in _SIGNS:
            at = np.flatnonzero(sides == side)
            groups.append((f"stimuli of {side}", at, numbers[at]))
        same = (sides[:, None] == sides).astype(np.float64)
        signs = np.array([_SIGNS[str(side)] for side in sides])
        return cls(groups, signs, same / same.sum(axis=1))

    def weights(self, bottom: Float64Array) -> Float64Array:
        """1 / (stimuli of the concept x mean of D over them), shape (stimuli,)."""
        return np.diag(self.means) / (self.means @ bottom)

    def lean(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Half the difference of the mean leans: of shape top.shape[1:]."""
        return (self.signs * self.weights(bottom)) @ top / 2


# images that are all alike have no direction
@np.errstate(divide="ignore", invalid="ignore")
def tested(
    task: T2iatTask,
    images: Sequence[ConceptImages],
    evidence: Evidence,
    settings: Settings,
) -> tuple[MethodResult, list[Estimate], list[Float64Array]]:
    """Compare the two concepts; with each stimulus's lean, and where its images lie."""
    leans = Leans.of(
        [one.name for one in images], [one.wording_images("A", "B") for one in images]
    )
    design = _Design.of(images)
    names = task.attributes.A.name, task.attributes.B.name
    controls = {
        "separation": lean_controls.separation(
            leans, *names, [at for _, at, _ in design.groups]
        ),
        "spread": lean_controls.lean_spread(leans, *names),
    }
    unclear = contradiction(controls)
    headline = _headline(leans, design, settings.level)
    text_top, text_bottom = text_leans(images, "A", "B", evidence)
    without_text = lacking_texts(int(np.isnan(text_bottom).sum()), len(images))
    told_apart = without_text is None and bool((design.means @ text_bottom > 0).all())
    in_text = float(design.lean(text_top, text_bottom)) if told_apart else None
    if unclear is None:
        controls |= _repeated(leans, design, headline)
    controls["text_only"] = lean_controls.text_control(in_text, "lean", without_text)
    scores = _own_leans(leans, design, settings.level) | _amplification(
        headline, in_text, without_text
    )
    rows = row_scores(leans, settings.level)
    if unclear is not None:
        # The test stands, but its unit is too uncertain.
        inference: dict[Question, Inference] = {
            name: Inference(p=found.p, df=found.df, reason=unclear)
            for name, found in headline.inference.items()
        }
        headline = replace(
            headline,
            value=None,
            inference=inference,
            fair=None,
            parts=(),
            reason=unclear,
        )
        scores = {name: Estimate.undefined(unclear) for name in scores}
        rows = [row.undecided(unclear) for row in rows]
        return MethodResult(headline, scores, controls=controls), rows, positions(leans)
    wording = wording_report(
        leans,
        task.prompts.wordings,
        design.groups,
        _signed(leans, design),
        lambda one: _headline(one, design, settings.level),
    )
    details = {} if wording is None else {"wording": [asdict(wording)]}
    result = MethodResult(headline, scores, details=details, controls=controls)
    return result, rows, positions(leans)


def _signed(leans: Leans, design: _Design) -> tuple[Float64Array, Float64Array]:
    """Numerator and denominator of the headline by stimulus and wording, before their sums."""
    unit = design.weights(leans.bottom)
    middle = float(unit @ leans.top) / 2
    scaled = (unit / np.diag(design.means))[:, None]
    top, bottom = by_wording(leans)
    return design.signs[:, None] * (top - middle * bottom) * scaled, bottom * scaled


def _headline(leans: Leans, design: _Design, level: float) -> Headline:
    """L = (mean of N over X / mean of D over X - the same of Y) / 2.

    With the middle c of both leans, L is a ratio of sums: of s (N - c D) and of D, each over the
    mean of D over its concept, where s is 1 for X and -1 for Y. So what both lean by cancels, even
    where the encoder tells A from B better in X than in Y.
    """
    top, bottom = leans.top, leans.bottom
    unit = design.weights(bottom)
    middle = float(unit @ top) / 2
    like = over_stimuli_and_wordings(*_signed(leans, design), design.groups, level)
    signed = design.signs * unit
    found = leans.contrast(signed, unit, level, middle * signed, wordings=False)
    inference: dict[Question, Inference] = {
        "fixed_prompts": bounded(
            float(found.low), float(found.high), float(found.p), float(found.df)
        ),
        "prompt_population": like.inference,
    }
    question: Question = (
        "prompt_population" if like.inference.p is not None else "fixed_prompts"
    )
    moved = middle * signed + like.value * unit
    of_images = Influence.combined(
        [
            (0.5, leans.influence(j, signed[j], moved[j], wordings=False))
            for j in range(len(unit))
        ]
    )
    influence, half = like.influence, like.half_width
    others: dict[Question, Influence] = {"fixed_prompts": of_images}
    if question == "fixed_prompts":
        influence, half, others = of_images, float("nan"), {}
    value = like.value / _noise(leans)
    fair = (-half, half) if np.isfinite(half) else None
    parts = (Part("", value, influence),) if np.isfinite(influence.variance) else ()
    return Headline(value, "lean", question, inference, fair, parts, others=others)


def _noise(leans: Leans) -> float:
    """The factor by which the noise of D enlarges L: that of one concept's mean of D."""
    return 1.0 + 1.5 / leans.separation**2


def _own_leans(leans: Leans, design: _Design, level: float) -> dict[str, Estimate]:
    """Each concept's own mean lean."""
    scores = {}
    top, bottom = by_wording(leans)
    for side, (name, at, numbers) in zip(_SIGNS, design.groups, strict=True):
        own = [(name, np.arange(len(at)), numbers)]
        found = over_stimuli_and_wordings(top[at], bottom[at], own, level)
        scores[f"lean_of_{side.lower()}"] = found.estimate(_noise(leans))
    return scores


def _amplification(
    headline: Headline, in_text: float | None, without_text: str | None
) -> dict[str, Estimate]:
    """How much further the images lean than the words, in the direction of the words."""
    if in_text is None or headline.value is None:
        alike = Estimate.undefined(
            without_text or "the texts with either attribute do not differ"
        )
        return {"lean_text": alike, "amplification": alike}
    sign = 1.0 if in_text >= 0 else -1.0
    interval = None
    if headline.chosen.interval is not None:
        ends = sorted(sign * (end - in_text) for end in headline.chosen.interval)
        interval = (ends[0], ends[1])
    return {
        "lean_text": Estimate(in_text),
        "amplification": Estimate(sign * (headline.value - in_text), interval=interval),
    }


def _repeated(leans: Leans, design: _Design, headline: Headline) -> dict[str, Control]:
    """The headline once more beside directions that mean nothing, and with two halves of images."""
    controls = {}
    beyond = _other_directions(leans, design, headline)
    if beyond is not None:
        controls["other_directions"] = beyond
    halves = lean_controls.halves(leans)
    if halves is not None:
        difference, variances, dfs = halves
        value = float(design.lean(difference, leans.bottom))
        variance, df = satterthwaite(
            design.weights(leans.bottom) ** 2 / 4 * variances, dfs
        )
        controls["halves"] = lean_controls.halves_control(
            value, t_test(value, variance, df)
        )
    return controls


def _other_directions(
    leans: Leans, design: _Design, headline: Headline
) -> Control | None:
    """The headline with what L is beyond chance where it means nothing as noise.

    L² less its variance, of each half of the stimuli along each direction; its mean is 0 where it
    is less than its standard error over these.
    """
    p, df = headline.p, headline.chosen.df
    halves = lean_controls.other_directions(leans)
    if headline.value is None or p is None or df is None or not halves:
        return None
    unit = design.signs * design.weights(leans.bottom) / 2
    squares, weights = [], []
    for half in halves:
        within = np.array([np.isin(at, half.at).mean() for _, at, _ in design.groups])
        if within.all():
            share = unit[half.at] / np.where(design.signs[half.at] > 0, *within)
            squares.append((share @ half.top) ** 2 - share**2 @ half.variance)
            weights.append(half.weights / len(halves))
    if not squares:
        return None
    beyond, weight = np.concatenate(squares), np.concatenate(weights)
    square = float(beyond @ weight / weight.sum())
    variance = float(weight**2 @ (beyond - square) ** 2 / weight.sum() ** 2)
    if square <= np.sqrt(variance):
        return lean_controls.beyond_control(0.0, p, p)
    own = (headline.value / stdtrit(df, p / 2)) ** 2
    allowed = t_test(
        headline.value, *satterthwaite([own, square], [df, 2 * square**2 / variance])
    )
    return lean_controls.beyond_control(square, p, allowed)


_MEASURES = ("mean_difference", "cohens_d", "union_d", "mean_x", "mean_y")


@dataclass(frozen=True, slots=True)
class Associations:
    """The associations of one concept's neutral images."""

    images: list[ConceptImages]  # the stimuli behind them
    by_stimulus: list[Float64Array]  # each stimulus's associations, shape (its images,)
    # where stimuli share attribute images, the associations under resampling of those, shape
    # (draws, n)
    draws: Float64Array | None

    @property
    def values(self) -> Float64Array:
        """Shape (n,)."""
        return np.concatenate(self.by_stimulus)

    @property
    def labels(self) -> IntArray:
        """Each image's stimulus, shape (n,)."""
        return np.repeat(
            np.arange(len(self.by_stimulus)), [len(asc) for asc in self.by_stimulus]
        )

    @property
    def prompt_means(self) -> Float64Array:
        """Shape (stimuli,)."""
        return np.array([asc.mean() for asc in self.by_stimulus])


def associate(
    task: T2iatTask, side: str, images: Sequence[ConceptImages], settings: Settings
) -> Associations:
    """Every neutral image's association with the attribute images it is matched to."""
    all_a, all_b = (
        PromptImages.merged([one.of_group(side) for one in images]) for side in "AB"
    )
    shared = task.match == "concept"
    neutral = [one.all_neutral.embeddings for one in images]
    matched = [
        [(every if shared else one.of_group(name)).embeddings for one in images]
        for name, every in (("A", all_a), ("B", all_b))
    ]
    by_stimulus = [association(*parts) for parts in zip(neutral, *matched, strict=True)]
    draws = None
    if shared:
        # Shared by all neutral images, so resampling stimuli alone would miss their variation.
        rng = settings.rng(task.id, f"attribute images of {side}")
        whole = np.concatenate(neutral)
        draws = association_draws(whole, all_a, all_b, settings.n_bootstrap, rng)
    return Associations(list(images), by_stimulus, draws)


def published_scores(
    task: T2iatTask, concepts: Mapping[str, Associations], settings: Settings
) -> dict[str, Estimate]:
    """The paper's scores.

    S = mean over X of Asc - mean over Y of Asc                        (eq. 1)
    d = S / pooled within-group SD of Asc          (eq. 4; other SDs by `effect_size`)

    The null moves whole stimuli (`unit: prompt`) or single images between X and Y.
    """
    x, y = concepts["X"], concepts["Y"]
    by_prompt = task.unit == "prompt"
    images = _compared(
        task,
        settings,
        "",
        (x.values, y.values),
        _MEASURES,
        labels=(x.labels, y.labels) if by_prompt else (None, None),
        resampled=None if x.draws is None or y.draws is None else (x.draws, y.draws),
    )
    if task.effect_size == "t2iat_code":
        # Averaging first makes an effect size larger than one over images.
        means = (x.prompt_means, y.prompt_means)
        size = _compared(task, settings, " of prompts", means, ("union_d_ddof0",))[
            "union_d_ddof0"
        ]
    else:
        size = images["cohens_d" if task.effect_size == "cohen" else "union_d"]
    scores = {
        "differential_association": images["mean_difference"],
        "effect_size": size,
    }
    # One concept's own association, which the difference hides.
    for side, one in concepts.items():
        of = side.lower()
        flips = sign_flip_permutation(
            one.values,
            one.labels if by_prompt else None,
            n_draws=settings.n_permutations,
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"sign flips {side}"),
        )
        scores[f"association_of_{of}"] = Estimate.from_permutation(
            flips, images[f"mean_{of}"].boot
        )
    return {
        name: replace(estimate, as_published=True) for name, estimate in scores.items()
    }


def _compared(
    task: T2iatTask,
    settings: Settings,
    purpose: str,
    values: tuple[Float64Array, Float64Array],
    statistics: Sequence[str],
    labels: tuple[IntArray | None, IntArray | None] = (None, None),
    resampled: tuple[Float64Array, Float64Array] | None = None,
) -> dict[str, Estimate]:
    """Statistics of two samples: X's values and Y's, whole clusters of them moved."""
    (x, y), (of_x, of_y), (draws_x, draws_y) = values, labels, resampled or values
    boot = two_sample_bootstrap(
        draws_x,
        draws_y,
        of_x,
        of_y,
        statistics=statistics,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, f"bootstrap{purpose}"),
    )
    whole = (
        None if of_x is None or of_y is None else np.append(of_x, of_y + of_x.max() + 1)
    )
    tests = two_sample_permutation(
        np.append(x, y),
        np.arange(len(x) + len(y)) < len(x),
        whole,
        statistics=statistics,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, f"permutation{purpose}"),
    )
    return {
        name: Estimate.from_permutation(tests[name], boot[name], task.alternative)
        for name in statistics
    }


_CONVENTION = {
    "cohen": "Cohen's d over images, pooled within-group SD",
    "weat": "SD over X and Y together, ddof 1, over images",
    "t2iat_code": "SD over X and Y together, ddof 0, one association per prompt",
}


def score(task: T2iatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The lean of X less that of Y, and the paper's scores.

    With N_j and D_j of stimulus j, whose ratio is its lean (`core.leans.Leans`):

    headline L = (mean of N over X - mean over Y) / (mean of D over X + mean over Y)

    So L is half the difference of the mean leans of X and Y, from -1 to 1. Its interval and its
    p-value are about other stimuli of the same concepts ('prompt_population'), or about other
    images of the same ('fixed_prompts'). `published_scores` holds the paper's S and d.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        By concept 'lean_of_x' and 'lean_of_y'; 'lean_text', L of the prompts' texts, and
        'amplification', how much further L goes in that direction. By stimulus: 'lean',
        'lean_breakdown' (how unequal obedience would have to be for it to be none) and, as
        published, 'association'.
    """
    collector = ImageCollector(evidence)
    collected = collect(task, collector, settings)
    complete = balanced(task, collected)
    lacking = [one for one in collected if not one.complete]
    warnings = left_out_warnings([one.name for one in lacking])
    partners = len(collected) - len(complete) - len(lacking)
    if partners:
        warnings.append(
            f"{partners} stimuli of the other concept, which share their attribute words, are left "
            "out with them."
        )
    names = (task.attributes.A.name, task.attributes.B.name)
    shown, judged = obeying(
        complete,
        evidence,
        task.image_counts(settings)[1],
        task.prompts.question,
        dict(zip("AB", names, strict=True)),
    )
    thin = [one.name for one in shown if not one.complete]
    warnings += left_out_warnings(
        thin, "has fewer than two images that show what was asked for"
    )
    shown = balanced(task, shown)
    words = {(one.stimulus.side, one.stimulus.number) for one in shown}
    complete = [
        one for one in complete if (one.stimulus.side, one.stimulus.number) in words
    ]
    concepts: dict[str, Associations] = {}
    for side in ("X", "Y"):
        own = [images for images in complete if images.stimulus.side == side]
        if not own:
            return MethodResult.undefined(_nothing_left(collected), collector, warnings)
        concepts[side] = associate(task, side, own, settings)
    found, leans, places = tested(task, shown, evidence, settings)
    seen = judged or dict(
        zip(names, read_groups(complete, "A", "B", evidence), strict=True)
    )
    controls = found.controls | {
        "obedience": obedience_control(seen, judged=bool(judged))
    }
    rows, samples = [], []
    images = [one for concept in concepts.values() for one in concept.images]
    associations = [asc for concept in concepts.values() for asc in concept.by_stimulus]
    for one, asc, lean, place in zip(images, associations, leans, places, strict=True):
        word, concept = one.stimulus.word, one.stimulus.concept
        scores = {
            "lean": lean,
            "lean_breakdown": breakdown(lean),
            "association": Estimate(float(asc.mean()), as_published=True),
        }
        rows.append(Item(word, scores, concept, len(asc)))
        samples += one.all_neutral.samples(
            {"concept": concept, "stimulus": word}, {"association": asc, "lean": place}
        )
    return replace(
        found,
        scores=found.scores
        | published_scores(task, concepts, settings)
        | obedience_scores(seen),
        by=rows,
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        conventions={
            "effect_size": _CONVENTION[task.effect_size],
            "unit": task.unit,
            "match": task.match,
            "pairing": task.pairing,
        },
        warnings=warnings + obedience_warnings(seen, judged=bool(judged)),
        samples=samples,
        controls=controls,
        inconclusive=contradiction(controls),
    )


def _nothing_left(collected: Sequence[ConceptImages]) -> str:
    for side in ("X", "Y"):
        mine = [one for one in collected if one.stimulus.side == side]
        if not any(one.complete for one in mine):
            return f"no stimulus of {side} ({mine[0].stimulus.concept}) has all of its images"
    return "no two stimuli of the same attribute words have all of their images"
