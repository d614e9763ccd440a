"""`t2ibench skin-tone RUN`: the skin tones that a run's images show, measured."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2ibench.pipeline.skin_tones import Comparison, Reading, Tones
    from t2ibench.stats.clusters import Mean

_WIDTH = 88
_HEADERS = ("Group", "Images", "Without a tone", "Mean ITA", "very light", "light",
            "intermediate", "tan", "brown", "dark", "Monk", "Around")  # fmt: skip
_MEANING = (
    "ITA is the individual typology angle of the skin in degrees: above 55 very light, below -30 "
    "dark. Monk is the median of the nearest tones of that scale, 1 to 10. Around is the median "
    "lightness (L*) of the rest of these images. Intervals are for prompts like these; in a group "
    "of one prompt, for other images of it."
)
_WARNING = (
    "A tone is a number about pixels: light, colour grading and style move it as much as the skin "
    "that is shown, and it is nobody's race. Faces of darker skin are found less often, so means "
    "are lighter, and differences smaller, than what the images show: read them beside the shares "
    "without a tone."
)


def add_skin_tone(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verb `skin-tone`."""
    verb = verbs.add_parser(
        "skin-tone",
        help="the skin tones that a run's images show, by group of prompts",
        description="Measure the tone of the skin (ITA and the nearest Monk tone) on the one face "
        "of each image of a run, and show it by group of prompts. What is measured is stored with "
        "the run; scores stay as they are.",
    )
    verb.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    verb.add_argument("--task", metavar="T", help="the task whose groups are shown")
    verb.add_argument(
        "--compare",
        metavar=("A", "B"),
        nargs=2,
        help="the difference between two groups, or between several with commas or *",
    )
    verb.add_argument("--judge-args", metavar="k=v,…", default="", help="fewest_pixels=N")
    verb.add_argument("--level", metavar="L", type=float, default=0.95, help="of intervals (.95)")
    verb.add_argument("--output", metavar="FILE", help="write every image to a CSV")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(handler=handler("skin_tone"))


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print groups and their difference."""
    from t2ibench.pipeline.skin_tones import by_group, chosen, compare

    _check_level(arguments.level)
    task, readings = _read(arguments)
    groups = by_group(readings, arguments.level)
    compared = None
    if arguments.compare:
        sides = [chosen(readings, name, arguments.level) for name in arguments.compare]
        compared = compare(*sides)
    elif len(groups) == 2:
        compared = compare(*groups)
    if arguments.output:
        _write(Path(arguments.output), readings)
    if arguments.json:
        print(json.dumps(_as_json(task, groups, compared), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_lines(task, groups, compared)))
    return 0


def _check_level(level: float) -> None:
    from t2ibench.errors import T2IBenchError

    if not 0 < level < 1:
        raise T2IBenchError(f"--level {level:g} is not between 0 and 1.", "Give .95, say.")


def _read(arguments: argparse.Namespace) -> tuple[str, list[Reading]]:
    """The task and the readings of its images."""
    from t2ibench.arguments import parse_args
    from t2ibench.errors import T2IBenchError, did_you_mean, shown
    from t2ibench.models.judges import create_judges
    from t2ibench.pipeline.rescoring import stored_plan
    from t2ibench.pipeline.skin_tones import read_tones
    from t2ibench.results.run import open_run
    from t2ibench.store.answers import AnswerStore
    from t2ibench.store.images import ImageStore

    folder = open_run(Path(arguments.run))
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{arguments.run} holds no images.", "Give a run of an image model.")
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
    (judge,) = create_judges(["skin"], parse_args(arguments.judge_args, "--judge-args"))
    store = AnswerStore(folder.database, judge.name, judge.fingerprint)
    readings = read_tones(
        plan, task, ImageStore(folder.database, generator.fingerprint), judge, store, _warn
    )
    if not readings:
        raise T2IBenchError(
            f"{arguments.run} holds no image of '{task}'.",
            "The run's own command generates what is missing.",
        )
    return task, readings


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


def _write(file: Path, readings: Sequence[Reading]) -> None:
    from t2ibench.pipeline.skin_tones import Reading
    from t2ibench.store.file_errors import disk_errors

    with disk_errors(file), file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [one.name for one in fields(Reading)])
        writer.writeheader()
        writer.writerows(asdict(reading) for reading in readings)


def _lines(task: str, groups: Sequence[Tones], compared: Comparison | None) -> list[str]:
    from tabulate import tabulate

    rows = [_row(group) for group in groups]
    table = tabulate(rows, headers=_HEADERS, tablefmt="github", disable_numparse=True)
    lines = [f"Skin tones of {task}", "", *table.splitlines()]
    for group in groups:
        if group.reasons:
            reasons = ", ".join(f"{why} {count}" for why, count in sorted(group.reasons.items()))
            lines.append(f"{group.name}, without a tone: {reasons}")
    if compared is not None:
        lines += ["", *textwrap.wrap(_sentence(compared), _WIDTH)]
    elif len(groups) > 2:
        lines += ["", "A difference between two of them: --compare 'GROUP' 'GROUP,GROUP'"]
    for text in (_MEANING, _WARNING):
        lines += ["", *textwrap.wrap(text, _WIDTH)]
    return lines


def _row(group: Tones) -> list[str]:
    mean, (share, low, high) = group.mean, group.abstained()
    tones = [tone for tone, count in group.monk.items() for _ in range(count)]
    return [
        group.name,
        str(len(group.readings)),
        f"{share:.0%} [{low:.0%}, {high:.0%}]",
        _estimate(mean, 1) if group.measured else "–",
        *(f"{count / group.measured:.0%}" if count else "" for count in group.classes.values()),
        str(tones[len(tones) // 2]) if tones else "–",
        f"{group.surroundings.value:.0f}" if group.measured else "–",
    ]


def _estimate(found: Mean, digits: int) -> str:
    value = f"{found.value:+.{digits}f}"
    if isnan(found.low):
        return value
    return f"{value} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"


def _sentence(compared: Comparison) -> str:
    first, second = compared.first, compared.second
    if not first.measured or not second.measured:
        empty = first if not first.measured else second
        return f"No difference: no image of '{empty.name}' has a tone."
    found = compared.ita
    p = f", p = {found.p:.3g}" if not isnan(found.p) else ""
    side = "lighter" if found.value > 0 else "darker"
    if isnan(found.low):
        single = next(group for group in (first, second) if len(group.values("ita")) < 2)
        side = f"without an interval: '{single.name}' is one prompt, which could be an odd one"
    elif not found.low * found.high > 0:
        side = "no clear difference"
    how = " (each with itself)" if found.paired else ""
    return (
        f"'{first.name}' less '{second.name}': {_estimate(found, 1)} degrees{p}, {side}; "
        f"{found.clusters} units{how}. Images without a tone: "
        f"{_estimate(compared.abstained, 2)}. Lightness of the surroundings: "
        f"{_estimate(compared.surroundings, 1)} L*. What differs there may move the tones."
    )


def _as_json(task: str, groups: Sequence[Tones], compared: Comparison | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "task": task,
        "groups": [
            {
                "group": group.name,
                "images": len(group.readings),
                "measured": group.measured,
                "without_a_tone": dict(sorted(group.reasons.items())),
                "ita": _numbers(group.mean),
                "classes": group.classes,
                "monk": group.monk,
                "surroundings": _numbers(group.surroundings),
            }
            for group in groups
        ],
    }
    if compared is not None:
        found["difference"] = {
            "first": compared.first.name,
            "second": compared.second.name,
            "ita": _numbers(compared.ita),
            "without_a_tone": _numbers(compared.abstained),
            "surroundings": _numbers(compared.surroundings),
        }
    return found


def _numbers(found: Mean) -> dict[str, Any]:
    """A mean as JSON; what is not known is null."""
    return {
        name: None if isinstance(value, float) and isnan(value) else value
        for name, value in asdict(found).items()
    }
