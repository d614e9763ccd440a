"""Scoring from stored evidence without any model (`t2ibench score RUN`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.methods.core.describe import listed
from t2ibench.models.fingerprint import fingerprint
from t2ibench.pipeline.plan import Plan, make_plan, plan_of_sources, with_edits
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.score_cache import ScoreCache, TaskScored
from t2ibench.pipeline.scoring import score_plan, scoring_processes
from t2ibench.pipeline.source_images import (
    SourceImages,
    source_folder,
    source_images_in,
    stored_source_images,
)
from t2ibench.pipeline.stores import Stores, open_stores
from t2ibench.results.builder import is_complete
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.results.writing import stored_results, write_results
from t2ibench.settings import Settings
from t2ibench.store.answers import LABELS_BY, AnswerStore, StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import LabelStore
from t2ibench.store.locks import locked
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.run_tasks import with_stored


def rescore(path: Path, reporter: Reporter) -> tuple[Results, bool]:
    """Rescore a folder's latest run; return its results, and whether they are complete.

    A task whose evidence is gone keeps the better result that results.json has.
    """
    folder = open_run(path)
    check_not_sources(folder)
    with locked(folder.path, notices=reporter):
        folder.reload()
        record = folder.record
        if (
            not record.encoders
            and not record.judges
            and not LabelStore(folder.database).all()
        ):
            raise T2IBenchError(
                f"{folder.path} holds images but no evidence yet.",
                f"`t2ibench score {folder.path}` embeds and scores them; or let people answer: "
                f"t2ibench label serve {folder.path}",
            )
        plan = stored_plan(folder)
        old, lines = stored_results(folder)
        for line in lines:
            reporter.warn(line)
        images = None
        with scoring_processes(plan):
            if record.generator:
                images = ImageStore(folder.database, record.generator.fingerprint)
            cache = ScoreCache(folder.database, reuse=False)
            results, _, is_damaged = score_stored(
                folder, plan, images, reporter, cache, old.tasks if old else ()
            )
    complete = is_complete(results.tasks.values(), record.settings.allow_missing)
    return results.in_folder(folder.path), complete and not is_damaged


def check_not_sources(folder: RunFolder) -> None:
    """Raise an error for a run of source images: it is scored with the run that it lies in."""
    if folder.record.makes_sources:
        raise T2IBenchError(
            f"{folder.path} holds the source images of the run in {folder.path.parent}.",
            f"Give that run: {folder.path.parent}.",
        )


def score_stored(
    folder: RunFolder,
    plan: Plan,
    images: ImageStore | None,
    reporter: Reporter,
    cache: ScoreCache,
    tasks_of_this_command: Collection[str],
) -> tuple[Results, dict[str, TaskScored], bool]:
    """Score the stored evidence of a run folder, and write the results.

    Args:
        folder: The run folder.
        plan: What its tasks need.
        images: Its images; None for a run on texts alone.
        reporter: Who is told.
        cache: The scores that are stored already.
        tasks_of_this_command: Tasks that the same command has scored before.

    Returns:
        What results.json holds now, what was scored, and whether something is damaged or missing
        that was there before.
    """
    stores = _stores_of(folder)
    damage = folder.database.damage()
    if damage:
        reporter.warn(damage)
    source_run = source_folder(folder.path) if plan.has_edits else None
    sources = None if source_run is None else source_images_in(source_run)
    if source_run is not None and sources is not None:
        stores = replace(stores, sources=_stores_of_sources(source_run, sources))
    scored = score_plan(plan, images, stores, reporter, cache=cache, sources=sources)
    _record_people(folder, scored.values())
    new = {name: task.result for name, task in scored.items()}
    inputs = {name: task.inputs for name, task in scored.items()}
    incomplete = {name for name, task in scored.items() if task.incomplete}
    results, staying = write_results(
        folder=folder,
        settings=folder.record.repeatable(),
        new=new,
        inputs=inputs,
        incomplete=incomplete,
        tasks_of_this_command=tasks_of_this_command,
    )
    if staying is not None:
        reporter.warn(staying)
    return results, scored, bool(damage or staying)


def _stores_of(folder: RunFolder) -> Stores:
    """Return the stores of all observations in a run."""
    record = folder.record
    stores = open_stores(
        folder.database, record.encoders, record.judges, record.controls
    )
    return replace(
        stores,
        people=_people(folder.database),
        checks=record.judge_checks,
        readings=record.generator.unread_prompts if record.generator else {},
        request="" if record.generator is None else record.generator.added_request,
        generator="" if record.generator is None else record.generator.name,
    )


def _stores_of_sources(source_run: RunFolder, sources: SourceImages) -> Stores:
    """Return the stores of all observations of source images, from the run that makes them."""
    generator = source_run.record.generator
    assert generator is not None  # the source images are its own
    made_by = {
        "name": generator.name,
        "revision": generator.revision,
        "fingerprint": generator.fingerprint,
        "settings": dict(generator.settings),
    }
    images = DistinctImages(sources.images)
    return replace(_stores_of(source_run), images=images, made_by=made_by)


def _record_people(folder: RunFolder, scored: Iterable[TaskScored]) -> None:
    """Record people as judges of a run exactly if their labels answered for a task."""
    recorded = folder.record.judges
    judges = {
        name: digest
        for name, digest in recorded.items()
        if not name.startswith(LABELS_BY)
    }
    for task in scored:
        for name, digest in task.result.settings.judges.items():
            if name.startswith(LABELS_BY):
                judges[name] = digest
    if recorded != judges:
        folder.update(judges=judges)


def _people(database: Database) -> dict[str, AnswerStore]:
    """Return people's majority answers as an answer store, keyed by the people's names."""
    labels = LabelStore(database)
    every = labels.all()
    if not every:
        return {}
    name = LABELS_BY + listed(sorted({label.labeller for label in every}))
    store = AnswerStore(
        database, name, fingerprint({"labels": [asdict(label) for label in every]})
    )
    asked = dict.fromkeys(
        (label.image, label.question, label.classes) for label in every
    )
    store.add(StoredAnswer(*about, labels.majority(*about) or "") for about in asked)
    return {name: store}


def stored_plan(folder: RunFolder) -> Plan:
    """Return the plan of a folder's latest run."""
    record = folder.record
    settings = Settings.of(record.measurement)
    existing = [item for item in record.include_path if Path(item).is_dir()]
    loaded = load_tasks(record.tasks, existing, on_left_out=lambda _: None)
    loaded = with_stored(loaded, folder.path)
    waiting = [task.id for task in loaded if task.spec.awaits is not None]
    if waiting:
        raise T2IBenchError(
            f"{folder.path} lacks the captions of {', '.join(waiting)}.",
            "Run the original command again, with its --captions.",
        )
    if record.makes_sources:
        needs_of = {task.id: needs(task.spec, settings) for task in loaded}
        return plan_of_sources(loaded, settings, needs_of)
    plan = make_plan(loaded, settings)
    return (
        with_edits(plan, stored_source_images(folder.path)) if plan.has_edits else plan
    )
