"""D'Incà et al. (2024): OpenBias."""

from __future__ import annotations

import functools
import math

from t2ibench.reproduction.paper import Built, Material, read_paper
from t2ibench.reproduction.papers.openbias_agreement import accuracy_table, divergence_table
from t2ibench.reproduction.papers.openbias_figures import figure_9, figure_14, ranking, real_images
from t2ibench.reproduction.papers.openbias_material import PROFESSIONS
from t2ibench.reproduction.papers.openbias_people import figure_5
from t2ibench.reproduction.papers.openbias_pictures import pictured
from t2ibench.reproduction.plots import Series, Words, scatter
from t2ibench.reproduction.scores import score_line, value_of
from t2ibench.reproduction.tables import Line

_ALL = "all professions"
_OPTIONS = {
    "fairface": "FairFace's answers, for Tables 1 to 4 (prompt,index,bias,answer)",
    "fairface_real": "the same about real images, for Table 2",
    "selfid": "answers by people's own identification, for the table of appendix C",
    "ratings": "what people see, for Figure 5 (bias,answer,intensity)",
    "coco": "a run of a task proposed for COCO's captions",
    "flickr": "a run of a task proposed for Flickr30k's captions",
    "coco_real": "a run of COCO's own images, for Figure 12 and Table 2",
    "flickr_real": "a run of Flickr30k's own images, for Figure 13 and Table 2",
    "sd2": "a run of a second model, for Figures 3, 4 and 15 to 26",
    "sd15": "a run of a third model, for Figures 3, 4 and 15 to 26",
    "training": "a run of the images that an unconditional generator learned, for Figure 14",
    "unconditional": "a run of that generator's images, for Figure 14",
}


def table_5(material: Material) -> Built:
    """How far from even the genders of 36 professions are."""
    task = material.results.get(PROFESSIONS)
    if task is None:
        return Built()
    rows = {row.name.casefold(): row for row in task.by}
    own = material.exhibit.models[0]
    lines, points, beside = [], [], []
    for name in material.exhibit.published[own]:
        if name == _ALL:
            continue
        known = material.published(name, "delta")
        row = rows.get(name.casefold())
        delta = None if row is None else row.scores.get("delta")
        value = None if delta is None else delta.value
        why = "not measured" if delta is None else delta.reason or ""
        lines.append(Line(name, "delta", value, known, digits=2, note=why))
        share = None if row is None else row.scores.get("share:female")
        if share is not None:
            lines.append(score_line(name, "share of women", share, 2))
        if value is not None:
            points.append((name, float(known[0] or 0.0), value))
            beside.append(abs(value - float(known[1] or 0.0)))
    lines.append(Line(_ALL, "mean delta", value_of(task, "delta"), digits=2))
    difference = math.fsum(beside) / len(beside) if beside else None
    note = f"{len(beside)} professions" if beside else ""
    lines.append(
        Line(_ALL, "mean difference", difference, material.published(_ALL, "mean difference"),
             digits=2, note=note)
    )  # fmt: skip
    words = Words(
        "Distance from an even share",
        "One point is a profession.",
        f"published, {own}",
        "this model",
    )
    drawn = scatter([Series("professions", points, named=True)], words)
    return Built(lines, drawn)


PAPER = read_paper(
    "openbias",
    {
        "table-1": functools.partial(accuracy_table, pool="coco"),
        "table-2": divergence_table,
        "table-3": functools.partial(accuracy_table, pool="coco"),
        "table-4": functools.partial(accuracy_table, pool="flickr", printed=False),
        "table-5": table_5,
        "table-c": functools.partial(accuracy_table, pool="coco", file="selfid"),
        "figure-3": functools.partial(ranking, pool="coco"),
        "figure-4": functools.partial(ranking, pool="flickr"),
        "figure-5": figure_5,
        "figure-6": pictured,
        "figure-7": pictured,
        "figure-8": pictured,
        "figure-9": figure_9,
        "figure-12": functools.partial(real_images, pool="coco"),
        "figure-13": functools.partial(real_images, pool="flickr"),
        "figure-14": figure_14,
        "figure-15": functools.partial(pictured, beside=True),
    },
    options=_OPTIONS,
)
