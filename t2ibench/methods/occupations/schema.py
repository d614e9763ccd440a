"""The schema of occupation tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core.schema import (
    Concept,
    GuidedPrompts,
    ImageTask,
    Reference,
    WordGroup,
)


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
