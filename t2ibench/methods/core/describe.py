"""Phrases for the plain sentences that describe a method's results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from t2ibench.registry import LazyModule

if TYPE_CHECKING:  # task files are checked without loading numpy and scipy
    from t2ibench import stats
    from t2ibench.methods.core.answer_counts import ShownRow
    from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
    from t2ibench.methods.core.headline import HeadlineEstimate
else:
    stats = LazyModule("t2ibench.stats")

_ALPHA = 0.05
# rows that are named of a side, and of those that are not clear
_NAMED, _NAMED_UNCLEAR = 3, 4
_NOUNS = {
    "male": "men",
    "man": "men",
    "female": "women",
    "woman": "women",
    "adult": "adults",
    "child": "children",
}
_OF_CHILDREN = {"men": "boys", "women": "girls", "people": "children"}
_ONE = {
    "men": "man",
    "women": "woman",
    "people": "person",
    "children": "child",
    "boys": "boy",
    "girls": "girl",
    "adults": "adult",
}
# What says who people are, as it is written before 'people'.
_ADJECTIVES = {
    name.casefold(): name
    for name in (
        "white",
        "Black",
        "Asian",
        "East Asian",
        "South Asian",
        "Latino",
        "Hispanic",
        "Indian",
        "Middle Eastern",
        "young",
        "middle-aged",
        "young or middle-aged",
        "old",
        "nonbinary",
        "non-binary",
        "rich",
        "poor",
        "gay",
        "straight",
        "disabled",
        "able-bodied",
    )
}
GROUP = "people"  # what a name is of where a task compares groups of people
_OF_PEOPLE = re.compile(
    r"((person|people|human|adult|child|baby)\b ?)?"
    r"(gender|race|ethnicity|age|skin( tone| colou?r)?|ability|socioeconomic|wealth)?"
)


def people(name: str, about: str = "") -> str:
    """Return the noun for a named group of people, such as 'women'; other names unchanged.

    `about` is what the name answers, such as 'person race', or `GROUP`: of a train's colour,
    'white' is nobody.

    Examples:
        >>> people("male"), people("female", "child gender"), people("white", "train colour")
        ('men', 'girls', 'white')
        >>> people("white", "person race"), people("dark skin", GROUP), people("light", "skin tone")
        ('white people', 'people with dark skin', 'people with light skin')
        >>> people("change of people with dark skin", GROUP), people("'dark skin' for men", GROUP)
        ('change of people with dark skin', "'dark skin' for men")
    """
    kind, group = about.casefold(), name.casefold()
    noun = _NOUNS.get(group, "")
    if group.endswith(" person"):
        noun = f"{name[: -len(' person')]} people"
    elif "people with" in group:
        noun = name
    elif about and not noun and _OF_PEOPLE.fullmatch(kind):
        if group.endswith(" skin") or ("skin" in kind and group in {"light", "dark"}):
            noun = f"people with {name.removesuffix(' skin')} skin"
        elif group in _ADJECTIVES:
            noun = f"{_ADJECTIVES[group]} people"
    return (
        _replaced(noun, _OF_CHILDREN)
        if kind.startswith("child") and noun
        else noun or name
    )


def about_people(about: str) -> bool:
    """Return whether a question is about people, such as 'person gender' or 'skin tone'.

    Examples:
        >>> about_people("gender"), about_people("child age"), about_people("train colour")
        (True, True, False)
    """
    return bool(about) and _OF_PEOPLE.fullmatch(about.casefold()) is not None


def _replaced(noun: str, words: Mapping[str, str]) -> str:
    return " ".join(words.get(word, word) for word in noun.split(" "))


def shown_as(name: str) -> str:
    """Return a phrase for images that show a group, or that are near some words.

    Examples:
        >>> shown_as("male"), shown_as("light skin"), shown_as("pleasant words")
        ('men', 'people with light skin', 'those with pleasant words')
    """
    noun = people(name, GROUP)
    return noun if noun != name else f"those with {name}"


def as_shown(concept: str, name: str) -> str:
    """Return a phrase that joins a concept to a group or words: 'career as men'.

    Examples:
        >>> as_shown("career", "male"), as_shown("gay", "pleasant words")
        ('career as men', 'gay people with pleasant words')
    """
    noun = people(name, GROUP)
    who = concept if concept.endswith("skin") else people(concept, GROUP)
    return f"{who} {'as' if noun != name else 'with'} {noun}"


def clear_rows(items: Sequence[Item], score: str) -> list[Item]:
    """Return the rows with p below .05 after Holm's correction, largest score first."""
    having = [item for item in items if score in item.scores]
    adjusted = stats.holm([item.scores[score].p for item in having])
    clear = [
        item
        for item, p in zip(having, adjusted, strict=True)
        if p is not None and p < _ALPHA and item.scores[score].value is not None
    ]
    return sorted(clear, key=lambda item: -abs(item.scores[score].value or 0.0))


