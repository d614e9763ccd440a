"""Match words of people, tools and models with the classes of a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from t2ibench.store.people_tables.cells import cleaned_cell, half_width

# Words of one set mean the same if exactly one of them is a class. Words that depend on age or
# culture ('boy', 'guy') are listed separately: they count only if no class is about age.
_MALE_WORDS = (
    "male males man men m masculine mann männer männlich herr hombre hombres h masculino varón "
    "homme hommes masculin uomo uomini maschio maschile homem homens mannen mannelijk mężczyzna "
    "mężczyźni erkek мужчина мужчины мужской 男 男性 男人 남 남성 남자"
)
_FEMALE_WORDS = (
    "female females woman women f w feminine frau frauen weiblich mujer mujeres femenino femenina "
    "femme femmes féminin donna donne femmina femminile mulher mulheres feminino vrouw vrouwen "
    "vrouwelijk kobieta kobiety kadın kvinna kvinnor kvinde kvinder женщина женщины женский "
    "女 女性 女人 여 여성 여자"
)
_YES_WORDS = (
    "yes y true t ja j sí si oui wahr vrai verdadero vero verdadeiro sim tak evet да истина はい "
    "是 예"
)
_NO_WORDS = (
    "no n false f nein non falsch faux falso não nee nej nie hayır нет ложь いいえ 否 "
    "아니요"
)
_ALIKE = (
    frozenset(_MALE_WORDS.split()),
    frozenset(_FEMALE_WORDS.split()),
    frozenset(_YES_WORDS.split()),
    frozenset(_NO_WORDS.split()),
    frozenset(
        {"non-binary", "nonbinary", "non binary", "enby", "divers", "no binario"}
    ),
    frozenset({"child", "children", "kid", "kids"}),
    frozenset({"adult", "adults", "grown-up", "grown up"}),
    frozenset({"middle-aged", "middle aged", "middle age"}),
)
# Letters whose meaning depends on the letter beside them: the letters of a column, and the index in
# `_ALIKE` of what each means: in Polish and Swedish, Turkish, Czech and Croatian, Russian; in
# Spanish and Portuguese, French, Italian; and in tables of ones and zeros.
_PAIRS = (
    {"k": 1, "m": 0},
    {"k": 1, "e": 0},
    {"ž": 1, "m": 0},
    {"ж": 1, "м": 0},
    {"s": 2, "n": 3},
    {"o": 2, "n": 3},
    {"v": 2, "f": 3},
    {"1": 2, "0": 3},
)
# Letters for 'unknown' or 'other', and letters that mean the same in every language.
_NO_COUNTERPART = frozenset("uxo")
_CLEAR = frozenset("yj")
_BY_AGE = (
    (_ALIKE[0], frozenset({"boy", "boys", "guy", "guys", "gentleman", "gentlemen"})),
    (_ALIKE[1], frozenset({"girl", "girls", "lady", "ladies"})),
)
_ABOUT_AGE_WORDS = (
    "boy boys girl girls child children kid kids baby babies toddler teenager teen adult "
    "adults young old middle-aged elderly minor guy lady gentleman"
)
_ABOUT_AGE = frozenset(_ABOUT_AGE_WORDS.split())
# What people write who do not know, or skip a question. It fits any question and names no class.
_UNSURE_TEXTS = (
    "unknown;not in the picture;both;several;mixed;other;unsure;not sure;uncertain;unclear;skip;"
    "skipped;undecided;idk;weiß nicht;weiss nicht;unklar;unsicher;unbekannt;nicht erkennbar;"
    "keine angabe;ne sait pas;je ne sais pas;incertain;inconnu;no sé;no sabe;desconocido;non so;"
    "sconosciuto;não sei;desconhecido;weet niet;onbekend;nie wiem;nieznane;bilmiyorum;vet ej;okänd;"
    "не знаю;неизвестно;不明;わからない;分からない;不清楚;不知道;모름"
)
_UNABLE = {
    f"{unable} {verb}"
    for unable in ("can't", "cant", "cannot", "can not")
    for verb in ("say", "tell")
} | {f"{not_} know" for not_ in ("don't", "dont", "do not")}
UNSURE = frozenset(text.casefold() for text in _UNSURE_TEXTS.split(";")) | _UNABLE
_AROUND = "\"'“”‘’«».,;:!?()[]*`"
_ARTICLE = re.compile(r"(?:a|an|the)\s+")
_DASHES = re.compile("[\u2010-\u2015\u2212\uff0d]")
_RANGE = re.compile(r"(?<=\d) ?- ?(?=\d)")
# A whole number as spreadsheets and pandas may write it: 3, 03, 3.0 and 3,0.
_WHOLE = re.compile(r"0{0,3}([0-9]{1,9})(?:[.,]0{1,2})?")
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
    number = _whole_number(_bare(text))
    if number is not None:
        equal = [name for name in classes if _whole_number(_plain(name)) == number]
        if equal:
            return equal[0] if len(equal) == 1 else None
    return _by_meaning(_bare(text), classes, beside)


def _by_meaning(
    word: str, classes: Sequence[str], beside: Collection[str]
) -> str | None:
    by_word = {_bare(name): name for name in classes}
    if len(by_word) != len(classes):
        return None
    groups = _groups_of(word, by_word, beside)
    if not any(name in _ABOUT_AGE for name in by_word):
        groups += [alike for alike, further in _BY_AGE if word in further]
    for alike in groups:
        meant = [name for form, name in by_word.items() if form in alike]
        if len(meant) == 1:
            return meant[0]
    return None


def _groups_of(
    word: str, by_word: Mapping[str, str], beside: Collection[str]
) -> list[frozenset[str]]:
    """Return the sets of words that mean the same as a word in its table."""
    if len(word) != 1 or not word.isalnum():
        return [alike for alike in _ALIKE if word in alike]
    asked = [
        meaning for meaning, alike in enumerate(_ALIKE) if not alike.isdisjoint(by_word)
    ]
    meaning = _meaning_of_letter(word, asked, by_word, _forms(frozenset(beside)))
    return [] if meaning is None else [_ALIKE[meaning]]


def _meaning_of_letter(
    letter: str,
    asked: Sequence[int],
    by_word: Collection[str],
    forms: frozenset[str],
) -> int | None:
    """Return the index in `_ALIKE` of what a letter means in its column; None if nothing.

    Args:
        letter: The letter or digit.
        asked: The indexes of what the classes of the question mean.
        by_word: The classes.
        forms: The different answers of the column.
    """
    by_letter = {form: _meanings(form, asked) for form in forms if len(form) == 1}
    pairs = [pair for pair in _PAIRS if _is_pair(pair, asked, by_letter)]
    in_pairs = [pair[letter] for pair in pairs if letter in pair]
    if in_pairs:
        return in_pairs[0]
    unread = _unread(by_letter).difference(by_word)
    if unread and letter.isascii() and letter not in _CLEAR:
        read = {meaning for form in forms for meaning in _meanings(form, asked)}
        if len(read) < 2:
            return None
    if letter == "m":
        return _meaning_of_m(by_word, forms)
    return next(iter(_meanings(letter, asked)), None)


def _meanings(form: str, asked: Sequence[int]) -> list[int]:
    """Return the indexes in `_ALIKE` of the sets that have a word, of those that are asked for."""
    return [meaning for meaning in asked if form in _ALIKE[meaning]]


def _is_pair(
    pair: Mapping[str, int],
    asked: Sequence[int],
    by_letter: Mapping[str, Sequence[int]],
) -> bool:
    """Return whether a column has both letters of a pair, and no other letter with a meaning."""
    if pair.keys() - by_letter.keys() or not set(pair.values()) & set(asked):
        return False
    others = by_letter.keys() - pair.keys()
    if any(letter.isdigit() for letter in pair):
        return not any(other.isdigit() for other in others)
    return not any(by_letter[other] for other in others)


def _unread(by_letter: Mapping[str, Sequence[int]]) -> set[str]:
    """Return letters without a meaning, of which another may be the counterpart.

    'M' beside 'N' is a man in Finnish, and 'F' beside 'N' is a man in Hungarian.
    """
    unread = {letter for letter, meanings in by_letter.items() if not meanings}
    return {letter for letter in unread if letter.isalpha()} - _NO_COUNTERPART


@lru_cache(maxsize=16)
def _forms(beside: frozenset[str]) -> frozenset[str]:
    """Return the different answers of a column as they are compared."""
    return frozenset(map(_bare, beside))


def _meaning_of_m(named: Collection[str], forms: Collection[str]) -> int | None:
    """Return the index of the gender that 'M' means: 1 (female) beside 'hombre', else 0 (male).

    Beside 'V' it is None: that is a woman in Dutch (vrouw), and a man in Spanish (varón).
    """
    if {"hombre", "mujer"} <= set(named):
        return 1
    is_between = "f" not in forms and "w" not in forms
    if "v" in forms and "h" not in forms and is_between:
        return None
    return 1 if "h" in forms and is_between else 0


def _whole_number(text: str) -> int | None:
    """Return the whole number that a text is, with or without decimal zeros; None for others."""
    number = _WHOLE.fullmatch(text)
    return None if number is None else int(number[1])


def _plain(text: str) -> str:
    if not text.isascii():
        text = half_width(unicodedata.normalize("NFC", text))
        text = _DASHES.sub("-", cleaned_cell(text))
    words = " ".join(text.replace("_", " ").split()).casefold()
    return _RANGE.sub("-", words)


def _bare(text: str) -> str:
    """Return an answer's text without punctuation around it and without an article."""
    return _ARTICLE.sub("", _plain(text).strip(_AROUND + " "), count=1)
