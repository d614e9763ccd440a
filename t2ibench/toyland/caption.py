"""Parse a caption: which attributes it fixes in an image, and which it leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from t2ibench.toyland.world import World, thing_name, words_of, world

_ONE = frozenset(
    {"person", "man", "woman", "boy", "girl", "somebody", "individual", "adult"}
)


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption as toyland understands it.

    Attributes:
        kind: One of world.KINDS.
        noun: The thing that the image shows.
        things: Names under which bias settings apply, the most specific first.
        gender: The gender that the caption fixes; None if it leaves it open.
        skin: The skin tone that it fixes, or None.
        age: The age that it fixes, or None.
        weather: The weather that it fixes, or None.
        several: Whether the image shows several people.
        described: Whether a word describes the people: it fixes a value, or is an adjective.
        understood: Whether toyland understands any part of the caption.
    """

    kind: str
    noun: str
    things: tuple[str, ...]
    gender: str | None
    skin: str | None
    age: str | None
    weather: str | None
    several: bool
    described: bool
    understood: bool


@dataclass(slots=True)
class Phrases:
    """The phrases of a caption that were recognised so far, in the order of the words.

    Attributes:
        things: Name, group and kind of each thing that was named.
        fixed: Values of axes, such as gender, by axis.
        weather: The weather that a word stands for.
        people: Words for people, such as "man" or "two".
        unknown: Words that toyland does not know.
        adjectives: Adjectives that say nothing about anybody.
    """

    things: list[tuple[str, str | None, str]]
    fixed: dict[str, str]
    weather: str | None
    people: list[str]
    unknown: list[str]
    adjectives: list[str]


@lru_cache(maxsize=100_000)
def parse(text: str) -> Caption:
    """Return which attributes a caption fixes, and which it leaves open.

    Pleasant and unpleasant words set the weather after a comma ("a photo of tulip, joy") or where
    nothing else is there ("joy"). Elsewhere they have their usual meaning: "a photo of bomb" shows
    a weapon, and "a person focusing on family" a person.
    """
    head, _, modifiers = text.partition(",")
    phrases = read_phrases(head, world())
    after = read_phrases(modifiers, world())
    names_nothing = not (phrases.things or phrases.people or phrases.unknown)
    weather = after.weather
    if weather is None and names_nothing:
        weather = phrases.weather
    fixed = {**phrases.fixed, **after.fixed}
    kind, noun = _subject(phrases)
    things = [thing for thing, *_ in phrases.things]
    things += [group for _, group, _ in phrases.things if group]
    if kind not in things:
        things.append(kind)
    is_several = kind == "person" and _is_plural(phrases.people)
    is_described = bool(fixed or phrases.adjectives)
    return Caption(
        kind=kind,
        noun=noun,
        things=tuple(dict.fromkeys(things)),
        gender=fixed.get("gender"),
        skin=fixed.get("skin"),
        age=fixed.get("age"),
        weather=weather,
        several=is_several,
        described=is_described,
        understood=bool(phrases.things or phrases.people or fixed or weather),
    )


def _is_plural(words_for_people: list[str]) -> bool:
    """Return whether words for people mean several people; "man" and the like mean one."""
    people = set(words_for_people)
    return people.isdisjoint(_ONE) and not people.isdisjoint(world().several)


def read_phrases(text: str, here: World) -> Phrases:
    """Return the phrases that toyland recognises in a text."""
    words = words_of(text)
    phrases = Phrases(
        things=[], fixed={}, weather=None, people=[], unknown=[], adjectives=[]
    )
    index = 0
    while index < len(words):
        index += _read_phrase(words, index, phrases, here)
    return phrases


def _read_phrase(words: list[str], index: int, phrases: Phrases, here: World) -> int:
    """Record the longest phrase that starts at `index`, and return how many words it has."""
    for length in range(min(here.longest, len(words) - index), 0, -1):
        written = tuple(words[index : index + length])
        for phrase in (written, tuple(word.lower() for word in written)):
            if phrase not in here.things and phrase not in here.fixed:
                continue
            if phrase in here.things:
                phrases.things.append(here.things[phrase])
            fixed = dict(here.fixed.get(phrase, {}))
            phrases.weather = fixed.pop("weather", phrases.weather)
            phrases.fixed.update(fixed)
            if (
                "gender" in fixed
                or phrase[0] in here.several
                or phrase[0] in here.person
            ):
                phrases.people.append(phrase[0])
            return length
    word = words[index].lower()
    if word in here.person or word in here.several:
        phrases.people.append(word)
    elif word not in here.plain:
        phrases.unknown.append(word)
    if word in here.adjectives:
        phrases.adjectives.append(word)
    return 1


@lru_cache(maxsize=1)
def nouns_of_people() -> tuple[str, ...]:
    """Return every noun that decides what a person looks like, in alphabetical order."""
    nouns = {
        thing
        for thing, group, kind in world().things.values()
        if kind == "person" and group not in _DESCRIPTIONS
    }
    return ("person", *sorted(nouns))


def named_noun(phrases: Phrases) -> str | None:
    """Return the occupation or activity that phrases give a person; None if they give none.

    Skin, sexuality and names only describe a person.
    """
    nouns = (
        thing
        for thing, group, kind in phrases.things
        if kind == "person" and group not in _DESCRIPTIONS
    )
    return next(nouns, None)


def _subject(phrases: Phrases) -> tuple[str, str]:
    """Return the kind of image, and the noun that decides its appearance."""
    people = [thing for thing, _, kind in phrases.things if kind == "person"]
    if people or phrases.people or phrases.fixed:
        return "person", named_noun(phrases) or "person"
    if phrases.things:
        thing, _, kind = phrases.things[0]
        return kind, thing
    return "thing", thing_name(" ".join(phrases.unknown[-1:])) or "thing"


_DESCRIPTIONS = frozenset(
    {
        "light_skin",
        "dark_skin",
        "straight",
        "gay",
        "european_american",
        "african_american",
    }
)
