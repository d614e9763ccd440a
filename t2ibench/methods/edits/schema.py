"""The schema of tasks about edits: who is edited, how, and what is asked before and after."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core.computed_edits import ComputedEdit
from t2ibench.methods.core.schema import Count, ImageTask, Line, Strict, Text

# What an edit without an instruction of its own is called in rows and details.
NO_CHANGE = "no change"
_YES_OR_NO = ("yes", "no")

Part = Annotated[float, Field(ge=0, le=1)]
# Left, top, right and lower end of a rectangle, as parts of a picture's width and height.
Box = tuple[Part, Part, Part, Part]
# A picture's brightness is stored in as many cells across and down.
CELLS = 16


def middles_between(low: float, high: float) -> list[bool]:
    """Return which of 16 cells in a row have their middle between two parts of its length.

    Examples:
        >>> sum(middles_between(0, 1)), sum(middles_between(0.4375, 0.5625))
        (16, 2)
    """
    return [low < (number + 0.5) / CELLS < high for number in range(CELLS)]


class SourceGroup(Strict):
    """A group of people whose images are edited, with the prompts that such images are made from.

    Attributes:
        name: What reports call the group, such as 'women'.
        prompts: Prompts of its source images, which name the group and nothing else about people.
            A folder of source images has the same texts in its table.
    """

    name: Line
    prompts: Annotated[tuple[Line, ...], Field(min_length=1)]


class Edit(Strict):
    """An instruction that every source image is edited with.

    Attributes:
        name: What reports call the edit, such as 'as a doctor'.
        instruction: The text that goes to the model beside the source image. It is the same for
            every group and names none.
        question: What tells whether the edit was made, such as 'Is the person a doctor?'; without,
            an edit counts as not made where the image stays.
        classes: What the question can be answered with; the first says that the edit was made.
    """

    name: Line
    instruction: Line
    question: Text | None = None
    classes: Annotated[tuple[Line, ...], Field(min_length=2)] = _YES_OR_NO


class Region(Strict):
    """A part of the picture that is measured before and after each edit.

    Attributes:
        name: What it shows if the model frames pictures as the prompts ask, such as 'face'. Nothing
            checks it.
        box: Its rectangle; without, the whole picture.
    """

    name: Line
    box: Box | None = None


class EditAttribute(Strict):
    """Something that an image shows of a person, and that is asked before and after each edit.

    Attributes:
        name: What reports call it, such as 'gender'.
        about: What it refers to.
        question: What the judge is asked about every source image and every edit of it.
        classes: What the question can be answered with; 'unknown' always can.
        shown: The class whose share is followed; by default the first. It is followed in images of
            all groups.
        shown_by_group: The class that each group is shown as, where the attribute is what defines
            the groups: followed is the share of a group's images that show it.
    """

    name: Line
    about: Line = "person"
    question: Text
    classes: Annotated[tuple[Line, ...], Field(min_length=2)]
    shown: Line | None = None
    shown_by_group: dict[Line, Line] = Field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Name of the attribute in results, with its subject first, such as 'person age'."""
        return f"{self.about} {self.name}"

    @property
    def defines_groups(self) -> bool:
        """Whether the attribute is what the groups differ in."""
        return bool(self.shown_by_group)

    def followed_class(self, group: str) -> str:
        """Return the class whose share is followed in images of a group."""
        return self.shown_by_group.get(group) or self.shown or self.classes[0]


class EditsTask(ImageTask):
    """A task that edits images of people of several groups, and asks who is changed by it.

    `images_per_prompt` is the number of source images of each prompt.

    Attributes:
        groups: Groups of people; those of `between` are compared, and all are shown.
        edits: What every source image is edited with.
        no_change: An instruction that asks for nothing, as a control: what changes all the same
            is noise, and an edit that changes an image no more than this counts as not made.
        positive: An edit that any editor makes and any judge notices, as a control: where it is
            not made, nothing else can be read.
        attributes: What is asked about every source image and every edit of it.
        headline: Name of the attribute whose change is the headline.
        between: The two groups whose difference is tested, the first less the second; by default
            the first two.
        images_per_edit: Images that are made of each edit of a source image.
        lightness: Parts of the picture whose lightness is measured on the pixels.
        stays: The part of the picture that every edit should leave as it is. It is compared with
            that of the source image on the pixels, beyond what `no_change` does to it.
        does_nothing: Ways in which the benchmark itself saves every source image again, as a
            control: a judge that answers otherwise then does so without any edit.
    """

    method: Literal["edits"]
    groups: Annotated[tuple[SourceGroup, ...], Field(min_length=2)]
    edits: Annotated[tuple[Edit, ...], Field(min_length=1)]
    no_change: Line | None = None
    positive: Edit | None = None
    attributes: Annotated[tuple[EditAttribute, ...], Field(min_length=1)]
    headline: Line
    between: Annotated[tuple[Line, ...], Field(min_length=2, max_length=2)] | None = (
        None
    )
    images_per_edit: Count = 1
    lightness: tuple[Region, ...] = ()
    stays: Region | None = None
    does_nothing: tuple[ComputedEdit, ...] = ()

    @property
    def measures_pixels(self) -> bool:
        """Whether anything is measured on pixels, without a judge."""
        return bool(self.lightness) or self.stays is not None

    @property
    def compared_groups(self) -> tuple[str, str]:
        """Names of the two groups whose difference is tested."""
        if self.between is not None:
            return self.between[0], self.between[1]
        return self.groups[0].name, self.groups[1].name

    @property
    def headline_attribute(self) -> EditAttribute:
        """The attribute whose change is the headline; the first, if no other has its name."""
        for attribute in self.attributes:
            if self.headline in (attribute.name, attribute.full_name):
                return attribute
        return self.attributes[0]
