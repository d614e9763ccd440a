"""One run from tasks to results: plan, generate, observe, score, write."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import create_generator
from t2ibench.models.judges import check_judges, create_judges
from t2ibench.models.protocols import Encoder, Generator, Judge
from t2ibench.pipeline.generate import generate, pending
from t2ibench.pipeline.judging import Bench, Hearing, hear, open_benches
from t2ibench.pipeline.observe import Observer, observe_images, observe_texts, open_observers
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.scoring import Stores, score_plan
from t2ibench.pipeline.writing import write_results
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.images import ImageStore
from t2ibench.store.run import RunFolder, run_folder
from t2ibench.tasks.loader import LoadedTask

DEFAULT_ENCODER = "open_clip:ViT-L-14/openai"
DEFAULT_ENCODERS = {"toyland": "toyland", "toy": "toy-clip", "toy-fair": "toy-clip"}
DEFAULT_JUDGE = "vlm:llava-hf/llava-1.5-7b-hf"
DEFAULT_JUDGES = {"toyland": "toyland", "toy": "toyland", "toy-fair": "toyland"}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for.

    Attributes:
        model: The generator; None to score text encoders alone.
        tasks: The tasks.
        model_args: Arguments of the generator.
        encoders: Encoders; empty for the model's default.
        judges: Judges; empty for the model's default. Only tasks that ask questions use them.
        judge_args: Arguments of the judges.
        settings: How to measure.
        batch_size: Images in one call of the generator; None for its own choice.
        device: Where models run; None to choose.
        dtype: Their numbers; None to choose.
        output_dir: Folder of all runs.
        include_paths: Folders of further tasks.
        task_patterns: What the user named, for the command that is stored.
        generate_only: Stop after drawing.
        argv: The command line, for the history.
    """

    model: str | None
    tasks: Sequence[LoadedTask]
    model_args: Mapping[str, str] = field(default_factory=dict)
    encoders: Sequence[str] = ()
    judges: Sequence[str] = ()
    judge_args: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    batch_size: int | None = None
    device: str | None = None
    dtype: str | None = None
    output_dir: Path = Path("runs")
    include_paths: Sequence[Path] = ()
    generate_only: bool = False
    argv: Sequence[str] = ()


@dataclass(slots=True)
class Prepared:
    """A run before anything is drawn.

    Attributes:
        options: What the user asked for.
        plan: What has to be there.
        generator: The model, or None.
        folder: Where everything goes.
        images: The images that are there; None without a generator.
        skipped: Tasks left out, with the reason.
        lacking: For pictures that exist: prompt to (there, needed).
    """

    options: RunOptions
    plan: Plan
    generator: Generator | None
    folder: RunFolder
    images: ImageStore | None
    skipped: dict[str, str]
    lacking: dict[str, tuple[int, int]]


@dataclass(slots=True)
class Outcome:
    """What a run did.

    Attributes:
        results: Everything found; None after --generate-only.
        folder: The run folder.
        drawn: Attempts by status.
        embedded: Images and texts embedded and questions answered now.
        broken: Files that could not be read.
        problems: What a judge did not answer, a line each.
        complete: False where evidence is missing.
    """

    results: Results | None
    folder: Path
    drawn: Counter[str]
    embedded: int
    broken: list[str]
    problems: list[str]
    complete: bool


def encoder_names(options: RunOptions) -> list[str]:
    """The encoders of a run."""
    if options.encoders:
        return list(dict.fromkeys(options.encoders))
    return [DEFAULT_ENCODERS.get(options.model or "", DEFAULT_ENCODER)]


def judge_names(options: RunOptions) -> list[str]:
    """The judges of a run."""
    if options.judges:
        return list(dict.fromkeys(options.judges))
    return [DEFAULT_JUDGES.get(options.model or "", DEFAULT_JUDGE)]


