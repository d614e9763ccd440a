"""`t2ibench check judge`: measure how well a judge answers where the answers are known."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.cli.usage import tell_some
from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.store.user_paths import expanded

if TYPE_CHECKING:
    from t2ibench.apps.labelling.trial import Known, Trial
    from t2ibench.methods.core.judge_check import AttributeCheck, JudgeCheck, RateFound

_WIDTH = 80
_CLASS_WIDTH = 18
_NOTES = 10
_LABELS = "people.csv"
_CAVEAT = (
    "These errors hold for images like these; they may differ for other models, "
    "prompts or styles."
)


def run(arguments: argparse.Namespace) -> int:
    """Ask a judge about labelled images, print its errors, and return the exit status."""
    from t2ibench.apps.labelling.trial import try_judge
    from t2ibench.arguments import parse_args
    from t2ibench.models.encoders import DEFAULT_ENCODER
    from t2ibench.models.judges import create_judges
    from t2ibench.models.library_messages import collect_messages
    from t2ibench.models.protocols import ReportsWaits
    from t2ibench.store.files import write_text

    questions, source, notes = _labelled_questions(arguments)
    tell_some(notes, _say, _NOTES, "and {} more")
    if notes:
        _say(f"{len(notes)} rows of labels cannot be used.")
    (judge,) = create_judges(
        [arguments.spec],
        parse_args(arguments.judge_args, "--judge-args"),
        device=arguments.device,
        dtype=arguments.dtype,
        encoders=[arguments.encoder or DEFAULT_ENCODER],
    )
    if isinstance(judge, ReportsWaits):
        judge.report_waits(_say)
    with collect_messages(judge.name):
        trial = try_judge(judge, questions, _progress, source)
    print("\n".join([*check_lines(trial.check), *_summary(trial)]))
    if arguments.output:
        write_text(Path(arguments.output), trial.check.model_dump_json(indent=1) + "\n")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _labelled_questions(
    arguments: argparse.Namespace,
) -> tuple[list[Known], list[str], list[str]]:
    """Return the questions with known answers, their folders, and notes on unusable answers."""
    from t2ibench.apps.labelling import trial
    from t2ibench.arguments import columns_of

    questions: list[Known] = []
    notes: list[str] = []
    folders = [expanded(name) for name in arguments.images]
    for folder in folders:
        if not folder.is_dir():
            raise T2IBenchError(f"No such folder: '{shown_path(folder)}'.")
        labels = folder / (arguments.labels or _LABELS)
        if not labels.is_file() and len(folders) == 1 and arguments.labels:
            labels = expanded(arguments.labels)
        answered, lines = trial.people_questions(
            folder, labels, columns=columns_of(arguments.columns), sheet=arguments.sheet
        )
        questions += answered
        notes += lines
    if not questions:
        raise T2IBenchError("None of these images has a label.", *notes[:1])
    return trial.same_classes(questions), [folder.name for folder in folders], notes


def _progress(done: int, total: int) -> None:
    """Show on a terminal how many of all answers there are so far."""
    if sys.stderr.isatty():
        print(
            f"\r{done} of {total} answers",
            end="" if done < total else "\n",
            file=sys.stderr,
        )


def check_lines(check: JudgeCheck) -> list[str]:
    """Return a judge check as lines of at most 80 columns."""
    source = ", ".join(check.source)
    lines = textwrap.wrap(
        f"{check.judge} on {check.images} labelled images of {source}", _WIDTH
    )
    for attribute in check.attributes:
        lines += [
            "",
            *textwrap.wrap(f"{attribute.attribute}: {attribute.question}", _WIDTH),
        ]
        if any(class_check.sensitivity.images for class_check in attribute.classes):
            lines += [*_table(attribute), *_by_group(attribute)]
        reason = f"{attribute.reason[:1].upper()}{attribute.reason[1:]}."
        lines += textwrap.wrap(f"Verdict: {attribute.verdict}. {reason}", _WIDTH)
    return [*lines, "", *textwrap.wrap(_CAVEAT, _WIDTH)]


def _table(attribute: AttributeCheck) -> list[str]:
    from tabulate import tabulate

    rows = [
        [
            textwrap.shorten(class_check.name, _CLASS_WIDTH, placeholder="…")
            or class_check.name[:_CLASS_WIDTH],
            class_check.images,
            *map(
                _interval,
                (
                    class_check.answered,
                    class_check.sensitivity,
                    class_check.specificity,
                ),
            ),
        ]
        for class_check in attribute.classes
    ]
    headers = ["shown as", "images", "answered", "sensitivity", "specificity"]
    lines = tabulate(
        rows, headers=headers, tablefmt="simple", disable_numparse=True
    ).splitlines()
    if attribute.no_class:
        lines.append(
            f"none of these, or several: {attribute.no_class} images, "
            f"answered {attribute.no_class_answered}"
        )
    reads = [
        [f"'{class_check.name}' is read as", *map(_interval, class_check.read)]
        for class_check in (
            attribute.classes[:1] if len(attribute.classes) == 2 else attribute.classes
        )
    ]
    shares = [f"{read.share:g}" for read in attribute.classes[0].read]
    table = tabulate(
        reads, headers=["a share of", *shares], tablefmt="simple", disable_numparse=True
    )
    return [*lines, "", *table.splitlines()]


def _interval(rate: RateFound) -> str:
    if rate.value is None:
        return "–"
    return f"{rate.value:.2f} [{rate.ci_low:.2f}, {rate.ci_high:.2f}]"


def _by_group(attribute: AttributeCheck) -> Iterator[str]:
    for comparison in attribute.by_group:
        groups = ", ".join(
            f"{group.name} {f'{group.right / group.answered:.2f}' if group.answered else '–'} "
            f"({group.answered} of {group.images})"
            for group in comparison.groups
        )
        named = (("right", comparison.p_holm), ("answered", comparison.p_answered_holm))
        tests = ", ".join(f"{what} p = {p:.3f}" for what, p in named if p is not None)
        tested = f"equally {tests} (Holm)" if tests else "too few differ to test"
        text = f"'{comparison.truth}' by {comparison.by}, right (answered): {groups}; {tested}."
        yield from textwrap.wrap(text, _WIDTH, subsequent_indent="  ")


def _summary(trial: Trial) -> list[str]:
    lines = [
        f"Asked again, one by one and in reverse order: {trial.answered_alike} of "
        f"{trial.asked_twice} the same."
    ]
    lines += [
        f"{count} without an answer: {reason}"
        for reason, count in trial.reasons.items()
    ]
    return [part for line in lines for part in textwrap.wrap(line, _WIDTH)]
