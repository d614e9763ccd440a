"""Scores from stored evidence. No model is loaded here."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from t2ibench.methods import MethodResult, Settings, combine, score
from t2ibench.methods.estimate import missing
from t2ibench.methods.evidence import FloatArray, ImageEvidence
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.results.build import adjust_run, task_record
from t2ibench.results.schema import Model, Results, TaskResult, TaskSettings
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import ImageStore
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

_LIBRARIES = ("numpy", "scipy", "torch", "diffusers", "transformers", "open_clip_torch", "pillow")


class StoredEvidence:
    """One encoder's evidence, read from the store (see methods.evidence.Evidence).

    Args:
        images: The run's images; None where only texts were scored.
        store: The encoder's embeddings.
    """

    def __init__(self, images: ImageStore | None, store: EvidenceStore) -> None:
        self._images = images
        self._store = store

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The first n images of a prompt that have an embedding."""
        rows, indices, excluded = [], [], Counter[str]()
        for index in range(n):
            attempt = self._images.get(prompt, index) if self._images else None
            if attempt is None:
                excluded["missing"] += 1
            elif attempt.status != "ok":
                excluded[attempt.status] += 1
            elif not self._store.has("images", attempt.sha256 or ""):
                excluded["missing"] += 1
            else:
                rows.append(self._store.get("images", attempt.sha256 or ""))
                indices.append(index)
        stacked = np.asarray(rows, dtype=np.float64) if rows else np.zeros((0, 1))
        return ImageEvidence(stacked, np.asarray(indices, dtype=np.int64), excluded)

    def texts(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of texts."""
        return np.asarray(
            [self._store.get("texts", text_key(text)) for text in texts], dtype=np.float64
        )


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
    images: ImageStore | None,
    stores: Mapping[str, tuple[EvidenceStore, str, bool]],
    reporter: Reporter,
) -> tuple[dict[str, TaskResult], dict[str, list[dict[str, Any]]]]:
    """Score every task of a plan.

    Args:
        plan: The plan.
        images: The run's images.
        stores: Encoder name to its evidence, its fingerprint and whether it embeds images.
        reporter: Where progress goes.

    Returns:
        Task id to result, and task id to sample rows.
    """
    results, samples = {}, {}
    with reporter.stage("Scoring", len(plan.tasks), "tasks") as ticker:
        for task in plan.tasks:
            usable = {
                name: StoredEvidence(images, store)
                for name, (store, _, sees) in stores.items()
                if sees or not plan.needs[task.id].prompts
            }
            combined, each = (
                score_task(task, usable, plan.settings)
                if usable
                else _unusable("no encoder of this run embeds images")
            )
            settings = _task_settings(plan.settings, {name: stores[name][1] for name in usable})
            results[task.id] = task_record(task, combined, each, settings)
            samples[task.id] = _sample_rows(combined.samples, images)
            ticker.advance(1)
    return results, samples


def _unusable(reason: str) -> tuple[MethodResult, dict[str, MethodResult]]:
    return MethodResult(missing(reason), reason=reason), {}


def _task_settings(settings: Settings, encoders: dict[str, str]) -> TaskSettings:
    return TaskSettings(
        images_per_prompt=settings.images_per_prompt,
        limit=settings.limit,
        seed=settings.seed,
        n_permutations=settings.n_permutations,
        n_bootstrap=settings.n_bootstrap,
        level=settings.level,
        encoders=encoders,
    )


def _sample_rows(rows: Sequence[dict[str, Any]], images: ImageStore | None) -> list[dict[str, Any]]:
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
