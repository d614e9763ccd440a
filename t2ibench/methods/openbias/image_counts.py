"""The number of images that count, and of those that do not, over all questions of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.answers import BiasAnswers, CaptionAnswers

# Reasons that can differ between questions about one image.
_JUDGE_REASONS = ("failed", "missing", "not labelled")


def count_images(answers: Iterable[BiasAnswers]) -> tuple[int, int, Counter[str]]:
    """Return the number of images, of prompts and of excluded images over all questions.

    Each image counts once, however many biases ask about it.

    An image counts where at least one question about it was answered. It is 'unknown'
    where none of its answers is a class.

    Returns:
        Number of images, number of prompts, and number of excluded images by reason.
    """
    by_prompt: dict[str, list[CaptionAnswers]] = {}
    for bias in answers:
        for caption in bias.captions:
            by_prompt.setdefault(caption.prompt, []).append(caption)
    n_images = 0
    excluded: Counter[str] = Counter()
    for captions in by_prompt.values():
        classified: set[int] = set()
        answered: set[int] = set()
        for caption in captions:
            classified |= caption.classified
            answered |= caption.classified | caption.unclassified
        n_images += len(answered)
        excluded[UNKNOWN] += len(answered - classified)
        first = captions[0]
        n_first = len(first.classified) + len(first.unclassified)
        n_asked = n_first + first.excluded.total()
        by_question = [caption.excluded for caption in captions]
        excluded += _without_any_answer(by_question, n_asked - len(answered))
    return n_images, len(by_prompt), +excluded


def _without_any_answer(
    by_question: Sequence[Counter[str]], unanswered: int
) -> Counter[str]:
    """Return how many images of a caption got no answer to any question, for each reason.

    An image that was not generated is without an answer to every question, for the same
    reason, so the smallest count of a reason over the questions contains all of them.
    Only a judge's reasons can differ from question to question: where the counts do not
    add up to `unanswered`, those are reduced.

    Args:
        by_question: Excluded images by reason, for each question.
        unanswered: Number of images that no question was answered about.

    Examples:
        >>> _without_any_answer([Counter(refused=3, failed=1), Counter(refused=3, failed=1)], 3)
        Counter({'refused': 3})
    """
    reasons = reduce(lambda first, second: first & second, by_question)
    for reason in _JUDGE_REASONS:
        surplus = max(0, reasons.total() - unanswered)
        reasons -= Counter({reason: min(surplus, reasons[reason])})
    return reasons + Counter(failed=unanswered - reasons.total())
