"""The schema of occupation tasks."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import Concept, Reference, Text, WordGroup, without_unused


class OccupationsTask(GuidedTask):
    """The association of each stimulus with groups (Wang et al. 2023, sections 5.3 and 5.4).

    Attributes:
        concept: The stimuli, for example occupations.
        groups: Two or more attribute groups; every pair is compared.
        reference: Known shares to compare with.
        crossing: Name of an attribute to its two groups, for two or three attributes: every
            combination of their words is generated too, and the shares of the combinations in the
            images without a group are measured.
        sets: Two or more sets of the stimuli, whose mean leans are compared with each other.
        likeness: Whether to measure how far apart the images of the groups are, too.
    """

    method: Literal["occupations"]
    concept: Concept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    reference: Reference | None = None
    crossing: Annotated[
        dict[Text, Annotated[tuple[WordGroup, ...], Field(min_length=2, max_length=2)]],
        Field(max_length=3),
    ] = Field(default_factory=dict)
    likeness: bool = False
    sets: tuple[Concept, ...] = ()

    @property
    def combined_words(self) -> list[list[str]]:
        """The words of every combination of crossed groups, the last attribute changing first.

        Those of later attributes stand first, as in "old female".
        """
        return [
            [" ".join(reversed(words)) for words in product(*(group.words for group in groups))]
            for groups in product(*self.crossing.values())
        ]

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Tasks without the keys that came later keep their hashes."""
        return without_unused(handler(self), "likeness", "crossing", "sets")
