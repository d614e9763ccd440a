"""`t2ibench label serve|export|import|agree`: collect human labels, compare judges with them."""

from __future__ import annotations

import argparse
import json
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag, not_negative, positive
from t2ibench.errors import T2IBenchError, check_installed, did_you_mean

if TYPE_CHECKING:
    from t2ibench.apps.labelling.agreement import JudgeAgreement, RunAgreement
    from t2ibench.apps.labelling.pairs import LabelledRun
    from t2ibench.apps.labelling.sample import Item
    from t2ibench.reports.writers import Table
    from t2ibench.results.run import RunFolder

_EXAMPLES = """\
examples:
  t2ibench label serve runs/sdxl                        answer in the browser, into the run
  t2ibench label export runs/sdxl                       200 images a question: a sheet and a page
  t2ibench label import runs/sdxl sheet.csv --labeller anna
  t2ibench score runs/sdxl                              every share, corrected by human labels
  t2ibench label agree runs/sdxl                        alpha and kappa of people and judges
  t2ibench label agree runs/sdxl --format csv           the images that people disagree about
"""


def add(verbs: Any) -> None:
    """Add the command `label` and its flags to the command line."""
    label = verbs.add_parser(
        "label",
        description="Judges err. Let people label a random sample of images without seeing the "
        "prompts or the judge, in the browser of this machine or in a sheet that is exported and "
        "imported: every share is then also reported corrected.",
        epilog=_EXAMPLES,
    )
    actions = label.add_subparsers(title="actions", metavar="ACTION", required=True)
    serve = actions.add_parser(
        "serve",
        help="let people label a sample in the browser of this machine, straight into the run",
    )
    _add_sample_flags(serve)
    add_flag(
        serve,
        "--port N",
        "serve on port N (default: a free one)",
        type=not_negative,
        default=0,
    )
    add_flag(serve, "--open", "open the browser (default: print the address)")
    serve.set_defaults(handler=run_serve)
    export = actions.add_parser(
        "export", help="draw a sample, and write a sheet and a page for labelling it"
    )
    _add_sample_flags(export)
    add_flag(export, "--output DIR", "write into this folder (default: RUN/labels)")
    export.set_defaults(handler=run_export)
    take = actions.add_parser(
        "import", help="store the answers of a filled sheet with the run"
    )
    add_flag(
        take,
        "run RUN",
        "store the labels in this run, from which the sheet was exported (required)",
    )
    add_flag(take, "file FILE", "read this filled sheet, CSV or XLSX (required)")
    add_flag(
        take,
        "--labeller NAME",
        "name the person who filled in the sheet (default: the column 'labeller', else 1)",
    )
    add_flag(
        take,
        "--columns k=NAME,…",
        "name the columns of the sheet by their headings: id=Nummer,answer=Antwort "
        "(default: common headings)",
        default="",
    )
    add_flag(
        take, "--sheet NAME", "read this sheet of the workbook (default: the first)"
    )
    take.set_defaults(handler=run_import)
    agree = actions.add_parser(
        "agree",
        help="measure how far people agree with each other, and judges with people",
    )
    add_flag(
        agree,
        "run RUN",
        "read this run, with imported labels or answers of several people (required)",
    )
    add_flag(
        agree,
        "--format F",
        "print md, latex, csv (a row for each disputed image) or json "
        "(everything) (default: md)",
        default="md",
    )
    agree.set_defaults(handler=run_agree)


