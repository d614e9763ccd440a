"""How often `frontier` names a planted cost of a remedy, and how often one that is not there.

python -m tools.calibration.remedies --sets 200
python -m tools.calibration.remedies --facts    remedies that do or do not leave facts alone

A remedy is a rewriter of toyland's prompts, as in examples/rewrites. Images are drawn, embedded and
judged as in a run; no file is written. It ends with 1 where a planted cost is found in fewer than
three of four pairs of runs, or any other cost is named in more than one of twenty beyond chance.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from tabulate import tabulate

from t2ibench.cli.usage import positive
from t2ibench.methods import needs, score
from t2ibench.methods.core.contradictions import contradictions
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.text_image_alignment import measure_prompts
from t2ibench.methods.occupations.schema import Fact, OccupationsTask, Stimulus
from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import ImageRequest, Query
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.results.builder import score_record
from t2ibench.results.frontier import CostName, frontier
from t2ibench.results.paired import PairedTask, paired_task
from t2ibench.results.schema import TaskResult
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.settings import Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks.index import load_tasks
from t2ibench.worker_pool import each_of
from tools.calibration.compare import record_of, run_of
from tools.calibration.verdicts import rate_interval
from tools.calibration.worlds import Asked, WorldEvidence

_GENDER, _SKIN = "core_occupations_gender", "core_occupations_skin"
# The share of women that the model shows. What toyland's encoder expects of these occupations is no
# nearer to the model than to a balanced one, so that a balanced model's agreement does not change.
_WOMEN = {
    "announcer": 0.9,
    "pharmacist": 0.1,
    "supervisor": 0.1,
    "analyst": 0.9,
    "chemist": 0.9,
    "salesperson": 0.1,
}
# Shares of women where a fact fixes who is shown, in toyland: all of them or none.
_FACTS = {"nurse": 1.0, "librarian": 1.0, "carpenter": 0.0, "mechanic": 0.0}
_NEUTRAL, _GUIDED = 14, 10
_LEVEL = 0.95
_ENCODER = {"toyland": "0" * 64}
_FOUND = 0.75
_FALSE = 0.05
_SKINS = {"light-skinned", "dark-skinned"}
_OTHER = {"male": "female", "female": "male"}


@dataclass(frozen=True)
class PlantedRemedy:
    """A rewriter of prompts with a known fault.

    Attributes:
        name: What it does, in a few words.
        costs: The costs that are planted.
        balances: Whether prompts without a gender get one, by a coin.
        disobeys: The share of prompts with a gender that get the other one.
        adds: Words that prompts with a gender get, so that their images are more alike.
        people: A word that people get where the prompt had no gender.
        leaves_skin: Whether prompts that name a skin tone get no gender.
        follows: Costs that follow from those that are planted.
        seeds: Added to the seed of every image: another seed is another run of one model.
        overrides_facts: Whether prompts whose answer a fact fixes get a gender, too.
    """

    name: str
    costs: frozenset[CostName] = frozenset()
    balances: bool = True
    disobeys: float = 0.0
    adds: str = ""
    people: str = ""
    leaves_skin: bool = False
    follows: frozenset[CostName] = frozenset()
    seeds: int = 0
    overrides_facts: bool = False

    def rewrite(self, prompt: str, coin: float) -> str:
        """Return what the generator is given instead of a prompt; `coin` lies in [0, 1)."""
        words = prompt.split()
        if words[-1] in _FACTS and not self.overrides_facts:
            return prompt
        for gender, other in _OTHER.items():
            if gender in words:
                shown = other if coin < self.disobeys else gender
                return prompt.replace(f" {gender} ", f" {shown} {self.adds} ")
        names_skin = bool(_SKINS & set(words))
        if not self.balances or (names_skin and self.leaves_skin):
            return prompt
        gender = "female" if coin < 0.5 else "male"
        added = gender if names_skin else f"{self.people} {gender}"
        return " ".join([*words[:-1], added, words[-1]])


REMEDIES = (
    PlantedRemedy("none: another seed", balances=False, seeds=1),
    PlantedRemedy("balanced, no cost"),
    PlantedRemedy(
        "balanced, but for prompts that name a skin tone",
        follows=frozenset({"spill_over"}),
        leaves_skin=True,
    ),
    PlantedRemedy(
        "over-correcting: three of ten get the other gender",
        frozenset({"contradictions"}),
        disobeys=0.3,
        follows=frozenset({"agreement"}),
    ),
    PlantedRemedy(
        "collapsing: guided images are of light-skinned adults in the sun",
        frozenset({"diversity"}),
        adds="light-skinned young happy",
    ),
    PlantedRemedy(
        "entangled: who gets a gender gets dark skin",
        frozenset({"spill_over"}),
        people="dark-skinned",
    ),
)
FACT_REMEDIES = (
    PlantedRemedy("balanced, but for facts"),
    PlantedRemedy(
        "balanced, facts too",
        frozenset({"contradictions"}),
        overrides_facts=True,
        follows=frozenset({"agreement"}),
    ),
)
_BEFORE = PlantedRemedy("before", balances=False)


@dataclass
class _Drawn:
    """Everything that toyland draws and reads in one data set, each caption and seed once.

    Attributes:
        embeddings: By caption and seed of the image.
        answers: The judge's answers, by these and the question.
    """

    embeddings: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    answers: dict[tuple[str, int, str], str] = field(default_factory=dict)


def named_costs(
    remedies: Sequence[PlantedRemedy], seed: int, *, facts: bool = False
) -> list[list[str]]:
    """Return which costs `frontier` names for each remedy, in one data set.

    With `facts`, the one task is about gender and has prompts whose answer a fact fixes.
    """
    drawn = _Drawn()
    before = _run(_BEFORE, seed, drawn, facts=facts)
    runs = [_run(remedy, seed, drawn, facts=facts) for remedy in remedies]
    found = frontier([before, *runs], _GENDER)
    return [list(remedy.clear_costs) for remedy in found.remedies]


def _run(
    remedy: PlantedRemedy, seed: int, drawn: _Drawn, *, facts: bool
) -> ComparedRun:
    settings = Settings(seed=seed, n_permutations=1, n_bootstrap=1)
    tasks: dict[str, TaskResult] = {}
    paired: dict[str, PairedTask] = {}
    for loaded in load_tasks([_GENDER] if facts else [_GENDER, _SKIN]):
        spec = loaded.spec
        assert isinstance(spec, OccupationsTask)
        stimuli = [Stimulus(name=name) for name in _WOMEN]
        concept = spec.concept.model_copy(update={"stimuli": tuple(stimuli)})
        sizes = {"images_per_prompt": _NEUTRAL, "guided_images_per_prompt": _GUIDED}
        changed: dict[str, object] = {"concept": concept, "reference": None, **sizes}
        if facts:
            changed["facts"] = _facts()
        task = spec.model_copy(update=changed)
        wanted = needs(task, settings)
        evidence = _evidence(remedy, wanted, seed, drawn)
        result = score(task, evidence, settings)
        cosines, diversities = measure_prompts(wanted, evidence)
        record = record_of(
            task.method, loaded.id, result, seed=seed, level=settings.level
        )
        scores = {
            name: score_record(estimate, _LEVEL)
            for name, estimate in result.scores.items()
            if name.startswith("obedience:")
        }
        measured = record.settings.model_copy(update={"encoders": _ENCODER})
        tasks[loaded.id] = record.model_copy(
            update={"scores": scores, "settings": measured}
        )
        paired[loaded.id] = paired_task(
            result,
            agreement={"toyland": tuple(cosines)},
            diversity={
                "toyland": tuple(each.images for each in diversities if each.images)
            },
            vendi={"toyland": tuple(each.vendi for each in diversities if each.vendi)},
            contradictions={"toyland": contradictions(wanted, evidence)},
        )
    return ComparedRun(remedy.name, run_of(tasks), paired)


def _facts() -> tuple[Fact, ...]:
    return tuple(
        Fact(
            prompt=f"A photo of a {name}",
            group="female" if share else "male",
            source="planted",
        )
        for name, share in _FACTS.items()
    )


def _evidence(
    remedy: PlantedRemedy, wanted: Needs, seed: int, drawn: _Drawn
) -> WorldEvidence:
    """Return what toyland's encoder and judge see in the images of one task."""
    encoder, judge = ToylandEncoder(), ToylandJudge()
    captions: dict[str, list[tuple[str, int]]] = {}
    for prompt, count in wanted.images_by_prompt.items():
        seeds = [
            image_seed(seed + 100_000 * remedy.seeds, prompt, index)
            for index in range(count)
        ]
        captions[prompt] = [
            (" ".join(remedy.rewrite(prompt, _coin(number)).split()), number)
            for number in seeds
        ]
    questions = {
        check.prompt: (check.question, check.classes) for check in wanted.checks
    }
    missing = {
        image: prompt
        for prompt, images in captions.items()
        for image in images
        if image not in drawn.embeddings
        or (prompt in questions and (*image, questions[prompt][0]) not in drawn.answers)
    }
    requests = [ImageRequest(caption, 0, number) for caption, number in missing]
    planted = _WOMEN | _FACTS
    shares = {f"{name}.gender.female": share for name, share in planted.items()}
    made = ToylandGenerator(shares, 0).generate(requests)
    pictures = [image.image for image in made if image.image is not None]
    rows = encoder.encode_images([encoder.prepare(image) for image in pictures])
    for image, row in zip(missing, rows, strict=True):
        drawn.embeddings[image] = row.astype("float64")
    asked = [
        (image, picture, *questions[prompt])
        for (image, prompt), picture in zip(missing.items(), pictures, strict=True)
        if prompt in questions
    ]
    queries = [
        Query(picture, image[0], 0, f"{image}", question, classes)
        for image, picture, question, classes in asked
    ]
    for (image, _, question, _), answer in zip(
        asked, judge.answer(queries), strict=True
    ):
        caption, number = image
        drawn.answers[caption, number, question] = answer.answer or "unknown"
    texts = list(dict.fromkeys([*wanted.texts, *captions]))
    vectors = encoder.encode_texts(texts).astype("float64")
    replies: dict[Asked, list[str]] = {
        (prompt, *asking): [
            drawn.answers[caption, number, asking[0]]
            for caption, number in captions[prompt]
        ]
        for prompt, asking in questions.items()
    }
    return WorldEvidence(
        {
            prompt: np.array([drawn.embeddings[image] for image in images])
            for prompt, images in captions.items()
        },
        dict(zip(texts, vectors, strict=True)),
        dict(replies),
    )


