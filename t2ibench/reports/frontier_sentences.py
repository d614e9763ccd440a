"""What a remedy changes and costs, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.decimals import SCALE_DECIMALS, readable
from t2ibench.methods.core.describe import listed
from t2ibench.results.contrast import Contrast
from t2ibench.results.frontier import CostName, Frontier, NumberName, Remedy
from t2ibench.results.frontier_numbers import GroupChange, RemedyNumber
from t2ibench.results.schema import Score

NUMBER_NAMES: dict[NumberName, str] = {
    "lean": "lean",
    "contradictions": "images that contradict their prompt",
    "spill_over": "spill-over: shift of other tests",
    "diversity": "diversity within groups",
    "agreement": "agreement with prompts",
    "refusals": "refusals: largest gap between groups",
}
# What is better of each number.
BETTER: dict[NumberName, str] = {
    "lean": "less",
    "contradictions": "less",
    "spill_over": "less",
    "diversity": "more",
    "agreement": "more",
    "refusals": "less",
}
_ALPHA = 0.05
# Of numbers whose changes are smaller than those of leans.
_DECIMALS = {"agreement": 4, "diversity": 3}
ABOUT = (
    "A change is after minus before, with its interval; images are paired by prompt and index. A "
    "cost is named where its p-value is below 0.05 after Holm’s correction, first over its groups, "
    "tests or rows, and then over the costs of the remedy. That no cost is named does not mean "
    "that there is none: the intervals say how large it may be. Spill-over is the root mean square "
    "by which the leans of tests about other attributes move; where a test is clearly less "
    "one-sided after, that is no cost. A run compared with itself has no spill-over."
)


def digits_of(name: str) -> int:
    """Return how many decimals a number has: cosines and distances move little."""
    return _DECIMALS.get(name, SCALE_DECIMALS)


def remedy_sentences(frontier: Frontier, remedy: Remedy) -> Iterator[str]:
    """Yield sentences on one remedy: what it does to the lean, and each clear cost."""
    yield _lean_sentence(frontier, remedy)
    costs = [
        sentence for name in remedy.clear_costs for sentence in _cost(name, remedy)
    ]
    if costs:
        yield from costs
    else:
        yield "No cost is clear; the intervals say how large it may be."
    falling = _moved_tests(remedy, falls=True)
    if falling:
        yield f"Leans of other tests fall, too: {falling}."
    refusals = remedy.numbers["refusals"]
    if refusals.reason:
        yield f"{refusals.reason[0].upper()}{refusals.reason[1:]}."
    unmeasured = [
        f"{NUMBER_NAMES[name]} ({number.reason})"
        for name, number in remedy.numbers.items()
        if number.reason and name != "refusals"
    ]
    if unmeasured:
        yield f"Not measured: {'; '.join(unmeasured)}."


def _lean_sentence(frontier: Frontier, remedy: Remedy) -> str:
    number = remedy.numbers["lean"]
    change = number.change
    if change is None:
        return f"The lean of {frontier.task} was not compared: {number.reason}."
    if not change.differs:
        return f"The lean of {frontier.task} does not change beyond chance ({amount(change)})."
    verb = "falls" if change.value < 0 else "rises"
    ends = _from_to(number.before, number.after, digits_of("lean"))
    return f"The lean of {frontier.task} {verb} {ends} ({amount(change)})."


def _cost(name: CostName, remedy: Remedy) -> list[str]:
    """Return what one clear cost is, in a sentence for each group or all tests together."""
    if name == "turned":
        rows = listed([row.row for row in remedy.turned])
        return [f"It over-corrects: {rows} turned from one side to the other."]
    if name == "agreement":
        change = remedy.numbers["agreement"].change
        shown = amount(change, digits_of(name)) if change is not None else "–"
        return [f"Images agree less with their prompts ({shown})."]
    if name == "spill_over":
        moved = _moved_tests(remedy, falls=False)
        return [f"It is entangled: leans of other tests move: {moved}."]
    if name == "contradictions":
        return [
            f"It over-corrects: {_shares(group)} of the images asked for {group.group} show "
            f"another group ({amount(group.change)})."
            for group in _clear_groups(remedy.contradictions, rises=True)
        ]
    if name == "diversity":
        digits = digits_of(name)
        return [
            f"It collapses a group: the diversity of images asked for {group.group} falls "
            f"{_from_to(group.before, group.after, digits)} ({amount(group.change, digits)})."
            for group in _clear_groups(remedy.diversity, rises=False)
        ]
    return [
        f"It refuses more: {_shares(group)} of the images of {group.group} are refused or "
        f"filtered ({amount(group.change)})."
        for group in _clear_groups(remedy.refusals, rises=True)
    ]


def _moved_tests(remedy: Remedy, *, falls: bool) -> str:
    """Return the tests about other attributes that moved, and became less one-sided or did not."""
    moved = [
        f"{cell.task} ({cell.attribute}, by {readable(cell.shift.value or 0.0, SCALE_DECIMALS)})"
        for cell in remedy.spill_over
        if cell.p_holm is not None and cell.p_holm < _ALPHA and cell.falls == falls
    ]
    return listed(moved) if moved else ""


def _from_to(before: Score, after: Score, digits: int) -> str:
    first = readable(before.value or 0.0, digits)
    last = readable(after.value or 0.0, digits)
    return f"from {first} to {last}"


def _clear_groups(
    groups: tuple[GroupChange, ...], *, rises: bool
) -> Iterator[GroupChange]:
    for group in groups:
        is_clear = group.p_holm is not None and group.p_holm < _ALPHA
        if is_clear and (group.change.value > 0) == rises:
            yield group


def _shares(group: GroupChange) -> str:
    before, after = (
        f"{100 * (score.value or 0.0):.0f} %" for score in (group.before, group.after)
    )
    return f"{after}, before {before},"


def amount(change: Contrast, digits: int = SCALE_DECIMALS) -> str:
    """Return a change with its interval, such as '−0.12, −0.20 to −0.04'."""
    value = readable(change.value, digits, sign=True)
    if change.low is None or change.high is None:
        return f"{value}, no interval"
    low = readable(change.low, digits, sign=True)
    high = readable(change.high, digits, sign=True)
    return f"{value}, {low} to {high}"


def verdict_of(name: NumberName, remedy: Remedy) -> str:
    """Return in a word or two whether a number of a remedy got better or worse."""
    number: RemedyNumber = remedy.numbers[name]
    if number.change is None:
        return "none refused" if name == "refusals" else "not measured"
    if name == "lean":
        if not number.change.differs:
            return "no clear change"
        return "better" if number.change.value < 0 else "worse"
    clear = set(remedy.clear_costs)
    if name in clear or (name == "contradictions" and "turned" in clear):
        return "a clear cost"
    return "no clear cost"
