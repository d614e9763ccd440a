"""Concepts in a judge's free answers (Chinchure et al. 2024, section 3.3, algorithm 1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from t2ibench.errors import T2IBenchError

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_HERE = Path(__file__).parent
# The paper's own pairs, which WordNet does not make.
_ALWAYS = {"male": "man", "female": "woman"}


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """Return the words that are never concepts, such as 'image', 'yes', 'no' and 'none'."""
    return frozenset((_HERE / "stop_words.txt").read_text(encoding="utf-8").split())


def words_of(answer: str) -> list[str]:
    """Return the words of an answer, in lower case, without those that are never concepts.

    Examples:
        >>> words_of("Yes, it is an OLD man's photo, on the image: no dog.")
        ['old', "man's", 'dog']
    """
    return [word for word in _WORD.findall(answer.lower()) if word not in stop_words()]


@dataclass(frozen=True)
class Synonyms:
    """A named source of synonyms, which decides which words mean the same concept."""

    name: str  # source of the knowledge; it is part of the result
    related: Callable[[str], frozenset[str]]  # word to all of its synonyms

    def merged(self, counts: Mapping[str, float]) -> dict[str, str]:
        """Return each counted word with the name of the concept that it belongs to.

        The most frequent word of a concept names it (of equals, the first in the alphabet), and a
        word joins the most frequent concept that it is a synonym of: the order of words does not
        matter, and no chain of synonyms pulls distant words together.

        Examples:
            >>> same = {"cook": frozenset({"chef"})}
            >>> synonyms = Synonyms("a table", lambda word: same.get(word, frozenset()))
            >>> synonyms.merged({"cook": 1.0, "chef": 2.0, "male": 1.0})
            {'cook': 'chef', 'chef': 'chef', 'male': 'man'}
        """
        totals: Counter[str] = Counter()
        for word, count in counts.items():
            totals[_ALWAYS.get(word, word)] += count  # type: ignore[assignment]
        concepts: dict[str, str] = {}
        names: list[str] = []
        for word in sorted(totals, key=lambda text: (-totals[text], text)):
            related = self.related(word)
            concept = next(
                (
                    name
                    for name in names
                    if name in related or word in self.related(name)
                ),
                word,
            )
            concepts[word] = concept
            if concept == word:
                names.append(word)
        return {word: concepts[_ALWAYS.get(word, word)] for word in counts}


def shipped() -> Synonyms:
    """Return the synonyms in the small table that comes with t2ibench."""
    groups: dict[str, frozenset[str]] = {}
    for line in (_HERE / "synonyms.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and words[0] != "#":
            groups |= {word: frozenset(words) for word in words}
    return Synonyms("shipped table", lambda word: groups.get(word, frozenset()))


def from_wordnet(reader: Any) -> Synonyms:
    """Return WordNet as a source of synonyms: all lemmas of the synsets of a word."""

    @lru_cache(maxsize=100_000)
    def related(word: str) -> frozenset[str]:
        return frozenset(
            lemma.lower().replace("_", " ")
            for synset in reader.synsets(word)
            for lemma in synset.lemma_names()
        )

    return Synonyms(f"WordNet {reader.get_version()}", related)


@lru_cache(maxsize=1)
def synonyms() -> Synonyms:
    """Return the synonyms of WordNet if nltk and its data are installed, else the shipped table."""
    reader = _wordnet()
    return shipped() if reader is None else from_wordnet(reader)


def synonyms_from(source: Literal["wordnet", "table"] | None) -> Synonyms:
    """Return the synonyms of the named source; None means WordNet if it is installed."""
    if source is None:
        return synonyms()
    if source == "table":
        return shipped()
    reader = _wordnet()
    if reader is None:
        hint = "pip install nltk, then python -m nltk.downloader wordnet."
        raise T2IBenchError("WordNet is not installed.", hint)
    return from_wordnet(reader)


def _wordnet() -> Any:
    """Return nltk's WordNet reader; None if nltk or its data are not installed."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (ImportError, LookupError):
        return None
    return wordnet


def concept_counts(answers: Iterable[str]) -> Counter[str]:
    """Return how often each word that can be a concept occurs in the answers."""
    return Counter(word for answer in answers for word in words_of(answer))
