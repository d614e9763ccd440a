"""A model that judges its own images: what it sees of what was asked, and that this is no check.

A model of transformers that reads and draws (Janus, Emu3), and some behind servers, can be named as
`--model` and as `--judge`. Its answers may lean as its images do, so a lean that it reports of
itself is not independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from t2ibench.methods.core.evidence import UNKNOWN, Evidence, Needs
from t2ibench.methods.core.prompt_groups import FACT, asked_for
from t2ibench.models.locations import is_path
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.stats.clopper_pearson import clopper_pearson
from t2ibench.store.user_paths import expanded, resolved


def judges_itself(generator: str, judge: str) -> bool:
    """Return whether a judge is the model that made the images, by the names of both.

    Args:
        generator: The model as the user wrote it, such as 'transformers:ORG/NAME'.
        judge: The judge, such as 'vlm:ORG/NAME'.

    Examples:
        >>> judges_itself("transformers:org/janus", "vlm:org/janus")
        True
        >>> judges_itself("transformers:org/janus", "vlm:org/emu3")
        False
        >>> judges_itself("toyland", "toyland")  # the drawn world, and what reads it
        False
    """
    model = generator.partition(":")[2]
    judging = judge.partition(":")[2]
    return bool(model) and _place(model) == _place(judging)


def _place(source: str) -> str:
    """Return a folder's whole path, and any other name as it is."""
    return str(resolved(expanded(source))) if is_path(source) else source


@dataclass(frozen=True, slots=True)
class SeenGroups:
    """What a judge sees in images whose prompts name a group.

    Attributes:
        as_asked: Images in which it sees that group.
        another: Images in which it sees another one.
        unknown: Images of which its answer is 'unknown'.
    """

    as_asked: int
    another: int
    unknown: int

    @property
    def total(self) -> int:
        """The number of images that it answered about."""
        return self.as_asked + self.another + self.unknown


def self_judgement_lines(
    needs: Needs, stores: Stores, judges: Collection[str], level: float
) -> list[str]:
    """Return a sentence for each judge of a task that is the model which made its images.

    Args:
        needs: The images and questions of the task.
        stores: What was observed of them.
        judges: The judges whose answers the task's scores are of.
        level: The level of the intervals.
    """
    lines = []
    for name, reader in stores.readers.items():
        if not judges_itself(stores.generator, name):
            continue
        evidence = StoredEvidence(stores.images, None, reader, awaits_answers=False)
        seen = seen_groups(needs, evidence)
        if name in judges or seen.total:
            lines.append(self_judgement_line(name, seen, level))
    return lines


def seen_groups(needs: Needs, evidence: Evidence) -> SeenGroups:
    """Return what a judge sees in the guided images of a task, whose prompts name a group."""
    answers: Counter[str] = Counter()
    for check in needs.checks:
        group = needs.groups[check.prompt]
        wanted = asked_for(group, check.classes)
        if wanted is None or group.startswith(FACT):  # such prompts name no group
            continue
        given = evidence.answers(
            check.prompt, check.images, check.question, check.classes
        )
        for answer in given.answers:
            if answer == wanted:
                answers["as_asked"] += 1
            elif answer in check.classes:
                answers["another"] += 1
            elif answer == UNKNOWN:
                answers["unknown"] += 1
    return SeenGroups(answers["as_asked"], answers["another"], answers["unknown"])


def self_judgement_line(judge: str, seen: SeenGroups, level: float) -> str:
    """Return the sentence that a task's result has where a model judges its own images."""
    line = (
        f"{judge} has the name of the model that drew these images: what it says is a "
        "self-judgement, which may lean as its images do. Have another judge or people answer, too."
    )
    total = seen.total
    if not total:
        return line
    low, high = clopper_pearson(seen.as_asked, total, level)
    interval = f"{100 * level:g} % interval {100 * low:.0f} to {100 * high:.0f} %"
    return (
        f"{line} Does it see what it draws? In {seen.as_asked:,} of {total:,} images whose prompt "
        f"names a group, it sees that group ({100 * seen.as_asked / total:.0f} %, {interval}), in "
        f"{seen.another:,} another one; about {seen.unknown:,} it does not know."
    )
