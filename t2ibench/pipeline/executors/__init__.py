"""Executors: who does the shards of a job. Correctness lives in the shards, not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from t2ibench.pipeline.job import Job, Stage
from t2ibench.registry import Registry
from t2ibench.store.images import StoredImage

if TYPE_CHECKING:
    from t2ibench.pipeline.executors.crew import Crew
    from t2ibench.pipeline.prepare import Prepared
    from t2ibench.pipeline.progress import Reporter


class Engine(Protocol):
    """What --engine names: an `Executor`, or one that `Employs` others, or that `Submits` jobs.

    Attributes:
        description: One line, for `t2ibench ls executors`.
    """

    description: str


@runtime_checkable
class Executor(Protocol):
    """Has every shard of one stage done, in any order."""

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage."""
        ...


@runtime_checkable
class DoesAll(Protocol):
    """An executor that also does what is no shard (optional), so that no model loads here."""

    def texts(self, job: Job, number: int, left: int, advance: Callable[[int], None]) -> None:
        """Have an encoder embed the texts that it has not seen."""
        ...

    def again(
        self,
        job: Job,
        damaged: Sequence[StoredImage],
        left: int,
        advance: Callable[[int], None],
    ) -> None:
        """Have damaged images generated again."""
        ...


@runtime_checkable
class TakesArguments(Protocol):
    """An executor that takes --workers and --engine-args (optional)."""

    def check(self, workers: int | None, args: Mapping[str, str]) -> None:
        """Check what the user asked for, before anything is done."""
        ...


@runtime_checkable
class Employs(TakesArguments, Protocol):
    """An executor that works with other processes (optional)."""

    def hire(self, prepared: Prepared, reporter: Reporter, observing: bool) -> Crew | None:
        """Start the processes."""
        ...


@runtime_checkable
class Submits(TakesArguments, Protocol):
    """An executor whose work begins later, on other machines (optional)."""

    def submit(self, prepared: Prepared) -> list[str]:
        """Write, and where that was asked for submit, the jobs that do the run."""
        ...


EXECUTORS: Registry[Engine] = Registry(
    "executor",
    {
        "local": "t2ibench.pipeline.executors.local:EXECUTOR",
        "ray": "t2ibench.pipeline.executors.ray:EXECUTOR",
        "slurm": "t2ibench.pipeline.executors.slurm:EXECUTOR",
    },
    members=("description",),
)
