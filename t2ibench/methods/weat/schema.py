"""The schema of WEAT tasks, and checks that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core import checks
from t2ibench.methods.core.schema import (
    EVERYDAY,
    Alternative,
    BaseTask,
    Strict,
    Text,
    TwoWordGroups,
    WordGroup,
    WordsOrNone,
)


class WeatTargets(Strict):
    """The two sets of target words X and Y."""

    X: WordGroup
    Y: WordGroup


class WeatTask(BaseTask):
    """A word embedding association test (Caliskan et al. 2017) on a text encoder or word vectors.

    Attributes:
        targets: The two sets X and Y.
        attributes: The two sets A and B.
        templates: Texts to embed for a word; '{word}' is the word. The mean over templates counts.
        reference: Name of a list of everyday words, or the words: from 100 or more of them the test
            learns how alike the associations of related words are.
        alternative: Which side the p-value looks at.
        allow_missing: Largest share of a set that a vocabulary may lack.
    """

    method: Literal["weat"]
    targets: WeatTargets
    attributes: TwoWordGroups
    templates: Annotated[tuple[Text, ...], Field(min_length=1)] = ("{word}",)
    reference: Annotated[WordsOrNone, Field(validate_default=True)] = EVERYDAY  # type: ignore[assignment]
    alternative: Alternative = "two-sided"
    allow_missing: Annotated[float, Field(ge=0, lt=1)] = 0.2


def check(task: WeatTask) -> Iterator[checks.Finding]:
    """Yield each problem of a task that its schema cannot express."""
    x_words = task.targets.X.words
    y_words = task.targets.Y.words
    a_words = task.attributes.A.words
    b_words = task.attributes.B.words
    yield from checks.two_sets(x_words, y_words, ("X", "Y"), ("targets",), "words")
    yield from checks.two_sets(a_words, b_words, ("A", "B"), ("attributes",), "words")
    words = (*x_words, *y_words, *a_words, *b_words)
    for number, template in enumerate(task.templates):
        yield from checks.template(template, ["word"], ("templates", number))
        yield from checks.article_language(template, words, ("templates", number))
