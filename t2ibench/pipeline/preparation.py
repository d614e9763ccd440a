"""Planning of a run before anything is generated, without loading weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.methods import needs
from t2ibench.methods.core.evidence import Needs
from t2ibench.models.devices import dtype_name
from t2ibench.models.generators import (
    create_generator,
    default_encoder,
    default_images,
    own_judge,
)
from t2ibench.models.judges import DEFAULT_JUDGE, check_judges, recorded_name
from t2ibench.models.library_messages import Journal, print_to_stderr
from t2ibench.models.protocols import Charges, FixesBatchSize, Generator
from t2ibench.models.rewritten_generator import describe, rewritten
from t2ibench.pipeline.captions import with_captions
from t2ibench.pipeline.feasibility import (
    Feasibility,
    feasible,
    feasible_plan,
    nothing_feasible,
    without_images,
)
from t2ibench.pipeline.generator_record import check_batch_size, limit_cost
from t2ibench.pipeline.judge_check_files import read_judge_checks
from t2ibench.pipeline.people_tables import check_used, judge_arguments, model_arguments
from t2ibench.pipeline.plan import Plan, every_prompt_first, make_plan, part_of
from t2ibench.pipeline.rewriting import (
    check_rewriter,
    create_rewriting,
    info_of,
    open_rewritings,
)
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext
from t2ibench.pipeline.source_images import source_folder
from t2ibench.pipeline.source_run import (
    SourcePlan,
    source_settings,
    why_no_edits,
    why_no_sources,
    with_known_edits,
    with_recorded_sources,
)
from t2ibench.pipeline.stored_images import StoredImages
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder, mending, run_folder
from t2ibench.results.schema import GeneratorInfo
from t2ibench.results.writing import stored_results
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.images import ImageStore
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask, raise_refused


@mending()
def prepare(
    settings: RunSettings, adapters: PythonAdapters | None = None, call: str = ""
) -> tuple[RunContext, Models]:
    """Plan a run: validate the settings, load the tasks and choose the folder.

    Args:
        settings: What the user asked for.
        adapters: Models that were given as Python objects.
        call: The command line or the function that asked.

    Returns:
        What the run is to do, and its models.

    Raises:
        T2IBenchError: the run cannot work; the message gives the next step.
    """
    library_messages = Journal()
    with library_messages.listening(print_to_stderr):
        return _prepared(settings, adapters or PythonAdapters(), call, library_messages)


def _prepared(
    settings: RunSettings, adapters: PythonAdapters, call: str, messages: Journal
) -> tuple[RunContext, Models]:
    """Plan a run whose libraries' messages are in a journal (see `prepare`)."""
    if not settings.tasks:
        raise T2IBenchError(
            "Which tasks? Give --tasks all, a group, or task names.",
            "`t2ibench ls` lists them.",
        )
    check_used(settings)
    models = _create_models(settings, adapters, messages)
    generator = models.generator
    settings = _with_seed_of_model(settings, generator)
    dtype_name(settings.dtype)
    settings = with_default_observers(settings)
    measurement = _measurement(settings)
    left_out: list[str] = []
    loaded = load_tasks(
        settings.tasks, settings.include_path, on_left_out=left_out.append
    )
    raise_refused(loaded)
    folder, folder_warnings = _folder(settings, generator)
    tasks, without_captions = with_captions(loaded, settings, folder.path)
    needs_of, defects = _needs(tasks, measurement)
    has_edits = any(needed.edits for needed in needs_of.values())
    unused_sources = _check_sources(settings, folder, has_edits=has_edits)
    settings = with_recorded_sources(settings, folder)
    sources = _source_plan(tasks, needs_of, settings, models, folder, measurement)
    refused = sources if isinstance(sources, dict) else sources.skipped
    defects |= refused
    plan = make_plan(
        [task for task in tasks if task.id in needs_of and task.id not in refused],
        measurement,
        needs_of,
    )
    feasibility = feasible(plan, generator, settings.allow_missing)
    # Where other tasks have none of their images, that is what the user must know.
    first = {} if feasibility.skipped and defects == refused else defects
    _check_feasible(settings, plan, generator, feasibility, first)
    feasibility = replace(feasibility, skipped={**defects, **feasibility.skipped})
    settings = with_judge_for(settings, plan)
    _check_named_judges(settings, plan, models)
    plan = _plan_of_this_call(plan, feasibility, settings, generator)
    results_warnings = _recover_generator_record(folder, generator)
    if isinstance(generator, FixesBatchSize):
        check_batch_size(folder.record.batch_size, settings.batch_size)
    if not _sources_alone_cost(sources, generator):
        limit_cost(settings.max_cost, generator, folder)
    images = ImageStore(folder.database, generator.fingerprint) if generator else None
    open_rewritings(generator, folder.database)
    judge_checks = read_judge_checks(settings.judge_check)
    context = RunContext(
        settings=settings,
        folder=folder,
        plan=plan,
        images=images,
        feasibility=feasibility,
        warnings=[
            *left_out,
            *without_captions,
            *unused_sources,
            *folder_warnings,
            *results_warnings,
        ],
        call=call,
        judge_checks=judge_checks,
    )
    if isinstance(sources, SourcePlan):
        context.sources = sources.source_run(settings, folder, plan, call)
        with_known_edits(context, generator)
    check_rewriter(models.rewriter, plan)
    return context, models


