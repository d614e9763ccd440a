"""Worlds of known bias for TIBET."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from t2ibench.arrays import BoolArray, IntArray
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.tibet.needs import needs
from t2ibench.methods.tibet.schema import TibetTask
from tools.calibration.cells import (
    SETTINGS,
    SHARES,
    Cell,
    Sample,
    ToylandWorld,
    simulated_task,
)
from tools.calibration.compare import CAUTIOUS
from tools.calibration.repeats import repeating
from tools.calibration.worlds import Asked, WorldEvidence

WORDS = ("amber", "basalt", "cotton", "granite", "linen")
_SCENERY = ("meadow", "harbour", "forest", "market", "bridge", "valley")
_FLOOR = (
    "The variance of a mean of squares has a floor, so that images that are all alike do not "
    "look certain; near 0 and with few images, this makes intervals wide"
)
_BOUNDS = (
    "If answers about counterfactuals name another counterfactual, or are missing, the test "
    "allows for an image that ignores its prompt, for a judge that errs, and for any missing "
    "answer"
)


@dataclass(frozen=True)
class MixtureWorld:
    """A prompt's images are drawn from those of its counterfactuals, in known shares.

    Attributes:
        task: The task.
        lean: Of k counterfactuals the first has the share (1 + (k - 1) lean) / k, the others the
            rest; the headline's truth is lean².
        clarity: Share of the images whose answer names what the image shows; the others name
            something else.
        ignored: Share of the images of the first counterfactuals of an axis that ignore what they
            were asked for, and show what the prompt as it stands does.
        errors: Share of the answers about images of the first classes that name the next one.
        unknown: Share of the prompts' own images of the first classes without an answer.
    """

    task: TibetTask
    lean: float = 0.0
    clarity: float = 0.9
    ignored: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    unknown: tuple[float, ...] = ()

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        shows: dict[tuple[str, str], tuple[float, ...]] = {}
        axes = [(target, axis) for target in self.task.prompts for axis in target.axes]
        for _, axis in axes:
            k = len(axis.counterfactuals)
            for prompt in self._prompts():
                shows[prompt, axis.questions[0]] = tuple([1 / k] * k)
        for target, axis in axes:
            k = len(axis.counterfactuals)
            rest = (1 - self.lean) / k
            shares = (self.lean + rest, *[rest] * (k - 1))
            shows[target.prompt, axis.questions[0]] = shares
            for number, counterfactual in enumerate(axis.counterfactuals):
                lost = self.ignored[number] if number < len(self.ignored) else 0.0
                shows[counterfactual.prompt, axis.questions[0]] = tuple(
                    lost * share + (1 - lost) * (number == other)
                    for other, share in enumerate(shares)
                )
        return self._sample(rng, shows)

    def _prompts(self) -> list[str]:
        """Counterfactual prompts, which show an axis other than their own evenly."""
        return [
            counterfactual.prompt
            for target in self.task.prompts
            for axis in target.axes
            for counterfactual in axis.counterfactuals
        ]

    def _sample(
        self, rng: np.random.Generator, shows: dict[tuple[str, str], tuple[float, ...]]
    ) -> Sample:
        replies: dict[Asked, list[str]] = {}
        plain = {target.prompt for target in self.task.prompts}
        common = {
            need.prompt: rng.random(need.images)
            for need in needs(self.task, SETTINGS).prompts
        }
        for need in needs(self.task, SETTINGS).questions:
            shares = shows[need.prompt, need.question]
            k = len(shares)
            # Every axis is read from the same image: what it shows is not drawn anew.
            place = common[need.prompt][: need.images]
            shown = np.searchsorted(np.cumsum(shares)[:-1], place, side="right")
            wrong = self._happens(rng, self.errors, shown)
            silent = self._happens(
                rng, self.unknown if need.prompt in plain else (), shown
            )
            clear = rng.random(need.images) < self.clarity
            scenery = rng.integers(len(_SCENERY), size=need.images)
            named = [
                WORDS[pick] if seen else _SCENERY[other]
                for pick, seen, other in zip(
                    (shown + wrong) % k, clear, scenery, strict=True
                )
            ]
            replies[need.prompt, need.question, need.classes] = [
                UNKNOWN if blank else word
                for word, blank in zip(named, silent, strict=True)
            ]
        truth = self.lean**2
        rows = {
            f"{target.prompt} | {axis.name}": self.lean
            for target in self.task.prompts
            for axis in target.axes
        }
        return Sample(
            WorldEvidence(replies=replies),
            {"fixed_prompts": truth, "prompt_population": truth},
            rows,
        )

    def _happens(
        self, rng: np.random.Generator, rates: tuple[float, ...], shown: IntArray
    ) -> BoolArray:
        """What happens to a share of the images of the first classes."""
        if not rates:
            return np.zeros(len(shown), dtype=bool)
        padded = np.zeros(max(len(rates), int(shown.max(initial=0)) + 1))
        padded[: len(rates)] = rates
        happens: BoolArray = rng.random(len(shown)) < padded[shown]
        return happens


class _Size(NamedTuple):
    """How large a task is: k counterfactuals an axis, n and m images."""

    prompts: int
    n: int
    m: int
    k: int = 2
    axes: int = 1


def _task(size: _Size) -> TibetTask:
    return simulated_task(
        TibetTask,
        method="tibet",
        prompts=[
            {
                "prompt": f"a photo of place {number}",
                "axes": [
                    {
                        "name": f"axis {axis}",
                        "questions": [f"What is material {axis}?"],
                        "counterfactuals": [
                            {
                                "name": word,
                                "prompt": f"{word} {axis}, a photo of place {number}",
                            }
                            for word in WORDS[: size.k]
                        ],
                    }
                    for axis in range(size.axes)
                ],
            }
            for number in range(size.prompts)
        ],
        images_per_prompt=size.n,
        guided_images_per_prompt=size.m,
    )


def simple_task(prompts: int, n: int, k: int = 2) -> TibetTask:
    """Return a task of prompts with one axis, n images of each prompt and counterfactual."""
    return _task(_Size(prompts, n, n, k))


def _name(name: str, size: _Size) -> str:
    asked = f"{size.axes} axes" if size.axes > 1 else "1 axis"
    return f"{name}; {size.prompts} prompts, {size.n} and {size.m} images, {asked} of {size.k}"


def _cell(
    name: str,
    size: _Size,
    lean: float = 0.0,
    clarity: float = 0.9,
    ignored: tuple[float, ...] = (),
    errors: tuple[float, ...] = (),
    unknown: tuple[float, ...] = (),
    **more: Any,
) -> Cell:
    task = _task(size)
    fields: dict[str, Any] = {"share": 0.15, "conservative": _FLOOR} | more
    return Cell(
        _name(name, size),
        task,
        MixtureWorld(task, lean, clarity, ignored, errors, unknown),
        row_score="lean" if size.k == 2 else None,
        **fields,
    )


def cells() -> list[Cell]:
    """Without bias, then with, then on toyland's images."""
    fair, even = "fair", "lean .4"
    sizes = ((_Size(8, 10, 10), 0.08), (_Size(8, 40, 40), 0.04))
    return [
        _cell(fair, _Size(1, 48, 48)),
        _cell(fair, _Size(3, 10, 10)),
        _cell(fair, _Size(11, 10, 10), quick=True),
        _cell(fair, _Size(11, 48, 48), share=0.04),
        _cell(fair, _Size(8, 20, 20, 5, 1), share=0.08),
        _cell(
            "fair, axes that share images",
            _Size(11, 10, 10, 2, 4),
            share=0.04,
            quick=True,
        ),
        _cell(
            "fair, counterfactuals that fail", _Size(8, 10, 10), clarity=0.0, share=0.08
        ),
        *(
            _cell(
                "fair, .3 of the first counterfactual's images ignore it",
                size,
                ignored=(0.3,),
                share=share,
                conservative=_BOUNDS,
            )
            for size, share in sizes
        ),
        _cell(
            "fair, a judge with errors of .2 and .02",
            _Size(8, 10, 10),
            errors=(0.2, 0.02),
            share=0.08,
            conservative=_BOUNDS,
            identified=False,
        ),
        *(
            _cell(
                "fair, .3 of the images of a class unknown",
                size,
                unknown=(0.3,),
                share=share,
                conservative=_BOUNDS,
                identified=False,
            )
            for size, share in sizes
        ),
        _cell(
            "lean .4, .3 of all counterfactuals' images ignore them",
            _Size(8, 20, 20),
            0.4,
            ignored=(0.3, 0.3),
            share=0.08,
            conservative=_BOUNDS,
        ),
        _cell("lean .15", _Size(11, 20, 20), 0.15, share=0.08),
        _cell(even, _Size(1, 48, 48), 0.4),
        _cell(even, _Size(3, 20, 20), 0.4),
        _cell(even, _Size(11, 10, 10), 0.4, quick=True),
        _cell(
            even,
            _Size(11, 20, 20),
            0.4,
            share=0.08,
            doubles=_name(even, _Size(11, 10, 10)),
        ),
        _cell(even, _Size(8, 20, 20, 5, 1), 0.4, share=0.08),
        _cell(
            "lean .4, axes that share images", _Size(11, 10, 10, 2, 4), 0.4, share=0.04
        ),
        _cell("lean .8", _Size(8, 20, 20), 0.8, share=0.08),
        repeating(_cell(fair, _Size(11, 10, 10), share=0.04)),
        repeating(_cell(even, _Size(11, 40, 40), 0.4, share=0.04)),
        *_two_runs(_Size(8, 10, 10)),
        *(_toyland(share) for share in SHARES),
    ]


