"""The headline of a task: the mean squared lean of the biases that count."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.describe import percent
from t2ibench.methods.core.headline import Headline, Part
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.published import NO_ANSWER
from t2ibench.methods.openbias.rows import TOO_FEW, ScoredBias
from t2ibench.methods.openbias.squared_lean import squared_lean_parts
from t2ibench.methods.openbias.squared_lean_test import SquaredLeanTest, noise_of


def headline_of(test: SquaredLeanTest, rows: Sequence[CountedRow]) -> Headline:
    """Return the headline of a task.

    Args:
        test: The test of its mean squared lean.
        rows: The rows of the biases that count.
    """
    square = test.square
    return Headline(
        value=square.value,
        scale="mean_square",
        question=square.question,
        inference=test.inference,
        fair=(float(test.null.min()), test.critical),
        parts=(Part("", square.value, square.influence),),
        test="monte_carlo",
        items=squared_lean_parts(rows),
        noise=noise_of(square, test.null),
    )


def no_headline(biases: Sequence[ScoredBias]) -> Headline:
    """Return the headline of a task in which no bias counts, with the reason."""
    for bias in biases:
        if bias.left_out:
            return Headline.undefined(bias.left_out, "mean_square")
    is_answered = any(bias.answers.n_classified for bias in biases)
    return Headline.undefined(TOO_FEW if is_answered else NO_ANSWER, "mean_square")


def open_question(test: SquaredLeanTest, level: float) -> str | None:
    """Return why missing answers leave open whether a task leans; None where they do not."""
    if not test.unanswered:
        return None
    if not test.unanswered["p_like_the_rest"] < 1 - level <= test.p:
        return None
    share = percent(test.unanswered["share"])
    return (
        f"{share} of the answers are unknown; it leans only if they are like the rest"
    )
