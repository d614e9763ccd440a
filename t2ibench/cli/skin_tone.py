"""`t2ibench skin-tone RUN`: the skin tones that a run's images show, measured."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, did_you_mean, shown

if TYPE_CHECKING:
    from t2ibench.pipeline.skin_tones import Comparison, Reading, Tones
    from t2ibench.stats.clusters import Mean

_WIDTH = 88
_HEADERS = ("Group", "Images", "No tone", "L*-b*", "ITA", "raw L*-b*", "raw ITA", "Scene")
_MEANING = (
    "Three numbers a cell: the 25th, 50th and 75th percentile of the images. ITA is the individual "
    "typology angle in degrees; ITA and L*-b* are higher for lighter skin. Scene is the light "
    "around the head, 0 to 1, which the raw values leave in and the others take out in part. No "
    "tone is the share of images without one, with its interval."
)
_WARNING = (
    "A tone is a number about pixels, not a race and no property of a person: light, colour "
    "grading and style move it as much as skin does. Compare groups of images of one model and one "
    "kind of scene; judge no single image by it."
)
_FINDINGS = {
    "lighter": "Skin is shown lighter in '{first}', as it is in the images and corrected.",
    "darker": "Skin is shown darker in '{first}', as it is in the images and corrected.",
    "cannot tell": "Cannot tell: the intervals of L*-b* and ITA, corrected and raw, do not all lie "
    "on one side of 0.",
    "one prompt": "No interval and no claim: one side is a single prompt, which could be an odd "
    "one.",
    "nothing measured": "No difference: one side has no image with a tone.",
}
_CAVEATS = {
    "scene": "Their scenes differ in light",
    "without_a_tone": "They differ in the share of images without a tone",
}


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "skin-tone",
        help="the skin tones that a run's images show, by group of prompts",
        description="Measure the colour of the skin (CIELAB and ITA) on the one face of each image "
        "of a run, and show its distribution by group of prompts. What is measured is stored with "
        "the run; scores stay as they are.",
    )
    add_flag(verb, "run RUN", "a run folder, such as runs/toy")
    add_flag(verb, "--task T", "the task whose groups are shown")
    sides = "the difference between two groups, or between several with commas or *"
    verb.add_argument("--compare", metavar=("A", "B"), nargs=2, help=sides)
    add_flag(verb, "--output FILE", "write every image to a CSV")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print groups and their difference."""
    import pandas as pd

    from t2ibench.pipeline.skin_tones import MEASURES, by_group, chosen, compare
    from t2ibench.store.file_errors import disk_errors

    task, readings = _read(arguments)
    groups = by_group(readings)
    compared = None
    if arguments.compare:
        sides = [chosen(readings, name) for name in arguments.compare]
        compared = compare(*sides)
    elif len(groups) == 2:
        compared = compare(*groups)
    if arguments.output:
        with disk_errors(Path(arguments.output)):
            rows = [asdict(reading) for reading in readings]
            frame = pd.DataFrame([row | row.pop("values") for row in rows])
            columns = [*list(frame)[:6], *MEASURES]
            frame.reindex(columns=columns).to_csv(arguments.output, index=False)
    print("\n".join(_lines(task, groups, compared)))
    return 0


def _read(arguments: argparse.Namespace) -> tuple[str, list[Reading]]:
    """The task and the readings of its images."""
    from t2ibench.models.faces import FaceMeshes
    from t2ibench.models.skin_tone import SkinMeter
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.pipeline.skin_tones import read_tones
    from t2ibench.results.run import open_images
    from t2ibench.store.answers import AnswerStore

    folder, images = open_images(Path(arguments.run))
    plan = stored_plan(folder)
    known = [name for name, needs in plan.needs.items() if needs.prompts]
    task = arguments.task or (known[0] if len(known) == 1 else None)
    if task is None:
        raise T2IBenchError(
            f"{arguments.run} holds several tasks: {', '.join(known) or 'none with images'}.",
            "Name one with --task.",
        )
    if task not in known:
        raise T2IBenchError(
            f"This run has no task '{shown(task)}' with images.{did_you_mean(task, known)}",
            f"Tasks: {', '.join(known)}.",
        )
    faces = FaceMeshes()
    meter = SkinMeter(faces, faces.version)
    store = AnswerStore(folder.database, meter.name, meter.fingerprint)
    warn = partial(print, file=sys.stderr)
    readings = read_tones(plan, task, images, meter, store, warn)
    if not readings:
        raise T2IBenchError(
            f"{arguments.run} holds no image of '{task}'.",
            "The run's own command generates what is missing.",
        )
    return task, readings


def _lines(task: str, groups: Sequence[Tones], compared: Comparison | None) -> list[str]:
    from tabulate import tabulate

    table = tabulate(
        [_row(group) for group in groups],
        headers=_HEADERS,
        tablefmt="github",
        disable_numparse=True,
    )
    lines = [f"Skin tones of {task}", "", *table.splitlines()]
    for group in groups:
        if group.reasons:
            reasons = ", ".join(f"{why} {count}" for why, count in sorted(group.reasons.items()))
            lines.append(f"{group.name}, without a tone: {reasons}")
    if compared is not None:
        lines += ["", *_difference(compared)]
    elif len(groups) > 2:
        lines += ["", "A difference between two of them: --compare 'GROUP' 'GROUP,GROUP'"]
    for text in (_MEANING, _WARNING):
        lines += ["", *textwrap.wrap(text, _WIDTH)]
    return lines


def _row(group: Tones) -> list[str]:
    """A group's distributions."""
    share, low, high = group.abstained()
    shown = [("score", 0), ("ita", 0), ("raw_score", 0), ("raw_ita", 0), ("scene", 2)]
    return [
        group.name,
        str(len(group.readings)),
        f"{share:.0%} [{low:.0%}, {high:.0%}]",
        *(_quartiles(group, name, digits) for name, digits in shown),
    ]


def _quartiles(group: Tones, what: str, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in group.quartiles(what)) or "–"


def _difference(compared: Comparison) -> list[str]:
    first, second, found = compared.first, compared.second, compared.differences
    lines = [f"'{first.name}' less '{second.name}', difference of means:"]
    for name, title in (("score", "L*-b*"), ("ita", "ITA")):
        raw = _estimate(found[f"raw_{name}"], 1)
        lines.append(f"  {title}: corrected {_estimate(found[name], 1)}, raw {raw}")
    for name, title in (
        ("scene", "light of the scene"),
        ("without_a_tone", "share without a tone"),
    ):
        lines.append(f"  {title}: {_estimate(found[name], 2)}")
    finding = _FINDINGS[compared.finding].format(first=first.name)
    if compared.finding in ("lighter", "darker"):
        for name, warning in _CAVEATS.items():
            if not found[name].low <= 0 <= found[name].high:
                finding += f" {warning}, which may be part of it."
    how = "each with itself" if found["score"].paired else "of both sides together"
    finding += f" ({found['score'].clusters} units, {how}.)" if found["score"].clusters else ""
    return lines + textwrap.wrap(finding, _WIDTH)


def _estimate(found: Mean, digits: int) -> str:
    if isnan(found.value):
        return "–"
    value = f"{found.value:+.{digits}f}"
    if isnan(found.low):
        return value
    return f"{value} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
