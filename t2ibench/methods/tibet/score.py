"""TIBET: which counterfactuals the images of a prompt are made of (Chinchure et al. 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency, fisher_exact

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.answer_counts import (
    KEY,
    CountedAttribute,
    CountedPrompt,
    mean_counts,
)
from t2ibench.methods.core.averages import (
    average_results,
    bounded_mean,
    untested_shares,
)
from t2ibench.methods.core.concepts import concept_counts, synonyms
from t2ibench.methods.core.describe import listed, percent
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import (
    UNSEEN,
    Evidence,
    Needs,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.headline import (
    SHUFFLES,
    Control,
    Headline,
    Inference,
    Part,
    contradiction,
    of_halves,
    of_shuffles,
)
from t2ibench.methods.core.influence import FLOOR, Influence, Spread, Stratum, spread_of
from t2ibench.methods.core.obedience import breakdown
from t2ibench.methods.tibet.image_sets import (
    CAS,
    MAD,
    FeatureSet,
    ImageSet,
    Mixture,
    PromptSets,
    Separation,
    associations,
    contrast_basis,
    gather,
    mixture,
    null_deviation,
    published,
    separation,
    top_concepts,
)
from t2ibench.methods.tibet.schema import (
    Axis,
    TibetPrompt,
    TibetTask,
    all_questions,
    questions_of,
)
from t2ibench.settings import Settings
from t2ibench.stats import mad
from t2ibench.stats.rounding import settled
from t2ibench.stats.squares import MeanSquare, f_square, square_interval

_DRAWS = 2000  # of the null of one axis; its histograms are recomputed in each


def published_scores(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """CAS, its shares, CAS_CLIP and MAD of one prompt along one axis.

    With w(c) the mean frequency of concept c in the answers about an image, w of the prompt and
    w_i of its i-th counterfactual, i = 1 to K (Chinchure et al. 2024, algorithm 1 and equation 7):

        cas_i       = sum over c of min(w, w_i) / sum over c of max(w, w_i)
        cas_share_i = the same from histograms of sum 1, over its sum over i
        mad         = sqrt(mean over i of |cas_share_i - 1 / K| / MAD_K), MAD_K the mean deviation
                      of the shares (1, 0, ..., 0); 0 is alike, 1 is one counterfactual only
        cas_clip_i  = mean cosine of every image of the prompt with every image of the i-th
    """
    others = np.stack([image_set.histogram() for image_set in changed])
    raw, shares = associations(start.histogram(), others)
    scores: dict[str, Estimate] = {}
    for index, name in enumerate(names):
        scores[f"{CAS}:{name}"] = published(float(raw[index]))
        scores[f"concept_association_share:{name}"] = published(float(shares[index]))
        similar = start.similarity(changed[index])
        if similar is not None:
            scores[f"clip_association_score:{name}"] = published(similar)
    value = float(mad(shares))
    if not np.isfinite(value):
        alone = "an axis with one counterfactual has no deviation"
        reason = "the prompt shares no concept with any counterfactual"
        return scores | {MAD: Estimate.undefined(alone if len(changed) < 2 else reason)}
    # Compared before the root, which makes 1e-8 of a rounding error of 1e-16.
    before = float(mad(shares, root=False))
    null = null_deviation(start, changed, min(_DRAWS, n_draws), rng)
    found = Estimate.from_null(before, None, null)
    return scores | {
        MAD: replace(found, value=value, as_published=True),
        f"{MAD}_before_root": published(before),
    }


_LEAST = 0.5  # of the trace remains, whatever is known to be counted twice


def spread(influences: Sequence[Influence]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    Examples:
        Two axes with the same answers about the same images are one:

        >>> one = Influence.of_mean("a chef", range(1000), [0.0, 1.0] * 500)
        >>> round(spread([one, one]).dfs[0], 1), round(spread([one]).dfs[1], -1)
        (1.0, 1000.0)
    """
    members: dict[str, list[int]] = {}
    for column, influence in enumerate(influences):
        for name in influence.strata:
            members.setdefault(name, []).append(column)
    found: list[Stratum] = []
    for name, columns in members.items():
        pieces = []
        for column in columns:
            influence = influences[column]
            chosen = influence.stratum == influence.strata.index(name)
            pieces.append((influence.unit[chosen], influence.value[chosen]))
        numbers = np.unique(np.concatenate([unit for unit, _ in pieces]))
        units: Float64Array = np.zeros((len(numbers), len(columns)))
        for place, (unit, value) in enumerate(pieces):
            units[np.searchsorted(numbers, unit), place] += value
        found.append((columns, units, max(int((numbers != FLOOR).sum()) - 1, 1)))
    return spread_of(len(influences), found)