def _check_named_judges(settings: RunSettings, plan: Plan, models: Models) -> None:
    """Raise an error for a judge that cannot be used, if any is asked."""
    if plan.asks_judges:
        named = [name for name in settings.judge if name not in models.adapters.judges]
        check_judges(named, judge_arguments(settings, named))


def _plan_of_this_call(
    plan: Plan,
    feasibility: Feasibility,
    settings: RunSettings,
    generator: Generator | None,
) -> Plan:
    """Return the plan of the images that can exist and that this call makes, in its order."""
    if feasibility.skipped or feasibility.short_of_images:
        plan = feasible_plan(plan, feasibility)
    if isinstance(generator, Charges):
        plan = every_prompt_first(plan)
    if settings.shard is not None:
        number, count = map(int, settings.shard.split("/"))
        plan = part_of(plan, number, count)
    return plan


def plan_of_tasks(settings: RunSettings) -> Plan:
    """Return every image, text and question that the tasks need of any model.

    Raises:
        T2IBenchError: there are no such tasks, or one of them cannot be planned.
    """
    measurement = _measurement(settings)
    loaded = load_tasks(settings.tasks, settings.include_path)
    raise_refused(loaded)
    tasks, _ = with_captions(loaded, settings, Path(settings.output_dir))
    needs_of, defects = _needs(tasks, measurement)
    if defects and not needs_of:
        raise T2IBenchError(next(iter(defects.values())))
    return make_plan(
        [task for task in tasks if task.id in needs_of], measurement, needs_of
    )


def prepare_round(
    context: RunContext, adapters: PythonAdapters, tasks: tuple[str, ...], times: float
) -> tuple[RunContext, Models]:
    """Plan another round of a run for some of its tasks, with `times` the usual images."""
    settings = context.settings.model_copy(update={"tasks": tasks, "times": times})
    later, models = prepare(settings, adapters, context.call)
    all_tasks = [task.id for task in context.plan.tasks]
    return replace(later, tasks_of_this_command=all_tasks), models


def _create_models(
    settings: RunSettings, adapters: PythonAdapters, messages: Journal
) -> Models:
    """Return a run's generator and rewriter, created without loading their weights."""
    generator = create_model(settings, adapters)
    rewriter = create_rewriting(settings, adapters.rewriter, generator)
    if rewriter is not None and generator is not None:
        generator = rewritten(generator, describe(rewriter, generator))
    if generator is None and not settings.encoder:
        raise T2IBenchError(
            "Nothing to measure: give --model (or --encoder for word vectors).",
            "For a first try: t2ibench --model toy --tasks all",
        )
    return Models(generator, rewriter, adapters, messages)


