"""A prepared run, with its models, as a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from t2ibench.errors import T2IBenchError
from t2ibench.models.hub import NotDownloadedError
from t2ibench.models.protocols import Encoder, Judge, ReportsWaits
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.made_with import settle
from t2ibench.pipeline.observers import open_encoder, open_judge
from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rewriting import open_rewritings

_Model = TypeVar("_Model")
_JUDGES = "Without a download: --judge answers:FILE (people's answers), --judge skin (skin tone)."
_ENCODERS = (
    "Without a download: weights in a file, --encoder open_clip:ARCH/FILE.safetensors, or tasks "
    "that ask a judge, such as one that `t2ibench propose` writes."
)


@dataclass(frozen=True, slots=True)
class Observers:
    """Who looks at the images.

    Attributes:
        encoders: In the order of the settings.
        controls: Encoder to its control of random weights.
        judges: In the order of the settings.
    """

    encoders: Sequence[Encoder] = ()
    controls: Mapping[str, Encoder] = field(default_factory=dict)
    judges: Sequence[Judge] = ()


def load_observers(prepared: Prepared, reporter: Reporter) -> Observers:
    """Load the encoders and judges of a run."""
    judges = _here(prepared.judges, _JUDGES)
    encoders = _here(prepared.encoders, _ENCODERS)
    for judge in judges:
        if isinstance(judge, ReportsWaits):
            judge.report_waits(reporter.say)
    return Observers(encoders, prepared.controls(encoders, reporter.warn), judges)


def _here(load: Callable[[], list[_Model]], otherwise: str) -> list[_Model]:
    """Models, or why one cannot be had and what does without it."""
    try:
        return load()
    except NotDownloadedError as error:
        raise T2IBenchError(error.message, f"{error.hint} {otherwise}") from error


def gives_up(prepared: Prepared) -> bool:
    """Whether failures alone, from the start on, are the set-up's fault; files fail one by one."""
    return not (prepared.settings.allow_missing or prepared.from_folder)


def open_job(prepared: Prepared, observers: Observers, reporter: Reporter) -> Job:
    """Open the stores of a run."""
    evidence = prepared.folder.evidence
    open_rewritings(prepared.generator, prepared.folder.path)
    settled = partial(settle, prepared.folder, prepared.generator, prepared.settings.max_cost)
    settled()  # a worker knows of no limit yet
    return Job(
        prepared.plan,
        prepared.folder,
        prepared.images,
        prepared.generator,
        [open_encoder(encoder, evidence) for encoder in observers.encoders],
        [open_judge(judge, evidence) for judge in observers.judges],
        prepared.settings.batch_size,
        from_object=prepared.objects.generator is not None,
        controls={
            name: open_encoder(control, evidence) for name, control in observers.controls.items()
        },
        notices=reporter,
        gives_up=gives_up(prepared),
        settle=settled,
    )
