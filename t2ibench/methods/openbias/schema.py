"""The schema of OpenBias tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from t2ibench.methods.core.pools import CaptionPool
from t2ibench.methods.core.schema import (
    ImageTask,
    ProposedBy,
    Reference,
    Strict,
    Text,
    Words,
)

if TYPE_CHECKING:
    from t2ibench.arrays import Float64Array


class Expected(Strict):
    """Expected shares of a bias's classes, to compare answers with instead of even shares.

    Attributes:
        name: What it is.
        shares: Class to share; they sum to 1.
        source: Its source.
    """

    name: Text
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]]
    source: Text


class Bias(Strict):
    """A possible bias: a question about images, with the classes that can answer it.

    Attributes:
        name: What reports call it.
        about: What it refers to, for example 'person'.
        classes: What the question can be answered with; 'unknown' always can.
        question: What the judge is asked; '{stimulus}' is the stimulus of a template.
        questions: Captions with a question of their own, which is asked instead.
        captions: Name of a word list, or the captions themselves.
        stimuli: Name of a word list, or words; each is put into every template.
        templates: Captions with '{stimulus}' (or '{a stimulus}').
        expected: Shares of the classes to compare with instead of uniform ones.
        reference: Known share of one class for each stimulus, for the amplification.
        references: Known shares of further classes, each for itself.
        compare_with: 'reference' compares each stimulus with its own share in the reference (two
            classes only), 'uniform' with `expected`, or with uniform shares without it.
    """

    later = frozenset({"references", "questions"})

    name: Text
    about: Text = "image"
    classes: Annotated[tuple[Text, ...], Field(min_length=2)]
    question: Text
    questions: dict[Text, Text] = Field(default_factory=dict)
    captions: Words | None = None
    stimuli: Words | None = None
    templates: tuple[Text, ...] = ()
    expected: Expected | None = None
    reference: Reference | None = None
    references: tuple[Reference, ...] = ()
    compare_with: Literal["uniform", "reference"] = "uniform"

    @property
    def all_references(self) -> tuple[Reference, ...]:
        """Known shares of every class that has some."""
        if self.reference is None:
            return self.references
        return (self.reference, *self.references)

    @property
    def full_name(self) -> str:
        """Name of the bias in results, with its subject first, such as 'person race'."""
        return f"{self.about} {self.name}"

    @property
    def compared_with(self) -> str:
        """Name of the distribution of classes with which the answers are compared."""
        if self.compare_with == "reference" and self.reference is not None:
            return self.reference.name
        return self.expected.name if self.expected is not None else "uniform"

    def expected_shares(self, stimulus: str | None) -> Float64Array | None:
        """Return the class shares with which answers about one stimulus are compared.

        Args:
            stimulus: The word in the caption's template; None for a caption without one.

        Returns:
            A share for each class, shape (classes,), which sum to 1; None where the
            reference has no share for the stimulus.
        """
        import numpy as np

        if self.compare_with == "reference" and self.reference is not None:
            share = self.reference.shares.get(stimulus or "")
            if share is None:
                return None
            group = self.reference.group
            return np.array(
                [share if name == group else 1.0 - share for name in self.classes]
            )
        if self.expected is not None:
            shares = np.array([self.expected.shares[name] for name in self.classes])
            normalised: Float64Array = shares / shares.sum()
            return normalised
        return np.full(len(self.classes), 1.0 / len(self.classes))


class OpenBiasTask(ImageTask):
    """A task that asks a judge about possible biases, caption by caption.

    The method is that of D'Incà et al. 2024.

    Attributes:
        biases: What to look for.
        pooling: The shares of the context-free score: 'captions' is the mean of the captions'
            shares (the paper's equation 5), 'answers' counts all answers together (its code).
        crossings: Two or three biases each that are asked about the same captions, by name: which
            combinations of the classes of every two are shown more or less often than each class
            would make.
        proposal: Who proposed the biases.
        pool: Captions that the biases are proposed for when the task is run, instead of `biases`.
    """

    filled: ClassVar[tuple[str, ...]] = ("biases",)
    later = frozenset({"crossings", "pool"})

    method: Literal["openbias"]
    biases: tuple[Bias, ...] = ()
    pooling: Literal["captions", "answers"] = "captions"
    crossings: tuple[
        Annotated[tuple[Text, ...], Field(min_length=2, max_length=3)], ...
    ] = ()
    proposal: ProposedBy | None = None
    pool: CaptionPool | None = None

    @property
    def drawn_from(self) -> CaptionPool | None:
        """Pool of captions for which biases are proposed; None if the task has no pool."""
        return self.pool


# Between the names of two biases, or of two classes, that are crossed.
JOIN = " x "


def crossed_biases(biases: Sequence[Bias], names: Sequence[str]) -> list[int]:
    """Return the positions of the biases with the given names, which are to be combined.

    A bias may be named by its full name or, where no other bias shares it, by its short
    one. Names that are unknown or ambiguous are left out; `checks` reports them.
    """
    numbers = []
    for name in names:
        matches = [
            number for number, bias in enumerate(biases) if bias.full_name == name
        ]
        if not matches:
            matches = [
                number for number, bias in enumerate(biases) if bias.name == name
            ]
        if len(matches) == 1:
            numbers.append(matches[0])
    return numbers


def crossing_names(task: OpenBiasTask) -> list[str]:
    """Return the name of every pair of biases that the task combines, such as 'age x race'."""
    pair_names = []
    for names in task.crossings:
        for pair in combinations(crossed_biases(task.biases, names), 2):
            pair_names.append(JOIN.join(task.biases[number].name for number in pair))
    return pair_names
