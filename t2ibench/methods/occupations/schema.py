"""The schema of occupation tasks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import Concept, Reference, WordGroup, without_unused


class OccupationsTask(GuidedTask):
    """The association of each stimulus with groups (Wang et al. 2023, sections 5.3 and 5.4).

    Attributes:
        concept: The stimuli, for example occupations.
        groups: Two or more attribute groups; every pair is compared.
        reference: Known shares to compare with.
        sets: Two or more sets of the stimuli, whose mean leans are compared with each other.
        likeness: Whether to measure how far apart the images of the groups are, too.
    """

    method: Literal["occupations"]
    concept: Concept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    reference: Reference | None = None
    likeness: bool = False
    sets: tuple[Concept, ...] = ()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Tasks without the keys that came later keep their hashes."""
        return without_unused(handler(self), "likeness", "sets")
