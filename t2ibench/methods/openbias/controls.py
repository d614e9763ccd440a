"""Controls of judged answers: relabelled answers, two halves of the images, abstentions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods.core.controls import Control
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.rows import CountedRow, half
from t2ibench.methods.openbias.squares import mean_square_of, null_means
from t2ibench.stats.rounding import settled
from t2ibench.stats.student import satterthwaite, t_interval, t_test

_SHUFFLES = 20
_TOO_MANY = 5  # of the shuffles: more than 5 % by chance once in 400 runs
_DISAGREE = 0.005
_DRAWS = 2_000


def controls_of(
    answers: Sequence[BiasAnswers],
    rows: Sequence[CountedRow],
    critical: float,
    level: float,
    rng: np.random.Generator,
) -> dict[str, Control]:
    """All controls of a task."""
    controls = {"shuffled": _shuffled(rows, critical, rng)}
    halves = _halves(rows, level)
    if halves is not None:
        controls["halves"] = halves
    abstention = _abstention(answers, rng)
    if abstention is not None:
        controls["abstention"] = abstention
    return controls


def _shuffled(rows: Sequence[CountedRow], critical: float, rng: np.random.Generator) -> Control:
    """Answers without bias, image by image, under the test of the task."""
    draws = null_means(rows, _SHUFFLES, rng).mean(axis=1)
    rejected = int((draws > critical * (1 + 1e-11)).sum())
    return Control(
        f"With relabelled answers the test finds a bias in {rejected} of {_SHUFFLES} tries.",
        value=rejected / _SHUFFLES,
        contradicts=f"{rejected} of {_SHUFFLES} relabelled runs are biased by its test"
        if rejected >= _TOO_MANY
        else None,
    )


def _halves(rows: Sequence[CountedRow], level: float) -> Control | None:
    """The images with even indices against those with odd ones; None where one half is too few."""
    parts = [half(rows, remainder) for remainder in (0, 1)]
    both = {(row.bias, row.prompt) for row in parts[0]} & {
        (row.bias, row.prompt) for row in parts[1]
    }
    parts = [[row for row in part if (row.bias, row.prompt) in both] for part in parts]
    if not both:
        return None
    even, odd = (mean_square_of(part) for part in parts)
    variance, df = satterthwaite(
        [even.influence.variance, odd.influence.variance], [even.df, odd.df]
    )
    value = float(settled(even.value - odd.value))
    p = t_test(value, variance, df)
    low, high = t_interval(value, variance, df, level)
    disagree = bool(p < _DISAGREE)
    return Control(
        "Mean squared lean of the images with even indices less that of the odd ones: "
        f"{value:+.3f} (p = {p:.2g}).",
        value=value,
        ci_low=low,
        ci_high=high,
        p=p if np.isfinite(p) else None,
        contradicts="the two halves of its images disagree" if disagree else None,
    )


def _abstention(answers: Sequence[BiasAnswers], rng: np.random.Generator) -> Control | None:
    """Whether the judge gives no class about some captions more often than about others."""
    outcomes: dict[str, tuple[set[int], set[int]]] = {}
    for found in answers:
        for caption in found.captions:
            lost, seen = outcomes.setdefault(caption.prompt, (set(), set()))
            lost |= caption.unclassified
            seen |= caption.unclassified | caption.classified
    pairs = [(len(lost), len(seen)) for lost, seen in outcomes.values() if seen]
    unknown, sizes = (np.array(column) for column in zip(*pairs, strict=True))
    total, n = int(unknown.sum()), int(sizes.sum())
    if not total:
        return Control("The judge gave a class every time.", value=0.0)
    shares = unknown / sizes
    says = f"The judge gave no class to some question about {100 * total / n:.0f} % of the images"
    if len(sizes) < 2:
        return Control(f"{says}.", value=total / n)
    expected = sizes * (total / n)
    draws = rng.multivariate_hypergeometric(sizes, total, _DRAWS, method="marginals")
    spread = ((draws - expected) ** 2 / sizes).sum(axis=1)
    own = float(((unknown - expected) ** 2 / sizes).sum())
    p = (1 + int((spread >= own * (1 - 1e-11)).sum())) / (1 + _DRAWS)
    return Control(
        f"{says}, from {100 * shares.min():.0f} % to {100 * shares.max():.0f} % by caption "
        f"(p = {p:.2g} that captions do not differ).",
        value=total / n,
        p=p,
    )
