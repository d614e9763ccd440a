"""Controls of a TIBET task: separation, shuffled labels, halves and adherence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2_contingency

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core.describe import percent
from t2ibench.methods.core.headline import SHUFFLES, Control, of_halves, of_shuffles
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.tibet.axis_shares import AxisShares, influence_of_sets
from t2ibench.methods.tibet.mixture import contrast_basis, mixture
from t2ibench.methods.tibet.obedience import Obedience, obedience_table
from t2ibench.methods.tibet.separation import GATE
from t2ibench.methods.tibet.squared_lean import mean_squared_lean
from t2ibench.stats.fisher import fisher_exact
from t2ibench.stats.rounding import settled

_ALPHA = 0.05


def controls_of(
    axes: Sequence[AxisShares],
    obeyed: Sequence[Obedience],
    rng: np.random.Generator,
    level: float,
) -> dict[str, Control]:
    """Return the controls of a TIBET task, keyed by name.

    They are separation, shuffled, halves and adherence.

    Args:
        axes: The rows that have shares, whether these decide something or not.
        obeyed: What the answers about the counterfactuals' images name.
        rng: Random numbers for shuffling.
        level: Confidence level, in (0, 1).
    """
    controls = {}
    decided = [axis for axis in axes if axis.reason is None]
    if axes:
        controls["separation"] = _separation(axes, len(decided))
        controls["shuffled"] = _shuffled(axes, rng, level)
    if decided:
        controls["halves"] = _halves(decided, level)
    if any(answers.images for answers in obeyed):
        controls["adherence"] = _adherence(obeyed)
    return controls


def _separation(axes: Sequence[AxisShares], n_decided: int) -> Control:
    """Return the control of whether the answers distinguish the counterfactuals."""
    weakest = min(axes, key=lambda axis: axis.separation.ratio)
    ratio = max(weakest.separation.ratio, 0.0)
    says = (
        f"The answers tell the counterfactuals apart on {n_decided} of {len(axes)} prompts "
        f"and axes (a squared distance of at least {GATE:g} standard errors); on "
        f"'{weakest.name}', the weakest, it is {ratio:.1f}."
    )
    return Control(says, ratio, contradicts=None if n_decided else weakest.reason)


def _shuffled(
    axes: Sequence[AxisShares], rng: np.random.Generator, level: float
) -> Control:
    """Return the control that repeats the test with shuffled labels of counterfactuals."""
    p_values = [_p_of_shuffled_labels(axes, rng, level) for _ in range(SHUFFLES)]
    rejected = sum(p < _ALPHA for p in p_values)
    return of_shuffles(
        f"With the labels of the counterfactuals' images shuffled, {rejected} of {SHUFFLES} tests "
        f"have p < {_ALPHA:g}.",
        rejected / SHUFFLES,
        rejected,
        f"{rejected} of {SHUFFLES} tests with shuffled labels reject",
    )


def _p_of_shuffled_labels(
    axes: Sequence[AxisShares], rng: np.random.Generator, level: float
) -> float:
    """Return the p-value of the headline's test after one shuffle of the labels.

    Shuffled counterfactuals do not differ, so there are no shares; see `mixture` without `invert`.
    """
    leans: list[float] = []
    influences: list[Influence] = []
    double_counted = 0.0
    for number, axis in enumerate(axes):
        start, *changed = (image_set.features for image_set in axis.sets)
        shuffled = _shuffled_sets(changed, rng)
        mixed = mixture(start, shuffled, invert=False)
        double_counted += mixed.double_counted
        k = len(changed)
        basis = contrast_basis(k)
        leans += ((mixed.shares - 1.0 / k) @ basis).tolist()
        strata = [axis.prompt, *(f"{number} {place}" for place in range(k))]
        units = [axis.sets[0].units, *(np.arange(len(rows)) for rows in shuffled)]
        # Without the further image of each set.
        of_images = [of_set[:-1] for of_set in mixed.influences_if_even]
        influences += [
            influence_of_sets(strata, units, [of_set @ weights for of_set in of_images])
            for weights in np.ascontiguousarray(basis.T)
        ]
    tested = mean_squared_lean(
        leans, influences, len(axes), level, double_counted=double_counted
    )
    return tested.p


def _shuffled_sets(
    changed: Sequence[Float64Array], rng: np.random.Generator
) -> list[Float64Array]:
    """Return the counterfactuals' images, redistributed at random to sets of the same sizes."""
    pool = np.concatenate(changed)[rng.permutation(sum(map(len, changed)))]
    return np.split(pool, np.cumsum([len(features) for features in changed])[:-1])


def _halves(decided: Sequence[AxisShares], level: float) -> Control:
    """Return the control that compares the leans of even- and of odd-numbered images."""
    differences: list[float] = []
    influences: list[Influence] = []
    for axis in decided:
        odd = [image_set.units % 2 == 1 for image_set in axis.sets]
        if not all(0 < is_odd.sum() < len(is_odd) for is_odd in odd):
            continue
        for weights in np.ascontiguousarray(axis.scales.T):
            difference, influence = _difference_of_halves(axis, odd, weights)
            differences.append(difference)
            influences.append(influence)
    if not differences:
        return Control("There are too few images for two halves.")
    tested = mean_squared_lean(differences, influences, len(decided), level)
    value = float(settled(tested.value))
    return of_halves(
        value,
        tested.p,
        shown=max(value, 0.0) ** 0.5,
        interval=(tested.low, tested.high),
    )


def _difference_of_halves(
    axis: AxisShares, odd: Sequence[BoolArray], weights: Float64Array
) -> tuple[float, Influence]:
    """Return the lean of even-numbered less that of odd-numbered images, and its influence.

    Args:
        axis: The prompt's mixture along the axis.
        odd: Whether each image of every set has an odd index.
        weights: Weights of the shares in the lean.
    """
    difference = 0.0
    moves = []
    for influences, is_odd in zip(axis.mixture.influences, odd, strict=True):
        n_images = len(is_odd)
        n_odd = int(is_odd.sum())
        # Each image's part in the mean of the even images less that of the odd ones.
        values = influences[:-1] @ weights * np.sqrt(n_images * (n_images - 1))
        values = np.where(is_odd, -values / n_odd, values / (n_images - n_odd))
        difference += float(values.sum())
        # Exchangeable images: the variance is that of all of them, not within the halves.
        moves.append(values * np.sqrt(n_images / (n_images - 1)))
    prompts = [image_set.prompt for image_set in axis.sets]
    units = [image_set.units for image_set in axis.sets]
    return difference, influence_of_sets(prompts, units, moves)


def _adherence(obeyed: Sequence[Obedience]) -> Control:
    """Return the control of how often answers about a counterfactual's images name it."""
    table = obedience_table(obeyed)
    n_images = sum(row["images"] for row in table)
    share = sum(row["named"] for row in table) / n_images
    summary = (
        f"Of {n_images} images of counterfactuals, {percent(share)} get an answer that names the "
        "counterfactual"
    )
    if len(table) < 2:
        return Control(f"{summary}.", share)
    p = 1.0
    if 0 < share < 1:
        counts = [[row["named"], row["images"] - row["named"]] for row in table]
        are_two = len(counts) == 2
        p = fisher_exact(counts) if are_two else chi2_contingency(counts).pvalue
    ordered = sorted(table, key=lambda row: row["named"] / row["images"])
    extremes = ", ".join(
        f"{percent(row['named'] / row['images'])} of '{row['counterfactual']}'"
        for row in (ordered[0], ordered[-1])
    )
    says = f"{summary}: from {extremes} (p = {p:.2g} that they are alike)."
    return Control(says, share, p=float(p))
