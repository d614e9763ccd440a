"""Cache of scores, valid while all of their inputs are unchanged.

A score is a pure function of the task, the settings, the evidence and the code. With a run, each
task's scores are stored with a digest over all of these; they are taken from there only where the
digest of the present inputs is the same.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pydantic
import scipy

from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.methods.core.concepts import synonyms
from t2ibench.methods.core.edit_needs import needs_of_sources, questions_about_edit
from t2ibench.methods.core.evidence import Needs
from t2ibench.pipeline.self_judgement import judges_itself
from t2ibench.pipeline.work_items import Question
from t2ibench.results.paired import PairedTask, dump_paired, load_paired
from t2ibench.results.samples import dump_samples
from t2ibench.results.schema import TaskResult
from t2ibench.source_code import source_digest
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt
from t2ibench.store.scores import ScoreStore, StoredScore
from t2ibench.version import __version__

if TYPE_CHECKING:
    from t2ibench.pipeline.plan import Plan
    from t2ibench.pipeline.stores import Stores
    from t2ibench.tasks.loader import LoadedTask


def _code() -> str | None:
    """Return a digest of t2ibench's source code and library versions; None if unreadable."""
    source = source_digest()
    if source is None:
        return None
    versions = (
        __version__,
        platform.python_version(),
        platform.machine(),
        np.__version__,
        scipy.__version__,
        pydantic.__version__,
    )
    return f"{source} {versions}"


def inputs_of(plan: Plan, task: LoadedTask, stores: Stores) -> str:
    """Return a digest of all inputs of a task's scores; '' if it cannot be determined.

    The source of another package's method is not read, so its scores are never taken from here.
    """
    code = _code()
    method = task.spec.method
    is_ours = type(task.spec).__module__.startswith("t2ibench.methods.")
    if code is None or not is_ours or METHODS.origin(method) != "t2ibench":
        return ""
    needs = plan.needs[task.id]
    inputs = _Digest()
    inputs.add(
        code,
        task.hash,
        task.spec.model_dump(mode="json"),
        plan.settings.model_dump(mode="json"),
    )
    inputs.add_encoders(needs, stores)
    inputs.add_judges(stores)
    if any(not question.classes for question in needs.questions):
        inputs.add(synonyms().name)  # free text is read with the dictionary installed
    hashes = inputs.add_images(needs, stores)
    inputs.add_answers(needs, stores, hashes)
    if needs.edits and stores.sources is not None:
        of_sources = needs_of_sources(needs)
        inputs.add("sources", dict(stores.sources.made_by))
        inputs.add_encoders(of_sources, stores.sources)
        inputs.add_judges(stores.sources)
        source_hashes = inputs.add_images(of_sources, stores.sources)
        inputs.add_answers(of_sources, stores.sources, source_hashes)
        inputs.add_edits(needs, stores)
    return inputs.hexdigest()


