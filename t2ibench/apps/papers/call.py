"""Reproduction of a paper in one call, from the command line or from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from t2ibench.apps.papers.pages import write_pages
from t2ibench.apps.papers.paper import PAPERS, Paper
from t2ibench.apps.papers.preset import with_preset
from t2ibench.apps.papers.reproduction import Reproduction, build, choose
from t2ibench.errors import T2IBenchError
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Encoder, Generator, Judge
from t2ibench.pipeline.api_arguments import given_by, warn_of
from t2ibench.pipeline.engines import check_engine
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.preparation import prepare
from t2ibench.pipeline.progress import ConsoleReporter, Reporter, SilentReporter
from t2ibench.pipeline.run import execute
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext
from t2ibench.pipeline.run_keywords import RunKeywords
from t2ibench.reports.files import write_reports
from t2ibench.results.files import read_results
from t2ibench.results.run import folder_of

Numbers = str | int | Sequence[str | int]


def of_run(
    paper: Paper, chosen: Sequence[str] | None, run: str | Path, further: Sequence[str]
) -> Reproduction:
    """Return a paper's tables and figures from a finished run; an error if settings are given."""
    if further:
        raise T2IBenchError(
            "A run that is done is taken as it is: no other setting goes with it.",
            f"Leave out {', '.join(further)}; or leave the run out to measure again; what is "
            "stored already is not made again.",
        )
    return from_run(paper, folder_of(Path(run)), chosen)


def prepared_paper(
    paper: Paper,
    given: Mapping[str, Any],
    chosen: Sequence[str] | None,
    call: str,
    adapters: PythonAdapters | None = None,
) -> tuple[RunContext, Models]:
    """Return a prepared run of a paper, or of the exhibits `chosen`, and the models it needs."""
    named = adapters is None or adapters.generator is None
    settings = with_preset(paper, given, chosen, names_model=named)
    check_engine(settings)
    if settings.no_score or settings.generate_only or settings.shard is not None:
        raise T2IBenchError(
            "reproduce has to score, and then builds tables.",
            f"`t2ibench run --preset {paper.name} …` does as you wish; `t2ibench reproduce "
            f"{paper.name} --run RUN` builds the tables from what it leaves.",
        )
    return prepare(settings, adapters, call)


def measured(
    paper: Paper,
    context: RunContext,
    models: Models,
    reporter: Reporter,
    chosen: Sequence[str] | None,
) -> tuple[Reproduction, Outcome]:
    """Execute a paper's run, write its pages, and return the reproduction and the outcome."""
    outcome = execute(context, models, reporter)
    if outcome.results is None:
        raise AssertionError("execute scores, unless it is told not to")
    write_reports(outcome.results, outcome.folder)
    return from_run(paper, outcome.folder, chosen), outcome


def from_run(paper: Paper, folder: Path, chosen: Sequence[str] | None) -> Reproduction:
    """Return a paper's tables and figures from a run's stored results, and write its pages."""
    # exhibits may come from several commands
    results = read_results(folder).with_earlier()
    reproduction = build(paper, results, folder, chosen)
    write_pages(reproduction)
    return reproduction


def reproduce(
    paper: str,
    *,
    model: str | Generator | None = None,
    run: str | Path | None = None,
    tables: Numbers = (),
    figures: Numbers = (),
    scale: float | None = None,
    encoder: str | Encoder | Sequence[str | Encoder] = (),
    judge: str | Judge | Sequence[str | Judge] = (),
    rewriter: str | Rewriter | None = None,
    progress: bool = False,
    **settings: Unpack[RunKeywords],
) -> Reproduction:
    """Return a paper's tables and figures with our numbers, as `t2ibench reproduce` makes them.

    Args:
        paper: Its name; see `t2ibench ls papers`.
        model: As for `t2ibench.evaluate`; None for the paper's own.
        run: A run that is done; nothing is generated, and no setting goes with it.
        tables: Only these tables, by number; with `figures`, both.
        figures: Only these figures. Without either, everything that the paper has here.
        scale: Times the paper's numbers of images.
        encoder: As for `t2ibench.evaluate`; empty for the paper's.
        judge: As for `t2ibench.evaluate`; empty for the paper's.
        rewriter: As for `t2ibench.evaluate`.
        progress: Show progress on standard error.
        **settings: As for `t2ibench.evaluate`; they win over the paper's, setting by setting.

    Returns:
        The exhibits, what differs from the paper, the run and its pages.

    Raises:
        T2IBenchError: the request cannot work; the message gives the next step.

    Example:
        A table beside the published one, small and without network::

            reproduction = t2ibench.reproduce("t2iat", model="toy", scale=0.2, tables=1)
            reproduction["Table 1"].to_pandas()
            reproduction.differs, reproduction.page

            for exhibit in t2ibench.reproduce("t2iat", run="runs/sdxl"):
                print(exhibit.label, exhibit.title, exhibit.notes, exhibit.paths)
    """
    source = PAPERS.get(paper)
    several = [
        [numbers] if isinstance(numbers, (str, int)) else numbers
        for numbers in (tables, figures)
    ]
    chosen = choose(source, *several)
    if scale is not None:
        settings["times"] = scale
    given, adapters = given_by(model, encoder, judge, rewriter, settings)
    further = [*given, *(["model"] if adapters.generator else [])]
    if run is not None:
        return of_run(source, chosen, run, further)
    context, models = prepared_paper(
        source, given, chosen, "t2ibench.reproduce", adapters
    )
    reporter = ConsoleReporter() if progress else SilentReporter()
    reproduction, outcome = measured(source, context, models, reporter, chosen)
    further_lines = [*outcome.damaged, *outcome.problems]
    warn_of(context, models, reporter, further_lines)
    return reproduction
