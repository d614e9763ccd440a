"""`t2ibench check judge`: how well does a judge answer where the answers are known?"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2ibench.apps.labelling.trial import ClassTrial, QuestionTrial, Trial

_WIDTH = 80
_CLASS_WIDTH = 22


def run(arguments: argparse.Namespace) -> int:
    """Ask a judge what is known, and print how it did."""
    from t2ibench.apps.labelling.trial import labelled_questions, toyland_questions, try_judge
    from t2ibench.arguments import parse_args
    from t2ibench.models.devices import quietly
    from t2ibench.models.encoders import DEFAULT_ENCODER
    from t2ibench.models.judges import create_judges
    from t2ibench.models.protocols import ReportsWaits

    known = (
        labelled_questions(Path(arguments.labels))
        if arguments.labels
        else toyland_questions(arguments.images, arguments.seed)
    )
    (judge,) = create_judges(
        [arguments.spec],
        parse_args(arguments.judge_args, "--judge-args"),
        device=arguments.device,
        dtype=arguments.dtype,
        encoders=[arguments.encoder or DEFAULT_ENCODER],
    )
    if isinstance(judge, ReportsWaits):
        judge.report_waits(lambda line: print(line, file=sys.stderr))
    with quietly():
        trial = try_judge(judge, known, _progress)
    if arguments.json:
        print(json.dumps(asdict(trial), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_lines(trial, arguments.labels)))
    return 0


def _progress(done: int, total: int) -> None:
    """On a terminal, how far it is."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} answers", end="" if done < total else "\n", file=sys.stderr)


def _lines(trial: Trial, labels: str | None) -> list[str]:
    about = f"{trial.images} images of {labels}" if labels else f"{trial.images} drawn images"
    lines = [f"{trial.judge} on {about}"]
    for question in trial.questions:
        lines += ["", *textwrap.wrap(question.question, _WIDTH), *_table(question)]
    lines += ["", *_summary(trial)]
    if not labels:
        lines += [
            "",
            *textwrap.wrap(
                "Drawn images show whether a judge follows the question and abstains; how it reads "
                "photographs only labels of your own can say: t2ibench label export RUN, fill the "
                "sheet, then --labels sheet.csv.",
                _WIDTH,
            ),
        ]
    return lines


def _table(question: QuestionTrial) -> list[str]:
    from tabulate import tabulate

    rows: list[list[Any]] = [
        [
            _short(one.truth),
            one.n,
            f"{one.right / one.n:.2f}",
            _interval(one.low, one.high),
            _mistake(one),
        ]
        for one in question.by_class
    ]
    if question.accuracy is not None:
        rows.append(
            [
                "all",
                question.n,
                f"{question.accuracy:.2f}",
                _interval(question.low, question.high),
                f"macro-F1 {question.macro_f1:.2f}",
            ]
        )
    headers = ["truth", "images", "right", "95 % CI", "most often instead"]
    lines = tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True).splitlines()
    if question.unknown is not None:
        lines.append(f"'unknown' where a class is shown: {question.unknown:.2f}")
    if question.unanswered:
        lines.append(f"without an answer: {question.unanswered}")
    return lines


def _short(text: str) -> str:
    return textwrap.shorten(text, _CLASS_WIDTH, placeholder="…") or text[:_CLASS_WIDTH]


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"


def _mistake(one: ClassTrial) -> str:
    wrong = {answer: count for answer, count in one.answers.items() if answer != one.truth}
    if not wrong:
        return ""
    answer = max(wrong, key=lambda name: wrong[name])
    return f"{_short(answer)} ({wrong[answer]})"


def _summary(trial: Trial) -> list[str]:
    speed = "" if trial.seconds is None else f"{trial.seconds:.3g} s an answer, "
    lines = [
        f"{speed}{trial.first_seconds:.3g} s to the first one. Asked again, one by one and "
        f"backwards: {trial.same_again} of {trial.asked_again} the same."
    ]
    lines += [f"{count} without an answer: {reason}" for reason, count in trial.reasons.items()]
    return [part for line in lines for part in textwrap.wrap(line, _WIDTH)]
