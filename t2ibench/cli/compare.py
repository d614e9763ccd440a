"""`t2ibench compare OLD NEW`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.reports.writers import Table
    from t2ibench.results.comparison import Difference
    from t2ibench.results.prompt_changes import AttributeChange, PromptChange
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
# formats that people read: prompts come first, in a table of their own
_READ = ("md", "latex")
_NOT_MEASURED = (
    "Agreement with the prompts was not measured in both runs by one encoder; `t2ibench score RUN` "
    "measures it where the prompts are embedded, and the run's command where they are not."
)


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "compare",
        help="two runs side by side: how much more the second leans",
        description="Two runs side by side: a model and its debiased version, or training images "
        "(--model folder:DIR) and a model, where leaning more is amplification. Images are paired "
        "by prompt and index.",
    )
    add_flag(verb, "first OLD", "a run folder")
    add_flag(verb, "second NEW", "the run that is compared with it")
    add_flag(verb, "--rows", "every bias and concept too")
    add_flag(verb, "--format F", "md, latex, csv or a plug-in's", default="md")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs."""
    from t2ibench.reports.cells import level_of
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.comparison import compare
    from t2ibench.results.comparison_remarks import rewriting_line, unread_lines
    from t2ibench.results.files import read_results
    from t2ibench.results.paired import read_paired
    from t2ibench.results.prompt_changes import compare_prompts
    from t2ibench.results.text_image_alignment import compare_agreement

    WRITERS.get(arguments.format)  # before any file is read
    paths = Path(arguments.first), Path(arguments.second)
    both = [read_results(path) for path in paths]
    first, second = both
    paired = [read_paired(path) for path in paths]
    found = compare(first, second, *paired)
    prompts = compare_prompts(first, second)
    agreement = compare_agreement(first, second, *paired)
    if first.limited or second.limited:
        print("Made with --limit; not a result to report.", file=sys.stderr)
    for path, results in zip(paths, both, strict=True):
        if results.partial:
            why = results.what_is_missing
            print(
                f"{path}: {why[0].lower()}{why[1:]}; not a result to report.",
                file=sys.stderr,
            )
    if not found:
        raise T2IBenchError(
            "The two runs have no task in common.", "Run both on the same tasks."
        )
    # What tells the runs apart: their names, their folders', or where they are.
    titles, folders = (
        [one.title for one in both],
        [path.resolve().name for path in paths],
    )
    choices = (titles, folders, [arguments.first, arguments.second])
    names = next((one for one in choices if len(set(one)) == 2), choices[-1])
    shown = [
        one
        for one in found
        if not one.row or (arguments.rows and one.value is not None)
    ]
    rewriting = rewriting_line(first, second)
    further = [*unread_lines(first, second, names), *([rewriting] if rewriting else [])]
    table = comparison_table(shown, names, level_of(first), agreement, further)
    asked = [_prompt_record(one, prompt) for one in prompts for prompt in one.prompts]
    table = replace(table, records=[*table.records, *asked])
    if prompts and arguments.format in _READ:
        print(render(arguments.format, prompts_table(prompts, names, (first, second))))
    measured = [
        any(task.text_image_alignment for task in one.tasks.values()) for one in both
    ]
    if not agreement and any(measured):
        print(_NOT_MEASURED, file=sys.stderr)
    print(render(arguments.format, table), end="")
    return 0


def comparison_table(
    differences: Sequence[Difference],
    names: Sequence[str],
    interval_name: str,
    agreement: Sequence[AgreementChange] = (),
    further: Sequence[str] = (),
) -> Table:
    """The differences as a table."""
    from t2ibench.reports.cells import ends, format_p, signed
    from t2ibench.reports.writers import Table
    from t2ibench.results.comparison import tally, told_in_words
    from t2ibench.results.display import ALPHA
    from t2ibench.results.text_image_alignment import agreement_sentence

    rows, records = [], []
    for one in differences:
        records.append(_difference_record(one))
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
        *(
            "Task",
            "Row",
            *names,
            "Items, p (Holm)",
            "Change",
            interval_name,
            "p (Holm)",
        ),
        *("Verdict", "Note"),
    ]
    records += [_agreement_record(one) for one in agreement]
    said = agreement_sentence(agreement, names)
    first = [items] if by_items else []
    remarks = [*first, summary, *said, *further, _NOTE]
    return Table(headers, rows, remarks, records)


