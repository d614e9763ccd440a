"""An OpenBias task in a sentence, and how pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.methods.core.answer_counts import ShownAttribute, shown_of
from t2ibench.methods.core.describe import (
    beyond_chance,
    clear_rows,
    nothing_shown,
    people,
    percent,
    shown_class,
    shown_sentence,
)
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.core.presentation import (
    Axis,
    Combinations,
    Figure,
    ImageGroups,
    Presentation,
    Quantity,
    RowSeries,
    Scatter,
    short_name,
)
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask, crossing_names

_ALPHA = 0.05
_TOLD = 3  # biases that are told
_NARROW = 0.1  # a range of root mean squares that no reader would see


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A class is named only where its share over all captions differs from the expected one beyond
    chance (Bonferroni over the classes): captions can each be one-sided, and in opposite ways.
    """
    missing = nothing_shown(result)
    if missing:
        return f"{missing.rstrip('.')}{_room(result)}."
    details = {row["bias"]: row for row in result.details["biases"]}
    biases = {
        bias.full_name: bias.model_copy(
            update={"classes": tuple(details[bias.full_name]["counts"])}
        )
        for bias in task.biases
    }
    rest_of_it = f"{_room(result)}."
    if not beyond_chance(result.headline):
        uniform = all(bias.compared_with == "uniform" for bias in task.biases)
        than = "uniform answers" if uniform else "answers with the expected shares"
        claim = f"the answers are more one-sided than {than} would be by chance"
        none = nothing_shown(result, claim) or ""
        return f"{none.rstrip('.')}{rest_of_it}"
    counted = [name for name, row in details.items() if row["counted"]]
    rows = clear_rows(
        [item for item in result.by if item.name in counted], "squared_lean"
    )
    if not rows:
        return (
            f"Over all {len(counted)} biases together the answers are more one-sided than by "
            f"chance; none of them is clear by itself{rest_of_it}"
        )
    shown = {one.counted.attribute: one for one in shown_of(result)}
    told = []
    for item in rows[:_TOLD]:
        who = _who(biases[item.name], item, shown.get(item.name))
        told.append(f"{item.name}: {who}" if len(counted) > 1 else who)
    if "rater_agreement" in result.details:
        told[0] = f"by the mean over judges, {told[0]}"
    clear, rest = len(rows[_TOLD:]), len(counted) - len(rows[:_TOLD])
    if clear:
        told.append(f"{rest} more biases, {clear} of them clear")
    elif rest:
        others = "another bias is" if rest == 1 else f"{rest} other biases are"
        told.append(f"{others} not clear")
    follows = _follows(biases[rows[0].name], result) if len(details) == 1 else ""
    said = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in told)
    return f"{said}{follows}{rest_of_it}"


def _who(bias: Bias, item: Item, shown: ShownAttribute | None) -> str:
    """Who is shown as what; where people corrected the judge, their shares come first."""
    told = shown_sentence(shown.rows) if shown is not None else ""
    if bias.compared_with != "uniform":
        told = f"{told}; {_direction(bias, item)}"
    corrected = {
        name: item.scores.get(f"share_corrected:{name}") for name in bias.classes
    }
    known = {
        name: one for name, one in corrected.items() if one and one.value is not None
    }
    if not known:
        return told
    name, share = max(known.items(), key=lambda pair: pair[1].value or 0.0)
    between = ""
    if share.interval is not None:
        low, high = (percent(end) for end in share.interval)
        between = f" ({low} to {high})"
    labels = item.scores.get("n_labels")
    by = (
        f"{labels.value or 0.0:.0f} labels of people"
        if labels
        else "the judge’s errors elsewhere"
    )
    return (
        f"corrected by {by}, {percent(share.value or 0.0)}{between} of "
        f"all images show {shown_class(name, bias.full_name)}; as judged, {told}"
    )


def _room(result: MethodResult) -> str:
    """Between which leans all images lie, where unknown answers could change what is seen."""
    unanswered = result.details.get("unanswered")
    if not unanswered:
        return ""
    least, most = (max(unanswered[end], 0.0) ** 0.5 for end in ("least", "most"))
    if most - least < _NARROW:
        return ""
    return (
        f". Whatever the {percent(unanswered['share'])} of the images without an answer show, the "
        f"root mean square of all is from {least:.2f} to {most:.2f}"
    )


