"""Whether runs can be compared by where their leans come from, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.errors import T2IBenchError, shown
from t2ibench.results.comparison_remarks import Remarks, remarks_on
from t2ibench.results.task_across_runs import ComparedRun


def rewriter_of(run: ComparedRun) -> str:
    """Return the name of the rewriter before a run's model; empty where it has none."""
    rewriter = run.results.model.rewriter
    return "" if rewriter is None else rewriter.name


def check_first_run(runs: Sequence[ComparedRun]) -> None:
    """Raise an error if the first run has a rewriter and another has none.

    Changes are those against the first run, so such an order would turn them round.
    """
    first, *others = runs
    without = [run.name for run in others if not rewriter_of(run)]
    if rewriter_of(first) and without:
        raise T2IBenchError(
            f"{shown(first.name)} has the rewriter {rewriter_of(first)}, and "
            f"{shown(without[0])} has none.",
            "Give the run without a rewriter first.",
        )


def remarks_against(first: ComparedRun, run: ComparedRun, task: str) -> Remarks:
    """Return what differs between a test of the first run and of another, besides the models.

    They are the remarks of `compare`.

    Raises:
        T2IBenchError: the runs do not measure one quantity, or different encoders read them. The
            texts are those that the first run's encoder read, and leans that two encoders see have
            no difference that is the models'.
    """
    results = first.results.tasks[task]
    others = run.results.tasks[task]
    sides = first.name, run.name
    remarks = remarks_on(results, others, sides)
    same_encoders = results.settings.encoders == others.settings.encoders
    if not remarks.comparable or not same_encoders:
        raise T2IBenchError(
            f"{task} of {shown(first.name)} and {shown(run.name)} cannot be compared: "
            f"{'; '.join(remarks.notes)}.",
            "Run both on the same task file, with the same --encoder.",
        )
    return remarks
