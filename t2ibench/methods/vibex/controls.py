"""Controls of a task: shuffled anchors, halves of the images, separation, texts alone."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.vibex.excess import Squares, excess, excess_headline
from t2ibench.methods.vibex.forward import Forward
from t2ibench.methods.vibex.scene import Scene
from t2ibench.stats.student import t_test

_SHUFFLES = 20
_REJECTED = 5  # of 20 shuffles: 5 % would reject by chance, and 5 or more in .3 % of tasks
_SETS = 999  # sets of words in the test of one shuffle
_HALVES = 0.005


def controls(scene: Scene, found: Forward, m: int, headline: Headline) -> dict[str, Control]:
    """What the task shows where there is nothing to show."""
    return {
        "shuffled": _shuffled(scene, found, m),
        "halves": _halves(scene, found, m),
        "separation": _separation(found, headline),
        "text_only": _text_only(found, m),
    }


def _shuffled(scene: Scene, found: Forward, m: int) -> Control:
    rng = scene.rng("control: shuffled anchors")
    rejected, values = 0, []
    for _ in range(_SHUFFLES):
        shuffle = found.beyond.relabelled(rng.permutation(scene.labels))
        squares = Squares.of(shuffle, m, scene.strata, scene.pool.indices)
        headline = excess_headline([squares], scene.level, rng, _SETS)
        rejected += headline.p is not None and headline.p < 0.05
        values += [headline.value] if headline.value is not None else []
    return Control(
        f"With the anchors of the images shuffled, {rejected} of {_SHUFFLES} tests have p < .05.",
        float(np.mean(values)) if values else None,
        contradicts="it finds an excess between shuffled anchors too"
        if rejected >= _REJECTED
        else None,
    )


def _halves(scene: Scene, found: Forward, m: int) -> Control:
    values, variances, dfs = [], [], []
    for parity in (0, 1):
        chosen = scene.pool.indices % 2 == parity
        sizes = np.bincount(scene.labels[chosen], minlength=scene.k)
        if sizes.min() < 3:
            return Control("An anchor has too few images to be halved.")
        half = found.beyond.rows(chosen)
        squares = Squares.of(half, m, scene.strata, scene.pool.indices[chosen])
        rng = scene.rng("control: halves")
        headline = excess_headline([squares], scene.level, rng, _SETS)
        if headline.value is None:
            return Control("A half of the images has no excess to compare.")
        influence = headline.parts[0].influence
        values.append(float(headline.value))
        variances.append(influence.variance)
        dfs.append(influence.df)
    difference = values[0] - values[1]
    p = t_test(difference, sum(variances), min(dfs))
    known = bool(np.isfinite(p))
    return Control(
        f"Images of even number give {values[0]:+.2f}, of odd number {values[1]:+.2f}.",
        difference,
        p=p if known else None,
        contradicts="its two halves disagree" if known and p < _HALVES else None,
    )


def _separation(found: Forward, headline: Headline) -> Control:
    bottom = found.squares.concepts.mean() + found.squares.reference.mean()
    says = "The pictures differ" if headline.value is not None else "The pictures do not differ"
    return Control(
        f"{says} beyond what the prompts say (mean squared effect of concepts plus that of "
        f"reference words: {bottom:.2g}).",
        float(bottom),
        contradicts=headline.reason if headline.value is None else None,
    )


def _text_only(found: Forward, m: int) -> Control:
    squared = found.text_only**2
    value = float(excess(squared[:m].mean(), squared[m:].mean()))
    return Control(
        "The same excess of the words on the anchors' texts, without any image; what they "
        "explain is taken out of the headline.",
        value if np.isfinite(value) else None,
    )
