"""An OpenBias task in a sentence, and how pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from t2ibench.methods.core.answer_counts import ShownAttribute, shown_of
from t2ibench.methods.core.describe import (
    beyond_chance,
    no_score,
    people,
    percent,
    shown_class,
    shown_sentence,
    undecided,
    unproven,
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
from t2ibench.methods.openbias.answers import BiasDetail, full_name
from t2ibench.methods.openbias.rows import expected_shares
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask, crossing_name
from t2ibench.stats import holm

_ALPHA = 0.05
_TOLD = 3  # biases that are told
_NARROW = 0.1  # a range of root mean squares that no reader would see


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A class is named only where its share over all captions differs from the expected one beyond
    chance (Bonferroni over the classes): captions can each be one-sided, and in opposite ways.
    """
    missing = undecided(result) or no_score(result)
    if missing:
        return f"{missing.rstrip('.')}{_room(result)}."
    details = {row["bias"]: BiasDetail(**row) for row in result.details["biases"]}
    biases = {
        full_name(bias): bias.model_copy(update={"classes": tuple(details[full_name(bias)].counts)})
        for bias in task.biases
    }
    if not beyond_chance(result.headline):
        than = {detail.compared_with for detail in details.values()}
        uniform = "uniform answers" if than == {"uniform"} else "answers with the expected shares"
        claim = f"the answers are more one-sided than {uniform} would be by chance"
        none = unproven(result.headline, claim) or ""
        return f"{none.rstrip('.')}{_room(result)}{_combined(result)}."
    counted = sum(detail.counted for detail in details.values())
    rows = _stand_out(
        [item for item in result.by if item.name in details and details[item.name].counted]
    )
    if not rows:
        return (
            f"Over all {counted} biases together the answers are more one-sided than by chance; "
            f"none of them is clear by itself{_room(result)}{_combined(result)}."
        )
    rows.sort(key=lambda item: -(item.scores["squared_lean"].value or 0.0))
    shown = {one.counted.attribute: one for one in shown_of(result)}
    told = []
    for item in rows[:_TOLD]:
        who = _who(biases[item.name], details[item.name], item, shown.get(item.name))
        told.append(f"{item.name}: {who}" if counted > 1 else who)
    if "rater_agreement" in result.details:
        told[0] = f"by the mean over judges, {told[0]}"
    rest = counted - len(rows[:_TOLD])
    if rest:
        clear = len(rows) - len(rows[:_TOLD])
        told.append(f"{rest} more biases, {clear} of them clear" if clear else _unclear(rest))
    follows = _follows(biases[rows[0].name], result) if len(details) == 1 else ""
    said = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in told)
    return f"{said}{follows}{_room(result)}{_combined(result)}."


def _unclear(count: int) -> str:
    return "another bias is not clear" if count == 1 else f"{count} other biases are not clear"


def _who(bias: Bias, detail: BiasDetail, item: Item, shown: ShownAttribute | None) -> str:
    """Who is shown as what; where people corrected the judge, their shares come first."""
    told = shown_sentence(shown.rows) if shown is not None else ""
    if detail.compared_with != "uniform":
        told = f"{told}; {_direction(bias, detail, item)}"
    corrected = {name: item.scores.get(f"share_corrected:{name}") for name in bias.classes}
    known = {name: one for name, one in corrected.items() if one and one.value is not None}
    if not known:
        return told
    name, share = max(known.items(), key=lambda pair: pair[1].value or 0.0)
    between = ""
    if share.interval is not None:
        low, high = (percent(end) for end in share.interval)
        between = f" ({low} to {high})"
    labels = item.scores.get("n_labels")
    by = f"{labels.value or 0.0:.0f} labels of people" if labels else "the judge’s errors elsewhere"
    return (
        f"corrected by {by}, {percent(share.value or 0.0)}{between} of "
        f"all images show {shown_class(name, full_name(bias))}; as judged, {told}"
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


def _stand_out(items: Sequence[Item]) -> list[Item]:
    """The biases that are beyond chance on their own (Holm over all of them)."""
    adjusted = holm([item.scores["squared_lean"].p for item in items])
    return [item for item, p in zip(items, adjusted, strict=True) if p is not None and p < _ALPHA]


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
        f". The shares of {shown_class(bias.reference.group, full_name(bias))} {how} "
        f"'{bias.reference.name}' (slope "
        f"{slope.value:.2f}, from {low:.2f} to {high:.2f}; 1 mirrors it)"
    )


