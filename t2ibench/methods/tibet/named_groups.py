"""Words of a prompt that name a group of an axis: 'a boy at a museum' names a gender.

What the images of such a prompt show is what it asked for, so they do not tell a bias along that
axis. The words of gender and age are below; those of any axis are its counterfactuals' names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Words that name a woman, a man, or another gender. An apostrophe and a plural are not needed.
_GENDER_WORDS = """
    androgynous feminine genderqueer masculine nonbinary non-binary trans transgender
    female woman women lady madam miss mrs ms she her
    actress aunt auntie ballerina bride daughter girl girlfriend goddess grandma grandmother granny
    heiress heroine hostess housewife lass maid mama mermaid mistress mom mommy mother mum niece nun
    princess duchess queen schoolgirl sister stewardess tomboy waitress widow wife wives
    businesswoman chairwoman congresswoman cowgirl craftswoman forewoman gentlewoman noblewoman
    policewoman saleswoman servicewoman spokeswoman sportswoman stuntwoman
    businesswomen chairwomen congresswomen craftswomen gentlewomen noblewomen policewomen
    saleswomen servicewomen spokeswomen sportswomen stuntwomen
    male man men gentleman gentlemen guy sir mr he him his
    boy boyfriend brother cowboy dad daddy dude duke emperor father god grandfather grandpa groom
    husband king lad monk nephew papa prince schoolboy son uncle widower
    businessman cameraman chairman congressman craftsman doorman fireman fisherman foreman handyman
    horseman mailman nobleman policeman postman repairman salesman serviceman spokesman sportsman
    stuntman swordsman workman
    businessmen cameramen chairmen congressmen craftsmen doormen firemen fishermen foremen handymen
    horsemen mailmen noblemen policemen postmen repairmen salesmen servicemen spokesmen sportsmen
    stuntmen swordsmen workmen
"""
# Words that name an age; 'senior' is not among them, because it is a rank too.
_AGE_WORDS = """
    adolescent adult aged baby boy child children elder elderly girl grandfather grandma
    grandmother grandpa grandparent granny infant juvenile kid lad lass middle-aged newborn old
    older oldest pensioner preschooler retiree schoolboy schoolchild schoolchildren schoolgirl
    seniors teen teenage teenaged teenager toddler young younger youngest youngster youth youthful
"""
# A word of an axis's name, to the words that name a group along it.
_WORDS_BY_AXIS = {"gender": _GENDER_WORDS, "sex": _GENDER_WORDS, "age": _AGE_WORDS}
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’](s\b)?", re.IGNORECASE)


def naming_words(prompt: str, axis: str, groups: Iterable[str]) -> str | None:
    """Return the first words of a prompt that name a group of an axis; None if none do.

    Whole words count, whatever their case; a plural or a possessive is the same word, and a hyphen
    separates words.

    Args:
        prompt: The plain prompt.
        axis: The axis's name.
        groups: Names of its groups, such as those of its counterfactuals.

    Examples:
        >>> naming_words("a boy at a museum.", "gender", ["female", "nonbinary"])
        'boy'
        >>> naming_words("the GRANDMOTHERS' hats", "age", []), naming_words("a chef", "age", [])
        ('GRANDMOTHERS', None)
        >>> naming_words("two East Asian chefs", "ethnicity", ["white", "East Asian"])
        'East Asian'
    """
    words = _words_of(prompt)
    forms = [_forms(word) for word in words]
    phrases = [_words_of(group) for group in (*_words_along(axis), *groups)]
    wanted = [[_forms(word) for word in phrase] for phrase in phrases if phrase]
    for start in range(len(words)):
        for phrase_forms in wanted:
            end = start + len(phrase_forms)
            if _are_same_words(forms[start:end], phrase_forms):
                return " ".join(words[start:end])
    return None


def _words_along(axis: str) -> Iterator[str]:
    """Yield the words that name a gender or an age, if the axis is gender or age."""
    for word in _words_of(axis):
        yield from _WORDS_BY_AXIS.get(word.casefold(), "").split()


def _words_of(text: str) -> list[str]:
    """Return the words of a text, without possessives."""
    return _WORD.findall(_APOSTROPHE.sub("", text))


def _forms(word: str) -> frozenset[str]:
    """Return a word and its possible singulars, in lower case."""
    plain = word.casefold()
    forms = {plain}
    if plain.endswith("ies"):
        forms.add(f"{plain.removesuffix('ies')}y")
    if plain.endswith("es"):
        forms.add(plain.removesuffix("es"))
    if plain.endswith("s") and not plain.endswith("ss"):
        forms.add(plain.removesuffix("s"))
    return frozenset(forms)


def _are_same_words(first: list[frozenset[str]], second: list[frozenset[str]]) -> bool:
    """Return whether two lists of words, each word given as its forms, are the same."""
    if len(first) != len(second):
        return False
    return all(
        not forms.isdisjoint(others)
        for forms, others in zip(first, second, strict=True)
    )
