"""Shares of images in results.json: what a model refused, filtered and rewrote."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of every part of results.json; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Rate(Record):
    """A share of images; its interval is about these very prompts.

    Attributes:
        count: Images.
        total: Of so many.
        share: Mean over prompts of their shares.
        ci_low: Lower end of the confidence interval.
        ci_high: Upper end.
    """

    count: int
    total: int
    share: float | None
    ci_low: float | None
    ci_high: float | None


class Treatment(Record):
    """What a model did with prompts; images that failed do not count.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        n_prompts: Prompts.
        refused: Images that the model refused to make.
        filtered: Images that a filter took.
        revised: Images made from a prompt that the model had rewritten, of those of which it says
            what prompt it used; null where it says that of none.
    """

    group: str | None = None
    n_prompts: int
    refused: Rate
    filtered: Rate
    revised: Rate | None = None