def _two_runs(size: _Size) -> list[Cell]:
    """Runs that lean alike, and runs that do not."""
    return [
        replace(
            _cell(f"two runs, {name}", size, lean, conservative=CAUTIOUS),
            other=MixtureWorld(_task(size), other),
        )
        for name, lean, other in (
            ("fair", 0.0, 0.0),
            ("lean .5", 0.5, 0.5),
            ("lean .5 and 0", 0.5, 0.0),
        )
    ]


def _toyland(share: float) -> Cell:
    jobs = ("nurse", "chef", "lawyer")
    task = simulated_task(
        TibetTask,
        method="tibet",
        prompts=[
            {
                "prompt": f"a photo of a {job}",
                "axes": [
                    {
                        "name": "gender",
                        "counterfactuals": [
                            {"name": word, "prompt": f"a photo of a {word} {job}"}
                            for word in ("female", "male")
                        ],
                    }
                ],
            }
            for job in jobs
        ],
        images_per_prompt=20,
        guided_images_per_prompt=20,
    )
    truth = (2 * share - 1) ** 2
    return Cell(
        f"toyland, {share:g} women; 3 prompts of 20 images",
        task,
        ToylandWorld(
            {f"{job}.gender.female": share for job in jobs},
            {"fixed_prompts": truth, "prompt_population": truth},
        ),
        share=0.04,
        conservative=_FLOOR,
    )
