"""Short names for vision-language models that people use as judges.

No revision is pinned: a run records the commit that the hub gave it, in the judge's fingerprint.
Sizes and licences are those of the makers' cards, the sizes rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

_BYTES = 2  # of a parameter, in 16 bits


@dataclass(frozen=True, slots=True)
class JudgeAlias:
    """A short name for a vision-language model of transformers.

    Attributes:
        source: Hub id.
        description: What it is.
        licence: Of the weights, as their makers call it.
        billions: Parameters, in billions and rounded.
    """

    source: str
    description: str
    licence: str
    billions: float

    @property
    def spec(self) -> str:
        """The judge it stands for, as it is recorded."""
        return f"vlm:{self.source}"

    def line(self) -> str:
        """Description and source, for `t2ibench ls judges`."""
        return f"{self.description} ({self.source})"

    def facts(self) -> dict[str, str]:
        """Memory of the weights in 16 bits and licence, for `t2ibench ls judges`."""
        return {"weights": f"{_BYTES * self.billions:.0f} GB", "licence": self.licence}


_APACHE = "Apache-2.0"

ALIASES: dict[str, JudgeAlias] = {
    "qwen3-vl-4b": JudgeAlias(
        "Qwen/Qwen3-VL-4B-Instruct", "Qwen3-VL 4B, the default for real models", _APACHE, 4.4
    ),
    "qwen3-vl-2b": JudgeAlias("Qwen/Qwen3-VL-2B-Instruct", "Qwen3-VL 2B", _APACHE, 2.1),
    "qwen3-vl-8b": JudgeAlias("Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL 8B", _APACHE, 8.8),
    "qwen2.5-vl-7b": JudgeAlias("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL 7B", _APACHE, 8.3),
    "internvl3.5-4b": JudgeAlias("OpenGVLab/InternVL3_5-4B-HF", "InternVL3.5 4B", _APACHE, 4.7),
    "gemma3-4b": JudgeAlias("google/gemma-3-4b-it", "Gemma 3 4B, gated", "Gemma Terms", 4.3),
    "smolvlm-2b": JudgeAlias("HuggingFaceTB/SmolVLM-Instruct", "SmolVLM 2B", _APACHE, 2.2),
    "smolvlm-500m": JudgeAlias(
        "HuggingFaceTB/SmolVLM-500M-Instruct", "SmolVLM 500M, for CPUs", _APACHE, 0.5
    ),
    "llava-onevision-7b": JudgeAlias(
        "llava-hf/llava-onevision-qwen2-7b-ov-hf", "LLaVA-OneVision 7B", _APACHE, 8.0
    ),
    "llava-1.5-7b": JudgeAlias(
        "llava-hf/llava-1.5-7b-hf", "LLaVA-1.5 7B, of published results", "Llama 2", 7.1
    ),
}
