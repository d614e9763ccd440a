"""`t2ibench label export|import|agree`: people's answers beside the judge's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import add_flag, not_negative, positive
from t2ibench.errors import T2IBenchError, did_you_mean

_EXAMPLES = """\
examples:
  t2ibench label export runs/sdxl                       200 images a question: a sheet and a page
  t2ibench label import runs/sdxl sheet.csv --labeller anna
  t2ibench score runs/sdxl                              every share, corrected by people's answers
  t2ibench label agree runs/sdxl                        kappa, alpha and F1 of each judge
"""


def add(verbs: Any) -> None:
    """Add the verb."""
    label = verbs.add_parser(
        "label",
        help="people's answers: export, import, agree (a judge with people)",
        description="Judges err. Export a random sample of images, let people answer about it "
        "without seeing prompt or judge, import their answers: every share is then given "
        "corrected, too.",
        epilog=_EXAMPLES,
    )
    actions = label.add_subparsers(title="actions", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="draw a sample; write a sheet and a page")
    add_flag(export, "run RUN", "a run folder, such as runs/toy")
    add_flag(export, "--images N", "images a question (200)", type=positive, default=200)
    add_flag(export, "--question Q", "only this question; repeatable", action="append")
    add_flag(export, "--unknown", "only images that a judge could name no class for")
    add_flag(export, "--seed N", "of the sample", type=not_negative, default=0)
    add_flag(export, "--output DIR", "by default RUN/labels")
    export.set_defaults(handler=run_export)
    take = actions.add_parser("import", help="store the answers of a filled sheet with the run")
    add_flag(take, "run RUN", "the run that the sheet was exported from")
    add_flag(take, "file FILE", "the filled sheet, CSV or XLSX")
    add_flag(take, "--labeller NAME", "who filled it; several may label", default="1")
    add_flag(
        take, "--columns k=NAME,…", "headings of the sheet: id=Nummer,answer=Antwort", default=""
    )
    add_flag(take, "--sheet NAME", "the sheet of a workbook (the first)")
    take.set_defaults(handler=run_import)
    agree = actions.add_parser("agree", help="how far each judge agrees with people")
    add_flag(agree, "run RUN", "a run with imported labels")
    agree.set_defaults(handler=run_agree)


def run_export(arguments: argparse.Namespace) -> int:
    """Draw a sample of images for every question, and write a sheet and a page to label them."""
    from t2ibench.apps.labelling.sample import draw_sample
    from t2ibench.apps.labelling.sheet import PAGE, SHEET, write_sheet
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.pipeline.scoring import open_stores
    from t2ibench.results.run import open_images

    folder, images = open_images(Path(arguments.run))
    plan = stored_plan(folder)
    known = sorted({q for asked in plan.questions.values() for q, classes in asked if classes})
    wanted = arguments.question or []
    for question in wanted:
        if question not in known:
            raise T2IBenchError(
                f"This run asks no question '{question}'.{did_you_mean(question, known)} "
                f"Questions: {'; '.join(known)}"
            )
    judges = None
    if arguments.unknown:
        judges = open_stores(folder.database, {}, folder.record.judges).judges.values()
    items = draw_sample(plan, images, arguments.images, arguments.seed, wanted, judges)
    if arguments.unknown and not items:
        raise T2IBenchError(f"The judges of {arguments.run} named a class for every image.")
    if not items:
        raise T2IBenchError(
            f"{arguments.run} has no answered question with classes.",
            "Label runs whose judge chooses among classes; free text cannot be corrected.",
        )
    output = Path(arguments.output) if arguments.output else folder.path / "labels"
    write_sheet(output, items, images)
    questions = len({(item.question, item.classes) for item in items})
    plural = "s" if questions != 1 else ""
    print(f"{len(items)} images of {questions} question{plural}: {output / SHEET}")
    print(f"Open {output / PAGE} in a browser to answer, or fill the column 'answer'. Then:")
    print(f"  t2ibench label import {arguments.run} {output / SHEET} --labeller NAME")
    return 0


def run_import(arguments: argparse.Namespace) -> int:
    """Store the answers of a filled sheet with the run."""
    from t2ibench.apps.labelling.sample import asked_images
    from t2ibench.apps.labelling.sheet_reader import read_sheet
    from t2ibench.arguments import columns_of
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.results.run import open_images
    from t2ibench.store.labels import LabelStore, labeller_name

    name = labeller_name(arguments.labeller, "--labeller")
    folder, images = open_images(Path(arguments.run))
    plan = stored_plan(folder)
    known = {item.id: item for item, _ in asked_images(plan, images)}
    filled = read_sheet(
        Path(arguments.file),
        known,
        name,
        columns=columns_of(arguments.columns),
        sheet=arguments.sheet,
    )
    labels = filled.labels
    for line in filled.notes:
        print(line)
    if not labels:
        raise T2IBenchError(f"{arguments.file} holds no answer.", "Fill its column 'answer'.")
    store = LabelStore(folder.database)
    before = len(store)
    if damage := folder.database.damage():
        print(damage)
    store.add(labels)
    print(f"{len(labels)} answers of {name}, {len(store) - before} of them new.")
    print("They correct the judge, and stand alone where no judge has named a class. Now:")
    print(f"  t2ibench score {arguments.run}")
    return 0


def run_agree(arguments: argparse.Namespace) -> int:
    """Print how far each judge agrees with people, question by question."""
    from tabulate import tabulate

    from t2ibench.apps.labelling.agreement import agreements
    from t2ibench.pipeline.scoring import open_stores
    from t2ibench.reports.cells import number
    from t2ibench.results.run import open_run
    from t2ibench.store.labels import LabelStore

    folder = open_run(Path(arguments.run))
    labels = LabelStore(folder.database)
    if not len(labels):
        raise T2IBenchError(
            f"{arguments.run} has no labels.", f"Run `t2ibench label export {arguments.run}` first."
        )
    stores = open_stores(folder.database, {}, folder.record.judges)
    if not stores.judges:
        raise T2IBenchError(
            f"{arguments.run} has no judge to compare people with.",
            f"t2ibench score {arguments.run} gives the numbers of people alone.",
        )
    found = agreements(labels, stores.judges)
    headers = ["Question", "Judge", "Images", "Accuracy", "Macro-F1", "Kappa", "Alpha", "People"]
    rows = [
        [
            *(one.question, one.judge, one.n),
            *map(number, (one.accuracy, one.macro_f1, one.kappa, one.alpha, one.people)),
        ]
        for one in found
    ]
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    print(
        "\nAgainst what most people answered. Kappa is Cohen's; Alpha is Krippendorff's, over the "
        "judge and everyone; People is Krippendorff's among people alone. Images where either said "
        "'unknown' are left out."
    )
    return 0
