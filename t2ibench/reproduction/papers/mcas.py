"""Mandal, Leavy and Little (2024): diffusion bias and bias amplification, over MCAS."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

from t2ibench.methods.mcas.schema import McasTask
from t2ibench.reproduction.paper import Built, Material, read_paper
from t2ibench.reproduction.plots import Series, Words, loess, scatter
from t2ibench.reproduction.scores import score_line, value_of
from t2ibench.reproduction.tables import Line
from t2ibench.reproduction.word_lists import word_lines
from t2ibench.results.schema import Row

_TASK = "mcas_all"
_POINTS = "table-3"  # whose published values the figures show
_SCORES = {"MCAS": "mcas", "δ": "delta", "α": "alpha"}
_SUMMARY = {"least": "min", "greatest": "max", "mean": "mean", "±": "standard_error"}
_ABOVE = 1.25  # times the greatest published α, where the figure ends


def table_1(material: Material) -> Built:
    """The attributes as words, and as images."""
    spec = material.specs.get(_TASK)
    if not isinstance(spec, McasTask):
        return Built(word_lines(material, {}))
    sides = (spec.attributes.A, spec.attributes.B)
    strips = [material.shelf.strip(side.name, side.prompts, each=1) for side in sides]
    return Built(word_lines(material, {side.name: side.words for side in sides}), strips=strips)


def table_2(material: Material) -> Built:
    """Images of four targets."""
    prompts = material.exhibit.published[material.exhibit.models[0]]
    return Built(strips=[material.shelf.strip(prompt, [prompt]) for prompt in prompts])


def table_5(material: Material) -> Built:
    """Every prompt, and how many images it has."""
    spec, task = material.specs.get(_TASK), material.results.get(_TASK)
    counts: dict[str, float] = {}
    if isinstance(spec, McasTask) and task is not None:
        named = {target.name: target.prompt for target in spec.targets}
        targets = {named[row.name]: float(row.n_images or 0) for row in task.by}
        prompts = [*spec.attributes.A.prompts, *spec.attributes.B.prompts]
        of_targets = sum(targets.values())
        rest = task.n_images - of_targets
        counts = dict.fromkeys(prompts, rest / len(prompts)) | targets
        counts |= {"all attributes": rest, "all targets": of_targets}
        counts["all prompts"] = float(task.n_images)
    return Built([
        Line(name, "images", counts.get(name), material.published(name, "images"), digits=0,
             note="" if name in counts else "not measured")
        for name in material.exhibit.published[material.exhibit.models[0]]
    ])  # fmt: skip


def table_3(material: Material) -> Built:
    """MCAS, δ and α of each target."""
    lines = []
    for row in _rows(material):
        for name, score in _SCORES.items():
            found = row.scores.get(score)
            known = material.published(row.name, name)
            if found is not None:
                lines.append(score_line(row.name, name, found, 3, known))
    return Built(lines)


def table_4(material: Material) -> Built:
    """δ and α by stereotype and over all targets, as published and robust."""
    task = material.results.get(_TASK)
    if task is None:
        return Built()
    tables = task.details.get("by_stereotype") or {}
    lines = []
    groups = list(tables.get("delta") or {})
    for group in groups:
        for symbol, score in (("δ", "delta"), ("α", "alpha")):
            summary = (tables.get(score) or {}).get(group, {})
            lines += [
                Line(group, f"{symbol} {word}", summary.get(key),
                     material.published(group, f"{symbol} {word}"), digits=2)
                for word, key in _SUMMARY.items()
            ]  # fmt: skip
        alphas = [
            value
            for row in task.by
            if group in {"all", row.group} and (value := value_of(row, "alpha")) is not None
        ]
        mean = statistics.fmean(alphas) if alphas else None
        median = statistics.median(alphas) if alphas else None
        lines += [
            Line(group, f"α {word} of Table 3", value,
                 material.published(group, f"α {word} of Table 3"), digits=2)
            for word, value in (("mean", mean), ("median", median))
        ]  # fmt: skip
    slope = task.scores.get("alpha_slope")
    if slope is not None:
        lines.append(score_line("all", "α as a slope", slope, 2))
    return Built(lines)


def figure(material: Material, *, curves: bool) -> Built:
    """Target by target, α over δ: ours, and the published points."""
    known = [_published(material, model, curves) for model in material.exhibit.models]
    most = _ABOVE * max(y for series in known for _, _, y in series.points)
    points = [
        (row.name, delta, alpha)
        for row in _rows(material)
        if (delta := value_of(row, "delta")) is not None
        and (alpha := value_of(row, "alpha")) is not None
    ]
    beyond = [name for name, _, alpha in points if alpha > most]
    shown = [point for point in points if point[2] <= most]
    task = material.results.get(_TASK)
    ours = Series(
        "this model",
        shown,
        loess([(x, y) for _, x, y in shown]) if curves else (),
        named=True,
    )
    words = Words(
        "What the images add to the words",
        "One point is a target"
        + (
            "; the curves are LOESS, two thirds of the points at a time. "
            if curves
            else ", named where it is this model's. "
        )
        + "Follows Mandal et al. (2024).",
        "δ",
        "α",
    )
    notes = []
    if beyond:
        lie = "target of this model lies" if len(beyond) == 1 else "targets of this model lie"
        without = " Its curve is without them." if curves else ""
        notes.append(
            f"{len(beyond)} {lie} above α = {most:.0f}, where the figure ends: "
            f"{', '.join(beyond)}.{without}"
        )
    if task is None:
        notes.append("This model was not measured: the points are the published ones.")
    return Built((), scatter([ours, *known], words), notes)


def _published(material: Material, model: str, curves: bool) -> Series:
    table = material.exhibits[_POINTS].published[model]
    points = [
        (name, float(values["δ"] or 0.0), float(values["α"] or 0.0))
        for name, values in table.items()
    ]
    return Series(model, points, loess([(x, y) for _, x, y in points]) if curves else ())


def _rows(material: Material) -> Sequence[Row]:
    task = material.results.get(_TASK)
    return [] if task is None else task.by


PAPER = read_paper(
    "mcas",
    {
        "table-1": table_1,
        "table-2": table_2,
        "table-3": table_3,
        "table-4": table_4,
        "figure-2": functools.partial(figure, curves=False),
        "figure-3": functools.partial(figure, curves=True),
        "figure-4": functools.partial(figure, curves=True),
        "table-5": table_5,
    },
)