def prepare(options: RunOptions) -> Prepared:
    """Everything that can be known before drawing. Loads no weights.

    Raises:
        T2IBenchError: something about the request cannot work.
    """
    generator = None
    settings = options.settings
    if options.model is not None:
        generator = create_generator(
            options.model,
            options.model_args,
            seed=settings.seed,
            device=options.device,
            dtype=options.dtype,
        )
        if settings.images_per_prompt is None and generator.images_per_prompt:
            settings = replace(
                settings,
                images_per_prompt=generator.images_per_prompt,
                guided_images_per_prompt=settings.guided_images_per_prompt
                or generator.guided_images_per_prompt,
            )
    elif options.model_args:
        raise T2IBenchError("--model-args needs a --model to go to.")
    plan = make_plan(options.tasks, settings)
    tasks, skipped, lacking = _feasible(plan, generator)
    if not tasks:
        raise T2IBenchError(_nothing_feasible(options, lacking))
    if plan.questions:
        check_judges(judge_names(options), options.judge_args)
    if skipped or lacking:
        plan = _cut(make_plan(tasks, settings), lacking)
    name = generator.name if generator else _texts_name(encoder_names(options))
    folder = run_folder(
        options.output_dir,
        name,
        generator.fingerprint if generator else None,
        plain=not options.model_args and settings.seed == 0 and options.dtype is None,
    )
    images = ImageStore(folder.images, generator.fingerprint) if generator else None
    return Prepared(options, plan, generator, folder, images, skipped, lacking)


def _texts_name(encoders: Sequence[str]) -> str:
    """The folder of a run on texts alone: what read them, without the way to its file."""
    kinds = [name.partition(":") for name in encoders]
    return "-".join(["texts", *(f"{kind}{colon}{Path(rest).name}" for kind, colon, rest in kinds)])


def _feasible(
    plan: Plan, generator: Generator | None
) -> tuple[list[LoadedTask], dict[str, str], dict[str, tuple[int, int]]]:
    """The tasks that can run, why others cannot, and prompts with fewer pictures than needed."""
    lacking: dict[str, tuple[int, int]] = {}
    if generator is not None:
        for prompt, needed in plan.prompts.items():
            there = generator.available(prompt)
            if there is not None and there < needed:
                lacking[prompt] = (there, needed)
    tasks, skipped = [], {}
    for task in plan.tasks:
        prompts = {need.prompt for need in plan.needs[task.id].prompts}
        absent = [prompt for prompt in prompts if lacking.get(prompt, (1, 1))[0] == 0]
        if generator is None and prompts:
            skipped[task.id] = "it needs images, and no --model was named"
        elif absent:
            skipped[task.id] = f"{len(absent)} of its {len(prompts)} prompts have no picture"
        else:
            tasks.append(task)
    return tasks, skipped, lacking


