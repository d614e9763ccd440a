"""Counts of judges' answers about images, prompt by prompt.

A family whose judge, or people, answer with classes puts its counts into the details of its result,
as `KEY`; every page shows these rows before any measure that combines them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from t2ibench.stats import holm

if TYPE_CHECKING:
    from t2ibench.methods.core.estimate import MethodResult

# Key of a result's details.
KEY = "answers_by_prompt"
_ALPHA = 0.05
# Letters of a name.
_LONGEST = 60
_ARTICLE = re.compile(r"(an?|the) ", re.IGNORECASE)
# How many colours and patterns pages have for classes; further ones begin again.
COLOURS = 14
# From here on, colours of races and of skin: their own, so that none of them looks like a gender or
# an age. They have about one lightness: no order of the groups can be read from them.
_RACES = 6
_SKIN = 12
# Classes that many tasks have: the number of their colour, on every page.
_COLOURS = {
    "male": 0,
    "female": 1,
    "nonbinary": 2,
    "non-binary": 2,
    "young": 0,
    "young or middle-aged": 0,
    "old": 1,
    "middle-aged": 2,
    "white": _RACES,
    "black": _RACES + 1,
    "asian": _RACES + 2,
    "latino": _RACES + 3,
    "hispanic": _RACES + 3,
    "latino or hispanic": _RACES + 3,
    "middle eastern": _RACES + 4,
    "indian": _RACES + 5,
    "light skin": _SKIN,
    "light": _SKIN,
    "dark skin": _SKIN + 1,
    "dark": _SKIN + 1,
}

_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class CountedPrompt:
    """The counts of the answers about the images of one prompt, or of one stimulus.

    Attributes:
        name: The prompt, or the stimulus.
        counts: Class to number of images; of several judges, the answer that most of them gave.
        unanswered: Images without a class, although what they show may be the reason.
        known: Class to a share that is known, such as that of labour statistics.
        labels: Class to number of images that people labelled so.
    """

    name: str
    counts: dict[str, _Count]
    unanswered: _Count = 0
    known: dict[str, float] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountedAttribute:
    """The counts of the answers to one question, prompt by prompt, as `details` store them.

    Attributes:
        attribute: The group of its rows.
        classes: The possible answers.
        rows: Prompt by prompt.
        references: Class to the source of its known shares.
        noun: What a row is, such as 'prompt'.
        test: The score of a row whose test says whether the row is clear, where it is none of the
            counts': it looks at more than them, so the counts have no interval.
        estimated: Whether counts are estimated shares of a prompt's images, as TIBET wrote them at
            one time. A share of a mixture is not what a judge answered: they are not shown.
    """

    attribute: str
    classes: tuple[str, ...]
    rows: tuple[CountedPrompt, ...]
    references: dict[str, str] = field(default_factory=dict)
    noun: str = "prompt"
    test: str = ""
    estimated: bool = False


def class_colours(classes: Sequence[str]) -> dict[str, int]:
    """Return each class with its colour number, sorted by number and equal in every run."""
    places = {name: _COLOURS.get(name.casefold(), -1) for name in classes}
    # A race without a colour of its own gets one of the races'.
    first = _RACES if any(_RACES <= place < _SKIN for place in places.values()) else 0
    free = (
        colour
        for colour in range(first, first + len(places))
        if colour not in places.values()
    )
    colours = {
        name: next(free) if colour < 0 else colour
        for name, colour in sorted(places.items())
    }
    return dict(sorted(colours.items(), key=lambda pair: pair[1]))


def bar_order(classes: Sequence[str]) -> dict[str, int]:
    """Return each class with its colour, in the order of the parts of a bar, left to right.

    Colours begin again after `COLOURS`.

    Two classes have the sides of every axis, so that women begin at the left; more stand in the
    order of their task, as ages do.

    Examples:
        >>> bar_order(["male", "female"])
        {'female': 1, 'male': 0}
        >>> list(bar_order(["young", "middle-aged", "old"]))
        ['young', 'middle-aged', 'old']
    """
    colours = class_colours(classes)
    names = list(reversed(colours)) if len(colours) == 2 else classes
    return {name: colours[name] % COLOURS for name in names}


def mean_counts(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer counts averaged over judges, from the `details` of each result."""
    tables = []
    for details in results:
        attributes = _READ.validate_python(details.get(KEY, ()))
        tables.append({counted.attribute: counted for counted in attributes})
    means = []
    for name in tables[0]:
        if all(name in table for table in tables):
            same = [table[name] for table in tables]
            means.append(asdict(_mean(same)))
    return means


