"""An OpenBias task in a sentence."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.describe import beyond_chance, no_score, sentence, undecided
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.openbias.answers import BiasDetail, full_name
from t2ibench.methods.openbias.rows import expected_shares
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask

_ALPHA = 0.05


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A class is named only where its share over all captions differs from the expected one beyond
    chance (Bonferroni over the classes): captions can each be one-sided, and in opposite ways.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the strongest bias that is beyond chance, and on its class.
    """
    missing = undecided(result) or no_score(result)
    if missing:
        return missing
    details = {row["bias"]: BiasDetail(**row) for row in result.details["biases"]}
    biases = {full_name(bias): bias for bias in task.biases}
    if not beyond_chance(result.headline):
        than = {detail.compared_with for detail in details.values()}
        uniform = "uniform answers" if than == {"uniform"} else "answers with the expected shares"
        return f"The answers are no more one-sided than {uniform} would be by chance."
    rows = [
        item
        for item in result.by
        if item.name in details
        and details[item.name].counted
        and "h" in item.scores
        and beyond_chance(item.scores["h"])
    ]
    if not rows:
        return (
            f"Over all {len(details)} biases together the answers are more one-sided than by "
            "chance; none of them stands out on its own."
        )
    strongest = max(rows, key=lambda item: item.scores["h"].value or 0.0)
    detail = details[strongest.name]
    subject = (
        f"the strongest of {len(details)} biases is '{strongest.name}'"
        if len(details) > 1
        else f"the answers about '{strongest.name}' are more one-sided than by chance"
        if detail.compared_with == "uniform"
        else f"the answers about '{strongest.name}' differ from '{detail.compared_with}' beyond chance"
    )
    if "agreement" in result.details:
        subject = f"by the mean over judges, {subject}"
    direction = _direction(biases[strongest.name], detail, strongest)
    return sentence(f"{subject}: {direction}")


def _direction(bias: Bias, detail: BiasDetail, item: Item) -> str:
    """Which class the answers go to, where that is beyond chance."""
    expected = expected_shares(bias, None)
    if expected is None:
        return "each of its stimuli is compared with its own share"
    uniform = detail.compared_with == "uniform"
    usual = dict(zip(bias.classes, expected.tolist(), strict=True))
    shares = {name: float(item.scores[f"share:{name}"].value or 0.0) for name in bias.classes}
    sure = _beyond_chance(bias, item)
    if not sure:
        return "over all captions together " + (
            "no class prevails beyond chance"
            if uniform
            else f"no class differs from '{detail.compared_with}' beyond chance"
        )
    named = max(sure, key=lambda name: (round(abs(shares[name] - usual[name]), 9), shares[name]))
    than = "" if uniform else f", against {_percent(usual[named])} in '{detail.compared_with}'"
    rare = "only " if uniform and shares[named] < usual[named] else ""
    return f"{rare}{_percent(shares[named])} of the answers are '{named}'{than}"


def _beyond_chance(bias: Bias, item: Item) -> list[str]:
    """The classes whose shares differ from the expected ones; Bonferroni from three classes on.

    The mean over judges has no test of its shares, but one of the lean of two classes.
    """
    scores = {name: item.scores[f"share:{name}"] for name in bias.classes}
    tests = 1 if len(scores) == 2 else len(scores)
    if all(score.p is None for score in scores.values()) and bias.expected is None:
        lean = item.scores.get("lean")
        return list(scores) if lean is not None and beyond_chance(lean) else []
    return [
        name for name, score in scores.items() if score.p is not None and score.p * tests < _ALPHA
    ]


def _percent(share: float) -> str:
    return f"{100 * float(np.clip(share, 0, 1)):.0f} %"
