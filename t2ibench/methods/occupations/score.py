"""How far the images of each stimulus, such as an occupation, lean to one of two groups.

Any number of groups: every pair is compared. After Wang et al. 2023, sections 5.3 and 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import (
    apart_mean,
    apart_row,
    association,
    halves,
    left_out_warnings,
)
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.headline import Headline, contradiction
from t2ibench.methods.core.lean_scores import positions
from t2ibench.methods.core.leans import LONE
from t2ibench.methods.core.obedience import (
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.stimulus_images import StimulusImages, obeying, read_groups
from t2ibench.methods.core.text_vectors import with_vector
from t2ibench.methods.core.wording_report import by_wording, wording_report
from t2ibench.methods.occupations.design import (
    collect,
    group_pairs,
    group_prompts,
    neutral_prompts,
)
from t2ibench.methods.occupations.forms import form_scores
from t2ibench.methods.occupations.leans import (
    PairLeans,
    compare_sets,
    controls_of,
    headline_of,
    pair_leans,
    pair_rows,
    pair_scores,
    unequal_obedience,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import correlation_permutation, holm

_FEWEST = 4  # stimuli
# as of the leans: without the attribute it is passed by chance almost never
_SEPARATION = 4.0
_ALIKE = "the images of the combinations are too alike to tell their shares"
_NO_TEXTS = "the encoder has no vectors of its texts"
_FEW = f"fewer than {_FEWEST} stimuli have all of their images"
JOIN = " x "


# The scores of a crossing, its rows and its details.
Crossed = tuple[dict[str, Estimate], list[Item], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Shares of the combinations in a stimulus's images, with their covariance."""

    shares: Float64Array
    covariance: Float64Array
    contrast: float
    contrast_variance: float
    images: int


