"""What was fixed before a run, as results.json and run.db say it: looks, and a plan."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from t2ibench.results.json_record import Record
from t2ibench.settings import Measurement


class Looks(Record):
    """The looks of a run that is decided about while it grows, fixed before the first of them.

    Attributes:
        profile_sha256: SHA-256 of the profile.
        images_per_prompt: Images of the prompts that have the most, at each look.
        levels: Level of each look, of a wrong pass and of a wrong fail each.
        measurements: How each look measures: results of any other size are those of no look.
    """

    profile_sha256: str
    images_per_prompt: Annotated[list[int], Field(min_length=1)]
    levels: Annotated[list[float], Field(min_length=1)]
    measurements: list[Measurement] = Field(default_factory=list)


class LooksRecord(Looks):
    """The looks of a run, and how many of them were taken.

    Attributes:
        taken: How many looks there were.
    """

    taken: int = 0

    @property
    def fixed(self) -> Looks:
        """Return what was fixed before the first look, which results.json says."""
        return Looks(**{name: getattr(self, name) for name in Looks.model_fields})


class RegisteredPlan(Record):
    """The plan that a run was made by (`run --plan`).

    Attributes:
        sha256: SHA-256 of the plan.
        images_before: Images that the run folder had when it was first run by this plan: 0 where
            the plan was fixed before the first image.
    """

    sha256: str
    images_before: int = 0
