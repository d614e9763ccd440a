"""Detection of prompts that are not in English, and of the language they seem to be in.

A small table of function words per language (function_words.txt) and the script of the letters
decide. The rule is meant to notice a whole prompt in another language and to leave English prompts
with foreign words ('café', 'Las Vegas', 'in the style of van Gogh') alone; it names no language it
is not sure of.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ENGLISH = "en"
LANGUAGE_NAMES = {
    "ar": "Arabic",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
# First word of a letter's Unicode name to a language that is written so; a script that is not
# listed has no suggestion.
_LANGUAGE_OF_SCRIPT = {
    "CYRILLIC": "ru",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "THAI": "th",
    "HANGUL": "ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
}
_LATIN = frozenset({"LATIN", "FEMININE", "MASCULINE", "MICRO", "MODIFIER"})
_SURE, _PART = 2, 1  # how much a word of either kind says
_ENOUGH = 2
_MOST_LANGUAGES = 3  # that a message names
_SHOUTED = 3  # words, all of them in capitals: no initials
# German nouns have capitals too, so its articles are of a name only where they have one themselves:
# 'Das Boot'.
_OF_TITLES = frozenset({"Der", "Die", "Das", "Den"})
_BEFORE_DER = frozenset({"van", "von"})
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_TOKEN = re.compile(r"\{[^{}]*\}|[^\W\d_]+(?:['’][^\W\d_]*)?")
_PLACE = "{}"  # a placeholder among the words of a template
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ForeignText:
    """The languages that a text may be in, if it does not read as English, and the signs.

    Attributes:
        languages: The tags of the languages that it may be in, such as 'de'; empty where the script
            has no suggestion.
        signs: The words that show it, or the name of the script.
    """

    languages: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def name(self) -> str:
        """English names of the languages; 'another language' where none is known."""
        names = [LANGUAGE_NAMES[tag] for tag in self.languages]
        return " or ".join(names) if names else "another language"


@dataclass(frozen=True, slots=True)
class FunctionWords:
    """The function words of each language, as function_words.txt has them.

    Attributes:
        weights: Language to its words, each with what it says about a text.
        shared: Language to words that it has in common with English.
        english: English words.
        of_names: Particles of names before a capital, as in 'La Paz'.
        loans: Phrases of other languages that are English by now.
    """

    weights: dict[str, dict[str, int]]
    shared: dict[str, frozenset[str]]
    english: frozenset[str]
    of_names: frozenset[str]
    loans: tuple[str, ...]


@lru_cache(maxsize=1)
def function_words() -> FunctionWords:
    """Return the function words of each language from function_words.txt."""
    words: dict[tuple[str, str], set[str]] = {}
    loans: list[str] = []
    for line in (_HERE / "function_words.txt").read_text(encoding="utf-8").splitlines():
        head, _, content = line.partition(":")
        if not content or line.startswith("#"):
            continue
        if head == "loans":
            loans += [phrase.strip() for phrase in content.split("|")]
            continue
        language, kind = head.split() if " " in head else (head, "")
        words.setdefault((language, kind), set()).update(content.split())
    languages = sorted({language for language, kind in words if kind} - {ENGLISH})
    weights = {}
    for language in languages:
        weights[language] = dict.fromkeys(words[language, "sure"], _SURE)
        weights[language] |= dict.fromkeys(words.get((language, "part"), ()), _PART)
    shared = {
        language: frozenset(words.get((language, "shared"), ()))
        for language in languages
    }
    return FunctionWords(
        weights,
        shared,
        frozenset(words[ENGLISH, "sure"]),
        frozenset(words["names", ""]),
        tuple(sorted(loans, key=len, reverse=True)),
    )


def foreign_text(text: str) -> ForeignText | None:
    """Return the languages that a prompt or template may be in; None if it may be English.

    A text is foreign where most of its letters are of another script, or where its words of one
    language say more than twice as much as its English words.

    Examples:
        >>> foreign_text("Ein Foto von {a stimulus}")
        ForeignText(languages=('de',), signs=('Ein', 'Foto', 'von'))
        >>> foreign_text("a photo of {a stimulus} in a café in Rio de Janeiro") is None
        True
    """
    letters = [letter for letter in _PLACEHOLDER.sub(" ", text) if letter.isalpha()]
    script = _other_script(letters)
    if script is not None:
        return script
    return _by_function_words(_tokens(text))


def foreign_words(words: Iterable[str]) -> ForeignText | None:
    """Return the languages that most words of a list may be in; None if English is possible.

    Single nouns show no language unless their script does: 'Café' is English. What counts is a
    word for a man or a woman, or an article before the noun.

    Examples:
        >>> foreign_words(["ein Arzt", "eine Lehrerin"]).name
        'German'
        >>> foreign_words(["café", "piñata", "façade"]) is None
        True
    """
    texts = list(words)
    foreign = [text for text in texts if _is_sure(text)]
    if 2 * len(foreign) <= len(texts):
        return None
    return foreign_text(" , ".join(foreign))


@lru_cache(maxsize=8192)
def _is_sure(text: str) -> bool:
    """Return whether an entry of a word list is certainly not in English."""
    letters = [letter for letter in text if letter.isalpha()]
    if _other_script(letters) is not None:
        return True
    tokens = [token for token in _tokens(text) if not token.isupper()]
    table = function_words()
    if any(token.lower() in table.english for token in tokens):
        return False
    # An article may be part of a name, but not before an ordinary word: 'un médico'.
    first = tokens[0].lower() if len(tokens) > 1 and tokens[1].islower() else ""
    for weights in table.weights.values():
        if first in weights or any(
            weights.get(token.lower()) == _SURE for token in tokens
        ):
            return True
    return False


def _other_script(letters: Sequence[str]) -> ForeignText | None:
    """Return the language of the script of most letters; None if it is the Latin script."""
    scripts = Counter(
        unicodedata.name(letter, "LATIN").split()[0] for letter in letters
    )
    other = {script: count for script, count in scripts.items() if script not in _LATIN}
    if 2 * sum(other.values()) <= len(letters) or not other:
        return None
    if "HIRAGANA" in other or "KATAKANA" in other:  # Chinese has neither
        return ForeignText(("ja",), ("Japanese letters",))
    most = max(other, key=lambda script: other[script])
    language = _LANGUAGE_OF_SCRIPT.get(most)
    letters_of = "Chinese" if most == "CJK" else most.capitalize()
    return ForeignText((language,) if language else (), (f"{letters_of} letters",))


def _tokens(text: str) -> list[str]:
    """Return a text's words and placeholders, without foreign phrases that are English by now."""
    plain = unicodedata.normalize("NFC", text).replace("’", "'")
    words = []
    for token in _TOKEN.findall(_loans().sub(" ", plain)):
        if token.startswith("{"):
            words.append(_PLACE)
            continue
        start, apostrophe, end = token.partition("'")
        # French and Italian elide: d'un, l'homme, dell'ospedale, un'infermiera.
        elided = apostrophe and f"{start.lower()}'" in _elisions()
        words += [f"{start}'", end] if elided else [token]
    return [token for token in words if token]


