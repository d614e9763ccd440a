"""Selection of the encoders, judges and people whose evidence scores a task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from t2ibench.methods.core.edit_needs import needs_of_sources
from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.methods.core.text_image_alignment import PromptMeasures
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.results.schema import TaskSettings
from t2ibench.settings import Measurement
from t2ibench.store.answers import AnswerStore, is_file_of_answers
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.people import PeopleStore, people_among
from t2ibench.tasks.loader import LoadedTask

Judge = AnswerStore | PeopleStore


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """The stored evidence about one task, and who observed it.

    Attributes:
        by_reader: The evidence of each encoder or judge that the task is scored by.
        encoders: Name to fingerprint of the encoders that take part.
        judges: Name to fingerprint of the judges that take part.
        measures: By encoder, what is measured of each prompt's images when they are first read.
    """

    by_reader: Mapping[str, StoredEvidence]
    encoders: Mapping[str, str]
    judges: Mapping[str, str]
    measures: Mapping[str, PromptMeasures] = field(default_factory=dict)

    def settings(
        self, measurement: Measurement, without: Collection[str]
    ) -> TaskSettings:
        """Return the settings with which a task was measured, and its encoders and judges.

        Args:
            measurement: How the run measures.
            without: The encoders and judges that have no score of the task.
        """
        fields = Measurement.of(measurement).model_dump()
        return TaskSettings(
            **fields,
            encoders=_all_but(self.encoders, without),
            judges=_all_but(self.judges, without),
        )


def _all_but(
    fingerprints: Mapping[str, str], without: Collection[str]
) -> dict[str, str]:
    return {
        name: fingerprint
        for name, fingerprint in fingerprints.items()
        if name not in without
    }


def evidence_of(plan: Plan, task: LoadedTask, stores: Stores) -> TaskEvidence:
    """Return the evidence about a task from each encoder or judge that scores it."""
    needs = plan.needs[task.id]
    encoders = {
        name: store for name, store in stores.encoders.items() if store.embeds_images
    }
    measures = _measures(needs, encoders, stores)
    judges: Mapping[str, Judge]
    if needs.is_judged:
        # Judges are compared; the first encoder alone measures what needs embeddings.
        encoders = dict(list(encoders.items())[:1]) if needs.embeds else {}
        by_people = _people_are_the_judge(needs, stores)
        judges = stores.people if by_people else stores.readers
        encoder = next(iter(encoders.values()), None)
        evidence = _by_judge(stores, encoder, judges, by_people, measures)
    else:
        encoders = encoders if needs.shows_images else dict(stores.encoders)
        judge = first_judge(needs, stores)
        judges = {} if judge is None else {judge.name: judge}
        evidence = {
            name: StoredEvidence(
                stores.images,
                store,
                judge,
                awaits_answers=_awaits_answers(judge, stores),
                sources=_embedded_sources(stores, name),
                measures=measures.get(name),
            )
            for name, store in encoders.items()
        }
    return TaskEvidence(
        by_reader=evidence,
        encoders={name: store.fingerprint for name, store in encoders.items()},
        judges=_fingerprints(judges.values(), stores),
        measures=measures,
    )


def _measures(
    needs: Needs, encoders: Mapping[str, EvidenceStore], stores: Stores
) -> dict[str, PromptMeasures]:
    """Return what measures the images of a task by each encoder that embeds them."""
    if not needs.embeds or stores.images is None:
        return {}
    return {
        name: PromptMeasures.of(needs, StoredEvidence(stores.images, store))
        for name, store in encoders.items()
    }


def _embedded_sources(
    stores: Stores, encoder: str, *, untrained: bool = False
) -> StoredEvidence | None:
    """Return what an encoder, or its untrained control, observed of the source images."""
    sources = stores.sources
    if sources is None:
        return None
    by_encoder = sources.controls if untrained else sources.encoders
    return StoredEvidence(sources.images, by_encoder.get(encoder))


def untrained_evidence(
    needs: Needs, stores: Stores, encoders: Iterable[str]
) -> dict[str, StoredEvidence]:
    """Return the evidence of these encoders' untrained controls, keyed by encoder."""
    judge = first_judge(needs, stores)
    return {
        name: StoredEvidence(
            stores.images,
            stores.controls[name],
            judge,
            awaits_answers=_awaits_answers(judge, stores),
            sources=_embedded_sources(stores, name, untrained=True),
        )
        for name in encoders
        if name in stores.controls
    }


