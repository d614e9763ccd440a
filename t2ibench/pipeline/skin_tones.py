"""The skin tones of a run's images, by what their prompts stand for."""

from __future__ import annotations

import fnmatch
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.protocols import Judge
from t2ibench.models.skin_tone import ITA_CLASSES, ita_class
from t2ibench.pipeline.observers import JudgeRun
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.work import ask
from t2ibench.stats.clusters import Mean, cluster_mean, clustered_proportion, mean_difference
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore, StoredImage

QUESTION = "What is the tone of the person's skin?"
CLASSES = tuple(name for name, _ in ITA_CLASSES)
UNREAD = "not read"  # the file is damaged, or the reader failed
_NO_NAME = "other prompts"


@dataclass(frozen=True, slots=True)
class Reading:
    """One image.

    Attributes:
        group: What its prompt stands for; the prompt itself where it stands for itself.
        unit: What varies: what the prompt shares with others of its group, or the prompt.
        prompt: The prompt.
        index: Which sample of the prompt.
        image: SHA-256 of the file.
        reason: Why there is no tone; None where there is one.
        ita: Degrees.
        monk: The nearest tone of the Monk scale.
        surroundings: Median L* outside of the face.
    """

    group: str
    unit: str
    prompt: str
    index: int
    image: str
    reason: str | None
    ita: float | None
    monk: int | None
    surroundings: float | None


@dataclass(slots=True)
class Tones:
    """The tones of a set of images.

    Attributes:
        name: What the set is called.
        readings: The images.
        level: Of the intervals.
        by_group: Whether groups are what varies, because the set holds several.
    """

    name: str
    readings: Sequence[Reading]
    level: float = 0.95
    by_group: bool = False

    @property
    def measured(self) -> int:
        """Images with a tone."""
        return sum(reading.ita is not None for reading in self.readings)

    @property
    def reasons(self) -> Counter[str]:
        """Why the others have none, each with the number of images."""
        return Counter(reading.reason for reading in self.readings if reading.reason)

    @property
    def classes(self) -> dict[str, int]:
        """Images of each published class of ITA, light to dark."""
        found = Counter(ita_class(one.ita) for one in self.readings if one.ita is not None)
        return {name: found[name] for name in CLASSES}

    @property
    def monk(self) -> dict[int, int]:
        """Images nearest to each tone of the Monk scale."""
        found = Counter(one.monk for one in self.readings if one.monk is not None)
        return {tone: found[tone] for tone in range(1, 11)}

    @property
    def mean(self) -> Mean:
        """The mean angle over what varies."""
        return cluster_mean(self.values("ita"), self.level)

    @property
    def surroundings(self) -> Mean:
        """The mean lightness around the faces that were measured, in L*."""
        return cluster_mean(self.values("surroundings"), self.level)

    def values(self, what: str) -> dict[Any, list[float]]:
        """A number of each measured image."""
        found: dict[Any, list[float]] = {}
        for reading in self.readings:
            value = getattr(reading, what)
            if value is not None:
                found.setdefault(self._unit(reading), []).append(value)
        return found

    def missing(self) -> dict[Any, list[float]]:
        """Which images have no tone."""
        found: dict[Any, list[float]] = {}
        for reading in self.readings:
            found.setdefault(self._unit(reading), []).append(float(reading.ita is None))
        return found

    def abstained(self) -> tuple[float, float, float]:
        """The share of images without a tone."""
        missing = self.missing().values()
        if not missing:
            return (float("nan"),) * 3
        found = clustered_proportion([sum(one) for one in missing], [len(one) for one in missing])
        low, high = found.interval(self.level)
        return found.value, low, high

    def _unit(self, reading: Reading) -> str:
        return reading.group if self.by_group else reading.unit


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of images, the first less the second.

    Attributes:
        first: The first set.
        second: The second set.
        ita: Difference of the mean angles, in degrees; above 0 where the first is lighter.
        surroundings: Difference of the lightness around the faces, in L*.
        abstained: Difference of the shares of images without a tone, over what varies.
    """

    first: Tones
    second: Tones
    ita: Mean
    surroundings: Mean
    abstained: Mean


def read_tones(
    plan: Plan,
    task: str,
    images: ImageStore,
    judge: Judge,
    store: AnswerStore,
    warn: Callable[[str], None],
) -> list[Reading]:
    """Measure every image of a task that is not measured yet, and look all of them up."""
    needs, distinct = plan.needs[task], DistinctImages(images)
    found = [
        (prompt, attempt)
        for prompt, count in sorted(needs.images_by_prompt.items())
        for index in range(min(count, plan.prompts.get(prompt, count)))
        if (attempt := distinct.get(prompt, index)) is not None and _counts(attempt)
    ]
    asked = (QUESTION, CLASSES)
    pictures: list[StoredImage] = [images.image(attempt) for _, attempt in found]
    report = ask([(picture, [asked]) for picture in pictures], JudgeRun(judge, store))
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
        raw: dict[str, Any] = {"reason": UNREAD}
        if answer is not None:
            raw = json.loads(answer.raw)
        readings.append(
            Reading(
                prompt if alone(prompt) else needs.groups[prompt] or _NO_NAME,
                needs.units[prompt] or prompt,
                prompt,
                attempt.index,
                attempt.sha256 or "",
                raw["reason"],
                raw.get("ita"),
                raw.get("monk"),
                raw.get("surroundings"),
            )
        )
    return readings


def _counts(attempt: Attempt) -> bool:
    return attempt.status == "ok" and bool(attempt.sha256 and attempt.file)


def by_group(readings: Sequence[Reading], level: float = 0.95) -> list[Tones]:
    """The readings of each group."""
    names = sorted({reading.group for reading in readings})
    return [Tones(name, [one for one in readings if one.group == name], level) for name in names]


def chosen(readings: Sequence[Reading], patterns: str, level: float = 0.95) -> Tones:
    """The readings of some groups."""
    known = sorted({reading.group for reading in readings})
    parts = [patterns] if patterns in known else [part.strip() for part in patterns.split(",")]
    names: set[str] = set()
    for part in parts:
        word = re.compile(rf"\b{re.escape(part)}\b", re.IGNORECASE)
        matching = [name for name in known if name == part] or fnmatch.filter(known, part)
        matching = matching or [name for name in known if part and word.search(name)]
        if not matching:
            listed = ", ".join(f"'{shown(name)}'" for name in known)
            raise T2IBenchError(
                f"No group '{shown(part)}'.{did_you_mean(part, known)}", f"Groups: {listed}"
            )
        names |= set(matching)
    mine = [reading for reading in readings if reading.group in names]
    return Tones(patterns, mine, level, by_group=len(names) > 1)


def compare(first: Tones, second: Tones) -> Comparison:
    """The difference between two sets of images."""
    shared = {one.group for one in first.readings} & {one.group for one in second.readings}
    if shared:
        raise T2IBenchError(
            f"Both sides hold the group '{shown(min(shared))}'.",
            "Give each side groups of its own.",
        )
    level = first.level

    def apart(what: str) -> Mean:
        return mean_difference(first.values(what), second.values(what), level)

    missing = mean_difference(first.missing(), second.missing(), level)
    return Comparison(first, second, apart("ita"), apart("surroundings"), missing)