def _nothing_feasible(options: RunOptions, lacking: Mapping[str, tuple[int, int]]) -> str:
    if options.model is None:
        return (
            "These tasks need images: name a model with --model. "
            "Only WEAT tasks run on an --encoder alone (--tasks weat)."
        )
    absent = [prompt for prompt, (there, _) in sorted(lacking.items()) if there == 0]
    shown = "; ".join(repr(prompt) for prompt in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return (
        f"{options.model} has no pictures for {len(absent)} prompts that the tasks need: "
        f"{shown}{more}. `--dry-run` lists the prompts of each task; add the pictures or choose "
        "other tasks."
    )


def _cut(plan: Plan, lacking: Mapping[str, tuple[int, int]]) -> Plan:
    """The plan without the images that cannot exist."""
    kept = tuple(
        request
        for request in plan.requests
        if request.index < lacking.get(request.prompt, (request.index + 1, 0))[0]
    )
    return replace(plan, requests=kept)


def execute(prepared: Prepared, reporter: Reporter) -> Outcome:
    """Draw, embed, score and write what is missing.

    Raises:
        T2IBenchError: something cannot work; everything done before is kept.
    """
    options, plan, folder = prepared.options, prepared.plan, prepared.folder
    encoders = _encoders(options) if plan.needs_encoder and not options.generate_only else []
    judges = _judges(options) if plan.questions and not options.generate_only else []
    _remember(prepared, encoders, judges)
    started = _now()
    drawn: Counter[str] = Counter()
    if prepared.generator is not None and prepared.images is not None:
        drawn = generate(plan, prepared.generator, prepared.images, reporter, options.batch_size)
        _release(prepared.generator)
    if options.generate_only:
        _log(folder, options, started, drawn)
        return Outcome(None, folder.path, drawn, 0, [], [], not drawn["failed"])
    observers = open_observers(encoders, folder.evidence)
    embedded = observe_texts(plan, observers, reporter)
    broken: list[str] = []
    benches = open_benches(judges, folder.evidence)
    heard = Hearing(0, 0, [], [])
    if prepared.images is not None:
        count, broken = observe_images(plan, prepared.images, observers, reporter)
        heard = hear(plan, prepared.images, benches, reporter)
        broken += heard.broken
        embedded += count + heard.answered
    results = _score_and_write(prepared, observers, benches, reporter)
    _log(folder, options, started, drawn)
    complete = not (broken or heard.failed or prepared.skipped) and _is_complete(results, plan)
    return Outcome(results, folder.path, drawn, embedded, broken, heard.problems, complete)


def _encoders(options: RunOptions) -> list[Encoder]:
    return [
        create_encoder(name, device=options.device, dtype=options.dtype)
        for name in encoder_names(options)
    ]


def _judges(options: RunOptions) -> list[Judge]:
    return create_judges(
        judge_names(options),
        options.judge_args,
        device=options.device,
        dtype=options.dtype,
        encoders=encoder_names(options),
    )


def _release(generator: Generator) -> None:
    """Let a generator that can give its memory back before the encoders load."""
    release = getattr(generator, "release", None)
    if callable(release):
        release()


def _is_complete(results: Results, plan: Plan) -> bool:
    own = [results.tasks[task.id] for task in plan.tasks]
    return not any(
        task.reason or task.excluded.get("failed") or task.excluded.get("missing") for task in own
    )


def _remember(prepared: Prepared, encoders: Sequence[Encoder], judges: Sequence[Judge]) -> None:
    """Write run.json before the work starts, so that a killed run can be scored and resumed."""
    folder, generator, options = prepared.folder, prepared.generator, prepared.options
    folder.generator = (
        {
            "name": generator.name,
            "revision": generator.revision,
            "fingerprint": generator.fingerprint,
            "settings": dict(generator.settings),
            "model": options.model,
            "model_args": dict(options.model_args),
        }
        if generator
        else None
    )
    settings = prepared.plan.settings
    folder.settings = {
        "images_per_prompt": settings.images_per_prompt,
        "guided_images_per_prompt": settings.guided_images_per_prompt,
        "limit": settings.limit,
        "seed": settings.seed,
        "n_permutations": settings.n_permutations,
        "n_bootstrap": settings.n_bootstrap,
        "level": settings.level,
    }
    folder.tasks = [task.id for task in prepared.plan.tasks]
    folder.include_paths = [str(path.resolve()) for path in options.include_paths]
    if not options.generate_only:
        folder.encoders = {encoder.name: encoder.fingerprint for encoder in encoders}
        folder.judges = {judge.name: judge.fingerprint for judge in judges}
        folder.judge_args = dict(options.judge_args) if judges else {}
    folder.save()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _log(folder: RunFolder, options: RunOptions, started: str, drawn: Counter[str]) -> None:
    folder.history.append(
        {
            "command": shlex.join(options.argv),
            "started": started,
            "finished": _now(),
            "drawn": dict(drawn),
        }
    )
    folder.save()


def _score_and_write(
    prepared: Prepared,
    observers: Sequence[Observer],
    benches: Sequence[Bench],
    reporter: Reporter,
) -> Results:
    stores = Stores(
        {
            one.encoder.name: (one.store, one.encoder.fingerprint, one.encoder.embeds_images)
            for one in observers
        },
        {one.judge.name: (one.store, one.judge.fingerprint) for one in benches},
    )
    new, samples = score_plan(prepared.plan, prepared.images, stores, reporter)
    return write_results(prepared.folder, prepared.plan, stores, new, samples)


def pending_images(prepared: Prepared) -> int:
    """How many images have to be drawn."""
    return len(pending(prepared.plan, prepared.images)) if prepared.images else 0
