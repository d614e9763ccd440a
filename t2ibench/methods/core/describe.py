"""Parts of the plain sentences in which methods describe their results."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Headline
from t2ibench.stats import holm

_ALPHA = 0.05
_NAMED = 3  # rows that are named of a side
_PEOPLE = {"male": "men", "female": "women"}  # who is shown, as nouns


def people(name: str) -> str:
    """A group as a noun."""
    return _PEOPLE.get(name, name)


def shown_as(name: str) -> str:
    """What images look like that show a group or go with some words.

    Examples:
        >>> shown_as("male"), shown_as("pleasant words")
        ('men', 'those with pleasant words')
    """
    return _PEOPLE.get(name, f"those with {name}")


def clear_rows(items: Sequence[Item], score: str) -> list[Item]:
    """The rows that are clear: p below .05 after Holm's correction over all of them."""
    having = [item for item in items if score in item.scores]
    adjusted = holm([item.scores[score].p for item in having])
    clear = [
        item
        for item, p in zip(having, adjusted, strict=True)
        if p is not None and p < _ALPHA and item.scores[score].value is not None
    ]
    return sorted(clear, key=lambda item: -abs(item.scores[score].value or 0.0))


def leaning(items: Sequence[Item], score: str, low: str, high: str, nouns: str) -> str:
    """How many rows lean clearly, which ones, and to which side.

    Examples:
        >>> rows = [Item(name, {"lean": Estimate(value, p=0.001)})
        ...         for name, value in [("rugby", 0.9), ("netball", -0.8), ("golf", 0.4)]]
        >>> leaning(rows, "lean", "women", "men", "sports")
        '3 of 3 sports lean clearly: rugby and golf to men, netball to women'
    """
    total = len([item for item in items if score in item.scores])
    clear = clear_rows(items, score)
    sides = {
        pole: [item.name for item in clear if sign * (item.scores[score].value or 0.0) > 0]
        for pole, sign in ((high, 1), (low, -1))
    }
    many = max(map(len, sides.values())) > _NAMED
    told = []
    for pole, names in sides.items():
        more = ", …" if len(names) > _NAMED else ""
        counted = f"{len(names)} to {pole} ({', '.join(names[:_NAMED])}{more})"
        told += [counted if many else f"{listed(names)} to {pole}"] if names else []
    verb = "leans" if len(clear) == 1 else "lean"
    return f"{len(clear)} of {total} {nouns} {verb} clearly: {', '.join(told)}" if told else ""


def beyond_chance(estimate: Estimate | Headline) -> bool:
    """Whether a score's own p-value is below .05.

    Examples:
        >>> beyond_chance(Estimate(0.4, p=0.01)), beyond_chance(Estimate(0.4, p=0.2))
        (True, False)
    """
    return estimate.p is not None and estimate.p < _ALPHA


def no_score(result: MethodResult) -> str | None:
    """The sentence for a result without a headline; None where there is one.

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

    Examples:
        >>> from t2ibench.methods.core.headline import Inference
        >>> found = {"fixed_prompts": Inference(p=0.3)}
        >>> unproven(Headline(0.1, inference=found), "cats and dogs differ")
        'Not clear whether cats and dogs differ.'
        >>> unproven(Headline(0.1), "cats and dogs differ")
        'No p-value, so it is open whether cats and dogs differ.'
    """
    if beyond_chance(headline):
        return None
    if headline.p is None:
        return f"No p-value, so it is open whether {claim}."
    return f"Not clear whether {claim}."


def undecided(result: MethodResult) -> str | None:
    """The sentence for a result that a control contradicts; None where none does.

    Examples:
        >>> undecided(MethodResult(Headline(0.1), inconclusive="its two halves disagree"))
        'Cannot tell: its two halves disagree.'
    """
    return f"Cannot tell: {result.inconclusive.rstrip('.')}." if result.inconclusive else None


def percent(share: float) -> str:
    """A share in words, such as '30 %'.

    Examples:
        >>> percent(0.3), percent(0.002)
        ('30 %', 'less than 1 %')
    """
    percents = 100 * min(max(share, 0.0), 1.0)
    return "less than 1 %" if 0 < percents < 0.5 else f"{percents:.0f} %"


def sentence(clause: str) -> str:
    """A clause as a sentence.

    Examples:
        >>> sentence("cats are nearer")
        'Cats are nearer.'
    """
    return f"{clause[:1].upper()}{clause[1:]}."


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names as a phrase; of more than one beyond `most`, the first ones and how many more.

    Examples:
        >>> listed(["nurse", "chef", "judge"])
        'nurse, chef and judge'
        >>> listed(["nurse", "chef", "judge"], 2), listed(["nurse", "chef", "judge"], 1)
        ('nurse, chef and judge', 'nurse and 2 more')
    """
    if most is not None and len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