def joint_square(
    leans: npt.ArrayLike,
    influences: Sequence[Influence],
    rows: int,
    level: float,
    *,
    value: float | None = None,
    twice: float = 0.0,
    extra: float = 0.0,
) -> MeanSquare:
    """Test, interval and fair band of a mean squared lean over rows that share images."""
    found, lean = spread(influences), np.asarray(leans, dtype=np.float64)
    trace = float(np.trace(found.matrix))
    total = max(trace - twice, _LEAST * trace)
    squares = float((lean**2).sum())
    along = (
        float(lean @ found.matrix @ lean) / squares * total / trace
        if squares * trace
        else 0.0
    )
    return f_square(
        squares / rows,
        total / rows,
        along / rows,
        found.dfs,
        level,
        value=value,
        growth=extra / total if total > 0 else 0.0,
    )


# A squared distance of d standard errors of the distance itself is about d / 2 of its own: four of
# them, as for the other families' directions.
GATE = 2.0
_ROUNDING = 1e-9
_NUMBER = " #"  # before the number of a lean, where a row has several


@dataclass(frozen=True, slots=True)
class AxisShares:
    """The mixture of one prompt along one axis."""

    name: str
    prompt: str
    counterfactuals: tuple[str, ...]
    # the images of the prompt, then those of each counterfactual
    sets: tuple[FeatureSet, ...]
    mixture: Mixture
    separation: Separation
    # What it may be otherwise: if images of counterfactuals whose answers name another one count
    # too (those of one counterfactual or of all), and if the prompt's images without an answer are
    # all of one counterfactual.
    others: tuple[AxisShares, ...] = ()
    unanswered: int = 0  # of the prompt's images, although what they show may be why

    @property
    def reason(self) -> str | None:
        """Why the shares decide nothing; None where the counterfactuals can be told apart."""
        if self.separation.ratio >= GATE:
            return None
        if self.separation.pair is None:
            return "the answers do not tell each counterfactual from a mixture of the others"
        first, second = (
            self.counterfactuals[number] for number in self.separation.pair
        )
        return f"the answers do not tell '{first}' from '{second}'"

    @property
    def leans(self) -> Float64Array:
        """Leans whose squares sum to the squared lean, shape (k - 1,); 2 share - 1 for two."""
        k = len(self.counterfactuals)
        return (self.mixture.shares - 1.0 / k) @ self.scales

    @property
    def scales(self) -> Float64Array:
        """Of the shares in the leans, shape (k, k - 1)."""
        k = len(self.counterfactuals)
        scales: Float64Array = contrast_basis(k) * np.sqrt(k / (k - 1))
        return scales

    @property
    def squared(self) -> float:
        """The unbiased squared lean: |pi - 1/k|² less its sampling variance, over 1 - 1/k."""
        k = len(self.counterfactuals)
        found = self.mixture
        variance = sum(float((rows[:-1] ** 2).sum()) for rows in found.moved)
        squares = float(((found.shares - 1.0 / k) ** 2).sum())
        return (squares - variance + found.twice) * k / (k - 1)

    @property
    def extra(self) -> float:
        """By how much the leans' variances grow with the squared lean.

        The error of m_k counts pi_k times, so its variance 1/k² + d² times for a share of 1/k + d
        (on average over the two signs of d), and the mean of d² is the squared lean times
        (k - 1) / k².
        """
        k = len(self.counterfactuals)
        return k * sum(float((rows**2).sum()) for rows in self.mixture.even[1:])

    def influence(self, weights: Float64Array, *, even: bool = False) -> Influence:
        """How each image moves a linear combination of the shares, or of even ones.

        It has at least the variance that one more image of each set, as like each of the
        counterfactuals, would show.
        """
        moved = self.mixture.even if even else self.mixture.moved
        return combined_influence(
            [one.prompt for one in self.sets],
            [np.append(one.units, FLOOR) for one in self.sets],
            [rows @ weights for rows in moved],
        )


def combined_influence(
    strata: Sequence[str], units: Sequence[IntArray], values: Sequence[Float64Array]
) -> Influence:
    """The influence of the images of several sets."""
    return Influence.combined(
        (1.0, Influence((name,), np.zeros_like(numbers), numbers, moved))
        for name, numbers, moved in zip(strata, units, values, strict=True)
    )


def least(axis: AxisShares) -> AxisShares:
    """The mixture nearest to an even one between every two that an axis may be."""
    between = (
        _between(first, second, _nearest(first.leans, second.leans))
        for first, second in combinations((axis, *axis.others), 2)
    )
    return min(between, key=_size, default=axis)


def _size(axis: AxisShares) -> float:
    return float(settled((axis.leans**2).sum()))


