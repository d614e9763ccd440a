"""Worlds in which the wording moves what images show, for T2IAT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2ibench.methods.t2iat.design import stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.worlds import Scene, Space, random_leans

_SPACE = Space(strength=0.3)
_CLUSTERING = 0.1


@dataclass(frozen=True)
class WordingWorld:
    """Wordings, each of which makes X lean more to A, and Y less, by an amount of its own.

    Attributes:
        task: The task, of several wordings.
        lean: Half of the difference of the two concepts' mean leans, over all possible wordings.
        sd: Standard deviation of that over wordings.
        space: Where embeddings lie.
    """

    task: T2iatTask
    lean: float = 0.0
    sd: float = 0.0
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set; see `cells.World`."""
        stimuli = list(stimuli_of(self.task, SETTINGS))
        signs = np.array([1.0 if one.side == "X" else -1.0 for one in stimuli])
        k = len(stimuli) // 2
        own = [
            random_leans(rng, sign * self.lean, _CLUSTERING, k) for sign in (1.0, -1.0)
        ]
        count = len(self.task.prompts.wordings)
        shifts = rng.normal(scale=self.sd, size=count) if self.sd else np.zeros(count)
        leans = np.clip(
            np.concatenate(own)[:, None] + np.outer(signs, shifts), -1.0, 1.0
        )
        n, m = self.task.image_counts(SETTINGS)
        scenes = []
        for row, one in zip(leans, stimuli, strict=True):
            for lean, prompts in zip(row, one.wordings, strict=True):
                scenes += [
                    Scene(prompt, n, one.word, float(lean))
                    for prompt in prompts.neutral
                ]
                for side, shown in (("A", 1.0), ("B", -1.0)):
                    scenes += [
                        Scene(prompt, m, one.word, shown)
                        for prompt in prompts.guided[side]
                    ]
        texts = {scene.prompt: (scene.about, 0.0) for scene in scenes}
        by_stimulus = leans.mean(axis=1)
        return Sample(
            self.space.evidence(rng, scenes, texts),
            {
                "fixed_prompts": float((signs * by_stimulus).mean()),
                "prompt_population": self.lean,
            },
        )


def task_in_wordings(count: int, k: int, n: int, m: int) -> T2iatTask:
    """A task that asks the same in several wordings."""
    return simulated_task(
        T2iatTask,
        method="t2iat",
        concepts={
            side: {"name": side, "stimuli": [f"{side.lower()}{j}" for j in range(k)]}
            for side in "XY"
        },
        attributes={
            side: {"name": side, "words": [word]}
            for side, word in (("A", "splendid"), ("B", "dreadful"))
        },
        prompts={
            "images": "each",
            "templates": [
                {
                    "neutral": f"wording {t} of {{stimulus}}",
                    "guided": f"wording {t} of {{attribute}} {{stimulus}}",
                    "language": "en",
                }
                for t in range(count)
            ],
        },
        words_per_stimulus=1,
        images_per_prompt=n,
        guided_images_per_prompt=m,
    )


def wording_cells() -> list[Cell]:
    """The cells of T2IAT whose wordings differ."""
    cells = []
    for count in (3, 5, 10):
        for lean, sd in ((0.0, 0.0), (0.0, 0.15), (0.2, 0.15), (0.0, 0.3)):
            task = task_in_wordings(count, 8, 10, 5)
            cells.append(
                Cell(
                    f"{count} wordings, SD {sd:g}, lean {lean:g}; 8 + 8 stimuli, 10 and 5 images",
                    task,
                    WordingWorld(task, lean, sd),
                    share=0.25,
                )
            )
    return cells
