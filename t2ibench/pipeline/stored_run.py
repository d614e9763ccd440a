"""Runs whose existing images are embedded and scored without generation.

For runs that ended before they were complete, because of `--max-cost`, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.models.judges import check_judges
from t2ibench.pipeline.feasibility import feasible, feasible_plan
from t2ibench.pipeline.judge_check_files import read_judge_checks
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.preparation import with_default_observers, with_judge_for
from t2ibench.pipeline.rescoring import check_not_sources, stored_plan
from t2ibench.pipeline.run_context import Models, RunContext, SourceRun
from t2ibench.pipeline.source_images import source_folder
from t2ibench.pipeline.source_run import source_settings, with_known_edits
from t2ibench.pipeline.stored_images import StoredImages
from t2ibench.results.record import RunRecord
from t2ibench.results.run import RunFolder, open_run
from t2ibench.settings import RunSettings
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import LabelStore


def lacks_observations(folder: RunFolder) -> bool:
    """Return whether an incomplete run has images that were not embedded or judged yet."""
    record = folder.record
    if record.generator is None or (
        record.status == "complete" and _was_observed(record)
    ):
        return False
    if not _was_observed(record):
        return not LabelStore(folder.database).all()
    of_sources = source_folder(folder.path)
    if of_sources is not None and lacks_observations(of_sources):
        return True
    plan = stored_plan(folder)
    images = ImageStore(folder.database, record.generator.fingerprint)
    attempts = [
        attempt
        for request in plan.requests
        if (attempt := images.get(request.key)) and attempt.status == "ok"
    ]
    there = [attempt for attempt in attempts if images.has_file(attempt)]
    return _not_embedded(folder, plan, there) or _not_answered(folder, plan, there)


def _was_observed(record: RunRecord) -> bool:
    return bool(record.encoders or record.judges)


def _not_embedded(folder: RunFolder, plan: Plan, there: Iterable[Attempt]) -> bool:
    hashes = {
        attempt.sha256
        for attempt in there
        if attempt.sha256 and plan.is_embedded(attempt.key)
    }
    stores = [
        EvidenceStore(folder.database, name, encoder.fingerprint)
        for name, encoder in folder.record.encoders.items()
        if encoder.embeds_images
    ]
    return any(store.missing("images", hashes) for store in stores)


def _not_answered(folder: RunFolder, plan: Plan, there: Sequence[Attempt]) -> bool:
    stores = [
        AnswerStore(folder.database, name, fingerprint)
        for name, fingerprint in folder.record.judges.items()
    ]
    return any(
        store.get(str(attempt.sha256), *question) is None
        for store in stores
        if not store.by_labels
        for attempt in there
        for question in plan.questions_about(attempt.key)
    )


def prepare_stored(
    path: Path, *, allow_missing: bool, call: str
) -> tuple[RunContext, Models]:
    """Plan to embed, judge and score the existing images of a run.

    Args:
        path: The run folder.
        allow_missing: Score tasks without their prompts that have no image.
        call: The command that asked.

    Returns:
        What the run is to do, and its models.

    Raises:
        T2IBenchError: none of its tasks can be scored with them.
    """
    folder = open_run(path)
    check_not_sources(folder)
    record = folder.record
    if record.generator is None:
        raise T2IBenchError(
            f"{folder.path} holds no images.", "Give a run of an image model."
        )
    settings = record.settings.model_copy(
        update={
            "generate_only": False,
            "no_score": False,
            "shard": None,
            "allow_missing": allow_missing or record.settings.allow_missing,
        }
    )
    settings = with_default_observers(settings)
    images = ImageStore(folder.database, record.generator.fingerprint)
    generator = StoredImages(record.generator, images)
    plan = stored_plan(folder)
    feasibility = feasible(plan, generator, settings.allow_missing)
    if not feasibility.tasks:
        raise _nothing_to_score(folder, feasibility.short_of_images)
    plan = feasible_plan(plan, feasibility)
    settings = with_judge_for(settings, plan)
    if plan.asks_judges:
        check_judges(settings.judge, settings.judge_args)
    sources = _stored_sources(settings, folder, plan)
    context = RunContext(
        settings=settings,
        folder=folder,
        plan=plan,
        images=images,
        feasibility=feasibility,
        call=call,
        judge_checks=_judge_checks(record),
        stored_images_only=True,
        sources=sources,
    )
    with_known_edits(context, generator)
    return context, Models(generator)


def _judge_checks(record: RunRecord) -> Sequence[JudgeCheck]:
    """Return the checks of judges of a run; of one that only generated, those that it names."""
    if _was_observed(record):
        return record.judge_checks
    return read_judge_checks(record.settings.judge_check)


def _stored_sources(
    settings: RunSettings, folder: RunFolder, plan: Plan
) -> SourceRun | None:
    """Return the run that embeds and judges the stored source images; None without them."""
    nested = source_folder(folder.path) if plan.has_edits else None
    if nested is None or nested.record.generator is None:
        return None
    images = ImageStore(nested.database, nested.record.generator.fingerprint)
    generator = StoredImages(nested.record.generator, images)
    of_sources = stored_plan(nested)
    feasibility = feasible(of_sources, generator, allow_missing=True)
    tasks = tuple(task.id for task in feasibility.tasks)
    context = RunContext(
        settings=source_settings(settings, folder).model_copy(update={"tasks": tasks}),
        folder=nested,
        plan=feasible_plan(of_sources, feasibility),
        images=images,
        feasibility=feasibility,
        judge_checks=nested.record.judge_checks,
        stored_images_only=True,
        makes_sources=True,
    )
    return SourceRun(context, Models(generator))


def _nothing_to_score(
    folder: RunFolder, short_of_images: Mapping[str, tuple[int, int]]
) -> T2IBenchError:
    """Return the error that explains why no task can be scored with the existing images."""
    without_images = sorted(
        prompt for prompt, (available, _) in short_of_images.items() if not available
    )
    plural = "" if len(without_images) == 1 else "s"
    return T2IBenchError(
        f"{folder.path} has no image of {len(without_images)} prompt{plural} that its tasks need, "
        f"such as '{shown(without_images[0])}'.",
        "Run the original command again to make them, or score without these prompts: "
        f"t2ibench score {folder.path} --allow-missing",
    )