def leaning(items: Sequence[Item], score: str, low: str, high: str, nouns: str) -> str:
    """Return a clause on how many rows lean clearly, which, and to which side; '' if none.

    Examples:
        >>> from t2ibench.methods.core.estimate import Estimate, Item
        >>> rows = [Item(name, {"lean": Estimate(value, p=0.001)})
        ...         for name, value in [("rugby", 0.9), ("netball", -0.8), ("golf", 0.4)]]
        >>> leaning(rows, "lean", "women", "men", "sports")
        '3 of 3 sports lean clearly: rugby and golf to men, netball to women'
        >>> leaning(rows[:1], "lean", "women", "men", "sports")
        '1 of 1 sports leans clearly to men (rugby)'
    """
    total = len([item for item in items if score in item.scores])
    clear = clear_rows(items, score)
    sides = {
        pole: [
            item.name for item in clear if sign * (item.scores[score].value or 0.0) > 0
        ]
        for pole, sign in ((high, 1), (low, -1))
    }
    if not clear:
        return ""
    verb = "leans" if len(clear) == 1 else "lean"
    counted = f"{len(clear)} of {total} {nouns} {verb} clearly"
    one_side = [pole for pole, names in sides.items() if len(names) == len(clear)]
    if one_side:
        return f"{counted} to {one_side[0]} ({few(sides[one_side[0]])})"
    many = max(map(len, sides.values())) > _NAMED
    clauses = [
        f"{len(names)} to {pole} ({few(names)})"
        if many
        else f"{listed(names)} to {pole}"
        for pole, names in sides.items()
    ]
    return f"{counted}: {', '.join(clauses)}"


def few(names: Sequence[str]) -> str:
    """Return the first three names, joined by commas, with an ellipsis for any others."""
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


def beyond_chance(estimate: Estimate | HeadlineEstimate) -> bool:
    """Return whether the uncorrected p-value of a score or headline is below .05."""
    return estimate.p is not None and estimate.p < _ALPHA


def nothing_shown(result: MethodResult, claim: str | None = None) -> str | None:
    """Return a sentence on why a result shows no effect; None if it does show one.

    Nothing is shown where a control contradicts, or there is no headline; and, where a
    `claim` is given, where the headline is not beyond chance.
    """
    headline = result.headline
    if result.inconclusive:
        return f"Cannot tell: {result.inconclusive.rstrip('.')}."
    if headline.value is None:
        reason = result.reason or headline.reason or "there is not enough evidence"
        return f"No score: {reason.rstrip('.')}."
    if claim is None or beyond_chance(headline):
        return None
    if headline.p is None:
        return f"No p-value, so it is open whether {claim}."
    return f"Not clear whether {claim}."


def percent(share: float) -> str:
    """Return a share in percent, such as '30 %'.

    Examples:
        >>> percent(0.3), percent(0.002)
        ('30 %', 'less than 1 %')
    """
    percents = 100 * min(max(share, 0.0), 1.0)
    return "less than 1 %" if 0 < percents < 0.5 else f"{percents:.0f} %"


