"""How far the direction between two groups reads how large a face is.

Nobody labelled framing. The height of the tallest face, as a share of the image's, stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from real.labelled import each_image, embed, labelled_images
from real.plain_encoders import encoder_named

from t2ibench.arrays import Float64Array
from t2ibench.models.faces import FaceMeshes, box_of

_GROUPS = ("female", "male")


def report(folder: Path, encoders: Sequence[str]) -> str:
    """The correlation of faces' size with positions between women and men, by encoder and model."""
    images = labelled_images(folder)
    images = [image for image in images if image.labels["gender"] in _GROUPS]
    find = FaceMeshes()
    size = np.array(each_image(lambda image: _log_height(find, image), images))
    models = np.array([image.model for image in images])
    women = np.array([image.labels["gender"] == _GROUPS[0] for image in images])
    stimuli = np.array([image.stimulus for image in images])
    lines = [
        "## Does the direction between groups read framing?",
        "",
        "Positions run from -1 (men) to 1 (women) along the direction of the other stimuli. r is "
        "of images of one stimulus and group; the slope says how far an image moves whose face is "
        "a standard deviation larger. The gap is women's faces less men's of the same stimulus.",
        "",
        "| encoder | images of | images | r | 95 % | slope | gap, SD |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in encoders:
        rows = embed(encoder_named(name), images)
        usable = np.isfinite(rows).all(axis=1) & np.isfinite(size)
        for model in sorted(set(models)):
            chosen = usable & (models == model)
            part = (rows[chosen], size[chosen], women[chosen], stimuli[chosen])
            lines.append(f"| {name} | {model} | {' | '.join(_cells(*part))} |")
    return "\n".join(lines)


def _log_height(find: FaceMeshes, image: Image.Image) -> float:
    meshes = find(image)
    if not meshes:
        return float("nan")
    _, top, _, bottom = box_of(meshes[0])
    return float(np.log((bottom - top) / image.height))


def _cells(
    rows: Float64Array, size: Float64Array, women: Float64Array, stimuli: Float64Array
) -> list[str]:
    """Number of images, r with its interval, slope and gap."""
    both = [
        name
        for name in sorted(set(stimuli))
        if min((women & (stimuli == name)).sum(), (~women & (stimuli == name)).sum())
        > 1
    ]
    differences = {}
    gaps = []
    for name in both:
        first = women & (stimuli == name)
        second = ~women & (stimuli == name)
        differences[name] = rows[first].mean(axis=0) - rows[second].mean(axis=0)
        gaps.append(size[first].mean() - size[second].mean())
    if len(both) < 2:
        return ["0", *["–"] * 4]
    places: list[Float64Array] = []
    heights: list[Float64Array] = []
    for name in both:
        others = [differences[other] for other in both if other != name]
        direction = np.mean(others, axis=0)
        half = differences[name] @ direction / 2
        if half <= 0:
            half = np.mean([other @ direction for other in others]) / 2
        for group in (women, ~women):
            cell = group & (stimuli == name)
            along = rows[cell] @ direction / half
            places.append(along - along.mean())
            heights.append(size[cell] - size[cell].mean())
    place, height = np.concatenate(places), np.concatenate(heights)
    degrees = len(place) - 2 * len(both)
    spread = np.sqrt((height**2).sum() / degrees)
    r = float(np.corrcoef(place, height)[0, 1])
    low, high = np.tanh(np.arctanh(r) + np.array([-1.96, 1.96]) / np.sqrt(degrees - 2))
    slope = float((place @ height) / (height @ height) * spread)
    gap = float(np.mean(gaps) / spread)
    interval = f"{low:+.2f} to {high:+.2f}"
    return [str(len(place)), f"{r:+.2f}", interval, f"{slope:+.2f}", f"{gap:+.2f}"]
