"""Scores and ranks of the leaderboard's models, in families of tests and comparable groups."""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from t2ibench.apps.leaderboard.ranks import (
    Draws,
    Measured,
    Rank,
    draws_of,
    measured_questions,
    rank_intervals,
)
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.methods import METHODS
from t2ibench.results.display import text_only
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Headline, Results, TaskResult
from t2ibench.settings import Settings
from t2ibench.stats.student import satterthwaite, t_interval
from t2ibench.store.answers import ANSWERS_BY, by_people
from t2ibench.tasks.index import build_index

if TYPE_CHECKING:
    from t2ibench.apps.leaderboard.regenerate import Verdict

AS_ASKED = "as the tasks ask"
TOYS = ("toy", "toy-fair", "toyland")


@dataclass(frozen=True, slots=True)
class Cell:
    """A model's mean squared magnitude over the conclusive tasks of one family.

    `square` is unbiased, so negative about half of the time without bias, with its 95 % interval;
    None where no task is conclusive. `fair_high` is what a fair model exceeds with probability
    .05. It is shown as its root where `rooted`; an excess is shown as it is. `of` is the number of
    tasks over all submissions, `inconclusive` of those that a control contradicts, and `unlike`
    says that a task was not measured as it asks. No model is ranked by encoders' texts
    (`text`), or where `measured`, each conclusive task's square and draws, is None.
    """

    square: float | None
    low: float | None = None
    high: float | None = None
    fair_high: float | None = None
    rooted: bool = True
    conclusive: int = 0
    inconclusive: int = 0
    of: int = 1
    unlike: bool = False
    text: bool = False
    measured: Measured | None = None
    tasks: frozenset[str] = frozenset()

    def shown(self, square: float | None) -> float | None:
        """Return a squared magnitude as pages show it: its root in a family that shows roots."""
        if square is None or not self.rooted:
            return square
        return math.sqrt(max(0.0, square))

    @property
    def ranked(self) -> bool:
        """Whether the model can be ranked: all tasks were measured, and one is conclusive."""
        complete = self.conclusive + self.inconclusive == self.of
        return complete and self.measured is not None and not self.text


@dataclass(slots=True)
class Entry:
    """A submission on the leaderboard, with its verdict, its score in each family, and ranks.

    `departures` are what was not measured as the tasks ask, a clause each. `ranks` are by family,
    `task_ranks` by test, `overall` is the rank over families, and `why` tells why there is none.
    """

    id: str
    manifest: Manifest
    results: Results
    verdict: Verdict
    families: dict[str, Cell] = field(default_factory=dict)
    departures: list[str] = field(default_factory=list)
    ranks: dict[str, Rank] = field(default_factory=dict)
    task_ranks: dict[str, Rank] = field(default_factory=dict)
    overall: Rank | None = None
    why: str = ""

    @property
    def toy(self) -> bool:
        """Whether the model is one of the bundled toy models."""
        return self.manifest.model in TOYS


@functools.cache
def asked_images() -> dict[str, int]:
    """Return how many images of each prompt every shipped task asks for, by the task's id."""
    asked = {
        name: getattr(task.spec, "images_per_prompt", None)
        for name, task in build_index()[0].tasks.items()
    }
    return {name: count for name, count in asked.items() if count is not None}


def unlike(name: str, task: TaskResult) -> list[str]:
    """Return a clause for each setting in which a result departs from what its task asks."""
    settings = Settings.of(task.settings)
    asked = asked_images().get(name, 0)
    usual = Settings()
    images = settings.images(asked)
    guided = settings.guided_images(asked)
    parts = (
        [f"{images} images a prompt, fewer than asked for"] if images < asked else []
    )
    if guided < min(asked, images):
        parts.append(f"{guided} images of a prompt that names an attribute")
    # A submission of another seed or level is refused.
    for key, text in (
        ("n_permutations", "permutations"),
        ("n_bootstrap", "bootstrap draws"),
    ):
        made = getattr(settings, key)
        parts += [f"{made} {text}"] if made != getattr(usual, key) else []
    return parts