def _add_sample_flags(parser: argparse.ArgumentParser) -> None:
    """Add the run and the flags that say which of its images are labelled."""
    add_flag(parser, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(
        parser,
        "--images N",
        "sample N images for each question (default: 200)",
        type=positive,
        default=200,
    )
    add_flag(
        parser,
        "--question Q",
        "ask only this question; repeatable (default: all)",
        action="append",
    )
    add_flag(
        parser,
        "--unknown",
        "take only images that a judge could not classify (default: all images)",
    )
    add_flag(
        parser,
        "--seed N",
        "set the random seed of the sample (default: 0)",
        type=not_negative,
        default=0,
    )


def run_serve(arguments: argparse.Namespace) -> int:
    """Serve the labelling page until it is finished or Ctrl-C; return the exit status."""
    for module in ("starlette", "uvicorn"):
        check_installed(module, "explore")
    from t2ibench.apps.labelling.serving import LabelServer
    from t2ibench.local_server import local_app, local_listener, serve

    folder, run, items = _sample(arguments)
    listener = local_listener(arguments.port)
    port = int(listener.getsockname()[1])
    server = LabelServer(run, items)
    address = f"http://127.0.0.1:{port}/"
    print(f"{_counted(items)}. Label them at {address} (Ctrl-C ends it)", flush=True)
    if arguments.open:
        webbrowser.open(address)
    serve(local_app(server.routes(), port), listener, server.finished)
    print(f"{server.n_answers} answers stored in {folder.path}.")
    if not server.finished.is_set():
        print(f"  t2ibench score {scored_run(folder)}")
        return 0
    return _score(folder, arguments)


def scored_run(folder: RunFolder) -> Path:
    """Return the run that labels of a run's images are scored with.

    Labels of source images are scored with the run that edits these.
    """
    return folder.path.parent if folder.record.makes_sources else folder.path


def _score(folder: RunFolder, arguments: argparse.Namespace) -> int:
    """Score the run with its labels, as `t2ibench score` does; return the exit status."""
    from t2ibench.cli import score

    asked = argparse.Namespace(
        run=str(scored_run(folder)),
        allow_missing=folder.record.settings.allow_missing,
        verbose=False,
        argv=arguments.argv,
    )
    return score.run(asked)


def _counted(items: Sequence[Item]) -> str:
    questions = len({(item.question, item.classes) for item in items})
    plural = "s" if questions != 1 else ""
    return f"{len(items)} images of {questions} question{plural}"


def _sample(
    arguments: argparse.Namespace,
) -> tuple[RunFolder, LabelledRun, list[Item]]:
    """Return a run, its images, and the sample that people are asked about."""
    from t2ibench.apps.labelling.pairs import LabelledRun
    from t2ibench.apps.labelling.sample import draw_sample
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.pipeline.stores import open_stores
    from t2ibench.results.run import open_images

    folder, images = open_images(Path(arguments.run))
    plan = stored_plan(folder)
    askable = sorted(
        {
            question
            for asked in plan.questions_by_prompt().values()
            for question, classes in asked
            if classes
        }
    )
    wanted = arguments.question or []
    for question in wanted:
        if question not in askable:
            raise T2IBenchError(
                f"This run asks no question '{question}'.{did_you_mean(question, askable)} "
                f"Questions: {'; '.join(askable)}"
            )
    judges = None
    if arguments.unknown:
        judges = open_stores(folder.database, {}, folder.record.judges).judges.values()
    run = LabelledRun.of(folder, images)
    items = draw_sample(
        plan,
        images,
        n=arguments.images,
        seed=arguments.seed,
        questions=wanted,
        unknown_to=judges,
        before=run.items_before(plan),
    )
    if arguments.unknown and not items:
        raise T2IBenchError(
            f"The judges of {arguments.run} named a class for every image."
        )
    if not items:
        raise T2IBenchError(
            f"{arguments.run} has no answered question with classes.",
            "Label runs whose judge chooses among classes; free text cannot be corrected.",
        )
    return folder, run, items


def run_export(arguments: argparse.Namespace) -> int:
    """Write a sheet and a page for labelling a sample of images; return the exit status."""
    from t2ibench.apps.labelling.sheet import PAGE, SHEET, write_sheet

    folder, run, items = _sample(arguments)
    output = Path(arguments.output) if arguments.output else folder.path / "labels"
    write_sheet(output, items, run)
    print(f"{_counted(items)}: {output / SHEET}")
    print(
        f"Open {output / PAGE} in a browser to answer, or fill the column 'answer'. Then:"
    )
    print(f"  t2ibench label import {arguments.run} {output / SHEET} --labeller NAME")
    return 0


def run_import(arguments: argparse.Namespace) -> int:
    """Store the answers of a filled sheet with the run, and return the exit status."""
    from t2ibench.apps.labelling.pairs import LabelledRun, add_labels, labelled_places
    from t2ibench.apps.labelling.sample import asked_images
    from t2ibench.apps.labelling.sheet_reader import read_sheet
    from t2ibench.arguments import columns_of
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.results.run import open_images
    from t2ibench.store.labels import labeller_name

    name = arguments.labeller
    if name is not None:
        name = labeller_name(name, "--labeller")
    folder, images = open_images(Path(arguments.run))
    plan = stored_plan(folder)
    run = LabelledRun.of(folder, images)
    items = {item.id: item for item in run.items_before(plan).values()}
    items |= {item.id: item for item, _ in asked_images(plan, images)}
    filled = read_sheet(
        Path(arguments.file),
        items,
        name,
        columns=columns_of(arguments.columns),
        sheet=arguments.sheet,
    )
    labels = filled.labels
    for line in filled.notes:
        print(line)
    if not labels:
        raise T2IBenchError(
            f"{arguments.file} holds no answer.", "Fill its column 'answer'."
        )
    stores = run.label_stores()
    before = labelled_places(stores)
    for store, _ in stores:
        if damage := store.database.damage():
            print(damage)
    add_labels(stores, labels)
    n_new = len(labelled_places(stores) - before)
    people = ", ".join(sorted({label.labeller for label in labels}))
    print(f"{len(labels)} answers of {people}, {n_new} of them new.")
    print(
        "They correct the judge's answers, and are used alone where no judge has named a "
        "class. Next:"
    )
    print(f"  t2ibench score {scored_run(folder)}")
    return 0


def run_agree(arguments: argparse.Namespace) -> int:
    """Print how far people agree, and each judge with people; return the exit status."""
    from t2ibench.apps.labelling.agreement import agreement_of_run
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.pipeline.stores import open_stores
    from t2ibench.reports.people import agreement_table, disputed_table
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.run import open_images

    if arguments.format != "json":
        WRITERS.get(arguments.format)  # before any file is read
    folder, images = open_images(Path(arguments.run))
    stores = open_stores(folder.database, {}, folder.record.judges)
    agreement = agreement_of_run(stored_plan(folder), images, stores)
    if agreement is None:
        raise T2IBenchError(
            f"{arguments.run} has no image that two people, or a judge and people, have labelled.",
            f"`t2ibench label export {arguments.run}` writes a sheet for people to fill; or give a "
            "file for each person: --judge answers:A.csv,by=anna,answers:B.csv,by=ben",
        )
    if arguments.format == "json":
        print(_as_json(agreement))
        return 0
    disputed = disputed_table(agreement.people)
    if arguments.format == "csv":
        print(render("csv", disputed), end="")
        return 0
    tables: list[Table] = []
    if agreement.people:
        tables = [
            agreement_table(agreement.people),
            *([disputed] if disputed.rows else []),
        ]
    if agreement.judges:
        tables.append(_of_judges(agreement.judges))
    print("\n".join(render(arguments.format, table) for table in tables), end="")
    return 0


def _as_json(agreement: RunAgreement) -> str:
    people = [question.model_dump(mode="json") for question in agreement.people]
    judges = [asdict(judge) for judge in agreement.judges]
    return json.dumps(
        {"people": people, "judges": judges}, ensure_ascii=False, indent=1
    )


def _of_judges(judges: Sequence[JudgeAgreement]) -> Table:
    """Return a table of how far judges agree with people."""
    from t2ibench.reports.cells import number
    from t2ibench.reports.writers import Table

    heads = [
        "Question",
        "Judge",
        "Images",
        "Accuracy",
        "Macro-F1",
        "Kappa",
        "Alpha",
        "People",
    ]
    rows = [
        [
            judge.question,
            judge.judge,
            str(judge.n),
            number(judge.accuracy),
            number(judge.macro_f1),
            number(judge.kappa),
            number(judge.alpha),
            number(judge.people),
        ]
        for judge in judges
    ]
    note = (
        "Judges compared with the majority of people. Kappa is Cohen's; Alpha is Krippendorff's, "
        "over the judge and all people; People is Krippendorff's among people alone. Images that "
        "either answered with 'unknown' are left out."
    )
    return Table(heads, rows, [note])
