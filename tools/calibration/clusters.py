"""Stimuli in clusters: a nurse, a registered nurse, a staff nurse and a ward nurse.

Those of a cluster have like images and the same lean. About these prompts nothing changes; about
prompts like these they are no more evidence than one of them.

python -m tools.calibration.clusters --sets 100 --workers 1
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.inference import Question
from t2ibench.methods.occupations import design as occupations_design
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.t2iat import design as t2iat_design
from t2ibench.methods.t2iat.schema import T2iatTask
from tools.calibration import openbias, outcomes, t2iat
from tools.calibration.cells import SETTINGS, Cell, Sample
from tools.calibration.occupations import SIDES, occupation_task
from tools.calibration.outcomes import Trial
from tools.calibration.worlds import (
    Judging,
    Query,
    Scene,
    Space,
    random_leans,
    read_needs,
)

_SPACE = Space()
_JUDGING = Judging()


@dataclass(frozen=True)
class Clusters:
    """How many stimuli belong together, and how their leans are drawn.

    Attributes:
        size: Stimuli in a cluster.
        likeness: Share of what the images of a stimulus are about that its cluster has in common,
            from 0 to 1; 1 where their images are of the same thing.
        varying: Intraclass correlation of what the images of a cluster show, which its stimuli
            share.
    """

    size: int = 4
    likeness: float = 1.0
    varying: float = 0.2

    def leans(self, rng: np.random.Generator, mean: float, count: int) -> list[float]:
        """Return the leans of some stimuli, cluster by cluster."""
        drawn = random_leans(rng, mean, self.varying, -(-count // self.size))
        leans: list[float] = np.repeat(drawn, self.size)[:count].tolist()
        return leans

    def abouts(self, rng: np.random.Generator, names: Sequence[str]) -> dict[str, str]:
        """Return what each stimulus is about: often what the others of its cluster are."""
        return {
            name: f"cluster {number // self.size} of {name[0]}"
            if rng.random() < self.likeness
            else name
            for number, name in enumerate(names)
        }


@dataclass(frozen=True)
class ClusteredAssociation:
    """A T2IAT whose stimuli are in clusters.

    Attributes:
        task: The task.
        clusters: The clusters of each concept.
        lean: Half of the difference of the concepts' mean leans, over all possible clusters.
    """

    task: T2iatTask
    clusters: Clusters
    lean: float = 0.0

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        leans: dict[str, float] = {}
        abouts: dict[str, str] = {}
        means: list[float] = []
        for side, sign in (("X", 1.0), ("Y", -1.0)):
            stimuli = getattr(self.task.concepts, side).stimuli
            drawn = self.clusters.leans(rng, sign * self.lean, len(stimuli))
            leans |= dict(zip(stimuli, drawn, strict=True))
            abouts |= self.clusters.abouts(rng, stimuli)
            means.append(float(np.mean(drawn)))
        needed = t2iat_design.needs(self.task, SETTINGS)
        scenes, texts = read_needs(needed, leans, t2iat.SIDES)
        evidence = _SPACE.evidence(rng, *_about(scenes, texts, abouts))
        truth: dict[Question, float] = {
            "fixed_prompts": (means[0] - means[1]) / 2,
            "prompt_population": self.lean,
        }
        return Sample(evidence, truth)


@dataclass(frozen=True)
class ClusteredOccupations:
    """Occupations in clusters.

    Attributes:
        task: The task.
        clusters: The clusters.
        lean: Their mean lean over all possible clusters.
    """

    task: OccupationsTask
    clusters: Clusters
    lean: float = 0.0

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        names = self.task.concept.names
        drawn = self.clusters.leans(rng, self.lean, len(names))
        leans = dict(zip(names, drawn, strict=True))
        needed = occupations_design.needs(self.task, SETTINGS)
        scenes, texts = read_needs(needed, leans, SIDES)
        abouts = self.clusters.abouts(rng, names)
        evidence = _SPACE.evidence(rng, *_about(scenes, texts, abouts))
        square = float(np.mean(np.square(drawn)))
        return Sample(evidence, {"fixed_prompts": square}, leans)


@dataclass(frozen=True)
class ClusteredCaptions:
    """Captions in clusters, and a judge without errors.

    Attributes:
        task: The task, of one bias of two classes.
        clusters: The clusters.
    """

    task: OpenBiasTask
    clusters: Clusters

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        bias = self.task.biases[0]
        captions = bias.captions or ()
        leans = self.clusters.leans(rng, 0.0, len(captions))
        queries = [
            Query(
                caption,
                self.task.images_per_prompt,
                bias.question,
                bias.classes,
                ((1 + lean) / 2, (1 - lean) / 2),
            )
            for caption, lean in zip(captions, leans, strict=True)
        ]
        # The variance of leans 2 P - 1 is four times that of P, .25 times the correlation.
        truth: dict[Question, float] = {
            "fixed_prompts": float(np.mean(np.square(leans))),
            "prompt_population": self.clusters.varying,
        }
        return Sample(_JUDGING.evidence(rng, queries), truth)


def _about(
    scenes: Sequence[Scene],
    texts: dict[str, tuple[str, float]],
    abouts: dict[str, str],
) -> tuple[list[Scene], dict[str, tuple[str, float]]]:
    """Return scenes and texts about what their clusters are about."""
    moved = [
        Scene(
            scene.prompt,
            scene.images,
            abouts.get(scene.about, scene.about),
            scene.lean,
            asked=scene.asked,
        )
        for scene in scenes
    ]
    return moved, {
        text: (abouts.get(about, about), side) for text, (about, side) in texts.items()
    }


def _association(name: str, k: int, clusters: Clusters, lean: float = 0.0) -> Trial:
    task = t2iat.association_task(k, 10, 5)
    cell = Cell(
        f"T2IAT: {name}; {k} + {k} stimuli, 10 and 5 images",
        task,
        ClusteredAssociation(task, clusters, lean),
    )
    return Trial(cell, question="prompt_population")


def _occupations(
    name: str, clusters: Clusters, score_name: str | None = None, lean: float = 0.0
) -> Trial:
    task = occupation_task(20, 16, 5)
    cell = Cell(
        f"occupations: {name}; 20 stimuli, 16 and 5 images",
        task,
        ClusteredOccupations(task, clusters, lean),
    )
    return Trial(cell, score_name=score_name, truth=lean)


def _captions(name: str, clusters: Clusters, question: Question) -> Trial:
    task = openbias.simple_task(20, 20)
    cell = Cell(
        f"OpenBias: {name}; 20 captions of 20 images",
        task,
        ClusteredCaptions(task, clusters),
    )
    return Trial(cell, question=question)


def trials() -> list[Trial]:
    """Return clusters of four in every family that is about prompts like these."""
    four, single = Clusters(), Clusters(size=1)
    loose = Clusters(likeness=0.5)
    fours = "clusters of four"
    mean = "lean_mean_prompt_population"
    return [
        _association("fair, no clusters", 20, single),
        _association(f"fair, {fours}", 8, four),
        _association(f"fair, {fours}", 20, four),
        _association(f"fair, {fours}, half of them alike", 20, loose),
        _association("lean .4, no clusters", 20, single, 0.4),
        _association(f"lean .4, {fours}", 20, four, 0.4),
        _association(f"lean .8, {fours}", 20, four, 0.8),
        _occupations(f"mean lean 0, {fours}: about others", four, mean),
        _occupations("mean lean 0, no clusters: about others", single, mean),
        _occupations(f"{fours}, about these", four),
        _captions(f"{fours}, about these", four, "fixed_prompts"),
        _captions(f"{fours}, about others", four, "prompt_population"),
        _captions("no clusters, about others", single, "prompt_population"),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    return outcomes.main(trials(), "clusters", __doc__ or "", argv)


if __name__ == "__main__":
    from tools.calibration import (
        clusters,  # by its name, so that other processes find it
    )

    sys.exit(clusters.main())
