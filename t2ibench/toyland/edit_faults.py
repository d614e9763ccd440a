"""The faults that can be planted in toyland's editor, each with its share of edits by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.toyland.scene import Person
from t2ibench.toyland.world import EDITS, read_share

# Each fault with what it does to an edit, in the order in which they come about.
FAULTS = {
    "refuses": "the edit is refused",
    "ignores": "the source image comes back as it was",
    "lightens": "dark skin becomes light",
    "ages": "the person becomes old",
    "crops": "the borders of the image are cut off",
}
ALL = "all"
GROUPS = (
    ALL,
    "female",
    "male",
    "androgynous",
    "dark",
    "light",
    "child",
    "adult",
    "old",
)
_FORM = (
    f"It takes {EDITS}.FAULT.GROUP=SHARE, for example {EDITS}.lightens.dark=0.3; faults are "
    f"{', '.join(FAULTS)}; groups are {', '.join(GROUPS)}."
)


@dataclass(frozen=True)
class EditFaults:
    """The share of edits with each planted fault, by the group that a source image shows.

    Attributes:
        shares: From 0 to 1, by fault and group.
    """

    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def share(self, fault: str, person: Person | None) -> float:
        """Return the share of edits of a person that have a fault.

        Args:
            fault: One of FAULTS.
            person: Who the source image shows; None for nobody.

        Returns:
            The largest share that is set for a group of this person, or for all.
        """
        groups = {ALL}
        if person is not None:
            groups |= {person.gender, person.skin, person.age}
        shares = self.shares.get(fault, {})
        return max((shares.get(group, 0.0) for group in groups), default=0.0)

    def as_args(self) -> dict[str, float]:
        """Return the faults as --model-args has them, keyed by argument and sorted."""
        return {
            f"{EDITS}.{fault}.{group}": share
            for fault, by_group in sorted(self.shares.items())
            for group, share in sorted(by_group.items())
        }


def is_fault(key: str) -> bool:
    """Return whether an argument of toyland is about faults of edits."""
    return key.partition(".")[0] == EDITS


def read_edit_faults(args: Mapping[str, str | float]) -> EditFaults:
    """Return toyland's arguments about edits as faults; others are not looked at.

    A share of 0 is the same as none, so that a fair editor has one fingerprint.

    Raises:
        T2IBenchError: a fault or group is unknown, or a share is not from 0 to 1.
    """
    shares: dict[str, dict[str, float]] = {}
    for key, text in args.items():
        if not is_fault(key):
            continue
        parts = key.split(".")
        if len(parts) != 3:
            raise T2IBenchError(
                f"--model-args: 'toyland' has no argument '{key}'.", _FORM
            )
        _, fault, group = parts
        _check_name(key, "fault", fault, tuple(FAULTS))
        _check_name(key, "group", group, GROUPS)
        share = read_share(key, text)
        if share:
            shares.setdefault(fault, {})[group] = share
    return EditFaults(shares)


def _check_name(key: str, kind: str, name: str, choices: tuple[str, ...]) -> None:
    """Raise an error with the nearest name if a name is none of `choices`."""
    if name not in choices:
        nearest = did_you_mean(name, choices)
        raise T2IBenchError(
            f"--model-args: {key}: unknown {kind} '{name}'.{nearest}", _FORM
        )
