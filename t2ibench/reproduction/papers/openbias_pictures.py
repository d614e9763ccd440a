"""Figures of OpenBias that show images of one caption: 6 to 8, and 15 to 26."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.openbias_material import EXAMPLES, paper_name
from t2ibench.reproduction.pictures import Shelf, Strip
from t2ibench.reproduction.second_run import second_run
from t2ibench.reproduction.tables import Line

_SCORE = "most images show"
_OTHERS = {"sd2": "SD-2", "sd15": "SD-1.5"}
_BESIDE = (
    "Other models are further runs of the same preset: `--with sd2=RUN` and `--with sd15=RUN`."
)


def pictured(material: Material, *, beside: bool = False) -> Built:
    """Images of a caption of each bias, and what the judge sees in most of them."""
    spec = material.specs.get(EXAMPLES)
    captions = _captions(spec) if isinstance(spec, OpenBiasTask) else {}
    runs: list[tuple[str, Shelf, Sequence[Mapping[str, Any]]]] = [
        ("", material.shelf, material.samples(EXAMPLES))
    ]
    for option, label in _OTHERS.items() if beside else ():
        run = second_run(material, option)
        if run is not None:
            runs.append((f", {label}", Shelf(run.folder), run.samples(EXAMPLES)))
    lines, strips = [], []
    for name in material.exhibit.published[material.exhibit.models[0]]:
        for label, shelf, samples in runs:
            caption = captions.get(name, "")
            known = () if label else material.published(name, _SCORE)
            lines.append(_line(name, f"{_SCORE}{label}", caption, samples, known))
            strips.append(_strip(shelf, f"{name}{label}: “{caption}”", caption))
    notes = [_BESIDE] if beside and len(runs) <= len(_OTHERS) else []
    return Built(lines, notes=notes, strips=strips)


def _captions(spec: OpenBiasTask) -> dict[str, str]:
    """The first caption of each bias, by the paper's name of it."""
    return {
        paper_name(f"{bias.about} {bias.name}"): bias.captions[0]
        for bias in spec.biases
        if bias.captions
    }


def _strip(shelf: Shelf, title: str, caption: str) -> Strip:
    return shelf.strip(title, [caption] if caption else [])


def _line(
    name: str,
    score: str,
    caption: str,
    samples: Sequence[Mapping[str, Any]],
    known: tuple[float | str | None, ...],
) -> Line:
    """The class that the judge gives most images of a caption."""
    answers = [
        str(row["answer"])
        for row in samples
        if row["prompt"] == caption and paper_name(str(row.get("bias", ""))) == name
    ]
    counts = Counter(answer for answer in answers if answer != UNKNOWN)
    if not counts:
        why = "the judge gave no class for any image" if answers else "not measured"
        return Line(name, score, None, known, note=why)
    most = max(counts.values())
    shown = " or ".join(sorted(answer for answer, count in counts.items() if count == most))
    return Line(name, score, shown, known, note=f"{most} of {len(answers)} images")
