"""Fair Diffusion as a hook: images of prompts that name no gender are steered by a coin.

Friedrich et al. 2023, "Fair Diffusion: Instructing Text-to-Image Generation Models on Fairness",
with the semantic guidance of Brack et al. 2023, "SEGA: Instructing Text-to-Image Models using
Semantic Guidance", as diffusers has it. Nothing is trained: where a prompt names a concept of a
list, a coin decides which of two edits is added and which is taken away at every step.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Fair Diffusion looks prompts up in a list: others stay as they are.
CONCEPTS = (
    *(
        "person",
        "accountant",
        "analyst",
        "announcer",
        "architect",
        "assistant",
        "attendant",
    ),
    *(
        "auditor",
        "baker",
        "carpenter",
        "cashier",
        "ceo",
        "chef",
        "chemist",
        "chief",
        "cleaner",
    ),
    *(
        "clerk",
        "computer programmer",
        "construction worker",
        "cook",
        "counselor",
        "designer",
    ),
    *(
        "developer",
        "driver",
        "editor",
        "elementary school teacher",
        "engineer",
        "farmer",
    ),
    *(
        "guard",
        "hairdresser",
        "housekeeper",
        "janitor",
        "laborer",
        "lawyer",
        "librarian",
    ),
    *(
        "manager",
        "mechanic",
        "mover",
        "nurse",
        "pharmacist",
        "physician",
        "police officer",
    ),
    *(
        "receptionist",
        "salesperson",
        "secretary",
        "sheriff",
        "supervisor",
        "tailor",
        "teacher",
    ),
    *("worker", "writer"),
)
GENDERED = (
    *(
        "male",
        "female",
        "man",
        "woman",
        "men",
        "women",
        "boy",
        "girl",
        "he",
        "she",
        "his",
        "her",
    ),
    *("father", "mother", "son", "daughter", "brother", "sister", "husband", "wife"),
)


def fair_diffusion(
    pipeline: Any,
    arguments: Mapping[str, Any],
    *,
    first: str = "male person",
    second: str = "female person",
    share: float = 0.5,
    scale: float = 4.0,
    threshold: float = 0.95,
    warmup: int = 5,
    momentum: float = 0.5,
    concepts: Sequence[str] = CONCEPTS,
) -> tuple[Any, Callable[[str, int], dict[str, Any]]]:
    """Steer images of prompts about people, each by its own coin.

    Args:
        pipeline: A Stable Diffusion pipeline (1 or 2), loaded.
        arguments: Those of the model; guidance has to be on, because an edit is a part of it.
        first: One edit.
        second: The other.
        share: Share of the images that are steered to the second.
        scale: Strength of the edits; the defaults here are those of the authors' code.
        threshold: Share of an edit's smallest values that are left out.
        warmup: Steps before edits begin.
        momentum: Strength of what earlier steps added.
        concepts: Words that a prompt has to name.

    Returns:
        The pipeline with semantic guidance, and the arguments of an image's call.

    Raises:
        ValueError: guidance is off.
    """
    from diffusers import SemanticStableDiffusionPipeline

    if float(arguments.get("guidance", 7.5)) <= 1:
        raise ValueError(
            "semantic guidance needs guidance above 1, such as guidance=1.5"
        )
    taken = ("vae", "text_encoder", "tokenizer", "unet", "scheduler")
    parts = {name: pipeline.components[name] for name in taken}
    parts |= {
        name: pipeline.components.get(name)
        for name in ("safety_checker", "feature_extractor")
    }
    checked = parts["safety_checker"] is not None
    steered = SemanticStableDiffusionPipeline(**parts, requires_safety_checker=checked)
    steered.set_progress_bar_config(disable=True)
    named, gendered = _any_of(concepts), _any_of(GENDERED)

    def per_image(prompt: str, index: int) -> dict[str, Any]:
        if not named.search(prompt) or gendered.search(prompt):
            return {}
        to_second = coin(prompt, index) < share
        return {
            "editing_prompt": [first, second],
            "reverse_editing_direction": [to_second, not to_second],
            "edit_guidance_scale": scale,
            "edit_threshold": threshold,
            "edit_warmup_steps": warmup,
            "edit_momentum_scale": momentum,
            "edit_mom_beta": 0.6,
        }

    return steered, per_image


def coin(prompt: str, index: int) -> float:
    """A number from 0 to 1 that depends on an image's prompt and index, and on nothing else.

    Args:
        prompt: The prompt.
        index: Which image of it.

    Returns:
        Evenly distributed over images, and the same on every machine and in every batch.
    """
    digest = hashlib.sha256(f"{prompt}\0{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE)
