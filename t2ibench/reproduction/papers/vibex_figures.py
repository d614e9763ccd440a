"""Figures 3 to 6, 10 and 11 of ViBEx: queries as plots."""

from __future__ import annotations

import math
from collections.abc import Sequence

from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.vibex_material import (
    FIGURES,
    LOCATION,
    RACE,
    anchors_of,
    lean_line,
    row_of,
    side_of,
    similarities,
)
from t2ibench.reproduction.plots import Series, Words, arrows, distributions, scatter
from t2ibench.reproduction.scores import score_line, value_of
from t2ibench.reproduction.second_run import task_of
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import Row

_PAIR = ("woman", "traditional clothing")
_GRAY = "gray hair"
_PHOTOGRAPHS = (
    "Photographs are a second run, of a folder of images whose groups are known (`--model "
    "folder:DIR`, with a prompts.csv that gives each file an anchor's prompt), with the same "
    "preset: `--with photographs=RUN`. What leans there, the encoder adds."
)
_CENTRED = "similarity less the mean of all images, in thousandths"


def figure_3(material: Material) -> Built:
    """Concepts between two anchors, of generated images and of photographs."""
    anchors = list(anchors_of(material, RACE).values())
    task = material.results.get(RACE)
    beside = task_of(material, "photographs", RACE)
    published = material.exhibit.published[material.exhibit.models[0]]
    lines, drawn = [], []
    for name in published:
        row, other = row_of(task, name, "forward"), row_of(beside, name, "forward")
        generated, photographed = material.published(name, "side")
        lines.append(Line(name, "side", side_of(row, anchors), (generated, None)))
        for score, key in (("probability difference", "probability_difference"),
                           ("beyond words", "beyond_words")):  # fmt: skip
            if row is not None:
                lines.append(score_line(name, score, row.scores.get(key), 4))
        seen = side_of(other, anchors)
        lines.append(Line(name, "side, photographs", seen, (None, photographed)))
        if other is not None:
            lines.append(
                score_line(name, "beyond words, photographs", other.scores.get("beyond_words"), 4)
            )
        if row is not None:
            tail = 0.0 if other is None else _lean(other, anchors)
            drawn.append((name, tail, _lean(row, anchors)))
    words = Words(
        "Whose images show more of a concept",
        "The difference of the two probabilities, in hundredths; the tail is that of photographs, "
        "or 0 without them.",
        anchors[1] if anchors else "",
        anchors[0] if anchors else "",
    )
    return Built(lines, arrows(drawn, words), [] if beside is not None else [_PHOTOGRAPHS])


def _lean(row: Row, anchors: Sequence[str]) -> float:
    """P(c_1 | t) less P(c_2 | t), in hundredths."""
    first, second = (value_of(row, f"probability:{name}") or 0.0 for name in anchors)
    return 100.0 * (first - second)


def figure_4(material: Material) -> Built:
    """The similarity of every anchor image to three concepts."""
    names = list(material.exhibit.published[material.exhibit.models[0]])
    return _strips(material, FIGURES["gender"], names)


def _strips(material: Material, task: str, names: Sequence[str]) -> Built:
    anchors = anchors_of(material, task)
    found = material.results.get(task)
    samples = material.samples(task)
    lines, groups = [], {}
    for name in names:
        row = row_of(found, name, "forward")
        known = material.published(name, "side")
        if row is None:
            lines.append(Line(name, "side", None, known, note="not measured"))
            continue
        lines.append(Line(name, "side", side_of(row, list(anchors.values())), known))
        lines.append(score_line(name, "D", row.scores.get("D")))
        lines.append(score_line(name, "beyond words", row.scores.get("beyond_words"), 4))
        values = similarities(samples, anchors, name)
        every = [value for some in values.values() for value in some]
        mean = math.fsum(every) / len(every) if every else 0.0
        for anchor, some in values.items():
            groups[f"{name}: {anchor}"] = [1000 * (value - mean) for value in some]
    words = Words(
        "Similarities of the anchors' images",
        f"One dot is one image: {_CENTRED}. The band holds the middle half, the bar is the median "
        "and the large dot the mean.",
        "less of the concept",
        "more",
    )
    return Built(lines, distributions(groups, words))


