"""What evidence a method asks for."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PromptNeed:
    """Images of one prompt.

    Attributes:
        prompt: The text.
        images: How many, indices 0 to images - 1.
        group: What the prompt stands for in the task, such as a concept or a group of people;
            pages show by group what a model refused.
        unit: What the prompt shares with others of the task, such as its stimulus, or the prompt
            itself, where it is a caption; empty where it stands alone. Means over prompts vary with
            units.
        word: What it shares across units, such as the word of an attribute; empty where nothing.
    """

    prompt: str
    images: int
    group: str = field(default="", compare=False)
    unit: str = field(default="", compare=False)
    word: str = field(default="", compare=False)


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
        prompts: Images to generate; if a prompt is listed twice, its largest count holds.
        texts: Texts to embed.
        questions: Questions for a judge.
        embeds: Whether the images are embedded.

    Examples:
        >>> needs = Needs((PromptNeed("a nurse", 4), PromptNeed("a nurse", 10)))
        >>> needs.n_prompts, needs.n_images
        (1, 10)
    """

    prompts: tuple[PromptNeed, ...] = ()
    texts: tuple[str, ...] = ()
    questions: tuple[QuestionNeed, ...] = ()
    embeds: bool = True

    @property
    def images_by_prompt(self) -> dict[str, int]:
        """Distinct prompts, each with the number of its images."""
        counts: dict[str, int] = {}
        for need in self.prompts:
            counts[need.prompt] = max(need.images, counts.get(need.prompt, 0))
        return counts

    @property
    def groups(self) -> dict[str, str]:
        """Distinct prompts, each with what it stands for; of several, the first that has a name."""
        found: dict[str, str] = {}
        for need in self.prompts:
            found[need.prompt] = found.get(need.prompt) or need.group
        return found

    @property
    def units(self) -> dict[str, str]:
        """Distinct prompts, each with what it shares with others; of several, the first."""
        found: dict[str, str] = {}
        for need in self.prompts:
            found[need.prompt] = found.get(need.prompt) or need.unit
        return found

    @property
    def shared_words(self) -> dict[str, str]:
        """Distinct prompts, each with what it shares across units; of several, the first."""
        found: dict[str, str] = {}
        for need in self.prompts:
            found[need.prompt] = found.get(need.prompt) or need.word
        return found

    @property
    def n_images(self) -> int:
        """Distinct images."""
        return sum(self.images_by_prompt.values())

    @property
    def n_prompts(self) -> int:
        """Distinct prompts."""
        return len(self.images_by_prompt)
