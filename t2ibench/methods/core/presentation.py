"""Presentation of a task's result on pages: its poles, rows, images, figures and formula."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from t2ibench.methods.core.answer_counts import class_colours

LEAN = (
    "lean = (2 y − a − b) / (a − b), with y, a and b the means of a stimulus's images"
)


def short_name(title: str, paper: str = "") -> str:
    """Return a task's short name for tables, from its title.

    A title that begins with `paper`, a regular expression, and a colon is named by what
    follows.

    Examples:
        >>> short_name("Paper 7: sports, male or female", "Paper [0-9]+")
        'sports'
        >>> short_name("11 occupations of TIBET: male or female?")
        '11 occupations of TIBET'
    """
    head, _, subtitle = title.partition(": ")
    return (
        subtitle.partition(",")[0] if subtitle and re.fullmatch(paper, head) else head
    )


@dataclass(frozen=True, slots=True)
class Axis:
    """The meanings of both ends of an axis from -1 to 1."""

    low: str  # what -1 is, such as 'female'
    high: str  # what 1 is, such as 'male'


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Rows of a result that are shown as marks on one axis."""

    score: str  # name of the rows' score
    noun: str  # what a row is, such as 'occupation'
    axis: Axis | None = None  # its poles; None where it has a size but no direction
    square: bool = False  # whether the score is a squared lean, shown as its root
    groups: frozenset[str] | None = None  # groups whose rows are meant; None for all
    # groups whose rows count with the other sign in the headline
    flipped: frozenset[str] = frozenset()
    scale: str = (
        "lean"  # name of the scale of the score, which gives the ends of the axis
    )
    # whether a score is shown with the other sign: its task names first who has the low side of
    # every page
    turned: bool = False

    @classmethod
    def of_classes(
        cls, noun: str, classes: tuple[str, str], groups: frozenset[str]
    ) -> RowSeries:
        """Return the leans between two classes, of which each has its side of every page.

        A score is positive where the first class is more frequent. Sides go by the classes'
        colours, whatever their order in the task.

        Examples:
            >>> series = RowSeries.of_classes("prompt", ("female", "male"), frozenset({"gender"}))
            >>> series.axis, series.turned
            (Axis(low='female', high='male'), True)
        """
        high, low = class_colours(classes)
        axis = Axis(low, high)
        return cls("lean", noun, axis, groups=groups, turned=high != classes[0])


@dataclass(frozen=True, slots=True)
class ImageSeries:
    """The display of one number of each image of a result along an axis."""

    value: str  # its key in a row of samples
    axis: Axis
    caption: str  # the key that says which stimulus the image is of
    noun: str = "lean"  # what the number is called


@dataclass(frozen=True, slots=True)
class ImageGroups:
    """How pages group and sort the images behind one row of a result."""

    # from the name of a result's row and a row of samples: the image's group, such as the answer
    # that it was given; None where the image has no part in the row
    of: Callable[[str, Mapping[str, Any]], str | None]
    phrase: str  # what a group is, with '{group}', such as 'answered “{group}”'
    # rows of the result that are meant: those with this score, the largest first
    row: str
    # from the same: a number by which images are sorted within a group; None where there is none,
    # and images are picked at random
    value: Callable[[str, Mapping[str, Any]], float | None] | None = None
    # prompt to the stimulus that it was made from, where it is not a row of its own
    stimuli: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quantity:
    """The number of each row that is shown on one axis of a figure."""

    label: str  # what the axis is called
    # name of the rows' score; None where `given` has the numbers
    score: str | None = None
    # row's name to number, such as labour statistics
    given: Mapping[str, float] | None = None
    # whether a lean is shown as the share of the high pole, (1 + lean) / 2, or, with 'low', of the
    # low one
    share: Literal["high", "low"] | None = None
    low: float = 0.0  # where the axis begins at the latest
    high: float = 1.0  # where it ends at the earliest


@dataclass(frozen=True, slots=True)
class Scatter:
    """A figure that shows rows as points of a plane."""

    title: str
    x: Quantity  # to the right
    y: Quantity  # up
    caption: str
    source: str = ""
    groups: frozenset[str] | None = None  # groups whose rows are meant; None for all
    diagonal: bool = False  # whether equal numbers lie on a line that is shown
    # whether the intervals of the upward score are shown, as far as it has some
    intervals: bool = False
    # name of the rows' score that tests whether a point lies off the diagonal, above it where the
    # score is positive; None where nothing does
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Arrows:
    """A figure that shows rows as arrows from one lean to another on one axis."""

    title: str
    start: str  # name of the score at the tail
    end: str  # name of the score at the head
    axis: Axis
    caption: str
    source: str = ""
    tail: str = "words"  # what the key calls the start
    head: str = "images"  # what it calls the end