@lru_cache(maxsize=1)
def _loans() -> re.Pattern[str]:
    phrases = "|".join(map(re.escape, function_words().loans))
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=1)
def _elisions() -> frozenset[str]:
    tables = function_words().weights.values()
    return frozenset(
        word for weights in tables for word in weights if word.endswith("'")
    )


def _by_function_words(tokens: Sequence[str]) -> ForeignText | None:
    """Return the languages whose function words outweigh the English ones; None if none do."""
    places = [place for place in range(len(tokens)) if _counts(tokens, place)]
    # Before a placeholder a particle is no part of a name: 'Portrait de {stimulus}'.
    factors = [
        2 if tokens[place + 1 : place + 2] == [_PLACE] else 1 for place in places
    ]
    counted = [tokens[place] for place in places]
    words = [token.lower() for token in counted]
    scores = {}
    for language in function_words().weights:
        score = _score(language, words, factors)
        if score is not None:
            scores[language] = score
    if not scores:
        return None
    most = max(scores.values())
    best = [language for language, score in scores.items() if score == most]
    weights = function_words().weights[best[0]]
    signs = [token for token in counted if token.lower() in weights]
    if "da" in best:  # whose words are Norwegian as well
        best.insert(best.index("da") + 1, "nb")
    return ForeignText(tuple(best[:_MOST_LANGUAGES]), tuple(dict.fromkeys(signs))[:4])


def _score(
    language: str, words: Sequence[str], factors: Sequence[int]
) -> tuple[int, int] | None:
    """Return a language's score and number of shared words; None where the score is too low."""
    table = function_words()
    weights, shared = table.weights[language], table.shared[language]
    score = english = fitting = 0
    for word, factor in zip(words, factors, strict=True):
        if word in weights:
            score += min(factor * weights[word], _SURE)
        elif word in shared:
            fitting += 1
        elif word in table.english:
            english += 1
    return (score, fitting) if score >= _ENOUGH and score > 2 * english else None


def _counts(tokens: Sequence[str], place: int) -> bool:
    """Return whether a token is a sign of a language: no placeholder, initials or name."""
    token = tokens[place]
    if token == _PLACE:
        return False
    words = [word for word in tokens if word != _PLACE]
    if len(words) >= _SHOUTED and all(word.isupper() for word in words):
        return True
    if token.isupper() and len(token) > 1:
        return False
    if place and token == "der" and tokens[place - 1].lower() in _BEFORE_DER:
        return False
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    of_name = token.lower() in function_words().of_names or token in _OF_TITLES
    return not (of_name and following[:1].isupper())