def _between(first: AxisShares, second: AxisShares, weight: float) -> AxisShares:
    """The mixture between two; images that one of them leaves out move the other alone."""
    units = [
        np.union1d(a.units, b.units)
        for a, b in zip(first.sets, second.sets, strict=True)
    ]
    pairs = ((1 - weight, first), (weight, second))

    def mean(
        rows: Callable[[Mixture], Sequence[Float64Array]],
    ) -> tuple[Float64Array, ...]:
        found = []
        for number, every in enumerate(units):
            total = np.zeros((len(every) + 1, len(first.counterfactuals)))
            for share, one in pairs:
                places = np.searchsorted(every, one.sets[number].units)
                total[np.append(places, len(every))] += (
                    share * rows(one.mixture)[number]
                )
            found.append(total)
        return tuple(found)

    return replace(
        first,
        sets=tuple(
            replace(one, units=every)
            for one, every in zip(first.sets, units, strict=True)
        ),
        mixture=Mixture(
            (1 - weight) * first.mixture.shares + weight * second.mixture.shares,
            mean(lambda one: one.moved),
            mean(lambda one: one.even),
            (1 - weight) * first.mixture.twice + weight * second.mixture.twice,
        ),
    )


def _nearest(first: Float64Array, second: Float64Array) -> float:
    """Where the way from the one to the other comes nearest to 0."""
    way = first - second
    length = float(way @ way)
    return (
        float(np.clip(settled(first @ way / length), 0, 1))
        if length > _ROUNDING
        else 0.0
    )


def most(axis: AxisShares) -> AxisShares:
    """The mixture that is farthest from an even one."""
    return max((axis, *axis.others), key=_size)


def axis_shares(
    name: str,
    counterfactuals: Sequence[str],
    sets: Sequence[FeatureSet],
    astray: Sequence[frozenset[int]] = (),
    unanswered: int = 0,
) -> AxisShares | str:
    """The mixture of one prompt along one axis, or why there is none.

    Images that are `astray` either do not show their own counterfactual, and are left out, or the
    judge errs, and they count: the mixture is without them, and the others stand beside it.
    """
    if len(counterfactuals) < 2:
        return "an axis with one counterfactual has no shares"
    lacking = [one.prompt for one in sets if len(one.units) < 2]
    if lacking:
        return f"fewer than two answered images of: {', '.join(lacking)}"
    apart = separation([one.features for one in sets[1:]])
    wrong = [number for number, units in enumerate(astray) if units]

    def without(numbers: Sequence[int]) -> AxisShares:
        kept = [sets[0]]
        for number, one in enumerate(sets[1:]):
            keep = ~np.isin(
                one.units, list(astray[number]) if number in numbers else []
            )
            kept.append(FeatureSet(one.prompt, one.units[keep], one.features[keep]))
        start, *changed = (one.features for one in kept)
        found = mixture(start, changed)
        return AxisShares(
            name, sets[0].prompt, tuple(counterfactuals), tuple(kept), found, apart
        )

    for number in wrong:
        n = len(sets[number + 1].units)
        if n - len(astray[number]) < max(2, n / 2):
            return (
                f"the answers about most images of '{counterfactuals[number]}' name another "
                "counterfactual"
            )
    # Left out are all of them, all but those of one counterfactual, and none.
    alone = [[other for other in wrong if other != number] for number in wrong]
    found, *others = (
        without(numbers) for numbers in [wrong, *alone, []][: 2 ** len(wrong)]
    )
    if unanswered:
        places = range(len(counterfactuals))
        others += [
            _shifted(one, k, unanswered) for one in (found, *others) for k in places
        ]
    return replace(found, others=tuple(others), unanswered=unanswered)


def _shifted(axis: AxisShares, number: int, unanswered: int) -> AxisShares:
    """The mixture of all images of a prompt, if those without an answer are of one counterfactual.

    With n answered images and u others pi = (n pi + u e_k) / (n + u).
    """
    known = len(axis.sets[0].units) / (len(axis.sets[0].units) + unanswered)
    found = axis.mixture
    shifted = Mixture(
        known * found.shares + (1 - known) * np.eye(len(found.shares))[number],
        tuple(known * rows for rows in found.moved),
        tuple(known * rows for rows in found.even),
        known**2 * found.twice,
    )
    return replace(axis, mixture=shifted)


