"""Prompt templates: '{stimulus}' becomes a word, '{a stimulus}' or '{A …}' adds its article."""

from __future__ import annotations

import functools
import math
import re

# Before the name in a placeholder: once, and at its beginning alone.
_ARTICLE = re.compile(r"\A[aA]\s+")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_VOWEL = re.compile(r"[aeiouàáâäæèéêëìíîïòóôöœùúûü]", re.IGNORECASE)
# Spelt with a vowel, said with a consonant, and the other way round.
_CONSONANT_SOUND = re.compile(
    r"(?:uni(?![dmn])|us[aeu]|ut[aeio]|ur[aiou]|uk|ubi|ugand|eu|ewe|one\b|once\b)",
    re.IGNORECASE,
)
_VOWEL_SOUND = re.compile(
    r"(?:hour|honest|heir|honor|honour|8|1[18](?!\d))", re.IGNORECASE
)
_INITIALS = re.compile(r"[A-Z](?:[A-Z]|[-\d]|$)")
_SAID_AS_A_WORD = re.compile(r"(?:FIFA|LEGO|NASA|NATO|SWAT)\b")
_WITH_ARTICLE = re.compile(r"\b(an?) ([A-Za-z][\w'-]*)", re.IGNORECASE)
_SPELT_OUT = re.compile(r"[AEFHILMNORSX](?:[A-Z\d]|\b)")


@functools.lru_cache(maxsize=8192)
def article(word: str) -> str:
    """Return the article, 'a' or 'an', that fits the pronunciation of a word.

    Examples:
        >>> [article(word) for word in ("engineer", "university", "hour", "MRI", "NASA engineer")]
        ['an', 'a', 'an', 'an', 'a']
    """
    if _SAID_AS_A_WORD.match(word):
        return "a"
    if _INITIALS.match(word):  # initials are spelt out: an MRI, a CEO
        return "an" if _SPELT_OUT.match(word) else "a"
    if _CONSONANT_SOUND.match(word):
        return "a"
    return "an" if _VOWEL.match(word) or _VOWEL_SOUND.match(word) else "a"


def placeholders(template: str) -> list[str]:
    """Return the names of a template's placeholders, in order, without articles.

    Examples:
        >>> placeholders("a photo of {a stimulus}, {attribute}")
        ['stimulus', 'attribute']
    """
    return [_ARTICLE.sub("", match.strip()) for match in _PLACEHOLDER.findall(template)]


def alternatives(template: str) -> list[str]:
    """Return every template that alternatives such as '{child|kid}' in a template allow.

    Examples:
        >>> alternatives("a photo of a {child|kid} studying {stimulus}")
        ['a photo of a child studying {stimulus}', 'a photo of a kid studying {stimulus}']
    """
    match = next(
        (m for m in _PLACEHOLDER.finditer(template) if "|" in m.group(1)), None
    )
    if match is None:
        return [template]
    before, after = template[: match.start()], template[match.end() :]
    return [
        whole
        for choice in match.group(1).split("|")
        for whole in alternatives(f"{before}{choice.strip()}{after}")
    ]


def number_of_alternatives(template: str) -> int:
    """Return how many templates `alternatives` gives, without making them.

    Examples:
        >>> number_of_alternatives("a {child|kid} {reading|running|asleep} in {stimulus}")
        6
    """
    return math.prod(
        choices.count("|") + 1 for choices in _PLACEHOLDER.findall(template)
    )


def fill(template: str, **words: str) -> str:
    """Return the prompt that a template gives with `words` in its placeholders.

    Examples:
        >>> fill("{A stimulus} at work", stimulus="engineer")
        'An engineer at work'
    """

    def replace(match: re.Match[str]) -> str:
        name = match.group(1).strip()
        marked = _ARTICLE.match(name)
        if not marked:
            return words[name]
        word = words[name[marked.end() :]]
        its_article = article(word)
        return f"{its_article.capitalize() if name[0] == 'A' else its_article} {word}"

    return _PLACEHOLDER.sub(replace, template)


def wrong_articles(prompt: str) -> list[str]:
    """Return each phrase of a prompt that has a wrong article, such as 'a engineer'."""
    wrong = []
    for match in _WITH_ARTICLE.finditer(prompt):
        used, word = match.groups()
        if used.lower() != article(word):
            wrong.append(match.group(0))
    return wrong
