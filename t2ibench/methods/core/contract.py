"""The contract that every method must fulfil, checked with synthetic evidence.

For plug-in authors: `check_method(METHOD, task)` in a test of your own says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from t2ibench.errors import MissingEvidence, first_line
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import UNKNOWN, Needs
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.method import Method
from t2ibench.methods.core.scales import SCALES
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.core.synthetic_evidence import SyntheticEvidence
from t2ibench.settings import Settings

_SETTINGS = Settings(limit=2, n_bootstrap=50, n_permutations=100, max_exact=1000)


def check_method(
    method: Method[Any], task: BaseTask, settings: Settings = _SETTINGS
) -> list[str]:
    """Return a sentence for each fault found when a method scores synthetic evidence.

    It checks that `needs` and `score` are pure and leave the evidence as it is; that `score` asks
    for nothing beyond `needs`; that missing images neither crash it nor go unmentioned, and that
    without any evidence there is a reason and no number; that counts agree with `needs`; that every
    score is finite or has a reason; that the names the method declares exist, and the scale of its
    headline is registered; and that `combine`, `describe` and `check` keep their promises.

    Args:
        method: The method.
        task: A valid task of it, small or limited by the settings.
        settings: How it is measured; few bootstrap draws are enough.

    Returns:
        What is wrong, one sentence each; empty if nothing is.

    Examples:
        >>> from t2ibench.methods import METHODS
        >>> from t2ibench.methods.weat.schema import WeatTask
        >>> words = {side: {"name": side, "words": [side + "1", side + "2"]} for side in "XYAB"}
        >>> task = WeatTask(
        ...     id="hand", version=1, method="weat", title="-", description="-", citation="-",
        ...     targets={side: words[side] for side in "XY"},
        ...     attributes={side: words[side] for side in "AB"}, reference=(),
        ... )
        >>> check_method(METHODS.get("weat"), task)
        []
    """
    checks: tuple[Callable[[Method[Any], BaseTask, Settings], Iterator[str]], ...] = (
        _check_declaration,
        _check_purity,
        _check_scores,
        _check_scale,
        _check_missing,
        _check_combine,
        _check_describe,
    )
    problems = []
    for check in checks:
        try:
            problems += list(check(method, task, settings))
        except MissingEvidence as error:
            problems.append(
                f"It asks for evidence that `needs` does not list: {error.message}"
            )
        except Exception as error:
            name = check.__name__.removeprefix("_check_")
            problems.append(
                f"It raises {type(error).__name__} ({name}): {first_line(error)}"
            )
    return list(dict.fromkeys(problems))


def _score(
    method: Method[Any], task: BaseTask, settings: Settings, seed: int = 0
) -> MethodResult:
    evidence = SyntheticEvidence(method.needs(task, settings), seed)
    return method.score(task, evidence, settings)


def _check_declaration(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    if task.method != method.name:
        yield f"Its name is '{method.name}', but its task says '{task.method}'."
    if not isinstance(task, method.Task):
        yield f"Its task is a {type(task).__name__}, not a {method.Task.__name__}."
    for finding in method.check(task):
        if not finding.warning:
            yield f"Its check finds an error in the task: {finding.message}."


def _check_purity(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    needs = method.needs(task, settings)
    if method.needs(task, settings) != needs:
        yield "Asked twice, it needs different evidence."
    evidence = SyntheticEvidence(needs)
    before = evidence.held()
    first = _plain(method.score(task, evidence, settings))
    if evidence.held() != before:
        yield "Its `score` changes the evidence."
    if _plain(method.score(task, evidence, settings)) != first:
        yield "Scored twice, the same evidence gives different results."


def _check_scores(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    needs = method.needs(task, settings)
    scored = _score(method, task, settings)
    headline: Any = scored.headline
    if not isinstance(headline, HeadlineEstimate):
        yield f"Its headline is a {type(headline).__name__}, not a HeadlineEstimate."
        return
    yield from _intervals_without_the_value(headline)
    yield from _miscounts(scored, needs)
    result = method.combine(task, [scored], settings)
    yield from _bad_estimates(result)
    yield from _missing_scores(method, result)


def _intervals_without_the_value(headline: HeadlineEstimate) -> Iterator[str]:
    """Yield a sentence for each question whose interval does not hold the headline."""
    if headline.value is None:
        return
    for question, inference in headline.inference.items():
        ends = inference.interval
        if ends and not ends[0] <= headline.value <= ends[1]:
            yield f"Its headline is outside its interval about '{question}'."


def _miscounts(scored: MethodResult, needs: Needs) -> Iterator[str]:
    """Yield a sentence for each wrong number of images or prompts in a complete result."""
    n_images = needs.n_images + sum(edit.images for edit in needs.edits)
    if scored.n_images != n_images:
        yield f"It counts {scored.n_images} images, but needs {n_images}."
    if needs.prompts and scored.n_prompts != needs.n_prompts:
        yield f"It counts {scored.n_prompts} prompts, but needs {needs.n_prompts}."
    excluded = {
        reason: n for reason, n in scored.excluded.items() if n and reason != UNKNOWN
    }
    if excluded:
        yield f"It excludes images although none is missing: {excluded}."


def _missing_scores(method: Method[Any], result: MethodResult) -> Iterator[str]:
    """Yield a sentence for each score that a method declares but its result does not have."""
    if method.main_score is not None and method.main_score.name not in result.scores:
        yield f"Its main score '{method.main_score.name}' is not among its scores."
    names = {name for item in result.by for name in item.scores}
    for name in method.row_scores:
        if name not in names:
            yield f"Its row score '{name}' is in no row."


def _check_scale(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    """Yield a sentence if the scale of a method's headline is not registered."""
    scale = _score(method, task, settings).headline.scale
    if scale not in SCALES:
        yield (
            f"The scale of its headline, '{scale}', is not registered: add it through the "
            "entry-point group 't2ibench.scales'."
        )


