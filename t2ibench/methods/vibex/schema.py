"""The schema of concept queries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core.schema import Count, ImageTask, Strict, Text


class Anchor(Strict):
    """An anchor concept: images that a test concept is compared against.

    Attributes:
        name: What reports call it.
        prompt: The prompt of its images.
        text: Its text for inverse queries; by default its prompt.
    """

    name: Text
    prompt: Text
    text: Text | None = None


class TestConcept(Strict):
    """A test concept.

    Attributes:
        name: What reports call it.
        prompt: Its text, and for an inverse query the prompt of its images.
        query: 'forward' asks how much of it each anchor's images show; 'inverse' generates images
            of it and asks which anchor they are nearest.
        tendency: The anchor that a publication associates it with, or 'balanced'; used only in the
            share of tendencies that come out.
    """

    __test__ = False  # a name that pytest would take for a test

    name: Text
    prompt: Text
    query: Literal["forward", "inverse"] = "forward"
    tendency: Text | None = None


class VibexTask(ImageTask):
    """Test concepts against anchors (Eschner et al. 2025).

    Attributes:
        anchors: Two or more.
        concepts: What is asked about them.
        intersections: Pairs of concepts, by name, looked at together.
        inverse_images: Images of each inverse query.
    """

    method: Literal["vibex"]
    anchors: Annotated[tuple[Anchor, ...], Field(min_length=2)]
    concepts: Annotated[tuple[TestConcept, ...], Field(min_length=1)]
    intersections: tuple[tuple[Text, Text], ...] = ()
    inverse_images: Count = 5
