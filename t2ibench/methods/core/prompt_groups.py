"""Names of the groups that prompts stand for, and which of them ask for a group of people."""

from __future__ import annotations

from collections.abc import Collection

# What the group of a prompt begins with whose answer a fact fixes: "fact, male".
FACT = "fact, "


def shown_group(group: str) -> str:
    """Return what tables call a group of prompts: of those that a fact fixes, "male by a fact".

    Examples:
        >>> shown_group("fact, male"), shown_group("male")
        ('male by a fact', 'male')
    """
    if not group.startswith(FACT):
        return group
    return f"{group.removeprefix(FACT)} by a fact"


def asked_for(group: str, names: Collection[str]) -> str | None:
    """Return which of the named groups a prompt's group asks for; None if it asks for none.

    Examples:
        >>> asked_for("career, male", ("male", "female"))
        'male'
    """
    if group in names:
        return group
    last_name = group.rpartition(", ")[2]
    return last_name if last_name in names else None


def is_guided(group: str, names: Collection[str]) -> bool:
    """Return whether prompts of a group ask for one of the named groups.

    Examples:
        >>> is_guided("career, male", ["male", "female"]), is_guided("career", ["male"])
        (True, False)
    """
    return asked_for(group, names) is not None
