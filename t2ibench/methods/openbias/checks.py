"""What is wrong with a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, did_you_mean
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
    """What is wrong with a task that its schema cannot express."""
    yield from _check_pool(task)
    keys = [bias.full_name for bias in task.biases]
    yield from checks.duplicates(keys, ("biases",))
    for number, bias in enumerate(task.biases):
        yield from _check_bias(bias, ("biases", number))
    if task.awaits is not None:
        return
    for number, names in enumerate(task.crossings):
        yield from _check_crossing(task, names, ("crossings", number))
    yield from checks.duplicates(crossing_names(task), ("crossings",))


def _check_pool(task: OpenBiasTask) -> Iterator[checks.Finding]:
    if task.pool is None:
        if not task.biases:
            what = "give biases, or a pool of captions to propose them for"
            yield checks.Finding(("biases",), what)
        return
    if task.awaits is not None and task.biases:
        yield checks.Finding(
            ("pool",), "give either biases or a pool of captions, not both"
        )
    if task.awaits is None and not task.biases:
        yield checks.Finding(("biases",), "the captions that were given have no bias")
    try:
        read_args(ProposeArgs, task.pool.settings, "pool", "settings")
    except T2IBenchError as error:
        yield checks.Finding(("pool", "settings"), str(error))


def _check_crossing(
    task: OpenBiasTask, names: Sequence[str], at: checks.Location
) -> Iterator[checks.Finding]:
    known = [name for bias in task.biases for name in (bias.full_name, bias.name)]
    for name in names:
        if name not in known:
            yield checks.Finding(
                at, f"unknown bias '{name}'.{did_you_mean(name, known)}"
            )
        elif not crossed_biases(task.biases, [name]):
            message = f"several biases are called '{name}'; give what it is about too"
            yield checks.Finding(at, message)
    found = [task.biases[number] for number in crossed_biases(task.biases, names)]
    if len(found) < len(names):
        return
    yield from checks.duplicates([bias.full_name for bias in found], at)
    prompts = {(bias.captions, bias.stimuli, bias.templates) for bias in found}
    if len(prompts) > 1:
        yield checks.Finding(at, "biases that are crossed need the same captions")


def _check_bias(bias: Bias, at: checks.Location) -> Iterator[checks.Finding]:
    yield from checks.duplicates(
        [name.lower() for name in bias.classes], (*at, "classes")
    )
    if UNKNOWN in {name.lower() for name in bias.classes}:
        yield checks.Finding(
            (*at, "classes"), "'unknown' is always possible; leave it out"
        )
    if bias.captions is None and not (bias.stimuli and bias.templates):
        yield checks.Finding(at, "give captions, or stimuli and templates")
    if bias.captions is not None:
        yield from checks.duplicates(bias.captions, (*at, "captions"))
        if bias.stimuli or bias.templates:
            yield checks.Finding(
                at, "give either captions, or stimuli and templates, not both"
            )
        if "{" in bias.question:
            yield from checks.template(bias.question, [], (*at, "question"))
    for text in bias.questions:
        if text not in (captions := bias.captions or ()):
            message = (
                f"'{text}' is no caption of this bias.{did_you_mean(text, captions)}"
            )
            yield checks.Finding((*at, "questions"), message)
    for index, template in enumerate(bias.templates):
        findings = list(
            checks.template(template, ["stimulus"], (*at, "templates", index))
        )
        yield from findings
        if not findings:
            prompts = (fill(template, stimulus=word) for word in bias.stimuli or ())
            yield from checks.articles(prompts, (*at, "templates", index))
            place = (*at, "templates", index)
            yield from checks.article_language(template, bias.stimuli or (), place)
    if bias.stimuli and placeholders(bias.question) not in ([], ["stimulus"]):
        yield from checks.template(bias.question, ["stimulus"], (*at, "question"))
    if bias.expected is not None:
        shares, total = bias.expected.shares, sum(bias.expected.shares.values())
        if set(shares) != set(bias.classes):
            message = f"give one share for each class: {', '.join(bias.classes)}"
            yield checks.Finding((*at, "expected", "shares"), message)
        elif abs(total - 1.0) > 0.005:
            message = f"the shares sum to {total:.3f}, not to 1"
            yield checks.Finding((*at, "expected", "shares"), message)
    places: list[checks.Location] = [
        (*at, "references", k) for k in range(len(bias.references))
    ]
    if bias.reference is not None:
        places = [(*at, "reference"), *places]
    for reference, place in zip(bias.known, places, strict=True):
        group = reference.group
        if group not in bias.classes:
            message = f"unknown class '{group}'.{did_you_mean(group, bias.classes)}"
            yield checks.Finding((*place, "group"), message)
    yield from checks.duplicates(
        [reference.group for reference in bias.known], (*at, "references")
    )
    if bias.compare_with == "reference":
        yield from _check_compared(bias, (*at, "compare_with"))


def _check_compared(bias: Bias, at: checks.Location) -> Iterator[checks.Finding]:
    """Each stimulus is compared with its own share of one class: the other class has the rest."""
    if bias.reference is None or bias.stimuli is None:
        yield checks.Finding(
            at, "'reference' needs a reference, and stimuli that it has shares of"
        )
    elif len(bias.classes) != 2:
        yield checks.Finding(
            at, "'reference' needs two classes: it gives the share of one"
        )
    elif not set(bias.stimuli) & set(bias.reference.shares):
        yield checks.Finding(at, "no stimulus has a share in the reference")
    if bias.expected is not None:
        yield checks.Finding(
            at, "give either 'expected' or 'compare_with: reference', not both"
        )