def _mean(same: Sequence[CountedAttribute]) -> CountedAttribute:
    """Return one attribute's counts averaged over judges, for prompts that all judges have."""
    tables = [{row.name: row for row in counted.rows} for counted in same]
    rows = []
    for name in tables[0]:
        if all(name in table for table in tables):
            same_rows = [table[name] for table in tables]
            rows.append(_mean_row(same_rows))
    classes: dict[str, None] = {}
    for counted in same:
        classes.update(dict.fromkeys(counted.classes))
    return replace(same[0], classes=tuple(classes), rows=tuple(rows))


def _mean_row(same: Sequence[CountedPrompt]) -> CountedPrompt:
    classes = dict.fromkeys(name for row in same for name in row.counts)
    counts = {
        name: sum(row.counts.get(name, 0) for row in same) / len(same)
        for name in classes
    }
    unanswered = sum(row.unanswered for row in same) / len(same)
    return CountedPrompt(same[0].name, counts, unanswered, same[0].known)


_READ = TypeAdapter(tuple[CountedAttribute, ...])


@dataclass(frozen=True, slots=True)
class RowShare:
    """The interval and the corrected p-value of one score of a row.

    Attributes:
        low: Lower end of its interval; None without one.
        high: Upper end.
        p: p-value after correction over the rows.
    """

    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One prompt's answer counts as pages show them: with short name, interval and test.

    Attributes:
        counted: The answers.
        short: Its name without what all names have in common.
        most: The class of most images; None without an answer.
        interval: Interval of that class's share, with room for images without an answer; None if
            unknown.
        clear: Whether that class is more frequent than expected beyond chance, over all rows.
        about: The question, such as 'person race'.
        p: p-value that that class is not more frequent than expected, after correction over the
            rows; None if it is not more frequent in these images, or without a test.
    """

    counted: CountedPrompt
    short: str
    most: str | None
    interval: tuple[float, float] | None
    clear: bool
    about: str = ""
    p: float | None = None

    @property
    def images(self) -> float:
        """Number of images, with an answer or without one."""
        return sum(self.counted.counts.values()) + self.counted.unanswered

    @property
    def hits(self) -> float:
        """Number of images of the most frequent class."""
        return self.counted.counts.get(self.most or "", 0.0)


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """The answer counts for one question as pages show them, in the order of the task."""

    counted: CountedAttribute
    rows: tuple[ShownRow, ...]


# Finds a score by the name of its row, the group of that (None for any) and its own name.
Lookup = Callable[[str, str | None, str], RowShare | None]


def shown_attributes(
    details: Mapping[str, Any], tested: Lookup
) -> tuple[ShownAttribute, ...]:
    """Return the answer counts in `details` for pages; an empty tuple if they are malformed.

    `tested` gives the interval and p-value of a row's score by the name and group of
    the row and the name of the score.
    """
    try:
        attributes = _READ.validate_python(details.get(KEY, ()))
    except ValidationError:
        return ()
    shown = [
        ShownAttribute(counted, _rows(counted, tested))
        for counted in attributes
        if not counted.estimated
    ]
    return tuple(each for each in shown if any(row.images for row in each.rows))


def shown_of(result: MethodResult) -> tuple[ShownAttribute, ...]:
    """Return a result's answer counts for pages, with Holm's correction over its rows."""
    shares: dict[tuple[str, str | None, str], RowShare] = {}
    families = {(item.tested_with, name) for item in result.by for name in item.scores}
    for family, name in families:
        items = [
            item
            for item in result.by
            if item.tested_with == family and name in item.scores
        ]
        scores = [item.scores[name] for item in items]
        adjusted = holm([score.p for score in scores])
        for item, score, p in zip(items, scores, adjusted, strict=True):
            low, high = score.interval or (None, None)
            for group in (item.group, None):
                shares.setdefault((item.name, group, name), RowShare(low, high, p))
    return shown_attributes(result.details, lambda *key: shares.get(key))


def _rows(counted: CountedAttribute, tested: Lookup) -> tuple[ShownRow, ...]:
    names = short_names([row.name for row in counted.rows])
    return tuple(
        _shown_row(counted, row, short, tested)
        for row, short in zip(counted.rows, names, strict=True)
    )


def _shown_row(
    counted: CountedAttribute, row: CountedPrompt, short: str, tested: Lookup
) -> ShownRow:
    total = sum(row.counts.values())
    most = None
    if total:
        most = max(counted.classes, key=lambda name: row.counts.get(name, 0))
    share = _first_score(counted, row, f"share:{most}", tested)
    interval = None
    if counted.test:
        share = None
    if share is not None and share.low is not None and share.high is not None:
        interval = (max(share.low, 0.0), min(share.high, 1.0))
    test = _first_score(counted, row, _test_of(counted) or f"share:{most}", tested)
    p = None
    if most is not None and test is not None:
        is_frequent = row.counts.get(most, 0) * len(counted.classes) > total
        p = test.p if is_frequent else None
    return ShownRow(
        counted=row,
        short=short,
        most=most,
        interval=interval,
        clear=p is not None and p < _ALPHA,
        about=counted.attribute,
        p=p,
    )


def _test_of(counted: CountedAttribute) -> str:
    """Return the name of the score that tests all classes of a row; '' if each has its own."""
    if counted.test:
        return counted.test
    return "lean" if len(counted.classes) == 2 else ""


def _first_score(
    counted: CountedAttribute, row: CountedPrompt, score: str, tested: Lookup
) -> RowShare | None:
    """Return the interval and p-value of a row's `score`; None if `tested` has none.

    Families name their rows differently, so each of these names is tried.
    """
    names: list[tuple[str, str | None]] = [
        (row.name, counted.attribute),
        (f"{row.name} ({counted.attribute})", counted.attribute),
        (f"{row.name} | {counted.attribute}", counted.attribute),
    ]
    if len(counted.rows) == 1:
        names.append((counted.attribute, None))
    for name, group in names:
        share = tested(name, group, score)
        if share is not None:
            return share
    return None


def short_names(names: Sequence[str]) -> list[str]:
    """Return prompts without their article and the words they all begin or end with.

    Full names are returned where two different prompts would become equal.

    Examples:
        >>> short_names(["a photo of a nurse at work", "a photo of an artist at work"])
        ['nurse', 'artist']
        >>> short_names(["A CEO in an office", "A nurse"])
        ['CEO in an office', 'nurse']
        >>> short_names(["nurse"])
        ['nurse']
    """
    bare = [_without_article(name) for name in names]
    words = [re.sub(r"([.,;:])(?=\s|$)", r" \1", name).split() for name in bare]
    start = 0
    end = 0
    if len(names) > 1:
        shortest = min(map(len, words)) - 1
        while start < shortest and _all_have_same_word(words, start):
            start += 1
        while end < shortest - start and _all_have_same_word(words, -1 - end):
            end += 1
    cut = [_joined(of_name[start : len(of_name) - end]) for of_name in words]
    return cut if len(set(cut)) == len(set(names)) else list(names)


def _without_article(name: str) -> str:
    return _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name


def _all_have_same_word(names: Sequence[Sequence[str]], position: int) -> bool:
    return len({words[position].casefold() for words in names}) == 1


def _joined(words: Sequence[str]) -> str:
    """Return words joined to a name of at most 60 letters, without article and full stop."""
    name = _without_article(re.sub(r" ([.,;:])", r"\1", " ".join(words)))
    name = name.rstrip(".") or name
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 1].rstrip()}…"


def sorted_rows(shown: ShownAttribute) -> list[ShownRow]:
    """Return the rows sorted by their share of the first-coloured class, largest first."""
    first = next(iter(class_colours(shown.counted.classes)))

    def place(row: ShownRow) -> tuple[float, str]:
        share = row.counted.counts.get(first, 0) / max(row.images, 1)
        return -round(share, 9), row.short

    return sorted(shown.rows, key=place)
