"""Controls of the leans that a task measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.decimals import readable
from t2ibench.methods.core.headline import Control, of_halves
from t2ibench.methods.core.leans import TOP, Leans
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.spread import CommonSquares, trace
from t2ibench.methods.core.wording_images import (
    WordingImages,
    differences,
    moments,
    project,
)
from t2ibench.stats.student import satterthwaite

# without any difference, z passes 3 in 0.4 % of data sets and 4 in none of 20,000
GATE = 4.0
_ALPHA = 0.05
# Above this ratio of variances a few images leave leans biased: the noise of one side alone is in
# N and in D with opposite signs, and data sets that pass the gate have drawn a large D.
_UNEQUAL = 2.0
_ENOUGH = 10  # images of a group and stimulus, or a z of twice the gate
_FEWEST = 2  # images of a prompt in each half
_DIRECTIONS = 64  # that mean nothing
# images of half of the stimuli, at even steps, are enough to show directions
_SAMPLE = 256
# the share of the largest square below which a square is rounding
_NOTHING = 1e-10


def separation(
    leans: Leans, first: str, second: str, groups: Sequence[IntArray] = ()
) -> Control:
    """Return the control of whether the encoder distinguishes images of A from those of B.

    `groups` are positions of the stimuli of each concept, where concepts are compared: it has
    to tell the attributes apart in each, as clearly as it would in so many stimuli.
    """
    z = leans.separation
    for at in groups:
        share = np.sqrt(len(at) / len(leans.names))
        z = min(z, leans.separation_of(at) / share)
    names = f"images with {first} from those with {second} (z = {z:.1f}, where {GATE:g} is needed)"
    if z > GATE:
        return Control(f"The encoder tells {names}.", z)
    says = f"The encoder hardly tells {names}."
    return Control(says, z, contradicts=f"the encoder hardly tells {names}")


def spread(
    kinds: Sequence[Sequence[PromptImages]],
    first: str,
    second: str,
    few: int | None = None,
) -> Control:
    """Return the control that compares how much images with attribute A and with B vary.

    The value is the ratio of the variances of A's and of B's images about the means of their
    prompts. It contradicts where images of one kind of prompt have nothing clearly in common,
    or where the ratio is above 2 (or below a half) with `few` images, too few to allow for it.
    """
    unclear = any(
        not square.all() for kind in kinds for square in CommonSquares.of(kind).along()
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.divide(trace(kinds[1]), trace(kinds[2])))
    varies = (
        f"images with {first} vary {ratio:.2f} times as much as those with {second}"
    )
    reason = None
    if unclear:
        reason = "the images of one prompt have nothing clearly in common"
    elif (
        few is not None and not 1 / _UNEQUAL <= ratio <= _UNEQUAL and np.isfinite(ratio)
    ):
        reason = (
            f"{varies}, and {few} images of a stimulus are too few to allow for it "
            f"({_ENOUGH} are enough)"
        )
    if not np.isfinite(ratio):
        return Control("Images of one prompt do not vary.", contradicts=reason)
    return Control(f"I{varies[1:]}.", ratio, contradicts=reason)


def lean_spread(leans: Leans, first: str, second: str) -> Control:
    """Return the control that compares how A's and B's images vary, stricter if they hardly differ.

    Where one side varies more, the leans of data sets that pass the gate would be too low.
    """
    flat = [images for wordings in leans.images for images in wordings]
    numbers = []
    for wordings in leans.images:
        numbers += [_n_images(wordings, side) for side in (1, 2)]
    fewest = min(numbers)
    is_few = fewest < _ENOUGH and leans.separation < 2 * GATE
    few = fewest if is_few else None
    kinds = [[images.sides[side] for images in flat] for side in (0, 1, 2)]
    return spread(kinds, first, second, few)


def _n_images(wordings: Sequence[WordingImages], side: int) -> int:
    """Return the number of images of a stimulus with attribute A (side 1) or B (side 2)."""
    return sum(len(images.sides[side]) for images in wordings)


def halves(leans: Leans) -> tuple[Float64Array, Float64Array, Float64Array] | None:
    """Return how far each stimulus's unscaled lean differs between even and odd images.

    It is N = 2 y - a - b, the numerator of a lean, in even-numbered less that in
    odd-numbered images, with its variance and degrees of freedom. None if even or odd
    images are too few.
    """
    tests = []
    for wordings in leans.places:
        parts = []
        for neutral, _, _ in wordings:
            even = neutral.images.indices % 2 == 0
            if min(even.sum(), (~even).sum()) < _FEWEST:
                return None
            for chosen in (even, ~even):
                strata, places = neutral.where(chosen)
                parts.append(moments(strata, places[:, None]))
        table = np.array(parts)[..., 0].T
        mean, variance, df = table.reshape(3, len(wordings), 2)
        weight = 2.0 / len(wordings)
        difference = weight * (mean[:, 0] - mean[:, 1]).sum()
        total, df_of_total = satterthwaite(weight**2 * variance, df)
        tests.append((difference, total, df_of_total))
    differences, variances, dfs = np.array(tests).T
    return differences, variances, dfs


def halves_control(value: float, p: float) -> Control:
    """Return the control of whether images with even and with odd numbers give the same leans."""
    return of_halves(
        value, p, f"images with even and with odd numbers disagree (p = {p:.2g})"
    )


@dataclass(frozen=True, slots=True)
class Half:
    """The unscaled leans of half of the stimuli, along directions that carry no meaning."""

    at: IntArray  # positions of the stimuli
    top: Float64Array  # the leans' numerators N, shape (stimuli, s)
    variance: Float64Array  # of N, shape (stimuli, s)
    weights: Float64Array  # of the directions, shape (s,); their sum is 1


def other_directions(leans: Leans) -> list[Half]:
    """Return the unscaled leans (N) along directions without meaning, for both halves of stimuli.

    The directions are principal ones of the images with an attribute about the means of their
    prompts, orthogonal to the real direction and as long; those count most along which images vary
    as they do along the real one. Each half of the stimuli gives the directions and weights of the
    other, so the mean of N² less the variance of an unscaled lean N is unbiased whatever they are.
    None where images do not vary.
    """
    count = len(leans.names)
    real = differences(leans.images).mean(axis=0)
    real = real / np.linalg.norm(real)
    lengths = np.linalg.norm(leans.directions, axis=1)
    halves = [np.arange(start, count, 2) for start in (0, 1)]
    components = []
    for other_half in reversed(halves):
        images_of_others = [leans.images[j] for j in other_half]
        components.append(_principal(images_of_others, real))
    most = min(len(weights) for _, weights in components)
    directions = np.empty((count, most, len(real)))
    for half, (rows, _) in zip(halves, components, strict=True):
        directions[half] = rows[:most] * lengths[half, None, None]
    mean, variances, _ = project(leans.images, directions)
    tops = np.einsum("jtcs,c->jts", mean, TOP)
    wordings = tops.shape[1]
    top = tops.mean(axis=1)
    if wordings > 1:
        variance = tops.var(axis=1, ddof=1) / wordings
    else:
        variance = np.einsum("jtcs,c->js", variances, TOP**2)
    if most == 0 or not np.isfinite(variance).all():
        return []
    half_leans = []
    for half, (_, weights) in zip(halves, components, strict=True):
        largest = weights[:most]
        shares = largest / largest.sum()
        half_leans.append(Half(half, top[half], variance[half], shares))
    return half_leans


def beyond_control(square: float, p: float | None, allowed: float) -> Control:
    """Return the control of whether leans exceed those along directions that carry no meaning.

    Images with an attribute may differ from the others in more than it, which moves N by chance.
    Without that, N² along such directions is its variance on average. `allowed` is the p-value with
    what it is beyond it as noise of the real N.
    """
    root = float(np.sqrt(square))
    says = "Along directions that mean nothing, leans are within chance."
    if root > 0:
        says = (
            f"Along directions that mean nothing, leans have a root mean square of {root:.2f} "
            f"beyond chance; with that as noise, p = {allowed:.2g}."
        )
    reason = None
    if p is not None and p < _ALPHA <= allowed:
        reason = (
            "images with a word of an attribute or a group differ from the others in more than "
            "that, by enough to explain it"
        )
    return Control(says, root, p=allowed, contradicts=reason)


def _principal(
    images: Sequence[Sequence[WordingImages]], real: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the principal directions in which images of one prompt vary, and their weights."""
    sides = [
        side
        for wordings in images
        for wording in wordings
        for side in (wording.a, wording.b)
    ]
    rows = _sampled_deviations(sides)
    places = rows @ real
    along = float(places @ places)
    orthogonal = rows - np.outer(places, real)
    squares, vectors = _principal_axes(orthogonal)
    if not (along > 0 and squares[0] > 0):
        return vectors[:0], squares[:0]
    ratios = squares / along
    weights = (ratios / (1 + ratios**2)) ** 2
    order = np.argsort(-weights, kind="stable")[:_DIRECTIONS]
    return vectors[order], weights[order]


