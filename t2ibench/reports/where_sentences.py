"""Where a lean comes from, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.decimals import readable
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.reports.frontier_sentences import amount
from t2ibench.results.comparison_remarks import Remarks, rewriting_line
from t2ibench.results.lean_split import SplitChange, decisive_prompt
from t2ibench.results.rewritten_words import RewrittenWords
from t2ibench.results.schema import Score
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.results.where import LeanSource, Where

# Of slopes and mean squares, as docs/reading.md has it.
SMALL_DECIMALS = 3
PART_NAMES = {
    "common": "common to all prompts",
    "following": "in line with the words",
    "beside": "beside the words",
}


def about(result: Where) -> str:
    """Return how the numbers are to be read, at the level of a result."""
    threshold = f"{1 - result.level:.3g}"
    return (
        "Leans of images are on the images’ own scale: 1 at the images of the first group, −1 at "
        "those of the second. Texts have a scale of their own, so a text is never subtracted from "
        "an image. Instead, a line is fitted to the images’ leans over the words’ leans; what it "
        "explains stays the same if the leans of all texts are moved by the same amount, or "
        "stretched by the same factor. The mean squared lean is the sum of its three parts, of "
        "which the first is the square of the mean lean. Each part is unbiased, so one that is "
        "truly 0 comes out below 0 about half of the time. A finding is called clear where its "
        f"p-value is below {threshold} after Holm’s correction over all findings shown here: the "
        "parts of every run, their changes against the first run, and what images add to "
        "rewritten words. Where a test is inconclusive, no part, no change and nothing "
        "added is called clear. That images follow the words does not mean that the words are the "
        "cause: both may repeat the same world."
    )


def where_sentences(result: Where) -> Iterator[str]:
    """Yield sentences on where the lean of a test comes from, run by run."""
    words = result.sources[0].split.words
    low, high = readable(float(words.min()), 2), readable(float(words.max()), 2)
    first, second = named_groups(result)
    yield (
        f"In words: the texts of {len(words)} prompts lie from {low} ({result.stimuli[0]}) to "
        f"{high} ({result.stimuli[-1]}); higher is nearer to {first}, lower to {second}."
    )
    for source, run in zip(result.sources, result.runs, strict=True):
        yield from _leans(result, source)
        yield from _behind(result, source, run)
    if result.left_out:
        names = ", ".join(result.left_out)
        yield f"Left out, for want of a lean of their text or their images: {names}."


def named_groups(result: Where) -> tuple[str, str]:
    """Return the nouns for both groups, such as 'men' and 'women'."""
    first, second = result.groups
    return people(first, GROUP), people(second, GROUP)


def _leans(result: Where, source: LeanSource) -> Iterator[str]:
    split = source.split
    yield f"Images of {source.name}: mean squared lean {_square(split.total)}."
    if source.inconclusive:
        yield f"The test of {source.name} is inconclusive: {source.inconclusive}."
    if source.is_clear("mean"):
        first, second = named_groups(result)
        side = first if split.mean.value > 0 else second
        mean = amount(split.mean)
        yield f"On average, images of {source.name} lean to {side} ({mean})."
    if source.is_clear("slope"):
        where_to = "with" if split.slope.value > 0 else "against"
        slope = amount(split.slope, SMALL_DECIMALS)
        yield f"Images of {source.name} lean {where_to} the words (slope {slope})."
    if source.is_clear("beside"):
        beside = _square(split.beside)
        yield f"Images of {source.name} lean beside the words (mean square {beside})."
    if source.inconclusive:
        yield (
            f"No part of the lean of {source.name} is therefore called clear (slope "
            f"{amount(split.slope, SMALL_DECIMALS)})."
        )
    elif not any(finding.clear for finding in source.findings):
        yield (
            f"In {source.name}, neither a mean lean nor one in line with the words nor one beside "
            f"them is clear (slope {amount(split.slope, SMALL_DECIMALS)})."
        )
    decisive = decisive_prompt(split.words)
    if decisive is not None:
        yield (
            f"The slope of {source.name} has no interval for other prompts: but for "
            f"{result.stimuli[decisive]}, all texts lean alike."
        )


def _behind(result: Where, source: LeanSource, run: ComparedRun) -> Iterator[str]:
    if source.change is not None and source.remarks is not None:
        yield from _remarks(result.runs[0], run, source.remarks)
        yield from _changes(result, source, source.change, source.remarks)
    if source.rewritten is not None:
        yield _named(result, source, source.rewritten)
    if source.added is not None:
        verdict = (
            f"Images of {source.name} lean beyond these words"
            if source.is_clear("added_mean") or source.is_clear("added")
            else "What images add to these words is not clear"
        )
        yield (
            f"{verdict} (mean {amount(source.added.mean)}; mean square "
            f"{_square(source.added.square)})."
        )
        if source.added.left_out:
            names = ", ".join(source.added.left_out)
            yield (
                f"What images of {source.name} add leaves out {names}, because there the images "
                "of both groups are too alike for a lean."
            )
    elif source.not_added:
        yield (
            f"What images of {source.name} add to these words is not known: "
            f"{source.not_added}."
        )


def _remarks(
    before: ComparedRun, after: ComparedRun, remarks: Remarks
) -> Iterator[str]:
    """Yield what differs between the first run and another besides the model."""
    sides = before.name, after.name
    line = rewriting_line(before.results, after.results, sides)
    if line is not None:
        yield line
    if remarks.decidable and remarks.notes:
        yield f"{before.name} and {after.name}: {'; '.join(remarks.notes)}."


def _changes(
    result: Where, source: LeanSource, change: SplitChange, remarks: Remarks
) -> Iterator[str]:
    before = result.sources[0].name
    if not remarks.decidable:
        notes = "; ".join(remarks.notes)
        yield f"Against {before}, no change of {source.name} is called clear: {notes}."
        return
    clear = []
    if source.is_clear("change_of_mean"):
        clear.append(f"the mean lean by {amount(change.mean)}")
    if source.is_clear("change_of_slope"):
        clear.append(
            f"the slope on the words by {amount(change.slope, SMALL_DECIMALS)}"
        )
    if source.is_clear("change_of_beside"):
        clear.append(f"what lies beside the words by {amount(change.beside)}")
    if clear:
        yield f"Against {before}, {source.name} changes {'; '.join(clear)}."
    else:
        yield f"Against {before}, no part of the lean of {source.name} clearly changes."


def _named(result: Where, source: LeanSource, words: RewrittenWords) -> str:
    first, second = named_groups(result)
    total = words.n_images
    rewriter = f" by {source.rewriter}" if source.rewriter else ""
    return (
        f"The prompts of {words.n_rewritten} of {total} images of {source.name} were "
        f"rewritten{rewriter}: those of {words.first} name {first} alone, those of {words.second} "
        f"{second} alone."
    )


def _square(score: Score) -> str:
    value = readable(score.value or 0.0, SMALL_DECIMALS)
    if score.ci_low is None or score.ci_high is None:
        return value
    low = readable(score.ci_low, SMALL_DECIMALS)
    high = readable(score.ci_high, SMALL_DECIMALS)
    return f"{value}, {low} to {high}"
