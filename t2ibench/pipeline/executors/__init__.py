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
        """Do all shards of a stage.

        Args:
            job: The run; `job.run(stage, number, advance)` does one shard and is idempotent. A
                shard that another process is at is left to it: the run comes back to it at the end.
            stage: 'generate', 'embed' or 'ask'.
            advance: Told how many items are done.
        """
        ...


@runtime_checkable
class DoesAll(Protocol):
    """An executor that also does what is no shard (optional), so that no model loads here."""

    def texts(self, job: Job, number: int, left: int, advance: Callable[[int], None]) -> None:
        """Have an encoder embed the texts that it has not seen.

        Args:
            job: The run.
            number: Which encoder: its place in `job.texts()`.
            left: How many it has not seen.
            advance: Told how many are done.
        """
        ...

    def again(
        self,
        job: Job,
        damaged: Sequence[StoredImage],
        left: int,
        advance: Callable[[int], None],
    ) -> None:
        """Have damaged images generated again.

        Args:
            job: The run.
            damaged: The images.
            left: How many they are.
            advance: Told how many are done.
        """
        ...


@runtime_checkable
class TakesArguments(Protocol):
    """An executor that takes --workers and --engine-args (optional)."""

    def check(self, workers: int | None, args: Mapping[str, str]) -> None:
        """Check what the user asked for, before anything is done.

        Args:
            workers: How many; None to choose.
            args: Of --engine-args, as text.

        Raises:
            T2IBenchError: it cannot work; the message gives the next step.
        """
        ...


@runtime_checkable
class Employs(TakesArguments, Protocol):
    """An executor that works with other processes (optional)."""

    def hire(self, prepared: Prepared, reporter: Reporter, observing: bool) -> Crew | None:
        """Start the processes.

        Args:
            prepared: The run.
            reporter: Told how many are started, and of those that die.
            observing: Whether encoders and judges are needed.

        Returns:
            Who does the work, to be closed at the end; None where this process does it alone.

        Raises:
            T2IBenchError: they cannot be started.
        """
        ...


@runtime_checkable
class Submits(TakesArguments, Protocol):
    """An executor whose work begins later, on other machines (optional)."""

    def submit(self, prepared: Prepared) -> list[str]:
        """Write, and where that was asked for submit, the jobs that do the run.

        Args:
            prepared: The run.

        Returns:
            What was done and what to do next, line by line.

        Raises:
            T2IBenchError: it cannot be written or submitted.
        """
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
