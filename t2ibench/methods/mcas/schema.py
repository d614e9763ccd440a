"""The schema of MCAS tasks, and checks that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core import checks
from t2ibench.methods.core.schema import (
    Count,
    ImageTask,
    Line,
    Side,
    Strict,
    Text,
    Words,
)


class McasAttribute(Strict):
    """An attribute, given as prompts for images and as words.

    Attributes:
        name: What reports call it.
        prompts: Prompts for the attribute images. Where both attributes have as many, prompt i of
            one is the partner of prompt i of the other: they differ in the attribute alone.
        words: The attribute as text, paired in the same way.
    """

    name: Text
    prompts: Annotated[tuple[Text, ...], Field(min_length=1)]
    words: Words


class McasAttributes(Strict):
    """The two attributes; a positive association is nearer to A."""

    A: McasAttribute
    B: McasAttribute


class McasTarget(Strict):
    """One target of an MCAS task: a keyword with its prompts and texts.

    Attributes:
        name: The keyword.
        prompt: The prompt for its images.
        text: Its text, such as the keyword alone; by default its prompts.
        paraphrases: Further prompts for it. With them, the target is the mean over its prompts,
            and what differs between prompts counts as uncertainty.
        stereotype: The attribute it is stereotypically associated with.
        category: What it is one of. Targets of one stereotype are compared with those of the
            other within a category.
    """

    later = frozenset({"text"})

    name: Text
    prompt: Text
    text: Text | None = None
    paraphrases: tuple[Text, ...] = ()
    stereotype: Side | None = None
    category: Text | None = None

    @property
    def prompts(self) -> tuple[str, ...]:
        """All prompts for the target's images."""
        return (self.prompt, *self.paraphrases)

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts of the target that are embedded."""
        return self.prompts if self.text is None else (self.text,)


class McasTask(ImageTask):
    """A task that is scored by multimodal composite association (Mandal et al. 2023, 2024).

    Attributes:
        attributes: A and B.
        targets: The keywords.
        attribute_images_per_prompt: Images of each attribute prompt (16 in the paper).
        question: What a judge is asked about each attribute image, answered with the name of an
            attribute; images that do not show theirs are left out. None asks nobody.
    """

    later = frozenset({"question"})

    method: Literal["mcas"]
    attributes: McasAttributes
    targets: Annotated[tuple[McasTarget, ...], Field(min_length=1)]
    attribute_images_per_prompt: Count = 16
    question: Line | None = None

    @property
    def attribute_names(self) -> tuple[str, str]:
        """Names of the attributes A and B."""
        return self.attributes.A.name, self.attributes.B.name


# The fewest prompts a side: with fewer there is no variance between prompts.
_FEWEST_PROMPTS = 3


def check(task: McasTask) -> Iterator[checks.Finding]:
    """Yield each problem of a task that its schema cannot express."""
    a = task.attributes.A
    b = task.attributes.B
    yield from _check_attribute(task, a, "A")
    yield from _check_attribute(task, b, "B")
    place = ("attributes", "B")
    yield from checks.overlap(a.words, b.words, ("A", "B"), place)
    yield from checks.overlap(a.prompts, b.prompts, ("A", "B"), place)
    yield from checks.sizes(a.words, b.words, ("A", "B"), ("attributes",))
    names = [target.name for target in task.targets]
    yield from checks.duplicates(names, ("targets",))
    prompts = [prompt for target in task.targets for prompt in target.prompts]
    yield from checks.duplicates(prompts, ("targets",))
    for number, target in enumerate(task.targets):
        yield from checks.articles(target.prompts, ("targets", number, "prompt"))


def _check_attribute(
    task: McasTask, attribute: McasAttribute, side: Side
) -> Iterator[checks.Finding]:
    """Yield a problem for an attribute's repeated words or prompts, or too few prompts."""
    prompts = ("attributes", side, "prompts")
    yield from checks.duplicates(attribute.words, ("attributes", side, "words"))
    yield from checks.duplicates(attribute.prompts, prompts)
    if len(attribute.prompts) < _FEWEST_PROMPTS and task.unit == "prompt":
        message = (
            f"the headline needs {_FEWEST_PROMPTS} attribute prompts a side (8 to be well "
            f"estimated), here: {len(attribute.prompts)}"
        )
        yield checks.Finding(prompts, message, warning=True)