def mean_square_of(axes: Sequence[AxisShares], level: float) -> MeanSquare:
    """The mean squared lean of several prompts and axes, which may share images."""
    sizes = [len(axis.counterfactuals) for axis in axes]
    return joint_square(
        np.concatenate([axis.leans for axis in axes]),
        [
            axis.influence(scale, even=True)
            for axis in axes
            for scale in np.ascontiguousarray(axis.scales.T)
        ],
        len(axes),
        level,
        value=float(np.mean([axis.squared for axis in axes])),
        twice=sum(
            axis.mixture.twice * k / (k - 1)
            for axis, k in zip(axes, sizes, strict=True)
        ),
        extra=sum(axis.extra for axis in axes),
    )


def headline_of(axes: Sequence[AxisShares], level: float) -> Headline:
    """The mean squared lean over prompts and axes.

    Where answers about counterfactuals name another one, the test is that of the mixtures nearest
    to even ones, and the interval reaches to that of the farthest.
    """
    found = _headline(axes, level)
    if not any(axis.others for axis in axes) or found.value is None:
        return found
    near = _headline([least(axis) for axis in axes], level).inference
    far = _headline([most(axis) for axis in axes], level).inference
    inference = {
        question: ends.up_to(far[question], found.value)
        for question, ends in near.items()
    }
    return replace(found, inference=inference)


def _headline(axes: Sequence[AxisShares], level: float) -> Headline:
    found = mean_square_of(axes, level)
    total = sum(len(axis.counterfactuals) - 1 for axis in axes)
    scale = float(np.sqrt(total / len(axes)))
    parts = tuple(
        Part(
            axis.name if len(axis.leans) == 1 else f"{axis.name}{_NUMBER}{number + 1}",
            float(lean) * scale,
            axis.influence(axis.scales[:, number]).scaled(scale),
        )
        for axis in axes
        for number, lean in enumerate(axis.leans)
    )
    return square_of(
        found, parts, [(axis.prompt, axis.squared) for axis in axes], level
    )


def square_of(
    found: MeanSquare,
    parts: tuple[Part, ...],
    rows: Sequence[tuple[str, float]],
    level: float,
) -> Headline:
    """A mean square as a headline; `rows` are the prompt and the squared lean of each row.

    About prompts like these it is the same test, with what differs between prompts.
    """
    matrix = spread([part.influence for part in parts]).matrix / len(parts)
    leans = np.array([part.value for part in parts])
    # of errors, which the squares of leans contain too
    products = 2.0 * float((matrix**2).sum())
    variance = max(
        4.0 * float(leans @ matrix @ leans) / len(parts) - products, products
    )
    like = Inference(reason="one prompt does not show how prompts differ")
    # A prompt with more axes weighs more; first-order influence of each prompt on the mean.
    sums = dict.fromkeys((prompt for prompt, _ in rows), 0.0)
    for prompt, square in rows:
        sums[prompt] += (square - found.value) / len(rows)
    c = len(sums)
    if c > 1:
        between = c / (c - 1) * float(np.square(list(sums.values())).sum())
        noise = -found.fair_low
        slopes = (
            noise / (found.df[0] or 1.0),
            max(between, variance) / (2 * noise + 4 * max(found.value, 0.0)),
        )
        low, high = square_interval(
            found.value + noise, found.fair_high + noise, noise, slopes, c - 1.0, level
        )
        low = min(low, found.low) if low > 0 else found.low  # they have one test
        like = Inference(low, high, found.p, c - 1.0)
    return Headline(
        found.value,
        "mean_square",
        "fixed_prompts",
        {
            "fixed_prompts": Inference(found.low, found.high, found.p, found.df[1]),
            "prompt_population": like,
        },
        (found.fair_low, found.fair_high),
        parts,
        "f",
    )


