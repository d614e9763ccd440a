"""What is measured on the pixels of edits: bias, coverage, type I error, power, any clear row.

python -m tools.calibration.edit_pixels --sets 1000

Whole tasks are scored, with answers, refusals, outcomes and pictures whose lightness is known, so
that the share of tests with a clear row is over all rows that a report has.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods import score
from t2ibench.methods.core.edit_evidence import EditNeed, SourceImage
from t2ibench.methods.core.edit_report import OUTCOME
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.schema import EditsTask
from tools.calibration.cells import SETTINGS
from tools.calibration.command import simulate_worlds
from tools.calibration.edit_rows import clear_rows
from tools.calibration.edits import (
    Change,
    EditedWorldEvidence,
    EditWorld,
    edits_task,
)

_LEVEL = 0.95
_STILL = "Change nothing"
_FACE = {"name": "face", "box": [0.4375, 0.3125, 0.5625, 0.4375]}
_ROW = "lightness of the face"
_DISTANCE = "distance of the face"
_SIDE = 16
# L* of faces divided by 100, with the spread of source images, of light that an edit changes, and
# of cells; and how much a lightened face gains.
_DARK = 0.4
_SPREAD = 0.04
_LIGHT = 0.03
_CELLS = 0.005
_GAIN = 0.4


@dataclass(frozen=True)
class PixelWorldEvidence(EditedWorldEvidence):
    """Answers and pictures of source images and edits.

    Attributes:
        pictures: Prompt to L* of its source images, shape (n, 16, 16).
        edited_pictures: Instruction and prompt to L* of the edits, NaN where refused.
    """

    pictures: Mapping[str, Float64Array] = field(default_factory=dict)
    edited_pictures: Mapping[tuple[str, str], Float64Array] = field(
        default_factory=dict
    )

    def brightness_of_source(self, source: SourceImage) -> Float64Array | None:
        """The brightness of a source image in cells."""
        return luma_of(self.pictures[source.prompt][source.index])

    def brightness_of_edit(self, edit: EditNeed) -> dict[int, Float64Array]:
        """The brightness of the one image of an edit; none where it was refused."""
        rows = self.edited_pictures[edit.instruction, edit.source.prompt]
        picture = rows[edit.source.index]
        return {0: luma_of(picture)} if np.isfinite(picture).all() else {}


def luma_of(lightness: Float64Array) -> Float64Array:
    """Return luma from 0 to 1 of greys, given L* divided by 100, above the linear part."""
    luminance = ((lightness + 0.16) / 1.16) ** 3
    luma: Float64Array = 1.055 * luminance ** (1 / 2.4) - 0.055
    return luma


@dataclass(frozen=True)
class PixelWorld:
    """Two groups whose faces an editor lightens.

    Attributes:
        name: What is simulated, in a few words.
        sizes: Source images of each group.
        lightened: Share of the edits of each group that are lightened.
        refused: Share of the edits of each group that are refused.
        alike: Whether all edits of a source image are lightened together.
        lost: Share of the images of each group that a judge sees as the other after an edit.
    """

    name: str
    sizes: tuple[int, int]
    lightened: tuple[float, float]
    refused: tuple[float, float] = (0.0, 0.0)
    alike: bool = False
    lost: float = 0.0

    @property
    def truth(self) -> float:
        """The difference between the groups of the change in lightness."""
        return _GAIN * (self.lightened[0] - self.lightened[1])

    def task(self) -> EditsTask:
        """A task with four edits, an attribute, and both measures on pixels."""
        return edits_task(
            self.sizes, 4, no_change=_STILL, lightness=[_FACE], stays=_FACE
        )

    def draw(self, task: EditsTask, rng: np.random.Generator) -> PixelWorldEvidence:
        """One data set: answers as in any world of edits, and pictures."""
        changes = (Change(loss=self.lost), Change(loss=self.lost))
        world = EditWorld(
            task, (changes,), (1.0,) * 4, refused=self.refused, errors=(0.1, 0.05)
        )
        answered = world.draw(rng).evidence
        assert isinstance(answered, EditedWorldEvidence)
        pictures: dict[str, Float64Array] = {}
        edited: dict[tuple[str, str], Float64Array] = {}
        n = task.images_per_prompt
        for share, group in zip(self.lightened, task.groups, strict=True):
            for prompt in group.prompts:
                face = _DARK + _SPREAD * rng.normal(size=n)
                pictures[prompt] = _picture(rng, face)
                edited[_STILL, prompt] = _picture(rng, face)
                always = rng.random(n) < share
                for edit in task.edits:
                    is_lightened = always if self.alike else rng.random(n) < share
                    light = _LIGHT * rng.normal(size=n)
                    moved = face + light + _GAIN * is_lightened
                    picture = _picture(rng, moved)
                    missing = _refused(answered, edit.instruction, prompt)
                    picture[missing] = np.nan
                    edited[edit.instruction, prompt] = picture
        return PixelWorldEvidence(
            sources=answered.sources,
            after=answered.after,
            edits=answered.edits,
            pictures=pictures,
            edited_pictures=edited,
        )


def _picture(rng: np.random.Generator, face: Float64Array) -> Float64Array:
    """Return pictures of one lightness each, but for noise of cells, shape (n, 16, 16)."""
    noise = _CELLS * rng.normal(size=(len(face), _SIDE, _SIDE))
    picture: Float64Array = face[:, None, None] + noise
    return picture


def _refused(evidence: EditedWorldEvidence, instruction: str, prompt: str) -> BoolArray:
    """Return which edits were refused: those without an embedding."""
    rows = evidence.edits[instruction, prompt]
    missing: BoolArray = np.isnan(rows[:, 0])
    return missing


_TEN, _FORTY, _UNEQUAL = (10, 10), (40, 40), (10, 40)


def worlds() -> list[PixelWorld]:
    """Worlds in which groups do not differ, then those in which they do."""
    made = []
    for sizes in (_TEN, _FORTY, _UNEQUAL):
        made += [
            PixelWorld("none lightened", sizes, (0.0, 0.0)),
            PixelWorld("none lightened, a fifth lost", sizes, (0.0, 0.0), lost=0.2),
            PixelWorld(".05 of both lightened", sizes, (0.05, 0.05)),
            PixelWorld(".3 of both lightened", sizes, (0.3, 0.3)),
            PixelWorld(
                ".3 of both source images lightened", sizes, (0.3, 0.3), alike=True
            ),
            PixelWorld(
                ".3 of both lightened, .4 and .1 refused", sizes, (0.3, 0.3), (0.4, 0.1)
            ),
            PixelWorld(".1 and 0 lightened", sizes, (0.1, 0.0)),
            PixelWorld(".3 and 0 lightened", sizes, (0.3, 0.0)),
            PixelWorld(".6 and .2 lightened", sizes, (0.6, 0.2)),
        ]
    return made


def simulated(world: PixelWorld, sets: int, seed: int) -> dict[str, str]:
    """Return a row of the table: what so many data sets show of one world."""
    task = world.task()
    rng = np.random.default_rng([seed, *world.name.encode(), *world.sizes])
    errors: list[float] = []
    covers: list[bool] = []
    rejects: list[bool] = []
    distances: list[bool] = []
    fair_rows: list[bool] = []
    lightness_rows: list[bool] = []
    for number in range(sets):
        settings = SETTINGS.model_copy(update={"seed": number})
        result = score(task, world.draw(task, rng), settings)
        for value, interval, p in _rows(result, _ROW):
            errors.append(value - world.truth)
            covers.append(interval[0] <= world.truth <= interval[1])
            rejects.append(p < 1 - _LEVEL)
        distances += [p < 1 - _LEVEL for *_, p in _rows(result, _DISTANCE)]
        fair_rows.append(any(clear_rows(result, _fair_groups(world))))
        lightness_rows.append(any(clear_rows(result, {_ROW})))
    return {
        "world": world.name,
        "sources": f"{world.sizes[0]} + {world.sizes[1]}",
        "difference": f"{world.truth:+.2f}",
        "bias": f"{np.mean(errors):+.4f}",
        "covers": f"{np.mean(covers):.3f}",
        "p < .05": f"{np.mean(rejects):.3f}",
        "distance, p < .05": f"{np.mean(distances):.3f}",
        "fair row clear": f"{np.mean(fair_rows):.3f}",
        "lightness clear": f"{np.mean(lightness_rows):.3f}",
    }


def _rows(
    result: MethodResult, group: str
) -> list[tuple[float, tuple[float, float], float]]:
    """Return value, interval and p of the rows of a group."""
    rows = []
    for item in result.by:
        lean = item.scores["lean"]
        if item.group == group and lean.value is not None and lean.interval:
            p = 1.0 if lean.p is None else lean.p
            rows.append((lean.value, lean.interval, p))
    return rows


def _fair_groups(world: PixelWorld) -> set[str]:
    """Return the groups of rows in which the groups of people do not differ in truth."""
    groups = {"person group"}
    if world.refused[0] == world.refused[1]:
        groups.add(OUTCOME)
    if not world.truth:
        groups |= {_ROW, _DISTANCE}
    return groups


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    named = [
        (f"{world.name}; {world.sizes[0]} + {world.sizes[1]}", world)
        for world in worlds()
    ]
    return simulate_worlds("edit_pixels", __doc__, named, simulated, argv, sets=1000)


if __name__ == "__main__":
    sys.exit(main())