def _principal_axes(rows: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the squared singular values of rows, shape (n, d), and their right singular vectors.

    The largest come first; of those that are rounding, value and vector are 0. The eigenvectors of
    the smaller matrix of inner products give them in a quarter of the time of a singular value
    decomposition.
    """
    n, d = rows.shape
    gram = rows @ rows.T if n < d else rows.T @ rows
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    squares = eigenvalues[::-1].copy()
    axes = eigenvectors.T[::-1].copy()
    is_rounding = squares <= _NOTHING * squares[0]
    if n < d:
        lengths = np.sqrt(np.where(is_rounding, 1.0, squares))
        axes = axes @ rows / lengths[:, None]
    squares[is_rounding] = 0.0
    axes[is_rounding] = 0.0
    return squares, axes


def _sampled_deviations(sides: Sequence[PromptImages]) -> Float64Array:
    """Return embeddings less the mean of their prompt, of images at even steps through all."""
    ends = np.cumsum([len(side) for side in sides])
    count = min(int(ends[-1]), _SAMPLE)
    evenly_spaced = np.arange(count) * ends[-1] // count
    by_side = np.split(evenly_spaced, np.searchsorted(evenly_spaced, ends[:-1]))
    deviations = []
    for side, end, chosen in zip(sides, ends, by_side, strict=True):
        keep = np.zeros(len(side), bool)
        keep[chosen - (end - len(side))] = True
        means = side.stratum_means[side.strata.number[keep]]
        deviations.append(side.where(keep).embeddings - means)
    return np.concatenate(deviations)


def text_control(value: float | None, scale: str, reason: str | None = None) -> Control:
    """Return the control that scores the words alone, as embedded without any image."""
    if value is None and reason is not None:
        return Control(f"What the words alone say is unknown: {reason}.")
    if value is None:
        return Control("The texts with either attribute do not differ.")
    return Control(
        f"From the words alone, without any image, the {scale} is {readable(value, 2, sign=True)}.",
        value,
    )
