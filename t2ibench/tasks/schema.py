"""The schema of a task file, one model a method."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.tasks.schema_base import (
    Alternative,
    BaseTask,
    Concept,
    Count,
    Identifier,
    ImageTask,
    Published,
    Reference,
    Side,
    Strict,
    Text,
    Warned,
    WordGroup,
    Words,
)
from t2ibench.tasks.schema_judged import (
    Axis,
    Bias,
    Counterfactual,
    Expected,
    OpenBiasTask,
    ProposedBy,
    TibetPrompt,
    TibetTask,
)
from t2ibench.tasks.schema_vibex import Anchor, TestConcept, VibexTask

__all__ = [
    "METHODS",
    "Anchor",
    "AnyTask",
    "Axis",
    "BaseTask",
    "Bias",
    "Concept",
    "Concepts",
    "Counterfactual",
    "Expected",
    "GuidedPrompts",
    "ImageTask",
    "McasAttribute",
    "McasAttributes",
    "McasTarget",
    "McasTask",
    "OccupationsTask",
    "OpenBiasTask",
    "ProposedBy",
    "Published",
    "Reference",
    "ReferenceTable",
    "StimuliFile",
    "Strict",
    "T2iatTask",
    "TestConcept",
    "TibetPrompt",
    "TibetTask",
    "TwoWordGroups",
    "VibexTask",
    "Warned",
    "WeatTargets",
    "WeatTask",
    "WordGroup",
]


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

AnyTask = WeatTask | T2iatTask | OccupationsTask | McasTask | OpenBiasTask | TibetTask | VibexTask
METHODS: dict[str, type[AnyTask]] = {
    "weat": WeatTask,
    "t2iat": T2iatTask,
    "occupations": OccupationsTask,
    "mcas": McasTask,
    "openbias": OpenBiasTask,
    "tibet": TibetTask,
    "vibex": VibexTask,
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
    lists: dict[Identifier, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    references: dict[Identifier, ReferenceTable] = Field(default_factory=dict)