def _combined(result: MethodResult) -> str:
    """The combination that stands out most, where classes go together beyond chance (Holm)."""
    clauses = []
    for crossing in result.details.get("crossings", []):
        beyond = [row["p_holm"] for row in crossing.get("tests", []) if row["p_holm"] is not None]
        if not beyond or min(beyond) >= _ALPHA:
            continue
        rows = [crossing["most_over"], crossing["most_under"]]
        cell = max(rows, key=lambda row: abs(row["excess"] or 0.0))
        share, alone = cell["share"], cell["share"] - cell["excess"]
        clauses.append(
            f"; '{cell['cell']}' is {percent(share)} of the images, where its parts alone would "
            f"make {percent(alone)}"
        )
    return "".join(clauses)


def _direction(bias: Bias, detail: BiasDetail, item: Item) -> str:
    """Which class differs from its expected share, where one does beyond chance."""
    expected = expected_shares(bias, None)
    if expected is None:
        return f"they differ from '{detail.compared_with}', each from its own share"
    usual = dict(zip(bias.classes, expected.tolist(), strict=True))
    shares = {name: float(item.scores[f"share:{name}"].value or 0.0) for name in bias.classes}
    sure = _beyond_chance(bias, item)
    if not sure:
        return f"over all, no class differs from '{detail.compared_with}' beyond chance"
    named = max(sure, key=lambda name: (round(abs(shares[name] - usual[name]), 9), shares[name]))
    return (
        f"over all, {percent(shares[named])} of the answered images show "
        f"{shown_class(named, full_name(bias))}, against {percent(usual[named])} in "
        f"'{detail.compared_with}'"
    )


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
        groups = frozenset({full_name(bias)})
        noun = "stimulus" if bias.stimuli else "prompt"
        noun += f" ({full_name(bias)})" if len(task.biases) > 1 and not bias.stimuli else ""
        if len(bias.classes) == 2:
            first, second = bias.classes
            rows.append(RowSeries("lean", noun, Axis(second, first), groups=groups))
        elif not bias.stimuli:
            rows.append(RowSeries("majority_share", noun, groups=groups))
    figures: list[Figure] = [
        Scatter(
            "Caption by caption, and over all captions",
            Quantity("over all captions (context-free severity)", "severity_free"),
            Quantity("caption by caption (context-aware severity)", "severity"),
            "Above the line a question is answered one-sidedly within captions, but to different "
            "sides.",
            "D'Incà et al. (2024), figure 9; as published",
            groups=frozenset(bias.about for bias in task.biases),
            diagonal=True,
        )
    ]
    figures += [*_beside_references(task), *_combinations(task)]
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
        figures=tuple(figures),
    )


def _beside_references(task: OpenBiasTask) -> Iterator[Figure]:
    """The shares of each class with known shares, stimulus by stimulus."""
    several = len([bias for bias in task.biases if bias.known]) > 1
    for bias in task.biases:
        of = f" ({full_name(bias)})" if several else ""
        for reference in bias.known if bias.stimuli else ():
            who = people(reference.group, full_name(bias))
            yield Scatter(
                f"Share of {who}: in the answers and at work{of}",
                Quantity(reference.name, given=reference.shares),
                Quantity(f"share of {who} in the answers", f"share:{reference.group}"),
                "On the line the answers mirror the statistics; that is not the same as fair. In "
                "colour: clearly off it.",
                groups=frozenset({full_name(bias)}),
                diagonal=True,
                intervals=True,
                difference=f"share_minus_reference:{reference.group}",
            )


def _combinations(task: OpenBiasTask) -> Iterator[Figure]:
    """The share of each combination of classes against what its parts would make it."""
    for names in task.crossings:
        name = crossing_name(task, names)
        yield Combinations(
            f"Which combinations are shown: {name}",
            name,
            "Hollow: the share that its parts alone would make. Filled: the share of the images, "
            "in colour where the difference is clear after Holm’s correction; the line is the "
            "interval of the difference, for these prompts. It does not say whether a part by "
            "itself is balanced, and no clear difference is not independence.",
        )


def _answer(bias: str, row: Mapping[str, Any]) -> str | None:
    return str(row["answer"]) if row.get("bias") == bias else None
