"""The run that makes the source images of edits, inside the folder of the run that edits them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.methods.core.evidence import Needs
from t2ibench.models.protocols import (
    Charges,
    ChecksPrompts,
    EditsImages,
    FixesBatchSize,
    Generator,
)
from t2ibench.models.rewritten_generator import Rewritten
from t2ibench.pipeline.feasibility import Feasibility, feasible, feasible_plan
from t2ibench.pipeline.generator_record import check_batch_size, limit_cost, spent
from t2ibench.pipeline.plan import (
    Plan,
    every_prompt_first,
    part_of,
    plan_of_sources,
    with_edits,
)
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run_context import Models, RunContext, SourceRun
from t2ibench.pipeline.source_images import FOLDER, SourceImages
from t2ibench.pipeline.stored_images import StoredImages
from t2ibench.results.run import RunFolder, open_or_new
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.tasks.loader import LoadedTask


def why_no_edits(settings: RunSettings, generator: Generator | None) -> str | None:
    """Return why a run can make no edits of images, with what to do; None if it can."""
    if generator is None:
        return "it edits images, and no --model was named"
    if isinstance(generator, Rewritten):
        return (
            "it edits images, and a rewriter rewrites no instructions (run the task in a run of "
            "its own, without --rewriter)"
        )
    if not isinstance(generator, EditsImages):
        return (
            f"it edits images, and {generator.name} makes images from prompts alone (name a model "
            "that edits images; `t2ibench ls models` lists them)"
        )
    try:
        generator.check_edits()
    except T2IBenchError as error:
        return f"it edits images, and {generator.name} cannot: {error}"
    return None


def why_no_sources(generator: Generator | None) -> str | None:
    """Return why a model can make no source images, with what to do; None if it can."""
    if not isinstance(generator, ChecksPrompts):
        return None
    try:
        generator.check_prompts()
    except T2IBenchError as error:
        return f"its source images: {error}"
    return None


def with_recorded_sources(settings: RunSettings, folder: RunFolder) -> RunSettings:
    """Return settings with the --sources that the run was begun with, unless they name others."""
    recorded = folder.record.settings
    if settings.sources is not None or recorded.sources is None:
        return settings
    update = {"sources": recorded.sources, "sources_args": recorded.sources_args}
    return settings.model_copy(update=update)


def source_settings(settings: RunSettings, run: RunFolder) -> RunSettings:
    """Return the settings of the run that makes the source images of a run."""
    update: dict[str, object] = {
        "sources": None,
        "sources_args": {},
        "captions": {},
        "rewriter": None,
        "rewriter_args": {},
        "name": FOLDER,
        "output_dir": str(run.path),
        "no_score": True,
        "log_to": (),
        "log_args": {},
    }
    if settings.sources is not None:
        update |= {
            "model": settings.sources,
            "model_args": settings.sources_args,
            "batch_size": None,
            "deterministic": False,
            # A seed that is derived from the model is a given number for another one.
            "seed_is_derived": False,
        }
    return settings.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What a run has to do for its source images.

    Attributes:
        models: The models of the source images.
        plan: The source images, and the questions about them.
        feasibility: Which tasks can have their source images.
    """

    models: Models
    plan: Plan
    feasibility: Feasibility

    @classmethod
    def of(
        cls,
        tasks: Sequence[LoadedTask],
        needs_of: Mapping[str, Needs],
        models: Models,
        measurement: Settings,
        *,
        allow_missing: bool,
    ) -> SourcePlan:
        """Return the plan of the source images of tasks with edits."""
        plan = plan_of_sources(tasks, measurement, needs_of)
        feasibility = feasible(plan, models.generator, allow_missing)
        return cls(models, plan, feasibility)

    @property
    def skipped(self) -> dict[str, str]:
        """The tasks that cannot have their source images, each with the reason."""
        return {
            task: f"source images: {reason}"
            for task, reason in self.feasibility.skipped.items()
        }

    def source_run(
        self, settings: RunSettings, run: RunFolder, plan: Plan, call: str
    ) -> SourceRun | None:
        """Return the run that makes the source images; None if no task needs any.

        Args:
            settings: Those of the run that edits, with encoders and judges.
            run: Its folder.
            plan: Its plan.
            call: The command line or the function that asked.

        Raises:
            T2IBenchError: the folder has source images of another model.
        """
        generator = self.models.generator
        tasks = [task for task in self.feasibility.tasks if task.id in plan.needs]
        if not tasks or generator is None:
            return None
        warnings: list[str] = []
        folder = open_or_new(run.path / FOLDER, warnings)
        _check_same_model(settings, folder, generator)
        if isinstance(generator, FixesBatchSize):
            check_batch_size(folder.record.batch_size, settings.batch_size)
        # The run that edits says which tasks are left out.
        feasibility = replace(self.feasibility, tasks=tasks, skipped={})
        of_sources = feasible_plan(self.plan, feasibility)
        if isinstance(generator, Charges):
            of_sources = every_prompt_first(of_sources)
        # An edit is made where its source image is.
        if plan.part is not None:
            of_sources = part_of(of_sources, *plan.part)
        nested = source_settings(settings, run)
        context = RunContext(
            settings=nested.model_copy(
                update={"tasks": tuple(task.id for task in tasks)}
            ),
            folder=folder,
            plan=of_sources,
            images=ImageStore(folder.database, generator.fingerprint),
            feasibility=feasibility,
            warnings=warnings,
            call=call,
            makes_sources=True,
            spent_elsewhere=spent(run),
        )
        return SourceRun(context, self.models)


