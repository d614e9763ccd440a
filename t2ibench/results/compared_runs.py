"""Runs to be compared: read from their folders, and called by different names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.schema import Results
from t2ibench.results.several_runs import MOST_RUNS
from t2ibench.results.task_across_runs import ComparedRun


def read_runs(
    runs: Sequence[str | Path | Results], steps: Sequence[float] = ()
) -> list[ComparedRun]:
    """Return runs with their influences and different names.

    Args:
        runs: Run folders, files named results.json, or results that were read.
        steps: Where each run lies, such as its number of training steps; 1, 2, 3, … if empty.

    Raises:
        T2IBenchError: a run cannot be read, there are too many, or as many steps are not given.
    """
    if len(runs) > MOST_RUNS:
        raise T2IBenchError(
            f"{len(runs)} runs are more than a comparison shows.",
            f"Give at most {MOST_RUNS}.",
        )
    if len(steps) not in {0, len(runs)}:
        raise T2IBenchError(
            f"There are {len(runs)} runs and {len(steps)} steps.",
            "Give one number a run.",
        )
    results = [
        run if isinstance(run, Results) else read_results(Path(run)) for run in runs
    ]
    names = distinct_names(
        [read.title for read in results],
        [_folder_name(read) for read in results],
        [_given_name(run) for run in runs],
    )
    positions = steps if len(steps) else range(1, len(runs) + 1)
    compared = []
    for name, read, position in zip(names, results, positions, strict=True):
        paired = {} if read.folder is None else read_paired(read.folder)
        compared.append(ComparedRun(name, read, paired, float(position)))
    return compared


def distinct_names(
    titles: Sequence[str], folders: Sequence[str], given: Sequence[str]
) -> list[str]:
    """Return distinct names of runs: titles, folder names or paths; else titles with numbers.

    Examples:
        >>> distinct_names(["toy", "toy"], ["before", "after"], ["runs/before", "runs/after"])
        ['before', 'after']
        >>> distinct_names(["toy", "toy"], ["toy", "toy"], ["toy", "toy"])
        ['toy (1)', 'toy (2)']
    """
    for names in (titles, folders, given):
        if len(set(names)) == len(names) and all(names):
            return list(names)
    return [f"{title} ({number})" for number, title in enumerate(titles, start=1)]


def _folder_name(results: Results) -> str:
    return "" if results.folder is None else results.folder.resolve().name


def _given_name(run: str | Path | Results) -> str:
    return "" if isinstance(run, Results) else str(run)


def notice_lines(folders: Sequence[str], runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield what to know before a comparison is read: unfinished runs, and runs that are copies."""
    yield from _unfinished_lines(runs)
    yield from copy_lines(folders, [run.results for run in runs])


def _unfinished_lines(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield lines on runs that are for a trial, or of which something is missing."""
    limited = [run.name for run in runs if run.results.limited]
    if limited:
        yield f"Made with --limit; not a result to report: {', '.join(map(shown, limited))}."
    for run in runs:
        if run.results.partial:
            why = run.results.what_is_missing
            what = f"{why[0].lower()}{why[1:]}"
            yield f"{shown(run.name)}: {what}; not a result to report."


def copy_lines(names: Sequence[str], runs: Sequence[Results]) -> Iterator[str]:
    """Yield a line on each run whose results are those of a run before it: no evidence is new."""
    for number, (name, results) in enumerate(zip(names, runs, strict=True)):
        for other_name, other in zip(names[:number], runs, strict=False):
            # Few runs share a model and tests, and comparing all of their results takes time.
            alike = (
                other.model.fingerprint == results.model.fingerprint
                and other.tasks.keys() == results.tasks.keys()
            )
            if alike and other == results:
                yield (
                    f"{shown_path(name)} has the same results as {shown_path(other_name)}: they "
                    "are one run, or a copy of it."
                )
                break
