"""How well images agree with their prompts and how much they differ, from what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.diversity import PromptDiversity, mean_diversity, prompt_diversities
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.text_image_alignment import PromptCosines, prompt_cosines
from t2ibench.pipeline.stored_evidence import Images, StoredEvidence
from t2ibench.results.rates import Diversity, TextImageAlignment, rounded
from t2ibench.results.text_image_alignment import agreement_records
from t2ibench.store.evidence import EvidenceStore

Found = tuple[
    dict[str, list[TextImageAlignment]],
    dict[str, tuple[PromptCosines, ...]],
    dict[str, list[Diversity]],
]


def text_image_alignment(
    needs: Needs, images: Images, encoders: Mapping[str, EvidenceStore], level: float
) -> Found:
    """How well a task's images agree with their own prompts, and how much they differ.

    By each encoder: records and cosines of the first, records of the second over the task and by
    group.
    """
    records: dict[str, list[TextImageAlignment]] = {}
    cosines: dict[str, tuple[PromptCosines, ...]] = {}
    differing: dict[str, list[Diversity]] = {}
    for name, encoder in encoders.items():
        if not encoder.embeds_images:
            continue
        evidence = StoredEvidence(images, encoder)
        with suppress(MissingEvidence):
            if found := prompt_cosines(needs, evidence):
                records[name], cosines[name] = agreement_records(found, level), tuple(found)
        if prompts := prompt_diversities(needs, evidence):
            groups = dict.fromkeys(one.group for one in prompts)
            differing[name] = [_record(None, prompts, level)]
            for group in groups if len(groups) > 1 else ():
                own = [one for one in prompts if one.group == group]
                differing[name].append(_record(group, own, level))
    return records, cosines, differing


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
