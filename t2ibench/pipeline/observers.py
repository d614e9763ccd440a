"""Encoders and judges with their stores, and the outcome of using them."""

from __future__ import annotations

from dataclasses import dataclass, field

from t2ibench.models.protocols import Encoder, Judge
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import StoredImage

Question = tuple[str, tuple[str, ...]]  # what is asked, and what it can be answered with


@dataclass(frozen=True, slots=True)
class EncoderRun:
    """An encoder and where its embeddings go."""

    encoder: Encoder
    store: EvidenceStore


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """A judge and where its answers go."""

    judge: Judge
    store: AnswerStore


@dataclass(frozen=True, slots=True)
class Damaged:
    """An image file that cannot be used.

    Attributes:
        image: The file.
        reason: Why not.
    """

    image: StoredImage
    reason: str

    def __str__(self) -> str:
        return f"{self.image.path} cannot be used: {self.reason}"


@dataclass(slots=True)
class AskReport:
    """The outcome of asking a judge, or of a part of it.

    Attributes:
        judge: Its name.
        answers: What it answered, until that is stored.
        questions: How many questions were tried.
        answered: Answers that were stored.
        reasons: Why questions were not answered, with the number of questions.
        damaged: Image files that could not be read.
        streak: Questions without an answer at the end, one after another.
        stopped: Why the judge is no longer asked.
    """

    judge: str = ""
    answers: list[StoredAnswer] = field(default_factory=list)
    questions: int = 0
    answered: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    damaged: list[Damaged] = field(default_factory=list)
    streak: int = 0
    stopped: str | None = None

    @property
    def failed(self) -> int:
        """Questions without an answer."""
        return sum(self.reasons.values())

    def add(self, other: AskReport) -> None:
        """Add the outcome of further questions to the same judge, once it is stored."""
        self.questions += other.questions
        self.answered += other.answered
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        self.damaged += other.damaged
        self.streak = other.streak
        self.stopped = self.stopped or other.stopped


def open_encoder(encoder: Encoder, database: Database) -> EncoderRun:
    """An encoder with its embeddings of a run."""
    return EncoderRun(encoder, EvidenceStore(database, encoder.name, encoder.fingerprint))


def open_judge(judge: Judge, database: Database) -> JudgeRun:
    """A judge with its answers of a run."""
    return JudgeRun(judge, AnswerStore(database, judge.name, judge.fingerprint))