@dataclass(frozen=True, slots=True)
class Distribution:
    """A figure that shows a number of every image as one dot, group by group."""

    title: str
    value: str  # its key in a row of samples
    group: str  # the key of the group
    axis: Axis
    caption: str
    source: str = ""
    # group to the task's score that is its mean, with its interval
    means: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bars:
    """A figure with bars for the scores of the rows that lean most."""

    title: str
    prefix: str  # of the names of the scores that are shown, such as 'share:'
    row: str  # the score that rows are sorted by
    caption: str
    source: str = ""
    axis: str = ""  # what the bars are of, in words


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure: several items, each with a number in every column."""

    title: str  # what the items are, such as concepts
    row: str  # name of the result's row that decides which panels come first
    # what is beside each other, such as a prompt and its counterfactuals
    columns: tuple[str, ...]
    # what a line is of, such as a concept, and its number in each column; None where it is not
    # known
    items: tuple[tuple[str, tuple[float | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Panels:
    """A figure of panels that show which items stand out in one column and not in the others."""

    title: str
    # from the result's details to its panels
    read: Callable[[Mapping[str, Any]], Sequence[Panel]]
    # the score by which panels are sorted, the largest first; None to begin with those whose first
    # line sets the columns most apart
    order: str | None
    item: str  # what a line is of, such as 'concept'
    absent: str  # what a dash means
    caption: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Combinations:
    """A figure of how often combinations are shown, and would be if independent.

    The rows of the group have the scores 'joint_share', 'independent_share' and 'excess', the
    difference, with its interval; the details hold a `CrossingReport` of that name.
    """

    title: str
    group: str  # group of the rows, which is the name of the crossing
    caption: str
    source: str = ""

    @classmethod
    def of(cls, group: str, about: str) -> Combinations:
        """Return the figure of one combination of attributes, such as 'gender x age'.

        `about` says what its intervals are about, such as 'these prompts'.
        """
        return cls(
            f"Which combinations are shown: {group}",
            group,
            "Hollow: the share that its parts alone would make. Filled: the share of the images, "
            "in colour where the difference is clear after Holm’s correction; the line is the "
            f"interval of the difference, for {about}. It does not say whether a part by itself is "
            "balanced, and no clear difference is not independence.",
        )


@dataclass(frozen=True, slots=True)
class Apart:
    """A figure of the distance between images of two groups, row by row and overall."""

    title: str
    score: str  # name of the score, of the rows and of the task
    # name of the task's score of two halves of the same images, which is 0 by chance
    halves: str
    caption: str
    source: str = ""  # the publication that the measure goes back to


class Figure(Protocol):
    """The settings of a figure: a frozen dataclass, above or in another package.

    What draws it is registered under the full name of its class, as an entry of
    `t2ibench.reports.figures.figure.FIGURES` or of the entry-point group `t2ibench.figures`.
    """

    @property
    def title(self) -> str:
        """Heading of the figure."""
        ...

    @property
    def caption(self) -> str:
        """How to read the figure, in a sentence or two."""
        ...

    @property
    def source(self) -> str:
        """Publication that the figure follows; empty for none."""
        ...


@dataclass(frozen=True, slots=True)
class Presentation:
    """How pages show a task's result: its poles, rows, images, figures and formula."""

    name: str  # a short name, such as 'science / arts'
    # the poles of the headline; None where it has a size but no direction
    axis: Axis | None = None
    # the rows to show, by series; the first is the one behind the headline
    rows: tuple[RowSeries, ...] = ()
    # the number of each image, or what sorts the images into groups
    images: ImageSeries | ImageGroups | None = None
    formula: str = ""  # the headline's formula, in one or two lines of plain text
    source: str = ""  # publication and equation that it goes back to
    figures: tuple[Figure, ...] = ()  # the method's figures, over rows and images
    # further rows with two poles, which pages do not draw but compare with other methods
    leans: tuple[RowSeries, ...] = ()
