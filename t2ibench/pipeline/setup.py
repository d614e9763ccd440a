"""A prepared run, with its models, as a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.encoders import create_encoder
from t2ibench.models.hub import NotDownloadedError
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Encoder, Generator, HasUntrained, Judge, ReportsWaits
from t2ibench.models.resolution import checked
from t2ibench.pipeline.generator_record import settle
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.observers import open_encoder, open_judge
from t2ibench.pipeline.preparation import Objects, Prepared
from t2ibench.pipeline.rewriting import open_rewritings
from t2ibench.pipeline.worker import Observers, Worker
from t2ibench.settings import RunSettings
from t2ibench.store.locks import Notices

_Model = TypeVar("_Model")
_JUDGES = "Without a download: --judge answers:FILE (people's answers)."
_ENCODERS = (
    "Without a download: weights in a file, --encoder open_clip:ARCH/FILE.safetensors, or tasks "
    "that ask a judge, such as one that `t2ibench propose` writes."
)


def make_worker(
    settings: RunSettings,
    objects: Objects,
    generator: Generator | None,
    reporter: Notices,
    stopping: Callable[[], bool],
    *,
    embeds: bool,
    asks: bool,
) -> Worker:
    """A worker with its models; encoders and judges where anything is embedded or asked."""
    judges = _here(partial(_judges, settings, objects), _JUDGES) if asks else []
    create = partial(create_encoder, device=settings.device, dtype=settings.dtype)
    names = settings.encoder if embeds else ()
    encoders = _here(lambda: [objects.encoders.get(n) or create(n) for n in names], _ENCODERS)
    for judge in judges:
        if isinstance(judge, ReportsWaits):
            judge.report_waits(reporter.say)
    controls = {} if settings.control_encoder == "none" else _controls(encoders, reporter.warn)
    observers = Observers(encoders, controls, judges)
    model = settings.model if objects.generator is None else None
    return Worker(generator, observers, model, settings.batch_size, stopping)


def _here(load: Callable[[], list[_Model]], otherwise: str) -> list[_Model]:
    """Models, or why one cannot be had and what does without it."""
    try:
        return load()
    except NotDownloadedError as error:
        raise T2IBenchError(error.message, f"{error.hint} {otherwise}") from error


def _controls(encoders: Sequence[Encoder], warn: Callable[[str], None]) -> dict[str, Encoder]:
    """Encoders of random weights, which have learnt nothing."""
    controls: dict[str, Encoder] = {}
    for encoder in encoders:
        if not isinstance(encoder, HasUntrained):
            continue
        try:
            with failing(f"The encoder '{encoder.name}' failed in untrained() with"):
                controls[encoder.name] = checked(
                    encoder.untrained(), Encoder, "encoder", f"{encoder.name}, untrained"
                )
        except T2IBenchError as error:
            warn(f"{str(error).rstrip('.')}. There is no control of random weights.")
    return controls


def _judges(settings: RunSettings, objects: Objects) -> list[Judge]:
    named = [name for name in settings.judge if name not in objects.judges]
    created = create_judges(
        named,
        settings.judge_args,
        device=settings.device,
        dtype=settings.dtype,
        encoders=[name for name in settings.encoder if name not in objects.encoders],
    )
    by_name = dict(zip(named, created, strict=True)) | dict(objects.judges)
    return [by_name[name] for name in settings.judge]


def open_job(prepared: Prepared, observers: Observers) -> Job:
    """Open the stores of a run."""
    database = prepared.folder.database
    open_rewritings(prepared.generator, database)
    return Job(
        prepared.plan,
        prepared.folder,
        prepared.images,
        [open_encoder(encoder, database) for encoder in observers.encoders],
        [open_judge(judge, database) for judge in observers.judges],
        {name: open_encoder(control, database) for name, control in observers.controls.items()},
        generates=prepared.generator is not None,
        from_object=prepared.objects.generator is not None,
        # Failures alone, from the start on, are the set-up's fault; files fail one by one.
        gives_up=not (prepared.settings.allow_missing or prepared.from_folder),
        settle=partial(settle, prepared.folder, prepared.generator, prepared.settings.max_cost),
    )
