"""Access of methods to the stored evidence of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.evidence import UNKNOWN, AnswerEvidence, ImageEvidence
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.models.judges import unreachable_classes
from t2ibench.store.answers import AnswerStore, is_file_of_answers
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.labels import LabelStore
from t2ibench.store.people import PeopleStore, Votes


class StoredEvidence:
    """The stored evidence of one encoder or judge (see methods.core.evidence.Evidence).

    Attributes:
        incomplete: Whether something that was asked for is missing, and a later run may add it.
        lacks_embeddings: Whether that is an embedding of an existing image or text.
        lacks_answers: Whether it is the judge's answer about an existing image.
    """

    def __init__(
        self,
        images: DistinctImages | None,
        store: EvidenceStore | None,
        judged: AnswerStore | PeopleStore | None = None,
        labels: LabelStore | None = None,
        check: JudgeCheck | None = None,
        votes: Votes | None = None,
        *,
        awaits_answers: bool = True,
    ) -> None:
        """Read evidence from the stores of a run.

        Args:
            images: Its images.
            store: Embeddings by one encoder; None where nothing is embedded.
            judged: Answers of one judge, or of people; None without.
            labels: Human labels beside the judge's answers.
            check: The judge's validation by people.
            votes: The answers of each person.
            awaits_answers: Whether a missing answer makes the evidence incomplete, because a judge
                will be asked for it.
        """
        self._images = images
        self._store = store
        self._judged = judged
        self._labels = labels
        self._check = check
        self._votes = votes
        self._awaits_answers = awaits_answers
        self.incomplete = False
        self.lacks_embeddings = False
        self.lacks_answers = False

    def _image_records(self, prompt: str, n: int) -> Iterator[tuple[int, str, str]]:
        """Yield index, file hash and status of each of a prompt's first `n` images."""
        attempts = self._images.first(prompt, n) if self._images else [None] * n
        for index, attempt in enumerate(attempts):
            if attempt is None or attempt.status == "failed":
                self.incomplete = self.lacks_embeddings = True
            if attempt is None:
                yield index, "", "missing"
            else:
                yield index, attempt.sha256 or "", attempt.status

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """Return the embeddings of a prompt's first `n` images, and how many are excluded."""
        keys, indices, excluded = list[str](), [], Counter[str]()
        for index, sha256, status in (
            self._image_records(prompt, n) if self._store else ()
        ):
            if status != "ok":
                excluded[status] += 1
            elif self._store is None or not self._store.has("images", sha256):
                self.incomplete = self.lacks_embeddings = True
                excluded["missing"] += 1
            else:
                keys.append(sha256)
                indices.append(index)
        stacked = (
            self._store.rows("images", keys)
            if self._store and keys
            else np.zeros((0, 1))
        )
        numbers, has = (
            np.asarray(indices, dtype=np.int64),
            np.isfinite(stacked).all(axis=1),
        )
        if not has.all():  # the encoder was run and has no vector for them
            excluded[UNKNOWN] += int((~has).sum())
            stacked, numbers = stacked[has], numbers[has]
        return ImageEvidence(stacked, numbers, excluded)

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Return the encoder's embeddings of texts."""
        if self._store is None:
            raise MissingEvidence("the texts, which no encoder has embedded,")
        keys = []
        for text in texts:
            key = text_key(text)
            if not self._store.has("texts", key):
                self.incomplete = True
                raise MissingEvidence(f"the text '{text}'")
            keys.append(key)
        return self._store.rows("texts", keys) if keys else np.zeros(0)

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return the judge's answers about a prompt's first `n` images."""
        answers, indices, excluded = [], [], Counter[str]()
        for index, sha256, status in self._image_records(prompt, n):
            answer = (
                self._judged.get(sha256, question, classes) if self._judged else None
            )
            if status != "ok":
                excluded[status] += 1
            elif answer is None and self._judged is not None and self._judged.by_labels:
                excluded["not labelled"] += 1
            elif answer is None:
                if self._awaits_answers and not self._leaves_out(question, classes):
                    self.incomplete = self.lacks_answers = True
                excluded["missing"] += 1
            else:
                answers.append(answer.answer)
                indices.append(index)
        return AnswerEvidence(
            tuple(answers), np.asarray(indices, dtype=np.int64), excluded
        )

    def _leaves_out(self, question: str, classes: Sequence[str]) -> bool:
        """Return whether the judge is a file of answers that has none to this question."""
        judge = self._judged
        if judge is None or not is_file_of_answers(judge.name):
            return False
        return not judge.answers_about(question, classes)

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """Return the classes of a question with which the judge can never answer.

        As `openbias.gathering.KnownJudge` declares it.
        """
        return unreachable_classes(self._judged.name if self._judged else "", classes)

    def people_answered(self) -> bool:
        """Return whether the answers are those of people rather than of a model.

        As `openbias.gathering.SeveralPeople` declares it.
        """
        return isinstance(self._judged, PeopleStore) or bool(
            self._judged and self._judged.by_labels
        )

    def votes(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, Mapping[str, str]]:
        """Return each person's answers about a prompt's first `n` images, keyed by image index."""
        if self._votes is None:
            return {}
        by_image = {
            index: self._votes.votes(sha256, question, classes)
            for index, sha256, status in self._image_records(prompt, n)
            if status == "ok"
        }
        return {index: votes for index, votes in by_image.items() if votes}

    def judge_check(self) -> JudgeCheck | None:
        """Return how often the judge errs on images that people labelled; None if unchecked."""
        return self._check

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return people's majority label of a prompt's first `n` images, keyed by image index."""
        if self._labels is None or not len(self._labels):
            return {}
        answers = {}
        for index, sha256, status in self._image_records(prompt, n):
            answer = (
                self._labels.majority(sha256, question, classes)
                if status == "ok"
                else None
            )
            if answer is not None:
                answers[index] = answer
        return answers
