"""Words that name a group of people, and which groups a text names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Words of other genders, of women and of men. An apostrophe and a plural are not needed.
OTHER_GENDER_WORDS = """
    androgynous feminine genderqueer masculine nonbinary non-binary trans transgender
"""
WOMEN_WORDS = """
    female woman women lady madam miss mrs ms she her herself
    actress aunt auntie ballerina bride daughter girl girlfriend goddess grandma grandmother granny
    heiress heroine hostess housewife lass maid mama mermaid mistress mom mommy mother mum niece nun
    princess duchess queen schoolgirl sister stewardess tomboy waitress widow wife wives
    businesswoman chairwoman congresswoman cowgirl craftswoman forewoman gentlewoman noblewoman
    policewoman saleswoman servicewoman spokeswoman sportswoman stuntwoman
    businesswomen chairwomen congresswomen craftswomen gentlewomen noblewomen policewomen
    saleswomen servicewomen spokeswomen sportswomen stuntwomen
"""
MEN_WORDS = """
    male man men gentleman gentlemen guy sir mr he him his himself
    boy boyfriend brother cowboy dad daddy dude duke emperor father god grandfather grandpa groom
    husband king lad monk nephew papa prince schoolboy son uncle widower
    businessman cameraman chairman congressman craftsman doorman fireman fisherman foreman handyman
    horseman mailman nobleman policeman postman repairman salesman serviceman spokesman sportsman
    stuntman swordsman workman
    businessmen cameramen chairmen congressmen craftsmen doormen firemen fishermen foremen handymen
    horsemen mailmen noblemen policemen postmen repairmen salesmen servicemen spokesmen sportsmen
    stuntmen swordsmen workmen
"""
# Names of groups of women and of men, which all words of that gender name.
_WORDS_BY_NAME = {
    **dict.fromkeys(("female", "females", "woman", "women"), WOMEN_WORDS),
    **dict.fromkeys(("male", "males", "man", "men"), MEN_WORDS),
}
# "hi" is no "his", and "m" no "ms": what is shorter has no ending that can be taken off.
_SHORTEST_STEM = 3
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’](s\b)?", re.IGNORECASE)


def groups_named(text: str, groups: Iterable[str]) -> set[str]:
    """Return which of the given groups a text names.

    A group's own name counts, and for women and men every word of the lists above.

    Examples:
        >>> sorted(groups_named("a male nurse, and her son", ["male", "female"]))
        ['female', 'male']
        >>> groups_named("a light-skinned chef", ["light-skinned", "dark-skinned"])
        {'light-skinned'}
        >>> groups_named("a chairperson at work", ["male", "female"])
        set()
    """
    return {
        group
        for group in groups
        if named_phrase(text, _WORDS_BY_NAME.get(group, "").split(), [group])
        is not None
    }


def named_phrase(
    text: str, words_listed: Iterable[str], names: Iterable[str] = ()
) -> str | None:
    """Return the first words of a text that are listed or a name; None if none are.

    Whole words count, whatever their case; a plural or a possessive is the same word, and a hyphen
    separates words.

    Args:
        text: The text.
        words_listed: Words or phrases of a list, which a plural of them in the text is, too. What
            is listed as a plural is that alone: "seniors" is not "senior".
        names: Names of groups, of which the text may have the singular where they are plurals.

    Examples:
        >>> named_phrase("Mr Smith", ["mrs"]), named_phrase("a wall 3 m high", ["ms"])
        (None, None)
        >>> named_phrase("three widows", ["widow"]), named_phrase("a chef", [], ["chefs"])
        ('widows', 'chef')
    """
    words = words_of(text)
    forms = [_forms(word) for word in words]
    wanted = [
        [frozenset({word.casefold()}) for word in words_of(phrase)]
        for phrase in words_listed
    ]
    wanted += [[_forms(word) for word in words_of(name)] for name in names]
    wanted = [phrase_forms for phrase_forms in wanted if phrase_forms]
    first_words = frozenset().union(*(phrase_forms[0] for phrase_forms in wanted))
    for start in range(len(words)):
        if forms[start].isdisjoint(first_words):
            continue
        for phrase_forms in wanted:
            end = start + len(phrase_forms)
            if _are_same_words(forms[start:end], phrase_forms):
                return " ".join(words[start:end])
    return None


def words_of(text: str) -> list[str]:
    """Return the words of a text, without possessives."""
    return _WORD.findall(_APOSTROPHE.sub("", text))


def _forms(word: str) -> frozenset[str]:
    """Return a word and its possible singulars, in lower case."""
    plain = word.casefold()
    singulars = set()
    if plain.endswith("ies"):
        singulars.add(f"{plain.removesuffix('ies')}y")
    if plain.endswith("es"):
        singulars.add(plain.removesuffix("es"))
    if plain.endswith("s") and not plain.endswith("ss"):
        singulars.add(plain.removesuffix("s"))
    return frozenset(
        {plain, *(form for form in singulars if len(form) >= _SHORTEST_STEM)}
    )


def _are_same_words(
    first: Sequence[frozenset[str]], second: Sequence[frozenset[str]]
) -> bool:
    """Return whether two lists of words, each word given as its forms, are the same."""
    if len(first) != len(second):
        return False
    return all(
        not forms.isdisjoint(others)
        for forms, others in zip(first, second, strict=True)
    )
