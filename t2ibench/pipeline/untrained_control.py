"""The control with random weights: scores by an untrained encoder in the same run.

Such a network still sees brightness and colour, and how a word is spelt. Where it reproduces a
headline within its interval, these alone would do, and the test does not tell what it asks about
from them. Where the two read opposite leans, both beyond chance, the images are no mixture of the
two groups. Either way the test is inconclusive. A positive control asks of an encoder only that it
finds what everyone finds; there, a network that finds it too is told and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from t2ibench.decimals import decimal
from t2ibench.errors import first_line
from t2ibench.methods import combine, score
from t2ibench.methods.core.describe import beyond_chance
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, HeadlineEstimate, contradiction
from t2ibench.methods.core.schema import BaseTask
from t2ibench.results.builder import ScoredTask, headline_record
from t2ibench.results.display import displayed
from t2ibench.settings import Settings

NAME = "random_encoder"
_DRAWS = 2000  # a control needs the headline alone, for which these are enough


def with_untrained_control(
    task: BaseTask,
    scored: ScoredTask,
    untrained: Mapping[str, Evidence],
    settings: Settings,
) -> ScoredTask:
    """Return a task's scores, with what encoders of random weights read as a control.

    Args:
        task: The task.
        scored: Its scores by trained encoders.
        untrained: What encoders of random weights see, by the trained encoder.
        settings: How the task is measured.
    """
    if not untrained or scored.combined.reason:
        return scored
    few_draws = settings.model_copy(
        update={
            "n_bootstrap": min(_DRAWS, settings.n_bootstrap),
            "n_permutations": min(_DRAWS, settings.n_permutations),
        }
    )
    positive = task.control == "positive"
    results: dict[str, MethodResult] = {}
    controls: dict[str, Control] = {}
    for name, evidence in untrained.items():
        trained = scored.by_encoder[name]
        try:
            result = _untrained_result(task, evidence, trained, few_draws)
            single = combine(task, [result], few_draws)
            controls[name] = control_of(trained.headline, single.headline, positive)
            results[name] = result
        except Exception as error:  # the scores are valid without this control
            controls[name] = Control(
                f"An untrained network of the same architecture could not be scored: "
                f"{first_line(error)}"
            )
    by_encoder = {
        name: _with(result, controls[name]) if name in controls else result
        for name, result in scored.by_encoder.items()
    }
    if len(by_encoder) == 1 or not results:
        control = next(iter(controls.values()))
    else:
        several = combine(task, list(results.values()), few_draws)
        control = control_of(scored.combined.headline, several.headline, positive)
    return ScoredTask(_with(scored.combined, control), by_encoder)


def _untrained_result(
    task: BaseTask, evidence: Evidence, trained: MethodResult, settings: Settings
) -> MethodResult:
    """Return a task's scores from an untrained encoder; undefined if an embedding is missing."""
    result = score(task, evidence, settings)
    if result.excluded.get("missing", 0) > trained.excluded.get("missing", 0):
        return MethodResult.undefined("it has not embedded all of the images")
    return result


def _with(result: MethodResult, control: Control) -> MethodResult:
    controls = {**result.controls, NAME: control}
    reasons = [result.inconclusive, contradiction({NAME: control})]
    inconclusive = "; ".join(reason for reason in reasons if reason)
    return replace(result, controls=controls, inconclusive=inconclusive or None)


def control_of(
    trained: HeadlineEstimate, untrained: HeadlineEstimate, positive: bool = False
) -> Control:
    """Return a control that compares an encoder's headline with its untrained copy's.

    Examples:
        >>> from t2ibench.methods.core.inference import HeadlineInference, Inference
        >>> def shown(value, low, high, p=None, scale="lean"):
        ...     inference = {"fixed_prompts": Inference(low, high, p)}
        ...     return HeadlineEstimate(value, scale, HeadlineInference(inference))
        >>> def lean(value, p):
        ...     return shown(value, value - 0.1, value + 0.1, p)
        >>> control_of(lean(0.5, 0.001), lean(0.12, 0.2)).says
        'An untrained network of the same architecture reads +0.120 [0.020, 0.220] (p = 0.2).'
        >>> control_of(lean(0.5, 0.001), lean(-0.4, 0.001)).contradicts is None
        False
        >>> control_of(lean(0.5, 0.001), lean(0.45, 0.001)).contradicts.partition(":")[0]
        'it is not told from brightness and colour'
        >>> control_of(lean(0.5, 0.001), lean(0.2, 0.001)).contradicts is None
        True
        >>> square = shown(0.04, -0.01, 0.09, scale="mean_square")
        >>> control_of(square, square).says
        'An untrained network of the same architecture reads rms lean 0.200 [0.000, 0.300].'
    """
    network = "An untrained network of the same architecture"
    if untrained.value is None:
        reason = (untrained.reason or "there is not enough evidence").rstrip(".")
        return Control(f"{network} reads nothing: {reason}.")
    inference = untrained.chosen
    reading = f"{network} reads {_shown(untrained)}"
    values: dict[str, Any] = {
        "value": untrained.value,
        "ci_low": inference.ci_low,
        "ci_high": inference.ci_high,
        "p": inference.p,
    }
    if not beyond_chance(untrained):
        return Control(f"{reading}.", **values)
    reached = trained.chosen.interval if beyond_chance(trained) else None
    if trained.value is None or reached is None:
        return Control(f"{reading}.", **values)
    if trained.value * untrained.value < 0:
        opposite = (
            f"{network[0].lower()}{network[1:]} reads the opposite, {_shown(untrained)}"
        )
        return Control(f"{reading}, the opposite.", **values, contradicts=opposite)
    if abs(untrained.value) < min(map(abs, reached)):
        return Control(f"{reading}, which is less.", **values)
    clause = f"{reading[0].lower()}{reading[1:]} too"
    too = f"it is not told from brightness and colour: {clause}"
    says = f"Warning: {clause}, so brightness or colour may explain this."
    return Control(says, **values, contradicts=None if positive else too)


def _shown(headline: HeadlineEstimate) -> str:
    """Return a headline with its interval and p-value as text."""
    shown = displayed(headline_record(headline))
    text = "no value"
    if shown.value is not None:
        text = decimal(shown.value, 3, sign=shown.signed)
    if shown.low is not None and shown.high is not None:
        text += f" [{decimal(shown.low, 3)}, {decimal(shown.high, 3)}]"
    if not shown.signed:
        text = f"{shown.label} {text}"
    return text if headline.p is None else f"{text} (p = {headline.p:.2g})"