def first_judge(needs: Needs, stores: Stores) -> Judge | None:
    """Return the first judge, or else people, that classified an image; None if none did."""
    if not needs.checks:
        return None
    for judge in (*stores.readers.values(), *stores.people.values()):
        if _classified(needs.checks, stores.images, [judge]):
            return judge
    return None


def _awaits_answers(judge: Judge | None, stores: Stores) -> bool:
    """Return whether missing answers can still come from a judge that can be asked.

    A run may have no judge, or only files of answers to other questions.
    """
    if judge is not None:
        return True
    return any(not is_file_of_answers(name) for name in stores.readers)


def _people_are_the_judge(needs: Needs, stores: Stores) -> bool:
    """Return whether human labels answer a task's questions, because no judge did."""
    if not stores.people:
        return False
    judges = stores.readers.values()
    if needs.pair_questions:
        return not _classified_sources(needs, stores)
    return not _classified(needs.questions, stores.images, judges)


def _classified_sources(needs: Needs, stores: Stores) -> bool:
    """Return whether any judge gave a class as the answer about any source image.

    Judges of a run answer about source images and edits alike, and the former come first. Their
    answers about source images are stored with these.
    """
    sources = stores.sources
    if sources is None:
        return True
    questions = needs_of_sources(needs).questions
    return _classified(questions, sources.images, sources.readers.values())


def _by_judge(
    stores: Stores,
    encoder: EvidenceStore | None,
    judges: Mapping[str, Judge],
    by_people: bool,
    measures: Mapping[str, PromptMeasures],
) -> dict[str, StoredEvidence]:
    """Return the evidence of each judge, with human labels beside it, keyed by judge.

    Where people are the judge, their labels are its answers, and the votes of each are beside it.
    """
    labels = None if by_people else stores.labels
    votes = stores.labels if by_people else stores.votes
    return {
        name: StoredEvidence(
            stores.images,
            encoder,
            judge,
            labels,
            stores.check_of(judge),
            votes,
            sources=_judged_sources(stores, encoder, judge, by_people),
            measures=None if encoder is None else measures.get(encoder.name),
        )
        for name, judge in judges.items()
    }


def _judged_sources(
    stores: Stores, encoder: EvidenceStore | None, judge: Judge, by_people: bool
) -> StoredEvidence | None:
    """Return what a judge, and an encoder beside it, observed of the source images."""
    sources = stores.sources
    if sources is None:
        return None
    embeddings = None if encoder is None else sources.encoders.get(encoder.name)
    return StoredEvidence(
        sources.images,
        embeddings,
        _same_judge(stores, sources, judge),
        labels=None if by_people else sources.labels,
        check=stores.check_of(judge),
    )


def _same_judge(stores: Stores, sources: Stores, judge: Judge) -> Judge | None:
    """Return a judge's answers about source images; None if it gave none.

    Labels are named after the people who gave them. Those who labelled source images need not be
    those who labelled edits, and both are what people answered.
    """
    if judge.name in stores.people:
        return next(iter(sources.people.values()), None)
    return sources.readers.get(judge.name)


def _fingerprints(judges: Iterable[Judge], stores: Stores) -> dict[str, str]:
    """Return fingerprints keyed by judge; people who count as one judge have an entry each."""
    fingerprints: dict[str, str] = {}
    for judge in judges:
        people = people_among(stores.judges) if isinstance(judge, PeopleStore) else {}
        for name, store in people.items():
            fingerprints[name] = store.fingerprint
        if not people:
            fingerprints[judge.name] = judge.fingerprint
    names = (*stores.judges, *stores.people)
    return {name: fingerprints[name] for name in names if name in fingerprints}


def _classified(
    questions: Sequence[QuestionNeed],
    images: DistinctImages | None,
    judges: Iterable[Judge],
) -> bool:
    """Return whether any judge gave a class, or free text, as the answer to any question."""
    return any(
        _is_class(judge, question, sha256)
        for question in questions
        for sha256 in _files(question, images)
        for judge in judges
    )


def _files(question: QuestionNeed, images: DistinctImages | None) -> Iterator[str]:
    """Yield the file hashes of the images that a question is about."""
    if images is not None:
        for attempt in images.first(question.prompt, question.images):
            if attempt is not None:
                yield attempt.sha256 or ""


def _is_class(judge: Judge, question: QuestionNeed, sha256: str) -> bool:
    """Return whether a judge's answer about an image is a class of the question, or free text."""
    stored = judge.get(sha256, question.question, question.classes)
    if not stored:
        return False
    return not question.classes or stored.answer in question.classes
