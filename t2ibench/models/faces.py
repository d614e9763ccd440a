"""Find faces and 468 points of each, with MediaPipe's BlazeFace and face mesh."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.fingerprint import file_hash

if TYPE_CHECKING:
    from PIL.Image import Image

_FOLDER = Path(__file__).resolve().parent.parent / "bundled" / "faces"
_DETECTOR, _MESH = "face_detection_full_range.tflite", "face_landmark.tflite"

_INPUT = 192  # the side of what both networks see, in pixels
_CELLS = 48  # rows and columns of the detector's anchors
# the exponent of brightness that the detector sees: it misses darker faces less
_LIGHTER = 0.5
_SCORE = 0.4  # of a detection
_SAME = 0.4  # intersection over union above which two boxes are one face
_FLAG = 0.5  # the mesh's own probability that it lies on a face
_MARGIN = 1.5  # the square around a face that the mesh sees, in sides of its box
_EYES = 33, 263  # the outer corners of a mesh's eyes, left and right in the image
_BOX = tuple[float, float, float, float]  # left, top, right, bottom
_Candidate = TypeVar("_Candidate")


class FaceMeshes:
    """Finds the faces in an image, and 468 points of each.

    The detector sees a lighter copy of the image: the whole, padded to a square, and squares of
    the shorter side that overlap by half. A detection counts as a face if the mesh network, applied
    to the image itself, confirms it.

    Source: Bazarevsky et al. 2019, "BlazeFace"; Kartynnik et al. 2019, "Real-time facial surface
        geometry from monocular video on mobile GPUs"; the networks are MediaPipe's.
    """

    def __init__(self) -> None:
        self._detector, self._mesh = map(_network, (_DETECTOR, _MESH))
        hashes = [file_hash(_FOLDER / name) for name in (_DETECTOR, _MESH)]
        self.version = [*hashes, _LIGHTER, _SCORE, _SAME, _FLAG, _MARGIN]

    def __call__(self, image: Image) -> list[Float64Array]:
        """Return the points of each face in pixels, shape (468, 2), the largest face first."""
        levels = np.round(255 * (np.arange(256) / 255) ** _LIGHTER).astype(int).tolist()
        lighter = image.point(levels * 3)
        boxes = [
            face
            for square in _squares(image)
            for face in self._detected(lighter, square)
        ]
        meshes: list[Float64Array] = []
        for _, box, angle in _distinct(
            sorted(boxes, reverse=True), lambda face: face[1]
        ):
            mesh = self._laid(image, box, angle)
            if mesh is not None:
                meshes.append(mesh)
        meshes.sort(key=lambda mesh: -float(np.ptp(mesh, axis=0).max()))
        return _distinct(meshes, box_of)

    def _detected(
        self, image: Image, square: _BOX
    ) -> Iterator[tuple[float, _BOX, float]]:
        """Yield score, box and rotation (radians) of each face found in a square of an image."""
        pixels = _crop(image, square, 0.0) / 127.5 - 1.0
        regressors, scores = _run(self._detector, pixels)
        probabilities = 1 / (1 + np.exp(-np.clip(scores[0, :, 0], -80, 80)))
        left, top, side = square[0], square[1], square[2] - square[0]
        for index in np.flatnonzero(probabilities >= _SCORE):
            row, column = divmod(int(index), _CELLS)
            anchor = (np.array([column, row]) + 0.5) / _CELLS
            middle, size, *points = regressors[0, index].reshape(-1, 2) / _INPUT
            x, y = (middle + anchor) * side + (left, top)
            width, height = np.abs(size) * side / 2
            across, down = points[1] - points[0]  # from eye to eye
            yield (
                float(probabilities[index]),
                (x - width, y - height, x + width, y + height),
                float(np.arctan2(down, across)),
            )

    def _laid(self, image: Image, box: _BOX, angle: float) -> Float64Array | None:
        """Return the mesh of the face in a box, refined once; None if the network sees no face."""
        for _ in range(2):
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            half = _MARGIN * max(box[2] - box[0], box[3] - box[1]) / 2
            square = x - half, y - half, x + half, y + half
            points, flag = _run(self._mesh, _crop(image, square, angle) / 255.0)
            if 1 / (1 + np.exp(-float(flag.reshape(-1)[0]))) < _FLAG:
                return None
            # From the turned square back to the image.
            inside = points.reshape(-1, 3)[:, :2].astype(np.float64) / _INPUT - 0.5
            inside *= square[2] - square[0]
            cos, sin = np.cos(angle), np.sin(angle)
            centre = np.array([square[0] + square[2], square[1] + square[3]]) / 2
            mesh: Float64Array = inside @ np.array([[cos, sin], [-sin, cos]]) + centre
            box = box_of(mesh)
            across, down = mesh[_EYES[1]] - mesh[_EYES[0]]
            angle = float(np.arctan2(down, across))
        return mesh


def box_of(mesh: Float64Array) -> _BOX:
    """Return the left, top, right and bottom of the points of a face."""
    (left, top), (right, bottom) = mesh.min(axis=0).tolist(), mesh.max(axis=0).tolist()
    return left, top, right, bottom


def _squares(image: Image) -> Iterator[_BOX]:
    width, height = image.size
    short, long = sorted(image.size)
    yield (
        (width - long) / 2,
        (height - long) / 2,
        (width + long) / 2,
        (height + long) / 2,
    )
    if short == long:
        return
    steps = int(np.ceil((long - short) / (short / 2)))
    for start in np.linspace(0, long - short, steps + 1):
        x, y = (start, 0.0) if width > height else (0.0, start)
        yield float(x), float(y), float(x) + short, float(y) + short


def _crop(image: Image, square: _BOX, angle: float) -> npt.NDArray[np.float32]:
    """Return a rotated square of the image as the networks' input; black outside of the image."""
    from PIL import Image as Images

    side = square[2] - square[0]
    # Averages of whole pixels first: a bilinear look at every tenth pixel sees noise.
    factor = max(1, int(side / _INPUT))
    small = image.reduce(factor) if factor > 1 else image
    scale = side / _INPUT / factor
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    x, y = ((square[0] + square[2]) / 2 / factor, (square[1] + square[3]) / 2 / factor)
    half = _INPUT / 2
    turned = small.transform(
        (_INPUT, _INPUT),
        Images.Transform.AFFINE,
        (cos, -sin, x - half * (cos - sin), sin, cos, y - half * (sin + cos)),
        Images.Resampling.BILINEAR,
    )
    return np.asarray(turned, dtype=np.float32)