def crossing_scores(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> Crossed:
    """Shares of combinations of groups, stimulus by stimulus.

    The images without a group are taken for a mixture of those of the combinations ("an old female
    nurse"). With x_1, x_2 an image's places along the directions of two attributes, which the
    images of the other stimuli give, its features are 1, x_1, x_2 and x_1 x_2; the shares are those
    with which the combinations' mean features make up the images' own. What the directions share,
    and how noise along them does, is in the combinations' means as well and drops out.
    """
    if not task.crossing:
        return {}, [], {}
    names, level = list(task.crossing), settings.level
    title = JOIN.join(names)
    images = _collected(task, collector, settings)
    if len(images) < _FEWEST:
        return _nothing(title, _FEW)
    signs = _signs(len(names))
    means = np.array([[cell.mean(axis=0) for cell in cells] for _, cells in images])
    contrasts: Float64Array = np.einsum("ca,scd->sad", signs, means) / len(signs)
    directions = contrasts.sum(axis=0) - contrasts  # without the stimulus's own images
    mixtures = [
        _mixture(*own, direction)
        for own, direction in zip(images, directions, strict=True)
    ]
    total = sum(one.contrast for one in mixtures)
    noise = float(np.sqrt(2 * sum(one.contrast_variance for one in mixtures)))
    if not total > _SEPARATION * noise:
        return _nothing(title, _ALIKE)
    cells = _cells([one.name for one in task.combinations], mixtures, title, level)
    scores = {
        f"interaction:{JOIN.join(names[a] for a in chosen)}": _mean(
            np.array([_together(one, chosen) for one in mixtures]), level
        )
        for size in (2, 3)
        for chosen in combinations(range(len(names)), size)
    }
    adjusted = holm([estimate.p for estimate in scores.values()])
    tests = [
        {"name": name, "p": estimate.p, "p_holm": p}
        for (name, estimate), p in zip(scores.items(), adjusted, strict=True)
    ]
    return scores, cells, {"crossings": [{"crossing": title, "tests": tests}]}


def _signs(axes: int) -> Float64Array:
    """1 for the first group of each axis, -1 for the second, shape (combinations, axes)."""
    return np.array(list(product((1.0, -1.0), repeat=axes)))


def _nothing(title: str, reason: str) -> Crossed:
    undefined = {f"interaction:{title}": Estimate.undefined(reason)}
    return undefined, [], {"crossings": [{"crossing": title, "reason": reason}]}


def _collected(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> list[tuple[Float64Array, list[Float64Array]]]:
    """Embeddings of each stimulus: without a group, and of each combination."""
    n_neutral, n_guided = task.image_counts(settings)
    found = []
    for name in settings.limited(task.concept.names):
        neutral = collector.collect(neutral_prompts(task, name), n_neutral)
        cells = [
            collector.collect(group_prompts(task, name, combined), n_guided)
            for combined in task.combinations
        ]
        if neutral.whole and all(cell.whole and len(cell) > 1 for cell in cells):
            found.append((neutral.embeddings, [cell.embeddings for cell in cells]))
    return found


def _mixture(
    neutral: Float64Array, images: Sequence[Float64Array], directions: Float64Array
) -> _Mixture:
    signs = _signs(len(directions))
    places = [cell @ directions.T for cell in images]
    middle = np.mean([place.mean(axis=0) for place in places], axis=0)
    halves = np.array(
        [
            abs(
                np.mean(
                    [s[a] * p[:, a].mean() for s, p in zip(signs, places, strict=True)]
                )
            )
            for a in range(signs.shape[1])
        ]
    )
    # shares do not depend on middle and scale
    scale = np.where(halves > 0, halves, 1.0)

    def features(rows: Float64Array) -> Float64Array:
        x = (rows @ directions.T - middle) / scale
        columns = [np.ones(len(x))]
        for size in range(1, x.shape[1] + 1):
            columns += [
                x[:, list(a)].prod(axis=1)
                for a in combinations(range(x.shape[1]), size)
            ]
        return np.stack(columns, axis=1)

    own, cells = features(neutral), [features(cell) for cell in images]
    system = np.stack([cell.mean(axis=0) for cell in cells], axis=1)
    inverse = np.linalg.pinv(system)
    shares = inverse @ own.mean(axis=0)
    covariance = _of_mean(own @ inverse.T)
    for share, cell in zip(shares, cells, strict=True):
        covariance = covariance + share**2 * _of_mean(cell @ inverse.T)
    sign = signs.prod(axis=1)
    contrast = float(sign @ system[-1]) / len(sign)
    variance = sum(float(_of_mean(cell)[-1, -1]) for cell in cells) / len(sign) ** 2
    return _Mixture(shares, covariance, contrast, variance, len(neutral))


def _of_mean(rows: Float64Array) -> Float64Array:
    """Covariance of the mean of rows."""
    return np.cov(rows, rowvar=False) / len(rows)


def _excess(shares: Float64Array, covariance: Float64Array) -> Float64Array:
    """Shares less the products of their parts', without the bias of noisy products."""
    signs = _signs(len(shares).bit_length() - 1)
    excess: Float64Array = shares.copy()
    for cell, own in enumerate(signs):
        parts = (signs == own).T.astype(np.float64)
        values, moved = parts @ shares, parts @ covariance @ parts.T
        # less what the covariances add to the product of the means
        whole = float(values.prod())
        for a, b in combinations(range(len(values)), 2):
            rest = [values[c] for c in range(len(values)) if c not in (a, b)]
            whole -= float(moved[a, b]) * float(np.prod(rest))
        excess[cell] -= whole
    return excess


def _together(found: _Mixture, chosen: tuple[int, ...]) -> float:
    """The excess of the first groups of some axes, whatever the others are."""
    signs = _signs(len(found.shares).bit_length() - 1)[:, chosen]
    weights = (signs == _signs(len(chosen))[:, None]).all(axis=2).astype(np.float64)
    covariance = weights @ found.covariance @ weights.T
    return float(_excess(weights @ found.shares, covariance)[0])


def _mean(values: Float64Array, level: float) -> Estimate:
    """The mean over stimuli, with Student's t over them: for stimuli like these."""
    variance = float(values.var(ddof=1)) / len(values)
    return Estimate.from_t(float(values.mean()), variance, len(values) - 1.0, level)


def _cells(
    labels: Sequence[str], mixtures: Sequence[_Mixture], title: str, level: float
) -> list[Item]:
    images = sum(one.images for one in mixtures)
    shares = np.array([one.shares for one in mixtures])
    excesses = np.array([_excess(one.shares, one.covariance) for one in mixtures])
    items = []
    for number, label in enumerate(labels):
        share = _mean(shares[:, number], level)
        scores = {
            "joint_share": Estimate(share.value, interval=share.interval),
            "independent_share": Estimate(float((shares - excesses)[:, number].mean())),
            "excess": _mean(excesses[:, number], level),
        }
        items.append(Item(label, scores, title, images))
    return items


_QUANTILES = (("lower_quartile", 25), ("median", 50), ("upper_quartile", 75))
_FEWEST_SHARES = 3  # stimuli with a known share, for a correlation


# Suffix of a pair of groups to the association of each neutral image of a stimulus.
Associations = dict[str, Float64Array]


def associate(
    task: OccupationsTask, images: StimulusImages, evidence: Evidence
) -> tuple[Associations, dict[str, Estimate]]:
    """The associations of one stimulus's images with every pair of groups, and its scores.

    For a neutral image x of a stimulus, with the images A and B that the prompts of the same
    stimulus with the first and the second group gave (Wang et al. 2023, section 5.3):

    Asc(x) = mean over A of cos(x, a) - mean over B of cos(x, b)                (eq. 2)
    nearer_share_difference = share of images with Asc > 0 less share with Asc < 0

    The associations of one stimulus share the error of A and B, and Asc = 0 is not where a fair
    mixture lies: these scores have neither an interval nor a p-value.
    """
    asc: Associations = {}
    scores: dict[str, Estimate] = {}
    neutral = images.all_neutral.embeddings
    for pair in group_pairs(task):
        a, b = (images.of_group(name).embeddings for name in pair.names)
        values = asc[pair.suffix] = association(neutral, a, b)
        groups = [
            group_prompts(task, images.name, group)
            for group in (pair.first, pair.second)
        ]
        asked = neutral_prompts(task, images.name), *groups
        neutral_texts, *group_texts = [
            with_vector(evidence.texts(texts)) for texts in asked
        ]
        in_text = np.nan
        if all(map(len, (neutral_texts, *group_texts))):
            in_text = float(association(neutral_texts, *group_texts).mean())
        by_name = {
            "association": float(values.mean()),
            "nearer_share_difference": nearer_share_difference(values),
            **{
                name: float(np.percentile(values, percent))
                for name, percent in _QUANTILES
            },
            "association_text": in_text,
        }
        scores |= {
            f"{name}{pair.suffix}": Estimate(value, as_published=True, reason=_NO_TEXTS)
            for name, value in by_name.items()
        }
    return asc, scores


def nearer_share_difference(asc: Float64Array) -> float:
    """The share of images nearer the first group less that nearer the second; from 1 to -1.

    Examples:
        >>> nearer_share_difference(np.array([0.1, 0.2, 0.3, -0.5]))  # 0.75 - 0.25
        0.5
    """
    return float((asc > 0).mean() - (asc < 0).mean())


def correlations(
    task: OccupationsTask, stimuli: Mapping[str, Associations], settings: Settings
) -> dict[str, Estimate]:
    """How the stimuli's mean associations correlate with known shares, as published."""
    scores: dict[str, Estimate] = {}
    reference = task.reference
    for pair in group_pairs(task):
        if reference is None or reference.group not in pair.names:
            continue
        name = f"reference_spearman{pair.suffix}"
        known = [word for word in stimuli if word in reference.shares]
        if len(known) < _FEWEST_SHARES:
            scores[name] = Estimate.undefined(
                "fewer than three stimuli have a reference share"
            )
            continue
        sign = 1.0 if reference.group == pair.first.name else -1.0
        found = correlation_permutation(
            np.array(
                [sign * float(stimuli[word][pair.suffix].mean()) for word in known]
            ),
            np.array([reference.shares[word] for word in known]),
            n_draws=settings.n_permutations,
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"correlation{pair.suffix}"),
        )
        scores[name] = replace(
            Estimate.from_permutation(found, None), as_published=True
        )
    return scores


def wording_details(
    task: OccupationsTask, pairs: Sequence[PairLeans], settings: Settings
) -> dict[str, Any]:
    """How much the wordings matter, as an entry of `details`."""
    reports = []
    for found in pairs:
        if found.unclear is not None:
            continue
        leans, at = found.leans, np.arange(len(found.leans.names))
        report = wording_report(
            leans,
            task.prompts.wordings,
            [("stimuli", at, at)],
            by_wording(leans),
            lambda one, found=found: headline_of(  # type: ignore[misc]
                [replace(found, leans=one)], settings.level
            ),
            pair="-".join(found.pair.names) if len(pairs) > 1 else None,
            about_others=True,
        )
        if report is not None:
            reports.append(asdict(report))
    return {"wording": reports} if reports else {}


def group_distances(
    task: OccupationsTask,
    pairs: Sequence[PairLeans],
    images: Sequence[StimulusImages],
    settings: Settings,
) -> tuple[dict[str, Estimate], list[dict[str, Estimate]]]:
    """How far apart the images of the groups are: over stimuli, and for each."""
    if not task.likeness or not pairs:
        return {}, [{} for _ in images]
    scores: dict[str, Estimate] = {}
    rows: list[dict[str, Estimate]] = [{} for _ in images]
    for pair in (found.pair for found in pairs):
        name = f"group_distance{pair.suffix}"
        sides = [
            [
                (marked.a.embeddings, marked.b.embeddings)
                for marked in one.wording_images(*pair.names)
            ]
            for one in images
        ]
        scores[name] = apart_mean(sides, settings.level)
        for row, one, both in zip(rows, images, sides, strict=True):
            rng = settings.rng(task.id, f"apart{pair.suffix} {one.name}")
            row[name] = apart_row(both, settings.n_permutations, rng)
    uncued = [list(map(halves, one.neutral)) for one in images]
    return scores | {
        "group_distance_of_halves": apart_mean(uncued, settings.level)
    }, rows


_ONE_WORDING = (
    "One wording: what it does to the images cannot be told from a lean. Give `prompts` some "
    "`paraphrases`."
)


# images that are all alike have no direction
@np.errstate(divide="ignore", invalid="ignore")
def score(
    task: OccupationsTask, evidence: Evidence, settings: Settings
) -> MethodResult:
    """Each stimulus's lean to the groups, and the task's mean squared lean.

    headline = mean over stimuli j (and pairs of groups) of lean_j², without bias by its noise

    `core.leans.Leans` measures leans, `associate` holds the paper's scores.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        By stimulus: 'lean' (positive: towards the first group), 'lean_text' of its prompts' texts,
        'amplification' (how much further the images lean than the texts, in their direction) and,
        with a reference, 'share_minus_reference:GROUP'; the paper's scores. For the task: their
        means, the slope of the leans on the reference's, and 'obedience:GROUP'; with sets of
        stimuli, how their mean leans differ (`compare_sets`); with forms of stimuli, how far each
        form leans and how far apart they lie (`form_scores`).
    """
    collector = ImageCollector(evidence)
    collected = collect(task, collector, settings)
    complete = [images for images in collected if images.complete]
    warnings = left_out_warnings(
        [images.name for images in collected if not images.complete]
    )
    if len(task.prompts.wordings) == 1:
        warnings.append(_ONE_WORDING)
    names = [group.name for group in task.groups]
    shown, judged = obeying(
        complete,
        evidence,
        task.image_counts(settings)[1],
        task.prompts.question,
        dict(zip(names, names, strict=True)),
    )
    thin = [
        one.name for one, kept in zip(complete, shown, strict=True) if not kept.complete
    ]
    warnings += left_out_warnings(
        thin, "has fewer than two images that show what was asked for"
    )
    complete = [one for one, kept in zip(complete, shown, strict=True) if kept.complete]
    shown = [kept for kept in shown if kept.complete]
    if not complete:
        return MethodResult.undefined(
            "no stimulus has all of its images", collector, warnings
        )
    stimuli = {images.name: associate(task, images, evidence) for images in complete}
    pairs = []
    headline, controls = Headline.undefined(LONE, "mean_square"), {}
    if len(shown) > 1:
        pairs = [pair_leans(task, pair, shown, evidence) for pair in group_pairs(task)]
        headline = headline_of(pairs, settings.level)
        controls = controls_of(task, pairs, headline, settings)
    scores: dict[str, Estimate] = {}
    for pair in group_pairs(task):
        groups = pair.names
        read = [judged[name] for name in groups] if judged else None
        seen = read or read_groups(complete, *groups, evidence)
        both = dict(zip(groups, seen, strict=True))
        controls[f"obedience{pair.suffix}"] = obedience_control(
            both, judged=bool(judged)
        )
        scores |= obedience_scores(both, pair.suffix)
        warnings += obedience_warnings(both, judged=bool(judged))
    for found in pairs:
        scores |= pair_scores(found, settings.level)
    if not judged:
        controls |= unequal_obedience(pairs, headline, settings.level)
    crossing, combined, tests = crossing_scores(task, collector, settings)
    set_scores, set_details = compare_sets(task, pairs, settings.level)
    forms = form_scores(task, shown, collector, evidence, settings)
    distances, further = group_distances(task, pairs, complete, settings)
    scores |= crossing | set_scores | forms.scores | distances
    places = {f"lean{found.pair.suffix}": positions(found.leans) for found in pairs}
    columns = [*(pair_rows(found, settings.level) for found in pairs), further]
    rows, samples = [], []
    for number, images in enumerate(complete):
        neutral, name = images.all_neutral, images.name
        asc, published = stimuli[name]
        own = {
            key: score for column in columns for key, score in column[number].items()
        }
        own |= forms.rows.get(name, {})
        rows.append(Item(name, own | published, task.concept.name, len(neutral)))
        numbers = {key: place[number] for key, place in places.items()}
        numbers |= {f"association{suffix}": values for suffix, values in asc.items()}
        samples += neutral.samples({"stimulus": name}, numbers)
    associations = {name: asc for name, (asc, _) in stimuli.items()}
    return MethodResult(
        headline,
        scores | correlations(task, associations, settings),
        rows + combined,
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        warnings=warnings,
        details=wording_details(task, pairs, settings)
        | tests
        | set_details
        | forms.details,
        samples=samples,
        controls=controls,
        inconclusive=contradiction(controls),
    )
