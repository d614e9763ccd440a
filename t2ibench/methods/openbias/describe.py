"""The result of an OpenBias task in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.decimals import readable
from t2ibench.methods.core.answer_counts import ShownAttribute, shown_of
from t2ibench.methods.core.describe import (
    beyond_chance,
    clear_rows,
    nothing_shown,
    percent,
    shown_class,
    shown_sentence,
)
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask

_ALPHA = 0.05
# The most biases that a sentence describes.
_MOST_BIASES = 3
# A range of root mean squares that no reader would notice.
_NARROW = 0.1


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """Return the result of an OpenBias task as plain sentences that name its direction.

    A class is named only where its share over all captions differs from the expected
    one beyond chance (Bonferroni over the classes): captions can each be one-sided, and
    in opposite ways.
    """
    bounds = f"{_bounds(result)}."
    missing = nothing_shown(result)
    if missing:
        return f"{missing.rstrip('.')}{bounds}"
    if not beyond_chance(result.headline):
        return f"{_nothing_clear(task, result).rstrip('.')}{bounds}"
    details = {detail["bias"]: detail for detail in result.details["biases"]}
    counted = [name for name, detail in details.items() if detail["counted"]]
    clear = clear_rows(
        [item for item in result.by if item.name in counted], "squared_lean"
    )
    if not clear:
        return (
            f"Over all {len(counted)} biases together the answers are more one-sided than by "
            f"chance; none of them is clear by itself{bounds}"
        )
    # Each bias with the classes that the judge can answer with.
    biases = {}
    for bias in task.biases:
        classes = tuple(details[bias.full_name]["counts"])
        biases[bias.full_name] = bias.model_copy(update={"classes": classes})
    clauses = _clear_biases(biases, clear, counted, result)
    clauses += _further_biases(len(clear), len(counted))
    sentences = ". ".join(f"{clause[:1].upper()}{clause[1:]}" for clause in clauses)
    slope = _slope(biases[clear[0].name], result) if len(details) == 1 else ""
    return f"{sentences}{slope}{bounds}"


def _nothing_clear(task: OpenBiasTask, result: MethodResult) -> str:
    """Return the sentence that no bias is significant; '' if one is."""
    is_uniform = all(bias.compared_with == "uniform" for bias in task.biases)
    than = "uniform answers" if is_uniform else "answers with the expected shares"
    claim = f"the answers are more one-sided than {than} would be by chance"
    return nothing_shown(result, claim) or ""


def _clear_biases(
    biases: dict[str, Bias],
    clear: Sequence[Item],
    counted: Sequence[str],
    result: MethodResult,
) -> list[str]:
    """Return a clause for each of the three clearest biases at most.

    Args:
        biases: Full name to bias.
        clear: The rows of the clear biases, the clearest first.
        counted: Names of the biases that count.
        result: The result.
    """
    shown = {attribute.counted.attribute: attribute for attribute in shown_of(result)}
    clauses = []
    for item in clear[:_MOST_BIASES]:
        clause = _shown_as(biases[item.name], item, shown.get(item.name))
        if len(counted) > 1:
            clause = f"{item.name}: {clause}"
        clauses.append(clause)
    if "rater_agreement" in result.details:
        by_all = clauses[0].replace("as judged, ", "", 1)
        clauses[0] = f"by the mean over judges, {by_all}"
    return clauses


def _further_biases(n_clear: int, n_counted: int) -> list[str]:
    """Return a list of one clause on how many further biases there are; empty if none."""
    n_described = min(n_clear, _MOST_BIASES)
    n_further = n_counted - n_described
    n_further_clear = n_clear - n_described
    if n_further_clear:
        return [f"{n_further} more biases, {n_further_clear} of them clear"]
    if n_further == 1:
        return ["another bias is not clear"]
    if n_further:
        return [f"{n_further} other biases are not clear"]
    return []


def _shown_as(bias: Bias, item: Item, shown: ShownAttribute | None) -> str:
    """Return the clause on which classes a bias's images show, first as corrected.

    What is counted over rows that are clear by themselves are images as a judge answered about
    them, and the clause says so: as a share that a model draws it would be too one-sided, because
    rows are clear that happen to be one-sided.
    """
    as_judged = shown_sentence(shown.rows) if shown is not None else ""
    if bias.compared_with != "uniform":
        as_judged = f"{as_judged}; {_direction(bias, item)}"
    corrected = _largest_corrected(bias, item)
    if corrected is None:
        return f"as judged, {as_judged}" if as_judged else as_judged
    name, share = corrected
    interval = ""
    if share.interval is not None:
        low, high = (percent(end) for end in share.interval)
        interval = f" ({low} to {high})"
    labels = item.scores.get("n_labels")
    by = "the judge’s errors elsewhere"
    if labels is not None:
        by = f"{labels.value or 0.0:.0f} labels of people"
    return (
        f"corrected by {by}, {percent(share.value or 0.0)}{interval} of "
        f"all images show {shown_class(name, bias.full_name)}; as judged, {as_judged}"
    )


def _largest_corrected(bias: Bias, item: Item) -> tuple[str, Estimate] | None:
    """Return the class with the largest corrected share, and the share; None without any."""
    largest: tuple[str, Estimate] | None = None
    for name in bias.classes:
        share = item.scores.get(join_score_name("share_corrected", name))
        if share is None or share.value is None:
            continue
        if largest is None or share.value > (largest[1].value or 0.0):
            largest = (name, share)
    return largest


def _bounds(result: MethodResult) -> str:
    """Return the clause on how far images without an answer leave the lean open; '' if little.

    Empty where they are close together.
    """
    unanswered = result.details.get("unanswered")
    if not unanswered:
        return ""
    least = max(unanswered["least"], 0.0) ** 0.5
    most = max(unanswered["most"], 0.0) ** 0.5
    if most - least < _NARROW:
        return ""
    return (
        f". Whatever the {percent(unanswered['share'])} of the images without an answer show, the "
        f"root mean square of all is from {least:.2f} to {most:.2f}"
    )


def _slope(bias: Bias, result: MethodResult) -> str:
    """Return the sentence on how stimuli's shares follow known shares; '' if that is unclear."""
    slope = result.scores.get("amplification_slope")
    if bias.reference is None or slope is None or not beyond_chance(slope):
        return ""
    assert slope.value is not None and slope.interval is not None
    low, high = slope.interval
    who = shown_class(bias.reference.group, bias.full_name)
    name = f"'{bias.reference.name}'"
    if slope.value < 0:
        says = f"The more {who} in {name}, the fewer in the images"
    elif low > 1:
        says = f"Images are more one-sided than {name}"
    elif high < 1:
        says = f"Images are less one-sided than {name}"
    else:
        says = f"The more {who} in {name}, the more in the images"
    interval = f"{readable(low, 2)} to {readable(high, 2)}"
    return f". {says} (slope {readable(slope.value, 2)}, {interval}; 1 is as there)"


