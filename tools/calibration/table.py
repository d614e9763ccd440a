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
        f"{len(verdicts)} cells, {failed} outside of their bands. Made by t2ibench {__version__}, "
        f"from one version of its code (SHA-256 {code[:16]} over methods, statistics, results and "
        "worlds), with",
        "",
        f"```\n{command}\n```",
        "",
        "Each row is a task in a world whose bias is known, simulated many times and scored by "
        "the public functions of its method. *Rejects*: share of data sets without bias with "
        f"p < .05, to lie in {_band(REJECTS)}. *Fair band*: share of them with a headline in the "
        f"band of a fair model, and *covers*: share of 95 % intervals that hold the truth, both to "
        f"lie in {_band(COVERS)}. *These*: about these prompts, with other images; *like these*: "
        "about other prompts of their kind; *rows*: the rows of the task; *any row*: share of "
        "data sets in which a fair row is clear after Holm's correction, to be at most "
        f"{_number(REJECTS[1])}. *Agree*: share of "
        "intervals that leave 0 out exactly where p is below .05, to lie in "
        f"{_band(AGREES)}. *Bias*: mean headline less the truth about these prompts, and "
        f"*n → 2 n*: less the mean headline with half of the images, both within ±{BIAS:g} where "
        "at least half of the data sets have a value. *Decided*: share of the data sets whose "
        "headline has a value that no control contradicts.",
        "",
        f"The Monte Carlo error (95 %) of a rate of .05 is ±{worst[1]:.3f} at {max(sets)} data "
        f"sets and ±{worst[0]:.3f} at {min(sets)}. A cell counts as outside of a band, **bold**, "
        "where the Monte Carlo interval of its figure lies outside. A cell marked *, or "
        "its rows, may be more cautious than the bands, or less so where that is known; the "
        "reason is below its table.",
    ]


def _band(band: tuple[float, float]) -> str:
    return f"{_number(band[0])} to {_number(band[1])}"


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
    return [f"\\* {reason}." for reason in by_reason]