def _distinct(
    candidates: list[_Candidate], box: Callable[[_Candidate], _BOX]
) -> list[_Candidate]:
    """Return the candidates without those whose box overlaps the box of an earlier one."""
    distinct: list[_Candidate] = []
    for candidate in candidates:
        if not any(_overlap(box(candidate), box(other)) > _SAME for other in distinct):
            distinct.append(candidate)
    return distinct


def _overlap(first: _BOX, second: _BOX) -> float:
    """Return the intersection over union of two boxes, from 0 to 1."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    both = max(width, 0.0) * max(height, 0.0)
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return both / max(sum(areas) - both, 1e-12)


def _run(
    network: Any, pixels: npt.NDArray[np.float32]
) -> list[npt.NDArray[np.float32]]:
    network.set_tensor(
        network.get_input_details()[0]["index"], pixels[None].astype(np.float32)
    )
    network.invoke()
    outputs = [
        network.get_tensor(detail["index"]) for detail in network.get_output_details()
    ]
    return sorted(outputs, key=lambda output: -output.size)


@lru_cache
def _network(name: str) -> Any:
    try:
        litert = importlib.import_module("ai_edge_litert.interpreter")  # an extra
    except ImportError as error:
        install = 'pip install "t2ibench[face-gender]"'
        raise T2IBenchError("Finding faces needs LiteRT.", install) from error
    network = litert.Interpreter(str(_FOLDER / name), num_threads=1)
    network.allocate_tensors()
    return network