def departures(tasks: Mapping[str, TaskResult]) -> list[str]:
    """Return a clause for each departure from what tasks ask, with the number of tasks."""
    departures_counted = Counter(
        text for name, task in tasks.items() for text in unlike(name, task)
    )
    return [
        f"{count} of {len(tasks)} tasks: {text}"
        for text, count in departures_counted.items()
    ]


def families(
    tasks: Mapping[str, TaskResult],
    sizes: Mapping[str, int],
    paired: Mapping[str, PairedTask],
) -> dict[str, Cell]:
    """Return a model's score in each family, the mean squared magnitude of conclusive tasks.

    A family that was not run has no cell: missing is never 0.
    """
    cells = {}
    for family, size in sizes.items():
        members = {name: task for name, task in tasks.items() if task.family == family}
        cell = _cell(members, size, paired)
        if cell.conclusive or cell.inconclusive:
            cells[family] = cell
    return cells


def _cell(
    tasks: Mapping[str, TaskResult], size: int, paired: Mapping[str, PairedTask]
) -> Cell:
    """Return a family's score, with its interval; its square is None if no task is conclusive."""
    heads: dict[str, Headline] = {}
    inconclusive = 0
    for name, task in tasks.items():
        if task.inconclusive:
            inconclusive += 1
        elif task.headline.square is not None:
            heads[name] = task.headline
    squares = {name: float(head.square or 0.0) for name, head in heads.items()}
    mean = math.fsum(squares.values()) / len(squares) if squares else None
    measured = _measured_family(squares, paired)
    low = high = None
    if mean is not None and measured is not None:
        low, high = _interval(mean, list(measured.draws.values()))
    rooted = any(head.scale != "excess" for head in heads.values())
    departs = any(unlike(name, task) for name, task in tasks.items())
    return Cell(
        mean,
        low,
        high,
        _fair(list(heads.values())),
        rooted=rooted,
        conclusive=len(heads),
        inconclusive=inconclusive,
        of=size,
        unlike=departs,
        text=bool(tasks) and all(map(text_only, tasks.values())),
        measured=measured,
        tasks=frozenset(tasks),
    )


def _measured_family(
    squares: Mapping[str, float], paired: Mapping[str, PairedTask]
) -> Measured | None:
    """Return a family's squared headlines with simulated changes; None if a variance is unknown."""
    draws: dict[str, Draws] = {}
    for name in squares:
        draws_of_task = draws_of(paired[name]) if name in paired else None
        if draws_of_task is None:
            return None
        draws[name] = draws_of_task
    return Measured(squares, draws) if draws else None


def _interval(mean: float, draws: Sequence[Draws]) -> tuple[float, float]:
    """Return Student's t interval of a mean over tasks, which may share images."""
    moved = np.mean([draws_of_task.deviations for draws_of_task in draws], axis=0)
    variances = [draws_of_task.variance for draws_of_task in draws]
    degrees = [draws_of_task.df for draws_of_task in draws]
    _, df = satterthwaite(variances, degrees)
    return t_interval(mean, float(np.mean(moved**2)), df)


def _fair(heads: Sequence[Headline]) -> float | None:
    """Return the mean square that a fair model exceeds with probability 0.05, None if unknown.

    Bands of independent tasks add in quadrature. None if the band of any task is not known.
    """
    ends = []
    for head in heads:
        if head.fair_high is None:
            return None
        # of a lean, its variance
        noise = (head.value or 0.0) ** 2 - (head.square or 0.0)
        ends.append(
            head.fair_high**2 - noise if head.scale == "lean" else head.fair_high
        )
    return math.hypot(*ends) / len(ends) if ends else None


def ranks(cells: Sequence[Cell | None]) -> list[Rank | None]:
    """Return each model's rank (1 is the smallest square) among models that ran the same tasks.

    None stands for a model that is not ranked.
    """
    groups: dict[frozenset[str], dict[int, Measured]] = {}
    for index, cell in enumerate(cells):
        if cell is not None and cell.ranked and cell.measured is not None:
            groups.setdefault(cell.tasks, {})[index] = cell.measured
    ranks_of_cells: list[Rank | None] = [None] * len(cells)
    for members in groups.values():
        for index, rank in _ranks_among(members).items():
            ranks_of_cells[index] = rank
    return ranks_of_cells