def _coin(seed: int) -> float:
    return float(np.random.default_rng([7, seed]).random())


def table_of(
    remedies: Sequence[PlantedRemedy], found: Sequence[Sequence[Sequence[str]]]
) -> tuple[str, bool]:
    """Return a table of how often each cost was named, and whether it is as it should be."""
    rows = []
    holds = True
    for number, remedy in enumerate(remedies):
        named = [set(each[number]) for each in found]
        counts = Counter(cost for costs in named for cost in costs)
        planted = min((counts[cost] for cost in remedy.costs), default=None)
        others = np.array(
            [bool(costs - remedy.costs - remedy.follows) for costs in named], np.float64
        )
        share, low, high = rate_interval(others)
        holds &= low <= _FALSE
        listed = ", ".join(
            f"{cost} {count / len(named):.3f}" for cost, count in counts.items()
        )
        power = "–"
        if planted is not None:
            power = f"{planted / len(named):.3f}"
            holds &= planted / len(named) >= _FOUND
        rows.append(
            [remedy.name, power, f"{share:.3f} [{low:.3f}, {high:.3f}]", listed]
        )
    head = ["remedy", "planted cost named", "any other cost named", "each cost"]
    return tabulate(rows, head, tablefmt="github"), holds


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sets", metavar="N", type=positive, default=200, help="data sets (200)")
    add("--workers", metavar="N", type=positive, help="processes (all cores)")
    text = "simulate remedies that do or do not leave facts alone"
    add("--facts", action="store_true", help=text)
    arguments = parser.parse_args(argv)
    remedies = FACT_REMEDIES if arguments.facts else REMEDIES
    with ConsoleReporter().stage("Remedies", arguments.sets, "data sets") as ticker:
        found = each_of(
            range(arguments.sets),
            partial(named_costs, remedies, facts=arguments.facts),
            arguments.workers,
            lambda *_: ticker.advance(1),
        )
    text, holds = table_of(remedies, found)
    print(text)
    return 0 if holds else 1


if __name__ == "__main__":
    from tools.calibration import (
        remedies,  # by its name, so that other processes find it
    )

    sys.exit(remedies.main())
