"""What evidence a method asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptNeed:
    """Images of one prompt.

    Attributes:
        prompt: The text.
        images: How many, indices 0 to images - 1.
        role: 'neutral', 'guided', 'attribute' or 'target'.
        concept: Name of the concept it stands for.
        stimulus: The word of the concept.
        attribute: Name of the attribute, for guided and attribute prompts.
    """

    prompt: str
    images: int
    role: str
    concept: str = ""
    stimulus: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class QuestionNeed:
    """A judge's answer to one question about every image of a prompt.

    Attributes:
        prompt: Whose images.
        images: How many of them, indices 0 to images - 1.
        question: What is asked.
        classes: What it can be answered with ('unknown' always can); empty for free text.
    """

    prompt: str
    images: int
    question: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """All evidence one task asks for.

    Attributes:
        prompts: Images to draw; a prompt may stand here twice with different roles.
        texts: Texts to embed.
        questions: Questions for a judge.
        embeds: Whether the images are embedded.
    """

    prompts: tuple[PromptNeed, ...] = ()
    texts: tuple[str, ...] = ()
    questions: tuple[QuestionNeed, ...] = ()
    embeds: bool = True

    @property
    def n_images(self) -> int:
        """Distinct images."""
        most: dict[str, int] = {}
        for need in self.prompts:
            most[need.prompt] = max(need.images, most.get(need.prompt, 0))
        return sum(most.values())

    @property
    def n_prompts(self) -> int:
        """Distinct prompts."""
        return len({need.prompt for need in self.prompts})