def _check_describe(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    result = method.combine(task, [_score(method, task, settings)], settings)
    without_score = method.describe(task, MethodResult.undefined("there are no images"))
    for text in (method.describe(task, result), without_score):
        if not text.strip() or "\n" in text or not text.endswith("."):
            yield f"Its description is not one sentence: {text!r}."
    if not without_score.startswith("No score: "):
        yield "Its description of a result without a score does not begin with 'No score: '."


def _check_missing(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    """Yield a sentence for each fault when one prompt's images, or all images, are missing."""
    needs = method.needs(task, settings)
    prompts = [*needs.images_by_prompt, *(source.prompt for source in needs.sources)]
    names = prompts or list(needs.texts)
    what = "images of" if prompts else "a vector of"
    for name in dict.fromkeys((*names[:1], *names[-1:])):
        result = method.score(task, SyntheticEvidence(needs, without={name}), settings)
        if not (
            result.excluded.total() or result.warnings or result.reason or not prompts
        ):
            yield f"Without {what} '{name}' it neither counts nor mentions them."
        yield from _bad_estimates(result)
    nothing = method.score(task, SyntheticEvidence(needs, without=names), settings)
    if not (nothing.headline.reason and nothing.reason):
        yield "Without any evidence it gives no reason."
    for name, estimate in _estimates(nothing):
        if estimate.value is not None:
            yield f"Without any evidence it gives a number for {name}."
    if nothing.n_images:
        yield f"Without any image it counts {nothing.n_images}."


def _check_combine(
    method: Method[Any], task: BaseTask, settings: Settings
) -> Iterator[str]:
    result = _score(method, task, settings)
    once = dict(_estimates(method.combine(task, [result], settings)))
    twice = dict(_estimates(method.combine(task, [result, result], settings)))
    for name, estimate in once.items():
        if name not in twice:
            yield f"Combined with itself, a result loses {name}."
        elif not np.isclose(
            _number(estimate), _number(twice[name]), rtol=1e-9, equal_nan=True
        ):
            yield f"Combined with itself, a result has another {name}."
    other = _score(method, task, settings, seed=1)
    yield from _bad_estimates(method.combine(task, [result, other], settings))


def _number(estimate: Estimate | HeadlineEstimate) -> float:
    return np.nan if estimate.value is None else estimate.value


def _estimates(
    result: MethodResult,
) -> Iterator[tuple[str, Estimate | HeadlineEstimate]]:
    yield "the headline", result.headline
    for name, estimate in result.scores.items():
        yield f"'{name}'", estimate
    for item in result.by:
        for name, estimate in item.scores.items():
            yield f"'{name}' of '{item.name}' ({item.group})", estimate


def _bad_estimates(result: MethodResult) -> Iterator[str]:
    for name, estimate in _estimates(result):
        if estimate.value is None and not estimate.reason:
            yield f"There is neither a value nor a reason for {name}."
        if estimate.value is not None and not np.isfinite(estimate.value):
            yield f"The value of {name} is not finite."
        if estimate.p is not None and not 0.0 < estimate.p <= 1.0:
            yield f"The p-value of {name} is {estimate.p}, not in (0, 1]."


def _plain(value: Any) -> Any:
    """Return a value in a form to compare by `==`: arrays as bytes, NaN equal to NaN."""
    if is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in fields(value)
        }
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    return repr(value)
