"""Parts of the plain sentences in which methods describe their results."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.headline import Headline

_ALPHA = 0.05


def beyond_chance(estimate: Estimate | Headline) -> bool:
    """Whether a score's own p-value is below .05.

    Args:
        estimate: The score, or a headline.

    Returns:
        False also where it has no p-value.

    Examples:
        >>> beyond_chance(Estimate(0.4, p=0.01)), beyond_chance(Estimate(0.4, p=0.2))
        (True, False)
    """
    return estimate.p is not None and estimate.p < _ALPHA


def no_score(result: MethodResult) -> str | None:
    """The sentence for a result without a headline; None where there is one.

    Args:
        result: The result.

    Returns:
        A sentence with the reason.

    Examples:
        >>> no_score(MethodResult.undefined("there are no target images"))
        'No score: there are no target images.'
    """
    if result.headline.value is not None:
        return None
    reason = result.reason or result.headline.reason or "there is not enough evidence"
    return f"No score: {reason.rstrip('.')}."


def unproven(headline: Headline, claim: str) -> str | None:
    """The sentence for a headline whose p-value shows nothing; None where it shows something.

    Args:
        headline: The headline.
        claim: What the test would show, as a clause.

    Returns:
        A sentence that claims nothing but the lack of evidence.

    Examples:
        >>> from t2ibench.methods.core.headline import Inference
        >>> unproven(Headline(0.1, inference={"these": Inference(p=0.3)}), "cats and dogs differ")
        'No evidence beyond chance that cats and dogs differ.'
        >>> unproven(Headline(0.1), "cats and dogs differ")
        'No p-value, so it is open whether cats and dogs differ.'
    """
    if beyond_chance(headline):
        return None
    if headline.p is None:
        return f"No p-value, so it is open whether {claim}."
    return f"No evidence beyond chance that {claim}."


def undecided(result: MethodResult) -> str | None:
    """The sentence for a result that a control contradicts; None where none does.

    Args:
        result: The result.

    Returns:
        A sentence with the reason.

    Examples:
        >>> undecided(MethodResult(Headline(0.1), inconclusive="its two halves disagree"))
        'Inconclusive: its two halves disagree.'
    """
    return f"Inconclusive: {result.inconclusive.rstrip('.')}." if result.inconclusive else None


def sentence(clause: str) -> str:
    """A clause as a sentence.

    Args:
        clause: Without a capital and a full stop.

    Returns:
        With both.

    Examples:
        >>> sentence("cats are nearer")
        'Cats are nearer.'
    """
    return f"{clause[:1].upper()}{clause[1:]}."


def listed(names: Sequence[str]) -> str:
    """Names as a phrase.

    Args:
        names: One or more.

    Returns:
        'a', 'a and b' or 'a, b and c'.

    Examples:
        >>> listed(["nurse", "chef", "judge"])
        'nurse, chef and judge'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
