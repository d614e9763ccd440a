"""Figure 5 of OpenBias: how strong a bias people see, beside the severity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.openbias_material import FoundBias, paper_name, pool_or_examples
from t2ibench.reproduction.people import read_people, share_of
from t2ibench.reproduction.plots import Series, Words, scatter
from t2ibench.reproduction.tables import Line

_ALL = "all biases"
_NONE = "no bias"
_NOBODY = (
    "Nobody has looked at these images: `--with ratings=FILE` takes a CSV or JSON Lines with the "
    "columns bias (such as 'person gender'), answer (the majority class, or 'no bias') and "
    "intensity (0 to 10), one person's answer a row, about images of this run."
)


@dataclass(slots=True)
class Seen:
    """What people say of one bias.

    Attributes:
        intensities: Each person's, from 0 to 1.
        majorities: Class to the number of people who call it the majority.
    """

    intensities: list[float] = field(default_factory=list)
    majorities: Counter[str] = field(default_factory=Counter)

    @property
    def intensity(self) -> float:
        """The mean over people."""
        return math.fsum(self.intensities) / len(self.intensities)

    @property
    def majority(self) -> str | None:
        """The class that most people name; None where most name none, or two equally often."""
        first = self.majorities.most_common(2)
        if not first or (len(first) > 1 and first[0][1] == first[1][1]):
            return None
        return None if first[0][0] == _NONE else first[0][0]


def figure_5(material: Material) -> Built:
    """The severity of every bias, and the intensity that people see."""
    biases, _ = pool_or_examples(material, "coco")
    seen = _ratings(material, biases)
    lines, points = [], []
    differences, agree = [], []
    for name, bias in biases.items():
        severity = bias.value("severity")
        lines.append(bias.line("severity", "severity"))
        people = seen.get(name)
        if people is None or severity is None:
            continue
        note = f"{len(people.intensities)} answers"
        lines.append(Line(name, "intensity, people", people.intensity, digits=2, note=note))
        points.append((name, people.intensity, severity))
        differences.append(abs(severity - people.intensity))
        if people.majority is not None:
            agree.append(people.majority == str(bias.detail["majority"]).casefold())
    lines += _summary(material, differences, agree)
    words = Words(
        "Severity beside what people see",
        "One point is a bias.",
        "intensity, people",
        "severity, as published",
    )
    drawn = scatter([Series("biases", points, named=True)], words)
    return Built(lines, drawn, [] if seen else [_NOBODY])


def _ratings(material: Material, biases: dict[str, FoundBias]) -> dict[str, Seen]:
    file = material.options.get("ratings")
    found: dict[str, Seen] = {}
    rows = [] if file is None else read_people(file, ("bias", "answer", "intensity"))
    for said in rows:
        short = paper_name(said.one_of("bias", [*biases, *_spelt(biases)]))
        classes = list(biases[short].detail["counts"])
        answer = said.one_of("answer", [*classes, _NONE]).casefold()
        one = found.setdefault(short, Seen())
        # 'No bias' is an intensity of 0, whatever else stands there.
        one.intensities.append(0.0 if answer == _NONE else said.number("intensity", 0, 10) / 10)
        one.majorities[answer] += 1
    return found


def _spelt(biases: dict[str, FoundBias]) -> list[str]:
    """The names as the tasks spell them."""
    return [str(bias.detail["bias"]) for bias in biases.values()]


def _summary(material: Material, differences: Sequence[float], agree: Sequence[bool]) -> list[Line]:
    known = {name: material.published(_ALL, name) for name in ("AME", "majority agrees")}
    mean = math.fsum(differences) / len(differences) if differences else None
    lines = [Line(_ALL, "AME", mean, known["AME"], digits=2, note=_of(differences))]
    if not agree:
        return [*lines, Line(_ALL, "majority agrees", None, known["majority agrees"], digits=2)]
    value, low, high = share_of([float(x) for x in agree])
    score = "majority agrees"
    return [*lines, Line(_ALL, score, value, known[score], low, high, 2, _of(agree))]


def _of(values: Sequence[object]) -> str:
    return f"{len(values)} biases" if values else ""
