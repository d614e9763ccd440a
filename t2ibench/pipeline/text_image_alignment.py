"""How well the images of a task agree with their prompts, from what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.text_image_alignment import PromptCosines, prompt_cosines
from t2ibench.pipeline.stored_evidence import Images, StoredEvidence
from t2ibench.results.rates import TextImageAlignment
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
