"""The schema of occupation tasks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

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
        sets: Two or more sets of the stimuli, whose mean leans are compared with each other.
    """

    method: Literal["occupations"]
    concept: Concept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    prompts: GuidedPrompts
    reference: Reference | None = None
    sets: tuple[Concept, ...] = ()

    @model_serializer(mode="wrap")
    def _without_default(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Tasks of before this key keep their hash.
        data: dict[str, Any] = handler(self)
        if not self.sets:
            data.pop("sets", None)
        return data
