"""The headline of an OpenBias task: the mean squared lean of the biases that count."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.describe import percent
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.null_draws import NullDraws
from t2ibench.methods.openbias.published import NO_ANSWER
from t2ibench.methods.openbias.rows import TOO_FEW, ScoredBias
from t2ibench.methods.openbias.squared_lean import squared_lean_parts
from t2ibench.methods.openbias.squared_lean_test import (
    SquaredLeanTest,
    noise_of,
    squared_lean_test,
)


def counted_rows(biases: Sequence[ScoredBias]) -> list[CountedRow]:
    """Return the rows of answers of all biases that count in the headline."""
    return [row for bias in biases if bias.counted for row in bias.rows]


def headline_test(
    biases: Sequence[ScoredBias], null_draws: NullDraws | None, level: float
) -> SquaredLeanTest | None:
    """Return the test of the mean squared lean of biases that count; None if none counts."""
    rows = counted_rows(biases)
    if not rows or null_draws is None:
        return None
    return squared_lean_test(rows, null_draws, level)


def headline_of(
    test: SquaredLeanTest | None, biases: Sequence[ScoredBias]
) -> HeadlineEstimate:
    """Return the headline of a task: its mean squared lean with intervals and parts.

    Args:
        test: The test of its mean squared lean; None where no bias counts.
        biases: Its biases.
    """
    if test is None:
        return HeadlineEstimate.undefined(_reason(biases), "mean_square")
    square = test.square
    return HeadlineEstimate(
        value=square.value,
        scale="mean_square",
        inference=HeadlineInference(
            by_question=test.inference,
            question=square.question,
            fair=(float(test.null.min()), test.critical),
            test="monte_carlo",
        ),
        parts=(Part("", square.value, square.influence),),
        items=squared_lean_parts(counted_rows(biases)),
        noise=noise_of(square, test.null),
    )


def _reason(biases: Sequence[ScoredBias]) -> str:
    """Return the reason why no bias of a task counts in its headline."""
    for bias in biases:
        if bias.left_out:
            return bias.left_out
    is_answered = any(bias.answers.n_classified for bias in biases)
    return TOO_FEW if is_answered else NO_ANSWER


def open_question(test: SquaredLeanTest, level: float) -> str | None:
    """Return why missing answers leave the lean undecided; None if they do not."""
    if not test.unanswered:
        return None
    if not test.unanswered["p_like_the_rest"] < 1 - level <= test.p:
        return None
    share = percent(test.unanswered["share"])
    return (
        f"{share} of the answers are unknown; it leans only if they are like the rest"
    )
