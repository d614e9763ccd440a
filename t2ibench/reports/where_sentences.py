"""Where a lean comes from, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.decimals import readable
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.reports.frontier_sentences import amount
from t2ibench.results.rewritten_words import RewrittenWords
from t2ibench.results.schema import Score
from t2ibench.results.where import LeanSource, Where

PART_NAMES = {
    "common": "common to all prompts",
    "following": "in the order of the words",
    "beside": "beside the words",
}
ABOUT = (
    "All leans of images are on the images’ own scale: 1 at the images of the first group, −1 at "
    "those of the second. Texts lie on a scale of their own, so no difference of a text and an "
    "image is given: the words only order the prompts. The mean squared lean is the sum of its "
    "three parts, each without bias, so that one of nothing is below 0 about half of the time. A "
    "part is called clear where its p-value is below .05 after Holm’s correction over the three; "
    "changes behind a rewriter, and what images add to its words, are corrected in the same way. "
    "That images follow the words does not say that the words are the cause: both may repeat one "
    "world."
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
    for source in result.sources:
        yield from _leans(result, source)
        yield from _behind(result, source)
    if result.left_out:
        names = ", ".join(result.left_out)
        yield f"Left out, for want of a lean of their text or their images: {names}."


def named_groups(result: Where) -> tuple[str, str]:
    """Return the nouns for both groups, such as 'men' and 'women'."""
    first, second = result.groups
    return people(first, GROUP), people(second, GROUP)


def _leans(result: Where, source: LeanSource) -> Iterator[str]:
    split = source.split
    test = result.runs[0].results.tasks[result.task]
    yield f"Images of {source.name}: mean squared lean {_square(split.total)}."
    if test.inconclusive and source is result.sources[0]:
        yield f"The test itself is inconclusive: {test.inconclusive}."
    if source.is_clear("mean"):
        first, second = named_groups(result)
        side = first if split.mean.value > 0 else second
        yield f"All prompts of {source.name} lean to {side} ({amount(split.mean)})."
    if source.is_clear("slope"):
        order = "follow" if split.slope.value > 0 else "reverse"
        slope = amount(split.slope)
        yield f"Images of {source.name} {order} the order of the words (slope {slope})."
    if source.is_clear("beside"):
        beside = _square(split.beside)
        yield (
            f"Prompts of {source.name} lean beside the order of the words, too (mean square "
            f"{beside})."
        )
    if not any(finding.clear for finding in source.findings):
        yield (
            f"In {source.name}, neither a common lean nor the order of the words nor anything "
            f"beside it is clear (slope {amount(split.slope)})."
        )


def _behind(result: Where, source: LeanSource) -> Iterator[str]:
    change = source.change
    if change is not None:
        moved = {
            "the mean lean": ("change_of_mean", change.mean),
            "the slope on the words": ("change_of_slope", change.slope),
            "what lies beside the words": ("change_of_beside", change.beside),
        }
        clear = [
            f"{name} by {amount(contrast)}"
            for name, (finding, contrast) in moved.items()
            if source.is_clear(finding)
        ]
        before = result.sources[0].name
        if clear:
            yield f"Against {before}, {source.name} changes {'; '.join(clear)}."
        else:
            yield f"Against {before}, no part of the lean of {source.name} clearly changes."
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


def _named(result: Where, source: LeanSource, words: RewrittenWords) -> str:
    first, second = named_groups(result)
    total = words.n_images
    rewriter = f" by {source.rewriter}" if source.rewriter else ""
    return (
        f"{words.n_rewritten} of {total} prompts of {source.name} were rewritten{rewriter}: "
        f"{words.first} name {first} alone, {words.second} name {second} alone."
    )


def _square(score: Score) -> str:
    value = readable(score.value or 0.0, 3)
    if score.ci_low is None or score.ci_high is None:
        return value
    low, high = readable(score.ci_low, 3), readable(score.ci_high, 3)
    return f"{value}, {low} to {high}"