def figure_5(material: Material) -> Built:
    """Two concepts at once."""
    row = row_of(material.results.get(LOCATION), " & ".join(_PAIR), "intersection")
    anchors = anchors_of(material, LOCATION)
    lines = []
    if row is not None:
        shares = {name: row.scores[f"share_both:{name}"] for name in anchors.values()}
        values = {name: share.value or 0.0 for name, share in shares.items()}
        most = [name for name, value in values.items() if value == max(values.values())]
        side = most[0] if len(most) == 1 else "neither"
        lines.append(Line(row.name, "side", side, material.published(row.name, "side")))
        lines += [
            score_line(row.name, f"share of images with both, {name}", share, 2)
            for name, share in shares.items()
        ]
        difference = row.scores["difference"]
        note = "" if difference.p is None else f"p = {difference.p:.4f}"
        lines.append(Line(row.name, "difference", difference.value, digits=2, note=note))
    points: dict[str, list[tuple[str, float, float]]] = {name: [] for name in anchors.values()}
    for sample in material.samples(LOCATION):
        values = sample.get("similarities") or {}
        name = anchors.get(str(sample["prompt"]))
        if name is not None and all(concept in values for concept in _PAIR):
            x, y = (float(values[concept]) for concept in _PAIR)
            points[name].append((f"image {sample['index']}", x, y))
    words = Words(
        "Two concepts at once",
        "One point is one image of an anchor.",
        f"similarity to '{_PAIR[0]}'",
        f"similarity to '{_PAIR[1]}'",
    )
    return Built(lines, scatter([Series(name, some) for name, some in points.items()], words))


def figure_6(material: Material) -> Built:
    """An inverse query: the concept's own images between the anchors."""
    shipped = FIGURES["gender"]
    anchors = list(anchors_of(material, shipped).values())
    row = row_of(material.results.get(shipped), _GRAY, "inverse")
    lines = []
    if row is not None:
        x = row.scores.get("x")
        value = None if x is None else x.value
        side = None if value is None else anchors[int(value > 0)]
        lines.append(Line(_GRAY, "side", side, material.published(_GRAY, "side")))
        note = "" if x is None or x.p is None else f"p = {x.p:.4f}"
        lines.append(Line(_GRAY, "mean x", value, digits=4, note=note))
        lines.append(lean_line(_GRAY, row))
    points: dict[str, list[tuple[str, float, float]]] = {
        name: [] for name in (*anchors, "the concept")
    }
    named = anchors_of(material, shipped)
    for sample in material.samples(shipped):
        place = sample.get("anchors")
        own = (sample.get("similarities") or {}).get(_GRAY, sample.get("own"))
        if not place or own is None or len(anchors) != 2:
            continue
        across = float(place[anchors[1]]) - float(place[anchors[0]])
        kind = named.get(str(sample["prompt"]), "the concept")
        points[kind].append((f"image {sample['index']}", across, float(own)))
    words = Words(
        "Images of 'gray hair' between the anchors",
        "One point is one image; the concept's own images are generated from its text.",
        f"similarity to '{anchors[1]}' less that to '{anchors[0]}'" if anchors else "",
        f"similarity to '{_GRAY}'",
    )
    return Built(lines, scatter([Series(name, some) for name, some in points.items()], words))


def figure_10(material: Material) -> Built:
    """A text and its malformed form, on gender."""
    return wordings(material, FIGURES["gender"], ("person with formal wear", "formal wear person"))


def figure_11(material: Material) -> Built:
    """A text and its malformed form, on location."""
    names = ("modern architecture", "modern architecture focus content")
    return wordings(material, FIGURES["location"], names)


def wordings(material: Material, task: str, names: tuple[str, str]) -> Built:
    """A text and its malformed form: does a mistake change what a query finds?"""
    built = _strips(material, task, names)
    rows = [row_of(material.results.get(task), name, "forward") for name in names]
    found = [None if row is None else row.scores["delta"].value for row in rows]
    said = None
    if found[0] is not None and found[1] is not None:
        said = "less pronounced" if abs(found[1]) < abs(found[0]) else "no less pronounced"
    lines = [
        Line(name, "Cliff's delta", value)
        for name, value in zip(names, found, strict=True)
        if value is not None
    ]
    known = material.published(names[1], "separation")
    return Built([*built.lines, *lines, Line(names[1], "separation", said, known)], built.figure)
