"""What images of people showed before and after edits, as a result's `details` hold it.

A family that measures edits puts its counts into the details of its result, as `EDITS`; pages show
them beside the pairs of images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

# Key of a result's details.
EDITS = "edits"
# What a row of counts is called that is of all edits together.
ALL_EDITS = "all edits"
# The group of a result's rows that are about what became of edits, not about what changed.
OUTCOME = "outcome"
# The row of images that do not exist, because the model would not make them.
REFUSED = "refused"
# The score of a row that is tested: how the two compared groups differ.
LEAN = "lean"

_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class ShareChange:
    """The share of a class in images of one group, or a measured value, before and after an edit.

    Attributes:
        edit: Name of the edit, or `ALL_EDITS`.
        group: Name of the group.
        pairs: Edited images that were answered for, as was their source image.
        before: Of their source images, the share that shows the class; an edit that has more
            pairs does not count for more. None without pairs.
        after: Of the edited images, the share that shows it.
        change: After less before; None without pairs.
        low: Lower end of its confidence interval; None where there is none.
        high: Upper end.
        shown_before: Pairs of which the source image shows the class.
        shown_in_both: Pairs of which both images show it.
    """

    edit: str
    group: str
    pairs: int
    before: _Share | None = None
    after: _Share | None = None
    change: _Share | None = None
    low: _Share | None = None
    high: _Share | None = None
    shown_before: _Count = 0
    shown_in_both: _Count = 0


@dataclass(frozen=True, slots=True)
class Moves:
    """How many images of a group were answered with one class before an edit, another after.

    Attributes:
        edit: Name of the edit.
        group: Name of the group.
        before: Class of the source image; 'unknown' where the judge could not tell.
        after: Class of the edited image.
        images: Number of edited images.
    """

    edit: str
    group: str
    before: str
    after: str
    images: _Count


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """What was asked before and after edits, and what changed.

    Attributes:
        attribute: Name of the attribute, such as 'person gender'.
        question: What was asked.
        classes: What it can be answered with.
        defines_groups: Whether the groups differ in it, so that only a loss is possible.
        followed: Group to the class whose share `shares` are about.
        shares: A row for each edit and group, and for all edits.
        moves: A row for each edit, group, and pair of classes that occurs.
        is_measured: Whether it is a value that was measured on pixels, of which `question` says
            what it is, rather than the share of a class that was answered.
    """

    attribute: str
    question: str
    classes: tuple[str, ...]
    defines_groups: bool
    followed: dict[str, str]
    shares: tuple[ShareChange, ...] = ()
    moves: tuple[Moves, ...] = ()
    is_measured: bool = False


@dataclass(frozen=True, slots=True)
class EditOutcomes:
    """What became of the requested edits of one group's source images.

    Attributes:
        edit: Name of the edit, or `ALL_EDITS`.
        group: Name of the group.
        requested: Images that were requested of existing source images.
        edited: Images that were edited, by the edit's question or else by their distance.
        not_edited: Images that came back without the edit.
        unclear: Images of which nothing tells whether the edit was made.
        excluded: Reason to number of images that are missing, such as 'refused'; 'source' is not
            among `requested`.
        near: Images no farther from their source image than a control that asks for no change.
        measured: Images whose distance is known.
    """

    edit: str
    group: str
    requested: _Count = 0
    edited: _Count = 0
    not_edited: _Count = 0
    unclear: _Count = 0
    excluded: dict[str, _Count] = field(default_factory=dict)
    near: _Count = 0
    measured: _Count = 0


@dataclass(frozen=True, slots=True)
class AskedAbout:
    """About how many images a judge was asked a question, and how many it gave a class.

    Attributes:
        about: What the question is about, such as 'person gender'.
        images: Source images and edited images that exist.
        answered: Of these, the ones that were answered with a class.
    """

    about: str
    images: _Count
    answered: _Count


@dataclass(frozen=True, slots=True)
class EditReport:
    """All counts of a task about edits.

    Attributes:
        headline: Name of the attribute whose change is the headline.
        groups: Names of all groups.
        between: The two groups that are compared, the first less the second.
        edits: Names of the edits, without controls.
        controls: Names of the edits that are controls.
        attributes: What changed, attribute by attribute.
        outcomes: What became of the edits, by edit and group.
        threshold: Distance up to which an image counts as near its source image; None where no
            control measures it.
        sources: Group to its number of source images that exist.
        asked: What was asked about source images and edits, a row a question.
    """

    headline: str
    groups: tuple[str, ...]
    between: tuple[str, str]
    edits: tuple[str, ...]
    controls: tuple[str, ...] = ()
    attributes: tuple[AttributeChange, ...] = ()
    outcomes: tuple[EditOutcomes, ...] = ()
    threshold: _Share | None = None
    sources: dict[str, _Count] = field(default_factory=dict)
    asked: tuple[AskedAbout, ...] = ()

    @property
    def n_sources(self) -> int:
        """Number of source images that exist, of all groups."""
        return round(sum(self.sources.values()))

    @property
    def n_edits(self) -> int:
        """Number of edits, with controls."""
        return len(self.edits) + len(self.controls)


_REPORT = TypeAdapter(EditReport)


def edit_report(details: Mapping[str, Any]) -> EditReport | None:
    """Return the counts of edits in a result's `details`; None without, or if malformed."""
    try:
        return _REPORT.validate_python(details.get(EDITS))
    except ValidationError:  # of a method that means something else by the name
        return None