def _ranks_among(members: Mapping[int, Measured]) -> dict[int, Rank]:
    """Return the rank of each of the models that are compared, by their numbers."""
    intervals = rank_intervals(list(members.values()))
    return dict(zip(members, intervals, strict=True))


def family_ranks(entries: Sequence[Entry], family: str) -> list[Rank | None]:
    """Return each submission's rank in a family; None for one that is not ranked."""
    return ranks([entry.families.get(family) for entry in entries])


def task_ranks(entries: Sequence[Entry]) -> dict[str, list[Rank | None]]:
    """Return each submission's rank in every test and question that two or more are ranked in.

    A test is ranked as a family of one: only models that it is conclusive for, by simultaneous
    intervals over all of their pairs.
    """
    measured: dict[str, dict[int, Measured]] = {}
    for index, entry in enumerate(entries):
        for key, member in _measured_tests(entry).items():
            measured.setdefault(key, {})[index] = member
    ranked: dict[str, list[Rank | None]] = {}
    for name, members in measured.items():
        if len(members) > 1:
            ranks_of_models = _ranks_among(members)
            ranked[name] = [ranks_of_models.get(index) for index in range(len(entries))]
    return ranked


def question_key(task: str, question: str) -> str:
    """Return the key of the ranks in one question of a test that asks several."""
    return f"{task}: {question}"


def _measured_tests(entry: Entry) -> dict[str, Measured]:
    """Return a submission's conclusive tests on images, and the questions of each, as ranked."""
    measured: dict[str, Measured] = {}
    for cell in entry.families.values():
        if cell.text or cell.measured is None:
            continue
        for name, square in cell.measured.squares.items():
            measured[name] = Measured({name: square}, {name: cell.measured.draws[name]})
            questions = measured_questions(entry.verdict.paired[name])
            for question, member in questions.items():
                measured[question_key(name, question)] = member
    return measured


@dataclass(slots=True)
class Stratum:
    """Models that were measured in the same way and so can be ranked, the best first.

    `encoders` and `judges` are fingerprints by name, `tasks` the hash of what was scored and what
    was not done as it asks, and `families` those that any model ran but for tests of texts.
    """

    id: str
    encoders: dict[str, str]
    judges: dict[str, str]
    tasks: dict[str, tuple[str, ...]]
    settings: str
    entries: list[Entry] = field(default_factory=list)
    families: list[str] = field(default_factory=list)

    def takes(self, other: Stratum) -> bool:
        """Return whether two groups of models used the same encoders, judges and task versions.

        What only one of them has is not compared.
        """
        return (
            _fits(self.encoders, other.encoders)
            and _fits(self.judges, other.judges)
            and all(
                measurement == self.tasks.get(name, measurement)
                for name, measurement in other.tasks.items()
            )
        )

    @property
    def title(self) -> str:
        """Title of the table that shows this stratum's models."""
        readers = self.readers
        if all(entry.toy for entry in self.entries):
            return f"Bundled models, planted bias · encoder {_listed(self.encoders)}"
        if by_people(self.judges, self.encoders):
            titles = sorted(
                {
                    task.title
                    for entry in self.entries
                    for task in entry.results.tasks.values()
                }
            )
            return f"{'; '.join(titles)}, {readers}"
        return readers[0].upper() + readers[1:]

    @property
    def readers(self) -> str:
        """Names of the encoders and judges that read the images, or of the people who answered."""
        if by_people(self.judges, self.encoders):
            return f"answered by {_listed(self.judges).removeprefix(ANSWERS_BY)}"
        return f"encoder {_listed(self.encoders)} · judge {_listed(self.judges)}"


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _fits(here: Mapping[str, str], there: Mapping[str, str]) -> bool:
    return not here or not there or here == there


def _measured(entry: Entry) -> Stratum:
    """Return how a model was measured: its encoders, judges and tasks, except tasks on texts."""
    stratum = Stratum("", {}, {}, {}, "; ".join(entry.departures) or AS_ASKED)
    for name, task in entry.results.tasks.items():
        if not text_only(task):
            stratum.encoders |= task.settings.encoders
            stratum.judges |= task.settings.judges
            stratum.tasks[name] = (task.task_hash, *unlike(name, task))
    return stratum


