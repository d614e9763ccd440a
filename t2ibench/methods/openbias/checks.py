"""Checks of OpenBias tasks for problems that their schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core import checks
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.prompts import fill, placeholders
from t2ibench.methods.openbias.propose import ProposeArgs
from t2ibench.methods.openbias.schema import (
    Bias,
    OpenBiasTask,
    crossed_biases,
    crossing_names,
)


def check(task: OpenBiasTask) -> Iterator[checks.Finding]:
    """Yield each problem of an OpenBias task that its schema cannot express."""
    yield from _check_pool(task)
    bias_names = [bias.full_name for bias in task.biases]
    yield from checks.duplicates(bias_names, ("biases",))
    for number, bias in enumerate(task.biases):
        place = ("biases", number)
        yield from _check_classes(bias, place)
        yield from _check_captions(bias, place)
        yield from _check_templates(bias, place)
        yield from _check_expected(bias, place)
        yield from _check_references(bias, place)
        if bias.compare_with == "reference":
            yield from _check_compared(bias, (*place, "compare_with"))
    if task.awaits is not None:
        return
    for number, names in enumerate(task.crossings):
        yield from _check_crossing(task, names, ("crossings", number))
    yield from checks.duplicates(crossing_names(task), ("crossings",))


def _check_pool(task: OpenBiasTask) -> Iterator[checks.Finding]:
    """Yield a problem for a task with neither biases nor a pool of captions, or with both."""
    if task.pool is None:
        if not task.biases:
            message = "give biases, or a pool of captions to propose them for"
            yield checks.Finding(("biases",), message)
        return
    if task.awaits is not None and task.biases:
        message = "give either biases or a pool of captions, not both"
        yield checks.Finding(("pool",), message)
    if task.awaits is None and not task.biases:
        yield checks.Finding(("biases",), "the captions that were given have no bias")
    try:
        read_args(ProposeArgs, task.pool.settings, "pool", "settings")
    except T2IBenchError as error:
        yield checks.Finding(("pool", "settings"), str(error))


def _check_classes(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem for each class that is given twice, and for 'unknown' as a class."""
    names = [name.lower() for name in bias.classes]
    yield from checks.duplicates(names, (*place, "classes"))
    if UNKNOWN in names:
        message = "'unknown' is always possible; leave it out"
        yield checks.Finding((*place, "classes"), message)


def _check_captions(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem for captions that are missing, given twice, or given in two ways."""
    has_templates = bool(bias.stimuli or bias.templates)
    if bias.captions is None and not (bias.stimuli and bias.templates):
        yield checks.Finding(place, "give captions, or stimuli and templates")
    if bias.captions is not None:
        yield from checks.duplicates(bias.captions, (*place, "captions"))
        if has_templates:
            message = "give either captions, or stimuli and templates, not both"
            yield checks.Finding(place, message)
        if "{" in bias.question:
            yield from checks.template(bias.question, [], (*place, "question"))
    captions = bias.captions or ()
    for text in bias.questions:
        if text not in captions:
            hint = did_you_mean(text, captions)
            message = f"'{text}' is no caption of this bias.{hint}"
            yield checks.Finding((*place, "questions"), message)


def _check_templates(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem for each template or question into which stimuli do not fit."""
    stimuli = bias.stimuli or ()
    for index, template in enumerate(bias.templates):
        at = (*place, "templates", index)
        problems = list(checks.template(template, ["stimulus"], at))
        yield from problems
        if not problems:
            prompts = (fill(template, stimulus=word) for word in stimuli)
            yield from checks.articles(prompts, at)
            yield from checks.article_language(template, stimuli, at)
    if stimuli and placeholders(bias.question) not in ([], ["stimulus"]):
        yield from checks.template(bias.question, ["stimulus"], (*place, "question"))


def _check_expected(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem if expected shares are not those of the classes, or do not sum to 1."""
    if bias.expected is None:
        return
    shares = bias.expected.shares
    total = sum(shares.values())
    at = (*place, "expected", "shares")
    if set(shares) != set(bias.classes):
        message = f"give one share for each class: {', '.join(bias.classes)}"
        yield checks.Finding(at, message)
    elif abs(total - 1.0) > 0.005:
        yield checks.Finding(at, f"the shares sum to {total:.3f}, not to 1")


def _check_references(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem for each known share whose class is unknown or given twice."""
    places: list[checks.Location] = [
        (*place, "references", index) for index in range(len(bias.references))
    ]
    if bias.reference is not None:
        places = [(*place, "reference"), *places]
    groups = [reference.group for reference in bias.all_references]
    for group, at in zip(groups, places, strict=True):
        if group not in bias.classes:
            hint = did_you_mean(group, bias.classes)
            yield checks.Finding(
                (*at, "group"), f"unknown class '{shown(group)}'.{hint}"
            )
    yield from checks.duplicates(groups, (*place, "references"))


def _check_compared(bias: Bias, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem if a bias cannot be compared with known shares of its stimuli.

    The reference gives the share of one class, so there can only be one other.
    """
    if bias.reference is None or bias.stimuli is None:
        message = "'reference' needs a reference, and stimuli that it has shares of"
        yield checks.Finding(place, message)
    elif len(bias.classes) != 2:
        message = "'reference' needs two classes: it gives the share of one"
        yield checks.Finding(place, message)
    elif not set(bias.stimuli) & set(bias.reference.shares):
        yield checks.Finding(place, "no stimulus has a share in the reference")
    if bias.expected is not None:
        message = "give either 'expected' or 'compare_with: reference', not both"
        yield checks.Finding(place, message)


def _check_crossing(
    task: OpenBiasTask, names: Sequence[str], place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield a problem for each bias that cannot be combined with the others of its list."""
    possible: list[str] = []
    for bias in task.biases:
        possible += [bias.full_name, bias.name]
    for name in names:
        if name not in possible:
            hint = did_you_mean(name, possible)
            yield checks.Finding(place, f"unknown bias '{name}'.{hint}")
        elif not crossed_biases(task.biases, [name]):
            message = f"several biases are called '{name}'; give what it is about too"
            yield checks.Finding(place, message)
    crossed = [task.biases[number] for number in crossed_biases(task.biases, names)]
    if len(crossed) < len(names):
        return
    yield from checks.duplicates([bias.full_name for bias in crossed], place)
    prompts = {(bias.captions, bias.stimuli, bias.templates) for bias in crossed}
    if len(prompts) > 1:
        message = "biases that are crossed need the same captions"
        yield checks.Finding(place, message)
