"""One paper from its preset to its pages: a run that resumes, then tables from its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run import Outcome, execute
from t2ibench.reports.files import write_reports
from t2ibench.reproduction.build import Reproduction, build
from t2ibench.reproduction.paper import Paper
from t2ibench.reproduction.write import write_pages
from t2ibench.results.reading import read_results


def reproduce(
    paper: Paper,
    prepared: Prepared,
    reporter: Reporter,
    *,
    chosen: Sequence[str] | None = None,
    options: Mapping[str, Path] | None = None,
) -> tuple[Reproduction, Outcome]:
    """Do the run of a paper, and write its pages into the run folder.

    Args:
        paper: The paper.
        prepared: Its run.
        reporter: Shows progress.
        chosen: Names of the exhibits that were asked for; None for all.
        options: Files of the user's, by name.

    Returns:
        The paper with our numbers, and what the run did.

    Raises:
        T2IBenchError: something cannot work; everything done before is kept.
    """
    outcome = execute(prepared, reporter)
    if outcome.results is None:
        raise AssertionError("execute scores, unless it is told not to")
    write_reports(outcome.results, outcome.folder)
    found = from_run(paper, outcome.folder, chosen=chosen, options=options)
    return found, outcome


def from_run(
    paper: Paper,
    folder: Path,
    *,
    chosen: Sequence[str] | None = None,
    options: Mapping[str, Path] | None = None,
) -> Reproduction:
    """Write a paper's pages into a run folder, from its results alone."""
    results = read_results(folder).with_earlier()  # exhibits may come from several commands
    found = build(paper, results, folder, chosen=chosen, options=options)
    written = write_pages(found, folder)
    exhibits = [replace(one, paths=written[one.name]) for one in found.exhibits]
    return replace(found, exhibits=exhibits, folder=folder)
