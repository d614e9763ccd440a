"""Controls of a ViBEx task: shuffled anchors, halves, separation and texts alone."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.headline import (
    SHUFFLES,
    Control,
    HeadlineEstimate,
    Part,
    of_halves,
    of_shuffles,
)
from t2ibench.methods.vibex.forward import Forward
from t2ibench.methods.vibex.headline import excess_headline
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.squared_effects import SquaredEffects
from t2ibench.stats.excess import excess
from t2ibench.stats.student import t_test

_ALPHA = 0.05
# Sets of words in the test of one shuffle or half.
_SETS = 999
# Images of an anchor that its half must have.
_FEWEST_IMAGES = 3


def controls_of(
    scene: Scene, forward: Forward, n_concepts: int, headline: HeadlineEstimate
) -> dict[str, Control]:
    """Return the controls of a task, keyed by name.

    They are shuffled anchors, halves, separation of the anchors and texts alone.
    """
    return {
        "shuffled": _shuffled(scene, forward),
        "halves": _halves(scene, forward),
        "separation": _separation(forward, headline),
        "text_only": _text_only(forward, n_concepts),
    }


def _shuffled(scene: Scene, forward: Forward) -> Control:
    """Return the control that repeats the test with anchors shuffled among the images."""
    rng = scene.rng("control: shuffled anchors")
    headlines = []
    for _ in range(SHUFFLES):
        shuffled = forward.beyond.relabelled(rng.permutation(scene.labels))
        squares = SquaredEffects.from_nearness(
            shuffled, forward.squares.related, scene.pool.prompts, scene.pool.indices
        )
        headlines.append(excess_headline([squares], scene.settings.level, rng, _SETS))
    p_values = [headline.p for headline in headlines if headline.p is not None]
    rejected = sum(p < _ALPHA for p in p_values)
    values = [part.value for part in headlines if part.value is not None]
    return of_shuffles(
        f"With the anchors of the images shuffled, {rejected} of {SHUFFLES} tests have p < .05.",
        float(np.mean(values)) if values else None,
        rejected,
        "it finds an excess between shuffled anchors too",
    )


def _halves(scene: Scene, forward: Forward) -> Control:
    """Return the control of whether even- and odd-numbered images have the same excess."""
    halves: list[Part] = []
    for parity in (0, 1):
        chosen = scene.pool.indices % 2 == parity
        sizes = np.bincount(scene.labels[chosen], minlength=scene.k)
        if sizes.min() < _FEWEST_IMAGES:
            return Control("An anchor has too few images to be halved.")
        squares = SquaredEffects.from_nearness(
            forward.beyond.rows(chosen),
            forward.squares.related,
            scene.pool.prompts,
            scene.pool.indices[chosen],
        )
        rng = scene.rng("control: halves")
        headline = excess_headline([squares], scene.settings.level, rng, _SETS)
        if headline.value is None:
            return Control("A half of the images has no excess to compare.")
        halves.append(headline.parts[0])
    even, odd = halves
    difference = even.value - odd.value
    variance = even.influence.variance + odd.influence.variance
    p = t_test(difference, variance, min(even.influence.df, odd.influence.df))
    return of_halves(difference, p)


def _separation(forward: Forward, headline: HeadlineEstimate) -> Control:
    """Return the control of whether the anchors' images differ by more than their prompts say."""
    differ = headline.value is not None
    squares = forward.squares
    total = squares.concepts.mean() + squares.reference.mean()
    return Control(
        f"{'The pictures differ' if differ else 'The pictures do not differ'} beyond what the "
        "prompts say (mean squared effect of concepts plus that of reference words: "
        f"{total:.2g}).",
        float(total),
        contradicts=None if differ else headline.reason,
    )


def _text_only(forward: Forward, n_concepts: int) -> Control:
    """Return the control that scores the anchors' texts in place of their images."""
    squared = forward.text_only**2
    value = float(excess(squared[:n_concepts].mean(), squared[n_concepts:].mean()))
    return Control(
        "The same excess of the words on the anchors' texts, without any image; what they "
        "explain is taken out of the headline.",
        value if np.isfinite(value) else None,
    )
