"""The table of a calibration, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods import METHODS
from t2ibench.version import __version__
from tools.calibration.simulate import ANY_ROW
from tools.calibration.verdicts import AGREES, BIAS, COVERS, REJECTS, Check, Verdict

_COLUMNS = (
    ("rejects, these", "fixed_prompts rejects"),
    ("like these", "prompt_population rejects"),
    ("rows", "rows rejects"),
    ("any row", ANY_ROW),
    ("fair band", "fair"),
    ("covers, these", "fixed_prompts covers"),
    ("like these", "prompt_population covers"),
    ("rows", "rows covers"),
    ("agree, these", "fixed_prompts agrees"),
    ("like these", "prompt_population agrees"),
    ("bias", "bias"),
    ("n → 2 n", "doubling"),
)


def markdown(verdicts: Sequence[Verdict], command: str, code: str) -> str:
    """The table, with how to read it and how to make it again.

    Args:
        verdicts: What the cells show.
        command: The command that makes it.
        code: SHA-256 over the source files that decide its figures.
    """
    lines = ["# Calibration", "", *_introduction(verdicts, command, code), ""]
    for method in dict.fromkeys(verdict.method for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict.method == method]
        lines += [f"## {METHODS.get(method).title}", "", *_table(mine), ""]
        lines += [*_notes(mine), ""]
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"


def _introduction(verdicts: Sequence[Verdict], command: str, code: str) -> list[str]:
    failed = sum(bool(verdict.problems) for verdict in verdicts)
    sets = [verdict.sets for verdict in verdicts]
    worst = 1.96 * np.sqrt(0.05 * 0.95 / np.array([min(sets), max(sets)]))
    return [
        f"The tables have {len(verdicts)} cells, of which {failed} are outside of their bands. "
        f"They were made by t2ibench {__version__}, from one version of its code (SHA-256 "
        f"{code[:16]} over methods, statistics, results and worlds), with",
        "",
        f"```\n{command}\n```",
        "",
        "Each row is a task in a world whose bias is known, simulated many times and scored by "
        "the public functions of its method. The columns are:",
        "",
        "- *Rejects*: the share of data sets without bias with p < 0.05. It should lie in "
        f"{_band(REJECTS)}.",
        "- *Fair band*: the share of these data sets with a headline in the band of a fair model. "
        f"It should lie in {_band(COVERS)}.",
        "- *Covers*: the share of 95 % intervals that contain the truth. It should lie in "
        f"{_band(COVERS)}.",
        "- *These* is about these prompts, with other images. *Like these* is about other prompts "
        "of their kind. *Rows* are the rows of the task.",
        "- *Any row*: the share of data sets in which a fair row is clear after Holm's "
        f"correction. It should be at most {REJECTS[1]:.3f}.",
        "- *Agree*: the share of intervals that exclude 0 exactly where p is below 0.05. It "
        f"should lie in {_band(AGREES)}.",
        "- *Bias*: the mean headline minus the truth about these prompts. *n → 2 n*: the mean "
        "headline minus the mean headline with half of the images. Both should be within "
        f"±{BIAS:g} where at least half of the data sets have a value.",
        "- *Decided*: the share of the data sets whose headline has a value that no control "
        "contradicts.",
        "",
        f"The Monte Carlo error (95 %) of a rate of 0.05 is ±{worst[1]:.3f} with {max(sets)} data "
        f"sets and ±{worst[0]:.3f} with {min(sets)}. A figure is **bold**, and its cell counts as "
        "outside of a band, if the Monte Carlo interval of the figure lies outside. A cell "
        "marked *, or its rows, may be more cautious than the bands, or less cautious if that is "
        "known; the reason is below its table.",
    ]


def _band(band: tuple[float, float]) -> str:
    return f"{band[0]:.3f} to {band[1]:.3f}"


def _number(value: float) -> str:
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _table(verdicts: Sequence[Verdict]) -> list[str]:
    used = [
        (head, what)
        for head, what in _COLUMNS
        if any(verdict.check(what) is not None for verdict in verdicts)
    ]
    heads = ["cell", "sets", *(head for head, _ in used), "decided"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for verdict in verdicts:
        name = verdict.cell + (" *" if verdict.remark else "")
        if verdict.failed:
            blanks = " |" * len(used)
            lines.append(f"| {name} | {verdict.sets} |{blanks} **{verdict.failed}** |")
            continue
        figures = [_figure(verdict.check(what)) for _, what in used]
        decided = "–" if verdict.decided is None else f"{verdict.decided:.2f}"
        lines.append(f"| {name} | {verdict.sets} | {' | '.join(figures)} | {decided} |")
    return lines


def _figure(check: Check | None) -> str:
    if check is None:
        return "–"
    text = _number(check.estimate)
    return f"**{text}**" if check.fails else text


def _notes(verdicts: Sequence[Verdict]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.remark:
            by_reason.setdefault(verdict.remark, []).append(verdict.cell)
    return [f"- \\* {reason}." for reason in by_reason]