def _source_plan(
    tasks: Sequence[LoadedTask],
    needs_of: Mapping[str, Needs],
    settings: RunSettings,
    models: Models,
    folder: RunFolder,
    measurement: Settings,
) -> SourcePlan | dict[str, str]:
    """Return the plan of the source images, or why tasks cannot have edits, by task."""
    editing = [
        task for task in tasks if task.id in needs_of and needs_of[task.id].edits
    ]
    if not editing:
        return {}
    reason = why_no_edits(settings, models.generator)
    if reason is not None:
        return {task.id: reason for task in editing}
    source_models = models
    stored: StoredImages | None = None
    if settings.sources is not None:
        adapters = replace(models.adapters, generator=None)
        messages = Journal()
        try:
            with messages.listening(print_to_stderr):
                generator = _source_model(settings, folder)
            source_models = Models(
                generator, adapters=adapters, library_messages=messages
            )
        except T2IBenchError:
            # The model is gone. Where it has made all source images, it is not needed.
            stored = _stored_sources(settings, folder)
            if stored is None:
                raise
            source_models = Models(stored, adapters=adapters)
    reason = why_no_sources(source_models.generator)
    if reason is not None:
        return {task.id: reason for task in editing}
    source_plan = SourcePlan.of(
        editing,
        needs_of,
        source_models,
        measurement,
        allow_missing=settings.allow_missing,
    )
    if stored is not None and stored.lacks(source_plan.plan.requests):
        _source_model(settings, folder)  # says why there are no others
    return source_plan


def _source_model(settings: RunSettings, folder: RunFolder) -> Generator | None:
    """Return the model of --sources, created without loading its weights."""
    return create_model(source_settings(settings, folder), PythonAdapters())


def _stored_sources(settings: RunSettings, folder: RunFolder) -> StoredImages | None:
    """Return the stored source images of the model of --sources; None if they are of another."""
    of_sources = source_folder(folder.path)
    record = None if of_sources is None else of_sources.record.generator
    if of_sources is None or record is None or record.model != settings.sources:
        return None
    # Arguments that are given now may be what is wrong.
    if settings.sources_args != folder.record.settings.sources_args:
        return None
    return StoredImages(record, ImageStore(of_sources.database, record.fingerprint))


def _check_sources(
    settings: RunSettings, folder: RunFolder, *, has_edits: bool
) -> list[str]:
    """Return warnings about a --sources that nothing is made with.

    Raises:
        T2IBenchError: there is no such model, or arguments without a model.
    """
    if settings.sources is None:
        if settings.sources_args:
            raise T2IBenchError("--sources-args needs --sources to go to.")
        return []
    if has_edits:
        return []
    _source_model(settings, folder)
    return [
        "--sources makes images that are edited, and none of these tasks edits any: it is not used."
    ]


def _sources_alone_cost(
    sources: SourcePlan | dict[str, str], generator: Generator | None
) -> bool:
    """Return whether source images cost money, and the edits of them none."""
    if isinstance(sources, dict) or isinstance(generator, Charges):
        return False
    return isinstance(sources.models.generator, Charges)


def _with_seed_of_model(
    settings: RunSettings, generator: Generator | None
) -> RunSettings:
    """Return settings with the seed derived from the model, where that was asked for."""
    if not settings.seed_is_derived:
        return settings
    if generator is None:
        raise T2IBenchError(
            "--seed derived takes the seed from a model, and none is named.",
            "Give --model, or a number.",
        )
    return settings.of_model(generator.fingerprint)


def _check_feasible(
    settings: RunSettings,
    plan: Plan,
    generator: Generator | None,
    feasibility: Feasibility,
    defects: Mapping[str, str],
) -> None:
    """Raise an error if no task is feasible."""
    tasks, skipped = feasibility.tasks, feasibility.skipped
    if not tasks and defects:
        task, reason = next(iter(defects.items()))
        raise T2IBenchError(f"{task} cannot be run: {reason.rstrip('.')}.")
    if not tasks or (generator is not None and without_images(tasks, plan, skipped)):
        raise nothing_feasible(
            settings.model, plan, skipped, feasibility.short_of_images
        )


def _recover_generator_record(
    folder: RunFolder, generator: Generator | None
) -> list[str]:
    """Recover a missing generator record from results.json; return lines for the user."""
    results, lines = stored_results(folder)
    if results is None or folder.record.generator is not None:
        return lines
    # Where the record is damaged, results.json still has the settings that were in effect.
    stored = results.model
    if generator is not None and stored.fingerprint == generator.fingerprint:
        recovered = GeneratorRecord(**dict(stored), model=generator.name)
        folder.record = folder.record.model_copy(update={"generator": recovered})
    return lines


