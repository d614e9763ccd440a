"""The skin tones of a run's images, by what their prompts stand for."""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.protocols import Judge
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.work import JudgeRun, ask
from t2ibench.stats.clusters import Mean, clustered_proportion, mean_difference
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import ImageStore, StoredImage

QUESTION = "What is the tone of the person's skin?"
UNREAD = "not read"  # the file is damaged, or the reader failed
VALUES = ("lightness", "yellowness", "hue", "ita", "score")  # the last is L* - b*
MEASURES = ("scene", *VALUES, *(f"raw_{name}" for name in VALUES))
_NO_NAME = "other prompts"
_LEVEL = 0.95  # of the intervals


@dataclass(frozen=True, slots=True)
class Reading:
    """One image."""

    group: str  # what its prompt stands for; else the prompt
    unit: str  # what varies: what the prompt shares with others of its group
    prompt: str
    index: int
    image: str  # SHA-256 of the file
    reason: str | None  # why there is no tone
    # By the names of MEASURES: log-average luminance around the head, 0 to 1 ('scene'); of skin,
    # corrected for the scene's light, L* ('lightness'), b* ('yellowness'), hue and individual
    # typology angle ('ita') in degrees, and L* - b* ('score'); as it is in the image ('raw_…').
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Tones:
    """The tones of a set of images."""

    name: str
    readings: Sequence[Reading]
    by_group: bool = False  # groups are what varies, because the set holds several

    @property
    def reasons(self) -> Counter[str]:
        """Why the others have none, each with the number of images."""
        return Counter(reading.reason for reading in self.readings if reading.reason)

    def quartiles(self, what: str) -> list[float]:
        """The 25th, 50th and 75th percentile of a value over the measured images."""
        values = [value for found in self.values(what).values() for value in found]
        return np.percentile(values, (25, 50, 75)).tolist() if values else []

    def values(self, what: str) -> dict[Any, list[float]]:
        """A value of each measured image, by what varies."""
        return self._by_unit((r, r.values[what]) for r in self.readings if r.reason is None)

    def missing(self) -> dict[Any, list[float]]:
        """Which images have no tone, by what varies."""
        return self._by_unit((r, float(r.reason is not None)) for r in self.readings)

    def abstained(self) -> tuple[float, float, float]:
        """The share of images without a tone, with its interval."""
        missing = self.missing().values()
        if not missing:
            return (float("nan"),) * 3
        found = clustered_proportion([sum(one) for one in missing], [len(one) for one in missing])
        low, high = found.interval(_LEVEL)
        return found.value, low, high

    def _by_unit(self, values: Iterable[tuple[Reading, float]]) -> dict[Any, list[float]]:
        found: dict[Any, list[float]] = {}
        for reading, value in values:
            unit = reading.group if self.by_group else reading.unit
            found.setdefault(unit, []).append(value)
        return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of images of one model, the first less the second."""

    first: Tones
    second: Tones
    differences: dict[
        str, Mean
    ]  # of the means of scores and scene, and of the shares without a tone

    @property
    def finding(self) -> str:
        """'lighter', 'darker', 'cannot tell', 'one prompt' or 'nothing measured'.

        Lighter or darker where the intervals of L* - b* and ITA agree, corrected and raw: what the
        correction alone shows may be the scene's light.
        """
        found = [self.differences[name] for name in ("score", "raw_score", "ita", "raw_ita")]
        if isnan(found[0].value):
            return "nothing measured"
        if any(isnan(one.low) for one in found):
            return "one prompt"
        if all(one.low > 0 for one in found):
            return "lighter"
        return "darker" if all(one.high < 0 for one in found) else "cannot tell"


def read_tones(
    plan: Plan,
    task: str,
    images: ImageStore,
    meter: Judge,
    store: AnswerStore,
    warn: Callable[[str], None],
) -> list[Reading]:
    """Measure every image of a task that is not measured yet, and look all of them up."""
    needs, distinct = plan.needs[task], DistinctImages(images)
    found = [
        (prompt, attempt)
        for prompt, count in sorted(needs.images_by_prompt.items())
        for index in range(min(count, plan.prompts.get(prompt, count)))
        if (attempt := distinct.get(prompt, index)) is not None
        if attempt.status == "ok" and attempt.sha256 and attempt.file
    ]
    asked: tuple[str, tuple[str, ...]] = (QUESTION, ())
    pictures: list[StoredImage] = [images.image(attempt) for _, attempt in found]
    report = ask([(picture, [asked]) for picture in pictures], JudgeRun(meter, store))
    if report.stopped is not None:
        raise T2IBenchError(f"The reader of skin tones stopped: {report.stopped}")
    for damaged in report.damaged:
        warn(str(damaged))
    for reason, count in sorted(report.reasons.items()):
        warn(f"{count} images were not read: {reason}")
    sharing = Counter(needs.units.values())

    def alone(prompt: str) -> bool:
        return needs.units[prompt] == prompt and sharing[prompt] == 1

    readings = []
    for prompt, attempt in found:
        answer = store.get(attempt.sha256 or "", *asked)
        readings.append(
            Reading(
                prompt if alone(prompt) else needs.groups[prompt] or _NO_NAME,
                needs.units[prompt] or prompt,
                prompt,
                attempt.index,
                attempt.sha256 or "",
                *((UNREAD,) if answer is None else _measured(answer.raw)),
            )
        )
    return readings


def _measured(raw: str) -> tuple[str | None, dict[str, float]]:
    """Why a stored measurement has no tone, and its values."""
    tone = json.loads(raw)
    found = {} if tone["scene"] is None else {"scene": tone["scene"]}
    for prefix, colour in (("", tone["corrected"]), ("raw_", tone["raw"])):
        if colour is not None:
            values = colour | {"score": round(colour["lightness"] - colour["yellowness"], 3)}
            found |= {f"{prefix}{name}": values[name] for name in VALUES}
    return tone["reason"], found


def by_group(readings: Sequence[Reading]) -> list[Tones]:
    """The readings of each group."""
    names = sorted({reading.group for reading in readings})
    return [Tones(name, [one for one in readings if one.group == name]) for name in names]


def chosen(readings: Sequence[Reading], patterns: str) -> Tones:
    """The readings of some groups."""
    known = sorted({reading.group for reading in readings})
    parts = [patterns] if patterns in known else [part.strip() for part in patterns.split(",")]
    names: set[str] = set()
    for part in parts:
        matching = [part] if part in known else fnmatch.filter(known, part)
        if not matching:
            listed = ", ".join(f"'{shown(name)}'" for name in known)
            raise T2IBenchError(
                f"No group '{shown(part)}'.{did_you_mean(part, known)}", f"Groups: {listed}"
            )
        names |= set(matching)
    mine = [reading for reading in readings if reading.group in names]
    return Tones(patterns, mine, by_group=len(names) > 1)


def compare(first: Tones, second: Tones) -> Comparison:
    """The difference between two sets of images."""
    shared = {one.group for one in first.readings} & {one.group for one in second.readings}
    if shared:
        raise T2IBenchError(
            f"Both sides hold the group '{shown(min(shared))}'.",
            "Give each side groups of its own.",
        )
    differences = {
        what: mean_difference(first.values(what), second.values(what), _LEVEL)
        for what in ("score", "raw_score", "ita", "raw_ita", "scene")
    }
    missing = mean_difference(first.missing(), second.missing(), _LEVEL)
    differences["without_a_tone"] = replace(
        missing, low=float(np.maximum(missing.low, -1)), high=float(np.minimum(missing.high, 1))
    )
    return Comparison(first, second, differences)
