"""All observations of a run: the stores that its scores are computed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.results.record import ControlRecord, EncoderRecord
from t2ibench.results.unread import PromptReading
from t2ibench.store.answers import ANSWERS_BY, AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.labels import LabelStore
from t2ibench.store.people import PeopleStore, Votes, people_among, person_of


@dataclass(frozen=True, slots=True)
class Stores:
    """All observations of a run, keyed by encoder or judge.

    Attributes:
        encoders: Embeddings by encoder.
        judges: Answers by judge.
        controls: Embeddings of untrained controls, by the encoder that each is compared with.
        labels: Human labels; None where nobody labelled.
        people: The labels as a judge, for tasks that no other judge classified an image of.
        checks: What checks by people say of the judges.
        readings: What the model read of a text that it did not read to its end.
        request: What was added to every prompt before the model got it; empty where nothing was.
        generator: The model that made the images, as the user wrote it; empty where none did.
        images: The images; None where only texts are scored.
        sources: The same of the source images; None without edits.
        made_by: Of source images, what made them, as JSON values.
    """

    encoders: Mapping[str, EvidenceStore]
    judges: Mapping[str, AnswerStore]
    controls: Mapping[str, EvidenceStore] = field(default_factory=dict)
    labels: LabelStore | None = None
    people: Mapping[str, AnswerStore] = field(default_factory=dict)
    checks: Sequence[JudgeCheck] = ()
    readings: Mapping[str, Sequence[PromptReading]] = field(default_factory=dict)
    request: str = ""
    generator: str = ""
    images: DistinctImages | None = None
    sources: Stores | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict)

    def only(
        self, contents: Collection[int], of_sources: Collection[int] = ()
    ) -> Stores:
        """Return the observations of some images alone, for another process.

        Args:
            contents: The content ids of these images.
            of_sources: Those of the source images.
        """
        if self.images is None:
            return self
        sources = None if self.sources is None else self.sources.only(of_sources)
        images = self.images.only(contents)
        files = images.hashes()
        hashes = sorted(files)
        return replace(
            self,
            sources=sources,
            images=images,
            encoders={name: each.only(hashes) for name, each in self.encoders.items()},
            controls={name: each.only(hashes) for name, each in self.controls.items()},
            judges={name: each.only(files) for name, each in self.judges.items()},
            people={name: each.only(files) for name, each in self.people.items()},
        )

    def are_scattered(self, prompt: str, n: int) -> bool:
        """Return whether the embeddings of a prompt's first n images are stored far apart.

        They are where a run made one image of every prompt before any second one.
        """
        if self.images is None:
            return False
        attempts = self.images.first(prompt, n)
        files = [attempt.sha256 for attempt in attempts if attempt and attempt.sha256]
        stores = (*self.encoders.values(), *self.controls.values())
        return any(store.are_scattered(files) for store in stores)

    def release(self) -> None:
        """Hold no embeddings in memory any more; those that are asked for are read again."""
        for store in (*self.encoders.values(), *self.controls.values()):
            store.release()
        if self.sources is not None:
            self.sources.release()

    @property
    def readers(self) -> dict[str, AnswerStore | PeopleStore]:
        """Answer stores keyed by judge; several files of human answers count as one judge."""
        people = people_among(self.judges)
        others = {
            name: store for name, store in self.judges.items() if name not in people
        }
        if not people:
            return dict(others)
        name = ANSWERS_BY + listed([person_of(judge) for judge in people])
        return {name: PeopleStore(name, people), **others}

    @property
    def votes(self) -> Votes | None:
        """People's individual answers, from files of answers or else from labels."""
        for reader in self.readers.values():
            if isinstance(reader, PeopleStore):
                return reader
        return self.labels

    def check_of(self, judge: AnswerStore | PeopleStore) -> JudgeCheck | None:
        """Return the check of a judge with this name and fingerprint; None if it has none."""
        for check in self.checks:
            if (check.judge, check.fingerprint) == (judge.name, judge.fingerprint):
                return check
        return None


def open_stores(
    database: Database,
    encoders: Mapping[str, EncoderRecord],
    judges: Mapping[str, str],
    controls: Mapping[str, ControlRecord] | None = None,
) -> Stores:
    """Return the stores of a run's observations in its database."""
    answers = {name: AnswerStore(database, name, judges[name]) for name in judges}
    embeddings = {
        name: EvidenceStore(database, name, encoder.fingerprint, encoder.embeds_images)
        for name, encoder in encoders.items()
    }
    control_embeddings = {
        name: EvidenceStore(database, control.name, control.fingerprint)
        for name, control in (controls or {}).items()
    }
    return Stores(
        encoders=embeddings,
        judges={name: store for name, store in answers.items() if not store.by_labels},
        controls=control_embeddings,
        labels=LabelStore(database),
        people={name: store for name, store in answers.items() if store.by_labels},
    )
