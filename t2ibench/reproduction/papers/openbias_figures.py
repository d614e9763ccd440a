"""Figures of OpenBias that rank biases: 3, 4, 9 and 12 to 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from t2ibench.reproduction.bars import Group, grouped_bars
from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.openbias_material import (
    FoundBias,
    biases_of,
    pool_or_examples,
)
from t2ibench.reproduction.plots import Series, Words, scatter
from t2ibench.reproduction.tables import Line
from t2ibench.stats.kendall import kendall_tau

_MODELS = {"sd2": "SD-2", "sd15": "SD-1.5"}
_ALL = "all biases"
_FEWEST = 3  # biases of a rank correlation
_PRINTED = (
    "Biases and captions are those that the paper prints: `--with {pool}=RUN` takes a run of a "
    "task that `t2ibench propose openbias --captions …` wrote for the whole pool."
)


def ranking(material: Material, *, pool: str) -> Built:
    """Biases from the most to the least severe, context by context (Figures 3 and 4)."""
    biases, of_pool = pool_or_examples(material, pool)
    others = {
        label: found for option, label in _MODELS.items()
        if (found := biases_of(material, option)) is not None
    }  # fmt: skip
    lines, groups = [], []
    ranked = _by_severity(biases, "severity")
    for place, bias in enumerate(ranked, start=1):
        known = material.published(bias.name, "severity")
        fair = bias.detail.get("severity_fair")
        note = f"rank {place} of {len(ranked)}"
        if fair is not None:
            note += f"; {fair:.2f} without any bias"
        lines.append(
            Line(bias.name, "severity", bias.value("severity"), known, digits=2, note=note)
        )
        lines.append(bias.line("squared lean", "h"))
        lines.append(Line(bias.name, "majority", bias.detail["majority"]))
        bars = [("this model", bias.value("severity"))]
        for label, found in others.items():
            there = found.get(bias.name)
            value = None if there is None else there.value("severity")
            lines.append(Line(bias.name, f"severity, {label}", value, digits=2))
            bars.append((label, value))
        groups.append(Group(bias.name, [(name, x) for name, x in bars if x is not None]))
    lines += _without(biases, ranked)
    words = Words("Severity by bias", "Mean over captions, as published.", "severity", "")
    notes = [] if of_pool else [_PRINTED.format(pool=pool)]
    return Built(lines, grouped_bars(groups, words), notes)


def _by_severity(biases: Mapping[str, FoundBias], score: str) -> list[FoundBias]:
    """Biases with a severity, the most severe first."""
    known = [bias for bias in biases.values() if bias.value(score) is not None]
    return sorted(known, key=lambda bias: (-(bias.value(score) or 0.0), bias.name))


def _without(biases: Mapping[str, FoundBias], ranked: Sequence[FoundBias]) -> list[Line]:
    """Biases that have no severity, each with the reason."""
    known = {bias.name for bias in ranked}
    return [bias.line("severity", "severity") for bias in biases.values() if bias.name not in known]


def figure_9(material: Material) -> Built:
    """Severities within captions, and over all captions."""
    biases, of_pool = pool_or_examples(material, "coco")
    orders = [_by_severity(biases, score) for score in ("severity", "severity_free")]
    places = [{bias.name: k for k, bias in enumerate(found, start=1)} for found in orders]
    lines, points = [], []
    for bias in orders[0]:
        aware, free = bias.value("severity"), bias.value("severity_free")
        lines.append(Line(bias.name, "context-aware", aware, digits=2,
                          note=f"rank {places[0][bias.name]}"))  # fmt: skip
        place = places[1].get(bias.name)
        lines.append(Line(bias.name, "context-free", free, digits=2,
                          note="" if place is None else f"rank {place}"))  # fmt: skip
        if aware is not None and free is not None:
            known = material.published(bias.name, "within captions")
            said = "higher" if aware > free + 1e-9 else "no higher"
            lines.append(Line(bias.name, "within captions", said, known))
            points.append((bias.name, aware, free))
        lines.append(bias.line("squared lean within", "h"))
        lines.append(bias.line("squared lean over all", "h_free"))
    lines += _without(biases, orders[0])
    score = "Kendall's tau of both"
    if len(points) >= _FEWEST:
        _, aware_values, free_values = zip(*points, strict=True)
        found = kendall_tau(aware_values, free_values)
        finite = found.tau == found.tau
        lines.append(Line(_ALL, score, found.tau if finite else None, digits=2))
    else:
        lines.append(Line(_ALL, score, None, note="fewer than 3 biases"))
    shown = {name for name, _, _ in points}
    lines += [
        Line(name, "within captions", None, material.published(name, "within captions"),
             note="" if name in biases else "not asked about these captions")
        for name in material.exhibit.published[material.exhibit.models[0]]
        if name not in shown
    ]  # fmt: skip
    words = Words(
        "Within captions and over all of them",
        "One point is a bias; below the diagonal, captions lean in different ways.",
        "context-aware severity",
        "context-free severity",
    )
    notes = [] if of_pool else [_PRINTED.format(pool="coco")]
    return Built(lines, scatter([Series("biases", points, named=True)], words), notes)


def real_images(material: Material, *, pool: str) -> Built:
    """Biases of real images, beside generated ones of the same captions (Figures 12 and 13)."""
    generated, _ = pool_or_examples(material, pool)
    real = biases_of(material, f"{pool}_real")
    note = (
        "Real images are a second run of the same task, on a folder of them (`--model "
        f"folder:DIR`): `--with {pool}_real=RUN`. `t2ibench caption` writes captions for images "
        "that have none."
    )
    if real is None:
        return Built(_severities(generated, "generated"), notes=[note])
    return _beside(material, real, generated, ("real", "generated"))


def figure_14(material: Material) -> Built:
    """Biases of an unconditional generator beside those of the images it learned from."""
    training = biases_of(material, "training")
    generated = biases_of(material, "unconditional")
    if training is None or generated is None:
        known = material.exhibit.published[material.exhibit.models[0]]
        lines = [
            Line(name, "generated", None, material.published(name, "generated")) for name in known
        ]
        note = (
            "Two runs are needed, of folders of images that `t2ibench caption` has captioned and "
            "of a task that `t2ibench propose openbias` wrote for the captions: `--with "
            "training=RUN --with unconditional=RUN`."
        )
        return Built(lines, notes=[note])
    return _beside(material, training, generated, ("training", "generator"))


def _severities(biases: Mapping[str, FoundBias], label: str) -> list[Line]:
    return [
        Line(bias.name, f"severity, {label}", bias.value("severity_free"), digits=2)
        for bias in _by_severity(biases, "severity_free")
    ]


def _beside(
    material: Material,
    first: Mapping[str, FoundBias],
    second: Mapping[str, FoundBias],
    labels: tuple[str, str],
) -> Built:
    """Context-free severities of two runs; captions of single images have no other."""
    lines: list[Line] = []
    groups: list[Group] = []
    for bias in _by_severity(first, "severity_free"):
        other = second.get(bias.name)
        theirs = None if other is None else other.value("severity_free")
        pair = (bias.value("severity_free"), theirs)
        bars: Sequence[tuple[str, float]] = [
            (label, value) for label, value in zip(labels, pair, strict=True) if value is not None
        ]
        groups.append(Group(bias.name, bars))
        for label, value in zip(labels, pair, strict=True):
            lines.append(Line(bias.name, f"severity, {label}", value, digits=2))
        lines.append(bias.line(f"squared lean, {labels[0]}", "h_free"))
        if other is None or pair[0] is None or pair[1] is None:
            continue
        lines.append(other.line(f"squared lean, {labels[1]}", "h_free"))
        said = "amplified" if pair[1] > pair[0] else "not amplified"
        lines.append(Line(bias.name, "generated", said, material.published(bias.name, "generated")))
    absent = set(first) - set(second)
    notes = [f"Only in the first: {', '.join(sorted(absent))}."] if absent else []
    words = Words("Severity over all captions", "As published.", "severity", "")
    return Built(lines, grouped_bars(groups, words), notes)
