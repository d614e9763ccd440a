"""Scores from stored evidence. No model is loaded here."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from t2ibench.methods import combine, score
from t2ibench.methods.core.estimate import MethodResult, missing
from t2ibench.methods.core.evidence import AnswerEvidence, FloatArray, ImageEvidence
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.results.build import adjust_run, task_record
from t2ibench.results.schema import Model, Results, TaskResult, TaskSettings
from t2ibench.settings import Settings
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

_LIBRARIES = ("numpy", "scipy", "torch", "diffusers", "transformers", "open_clip_torch", "pillow")


class Images(Protocol):
    """What became of each image; an `ImageStore` is one."""

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What is known of an image."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything a run has observed.

    Attributes:
        encoders: Name to its embeddings, its fingerprint and whether it embeds images.
        judges: Name to its answers and its fingerprint.
    """

    encoders: Mapping[str, tuple[EvidenceStore, str, bool]]
    judges: Mapping[str, tuple[AnswerStore, str]]


def embeds_images(encoder: str) -> bool:
    """Whether an encoder of this name embeds images; word vectors do not."""
    return not encoder.startswith("vectors:")


def open_stores(root: Path, encoders: Mapping[str, str], judges: Mapping[str, str]) -> Stores:
    """What was observed, from its folder.

    Args:
        root: A run's or a submission's evidence/.
        encoders: Name to fingerprint.
        judges: Name to fingerprint.
    """
    return Stores(
        {
            name: (EvidenceStore(root, name, fingerprint), fingerprint, embeds_images(name))
            for name, fingerprint in encoders.items()
        },
        {
            name: (AnswerStore(root, name, fingerprint), fingerprint)
            for name, fingerprint in judges.items()
        },
    )


class StoredEvidence:
    """One encoder's or one judge's evidence, from the store (see methods.evidence.Evidence).

    Args:
        images: The run's images; None where only texts were scored.
        store: The encoder's embeddings; None where nothing is embedded.
        judged: The judge's answers, for methods that ask questions.
    """

    def __init__(
        self,
        images: Images | None,
        store: EvidenceStore | None,
        judged: AnswerStore | None = None,
    ) -> None:
        self._images = images
        self._store = store
        self._judged = judged

    def _found(self, prompt: str, n: int) -> Iterator[tuple[int, str, str]]:
        """Index, file hash and status of each image."""
        for index in range(n):
            attempt = self._images.get(prompt, index) if self._images else None
            if attempt is None:
                yield index, "", "missing"
            else:
                yield index, attempt.sha256 or "", attempt.status

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The first n images of a prompt that have an embedding."""
        rows, indices, excluded = [], [], Counter[str]()
        for index, sha256, status in self._found(prompt, n) if self._store else ():
            if status != "ok":
                excluded[status] += 1
            elif self._store is None or not self._store.has("images", sha256):
                excluded["missing"] += 1
            else:
                rows.append(self._store.get("images", sha256))
                indices.append(index)
        stacked = np.asarray(rows, dtype=np.float64) if rows else np.zeros((0, 1))
        return ImageEvidence(stacked, np.asarray(indices, dtype=np.int64), excluded)

    def texts(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of texts."""
        if self._store is None:
            raise KeyError(*texts[:1])
        return np.asarray(
            [self._store.get("texts", text_key(text)) for text in texts], dtype=np.float64
        )

    def answers(self, prompt: str, n: int, question: str, classes: Sequence[str]) -> AnswerEvidence:
        """The judge's answers about the first n images of a prompt."""
        answers, indices, excluded = [], [], Counter[str]()
        for index, sha256, status in self._found(prompt, n):
            found = self._judged.get(sha256, question, classes) if self._judged else None
            if status != "ok":
                excluded[status] += 1
            elif found is None:
                excluded["missing"] += 1
            else:
                answers.append(found.answer)
                indices.append(index)
        return AnswerEvidence(tuple(answers), np.asarray(indices, dtype=np.int64), excluded)


def score_task(
    task: LoadedTask, evidence: Mapping[str, StoredEvidence], settings: Settings
) -> tuple[MethodResult, dict[str, MethodResult]]:
    """A task's scores over all encoders and by each of them."""
    try:
        each = {name: score(task.spec, one, settings) for name, one in evidence.items()}
    except KeyError:
        reason = "a text has no embedding; run the command again to complete the evidence"
        return MethodResult(missing(reason), reason=reason), {}
    single = {name: combine(task.spec, [one], settings) for name, one in each.items()}
    return combine(task.spec, list(each.values()), settings), single


