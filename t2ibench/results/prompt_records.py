"""Agreement of images with their prompts in results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from t2ibench.results.rates import Record
from t2ibench.stats import holm


class PromptDifference(Record):
    """How much better images of one group of prompts agree than those of all other groups.

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


class PromptAgreement(Record):
    """How well images agree with their own prompts: the mean cosine of image and prompt.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        value: Mean over prompts of the mean over their images.
        ci_low: Lower end of its confidence interval.
        ci_high: Upper end.
        question: What the interval is about: prompts 'like_these', or 'these' very ones with other
            images where all share a stimulus; null without an interval.
        n_prompts: Prompts.
        n_images: Images.
        difference: Of a group from the others; null for all prompts, and where a side has fewer
            than two stimuli. Of two groups, the first has it.
    """

    group: str | None = None
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    question: Literal["these", "like_these"] | None = None
    n_prompts: int
    n_images: int
    difference: PromptDifference | None = None


def adjusted_agreements(
    tasks: Mapping[str, Mapping[str, Sequence[PromptAgreement]]],
) -> dict[str, dict[str, list[PromptAgreement]]]:
    """Agreements with the p-values of their differences adjusted over a run."""
    found = {
        name: {encoder: list(parts) for encoder, parts in task.items()}
        for name, task in tasks.items()
    }
    for encoder in dict.fromkeys(encoder for task in found.values() for encoder in task):
        having = [task[encoder] for task in found.values() if encoder in task]
        places = [
            (parts, number, part.difference)
            for parts in having
            for number, part in enumerate(parts)
            if part.difference is not None
        ]
        p_values = holm([difference.p for _, _, difference in places])
        for (parts, number, difference), p in zip(places, p_values, strict=True):
            corrected = difference.model_copy(
                update={"p_holm": None if p is None else float(f"{p:.12g}")}
            )
            parts[number] = parts[number].model_copy(update={"difference": corrected})
    return found
