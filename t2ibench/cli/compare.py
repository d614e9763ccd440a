"""`t2ibench compare OLD NEW`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2ibench.reports.writers import Table
    from t2ibench.results.comparison import Difference
    from t2ibench.results.schema import Results, Score
    from t2ibench.results.text_image_alignment import AgreementChange

_NOTE = (
    "'Items' is the p-value that every item of a root mean square leans alike in both runs. "
    "'Change' says how much more the second run leans than the first: leans count without their "
    "sign. Of a row that cannot lean it is the second minus the first. Images are paired by prompt "
    "and index; 'unpaired' takes the runs as independent, for results without influences. p tests "
    "whether both lean alike; Holm's correction is over the headlines, and over the rows of each "
    "task. A verdict is one task at a time, without it."
)
_NOT_MEASURED = (
    "Agreement with the prompts was not measured in both runs by one encoder; `t2ibench score RUN` "
    "measures it where the prompts are embedded, and the run's command where they are not."
)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs."""
    from t2ibench.cli.gates import report
    from t2ibench.errors import T2IBenchError
    from t2ibench.reports.cells import level_of
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.comparison import compare, rewriting_line
    from t2ibench.results.files import read_results
    from t2ibench.results.gates import COMPARISON, check_comparison, parse_gates
    from t2ibench.results.paired import read_paired
    from t2ibench.results.text_image_alignment import compare_agreement

    WRITERS.get(arguments.format)  # before any file is read
    gates = parse_gates(arguments.fail_on or [], COMPARISON)
    paths = Path(arguments.first), Path(arguments.second)
    both = [read_results(path) for path in paths]
    first, second = both
    paired = [read_paired(path) for path in paths]
    found = compare(first, second, *paired)
    agreement = compare_agreement(first, second, *paired)
    if first.limited or second.limited:
        print("Made with --limit; not a result to report.", file=sys.stderr)
    for path, results in zip(paths, (first, second), strict=True):
        if results.partial:
            print(f"{path}: some prompts have no image; not a result to report.", file=sys.stderr)
    if not found:
        raise T2IBenchError("The two runs have no task in common.", "Run both on the same tasks.")
    names = _names(first, second, (arguments.first, arguments.second))
    shown = [one for one in found if not one.row or (arguments.rows and one.value is not None)]
    remark = rewriting_line(first, second)
    table = comparison_table(shown, names, level_of(first), agreement, remark)
    measured = [any(task.text_image_alignment for task in one.tasks.values()) for one in both]
    if not agreement and any(measured):
        print(_NOT_MEASURED, file=sys.stderr)
    print(render(arguments.format, table), end="")
    return report(check_comparison(gates, found)) if gates else 0


def _names(first: Results, second: Results, paths: Sequence[str]) -> list[str]:
    """What tells the runs apart: their names, their folders', or where they are."""
    titles = [first.title, second.title]
    folders = [Path(path).resolve().name for path in paths]
    return next(
        (names for names in (titles, folders) if len(set(names)) == 2), list(map(str, paths))
    )


def comparison_table(
    differences: Sequence[Difference],
    names: Sequence[str],
    interval_name: str,
    agreement: Sequence[AgreementChange] = (),
    remark: str | None = None,
) -> Table:
    """The differences as a table."""
    from t2ibench.reports.cells import ends, format_p, signed
    from t2ibench.reports.writers import Table
    from t2ibench.results.comparison import tally, told_in_words
    from t2ibench.results.display import ALPHA
    from t2ibench.results.text_image_alignment import agreement_sentence

    rows, records = [], []
    for one in differences:
        records.append(_record(one))
        rows.append(
            [
                one.task,
                f"{one.row}: {one.name}" if one.row else "headline",
                _cell(one.first),
                _cell(one.second),
                format_p(one.p_items_holm),
                signed(one.change.value) if one.change else "–",
                ends(one.change.low, one.change.high) if one.change else "–",
                format_p(one.p_holm),
                told_in_words(one, *names),
                "; ".join(one.notes),
            ]
        )
    counts = tally(differences)
    summary = (
        f"Headlines: {names[0]} leans less in {counts['first']}, {names[1]} in "
        f"{counts['second']}; {counts['opposite'] + counts['tie']} undecided, "
        f"{counts[None]} not compared."
    )
    by_items = [one.p_items_holm for one in differences if one.p_items_holm is not None]
    apart = sum(p < ALPHA for p in by_items)
    items = (
        f"Item by item, the runs differ in {apart} of {len(by_items)} headlines that are root mean "
        "squares, after Holm's correction."
    )
    headers = [
        *("Task", "Row", *names, "Items, p (Holm)", "Change", interval_name, "p (Holm)"),
        *("Verdict", "Note"),
    ]
    records += [_agreement_record(one) for one in agreement]
    said = agreement_sentence(agreement, names)
    first = [items] if by_items else []
    remarks = [*first, summary, *said, *([remark] if remark else []), _NOTE]
    return Table(headers, rows, remarks, records)


def _agreement_record(one: AgreementChange) -> Mapping[str, Any]:
    """A difference of agreement with the prompts; without a task, of all prompts of both runs."""
    both = f"{one.n_prompts} prompts, {one.n_images} images of each"
    low, high = (None if end is None else 0.0 - end for end in (one.high, one.low))
    return {
        "task": one.task,
        "row": f"{one.encoder}: {one.group}" if one.group else one.encoder,
        "score": "text_image_alignment",
        "scale": None,
        **_ends("old", None, None, None),
        **_ends("new", None, None, None),
        **_ends("change", 0.0 - one.value, low, high),
        "p": one.p,
        "p_holm": one.p_holm,
        **dict.fromkeys(("p_items", "p_items_holm", "detectable")),
        "paired": True,
        "leans_less": None,
        "notes": both,
    }


def _ends(
    name: str, value: float | None, low: float | None, high: float | None
) -> dict[str, float | None]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _shown(score: Score) -> tuple[float | None, float | None, float | None]:
    """A score and its interval in the unit that tables show."""
    from t2ibench.results.display import displayed
    from t2ibench.results.schema import Headline

    if not isinstance(score, Headline):
        return score.value, score.ci_low, score.ci_high
    shown = displayed(score)
    return shown.value, shown.low, shown.high


def _cell(score: Score) -> str:
    from t2ibench.reports.cells import ends, headline, signed
    from t2ibench.results.schema import Headline

    value, low, high = _shown(score)
    text = headline(score) if isinstance(score, Headline) else signed(value)
    return f"{text} {ends(low, high)}"


def _record(one: Difference) -> Mapping[str, Any]:
    return {
        "task": one.task,
        "row": one.row,
        "score": one.name,
        "scale": getattr(one.first, "scale", None),
        **_ends("old", *_shown(one.first)),
        **_ends("new", *_shown(one.second)),
        **_ends("change", *((c.value, c.low, c.high) if (c := one.change) else (None,) * 3)),
        "p": one.p,
        "p_holm": one.p_holm,
        "p_items": one.p_items,
        "p_items_holm": one.p_items_holm,
        "detectable": one.detectable,
        "paired": one.paired,
        "leans_less": {"first": "old", "second": "new"}.get(one.verdict or "", one.verdict),
        "notes": "; ".join(one.notes),
    }
