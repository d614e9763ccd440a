"""Parts that the schemas of all tasks share; unknown keys are errors.

Word lists are given by name (a list of tasks/stimuli/) or in place; validation puts the words in,
so a validated task holds everything that decides its score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
)

from t2ibench.errors import did_you_mean, shown, visible
from t2ibench.settings import Settings

if TYPE_CHECKING:
    from t2ibench.methods.core.pools import CaptionPool


def _printable(value: str) -> str:
    """Return a text unchanged; raise an error for control or hidden characters.

    Line breaks and tabs are allowed.
    """
    plain = value.replace("\n", " ").replace("\t", " ")
    if visible(plain) != plain:
        raise ValueError(
            f"control, bidirectional and invisible characters are not allowed: '{shown(value)}'"
        )
    return value


def _one_line(value: str) -> str:
    if "\n" in value.strip():
        raise ValueError("expected one line")
    return value


Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=80)]
Text = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_printable)]
Line = Annotated[Text, AfterValidator(_one_line)]
Alternative = Literal["two-sided", "greater", "less"]
Side = Literal["A", "B"]
Warned = Literal["unequal_sizes", "articles", "language"]
# the list of tasks/stimuli that words are compared with by default
EVERYDAY = "everyday_words"
# Strict: `version: yes` or `images_per_prompt: "10"` is an error, not a number.
Count = Annotated[int, Field(strict=True, ge=1, le=100_000)]


def _named(table: str, what: str, more: str = "") -> BeforeValidator:
    """Return a validator that replaces a name with its entry in a table of the context."""

    def resolve(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        entries: dict[str, Any] = (info.context or {}).get(table, {})
        if value not in entries:
            hint = f"{did_you_mean(value, entries)}{more.format(shown(value))}"
            raise ValueError(f"unknown {what} '{shown(value)}'.{hint}")
        return entries[value]

    return BeforeValidator(resolve)


def of_word_list() -> BeforeValidator:
    """Return a validator that replaces the name of a list of tasks/stimuli with its words."""
    return _named("lists", "word list", " (A single word is a list too: [{}].)")


WordsOrNone = Annotated[
    tuple[
        Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)],
        ...,
    ],
    of_word_list(),
]
Words = Annotated[WordsOrNone, Field(min_length=1)]


class Strict(BaseModel):
    """Base of everything in a task file: unknown keys are errors, values do not change.

    Attributes:
        later: Keys that are left out where they are not used. A task's hash is over what it holds,
            so a key that is new in a schema must not change the hash of tasks that do not have it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    later: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        held = handler(self)
        return {
            key: value for key, value in held.items() if key not in self.later or value
        }


class WordGroup(Strict):
    """A named set of words.

    Attributes:
        name: What reports call the set.
        words: Name of a word list, or the words themselves.
    """

    name: Text
    words: Words


class Concept(Strict):
    """A named set of stimuli that go into prompts.

    Attributes:
        name: What reports call the concept.
        stimuli: Name of a word list, or the words themselves.
    """

    name: Text
    stimuli: Words


class Published(Strict):
    """A published value of a named model, shown next to ours; never used in a score.

    Attributes:
        model: The model or the word vectors it was measured on.
        scores: Score name to value.
        source: Paper and table.
    """

    model: Text
    scores: dict[str, float]
    source: Text


class BaseTask(Strict):
    """Base class of all tasks.

    Attributes:
        id: Unique name.
        version: Raised whenever a change to the file changes a score.
        method: How it is measured.
        title: One line.
        description: What is measured, and what the score does and does not show.
        citation: The publication it comes from.
        tags: For `--tasks tag:NAME`.
        extended: Not part of `--tasks all`: selected by its name, group or tag, or with all others
            of its kind as `--tasks extended`.
        control: 'positive' for a test that every working encoder passes. It stands apart from the
            findings: where it fails, nothing else can be read.
        notes: Caveats, shown with every result.
        published: Published values to compare with.
        expected_warnings: Warnings of `validate` that are intended; say why in the notes.
    """

    scored: ClassVar[bool] = True
    # what captions decide, where a task waits for them
    filled: ClassVar[tuple[str, ...]] = ()

    id: Identifier
    version: Count
    method: str
    title: Line
    description: Text
    citation: Text
    tags: tuple[Identifier, ...] = ()
    extended: bool = False
    control: Literal["positive"] | None = None
    notes: tuple[Text, ...] = ()
    published: tuple[Published, ...] = ()
    expected_warnings: tuple[Warned, ...] = ()

    @property
    def drawn_from(self) -> CaptionPool | None:
        """Pool of captions that the task is filled from; None if its file is complete."""
        return None

    @property
    def awaits(self) -> CaptionPool | None:
        """Pool of captions that the task still needs; None if it needs none."""
        pool = self.drawn_from
        return pool if pool is not None and pool.drawn is None else None


class ImageTask(BaseTask):
    """Base class of all tasks on images.

    Attributes:
        images_per_prompt: Images generated for a neutral (or target) prompt.
        guided_images_per_prompt: Images generated for an attribute prompt; by default
            images_per_prompt.
        unit: What is resampled: 'prompt' (images of one prompt resemble each other) or 'image'
            (the papers' version).
        alternative: Which side the p-value looks at.
    """

    images_per_prompt: Count = 10
    guided_images_per_prompt: Count | None = None
    unit: Literal["prompt", "image"] = "prompt"
    alternative: Alternative = "two-sided"

    def image_counts(self, settings: Settings) -> tuple[int, int]:
        """Return the number of images of a neutral prompt, and of a guided one."""
        guided = self.guided_images_per_prompt or self.images_per_prompt
        return settings.images(self.images_per_prompt), settings.guided_images(guided)


class Reference(Strict):
    """A known share to compare with, for example labour statistics.

    Attributes:
        name: What it is.
        group: The attribute group whose share it gives.
        shares: Stimulus to share, from 0 to 1; or the name of a reference table.
        source: Its source.
    """

    name: Text
    group: Text
    shares: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1)]],
        _named("references", "reference table"),
    ]
    source: Text


class TwoWordGroups(Strict):
    """The two sets of attribute words, A and B; a positive association is nearer to A."""

    A: WordGroup
    B: WordGroup


class ProposedBy(Strict):
    """The proposer of what a task asks about, recorded so that no run asks again.

    Attributes:
        proposer: As named to `t2ibench propose`.
        fingerprint: Of the proposer and its instructions.
        source: Captions or prompts that were given to it.
    """

    proposer: Text
    fingerprint: Text | None = None
    source: Text