def prompts_table(
    changes: Sequence[AttributeChange],
    names: Sequence[str],
    both: tuple[Results, Results],
) -> Table:
    """Who is shown as what in both runs, prompt by prompt, and what changed in words."""
    from t2ibench.methods.core.describe import counts_text, people
    from t2ibench.reports.cells import format_p, level_of
    from t2ibench.reports.writers import Table
    from t2ibench.results.prompt_changes import request_of

    rows = []
    for one in changes:
        for prompt in one.prompts:
            low, high = (
                100 * (end or 0.0) for end in (prompt.change.low, prompt.change.high)
            )
            rows.append(
                [
                    one.task,
                    prompt.short,
                    counts_text(prompt.first),
                    counts_text(prompt.second),
                    f"{people(prompt.group, prompt.first.about)} {100 * prompt.change.value:+.0f}",
                    f"{low:+.0f} to {high:+.0f}",
                    format_p(prompt.p_holm),
                    _distances(prompt, 1 / len(one.classes)),
                    "–" if prompt.known is None else _distances(prompt, prompt.known),
                    _in_words(one, prompt),
                ]
            )
    notes = [note for one in changes for note in one.notes()]
    for name, results in zip(names, both, strict=True):
        if (request := request_of(results)) is not None:
            notes.append(f"Added to every prompt of {name}: {request}.")
    headers = [
        *("Task", "Prompt", *names, "Change, points", level_of(both[0]), "p (Holm)"),
        *("Points from even", "From known share", "In words"),
    ]
    return Table(headers, rows, notes)


def _in_words(change: AttributeChange, prompt: PromptChange) -> str:
    """What changed for a prompt; a request that was not read changed nothing."""
    if change.unread:
        return "the end of the prompt was not read"
    return "over-corrected" if change.asked and prompt.turned else prompt.words


def _distances(prompt: PromptChange, reference: float) -> str:
    """How far a share is from a reference in both runs, with the side it is on."""
    before, after = (100 * (share - reference) for share in prompt.shares)
    crossed = ", other side" if round(before * after, 6) < 0 else ""
    return f"{before:+.0f}, then {after:+.0f}{crossed}"


_COLUMNS = (
    *("task", "row", "score", "scale"),
    *(
        f"{name}{end}"
        for name in ("old", "new", "change")
        for end in ("", "_low", "_high")
    ),
    *("p", "p_holm", "p_items", "p_items_holm", "detectable", "paired"),
    *("comparable", "verdict", "leans_less", "notes"),
)


def _record(**given: Any) -> Mapping[str, Any]:
    return dict.fromkeys(_COLUMNS) | {"notes": ""} | given


def _ends(name: str, *ends: float | None) -> dict[str, float | None]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=False))


def _prompt_record(one: AttributeChange, prompt: PromptChange) -> Mapping[str, Any]:
    change, (old, new) = prompt.change, prompt.shares
    return _record(
        task=one.task,
        row=f"{one.attribute}: {prompt.first.counted.name}",
        score=f"share:{prompt.group}",
        **{
            "old": old,
            "new": new,
            **_ends("change", change.value, change.low, change.high),
        },
        **{"p_holm": prompt.p_holm, "paired": False, "notes": prompt.words},
        comparable=True,
    )


def _agreement_record(one: AgreementChange) -> Mapping[str, Any]:
    """A difference of agreement with the prompts; without a task, of all prompts of both runs."""
    change = one.turned
    return _record(
        task=one.task,
        row=f"{one.encoder}: {one.group}" if one.group else one.encoder,
        score="text_image_alignment",
        **_ends("change", change.value, change.low, change.high),
        **{"p": one.p, "p_holm": one.p_holm, "paired": True, "comparable": True},
        notes=f"{one.n_prompts} prompts, {one.n_images} images of each",
    )


# Numbers are those of the table, which shows a mean square as its root.
_SCALES = {"mean_square": "root_mean_square"}


def _difference_record(one: Difference) -> Mapping[str, Any]:
    from t2ibench.results.comparison import told_in_words

    scale = getattr(one.first, "scale", None)
    same = (
        "p",
        "p_holm",
        "p_items",
        "p_items_holm",
        "detectable",
        "paired",
        "comparable",
    )
    change = (one.change.value, one.change.low, one.change.high) if one.change else ()
    return _record(
        **{"task": one.task, "row": one.row, "score": one.name},
        **{name: getattr(one, name) for name in same},
        **{**_ends("old", *_shown(one.first)), **_ends("new", *_shown(one.second))},
        **_ends("change", *change),
        scale=_SCALES.get(str(scale), scale),
        verdict=told_in_words(one, "old", "new"),
        leans_less={"first": "old", "second": "new"}.get(
            one.verdict or "", one.verdict
        ),
        notes="; ".join(one.notes),
    )


def _shown(score: Score) -> tuple[float | None, float | None, float | None]:
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
