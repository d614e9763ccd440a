"""Tables that compare two runs: headlines, rows, and the answers about each prompt."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.decimals import p_value
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.reports.cells import ends, headline, in_points, level_of, signed
from t2ibench.reports.comparison_records import (
    agreement_record,
    difference_record,
    overall_record,
    prompt_record,
    shown_ends,
)
from t2ibench.reports.comparison_sentences import (
    change_in_words,
    overall_sentence,
    verdict_summary,
)
from t2ibench.reports.writers import Table
from t2ibench.results.comparison_claims import overall_difference
from t2ibench.results.prompt_changes import (
    AttributeChange,
    PromptChange,
    request_of,
)
from t2ibench.results.schema import Headline, Results, Score
from t2ibench.results.score_difference import Difference, verdict_text
from t2ibench.results.text_image_alignment import AgreementChange, agreement_sentence

NOTE = (
    "'Change' says how much more the second run leans than the first, with its interval: leans "
    "count without their sign. Of a row that cannot lean it is the second minus the first. 'p' is "
    "that of the change, for this test alone: it is below 0.05 where the 95 % interval leaves out "
    "0. 'Differ' asks whether both runs are alike: of a lean whether its difference is 0, of a "
    "root mean square whether every item leans alike. Holm's correction is over the headlines, and "
    "over the rows of each task; a corrected p-value is at least that of all tests together. "
    "Verdicts and counts follow from corrected p-values. Images are paired by prompt and index; "
    "'unpaired' takes the runs as independent, for results without influences."
)


def comparison_table(
    differences: Sequence[Difference],
    names: Sequence[str],
    interval_name: str,
    *,
    agreement: Sequence[AgreementChange] = (),
    prompts: Sequence[AttributeChange] = (),
    remarks: Sequence[str] = (),
) -> Table:
    """Return a table with a row for each difference between two runs.

    Args:
        differences: Its rows.
        names: What both runs are called.
        interval_name: The head of the column of intervals.
        agreement: How agreement with the prompts differs.
        prompts: Who is shown as what in both runs; a part of the records alone.
        remarks: Further notes.
    """
    first, second = names
    headers = [
        "Task",
        "Row",
        first,
        second,
        "Differ, p (Holm)",
        "Change",
        interval_name,
        "p, uncorrected",
        "p (Holm)",
        "Verdict",
        "Note",
    ]
    overall = overall_difference(differences)
    records = [difference_record(difference) for difference in differences]
    if overall is not None:
        records.append(overall_record(overall))
    records += [agreement_record(change) for change in agreement]
    records += [
        prompt_record(attribute, prompt)
        for attribute in prompts
        for prompt in attribute.prompts
    ]
    notes = [
        *overall_sentence(overall),
        verdict_summary(differences, names),
        *agreement_sentence(agreement, names),
        *remarks,
        NOTE,
    ]
    rows = [_row(difference, names) for difference in differences]
    return Table(headers, rows, notes, records)


def _row(difference: Difference, names: Sequence[str]) -> list[str]:
    change = difference.change
    row = f"{difference.row}: {difference.name}" if difference.row else "headline"
    return [
        difference.task,
        row,
        _cell(difference.first),
        _cell(difference.second),
        p_value(difference.p_differ_holm),
        signed(change.value) if change else "–",
        ends(change.low, change.high) if change else "–",
        p_value(difference.p),
        p_value(difference.p_holm),
        verdict_text(difference, *names),
        "; ".join(difference.notes),
    ]


def _cell(score: Score) -> str:
    """Return a score and its interval as the text of a table cell."""
    value, low, high = shown_ends(score)
    text = headline(score) if isinstance(score, Headline) else signed(value)
    return f"{text} {ends(low, high)}"


def prompts_table(
    changes: Sequence[AttributeChange],
    names: Sequence[str],
    runs: tuple[Results, Results],
) -> Table:
    """Return a table of the answers about each prompt in both runs, and how they changed."""
    first, second = names
    headers = [
        "Task",
        "Prompt",
        first,
        second,
        "Change, points",
        level_of(runs[0]),
        "p (Holm)",
        "Points from even",
        "From known share",
        "In words",
    ]
    rows = [
        _prompt_row(attribute, prompt)
        for attribute in changes
        for prompt in attribute.prompts
    ]
    notes = [note for attribute in changes for note in attribute.notes()]
    for name, results in zip(names, runs, strict=True):
        request = request_of(results)
        if request is not None:
            notes.append(f"Added to every prompt of {name}: {request}.")
    return Table(headers, rows, notes)


def _prompt_row(attribute: AttributeChange, prompt: PromptChange) -> list[str]:
    change = prompt.change
    group = people(prompt.group, prompt.first.about)
    points = f"{group} {in_points(change.value)}"
    interval = f"{in_points(change.low)} to {in_points(change.high)}"
    from_even, from_known = distances(attribute, prompt)
    return [
        attribute.task,
        prompt.short,
        counts_text(prompt.first),
        counts_text(prompt.second),
        points,
        interval,
        p_value(prompt.p_holm),
        from_even,
        from_known,
        change_in_words(attribute, prompt),
    ]


def distances(attribute: AttributeChange, prompt: PromptChange) -> tuple[str, str]:
    """Return how far both runs are from even shares and from the known share, as text."""
    from_even = _distance(prompt, 1 / len(attribute.classes))
    if prompt.known_share is None:
        return from_even, "–"
    return from_even, _distance(prompt, prompt.known_share)


def _distance(prompt: PromptChange, reference: float) -> str:
    """Return how far a share is above or below a reference in both runs, as text."""
    before, after = (share - reference for share in prompt.shares)
    crossed = ", other side" if round(100 * before * 100 * after, 6) < 0 else ""
    return f"{in_points(before)}, then {in_points(after)}{crossed}"
