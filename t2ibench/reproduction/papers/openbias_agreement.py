"""Tables 1 to 4 of OpenBias: how far the judge agrees with a classifier's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.openbias_material import (
    POOLS,
    answers_of,
    biases_of,
    has_pool,
    paper_name,
)
from t2ibench.reproduction.people import read_people
from t2ibench.reproduction.tables import Line
from t2ibench.stats import cohens_kappa, kl_divergence, macro_f1
from t2ibench.stats.proportions import Proportion, pooled_proportion

_ATTRIBUTES = ("gender", "age", "race")
_HALF = 0.5  # of an answer, in every class: an unused one must not make a divergence infinite
_MOST = 10**9
_COLUMNS = (
    "a CSV or JSON Lines with the columns prompt, index (of the image), bias (such as 'person "
    "gender') and answer, one of the task's classes; other answers count as none"
)

Answers = Mapping[tuple[str, int], str]


@dataclass(frozen=True, slots=True)
class BiasAgreement:
    """Two sets of answers about one bias, on the images that both have a class for.

    Attributes:
        n: Number of those images.
        accuracy: Share of equal answers, of captions like these.
        captions: Number of captions.
        macro_f1: Mean F1 over the classes; None without images.
        kappa: Cohen's kappa; None where it is not defined.
        divergence: KL divergence of the class shares of the reference from those of the judge.
    """

    n: int
    accuracy: Proportion
    captions: int
    macro_f1: float | None
    kappa: float | None
    divergence: float | None


def agreement(judge: Answers, reference: Answers, classes: tuple[str, ...]) -> BiasAgreement:
    """How far a judge agrees with a reference about one bias.

    Examples:
        >>> ours = {("a doctor", 0): "male", ("a doctor", 1): "male", ("a nurse", 0): "female"}
        >>> theirs = {**ours, ("a doctor", 1): "female"}
        >>> found = agreement(ours, theirs, ("male", "female"))
        >>> found.n, round(found.accuracy.value, 3), found.captions
        (3, 0.667, 2)
    """
    known = {name.casefold() for name in classes}
    both = sorted(
        key
        for key in judge.keys() & reference.keys()
        if judge[key].casefold() in known and reference[key].casefold() in known
    )
    first = [judge[key].casefold() for key in both]
    second = [reference[key].casefold() for key in both]
    totals: Counter[str] = Counter(caption for caption, _ in both)
    pairs = zip(both, first, second, strict=True)
    hits: Counter[str] = Counter(caption for (caption, _), a, b in pairs if a == b)
    share = pooled_proportion([hits[name] for name in totals], list(totals.values()))
    p, q = (np.array([side.count(name) + _HALF for name in known]) for side in (first, second))
    return BiasAgreement(
        len(both),
        share,
        len(totals),
        _finite(macro_f1(first, second)) if both else None,
        _finite(cohens_kappa(first, second)) if both else None,
        float(kl_divergence(p, q)) if both else None,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def read_answers(file: Path) -> dict[str, dict[tuple[str, int], str]]:
    """Answers of a classifier, or of people."""
    found: dict[str, dict[tuple[str, int], str]] = {}
    for said in read_people(file, ("prompt", "index", "bias", "answer")):
        key = (said["prompt"], int(said.number("index", 0, _MOST)))
        found.setdefault(paper_name(said["bias"]), {})[key] = said["answer"]
    return found


def _found(material: Material, pool: str | None, file: str, attribute: str) -> BiasAgreement | None:
    """The agreement about one attribute of people; None without answers."""
    path = material.options.get(file)
    name = f"person {attribute}"
    biases = biases_of(material, pool) or {}
    if path is None or name not in biases:
        return None
    theirs = read_answers(path).get(name, {})
    ours = answers_of(material, pool, name)
    found = agreement(ours, theirs, tuple(biases[name].detail["counts"]))
    return found if found.n else None


def accuracy_table(
    material: Material, *, pool: str, file: str = "fairface", printed: bool = True
) -> Built:
    """Accuracy and F1 of the judge, against answers of a file (Tables 1, 3 and 4)."""
    source = pool if has_pool(material, pool) or not printed else None
    lines = []
    for row in material.exhibit.published[material.exhibit.models[0]]:
        attribute, _, other = row.partition(", ")
        if other:  # another judge of the paper's
            lines += [
                Line(row, score, None, material.published(row, score), digits=2)
                for score in ("accuracy", "F1")
            ]
        else:
            found = _found(material, source, file, attribute)
            lines += _accuracy_lines(material, attribute, found)
    return Built(lines, notes=_notes(material, pool, file))


def _accuracy_lines(material: Material, attribute: str, found: BiasAgreement | None) -> list[Line]:
    known = {score: material.published(attribute, score) for score in ("accuracy", "F1")}
    if found is None:
        return [Line(attribute, score, None, values, digits=2) for score, values in known.items()]
    low = high = None
    if found.captions > 1:
        low, high = (100 * end for end in found.accuracy.interval())
    f1 = None if found.macro_f1 is None else 100 * found.macro_f1
    said = f"{found.n} images of {found.captions} captions"
    return [
        Line(
            attribute, "accuracy", 100 * found.accuracy.value, known["accuracy"], low, high, 2, said
        ),
        Line(attribute, "F1", f1, known["F1"], digits=2),
        Line(attribute, "Cohen's kappa", found.kappa, digits=2),
    ]


def divergence_table(material: Material) -> Built:
    """KL divergence between the judge's and a classifier's shares (Table 2)."""
    lines = []
    for pool, label in (("flickr", "Flickr30k"), ("coco", "COCO")):
        for attribute in _ATTRIBUTES:
            row = f"{label}, {attribute}"
            found = _found(material, pool, "fairface", attribute)
            value = None if found is None else found.divergence
            known = material.published(row, "KL")
            note = "" if found is None else f"{found.n} images"
            lines.append(Line(row, "KL", value, known, note=note))
            real = _found(material, f"{pool}_real", "fairface_real", attribute)
            if real is not None:
                lines.append(Line(row, "KL, real images", real.divergence, note=f"{real.n} images"))
    for attribute in _ATTRIBUTES if not any(has_pool(material, pool) for pool in POOLS) else ():
        found = _found(material, None, "fairface", attribute)
        if found is not None:
            row = f"printed captions, {attribute}"
            lines.append(Line(row, "KL", found.divergence, note=f"{found.n} images"))
    return Built(lines, notes=_notes(material, "coco", "fairface"))


def _notes(material: Material, pool: str, file: str) -> list[str]:
    notes = []
    if file not in material.options:
        notes.append(
            f"No answers are at hand to compare with: `--with {file}=FILE` takes {_COLUMNS}."
        )
    if not has_pool(material, pool):
        name = POOLS[pool].rpartition("_")[2]
        notes.append(
            f"Captions are the 13 that the paper prints: `--captions {name}=FILE` takes those of "
            f"the whole pool, and `--with {pool}=RUN` a run of a task that `t2ibench propose "
            "openbias --captions …` wrote for it."
        )
    return notes
