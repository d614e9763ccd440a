"""The schema of a task file, one model a method. Unknown keys are errors.

Word lists are given by name (a list of tasks/stimuli/) or in place; validation puts the words in,
so a validated task holds everything that decides its score.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from t2ibench.errors import did_you_mean

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=80)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Alternative = Literal["two-sided", "greater", "less"]
Side = Literal["A", "B"]
Warned = Literal["unequal_sizes", "articles"]
# Strict: `version: yes` or `images_per_prompt: "10"` is an error, not a number.
Count = Annotated[int, Field(strict=True, ge=1, le=100_000)]


def _resolve_words(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    lists: dict[str, tuple[str, ...]] = (info.context or {}).get("lists", {})
    if value not in lists:
        raise ValueError(
            f"there is no word list '{value}'.{did_you_mean(value, lists)} "
            f"(A single word is a list too: [{value}].)"
        )
    return lists[value]


def _resolve_reference(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    tables: dict[str, dict[str, Any]] = (info.context or {}).get("references", {})
    if value not in tables:
        raise ValueError(f"there is no reference table '{value}'.{did_you_mean(value, tables)}")
    return tables[value]


Words = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
    BeforeValidator(_resolve_words),
    Field(min_length=1),
]


class Strict(BaseModel):
    """Base of everything in a task file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    """A value somebody published for a named model, shown beside ours; never used in a score.

    Attributes:
        model: The model or the word vectors it was measured on.
        scores: Score name to value.
        source: Paper and table.
    """

    model: Text
    scores: dict[str, float]
    source: Text


class BaseTask(Strict):
    """What every task has.

    Attributes:
        id: Unique name.
        version: Raised whenever a change to the file changes a score.
        method: How it is measured.
        title: One line.
        description: What is measured, and what the score does and does not show.
        citation: Where the test comes from.
        tags: For `--tasks tag:NAME`.
        notes: Caveats, shown with every result.
        published: Published values to compare with.
        expected_warnings: Warnings of `validate` that are meant to be so; say why in the notes.
    """

    scored: ClassVar[bool] = True

    id: Identifier
    version: Count
    title: Text
    description: Text
    citation: Text
    tags: tuple[Identifier, ...] = ()
    notes: tuple[Text, ...] = ()
    published: tuple[Published, ...] = ()
    expected_warnings: tuple[Warned, ...] = ()


class WeatTask(BaseTask):
    """A word embedding association test (Caliskan et al. 2017) on a text encoder or word vectors.

    Attributes:
        targets: The two sets X and Y.
        attributes: The two sets A and B.
        templates: Texts to embed for a word; '{word}' is the word. The mean over templates counts.
        alternative: Which side the p-value looks at.
        allow_missing: Largest share of a set that a vocabulary may lack.
    """

    method: Literal["weat"]
    targets: WeatTargets
    attributes: TwoWordGroups
    templates: Annotated[tuple[Text, ...], Field(min_length=1)] = ("{word}",)
    alternative: Alternative = "two-sided"
    allow_missing: Annotated[float, Field(ge=0, lt=1)] = 0.2


class WeatTargets(Strict):
    """The two target sets."""

    X: WordGroup
    Y: WordGroup


class TwoWordGroups(Strict):
    """The two attribute sets; a positive association is nearer to A."""

    A: WordGroup
    B: WordGroup


class Concepts(Strict):
    """The two target concepts."""

    X: Concept
    Y: Concept


class GuidedPrompts(Strict):
    """Prompt templates with and without an attribute.

    Attributes:
        neutral: With '{stimulus}' (or '{a stimulus}'), without the attribute.
        guided: With '{stimulus}' and '{attribute}'.
    """

    neutral: Text
    guided: Text


class ImageTask(BaseTask):
    """What every task on images has.

    Attributes:
        images_per_prompt: Images drawn of a neutral (or target) prompt.
        guided_images_per_prompt: Images drawn of an attribute prompt; default images_per_prompt.
        unit: What is resampled: 'prompt' (images of one prompt resemble each other) or 'image'
            (the papers' version).
        alternative: Which side the p-value looks at.
    """

    images_per_prompt: Count = 10
    guided_images_per_prompt: Count | None = None
    unit: Literal["prompt", "image"] = "prompt"
    alternative: Alternative = "two-sided"


