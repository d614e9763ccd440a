"""Measures skin tones on a run's images; what it finds is stored like a judge's answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.protocols import Answer, Query
from t2ibench.models.skin_tone import measure

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1


class SkinMeter:
    """Measures the skin tone of an image (see models.protocols.Judge, of which no run knows it).

    Args:
        find: Finds the meshes of an image's faces, the largest first.
        version: What decides the meshes, for the fingerprint.
    """

    def __init__(self, find: Callable[[Image], list[Float64Array]], version: Any) -> None:
        self.name = "skin tone"
        self.batch_size = 32
        self.fingerprint = fingerprint({"adapter": f"skin tone {_VERSION}", "faces": version})
        self._find = find

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """The measurement in words; `raw` has it as JSON."""
        answers = []
        for query in queries:
            image = query.image.convert("RGB")
            tone = measure(np.asarray(image, dtype=np.uint8), self._find(image))
            found, words = tone.corrected, f"no tone: {tone.reason}"
            if found is not None:
                words = f"L* {found.lightness:.0f}, b* {found.yellowness:.0f}, ITA {found.ita:.0f}"
            answers.append(Answer(words, json.dumps(_rounded(asdict(tone)))))
        return answers


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 3) if isinstance(value, float) else value
