"""Records in results.json of how far people agree who labelled the same images."""

from __future__ import annotations

from pydantic import Field

from t2ibench.results.json_record import Record


class AgreementScore(Record):
    """A measure of agreement with its 95 % interval.

    Attributes:
        value: The measure; null where it has none, as kappa where both only ever give one class.
        ci_low: Lower end of its 95 % interval, with images as the unit.
        ci_high: Upper end.
    """

    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None


class PairAgreement(Record):
    """How far two people agree on one question.

    Attributes:
        people: Their names.
        images: Images that both gave a class.
        agreement: Share of these with the same class.
        kappa: Cohen's kappa.
    """

    people: tuple[str, str]
    images: int
    agreement: AgreementScore
    kappa: AgreementScore


class AskedQuestion(Record):
    """A question that people rather than a model were asked, and how much they answered.

    Attributes:
        about: What it is about, such as 'person gender'.
        images: Images that it was asked about.
        answered: Images that anybody answered about.
        by: Person to images that they answered about; those who answered none are left out.
        sampled: Whether people labelled a sample, so that images without an answer are no gap.
    """

    about: str
    images: int
    answered: int
    by: dict[str, int] = Field(default_factory=dict)
    sampled: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether people answered about some of the images, but not about all."""
        return not self.sampled and 0 < self.answered < self.images


class DisputedImage(Record):
    """An image that people answered differently.

    Attributes:
        prompt: What it was generated for.
        index: Which of the prompt's images.
        file: Its file in the run folder.
        sha256: SHA-256 of the file.
        answers: Person to answer.
        counted: The answer that counts.
    """

    prompt: str
    index: int
    file: str | None = None
    sha256: str
    answers: dict[str, str]
    counted: str


class PeopleAgreement(Record):
    """How far people agree on one question.

    Attributes:
        about: What the question is about, such as 'person gender'.
        question: Its words; of several wordings the first.
        people: Who answered.
        images: Images that two people or more gave a class.
        agreement: Share of these to which all of them gave the same class.
        alpha: Krippendorff's alpha, nominal.
        pairs: Every two people.
        disputed: Every image with different answers, 'unknown' among them.
    """

    about: str
    question: str
    people: list[str]
    images: int
    agreement: AgreementScore
    alpha: AgreementScore
    pairs: list[PairAgreement] = Field(default_factory=list)
    disputed: list[DisputedImage] = Field(default_factory=list)