def share_estimates(
    axis: AxisShares | str, names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The scores of a row that come from its shares."""
    reason = axis if isinstance(axis, str) else axis.reason
    if reason or isinstance(axis, str):
        kinds = ["squared_lean", *(f"share:{name}" for name in names)]
        return dict.fromkeys(
            [*kinds, "lean"] if len(names) == 2 else kinds,
            Estimate.undefined(reason or ""),
        )
    square = headline_of([axis], level)
    ends = square.chosen.interval
    scores = {
        "squared_lean": Estimate(
            square.value, p=square.p, test="f", alternative="greater", interval=ends
        )
    }
    every = (axis, *axis.others)
    for name, weights in zip(names, np.eye(len(names)), strict=True):
        found = [
            Estimate.from_influence(
                float(one.mixture.shares @ weights), one.influence(weights), level
            )
            for one in every
        ]
        scores[f"share:{name}"] = replace(
            found[0], p=None, test=None, interval=_around(found)
        )
    if len(names) == 2:
        weights = np.array([1.0, -1.0])
        found = [
            Estimate.from_influence(float(one.leans[0]), one.influence(weights), level)
            for one in (*every, *([least(axis)] if axis.others else []))
        ]
        nearest = found[-1]
        low, high = _around(found) or (np.nan, np.nan)
        near, far = nearest.interval or (low, high)
        if near > 0 or far < 0:
            low, high = (near, high) if near > 0 else (low, far)
        scores["lean"] = replace(found[0], p=nearest.p, interval=(low, high))
        scores["lean_breakdown"] = breakdown(scores["lean"])
    return scores


def _around(found: Sequence[Estimate]) -> tuple[float, float] | None:
    """From the least of the lower ends to the largest of the upper ones."""
    ends = [one.interval for one in found if one.interval is not None]
    return (
        (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    )


def average_headlines(
    headlines: Sequence[Headline], prompts: Mapping[str, str], level: float
) -> Headline:
    """The headline over several judges: the mean square of the leans' means."""
    tables = []
    for headline in headlines:
        # Leans without the weight that makes the headline the mean of their squares.
        count = len({_row_of(part.name) for part in headline.parts})
        factor = float(np.sqrt(count / max(len(headline.parts), 1)))
        tables.append(
            {
                p.name: (p.value * factor, p.influence.scaled(factor))
                for p in headline.parts
            }
        )
    names = [name for name in tables[0] if all(name in table for table in tables)]
    if not names:
        lacking = next((one.reason for one in headlines if one.reason), None)
        return Headline.undefined(
            lacking or "the judges decide different rows", "mean_square"
        )
    rows = [_row_of(name) for name in names]
    squares = dict.fromkeys(rows, 0.0)
    scale = float(np.sqrt(len(names) / len(squares)))
    parts = tuple(
        Part(
            name,
            scale * float(np.mean([table[name][0] for table in tables])),
            Influence.combined(
                [(scale / len(tables), table[name][1]) for table in tables]
            ),
        )
        for name in names
    )
    for row, part in zip(rows, parts, strict=True):
        shown = part.influence.value[part.influence.unit != FLOOR]
        squares[row] += (part.value**2 - float((shown**2).sum())) / scale**2
    found = joint_square(
        [part.value / scale for part in parts],
        [part.influence.scaled(1.0 / scale) for part in parts],
        len(squares),
        level,
        value=float(np.mean(list(squares.values()))),
    )
    return square_of(
        found, parts, [(prompts[row], one) for row, one in squares.items()], level
    )


def _row_of(part: str) -> str:
    return part.rpartition(_NUMBER)[0] or part


_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Obedience:
    """What the answers about the images of one counterfactual name."""

    counterfactual: str
    images: int  # 0 where its name is in no answer along its axis
    hits: int  # images whose answers name it
    # which of the others have answers that name another counterfactual of the axis
    astray: frozenset[int]


def controls_of(
    known: Sequence[AxisShares],
    obeyed: Sequence[Obedience],
    rng: np.random.Generator,
    level: float,
) -> dict[str, Control]:
    """All controls of a task."""
    controls = {}
    decided = [axis for axis in known if axis.reason is None]
    if known:
        weakest = min(known, key=lambda axis: axis.separation.ratio)
        ratio = max(weakest.separation.ratio, 0.0)
        says = (
            f"The answers tell the counterfactuals apart on {len(decided)} of {len(known)} prompts "
            f"and axes (a squared distance of at least {GATE:g} standard errors); on "
            f"'{weakest.name}', the weakest, it is {ratio:.1f}."
        )
        reason = None if decided else weakest.reason
        controls["separation"] = Control(says, ratio, contradicts=reason)
        controls["shuffled"] = _shuffled(known, rng, level)
    if decided:
        controls["halves"] = _halves(decided, level)
    if any(one.images for one in obeyed):
        controls["adherence"] = _adherence(obeyed)
    return controls


def _adherence(obeyed: Sequence[Obedience]) -> Control:
    """How often images of counterfactuals are answered with their names, and whether alike."""
    table = obedience_table(obeyed)
    images = sum(row["images"] for row in table)
    share = sum(row["named"] for row in table) / images
    said = (
        f"Of {images} images of counterfactuals, {percent(share)} get an answer that names the "
        "counterfactual"
    )
    if len(table) < 2:
        return Control(f"{said}.", share)
    p = 1.0
    if 0 < share < 1:
        counts = [[row["named"], row["images"] - row["named"]] for row in table]
        found = fisher_exact(counts) if len(table) == 2 else chi2_contingency(counts)
        p = float(found.pvalue)
    ordered = sorted(table, key=lambda row: row["named"] / row["images"])
    each = ", ".join(
        f"{percent(row['named'] / row['images'])} of '{row['counterfactual']}'"
        for row in (ordered[0], ordered[-1])
    )
    return Control(
        f"{said}: from {each} (p = {p:.2g} that they are alike).", share, p=p
    )


def obedience_table(obeyed: Sequence[Obedience]) -> list[dict[str, Any]]:
    """Images of each counterfactual that is named in answers, as entries of `details`."""
    found: dict[str, Counter[str]] = {}
    for one in obeyed:
        if one.images:
            counts = {
                "images": one.images,
                "named": one.hits,
                "another_named": len(one.astray),
            }
            found.setdefault(one.counterfactual, Counter()).update(counts)
    return [{"counterfactual": name, **counts} for name, counts in found.items()]


def _shuffled(
    known: Sequence[AxisShares], rng: np.random.Generator, level: float
) -> Control:
    """Shuffled labels of the counterfactuals' images: no prompt is then nearer to some of them."""
    rejected = 0
    for _ in range(SHUFFLES):
        leans: list[float] = []
        influences: list[Influence] = []
        twice = 0.0
        for number, axis in enumerate(known):
            start, *changed = (one.features for one in axis.sets)
            pool = np.concatenate(changed)[rng.permutation(sum(map(len, changed)))]
            shuffled = np.split(pool, np.cumsum([len(rows) for rows in changed])[:-1])
            found = mixture(start, shuffled, invert=False)
            twice += found.twice
            basis = contrast_basis(len(changed))
            leans += ((found.shares - 1.0 / len(changed)) @ basis).tolist()
            strata = [axis.prompt, *(f"{number} {k}" for k in range(len(changed)))]
            units = [axis.sets[0].units, *(np.arange(len(rows)) for rows in shuffled)]
            rows = [one[:-1] for one in found.even]
            influences += [
                combined_influence(strata, units, [one @ weights for one in rows])
                for weights in np.ascontiguousarray(basis.T)
            ]
        rejected += (
            joint_square(leans, influences, len(known), level, twice=twice).p < _ALPHA
        )
    return of_shuffles(
        f"With the labels of the counterfactuals' images shuffled, {rejected} of {SHUFFLES} tests "
        f"have p < {_ALPHA:g}.",
        rejected / SHUFFLES,
        rejected,
        f"{rejected} of {SHUFFLES} tests with shuffled labels reject",
    )


def _halves(decided: Sequence[AxisShares], level: float) -> Control:
    """Leans of the images with an even index against those with an odd one."""
    leans: list[float] = []
    influences: list[Influence] = []
    for axis in decided:
        odd = [one.units % 2 == 1 for one in axis.sets]
        if not all(0 < half.sum() < len(half) for half in odd):
            continue
        for weights in np.ascontiguousarray(axis.scales.T):
            lean, parts = 0.0, []
            for rows, half in zip(axis.mixture.moved, odd, strict=True):
                # Each image's part in the mean of the even images less that of the odd ones.
                n, n_odd = len(half), int(half.sum())
                values = rows[:-1] @ weights * np.sqrt(n * (n - 1))
                values = np.where(half, -values / n_odd, values / (n - n_odd))
                lean += float(values.sum())
                # Exchangeable images: the variance is that of all of them, not within the halves.
                parts.append(values * np.sqrt(n / (n - 1)))
            leans.append(lean)
            strata, units = (
                [one.prompt for one in axis.sets],
                [one.units for one in axis.sets],
            )
            influences.append(combined_influence(strata, units, parts))
    if not leans:
        return Control("There are too few images for two halves.")
    found = joint_square(leans, influences, len(decided), level)
    value = float(settled(found.value))
    shown = max(value, 0.0) ** 0.5
    return of_halves(value, found.p, shown=shown, interval=(found.low, found.high))


def obedience(
    axis: Axis, sets: PromptSets, changed: Sequence[FeatureSet]
) -> list[Obedience]:
    """Which images of an axis's counterfactuals are answered with which counterfactual's name.

    A word that several of the names share, such as 'skin', names none of them.
    """
    merging = synonyms()
    columns = [
        {
            column
            for column, name in enumerate(sets.names)
            for word in concept_counts([cf.name])
            if len({*merging.merged({word: 1.0, name: 1.0}).values()}) == 1
        }
        for cf in axis.counterfactuals
    ]
    everything = np.concatenate([one.features for one in changed])
    found = []
    for number, (cf, one) in enumerate(zip(axis.counterfactuals, changed, strict=True)):
        others = {
            c for place, other in enumerate(columns) if place != number for c in other
        }
        own = sorted(columns[number] - others)
        if not everything[:, own].any():
            found.append(Obedience(cf.name, 0, 0, frozenset()))
            continue
        named = one.features[:, own].sum(axis=1) > 0
        another = one.features[:, sorted(others - columns[number])].sum(axis=1) > 0
        astray = frozenset(one.units[another & ~named].tolist())
        found.append(Obedience(cf.name, len(one.units), int(named.sum()), astray))
    return found


_NO_AXIS = (
    "no prompt has two answered images of itself and of each of two counterfactuals"
)
_NAMED = 5  # rows in a warning


def needs(task: TibetTask, settings: Settings) -> Needs:
    """Images of each prompt and of its counterfactuals, and the same questions about them all."""
    n, guided = task.image_counts(settings)
    prompts: dict[tuple[str, int], PromptNeed] = {}
    questions: list[QuestionNeed] = []
    for target in settings.limited(task.prompts):
        wanted = [PromptNeed(target.prompt, n, "as they stand", target.prompt)]
        wanted += [
            PromptNeed(cf.prompt, guided, f"changed to {cf.name}", target.prompt)
            for axis in target.axes
            for cf in axis.counterfactuals
        ]
        asked = all_questions(task, target)
        for need in wanted:
            prompts.setdefault((need.prompt, need.images), need)
            questions += [
                QuestionNeed(need.prompt, need.images, question) for question in asked
            ]
    every = tuple(dict.fromkeys(questions))
    return Needs(tuple(prompts.values()), (), every)


@dataclass(frozen=True, slots=True)
class _Row:
    prompt: str
    axis: Axis
    item: Item
    shares: AxisShares | str  # or why there are none
    obeyed: Sequence[Obedience]

    @property
    def decided(self) -> AxisShares | None:
        """The shares, where the counterfactuals can be told apart."""
        if isinstance(self.shares, str) or self.shares.reason:
            return None
        return self.shares


def score(task: TibetTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Which shares of its counterfactuals' images make up the images of each prompt.

    With phi the concepts, 0 or 1, that the answers about an image name, and pi the shares of the
    counterfactuals' mean phi that come nearest to the prompt's (`mixture`), K along an axis:

        squared_lean = (|pi - 1/K|² - its sampling variance) / (1 - 1/K)

    is 0 on average where the images are an even mixture, at any number of images, and 1 where they
    are those of one counterfactual. The headline is its mean over prompts and axes, without those
    whose counterfactuals' answers cannot be told apart.

    Args:
        task: The task.
        evidence: One judge's answers, and an encoder's embeddings where it saw the images.
        settings: How to measure.

    Returns:
        A row for each prompt and axis with the paper's scores beside ours; in `details` the
        concepts and the intersections.
    """
    merging = synonyms()
    rows: list[_Row] = []
    prompts: list[dict[str, Any]] = []
    image_sets: dict[str, tuple[ImageSet, Sequence[str]]] = {}
    for target in settings.limited(task.prompts):
        questions = all_questions(task, target)
        sets = gather(task, target, questions, evidence, settings, merging)
        for prompt, image_set in sets.sets.items():
            image_sets.setdefault(prompt, (image_set, questions))
        rows += [_row(task, target, axis, sets, settings) for axis in target.axes]
        prompts.append(asdict(top_concepts(target, sets)))
    known = [row.shares for row in rows if isinstance(row.shares, AxisShares)]
    obeyed = [one for row in rows for one in row.obeyed]
    controls = controls_of(
        known, obeyed, settings.rng(task.id, "shuffled"), settings.level
    )
    decided = [row for row in known if row.reason is None]
    reason = (known[0].reason if known else None) or _NO_AXIS
    headline = Headline.undefined(reason, "mean_square")
    if decided:
        headline = headline_of(decided, settings.level)
    details: dict[str, Any] = {"prompts": prompts}
    if lost := unanswered_share(decided):
        details["unanswered"] = {"share": lost}
    details |= {"obedience": table} if (table := obedience_table(obeyed)) else {}
    details |= {KEY: [asdict(one) for one in _shown(rows)]}
    return MethodResult(
        headline=headline,
        scores={MAD: _mean_deviation(rows)},
        by=[row.item for row in rows],
        n_images=sum(len(image_set) for image_set, _ in image_sets.values()),
        n_prompts=len(image_sets),
        excluded=sum(
            (image_set.excluded for image_set, _ in image_sets.values()), Counter()
        ),
        conventions={"synonyms": merging.name, "min_frequency": task.min_frequency},
        warnings=_warnings(known),
        details=details,
        samples=[
            row
            for image_set, questions in image_sets.values()
            for row in image_set.samples(questions)
        ],
        reason=None if known else _NO_AXIS,
        controls=controls,
        inconclusive=contradiction(controls)
        or _open_question(decided, headline, settings),
    )


def unanswered_share(decided: Sequence[AxisShares]) -> float:
    """The share of the prompts' images without an answer."""
    lost = sum(axis.unanswered for axis in decided)
    return lost / max(lost + sum(len(axis.sets[0].units) for axis in decided), 1)


def _shown(rows: Sequence[_Row]) -> Iterator[CountedAttribute]:
    """What the images of each prompt look like when nothing is asked for, axis by axis."""
    for axis in dict.fromkeys(row.axis.name for row in rows):
        counted = []
        for row in rows:
            shares = {
                name.partition(":")[2]: float(np.clip(estimate.value, 0, 1))
                for name, estimate in row.item.scores.items()
                if name.startswith("share:") and estimate.value is not None
            }
            if row.axis.name == axis and shares:
                total = sum(shares.values()) or 1.0
                shares = {
                    name: float(settled(share / total))
                    for name, share in shares.items()
                }
                counted.append(CountedPrompt(row.prompt, shares))
        classes = tuple(dict.fromkeys(name for one in counted for name in one.counts))
        if counted:
            yield CountedAttribute(axis, classes, tuple(counted), estimated=True)


def _open_question(
    decided: Sequence[AxisShares], headline: Headline, settings: Settings
) -> str | None:
    """Why the test decides nothing, where only the mixtures that are shown lean."""
    if not any(axis.others for axis in decided) or headline.p is None:
        return None
    if not mean_square_of(decided, settings.level).p < 1 - settings.level <= headline.p:
        return None
    share = unanswered_share(decided)
    if not share:
        return (
            "answers about some images of counterfactuals name another one; it leans only if those "
            "images do not show their own"
        )
    return (
        f"{percent(share)} of the prompts' images have no answer; it leans only if they are like "
        "the rest"
    )


def combine(
    task: TibetTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The scores over all judges."""
    mean = average_results(results, settings.level)
    if len(results) == 1 or mean.reason:
        return mean
    prompts = {name: target.prompt for name, (target, _) in task.rows.items()}
    headlines = [result.headline for result in results]
    mean = replace(mean, headline=average_headlines(headlines, prompts, settings.level))
    obedience = [
        row for result in results for row in result.details.get("obedience", ())
    ]
    open_to_more = any(row["another_named"] for row in obedience) or any(
        "unanswered" in result.details for result in results
    )
    if mean.headline.value is not None and open_to_more:
        mean = bounded_mean(mean, results, settings.level)
    return replace(
        mean,
        details={
            **mean.details,
            KEY: mean_counts([result.details for result in results]),
        },
        by=untested_shares(mean.by),
    )


def _warnings(known: Sequence[AxisShares]) -> list[str]:
    left_out = [axis.name for axis in known if axis.reason]
    if not left_out or len(left_out) == len(known):
        return []
    names = [f"'{name}'" for name in left_out[:_NAMED]]
    names += [f"{len(left_out) - _NAMED} more"] if len(left_out) > _NAMED else []
    return [
        f"{len(left_out)} of {len(known)} rows are not in the headline, because the answers do not "
        f"tell their counterfactuals apart: {listed(names)}."
    ]


def _row(
    task: TibetTask,
    target: TibetPrompt,
    axis: Axis,
    sets: PromptSets,
    settings: Settings,
) -> _Row:
    start = sets.sets[target.prompt]
    changed = [sets.sets[cf.prompt] for cf in axis.counterfactuals]
    names = [cf.name for cf in axis.counterfactuals]
    row = f"{target.prompt} | {axis.name}"
    features = [
        sets.features(image_set, questions_of(axis)) for image_set in (start, *changed)
    ]
    obeyed = obedience(axis, sets, features[1:])
    astray = [one.astray for one in obeyed]
    lost = (
        len(start)
        - len(features[0].units)
        + sum(start.excluded[reason] for reason in UNSEEN)
    )
    shares = axis_shares(row, names, features, astray, lost)
    scores = share_estimates(shares, names, settings.level)
    lacking = [one.prompt for one in (start, *changed) if not len(one)]
    if lacking:
        scores[MAD] = Estimate.undefined(f"no answered image of: {', '.join(lacking)}")
    else:
        rng = settings.rng(task.id, f"null {target.prompt} {axis.name}")
        scores |= published_scores(start, changed, names, settings.n_permutations, rng)
    n_images = len(start) + sum(map(len, changed))
    item = Item(row, scores, axis.name, n_images)
    return _Row(target.prompt, axis, item, shares, obeyed)


def _mean_deviation(rows: Sequence[_Row]) -> Estimate:
    found = [row.item.scores[MAD] for row in rows]
    values = [estimate.value for estimate in found if estimate.value is not None]
    if values:
        return published(float(np.mean(values)))
    reason = next((estimate.reason for estimate in found if estimate.reason), None)
    return Estimate.undefined(reason or _NO_AXIS)