def _check_same_model(
    settings: RunSettings, folder: RunFolder, generator: Generator
) -> None:
    """Raise an error if the stored source images are another model's, or of other settings."""
    recorded = folder.record.generator
    if recorded is None or recorded.fingerprint == generator.fingerprint:
        return
    given = settings.sources or settings.model or generator.name
    what = f"{recorded.name} with other settings or files"
    if recorded.model != given:
        what = recorded.model
    raise T2IBenchError(
        f"--sources {given}: '{folder.path}' holds source images of {what}.",
        "Leave --sources out to go on with them, or give --name for another run.",
    )


def with_known_edits(context: RunContext, generator: Generator | None) -> None:
    """Plan the edits of the source images that exist now; none that no call is to make.

    Args:
        context: The run that edits.
        generator: What edits.
    """
    sources = context.sources
    if sources is None or sources.context.images is None:
        return
    images = SourceImages(sources.context.images)
    context.plan = with_edits(context.plan, images)
    if isinstance(generator, Charges):
        context.plan = every_prompt_first(context.plan)
    if context.stored_images_only and context.images is not None:
        context.plan = _of_stored_edits(context.plan, context.images)


def _of_stored_edits(plan: Plan, images: ImageStore) -> Plan:
    """Return a plan without the edits that were never made."""
    requests = tuple(
        request
        for request in plan.requests
        if request.source is None or images.get(request.key) is not None
    )
    edits = tuple(request for request in requests if request.source is not None)
    return replace(plan, requests=requests, edits=replace(plan.edits, requests=edits))


def limit_cost_of_sources(sources: SourceRun) -> None:
    """Limit the model of source images to what --max-cost leaves for them."""
    _limit_cost(sources.context, sources.models)


def limit_cost_of_edits(context: RunContext, models: Models) -> None:
    """Limit the model of edits to what source images have left of --max-cost."""
    sources = context.sources
    assert sources is not None
    context.spent_elsewhere = spent(sources.context.folder)
    _limit_cost(context, models)


def _limit_cost(context: RunContext, models: Models) -> None:
    """Limit a model to what was not spent elsewhere."""
    if isinstance(models.generator, Charges):
        most = context.settings.max_cost
        limit_cost(most, models.generator, context.folder, context.spent_elsewhere)


def check_files(context: RunContext, reporter: Reporter) -> None:
    """Remove changed files of source images that edits are still to be made from.

    The run that makes them, next, makes them again, and those whose files are missing. Where stored
    images alone are scored nothing is made.
    """
    sources = context.sources
    assert sources is not None
    if context.stored_images_only:
        return
    needed = _needed_sources(context)
    sources.context.needed_files = needed
    if not needed:
        return
    # Another command may be reading or writing these files.
    with sources.context.exclusive(reporter):
        changed = _changed_files(sources, needed)
        if changed and _regenerates_the_same(sources.models.generator):
            for image in changed:
                image.path.unlink(missing_ok=True)
        elif changed:
            reporter.warn(_not_regenerated(context, changed))


def _changed_files(sources: SourceRun, needed: Iterable[ImageKey]) -> list[StoredImage]:
    """Return the source images whose files are no longer what was stored."""
    images = sources.context.images
    assert images is not None
    changed = []
    for key in needed:
        attempt = images.get(key)
        if attempt is None or attempt.sha256 is None or not images.has_file(attempt):
            continue
        image = images.image(attempt)
        try:
            image.data()
        except UnreadableImageError:
            changed.append(image)
    return changed


def _regenerates_the_same(generator: Generator | None) -> bool:
    """Return whether a model can make a lost source image again, at no cost.

    Services are paid, and few of them take a seed: another image would have other edits.
    """
    return not isinstance(generator, Charges | StoredImages | None)


def _not_regenerated(context: RunContext, changed: Sequence[StoredImage]) -> str:
    """Return a warning about changed source images that are left as they are."""
    edited = context.images
    hashes = {image.sha256 for image in changed}
    n_edits = 0
    if edited is not None:
        attempts = edited.all_attempts()
        n_edits = sum(
            attempt.source in hashes and attempt.status == "ok" for attempt in attempts
        )
    plural = "" if len(changed) == 1 else "s"
    return (
        f"{len(changed)} source image{plural} changed since they were stored, such as "
        f"{changed[0].path}: no more edits are made from them. Put the files back; or delete them, "
        f"and other source images are made, and edited in place of {n_edits} edits that exist."
    )


def _needed_sources(context: RunContext) -> set[ImageKey]:
    """Return the source images that edits are still to be made from."""
    edited, sources = context.images, context.sources
    if edited is None or sources is None or sources.context.images is None:
        return set()
    wanted = {
        request.source.sha256
        for request in context.plan.edits.requests
        if request.source is not None and not _is_made(request.key, edited)
    }
    of_sources = (
        sources.context.images.get(request.key)
        for request in sources.context.plan.requests
    )
    return {
        attempt.key
        for attempt in of_sources
        if attempt is not None and attempt.sha256 in wanted
    }


def _is_made(key: ImageKey, images: ImageStore) -> bool:
    """Return whether an edit was made, whether or not its file is still there."""
    attempt = images.get(key)
    return attempt is not None and attempt.status != "failed"
