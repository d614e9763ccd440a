"""Words of a prompt that name a group of an axis: 'a boy at a museum' names a gender.

What the images of such a prompt show is what it asked for, so they do not tell a bias along that
axis. The words of age are below; those of any axis are its counterfactuals' names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from t2ibench.methods.core.group_words import (
    MEN_WORDS,
    OTHER_GENDER_WORDS,
    WOMEN_WORDS,
    named_phrase,
    words_of,
)

_GENDER_WORDS = f"{OTHER_GENDER_WORDS} {WOMEN_WORDS} {MEN_WORDS}"
# Words that name an age; 'senior' is not among them, because it is a rank too.
_AGE_WORDS = """
    adolescent adult aged baby boy child children elder elderly girl grandfather grandma
    grandmother grandpa grandparent granny infant juvenile kid lad lass middle-aged newborn old
    older oldest pensioner preschooler retiree schoolboy schoolchild schoolchildren schoolgirl
    seniors teen teenage teenaged teenager toddler young younger youngest youngster youth youthful
"""
# A word of an axis's name, to the words that name a group along it.
_WORDS_BY_AXIS = {"gender": _GENDER_WORDS, "sex": _GENDER_WORDS, "age": _AGE_WORDS}


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
    return named_phrase(prompt, _words_along(axis), groups)


def _words_along(axis: str) -> Iterator[str]:
    """Yield the words that name a gender or an age, if the axis is gender or age."""
    for word in words_of(axis):
        yield from _WORDS_BY_AXIS.get(word.casefold(), "").split()
