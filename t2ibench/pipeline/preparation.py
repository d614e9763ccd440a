"""Everything that can be known about a run before anything is generated. Loads no weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, first_line, shown
from t2ibench.methods import needs
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.models.devices import dtype_name
from t2ibench.models.generators import (
    can_regenerate,
    create_generator,
    default_encoder,
    default_images,
    default_judge,
)
from t2ibench.models.judges import check_judges, recorded_name
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Charges, Encoder, Generator, HasNotes, Judge
from t2ibench.models.rewritten_generator import describe, rewritten
from t2ibench.pipeline.captions import with_captions
from t2ibench.pipeline.feasibility import (
    cut,
    exclusions,
    feasible,
    nothing_feasible,
    without_images,
)
from t2ibench.pipeline.generator_record import limit_cost
from t2ibench.pipeline.people_tables import check_used, judge_arguments, model_arguments
from t2ibench.pipeline.plan import Plan, every_prompt_first, make_plan, part_of
from t2ibench.pipeline.rewriting import (
    check_rewriter,
    create_rewriting,
    info_of,
    open_rewritings,
)
from t2ibench.results.files import stored_results
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder, mending, run_folder
from t2ibench.results.schema import GeneratorInfo
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.file_errors import reading
from t2ibench.store.images import ImageStore
from t2ibench.store.locks import Notices, locked
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask, raise_refused

_WRITTEN = "It is written by `t2ibench check judge JUDGE --images DIR --output FILE`."


@dataclass(frozen=True, slots=True)
class PythonAdapters:
    """Adapters that were given as Python objects, by name."""

    generator: Generator | None = None
    encoders: Mapping[str, Encoder] = field(default_factory=dict)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    rewriter: Rewriter | None = None

    def __bool__(self) -> bool:
        return bool(self.generator or self.encoders or self.judges or self.rewriter)


@dataclass(slots=True)
class Prepared:
    """A run before anything is generated."""

    settings: RunSettings
    plan: Plan
    generator: Generator | None
    folder: RunFolder
    images: ImageStore | None
    skipped: dict[str, str]  # tasks that are not run, with the reason
    lacking: dict[str, tuple[int, int]]  # prompt to images that a folder has, and needs
    warnings: list[str]
    objects: PythonAdapters
    call: str = ""  # the command line or function that asked
    rewriter: Rewriter | None = None
    # tasks that the same command measures in other rounds
    together: Collection[str] = ()
    judge_checks: Sequence[JudgeCheck] = ()
    # images that are there are observed and scored; none is generated
    only_stored: bool = False

    def again(self, tasks: tuple[str, ...], times: float) -> Prepared:
        """Another round: some of the tasks, with other numbers of images."""
        settings = self.settings.model_copy(update={"tasks": tasks, "times": times})
        round_ = prepare(settings, self.objects, self.call)
        round_.together = [task.id for task in self.plan.tasks]
        return round_

    @property
    def from_folder(self) -> bool:
        """Whether the images exist already and are only read."""
        named = None if self.objects.generator is not None else self.settings.model
        return named is not None and not can_regenerate(named)

    @property
    def notes(self) -> Sequence[str]:
        """Lines about how the generator's files were read."""
        return self.generator.notes if isinstance(self.generator, HasNotes) else ()

    @contextmanager
    def alone(self, notices: Notices) -> Iterator[None]:
        """Keep other commands from writing to the run's folder; waits for one that does."""
        with locked(self.folder.path, notices=notices):
            self.folder.database.begin_run()
            try:
                self.folder.reread()
                if self.images is not None:
                    self.images.refresh()
                yield
            finally:
                self.folder.database.end_run()