def score_plan(
    plan: Plan,
    images: Images | None,
    stores: Stores,
    reporter: Reporter,
    draws: dict[str, FloatArray] | None = None,
) -> tuple[dict[str, TaskResult], dict[str, list[dict[str, Any]]]]:
    """Score every task of a plan.

    Args:
        plan: The plan.
        images: The run's images.
        stores: What was observed.
        reporter: Where progress goes.
        draws: Filled with the bootstrap draws of each task's headline, where there are any.

    Returns:
        Task id to result, and task id to sample rows.
    """
    results, samples = {}, {}
    with reporter.stage("Scoring", len(plan.tasks), "tasks") as ticker:
        for task in plan.tasks:
            evidence, settings = _evidence(plan, task, images, stores)
            combined, each = (
                score_task(task, evidence, plan.settings)
                if evidence
                else _unusable(
                    "no judge was asked"
                    if plan.needs[task.id].questions
                    else "no encoder of this run embeds images"
                )
            )
            results[task.id] = task_record(task, combined, each, settings)
            samples[task.id] = _sample_rows(combined.samples, images)
            if draws is not None and combined.headline.boot is not None:
                draws[task.id] = np.abs(combined.headline.boot)
            ticker.advance(1)
    return results, samples


def _evidence(
    plan: Plan, task: LoadedTask, images: Images | None, stores: Stores
) -> tuple[dict[str, StoredEvidence], TaskSettings]:
    """What a task is scored from, by encoder or by judge."""
    needs = plan.needs[task.id]
    seeing = {name: one for name, one in stores.encoders.items() if one[2]}
    if not needs.questions:
        usable = seeing if needs.prompts else dict(stores.encoders)
        found = {name: StoredEvidence(images, store) for name, (store, _, _) in usable.items()}
        encoders = {name: usable[name][1] for name in usable}
        return found, _task_settings(plan.settings, encoders, {})
    # Judges are compared; beside them the first encoder measures what needs embeddings.
    beside = dict(list(seeing.items())[:1]) if needs.embeds else {}
    store = next((one[0] for one in beside.values()), None)
    found = {
        name: StoredEvidence(images, store, judged) for name, (judged, _) in stores.judges.items()
    }
    return found, _task_settings(
        plan.settings,
        {name: one[1] for name, one in beside.items()},
        {name: one[1] for name, one in stores.judges.items()},
    )


def _unusable(reason: str) -> tuple[MethodResult, dict[str, MethodResult]]:
    return MethodResult(missing(reason), reason=reason), {}


def _task_settings(
    settings: Settings, encoders: dict[str, str], judges: dict[str, str]
) -> TaskSettings:
    return TaskSettings(
        images_per_prompt=settings.images_per_prompt,
        guided_images_per_prompt=settings.guided_images_per_prompt,
        limit=settings.limit,
        seed=settings.seed,
        n_permutations=settings.n_permutations,
        n_bootstrap=settings.n_bootstrap,
        level=settings.level,
        encoders=encoders,
        judges=judges,
    )


def _sample_rows(rows: Sequence[dict[str, Any]], images: Images | None) -> list[dict[str, Any]]:
    """Sample rows with the file of each image."""
    filled = []
    for row in rows:
        attempt = images.get(row["prompt"], row["index"]) if images else None
        file = f"images/{attempt.file}" if attempt and attempt.file else None
        filled.append({**row, "file": file, "sha256": attempt.sha256 if attempt else None})
    return filled


def environment() -> dict[str, str]:
    """Versions of what decides numbers."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def assemble(
    model: Model, new: Mapping[str, TaskResult], old: Results | None, command: Sequence[str]
) -> Results:
    """New results beside those that the folder already has, p-values adjusted over all.

    Args:
        model: The generator.
        new: What this run scored.
        old: What results.json said before; its other tasks are kept.
        command: The command that gives these results.
    """
    kept = old.tasks if old and old.model.fingerprint == model.fingerprint else {}
    tasks = dict(sorted({**kept, **new}.items()))
    adjust_run(tasks.values())
    return Results(
        t2ibench=__version__,
        model=model,
        command=list(command),
        environment=environment(),
        limited=any(task.settings.limit is not None for task in tasks.values()),
        tasks=tasks,
    )