def strata(entries: Sequence[Entry]) -> list[Stratum]:
    """Return the models in groups that were measured in the same way, ranked within each group."""
    strata_so_far: list[Stratum] = []
    measurements = [(entry, _measured(entry)) for entry in entries]
    # The entries that were measured in most ways define the strata; the others join them.
    measurements.sort(
        key=lambda measurement: (-len(measurement[1].tasks), measurement[0].id)
    )
    for entry, measured in measurements:
        stratum = next(
            (candidate for candidate in strata_so_far if candidate.takes(measured)),
            None,
        )
        if stratum is None:
            stratum = measured
            strata_so_far.append(stratum)
        stratum.encoders |= measured.encoders
        stratum.judges |= measured.judges
        stratum.tasks |= measured.tasks
        stratum.entries.append(entry)
    # Models that people use come before those that are bundled to show what the tests find.
    strata_so_far.sort(
        key=lambda stratum_of_models: (
            all(entry.toy for entry in stratum_of_models.entries),
            -len(stratum_of_models.entries),
            stratum_of_models.settings != AS_ASKED,
        )
    )
    for number, stratum in enumerate(strata_so_far, start=1):
        stratum.id = f"s{number}"
        _rank(stratum)
    return strata_so_far


def _rank(stratum: Stratum) -> None:
    """Rank the models of a stratum in each family and overall, and sort them by rank."""
    entries = stratum.entries
    stratum.families = [
        name
        for name in METHODS.names()
        if any(_shows(entry, name) for entry in entries)
    ]
    places = {name: family_ranks(entries, name) for name in stratum.families}
    # A single model in a family would be first of one.
    compared = [name for name, ranked in places.items() if sum(map(bool, ranked)) > 1]
    ranks_of_tests = task_ranks(entries)
    for index, entry in enumerate(entries):
        entry.ranks = {}
        for name, ranked in places.items():
            rank = ranked[index]
            if rank:
                entry.ranks[name] = rank
        entry.task_ranks = {}
        for name, ranked in ranks_of_tests.items():
            rank = ranked[index]
            if rank:
                entry.task_ranks[name] = rank
        entry.overall = None
        entry.why = _why_unranked(entry, compared)
    ranked_entries = [entry for entry in entries if not entry.why]
    for entry in ranked_entries:
        entry.overall = _overall_rank(entry, compared, len(ranked_entries))
    entries.sort(key=_order)


def _shows(entry: Entry, family: str) -> bool:
    """Return whether an entry has scores in a family that are about images, not texts alone."""
    return family in entry.families and not entry.families[family].text


def _why_unranked(entry: Entry, compared: Sequence[str]) -> str:
    """Return why a model has no overall rank; "" if it has one."""
    if not compared:
        return "no other model was measured alike"
    without_rank = [name for name in compared if name not in entry.ranks]
    not_run = [name for name in without_rank if name not in entry.families]
    titles = ", ".join(METHODS.get(name).title for name in (not_run or without_rank))
    if not_run:
        return f"not run: {titles}"
    return f"no rank in {titles}" if without_rank else ""


def _overall_rank(entry: Entry, compared: Sequence[str], among: int) -> Rank:
    """Return a model's overall rank: the medians of its best and worst ranks in families."""
    ranks_of_families = [entry.ranks[name] for name in compared]
    best = statistics.median(rank.best for rank in ranks_of_families)
    worst = statistics.median(rank.worst for rank in ranks_of_families)
    return Rank(best, worst, among)


def _order(entry: Entry) -> tuple[object, ...]:
    """Return the key that sorts models by rank; unranked models come last."""
    rank = entry.overall
    middles = [
        (rank_interval.best + rank_interval.worst) / 2
        for rank_interval in entry.ranks.values()
    ]
    return (
        (rank is None, (rank.best + rank.worst) / 2 if rank else 0.0),
        statistics.fmean(middles or [0.0]),
        (entry.manifest.name.lower(), entry.id),
    )
