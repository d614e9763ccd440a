"""Which models were measured alike: by encoder, judge, versions of the tasks, and settings."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import Rank
from t2ibench.apps.leaderboard.table import Entry, asked_images, borda, departures, family_ranks
from t2ibench.methods import METHODS
from t2ibench.results.display import text_only
from t2ibench.results.schema import TaskResult

AS_ASKED = "as the tasks ask"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Overall:
    """A model's rank over the families of its stratum.

    Attributes:
        best: Median of the best ranks.
        worst: Median of the worst ranks.
        families: Number of families.
        among: Number of models in the stratum that have such a rank.
    """

    best: float
    worst: float
    families: int
    among: int


@dataclass(slots=True)
class Stratum:
    """Models that were measured alike, the best ranked first.

    Attributes:
        id: Its place, as it is written in addresses.
        encoders: Name to fingerprint.
        judges: Name to fingerprint.
        tasks: Task id to hash and version of what was scored, and what was not done as it asks.
        settings: What is not as the tasks ask.
        entries: The models.
        families: Names of the families that any of them ran, tests of texts left out.
        compared: Those in which at least two are ranked.
        ranks: Id of a model to family to rank.
        overall: Id of a model to its rank over families.
        why: Id of a model without such a rank to the reason.
    """

    id: str
    encoders: dict[str, str]
    judges: dict[str, str]
    tasks: dict[str, tuple[str, int, str]]
    settings: str
    entries: list[Entry] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    ranks: dict[str, dict[str, Rank]] = field(default_factory=dict)
    overall: dict[str, Overall] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def takes(self, other: Stratum) -> bool:
        """Whether a model measured in another way was measured alike, as far as it was."""
        return (
            _fits(self.encoders, other.encoders)
            and _fits(self.judges, other.judges)
            and all(one == self.tasks.get(name, one) for name, one in other.tasks.items())
        )

    def borda(self) -> list[dict[str, Any]]:
        """Borda scores of the models with a rank in every family that is compared."""
        places = {
            name: [self.ranks[e.id].get(name) for e in self.entries] for name in self.compared
        }
        return borda(self.entries, places)

    def label(self, part: str) -> str:
        """One facet in words."""
        if part == "settings":
            return self.settings
        if part == "versions":
            found = sorted({version for _, version, _ in self.tasks.values()})
            return ", ".join(map(str, found)) or NONE
        names = self.encoders if part == "encoder" else self.judges
        return ", ".join(visible(name, 80) for name in sorted(names)) or NONE


def _fits(here: Mapping[str, str], there: Mapping[str, str]) -> bool:
    return not here or not there or here == there


def _measured(entry: Entry, asked: Mapping[str, int]) -> Stratum:
    """How one model was measured; tests of texts alone do not count."""
    tasks: dict[str, TaskResult] = {
        name: task for name, task in entry.results.tasks.items() if not text_only(task)
    }
    found = Stratum("", {}, {}, {}, "; ".join(entry.departures) or AS_ASKED)
    for name, task in tasks.items():
        found.encoders |= task.settings.encoders
        found.judges |= task.settings.judges
        unlike = "; ".join(departures({name: task}, asked))
        found.tasks[name] = (task.task_hash, task.version, unlike)
    return found


def strata(entries: Sequence[Entry], names: Sequence[str]) -> list[Stratum]:
    """Put models that were measured alike together, and rank them."""
    found: list[Stratum] = []
    asked = asked_images()
    # Who was measured in most ways says what a stratum is; the others join it.
    for entry in sorted(entries, key=lambda one: (not one.verified, -_breadth(one), one.id)):
        measured = _measured(entry, asked)
        for stratum in found:
            if stratum.takes(measured):
                stratum.encoders |= measured.encoders
                stratum.judges |= measured.judges
                stratum.tasks |= measured.tasks
                break
        else:
            stratum = measured
            found.append(stratum)
        stratum.entries.append(entry)
    found.sort(key=lambda one: (-sum(e.verified for e in one.entries), one.settings != AS_ASKED))
    for number, stratum in enumerate(found, start=1):
        stratum.id = f"s{number}"
        _rank(stratum, names)
    return found


def _breadth(entry: Entry) -> int:
    return sum(not text_only(task) for task in entry.results.tasks.values())


def _rank(stratum: Stratum, names: Sequence[str]) -> None:
    entries = stratum.entries
    stratum.families = [
        name
        for name in names
        if any(name in one.families and not one.families[name].text for one in entries)
    ]
    places = {name: family_ranks(entries, name) for name in stratum.families}
    for index, entry in enumerate(entries):
        stratum.ranks[entry.id] = {
            name: rank for name, found in places.items() if (rank := found[index]) is not None
        }
    # One model alone in a family is first of one, which says nothing.
    compared = [name for name in stratum.families if sum(map(bool, places[name])) > 1]
    stratum.compared = compared
    for entry in entries:
        ranks, problem = stratum.ranks[entry.id], _why(entry, stratum, compared)
        if problem is None:
            stratum.overall[entry.id] = Overall(
                statistics.median(ranks[name].best for name in compared),
                statistics.median(ranks[name].worst for name in compared),
                len(compared),
                0,
            )
        else:
            stratum.why[entry.id] = problem
    among = len(stratum.overall)
    stratum.overall = {
        name: Overall(one.best, one.worst, one.families, among)
        for name, one in stratum.overall.items()
    }
    stratum.entries.sort(key=lambda entry: _order(entry, stratum))


def _why(entry: Entry, stratum: Stratum, compared: Sequence[str]) -> str | None:
    """Why a model has no rank over families; None where it has one."""
    if not entry.verified:
        return entry.level
    if not compared:
        return "no other model was measured alike"
    ranks = stratum.ranks[entry.id]
    lacking = [name for name in compared if name not in ranks]
    if not lacking:
        return None
    absent = [name for name in lacking if name not in entry.families]
    titles = ", ".join(METHODS.get(name).title for name in (absent or lacking))
    return f"not run: {titles}" if absent else f"no rank in {titles}"


def _order(entry: Entry, stratum: Stratum) -> tuple[object, ...]:
    """Best rank first; what has none comes after, and what nobody verified last."""
    rank = stratum.overall.get(entry.id)
    places = stratum.ranks[entry.id].values()
    middles = [(one.best + one.worst) / 2 for one in places]
    return (
        not entry.verified,
        rank is None,
        (rank.best + rank.worst) / 2 if rank else 0.0,
        statistics.fmean(middles) if middles else 0.0,
        visible(entry.manifest.name).lower(),
        entry.id,
    )
