"""`t2ibench score RUN`: scores again from what is stored, without any model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.damage import warn_of
from t2ibench.pipeline.label_judge import label_judge, record_label_judge
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.score_cache import ScoreCache
from t2ibench.pipeline.scoring import Scored, open_stores, score_plan
from t2ibench.results.builder import is_complete
from t2ibench.results.files import stored_results, write_results
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import LabelStore
from t2ibench.store.locks import locked
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.run_tasks import with_kept


@dataclass(frozen=True, slots=True)
class Rescored:
    """A run that was scored again.

    Attributes:
        results: What results.json holds now.
        folder: The run folder.
        complete: False if evidence is missing or damaged.
    """

    results: Results
    folder: Path
    complete: bool


def rescore(path: Path, reporter: Reporter) -> Rescored:
    """Score the latest run of a folder again and write its results.

    A task whose evidence is gone keeps the better result that results.json has.
    """
    folder = open_run(path)
    with locked(folder.path, notices=reporter):
        folder.reread()
        return _rescore(folder, reporter)


def _rescore(folder: RunFolder, reporter: Reporter) -> Rescored:
    record = folder.record
    labels = LabelStore(folder.database)
    if not record.encoders and not record.judges and not labels.all():
        raise T2IBenchError(
            f"{folder.path} holds images but no evidence yet.",
            "Run the original command without --generate-only, or let people answer: "
            f"t2ibench label export {folder.path}",
        )
    plan = stored_plan(folder)
    old, lines = stored_results(folder)
    for line in lines:
        reporter.warn(line)
    images = None
    if record.generator:
        images = ImageStore(folder.database, record.generator.fingerprint)
    cache = ScoreCache(folder.database, reuse=False)
    found = score_stored(folder, plan, images, reporter, cache, old.tasks if old else ())
    results = found.results.in_folder(folder.path)
    allow_missing = record.settings.allow_missing
    complete = not found.lost and is_complete(results.tasks.values(), allow_missing)
    return Rescored(results, folder.path, complete)


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """What the evidence of a run gives.

    Attributes:
        results: What results.json holds now.
        scored: The scores of this time.
        lost: Whether evidence is damaged, or an earlier result was better and is kept.
    """

    results: Results
    scored: Scored
    lost: bool


def score_stored(
    folder: RunFolder,
    plan: Plan,
    images: ImageStore | None,
    reporter: Reporter,
    cache: ScoreCache,
    together: Collection[str],
) -> ScoredRun:
    """Score what a run folder holds, and write it.

    Args:
        folder: The run; its record names encoders, judges and checks.
        plan: What to score.
        images: The run's images; None where only texts are scored.
        reporter: Where damages are told.
        cache: Scores of before.
        together: Tasks whose results belong to the same run.
    """
    record = folder.record
    stores = open_stores(folder.database, record.encoders, record.judges, record.controls)
    people = label_judge(folder.database, LabelStore(folder.database))
    stores = replace(stores, people=people, checks=record.judge_checks)
    damaged = warn_of([*([images.damage] if images else []), *stores.damages()], reporter)
    scored = score_plan(plan, images, stores, reporter, kept=cache)
    record_label_judge(folder, scored)
    repeatable = folder.record.repeatable()
    written = write_results(
        folder, repeatable, scored.results, scored.inputs, scored.lacking, together
    )
    kept = written.warning()
    if kept is not None:
        reporter.warn(kept)
    return ScoredRun(written.results, scored, bool(damaged or written.kept))


def stored_plan(folder: RunFolder) -> Plan:
    """The plan of a folder's latest run."""
    record = folder.record
    existing = [item for item in record.include_path if Path(item).is_dir()]
    loaded = load_tasks(record.tasks, existing, on_left_out=lambda _: None)
    loaded = with_kept(loaded, folder.path)
    waiting = [task.id for task in loaded if task.spec.awaits is not None]
    if waiting:
        raise T2IBenchError(
            f"{folder.path} lacks the captions of {', '.join(waiting)}.",
            "Run the original command again, with its --captions.",
        )
    return make_plan(loaded, Settings.of(record.measurement))
