"""How well images agree with their prompts and how much they differ, from what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.diversity import PromptDiversity, mean_diversity, prompt_diversities
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.text_image_alignment import PromptCosines, prompt_cosines
from t2ibench.pipeline.stored_evidence import Images, StoredEvidence
from t2ibench.results.rates import Diversity, TextImageAlignment, rounded
from t2ibench.results.text_image_alignment import agreement_records

if TYPE_CHECKING:
    from t2ibench.pipeline.scoring import EncoderEvidence

Found = tuple[dict[str, list[TextImageAlignment]], dict[str, tuple[PromptCosines, ...]]]


def text_image_alignment(
    needs: Needs, images: Images | None, encoders: Mapping[str, EncoderEvidence], level: float
) -> Found:
    """Measure a task's images against their own prompts, by each encoder."""
    records: dict[str, list[TextImageAlignment]] = {}
    cosines: dict[str, tuple[PromptCosines, ...]] = {}
    if images is None or not needs.embeds or not needs.prompts:
        return records, cosines
    for name, encoder in encoders.items():
        if not encoder.embeds_images:
            continue
        try:
            found = prompt_cosines(needs, StoredEvidence(images, encoder.store))
        except MissingEvidence:
            continue
        if found:
            records[name], cosines[name] = agreement_records(found, level), tuple(found)
    return records, cosines


def diversity(
    needs: Needs, images: Images | None, encoders: Mapping[str, EncoderEvidence], level: float
) -> dict[str, list[Diversity]]:
    """How much the images of a prompt differ, by each encoder: over the task, and by group."""
    records: dict[str, list[Diversity]] = {}
    if images is None or not needs.embeds:
        return records
    for name, encoder in encoders.items():
        if not encoder.embeds_images:
            continue
        found = prompt_diversities(needs, StoredEvidence(images, encoder.store))
        groups = dict.fromkeys(one.group for one in found)
        if found:
            records[name] = [_record(None, found, level)]
        for group in groups if len(groups) > 1 else ():
            own = [one for one in found if one.group == group]
            records[name].append(_record(group, own, level))
    return records


def _record(group: str | None, prompts: Sequence[PromptDiversity], level: float) -> Diversity:
    value, interval = mean_diversity(prompts, level)
    low, high = interval or (None, None)
    least = min(prompts, key=lambda one: (one.value, one.prompt))
    return Diversity(
        group=group,
        value=rounded(value),
        ci_low=rounded(low),
        ci_high=rounded(high),
        n_prompts=len(prompts),
        n_images=sum(one.n_images for one in prompts),
        lowest_prompt=least.prompt,
        lowest=rounded(least.value),
    )
