"""Who is shown as what: answers about images, counted prompt by prompt.

A family whose judge, or people, answer with classes puts its counts into the details of its result,
as `KEY`; every page shows these rows before any measure that combines them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.stats import holm

KEY = "answers_by_prompt"  # of a result's details
_ALPHA = 0.05
_LONGEST = 60  # letters of a name
_ARTICLE = re.compile(r"(an?|the) ", re.IGNORECASE)
# Classes that many tasks have: the number of their colour.
_COLOURS = {
    **{"male": 0, "female": 1, "nonbinary": 2, "non-binary": 2},
    **{"young": 0, "young or middle-aged": 0, "old": 1, "middle-aged": 2},
    **{"light skin": 0, "light": 0, "dark skin": 1, "dark": 1},
    **{
        "white": 0,
        "black": 1,
        "asian": 2,
        "latino": 3,
        "hispanic": 3,
        "middle eastern": 4,
    },
    **{"indian": 5},
}

_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class CountedPrompt:
    """The answers about the images of one prompt, or of all prompts with one stimulus."""

    name: str  # the prompt, or the stimulus
    # class to number of images; of several judges, what most of them said of an image
    counts: dict[str, _Count]
    # images whose class is not known, although what they show may be why
    unanswered: _Count = 0
    # class to a share that is known, such as that of labour statistics
    known: dict[str, float] = field(default_factory=dict)
    # class to number of images that people labelled so
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountedAttribute:
    """The answers to one question, as an entry of `details['answers_by_prompt']`."""

    attribute: str  # the group of its rows
    classes: tuple[str, ...]  # what could be answered
    rows: tuple[CountedPrompt, ...]
    # class to what its known shares are
    references: dict[str, str] = field(default_factory=dict)
    noun: str = "prompt"  # what a row is, such as 'prompt'
    # whether counts are estimated shares of a prompt's images, and no numbers
    estimated: bool = False


def class_colours(classes: Sequence[str]) -> dict[str, int]:
    """Class to the number of its colour, in that order: the same in every task and run."""
    places = {name: _COLOURS.get(name.casefold(), -1) for name in classes}
    free = (k for k in range(len(places)) if k not in places.values())
    found = {name: next(free) if k < 0 else k for name, k in sorted(places.items())}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def mean_counts(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of several judges' details as one: the mean of their counts."""
    tables = [
        {one.attribute: one for one in _READ.validate_python(details.get(KEY, ()))}
        for details in results
    ]
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    return [asdict(_mean([table[name] for table in tables])) for name in shared]


def _mean(same: Sequence[CountedAttribute]) -> CountedAttribute:
    tables = [{row.name: row for row in one.rows} for one in same]
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    rows = []
    for name in shared:
        of = [table[name] for table in tables]
        classes = dict.fromkeys(group for row in of for group in row.counts)
        counts = {
            group: sum(row.counts.get(group, 0) for row in of) / len(of)
            for group in classes
        }
        rows.append(
            CountedPrompt(
                name, counts, sum(row.unanswered for row in of) / len(of), of[0].known
            )
        )
    classes = dict.fromkeys(group for one in same for group in one.classes)
    return replace(same[0], classes=tuple(classes), rows=tuple(rows))


_READ = TypeAdapter(tuple[CountedAttribute, ...])


@dataclass(frozen=True, slots=True)
class RowShare:
    """What a result's row says of one score."""

    low: float | None  # lower end of its interval; None without one
    high: float | None
    p: float | None  # p-value after correction over the rows


@dataclass(frozen=True, slots=True)
class ShownRow:
    """Who is shown in the images of one prompt."""

    counted: CountedPrompt
    short: str  # its name without what all names have in common
    most: str | None  # the class of most images; None without an answer
    # of that class's share, with room for images without an answer; None if unknown
    interval: tuple[float, float] | None
    # whether that class is more frequent than expected beyond chance, over all rows
    clear: bool
    estimated: bool = False  # see `CountedAttribute`
    about: str = ""  # the question, such as 'person race'

    @property
    def images(self) -> float:
        """Images, answered or not."""
        return sum(self.counted.counts.values()) + self.counted.unanswered

    @property
    def hits(self) -> float:
        """Images of the class that most show."""
        return self.counted.counts.get(self.most or "", 0.0)


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """The rows of one question, in the order of the task."""

    counted: CountedAttribute
    rows: tuple[ShownRow, ...]