def _folder(
    settings: RunSettings, generator: Generator | None
) -> tuple[RunFolder, list[str]]:
    """Return the run's folder, and lines on files that were set aside."""
    output = Path(settings.output_dir)
    if settings.shard is not None:
        output /= f"shard-{settings.shard.replace('/', '-of-')}"
    # A run on texts alone is named after its encoder, without the path of a file.
    kinds = [name.partition(":") for name in settings.encoder]
    texts = "-".join(
        ["texts", *(kind + colon + Path(place).name for kind, colon, place in kinds)]
    )
    return run_folder(
        output,
        generator.name if generator else texts,
        generator.fingerprint if generator else None,
        plain=not (settings.model_args or settings.rewriter_args or settings.seed)
        and settings.dtype is None
        and not settings.deterministic,
        given=settings.name,
        asked=None if generator is None else _generator_info(generator),
    )


def _generator_info(generator: Generator) -> GeneratorInfo:
    """Return a generator's own description before it has made an image."""
    return GeneratorInfo(
        name=generator.name,
        revision=generator.revision,
        fingerprint=generator.fingerprint,
        settings=dict(generator.settings),
        rewriter=info_of(generator),
    )


def _needs(
    tasks: Sequence[LoadedTask], measurement: Settings
) -> tuple[dict[str, Needs], dict[str, str]]:
    """Return each task's needs, and why the method of others failed to determine them."""
    needs_of: dict[str, Needs] = {}
    defects: dict[str, str] = {}
    for task in tasks:
        try:
            needs_of[task.id] = needs(task.spec, measurement)
        # A bug in one method must not lose the other tasks.
        except Exception as error:
            defects[task.id] = (
                f"the method '{task.spec.method}' failed with {type(error).__name__}: "
                f"{first_line(error)}"
            )
    return needs_of, defects


def create_model(settings: RunSettings, adapters: PythonAdapters) -> Generator | None:
    """Return a run's generator, created without loading its weights; None if none is named."""
    if adapters.generator is not None:
        if settings.model_args:
            raise T2IBenchError(
                "model_args go to a model that is named, not to an object."
            )
        if settings.deterministic:
            raise T2IBenchError(
                "deterministic goes to a model that is named, not to an object."
            )
        return adapters.generator
    if settings.model is None:
        if settings.model_args:
            raise T2IBenchError("--model-args needs a --model to go to.")
        return None
    return create_generator(
        settings.model,
        model_arguments(settings),
        seed=settings.seed_of_model,
        device=settings.device,
        dtype=settings.dtype,
        deterministic=settings.deterministic,
    )


def with_default_observers(settings: RunSettings) -> RunSettings:
    """Return settings with the encoder named, and any judge that comes with the model.

    A part of a run has no scores.
    """
    encoders = settings.encoder or (default_encoder(settings.model),)
    named_judges = settings.judge
    if not named_judges:
        judge = own_judge(settings.model)
        named_judges = () if judge is None else (judge,)
    judges = map(recorded_name, named_judges)
    return settings.model_copy(
        update={
            "encoder": tuple(dict.fromkeys(encoders)),
            "judge": tuple(dict.fromkeys(judges)),
            "no_score": settings.no_score or settings.shard is not None,
        }
    )


def with_judge_for(settings: RunSettings, plan: Plan) -> RunSettings:
    """Return settings with the default judge if answers score a task and no judge is named.

    Checks of guided images alone load no judge: it is gigabytes, and the task has a score without.
    """
    if settings.judge or not plan.is_judged:
        return settings
    return settings.model_copy(update={"judge": (recorded_name(DEFAULT_JUDGE),)})


def _measurement(settings: RunSettings) -> Settings:
    """Return a run's measurement settings, with the model's own default numbers of images."""
    measurement = Settings.of(settings)
    images, guided = default_images(settings.model)
    if settings.images_per_prompt or not images:
        return measurement
    guided = settings.guided_images_per_prompt or guided
    update = {"images_per_prompt": images, "guided_images_per_prompt": guided}
    return measurement.model_copy(update=update)
