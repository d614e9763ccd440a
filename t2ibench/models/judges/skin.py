"""The judge `skin`: measures the tone of the skin that an image shows; abstains where it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.faces import HaarFaces
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.protocols import Answer, Query
from t2ibench.models.skin_tone import FEWEST, ITA_CLASSES, MONK, Box, SkinTone, ita_class, measure

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1
_DIGITS = 2  # of degrees
_ITA = frozenset(name for name, _ in ITA_CLASSES)
_TONES = frozenset(range(1, len(MONK) + 1))
_BETWEEN = re.compile(r"\s*,\s*(?:or\s+)?|\s+or\s+|\s*/\s*")
_MONK = re.compile(r"monk\s+(\d+)(?:\s*(?:-|–|to)\s*(\d+))?")

Scale = dict[str, str] | dict[int, str]  # a tone to the class that it belongs to


class SkinArguments(Arguments):
    """What --judge-args are taken; see `SkinJudge`."""

    fewest_pixels: PositiveInt = FEWEST


class SkinJudge:
    """Measures skin tone and puts it into a class (see models.protocols.Judge).

    Args:
        find: Finds the faces of an image.
        version: What decides the faces, for the fingerprint.
        fewest: Abstain below this number of skin pixels.
    """

    def __init__(
        self, find: Callable[[Image], list[Box]], version: Any, fewest: int = FEWEST
    ) -> None:
        self.name = "skin"
        self.batch_size = 32
        self.fingerprint = fingerprint(
            {"adapter": f"skin {_VERSION}", "faces": version, "fewest": fewest}
        )
        self._find = find
        self._fewest = fewest

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Each image is measured once; `raw` is the measurement, as JSON."""
        tones: dict[str, SkinTone] = {}
        for query in queries:
            if query.classes and query.sha256 not in tones:
                image = query.image.convert("RGB")
                pixels = np.asarray(image, dtype=np.uint8)
                tones[query.sha256] = measure(pixels, self._find(image), self._fewest)
        return [
            _answer(query.classes, tones[query.sha256])
            if query.classes
            else Answer(None, reason="it measures skin tone; it cannot answer in free text")
            for query in queries
        ]


def _answer(classes: tuple[str, ...], tone: SkinTone) -> Answer:
    raw = json.dumps(
        {
            name: round(value, _DIGITS) if isinstance(value, float) else value
            for name, value in asdict(tone).items()
        }
    )
    scale = tones_of(classes)
    if scale is None or tone.ita is None or tone.monk is None:
        return Answer(UNKNOWN, raw)
    found: dict[Any, str] = {**scale}
    return Answer(found.get(ita_class(tone.ita)) or found[tone.monk], raw)


@lru_cache(maxsize=1000)
def tones_of(classes: tuple[str, ...]) -> Scale | None:
    """What classes mean on a scale of skin tones.

    A class is one tone or several: 'brown', 'brown or dark', 'Monk 8-10', with or without the word
    skin. All classes together are a whole scale, each tone once: of the classes 'light' and 'dark'
    alone, every image between them would be left out.

    Examples:
        >>> tones_of(("Monk 1-7", "Monk 8-10"))[9]
        'Monk 8-10'
        >>> tones_of(("light", "dark")) is None
        True
    """
    named: dict[str, str] = {}
    numbered: dict[int, str] = {}
    count = 0
    for name in classes:
        text = re.sub(r"\s*\bskin(?:ned)?\b", "", name.strip().lower())
        for part in _BETWEEN.split(text):
            if part in _ITA:
                named[part] = name
                count += 1
            elif match := _MONK.fullmatch(part):
                first, last = int(match[1]), int(match[2] or match[1])
                if last not in _TONES:
                    return None
                numbered |= dict.fromkeys(range(first, last + 1), name)
                count += last - first + 1
            else:
                return None
    if named.keys() == _ITA and count == len(_ITA):
        return named
    if numbered.keys() == _TONES and count == len(_TONES):
        return numbered
    return None


def _create(request: Request[SkinArguments]) -> SkinJudge:
    faces = HaarFaces()
    return SkinJudge(faces, faces.version, request.args.fewest_pixels)


def _check(request: Request[SkinArguments]) -> None:
    HaarFaces()


ADAPTER = Adapter(
    create=_create,
    check=_check,
    form="skin",
    description="measures skin tone (ITA, Monk) on the one face of an image; classes of tones only",
    Args=SkinArguments,
    libraries=("opencv-python-headless", "numpy", "pillow"),
    free_text=False,
)