def sentence(clause: str) -> str:
    """Return a clause with a capital letter and a full stop."""
    return f"{clause[:1].upper()}{clause[1:]}."


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return names joined as a phrase; beyond `most` names, how many more there are.

    Examples:
        >>> listed(["nurse", "chef", "judge"])
        'nurse, chef and judge'
        >>> listed(["nurse", "chef", "judge"], 2), listed(["nurse", "chef", "judge"], 1)
        ('nurse, chef and judge', 'nurse and 2 more')
    """
    if most is not None and len(names) > most + 1:
        first_names = ", ".join(names[:most])
        n_more = len(names) - most
        return f"{first_names} and {n_more} more"
    all_but_last = ", ".join(names[:-1])
    parts = [all_but_last, *names[-1:]]
    return " and ".join(filter(None, parts))


def shown_sentence(rows: Sequence[ShownRow]) -> str:
    """Return a clause on what each prompt's images show, according to the judge.

    Rows that are clear by themselves come first, grouped by what most of their images show; then
    the others. Where none is clear, few are named with their counts, many are grouped so.

    Examples:
        >>> from t2ibench.methods.core.answer_counts import CountedPrompt, ShownRow
        >>> def row(name, clear, **counts):
        ...     most = max(counts, key=counts.get)
        ...     return ShownRow(CountedPrompt(name, counts), name, most, None, clear)
        >>> print(shown_sentence([row("CEO", True, male=10), row("nurse", True, female=10),
        ...                       row("athlete", True, male=10), row("chef", False, male=6, female=4)]))
        CEO and athlete: 20 of 20 images show men; nurse: 10 of 10 images show women; not clear: chef (men in 6 of 10)
        >>> print(shown_sentence([row("CEO", False, male=6, female=4), row("chef", False, male=7, female=3)]))
        neither is clear by itself: chef (men in 7 of 10) and CEO (men in 6 of 10)
    """  # noqa: E501
    answered = [row for row in rows if row.most is not None]
    clear = [row for row in answered if row.clear]
    unclear = [row for row in answered if not row.clear]
    if clear or not answered:
        clauses = [_side(side) for side in _sides(clear)]
        if unclear:
            clauses.append(f"not clear: {_unclear(unclear)}")
    else:
        clauses = _none_clear(answered)
    silent = [row.short for row in rows if row.most is None]
    if silent:
        clauses.append(f"without an answer: {listed(silent, _NAMED_UNCLEAR)}")
    return "; ".join(clauses)


def _none_clear(rows: Sequence[ShownRow]) -> list[str]:
    """Return clauses on rows of which none is clear by itself."""
    if len(rows) > _NAMED_UNCLEAR:
        sides = [_side(side) for side in _sides(rows)]
        return [*sides, "none of them is clear by itself"]
    none = {1: "not clear by itself", 2: "neither is clear by itself"}
    begin = none.get(len(rows), "none of them is clear by itself")
    by_share = [row for side in _sides(rows) for row in side]
    return [f"{begin}: {_unclear(by_share)}"]


def _sides(rows: Sequence[ShownRow]) -> list[list[ShownRow]]:
    """Return rows grouped by their most frequent class, the group of most rows first."""

    def descending_share(row: ShownRow) -> float:
        share = row.hits / row.images
        return -round(share, 9)

    sides: dict[str, list[ShownRow]] = {}
    for row in sorted(rows, key=descending_share):
        sides.setdefault(str(row.most), []).append(row)
    return sorted(sides.values(), key=len, reverse=True)


def _side(rows: Sequence[ShownRow]) -> str:
    hits = sum(row.hits for row in rows)
    images = sum(row.images for row in rows)
    unknown = sum(row.counted.unanswered for row in rows)
    who = shown_class(rows[0].most, rows[0].about)
    remark = f", {_number(unknown)} without an answer" if unknown else ""
    count = f"{_number(hits)} of {_number(images)} images"
    names = listed([row.short for row in rows], _NAMED)
    return f"{names}: {count} show {who}{remark}"


def shown_class(name: str | None, about: str) -> str:
    """Return a class as images show it: a noun such as 'women', else its name in quotes."""
    noun = people(str(name), about)
    return noun if noun != name else f"'{name}'"


def counts_text(row: ShownRow) -> str:
    """Return all answer counts of a row in words, such as '7 women, 3 men'."""
    ordered = sorted(row.counted.counts.items(), key=lambda pair: -round(pair[1], 9))
    counts = []
    for name, count in ordered:
        if not count:
            continue
        nouns = people(name, row.about)
        noun = _replaced(nouns, _ONE) if count == 1 else nouns
        counts.append(f"{_number(count)} {noun}")
    unanswered = row.counted.unanswered
    if unanswered:
        counts.append(f"{_number(unanswered)} without an answer")
    return ", ".join(counts) or "no answer"


def _unclear(rows: Sequence[ShownRow]) -> str:
    if len(rows) > _NAMED_UNCLEAR:
        return f"{len(rows)} others"
    return listed([f"{row.short} ({count_text(row)})" for row in rows])


def count_text(row: ShownRow) -> str:
    """Return a row's most frequent answer and its count in words; all counts if tied."""
    counts = list(row.counted.counts.values())
    if row.hits and counts.count(row.hits) > 1:
        return counts_text(row)
    if row.most is None:
        return "no answer"
    unanswered = row.counted.unanswered
    count = f"{_number(row.hits)} of {_number(row.images)}"
    if unanswered:
        count += f", {_number(unanswered)} without an answer"
    return f"{shown_class(row.most, row.about)} in {count}"


def _number(count: float) -> str:
    return f"{round(count, 1):g}"