@mending()
def prepare(
    settings: RunSettings, objects: PythonAdapters | None = None, call: str = ""
) -> Prepared:
    """Plan a run."""
    objects = objects or PythonAdapters()
    if not settings.tasks:
        raise T2IBenchError(
            "Which tasks? Give --tasks all, a group, or task names.",
            "`t2ibench ls` lists them.",
        )
    check_used(settings)
    generator = create_model(settings, objects)
    rewriter = create_rewriting(settings, objects.rewriter, generator)
    if rewriter is not None and generator is not None:
        generator = rewritten(generator, describe(rewriter, generator))
    if generator is None and not settings.encoder:
        raise T2IBenchError(
            "Nothing to measure: give --model (or --encoder for word vectors).",
            "For a first try: t2ibench --model toy --tasks all",
        )
    dtype_name(settings.dtype)
    settings = with_default_observers(settings)
    measurement = _measurement(settings)
    left_out: list[str] = []
    loaded = load_tasks(
        settings.tasks, settings.include_path, on_left_out=left_out.append
    )
    raise_refused(loaded)
    folder, warnings = _folder(settings, generator)
    loaded, waiting = with_captions(loaded, settings, folder.path)
    left_out += waiting
    needs_of, defects = _needs(loaded, measurement)
    plan = make_plan(
        [task for task in loaded if task.id in needs_of], measurement, needs_of
    )
    tasks, skipped, lacking = feasible(plan, generator, settings.allow_missing)
    if not tasks and defects:
        raise T2IBenchError(next(iter(defects.values())))
    if not tasks or (generator is not None and without_images(tasks, plan, skipped)):
        raise nothing_feasible(settings.model, plan, skipped, lacking)
    skipped = defects | skipped
    if plan.questions:
        named = [name for name in settings.judge if name not in objects.judges]
        check_judges(named, judge_arguments(settings, named))
    if skipped or lacking:
        plan = cut(make_plan(tasks, measurement, needs_of), lacking)
    if isinstance(generator, Charges):
        plan = every_prompt_first(plan)
    if settings.shard is not None:
        plan = part_of(plan, *map(int, settings.shard.split("/")))
    old, lines = stored_results(folder)
    warnings = [*left_out, *warnings, *lines]
    lost = old.model if old is not None and folder.record.generator is None else None
    if (
        lost is not None
        and generator is not None
        and lost.fingerprint == generator.fingerprint
    ):
        # results.json has what a lost record said of the settings that were in effect.
        found = GeneratorRecord(**dict(lost), model=generator.name)
        folder.record = folder.record.model_copy(update={"generator": found})
    limit_cost(settings.max_cost, generator, folder)
    images = ImageStore(folder.database, generator.fingerprint) if generator else None
    open_rewritings(generator, folder.database)
    prepared = Prepared(
        settings,
        plan,
        generator,
        folder,
        images,
        skipped,
        lacking,
        [*warnings, *exclusions(plan, skipped)],
        objects,
        call,
        rewriter,
        judge_checks=[
            _read_check(Path(name).expanduser()) for name in settings.judge_check
        ],
    )
    check_rewriter(prepared)
    return prepared


def _read_check(path: Path) -> JudgeCheck:
    """A check of a judge."""
    with reading(path, _WRITTEN):
        text = path.read_text(encoding="utf-8")
    try:
        return JudgeCheck.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise T2IBenchError(
            f"{shown(path, 400)} is no check of a judge ({where}: {first['msg'].lower()}).",
            _WRITTEN,
        ) from None


def _folder(
    settings: RunSettings, generator: Generator | None
) -> tuple[RunFolder, list[str]]:
    """The run's folder, and lines about what was set aside."""
    output = Path(settings.output_dir)
    if settings.shard is not None:
        output /= f"shard-{settings.shard.replace('/', '-of-')}"
    # A run on texts alone is called by what read them, without the way to its file.
    kinds = [name.partition(":") for name in settings.encoder]
    texts = "-".join(
        ["texts", *(kind + colon + Path(rest).name for kind, colon, rest in kinds)]
    )
    return run_folder(
        output,
        generator.name if generator else texts,
        generator.fingerprint if generator else None,
        plain=not (settings.model_args or settings.rewriter_args or settings.seed)
        and settings.dtype is None,
        given=settings.name,
        asked=None if generator is None else _generator_info(generator),
    )


def _generator_info(generator: Generator) -> GeneratorInfo:
    """What a generator says of itself before it has made an image."""
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
    """What each task needs, and why that of some cannot be told."""
    found: dict[str, Needs] = {}
    defects: dict[str, str] = {}
    for task in tasks:
        try:
            found[task.id] = needs(task.spec, measurement)
        except (
            Exception
        ) as error:  # a defect of one method must not lose the other tasks
            defects[task.id] = (
                f"the method '{task.spec.method}' failed with {type(error).__name__}: "
                f"{first_line(error)}"
            )
    return found, defects


def create_model(settings: RunSettings, objects: PythonAdapters) -> Generator | None:
    """The generator of a run; its weights are loaded when it first generates."""
    if objects.generator is not None:
        if settings.model_args:
            raise T2IBenchError(
                "model_args go to a model that is named, not to an object."
            )
        return objects.generator
    if settings.model is None:
        if settings.model_args:
            raise T2IBenchError("--model-args needs a --model to go to.")
        return None
    return create_generator(
        settings.model,
        model_arguments(settings),
        seed=settings.seed,
        device=settings.device,
        dtype=settings.dtype,
    )


def with_default_observers(settings: RunSettings) -> RunSettings:
    """Encoders and judges by name, each once; a part of a run scores nothing."""
    encoders = settings.encoder or (default_encoder(settings.model),)
    judges = map(recorded_name, settings.judge or (default_judge(settings.model),))
    return settings.model_copy(
        update={
            "encoder": tuple(dict.fromkeys(encoders)),
            "judge": tuple(dict.fromkeys(judges)),
            "no_score": settings.no_score or settings.shard is not None,
        }
    )


def _measurement(settings: RunSettings) -> Settings:
    """How it is measured: the model's own numbers of images where none were asked for."""
    measurement = Settings.of(settings)
    images, guided = default_images(settings.model)
    if settings.images_per_prompt or not images:
        return measurement
    guided = settings.guided_images_per_prompt or guided
    update = {"images_per_prompt": images, "guided_images_per_prompt": guided}
    return measurement.model_copy(update=update)
