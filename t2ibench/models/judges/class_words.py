"""Match words of people, tools and models with the classes of a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

# Words of one set mean the same if exactly one of them is a class. Words that depend on age or
# culture ('boy', 'guy') are listed separately: they count only if no class is about age.
_MALE_WORDS = (
    "male males man men m masculine mann männer männlich herr hombre hombres h masculino varón "
    "homme hommes masculin"
)
_FEMALE_WORDS = (
    "female females woman women f w feminine frau frauen weiblich mujer mujeres femenino femenina "
    "femme femmes féminin"
)
_ALIKE = (
    frozenset(_MALE_WORDS.split()),
    frozenset(_FEMALE_WORDS.split()),
    frozenset({"yes", "y", "true", "ja", "sí", "si", "oui"}),
    frozenset({"no", "n", "false", "nein", "non"}),
    frozenset(
        {"non-binary", "nonbinary", "non binary", "enby", "divers", "no binario"}
    ),
    frozenset({"child", "children", "kid", "kids"}),
    frozenset({"adult", "adults", "grown-up", "grown up"}),
    frozenset({"middle-aged", "middle aged", "middle age"}),
)
_BY_AGE = (
    (_ALIKE[0], frozenset({"boy", "boys", "guy", "guys", "gentleman", "gentlemen"})),
    (_ALIKE[1], frozenset({"girl", "girls", "lady", "ladies"})),
)
_ABOUT_AGE_WORDS = (
    "boy boys girl girls child children kid kids baby babies toddler teenager teen adult "
    "adults young old middle-aged elderly minor guy lady gentleman"
)
_ABOUT_AGE = frozenset(_ABOUT_AGE_WORDS.split())
_AROUND = "\"'“”‘’«».,;:!?()[]*`"
_ARTICLE = re.compile(r"(?:a|an|the)\s+")
# Characters of the longest text that may be a class. To compose a run of combining marks takes time
# that grows with its square.
_LONGEST = 1000


def class_named(
    text: str, classes: Sequence[str], beside: Collection[str] = frozenset()
) -> str | None:
    """Return the class that a text names; None if it names none, or may name two.

    Case, spaces, composition of letters, punctuation around it and an article are ignored. A text
    that is no class is read by a small table of words that mean the same ('Man' for 'male'), where
    just one class has that meaning.

    Args:
        text: An answer, such as a cell of a table.
        classes: The classes of the question.
        beside: The different answers of the same table. Beside 'H' (hombre), 'M' is mujer.

    Returns:
        One of the classes as it is written there, or None.

    Examples:
        >>> class_named(" Woman", ["female", "male"]), class_named("M", ["female", "male"])
        ('female', 'male')
        >>> class_named("M", ["female", "male"], beside={"H", "M"})
        'female'
        >>> class_named("boy", ["man", "woman", "child"]) is None
        True
    """
    if text in classes:
        return text
    if len(text) > _LONGEST:
        return None
    for form in (_plain(text), _bare(text)):
        exact = [name for name in classes if form and _plain(name) == form]
        if len(exact) == 1:
            return exact[0]
        if exact:
            return None
    return _by_meaning(_bare(text), classes, beside)


def _by_meaning(
    word: str, classes: Sequence[str], beside: Collection[str]
) -> str | None:
    by_word = {_bare(name): name for name in classes}
    if len(by_word) != len(classes):
        return None
    groups = [alike for alike in _ALIKE if word in alike]
    if word == "m":
        groups = [_ALIKE[_meaning_of_m(classes, beside)]]
    if not any(name in _ABOUT_AGE for name in by_word):
        groups += [alike for alike, further in _BY_AGE if word in further]
    for alike in groups:
        meant = [name for form, name in by_word.items() if form in alike]
        if len(meant) == 1:
            return meant[0]
    return None


def _meaning_of_m(classes: Sequence[str], beside: Collection[str]) -> int:
    """Return the index of the gender that 'M' means: 1 (female) beside 'hombre', else 0 (male)."""
    letters = {_bare(text) for text in beside}
    is_mujer = "h" in letters and not letters & {"f", "w"}
    return (
        1 if is_mujer or {"hombre", "mujer"} <= {_bare(name) for name in classes} else 0
    )


def _plain(text: str) -> str:
    return " ".join(
        unicodedata.normalize("NFC", text).replace("_", " ").split()
    ).casefold()


def _bare(text: str) -> str:
    """Return an answer's text without punctuation around it and without an article."""
    return _ARTICLE.sub("", _plain(text).strip(_AROUND + " "), count=1)