# Of a row's name, its group (None for any) and a score.
Lookup = Callable[[str, str | None, str], RowShare | None]


def shown_attributes(
    details: Mapping[str, Any], tested: Lookup
) -> tuple[ShownAttribute, ...]:
    """The rows of a result; none where its family counts no answers, or details are malformed."""
    try:
        found = _READ.validate_python(details.get(KEY, ()))
    except ValidationError:
        return ()
    shown = [ShownAttribute(one, _rows(one, tested)) for one in found]
    return tuple(one for one in shown if any(row.images for row in one.rows))


def shown_of(result: MethodResult) -> tuple[ShownAttribute, ...]:
    """The rows of a result that is not written yet, with p-values corrected as they will be."""
    found: dict[tuple[str, str | None, str], RowShare] = {}
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
                found.setdefault((item.name, group, name), RowShare(low, high, p))
    return shown_attributes(result.details, lambda *key: found.get(key))


def _rows(one: CountedAttribute, tested: Lookup) -> tuple[ShownRow, ...]:
    rows = []
    test = "squared_lean" if one.estimated else "lean" if len(one.classes) == 2 else ""
    for counted, short in zip(
        one.rows, short_names([row.name for row in one.rows]), strict=True
    ):
        total = sum(counted.counts.values())
        most = (
            max(one.classes, key=lambda name: counted.counts.get(name, 0))
            if total
            else None
        )
        names: list[tuple[str, str | None]] = [
            (counted.name, one.attribute),
            (f"{counted.name} ({one.attribute})", one.attribute),
            (f"{counted.name} | {one.attribute}", one.attribute),
        ]
        names += [(one.attribute, None)] if len(one.rows) == 1 else []
        share, p = None, None
        for name, group in names:
            share = share or tested(name, group, f"share:{most}")
            p = p or tested(name, group, test or f"share:{most}")
        interval = None
        if share is not None and share.low is not None and share.high is not None:
            interval = (max(share.low, 0.0), min(share.high, 1.0))
        clear = p is not None and p.p is not None and p.p < _ALPHA and most is not None
        clear = clear and counted.counts.get(most or "", 0) * len(one.classes) > total
        about = one.attribute
        rows.append(
            ShownRow(counted, short, most, interval, clear, one.estimated, about)
        )
    return tuple(rows)


def short_names(names: Sequence[str]) -> list[str]:
    """Prompts without the words that all of them begin or end with, and without an article.

    Examples:
        >>> short_names(["a photo of a nurse at work", "a photo of an artist at work"])
        ['nurse', 'artist']
        >>> short_names(["A CEO in an office", "A nurse"])
        ['CEO in an office', 'nurse']
        >>> short_names(["nurse"])
        ['nurse']
    """
    bare = [
        _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
        for name in names
    ]
    words = [re.sub(r"([.,;:])(?=\s|$)", r" \1", name).split() for name in bare]
    start = end = 0
    if len(names) > 1:
        shortest = min(map(len, words)) - 1
        while start < shortest and len({one[start].casefold() for one in words}) == 1:
            start += 1
        while (
            end < shortest - start
            and len({one[-1 - end].casefold() for one in words}) == 1
        ):
            end += 1
    cut = []
    for one in words:
        name = re.sub(r" ([.,;:])", r"\1", " ".join(one[start : len(one) - end]))
        name = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
        name = name.rstrip(".") or name
        cut.append(
            name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip()}…"
        )
    return cut if len(set(cut)) == len(set(names)) else list(names)


def sorted_rows(one: ShownAttribute) -> list[ShownRow]:
    """The rows by the share of the class of the first colour, so that sides stand together."""
    first = next(iter(class_colours(one.counted.classes)))

    def place(row: ShownRow) -> tuple[float, str]:
        return -round(
            row.counted.counts.get(first, 0) / max(row.images, 1), 9
        ), row.short

    return sorted(one.rows, key=place)
