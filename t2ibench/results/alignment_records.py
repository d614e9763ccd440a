"""Records in results.json of how well images agree with their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from t2ibench.results.json_record import Record
from t2ibench.stats import holm


class PromptDifference(Record):
    """How much better one group's images agree with their prompts than those of all other groups.

    Attributes:
        value: Difference of the mean cosines.
        ci_low: Lower end of its confidence interval.
        ci_high: Upper end.
        p: p-value that there is none.
        p_holm: Adjusted over the groups of all tasks of the run (Holm), encoder by encoder.
    """

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class TextImageAlignment(Record):
    """How well images agree with their prompts: the mean cosine of image and prompt.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        value: Mean over prompts of the mean over their images.
        ci_low: Lower end of its confidence interval.
        ci_high: Upper end.
        question: What the interval is about: 'prompt_population', prompts like these, or
            'fixed_prompts', these with other images, where all share a stimulus; null without one.
        n_prompts: Prompts.
        n_images: Images.
        difference: Of a group from the others; null for all prompts, and where a side has fewer
            than two stimuli. Of two groups, the first has it.
    """

    group: str | None = None
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    question: Literal["fixed_prompts", "prompt_population"] | None = None
    n_prompts: int
    n_images: int
    difference: PromptDifference | None = None


def adjust_agreements(
    tasks: Sequence[Mapping[str, Sequence[TextImageAlignment]]],
) -> None:
    """Set the corrected p-values of the differences between groups, over all tasks of a run.

    Holm's correction is made for each encoder.
    """
    for encoder in {encoder for task in tasks for encoder in task}:
        parts = [part for task in tasks for part in task.get(encoder, ())]
        differences = [part.difference for part in parts if part.difference is not None]
        p_values = holm([difference.p for difference in differences])
        for difference, p in zip(differences, p_values, strict=True):
            difference.p_holm = None if p is None else float(f"{p:.12g}")
