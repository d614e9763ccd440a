"""Parse an instruction for an edit: what it asks to change in an image, and what stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from t2ibench.toyland.caption import named_noun, read_phrases
from t2ibench.toyland.world import Phrase, words_of, world


@dataclass(frozen=True, slots=True)
class Instruction:
    """What an instruction asks for; None for what it does not name, which stays.

    Attributes:
        weather: 'pleasant' or 'unpleasant'.
        ground: The place: 'beach' or 'street'.
        noun: The occupation or activity that the person gets, with its clothes and its tool.
        clothes: What the person wears instead.
        gender: The gender that the person gets, as in "turn the person into a woman".
        skin: The skin tone.
        age: The age.
    """

    weather: str | None = None
    ground: str | None = None
    noun: str | None = None
    clothes: str | None = None
    gender: str | None = None
    skin: str | None = None
    age: str | None = None

    @property
    def changes_something(self) -> bool:
        """Whether toyland understands that anything should change."""
        return self != Instruction()


@lru_cache(maxsize=10_000)
def parse_instruction(text: str) -> Instruction:
    """Return what an instruction asks for.

    Examples:
        >>> parse_instruction("Show the person as a doctor in the rain.").noun
        'doctor'
        >>> parse_instruction("Return the image unchanged.").changes_something
        False
    """
    here = world()
    words = [word for word in words_of(text) if word.lower() not in here.pronouns]
    weather, words = _taken_out(words, here.skies)
    place, words = _taken_out(words, here.places)
    clothes, words = _taken_out(words, here.clothes)
    phrases = read_phrases(" ".join(words), here)
    return Instruction(
        weather=weather,
        ground=place,
        noun=named_noun(phrases),
        clothes=clothes,
        gender=phrases.fixed.get("gender"),
        skin=phrases.fixed.get("skin"),
        age=phrases.fixed.get("age"),
    )


def _taken_out(
    words: Sequence[str], meanings: Mapping[Phrase, str]
) -> tuple[str | None, list[str]]:
    """Return what the last phrase with a meaning means, and the words outside such phrases.

    Of phrases that begin with the same word the longest counts: "business suit" names clothes, and
    no business.
    """
    meaning = None
    others = []
    start = 0
    while start < len(words):
        length = _length_of_phrase(words, start, meanings)
        if length:
            meaning = meanings[_phrase(words, start, length)]
        else:
            others.append(words[start])
        start += max(1, length)
    return meaning, others


def _length_of_phrase(
    words: Sequence[str], start: int, meanings: Mapping[Phrase, str]
) -> int:
    """Return how many words the longest phrase with a meaning has; 0 where there is none."""
    longest = max(len(phrase) for phrase in meanings)
    lengths = range(min(longest, len(words) - start), 0, -1)
    return next(
        (length for length in lengths if _phrase(words, start, length) in meanings), 0
    )


def _phrase(words: Sequence[str], start: int, length: int) -> Phrase:
    """Return `length` words from `start` on, in lower case."""
    return tuple(word.lower() for word in words[start : start + length])
