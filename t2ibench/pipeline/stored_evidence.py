"""Access of methods to the stored evidence of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.edit_evidence import EditNeed, SourceImage
from t2ibench.methods.core.evidence import UNKNOWN, AnswerEvidence, ImageEvidence
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.text_image_alignment import PromptMeasures
from t2ibench.models.judges import unreachable_classes
from t2ibench.pipeline.source_images import status_without_source
from t2ibench.store.answers import AnswerStore, is_file_of_answers
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt
from t2ibench.store.labels import LabelStore
from t2ibench.store.people import PeopleStore, Votes


@dataclass(slots=True)
class Gaps:
    """The evidence that a method asked for and that is missing.

    Attributes:
        incomplete: Whether something is missing that a later run may add.
        lacks_embeddings: Whether that is an embedding of an existing image or text.
        lacks_answers: Whether it is the judge's answer about an existing image.
    """

    incomplete: bool = False
    lacks_embeddings: bool = False
    lacks_answers: bool = False


class _Record(NamedTuple):
    """An image that a method asks about: its number, file hash and status.

    A tuple is made in a third of the time of another object, and a run has a million images.
    """

    number: int
    sha256: str
    status: str


class StoredEvidence:
    """The stored evidence of one encoder or judge (see methods.core.evidence.Evidence).

    It is also methods.core.edit_evidence.EditEvidence, for tasks with edits.
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
        sources: StoredEvidence | None = None,
        measures: PromptMeasures | None = None,
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
            sources: What the same encoder or judge observed of source images; None without them.
            measures: What is measured of each prompt's images as soon as they are read.
        """
        self._images = images
        self._store = store
        self._judged = judged
        self._labels = labels
        self._check = check
        self._votes = votes
        self._awaits_answers = awaits_answers
        self._sources = sources
        self._measures = measures
        # Of the source images, too: a result without them is as incomplete.
        self.gaps: Gaps = Gaps() if sources is None else sources.gaps

    @property
    def incomplete(self) -> bool:
        """Whether something that was asked for is missing, and a later run may add it."""
        return self.gaps.incomplete

    @property
    def lacks_embeddings(self) -> bool:
        """Whether an embedding of an existing image or text is missing."""
        return self.gaps.lacks_embeddings

    @property
    def lacks_answers(self) -> bool:
        """Whether the judge's answer about an existing image is missing."""
        return self.gaps.lacks_answers

    @property
    def sources(self) -> StoredEvidence:
        """The evidence of the same encoder or judge about the source images of edits."""
        if self._sources is None:
            self._sources = StoredEvidence(None, None, None)
            self._sources.gaps = self.gaps
        return self._sources

    def _image_records(
        self, prompt: str, n: int, source: str | None = None
    ) -> Iterator[_Record]:
        """Yield a record of each of the first `n` images of a prompt, or of an edit."""
        attempts: Sequence[Attempt | None] = [None] * n
        if self._images:
            attempts = self._images.first(prompt, n, source)
        for index, attempt in enumerate(attempts):
            yield self._record(index, attempt)

    def _record(self, index: int, attempt: Attempt | None) -> _Record:
        """Return the record of an image, and note whether a later run may add the image."""
        if attempt is None or attempt.status == "failed":
            self.gaps.incomplete = self.gaps.lacks_embeddings = True
        if attempt is None:
            return _Record(index, "", "missing")
        return _Record(index, attempt.sha256 or "", attempt.status)

    def _record_of_source(self, source: SourceImage) -> _Record:
        """Return the record of an image that is the source of an edit."""
        attempt = None
        if self._images:
            attempt = self._images.nth(source.prompt, source.index)
        return self._record(source.index, attempt)

    def _records_of_edit(self, edit: EditNeed) -> Iterator[_Record]:
        """Yield a record of each image of an edit.

        Where the source image cannot be edited the status is that of
        `source_images.status_without_source`.
        """
        of_source = self.sources._record_of_source(edit.source)
        if of_source.status == "ok":
            yield from self._image_records(
                edit.instruction, edit.images, of_source.sha256
            )
            return
        status = status_without_source(of_source.status)
        for index in range(edit.images):
            yield _Record(index, "", status)

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """Return the embeddings of a prompt's first `n` images, and how many are excluded."""
        images = self._embeddings_of(self._image_records(prompt, n))
        if self._measures is not None:
            self._measures.see(prompt, n, images)
        return images

    def edited(self, edit: EditNeed) -> ImageEvidence:
        """Return the embeddings of the images of an edit, and how many are excluded."""
        return self._embeddings_of(self._records_of_edit(edit))

    def _embeddings_of(self, records: Iterable[_Record]) -> ImageEvidence:
        """Return the embeddings of images, and how many are excluded."""
        excluded = Counter[str]()
        if self._store is None:
            return ImageEvidence(np.zeros((0, 1)), np.zeros(0, np.int64), excluded)
        keys: list[str] = []
        indices: list[int] = []
        for index, sha256, status in records:
            if status == "ok":
                keys.append(sha256)
                indices.append(index)
            else:
                excluded[status] += 1
        numbers = np.array(indices, np.int64)
        places = self._store.find("images", keys)
        is_embedded = places >= 0
        if not is_embedded.all():
            self.gaps.incomplete = self.gaps.lacks_embeddings = True
            excluded["missing"] += int((~is_embedded).sum())
            places = places[is_embedded]
            numbers = numbers[is_embedded]
        embeddings = np.zeros((0, 1))
        if len(places):
            embeddings = self._store.rows_at(places)
        is_known = np.isfinite(embeddings).all(axis=1)
        if not is_known.all():  # the encoder was run and has no vector for them
            excluded[UNKNOWN] += int((~is_known).sum())
            embeddings = embeddings[is_known]
            numbers = numbers[is_known]
        return ImageEvidence(embeddings, numbers, excluded)

    def brightness_of_source(self, source: SourceImage) -> Float64Array | None:
        """Return the brightness of a source image in cells; None for an image without."""
        return self.sources._brightness(self.sources._record_of_source(source))

    def brightness_of_edit(self, edit: EditNeed) -> dict[int, Float64Array]:
        """Return the brightness of the images of an edit in cells, keyed by index."""
        cells: dict[int, Float64Array] = {}
        for record in self._records_of_edit(edit):
            measured = self._brightness(record)
            if measured is not None:
                cells[record.number] = measured
        return cells

    def _brightness(self, record: _Record) -> Float64Array | None:
        """Return the brightness of an image in cells; None without an image."""
        if self._images is None or record.status != "ok":
            return None
        return self._images.brightness(record.sha256)

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Return the encoder's embeddings of texts."""
        if self._store is None:
            raise MissingEvidence("the texts, which no encoder has embedded,")
        keys = []
        for text in texts:
            key = text_key(text)
            if not self._store.has("texts", key):
                self.gaps.incomplete = True
                raise MissingEvidence(f"the text '{text}'")
            keys.append(key)
        return self._store.rows("texts", keys) if keys else np.zeros(0)

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return the judge's answers about a prompt's first `n` images."""
        return self._answers_about(self._image_records(prompt, n), question, classes)

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return the judge's answers about the images of an edit."""
        return self._answers_about(self._records_of_edit(edit), question, classes)

    def _answers_about(
        self, records: Iterable[_Record], question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return the judge's answers about images, and how many are excluded."""
        answers: list[str] = []
        indices: list[int] = []
        excluded = Counter[str]()
        for record in records:
            answer = None
            if self._judged:
                answer = self._judged.get(record.sha256, question, classes)
            if record.status != "ok":
                excluded[record.status] += 1
            elif answer is None and self._judged is not None and self._judged.by_labels:
                excluded["not labelled"] += 1
            elif answer is None:
                if self._awaits_answers and not self._leaves_out(question, classes):
                    self.gaps.incomplete = self.gaps.lacks_answers = True
                excluded["missing"] += 1
            else:
                answers.append(answer.answer)
                indices.append(record.number)
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
            record.number: self._votes.votes(record.sha256, question, classes)
            for record in self._image_records(prompt, n)
            if record.status == "ok"
        }
        return {index: votes for index, votes in by_image.items() if votes}

    def judge_check(self) -> JudgeCheck | None:
        """Return how often the judge errs on images that people labelled; None if unchecked."""
        return self._check

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return people's majority label of a prompt's first `n` images, keyed by image index."""
        return self._labels_of(self._image_records(prompt, n), question, classes)

    def labels_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return people's majority label of the images of an edit, keyed by image index."""
        return self._labels_of(self._records_of_edit(edit), question, classes)

    def _labels_of(
        self, records: Iterable[_Record], question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return people's majority label of images, keyed by image index."""
        if self._labels is None or not len(self._labels):
            return {}
        answers = {}
        for record in records:
            answer = (
                self._labels.majority(record.sha256, question, classes)
                if record.status == "ok"
                else None
            )
            if answer is not None:
                answers[record.number] = answer
        return answers
