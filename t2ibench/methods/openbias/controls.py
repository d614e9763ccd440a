"""Controls of an OpenBias task: shuffled answers, two halves of images, and abstentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import IntArray
from t2ibench.methods.core.headline import SHUFFLES, Control, of_halves, of_shuffles
from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow
from t2ibench.methods.openbias.null_draws import null_means
from t2ibench.methods.openbias.squared_lean import mean_squared_lean
from t2ibench.stats.rounding import settled
from t2ibench.stats.student import satterthwaite, t_interval, t_test

# Draws of abstentions that do not depend on the caption.
_DRAWS = 2_000
# Two values that differ by less, relative to them, are equal but for rounding.
_ROUNDING = 1e-11


def controls_of(
    answers: Sequence[BiasAnswers],
    rows: Sequence[CountedRow],
    critical: float,
    level: float,
    rng: np.random.Generator,
) -> dict[str, Control]:
    """Return the controls of an OpenBias task, keyed by name.

    They are shuffled, halves and abstention.

    Args:
        answers: The answers to every bias.
        rows: The rows of the headline.
        critical: The largest value that the test of the headline does not reject.
        level: Confidence level, in (0, 1).
        rng: Source of randomness.
    """
    controls = {"shuffled": shuffled_control(rows, critical, rng)}
    halves = halves_control(rows, level)
    if halves is not None:
        controls["halves"] = halves
    controls["abstention"] = abstention_control(answers, rng)
    return controls


def shuffled_control(
    rows: Sequence[CountedRow], critical: float, rng: np.random.Generator
) -> Control:
    """Return the control that counts how often the test finds a bias in random answers."""
    draws = null_means(rows, SHUFFLES, rng).mean(axis=1)
    rejected = int((draws > critical * (1 + _ROUNDING)).sum())
    return of_shuffles(
        f"With relabelled answers the test finds a bias in {rejected} of {SHUFFLES} tries.",
        rejected / SHUFFLES,
        rejected,
        f"{rejected} of {SHUFFLES} relabelled runs are biased by its test",
    )


def halves_control(rows: Sequence[CountedRow], level: float) -> Control | None:
    """Return the control that compares squared leans of even- and odd-numbered images.

    Captions with fewer than two images in a half are left out; None without any other.
    """
    even_rows: list[CountedRow] = []
    odd_rows: list[CountedRow] = []
    for row in rows:
        is_odd = row.indices % 2 == 1
        if min(is_odd.sum(), (~is_odd).sum()) > 1:
            for half, chosen in ((even_rows, ~is_odd), (odd_rows, is_odd)):
                indices = row.indices[chosen]
                half.append(replace(row, indices=indices, codes=row.codes[chosen]))
    if not even_rows:
        return None
    even = mean_squared_lean(even_rows)
    odd = mean_squared_lean(odd_rows)
    variance, df = satterthwaite(
        [even.influence.variance, odd.influence.variance], [even.df, odd.df]
    )
    difference = float(settled(even.value - odd.value))
    return of_halves(
        difference,
        t_test(difference, variance, df),
        "the two halves of its images disagree",
        interval=t_interval(difference, variance, df, level),
    )


def abstention_control(
    answers: Sequence[BiasAnswers], rng: np.random.Generator
) -> Control:
    """Return the control of whether the judge abstains more often for some captions.

    An image counts as an abstention if some question about it got no class.
    """
    unjudged, images = _abstentions(answers)
    n_unjudged = int(unjudged.sum())
    n_images = int(images.sum())
    if not n_unjudged:
        return Control("The judge gave a class every time.", value=0.0)
    share = n_unjudged / n_images
    percent = 100 * n_unjudged / n_images
    says = (
        f"The judge gave no class to some question about {percent:.0f} % of the images"
    )
    if len(images) < 2:
        return Control(f"{says}.", value=share)
    by_caption = unjudged / images
    lowest = 100 * by_caption.min()
    highest = 100 * by_caption.max()
    p = _p_equal(unjudged, images, rng)
    return Control(
        f"{says}, from {lowest:.0f} % to {highest:.0f} % by caption "
        f"(p = {p:.2g} that captions do not differ).",
        value=share,
        p=p,
    )


def _abstentions(answers: Sequence[BiasAnswers]) -> tuple[IntArray, IntArray]:
    """Return, for each caption, how many images have an abstention, and how many an answer."""
    unjudged: dict[str, set[int]] = {}
    answered: dict[str, set[int]] = {}
    for bias_answers in answers:
        for caption in bias_answers.captions:
            unjudged.setdefault(caption.prompt, set()).update(caption.unjudged)
            images = caption.unclassified | caption.classified
            answered.setdefault(caption.prompt, set()).update(images)
    prompts = [prompt for prompt, images in answered.items() if images]
    return (
        np.array([len(unjudged[prompt]) for prompt in prompts]),
        np.array([len(answered[prompt]) for prompt in prompts]),
    )


def _p_equal(unjudged: IntArray, images: IntArray, rng: np.random.Generator) -> float:
    """Return the p-value that abstentions are equally likely for all captions."""
    total = int(unjudged.sum())
    expected = images * (total / int(images.sum()))
    draws = rng.multivariate_hypergeometric(images, total, _DRAWS, method="marginals")
    spread = ((draws - expected) ** 2 / images).sum(axis=1)
    observed = float(((unjudged - expected) ** 2 / images).sum())
    is_as_large = spread >= observed * (1 - _ROUNDING)
    as_large = int(is_as_large.sum())
    return (1 + as_large) / (1 + _DRAWS)
