"""Records in results.json of how much the images of one prompt differ from each other."""

from __future__ import annotations

from t2ibench.results.json_record import Record


class Diversity(Record):
    """How much images of one prompt differ: 1 less the mean cosine of two different ones.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        value: Mean over prompts.
        ci_low: Lower end of its confidence interval, about exactly these prompts.
        ci_high: Upper end.
        n_prompts: Prompts with two distinct images or more.
        n_images: Their images.
        lowest_prompt: The prompt whose images differ least.
        lowest: How much they differ.
    """

    group: str | None = None
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n_prompts: int
    n_images: int
    lowest_prompt: str
    lowest: float | None