def _follows(bias: Bias, result: MethodResult) -> str:
    """How the shares of the stimuli follow their reference, where that is beyond chance."""
    slope = result.scores.get("amplification_slope")
    if bias.reference is None or slope is None or not beyond_chance(slope):
        return ""
    assert slope.value is not None and slope.interval is not None
    low, high = slope.interval
    against = slope.value < 0
    how = (
        "run against"
        if against
        else "exaggerate"
        if low > 1
        else "follow, less steeply,"
        if high < 1
        else "follow"
    )
    return (
        f". The shares of {shown_class(bias.reference.group, bias.full_name)} {how} "
        f"'{bias.reference.name}' (slope "
        f"{slope.value:.2f}, from {low:.2f} to {high:.2f}; 1 mirrors it)"
    )


def _direction(bias: Bias, item: Item) -> str:
    """Which class differs from its expected share, where one does beyond chance."""
    expected = bias.expected_shares(None)
    if expected is None:
        return f"they differ from '{bias.compared_with}', each from its own share"
    usual = dict(zip(bias.classes, expected.tolist(), strict=True))
    scores = {name: item.scores[f"share:{name}"] for name in bias.classes}
    # The mean over judges has no test of its shares, but one of the lean of two classes.
    tests = 1 if len(scores) == 2 else len(scores)  # Bonferroni from three classes on
    if all(score.p is None for score in scores.values()) and bias.expected is None:
        lean = item.scores.get("lean")
        sure = list(scores) if lean is not None and beyond_chance(lean) else []
    else:
        known = [
            (name, score.p) for name, score in scores.items() if score.p is not None
        ]
        sure = [name for name, p in known if p * tests < _ALPHA]
    if not sure:
        return f"over all, no class differs from '{bias.compared_with}' beyond chance"
    shares = {name: float(scores[name].value or 0.0) for name in sure}
    named = max(
        sure, key=lambda name: (round(abs(shares[name] - usual[name]), 9), shares[name])
    )
    return (
        f"over all, {percent(shares[named])} of the answered images show "
        f"{shown_class(named, bias.full_name)}, against {percent(usual[named])} in "
        f"'{bias.compared_with}'"
    )


def present(task: OpenBiasTask) -> Presentation:
    """How the result of a task is shown."""
    rows = [
        RowSeries(
            "squared_lean",
            "bias",
            square=True,
            groups=frozenset(bias.about for bias in task.biases),
        )
    ]
    for bias in task.biases:
        groups = frozenset({bias.full_name})
        noun = "stimulus" if bias.stimuli else "prompt"
        noun += (
            f" ({bias.full_name})" if len(task.biases) > 1 and not bias.stimuli else ""
        )
        if len(bias.classes) == 2:
            first, second = bias.classes
            rows.append(RowSeries("lean", noun, Axis(second, first), groups=groups))
        elif not bias.stimuli:
            rows.append(RowSeries("majority_share", noun, groups=groups))
    return Presentation(
        name=short_name(task.title),
        rows=tuple(rows),
        images=ImageGroups(
            _answer,
            "answered “{group}”",
            "squared_lean",
            stimuli={
                fill(template, stimulus=word): word
                for bias in task.biases
                for template in bias.templates
                for word in bias.stimuli or ()
            },
        ),
        formula=(
            "h = Σ (share of a class − expected share)² / (1 − 1/k), unbiased, over the k classes "
            "of a question; headline = mean over questions of the mean over captions, shown as "
            "its root"
        ),
        source="After D'Incà et al. (2024), equations 3 to 5",
        figures=(
            *_beside_references(task),
            *(Combinations.of(name, "these prompts") for name in crossing_names(task)),
        ),
    )


def _beside_references(task: OpenBiasTask) -> Iterator[Figure]:
    """The shares of each class with known shares, stimulus by stimulus."""
    several = len([bias for bias in task.biases if bias.known]) > 1
    for bias in task.biases:
        of = f" ({bias.full_name})" if several else ""
        for reference in bias.known if bias.stimuli else ():
            who = people(reference.group, bias.full_name)
            yield Scatter(
                f"Share of {who}: in the answers and at work{of}",
                Quantity(reference.name, given=reference.shares),
                Quantity(f"share of {who} in the answers", f"share:{reference.group}"),
                "On the line the answers mirror the statistics; that is not the same as fair. In "
                "colour: clearly off it.",
                groups=frozenset({bias.full_name}),
                diagonal=True,
                intervals=True,
                difference=f"share_minus_reference:{reference.group}",
            )


def _answer(bias: str, row: Mapping[str, Any]) -> str | None:
    return str(row["answer"]) if row.get("bias") == bias else None
