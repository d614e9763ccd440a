"""The judge `toyland`: answers about toyland's images from their pixels."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter
from t2ibench.models.protocols import Answer, Query
from t2ibench.toyland import reader
from t2ibench.toyland.caption import parse
from t2ibench.toyland.reader import Reading

_VERSION = 3
_PERSONAL = ("gender", "skin", "age")
_AXES = (*_PERSONAL, "weather")
# Classes that no caption of toyland has a word for.
_NAMED = {
    "middle": ("age", "adult"),
    "middle-aged": ("age", "adult"),
    "adult": ("age", "adult"),
    "non-binary": ("gender", "androgynous"),
    "light skin": ("skin", "light"),
    "dark skin": ("skin", "dark"),
    "light": ("skin", "light"),
    "dark": ("skin", "dark"),
    "pleasant": ("weather", "pleasant"),
    "unpleasant": ("weather", "unpleasant"),
}
# Words for values whose own name would not be clear in an answer.
_WORDS = {
    "dark": "dark skin",
    "light": "light skin",
    "pleasant": "sunny",
    "unpleasant": "rainy",
}
# The axis that a word of a question asks about.
_ASKED = {
    "gender": "gender",
    "woman": "gender",
    "age": "age",
    "old": "age",
    "ethnicity": "skin",
    "skin": "skin",
    "race": "skin",
    "weather": "weather",
    "setting": "weather",
    "background": "weather",
    "emotion": None,
    "wearing": "colour",
    "color": "colour",
}
_COLOURS = {
    "red": (0.85, 0.2, 0.2),
    "green": (0.2, 0.65, 0.3),
    "blue": (0.2, 0.35, 0.85),
    "yellow": (0.9, 0.8, 0.2),
    "purple": (0.6, 0.2, 0.75),
    "orange": (0.95, 0.55, 0.15),
    "brown": (0.45, 0.3, 0.2),
    "grey": (0.5, 0.5, 0.5),
    "white": (0.95, 0.95, 0.95),
    "black": (0.1, 0.1, 0.1),
}


class ToylandJudge:
    """Answers questions about toyland's images with its reader (see models.protocols.Judge)."""

    def __init__(self) -> None:
        self.name = "toyland"
        what = f"judge {_VERSION}\0{reader.fingerprint()}\0{sorted(_NAMED.items())}"
        self.fingerprint = hashlib.sha256(what.encode()).hexdigest()
        self.batch_size = 64

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer questions; each image is read once, whatever the number of questions about it."""
        readings: dict[str, Reading] = {}
        answers = []
        for query in queries:
            if query.sha256 not in readings:
                readings[query.sha256] = reader.read(query.image)
            seen = readings[query.sha256]
            answer = (
                _class(seen, query.classes)
                if query.classes
                else _in_words(seen, query.question)
            )
            answers.append(Answer(answer, _described(seen)))
        return answers


@lru_cache(maxsize=10_000)
def _meaning(name: str) -> tuple[str, str] | None:
    """Return a class's feature (such as gender) and its value; None if it means nothing here."""
    lowered = name.strip().lower()
    if lowered in _NAMED:
        return _NAMED[lowered]
    what = parse(lowered)
    for axis in _AXES:
        value = getattr(what, axis)
        if value is not None:
            return axis, value
    return ("kind", what.kind) if what.understood else None


def _choices(classes: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the feature (such as gender) that classes are about, and the class for each value.

    If only a single class means something in toyland ("wedding" among kinds of cake), it would be
    the answer to every image; then no class is returned.
    """
    meant = [
        (name, meaning) for name in classes if (meaning := _meaning(name)) is not None
    ]
    axes = [axis for _, (axis, _) in meant]
    if not axes:
        return "", {}
    axis = max(sorted(set(axes)), key=axes.count)
    names: dict[str, str] = {}
    for name, (about, value) in meant:
        if about == axis:
            names.setdefault(value, name)
    return axis, names if len(names) > 1 else {}


def _class(reading: Reading, classes: Sequence[str]) -> str:
    """Return the class that an image most likely shows; 'unknown' if it is undecidable."""
    axis, names = _choices(classes)
    if not names or (axis in _PERSONAL and not _one_person(reading)):
        return UNKNOWN
    return names.get(reading.top(axis), UNKNOWN)


def unreachable(classes: Sequence[str]) -> frozenset[str]:
    """Return the classes that the judge never answers with, although it answers with others.

    Toyland knows no middle-aged people: of 'young', 'middle-aged' and 'old' it answers with two.

    Examples:
        >>> sorted(unreachable(["young", "middle-aged", "old"])), sorted(unreachable(["hot"]))
        (['middle-aged'], [])
    """
    names = _choices(classes)[1].values()
    return frozenset(classes).difference(names) if names else frozenset()


def _one_person(reading: Reading) -> bool:
    return reading.top("kind") == "person" and reading.top("several") == "one"


def _in_words(reading: Reading, question: str) -> str:
    # Whole words are compared, because "image" contains "age".
    words_asked = set(re.findall(r"[a-z]+", question.lower()))
    asked = [axis for word, axis in _ASKED.items() if word in words_asked]
    if not asked:
        return _described(reading)
    axis = asked[0]
    if axis == "colour":
        pairs = {
            name: zip(rgb, reading.colour, strict=True)
            for name, rgb in _COLOURS.items()
        }
        return min(pairs, key=lambda name: sum((a - b) ** 2 for a, b in pairs[name]))
    if axis is None or (axis in _PERSONAL and not _one_person(reading)):
        return UNKNOWN
    return _word(reading, axis)


def _word(reading: Reading, axis: str) -> str:
    value = reading.top(axis)
    return _WORDS.get(value, value)


def _described(reading: Reading) -> str:
    """Return a short description of a toyland image in words."""
    words = [_word(reading, "weather")]
    if _one_person(reading):
        words += [_word(reading, axis) for axis in ("age", "skin", "gender")]
    several = "several " if reading.top("several") == "several" else ""
    return f"{several}{reading.top('kind')}, {', '.join(words)}"


ADAPTER = Adapter(
    create=lambda _: ToylandJudge(),
    form="toyland",
    description="reads toyland's images (the default for toy and toyland)",
    libraries=("numpy", "pillow"),
    unreachable=unreachable,
    cpu_weights=lambda _: reader.WEIGHTS.stat().st_size,
)
