"""What a page needs to know of a task to show its result: poles, names of numbers, formula."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

LEAN = "lean = (2 y − a − b) / (a − b), with y, a and b the means of a stimulus's images"


def short_name(title: str, paper: str = "") -> str:
    """A task's name for a row of a table, from its title.

    Examples:
        >>> short_name("Paper 7: sports, male or female", "Paper [0-9]+")
        'sports'
        >>> short_name("11 occupations of TIBET: male or female?")
        '11 occupations of TIBET'
    """
    head, _, rest = title.partition(": ")
    return rest.partition(",")[0] if rest and re.fullmatch(paper, head) else head


@dataclass(frozen=True, slots=True)
class Axis:
    """What the two ends of an axis from -1 to 1 mean.

    Attributes:
        low: What -1 is, such as 'female'.
        high: What 1 is, such as 'male'.
    """

    low: str
    high: str


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Rows of a result that are shown as marks on one axis.

    Attributes:
        score: Name of the rows' score.
        noun: What a row is, such as 'occupation'.
        axis: Its poles; None where it has a size but no direction.
        square: Whether the score is a squared lean, shown as its root.
        groups: Groups whose rows are meant; None for all.
        flipped: Groups whose rows count with the other sign in the headline.
    """

    score: str
    noun: str
    axis: Axis | None = None
    square: bool = False
    groups: frozenset[str] | None = None
    flipped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ImageSeries:
    """A number that the samples give for each image.

    Attributes:
        value: Its key in a row of samples.
        axis: Its poles.
        caption: The key that says which stimulus the image is of.
        noun: What the number is called.
    """

    value: str
    axis: Axis
    caption: str
    noun: str = "lean"


@dataclass(frozen=True, slots=True)
class ImageGroups:
    """A group that each image of the samples belongs to, for one row of the result.

    Attributes:
        of: From the name of a result's row and a row of samples: the image's group, such as the
            answer that it was given; None where the image has no part in the row.
        value: From the same: a number by which images are sorted within a group; None where
            there is none, and images are picked at random.
        said: What a group is, with '{group}', such as 'answered “{group}”'.
        row: Rows of the result that are meant: those with this score, the largest first.
        stimuli: Prompt to the stimulus that it was made from, where it is not a row of its own.
    """

    of: Callable[[str, Mapping[str, Any]], str | None]
    said: str
    row: str
    value: Callable[[str, Mapping[str, Any]], float | None] | None = None
    stimuli: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of each row, along one side of a figure.

    Attributes:
        label: What the axis is called.
        score: Name of the rows' score; None where `given` has the numbers.
        given: Row's name to number, such as labour statistics.
        share: Whether a lean is shown as the share of the high pole, (1 + lean) / 2, or, with
            'low', of the low one.
        low: Where the axis begins at the latest.
        high: Where it ends at the earliest.
    """

    label: str
    score: str | None = None
    given: Mapping[str, float] | None = None
    share: Literal["high", "low"] | None = None
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Scatter:
    """Rows as points of a plane.

    Attributes:
        title: What it shows.
        x: To the right.
        y: Up.
        caption: How to read it.
        source: The figure of a paper that it follows.
        groups: Groups whose rows are meant; None for all.
        diagonal: Whether equal numbers lie on a line that is shown.
        intervals: Whether the intervals of the upward score are shown, as far as it has some.
        difference: Name of the rows' score that tests whether a point lies off the diagonal, above
            it where the score is positive; None where nothing does.
    """

    title: str
    x: Quantity
    y: Quantity
    caption: str
    source: str = ""
    groups: frozenset[str] | None = None
    diagonal: bool = False
    intervals: bool = False
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Arrows:
    """Rows as arrows from one lean to another on one axis.

    Attributes:
        title: What it shows.
        start: Name of the score at the tail.
        end: Name of the score at the head.
        axis: The poles.
        caption: How to read it.
        source: The figure of a paper that it follows.
    """

    title: str
    start: str
    end: str
    axis: Axis
    caption: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The number of every image, one dot each, group by group.

    Attributes:
        title: What it shows.
        value: Its key in a row of samples.
        group: The key of the group.
        axis: The poles.
        caption: How to read it.
        source: The figure of a paper that it follows.
        means: Group to the task's score that is its mean, with its interval.
    """

    title: str
    value: str
    group: str
    axis: Axis
    caption: str
    source: str = ""
    means: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bars:
    """Numbers of the rows that lean most, as bars.

    Attributes:
        title: What it shows.
        prefix: Of the names of the scores that are shown, such as 'share:'.
        row: The score that rows are sorted by.
        caption: How to read it.
        source: The figure of a paper that it follows.
    """

    title: str
    prefix: str
    row: str
    caption: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """Numbers of one row of the result: of some items, beside each other in columns.

    Attributes:
        title: What they are of.
        row: Name of the result's row that decides which panels come first.
        columns: What is beside each other, such as a prompt and its counterfactuals.
        items: What a line is of, such as a concept, and its number in each column; None where it
            is not known.
    """

    title: str
    row: str
    columns: tuple[str, ...]
    items: tuple[tuple[str, tuple[float | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Panels:
    """Items by columns, panel by panel: what stands out in one column and not in the others.

    Attributes:
        title: What it shows.
        read: From the result's details to its panels.
        order: The score by which panels are sorted, the largest first; None to begin with those
            whose first line sets the columns most apart.
        item: What a line is of, such as 'concept'.
        absent: What a dash means.
        caption: How to read it.
        source: The figure of a paper that it follows.
        most: Panels that are drawn at most; the table has more, the CSV all.
    """

    title: str
    read: Callable[[Mapping[str, Any]], Sequence[Panel]]
    order: str | None
    item: str
    absent: str
    caption: str
    source: str = ""
    most: int = 3


@dataclass(frozen=True, slots=True)
class Combinations:
    """How frequent combinations are, beside what their parts alone would make them.

    The rows of the group have the scores 'joint_share', 'independent_share' and 'excess', the
    difference, with its interval; the details hold a `CrossingReport` of that name.

    Attributes:
        title: What it shows.
        group: Group of the rows, which is the name of the crossing.
        caption: How to read it.
        source: The figure of a paper that it follows.
    """

    title: str
    group: str
    caption: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Apart:
    """How far apart images of two groups are, row by row and in all.

    Attributes:
        title: What it shows.
        score: Name of the score, of the rows and of the task.
        halves: Name of the task's score of two halves of the same images, which is 0 by chance.
        noun: What a row is, such as 'object'.
        nouns: The same of several.
        caption: How to read it.
        source: The publication that the measure goes back to.
    """

    title: str
    score: str
    halves: str
    noun: str
    nouns: str
    caption: str
    source: str = ""


Figure = Scatter | Arrows | Distribution | Bars | Panels | Combinations | Apart


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a task's result is shown.

    Attributes:
        name: A short name, such as 'science / arts'.
        axis: The poles of the headline; None where it has a size but no direction.
        rows: The rows to show, by series; the first is the one behind the headline.
        images: The number of each image, or what sorts the images into groups.
        formula: The headline's formula, in one or two lines of plain text.
        source: Publication and equation that it goes back to.
        figures: The method's figures, over rows and images.
        leans: Further rows with two poles, which pages do not draw but compare with other methods.
    """

    name: str
    axis: Axis | None = None
    rows: tuple[RowSeries, ...] = ()
    images: ImageSeries | ImageGroups | None = None
    formula: str = ""
    source: str = ""
    figures: tuple[Figure, ...] = ()
    leans: tuple[RowSeries, ...] = ()