class T2iatTask(ImageTask):
    """A text-to-image association test (Wang et al. 2023).

    Attributes:
        concepts: Target concepts X and Y.
        attributes: Attribute sets A and B.
        prompts: Templates.
        pairing: 'cycle' gives each stimulus `words_per_stimulus` attribute words, 'cross' all.
        words_per_stimulus: For pairing 'cycle'.
        match: Compare a neutral image with the attribute images of its own 'stimulus', or of its
            whole 'concept'.
        effect_size: The convention of score 'd': 'cohen' (pooled SD), 'weat' (SD of the union,
            ddof 1) or 't2iat_code' (ddof 0, one association per prompt).
    """

    method: Literal["t2iat"]
    concepts: Concepts
    attributes: TwoWordGroups
    prompts: GuidedPrompts
    pairing: Literal["cycle", "cross"] = "cycle"
    words_per_stimulus: Count = 2
    match: Literal["stimulus", "concept"] = "stimulus"
    effect_size: Literal["cohen", "weat", "t2iat_code"] = "cohen"


class Reference(Strict):
    """A known share to compare with, for example labour statistics.

    Attributes:
        name: What it is.
        group: The attribute group whose share it gives.
        shares: Stimulus to share, from 0 to 1; or the name of a reference table.
        source: Where it comes from.
    """

    name: Text
    group: Text
    shares: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1)]], BeforeValidator(_resolve_reference)
    ]
    source: Text


class OccupationsTask(ImageTask):
    """The association of each stimulus with groups (Wang et al. 2023, sections 5.3 and 5.4).

    Attributes:
        concept: The stimuli, for example occupations.
        groups: Two or more attribute groups; every pair is compared.
        prompts: Templates.
        reference: Known shares to compare with.
    """

    method: Literal["occupations"]
    concept: Concept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    prompts: GuidedPrompts
    reference: Reference | None = None


class McasAttribute(Strict):
    """An attribute as prompts (for images) and as words.

    Attributes:
        name: What reports call it.
        prompts: Prompts for the attribute images.
        words: The attribute as text.
    """

    name: Text
    prompts: Annotated[tuple[Text, ...], Field(min_length=1)]
    words: Words


class McasAttributes(Strict):
    """The two attributes; a positive association is nearer to A."""

    A: McasAttribute
    B: McasAttribute


class McasTarget(Strict):
    """One target keyword.

    Attributes:
        name: The keyword.
        prompt: The prompt for its images, which is also its text.
        stereotype: The attribute it is stereotypically associated with.
    """

    name: Text
    prompt: Text
    stereotype: Side | None = None


class McasTask(ImageTask):
    """Multimodal composite association scores (Mandal et al. 2023, 2024).

    Attributes:
        attributes: A and B.
        targets: The keywords.
        attribute_images_per_prompt: Images of each attribute prompt (16 in the paper).
    """

    method: Literal["mcas"]
    attributes: McasAttributes
    targets: Annotated[tuple[McasTarget, ...], Field(min_length=1)]
    attribute_images_per_prompt: Count = 16


WeatTask.model_rebuild()

AnyTask = WeatTask | T2iatTask | OccupationsTask | McasTask
METHODS: dict[str, type[AnyTask]] = {
    "weat": WeatTask,
    "t2iat": T2iatTask,
    "occupations": OccupationsTask,
    "mcas": McasTask,
}


class ReferenceTable(Strict):
    """A table of known shares in a stimuli file.

    Attributes:
        source: Where it comes from.
        shares: Word to share, from 0 to 1.
    """

    source: Text
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]]


class StimuliFile(Strict):
    """A file of tasks/stimuli/.

    Attributes:
        source: Where the lists come from.
        lists: Name to words.
        references: Name to table of shares.
    """

    source: Text
    lists: dict[Identifier, Annotated[tuple[str, ...], Field(min_length=1)]] = {}
    references: dict[Identifier, ReferenceTable] = {}
