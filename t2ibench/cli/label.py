"""`t2ibench label export|import|agree`: people's answers beside the judge's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t2ibench.apps.labelling.sample import Item
    from t2ibench.pipeline.plan import Plan
    from t2ibench.results.run import RunFolder
    from t2ibench.store.images import ImageStore


def run_export(arguments: argparse.Namespace) -> int:
    """Draw a sample of images for every question, and write a sheet and a page to label them."""
    from t2ibench.apps.labelling.sample import draw_sample, unknown_to
    from t2ibench.apps.labelling.sheet import PAGE, SHEET, write_sheet
    from t2ibench.errors import T2IBenchError, did_you_mean
    from t2ibench.pipeline.scoring import open_stores

    folder, plan, images = _open(Path(arguments.run))
    known = sorted({q for asked in plan.questions.values() for q, classes in asked if classes})
    wanted = arguments.question or []
    for question in wanted:
        if question not in known:
            raise T2IBenchError(
                f"This run asks no question '{question}'.{did_you_mean(question, known)} "
                f"Questions: {'; '.join(known)}"
            )
    drawn = (plan, images, arguments.images, arguments.seed, wanted)
    if arguments.unknown:
        judges = open_stores(folder.database, {}, folder.record.judges).judges.values()
        items = draw_sample(*drawn, unknown_to([*judges]))
        if not items:
            raise T2IBenchError(f"The judges of {arguments.run} named a class for every image.")
    else:
        items = draw_sample(*drawn)
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
    from t2ibench.apps.labelling.sheet import read_sheet
    from t2ibench.errors import T2IBenchError
    from t2ibench.store.labels import LabelStore, labeller_name

    name = labeller_name(arguments.labeller, "--labeller")
    folder, plan, images = _open(Path(arguments.run))
    labels = read_sheet(Path(arguments.file), _known(plan, images), name)
    if not labels:
        raise T2IBenchError(f"{arguments.file} holds no answer.", "Fill its column 'answer'.")
    store = LabelStore(folder.database)
    before = len(store)
    if store.damage:
        print(store.damage.found())
    store.add(labels)
    print(f"{len(labels)} answers of {name}, {len(store) - before} of them new.")
    print("They correct the judge, and stand alone where no judge has named a class. Now:")
    print(f"  t2ibench score {arguments.run}")
    return 0


def run_agree(arguments: argparse.Namespace) -> int:
    """Print how far each judge agrees with people, question by question."""
    from tabulate import tabulate

    from t2ibench.apps.labelling.agreement import agreements
    from t2ibench.errors import T2IBenchError
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
            agreement.question,
            agreement.judge,
            agreement.n,
            *(
                number(value)
                for value in (
                    agreement.accuracy,
                    agreement.macro_f1,
                    agreement.kappa,
                    agreement.alpha,
                    agreement.people,
                )
            ),
        ]
        for agreement in found
    ]
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    print(
        "\nAgainst what most people answered. Kappa is Cohen's; Alpha is Krippendorff's, over the "
        "judge and everyone; People is Krippendorff's among people alone. Images where either said "
        "'unknown' are left out."
    )
    return 0


def _open(path: Path) -> tuple[RunFolder, Plan, ImageStore]:
    from t2ibench.errors import T2IBenchError
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.results.run import open_run
    from t2ibench.store.images import ImageStore

    folder = open_run(path)
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{path} holds no images.", "Label a run of an image model.")
    return folder, stored_plan(folder), ImageStore(folder.database, generator.fingerprint)


def _known(plan: Plan, images: ImageStore) -> dict[str, Item]:
    from t2ibench.apps.labelling.sample import asked_images

    return {item.id: item for item, _ in asked_images(plan, images)}