class _Digest:
    """A digest of the inputs of a task's scores."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, *values: object) -> None:
        """Add values to the digest in this order."""
        text = json.dumps(values, default=str, ensure_ascii=True)
        self._digest.update(text.encode() + b"\n")

    def hexdigest(self) -> str:
        """Return the digest of all added values in hexadecimal."""
        return self._digest.hexdigest()

    def add_encoders(self, needs: Needs, stores: Stores) -> None:
        """Add the encoders and their embeddings of texts to the digest."""
        texts = dict.fromkeys([*needs.texts, *needs.images_by_prompt])
        for encoder in _encoders(stores):
            self.add(encoder.name, encoder.fingerprint, encoder.embeds_images)
            for text in texts:
                self.add(text, encoder.checksum("texts", text_key(text)))

    def add_judges(self, stores: Stores) -> None:
        """Add the judges and their judge checks to the digest."""
        for judge in (*stores.judges.values(), *stores.people.values()):
            check = stores.check_of(judge)
            content = None if check is None else check.model_dump(mode="json")
            is_own = judges_itself(stores.generator, judge.name)
            self.add("judge", judge.name, judge.fingerprint, content, is_own)

    def add_images(self, needs: Needs, stores: Stores) -> dict[str, list[str]]:
        """Add images and their embeddings to the digest; return file hashes, keyed by prompt."""
        hashes: dict[str, list[str]] = {}
        for prompt, count in needs.images_by_prompt.items():
            attempts: list[Attempt | None] = [None] * count
            if stores.images:
                attempts = stores.images.first(prompt, count)
            hashes[prompt] = [
                (attempt and attempt.sha256) or "" for attempt in attempts
            ]
            self.add(prompt, [_state_of(attempt) for attempt in attempts])
            self._add_readings(attempts, stores)
            for encoder in _encoders(stores):
                self.add(
                    [encoder.checksum("images", image) for image in hashes[prompt]]
                )
        return hashes

    def _add_readings(self, attempts: Iterable[Attempt | None], stores: Stores) -> None:
        """Add to the digest how much of truncated prompts the text encoders read."""
        texts = {
            attempt.revised_prompt or attempt.prompt
            for attempt in attempts
            if attempt is not None
        }
        for text in sorted(texts & stores.readings.keys()):
            readings = stores.readings[text]
            self.add(text, [reading.model_dump(mode="json") for reading in readings])

    def add_edits(self, needs: Needs, stores: Stores) -> None:
        """Add edits, their embeddings and the answers about them to the digest."""
        assert stores.images is not None
        assert stores.sources is not None and stores.sources.images is not None
        of_sources = stores.sources.images
        for edit in needs.edits:
            source = of_sources.nth(edit.source.prompt, edit.source.index)
            self.add(
                edit.instruction, edit.source.prompt, edit.source.index, edit.images
            )
            self.add(edit.edit, edit.group, _state_of(source))
            if source is None or source.sha256 is None:
                continue
            attempts = stores.images.first(edit.instruction, edit.images, source.sha256)
            self.add([_state_of(attempt) for attempt in attempts])
            hashes = [(attempt and attempt.sha256) or "" for attempt in attempts]
            for encoder in _encoders(stores):
                self.add([encoder.checksum("images", image) for image in hashes])
            for asked in questions_about_edit(needs, edit):
                self.add(asked.question, asked.classes)
                self._add_answers_about(hashes, (asked.question, asked.classes), stores)

    def add_answers(
        self, needs: Needs, stores: Stores, hashes: Mapping[str, list[str]]
    ) -> None:
        """Add the answers of judges and people to the digest."""
        for question in (*needs.questions, *needs.checks):
            self.add(
                question.prompt, question.question, question.classes, question.images
            )
            self._add_answers_about(
                hashes.get(question.prompt, []),
                (question.question, question.classes),
                stores,
            )

    def _add_answers_about(
        self, images: Iterable[str], question: Question, stores: Stores
    ) -> None:
        """Add to the digest what judges and people answered about images."""
        for image in images:
            stored = [judge.get(image, *question) for judge in stores.judges.values()]
            answers = [answer.answer if answer else None for answer in stored]
            labels = stores.labels
            people = None if labels is None else labels.majority(image, *question)
            self.add([*answers, people])


def _encoders(stores: Stores) -> list[EvidenceStore]:
    return [*stores.encoders.values(), *stores.controls.values()]


def _state_of(attempt: Attempt | None) -> tuple[str | None, ...] | None:
    """Return an image's status, hash, file and reason, on which scores depend; None if missing."""
    if attempt is None:
        return None
    return attempt.status, attempt.sha256, attempt.file, attempt.reason


@dataclass(frozen=True, slots=True)
class TaskScored:
    """The scores of one task in stored form.

    Attributes:
        result: Its entry in results.json.
        samples: Its images with what was measured of each; None where they are stored already.
        paired: How each image moves its scores.
        incomplete: Whether some evidence is missing.
        inputs: A digest over what it was computed from.
    """

    result: TaskResult
    samples: list[dict[str, Any]] | None
    paired: PairedTask
    incomplete: bool
    inputs: str = ""


class ScoreCache:
    """The stored scores of a run's tasks, with the digests of their inputs."""

    def __init__(self, database: Database, *, reuse: bool = True) -> None:
        self._scores = ScoreStore(database)
        self._reuse = reuse

    @property
    def reuses(self) -> bool:
        """Whether stored scores are taken instead of computing them again."""
        return self._reuse

    def read(self, task: str, inputs: str) -> TaskScored | None:
        """Return the stored scores of a task if they were computed from `inputs`; else None."""
        try:
            if not self._reuse or not inputs:
                return None
            stored = self._scores.find(task, inputs)
            if stored is None:
                return None
            result = TaskResult.model_validate(json.loads(stored.result))
            paired = load_paired(stored.influences)[task]
            return TaskScored(result, None, paired, incomplete=False, inputs=inputs)
        except (ValueError, LookupError, TypeError, RecursionError, T2IBenchError):
            return None

    def write(self, task: str, scored: TaskScored) -> None:
        """Store the scores of a task unless they are stored already."""
        if scored.samples is not None:
            result = scored.result.model_dump(mode="json")
            text = json.dumps(result, ensure_ascii=False)
            influences = dump_paired({task: scored.paired})
            score = StoredScore(text, dump_samples(scored.samples), influences)
            self._scores.add(task, scored.inputs, score)