def _direction(bias: Bias, item: Item) -> str:
    """Return the clause on the class whose share differs most from the expected one."""
    expected = bias.expected_shares(None)
    if expected is None:
        return f"they differ from '{bias.compared_with}', each from its own share"
    clear = _clear_classes(bias, item)
    if not clear:
        return f"over all, no class differs from '{bias.compared_with}' beyond chance"
    usual = dict(zip(bias.classes, expected.tolist(), strict=True))
    shares = {name: float(_share(item, name).value or 0.0) for name in clear}

    def distance(name: str) -> tuple[float, float]:
        return round(abs(shares[name] - usual[name]), 9), shares[name]

    farthest = max(clear, key=distance)
    return (
        f"over all, {percent(shares[farthest])} of the answered images show "
        f"{shown_class(farthest, bias.full_name)}, against {percent(usual[farthest])} in "
        f"'{bias.compared_with}'"
    )


def _share(item: Item, name: str) -> Estimate:
    return item.scores[join_score_name("share", name)]


def _clear_classes(bias: Bias, item: Item) -> list[str]:
    """Return the classes whose shares differ significantly from the expected shares."""
    p_values = {name: _share(item, name).p for name in bias.classes}
    # The mean over judges has no test of its shares, but one of the lean of two classes.
    if bias.expected is None and all(p is None for p in p_values.values()):
        lean = item.scores.get("lean")
        is_clear = lean is not None and beyond_chance(lean)
        return list(p_values) if is_clear else []
    # Two classes are one test; from three on, Bonferroni's correction is over classes.
    n_tests = 1 if len(p_values) == 2 else len(p_values)
    return [
        name for name, p in p_values.items() if p is not None and p * n_tests < _ALPHA
    ]
