"""Drawing image tokens from a random generator of each image, instead of one for the batch.

`generate` of transformers draws all rows of a batch from the process's random numbers, so an image
would depend on what else is in its batch. Here a logits processor draws: it leaves one token with a
likelihood, which `generate` takes, whatever its own numbers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SeededDraw:
    """Draws the next token of each row from the row's own generator.

    Attributes:
        generators: A torch.Generator on the CPU for each image, so that the numbers are the same on
            every device.
        warpers: Processors of transformers that change the distribution first, such as for a
            temperature.
        guidance: Classifier-free guidance over rows with the prompt and, in the second half of the
            rows, without it: u + guidance (c - u). None where the rows are guided already.
    """

    def __init__(
        self,
        generators: Sequence[Any],
        warpers: Sequence[Any] = (),
        guidance: float | None = None,
    ) -> None:
        self.generators = generators
        self.warpers = warpers
        self.guidance = guidance

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores in which only the drawn token of each row is possible.

        Args:
            input_ids: Tokens so far, shape (n, length).
            scores: Logits, shape (n, vocabulary), or (2n, vocabulary) with guidance.

        Returns:
            Shape (n, vocabulary): 0 at the drawn tokens, minus infinity elsewhere.
        """
        import torch

        if self.guidance is not None:
            guided, without_prompt = scores.chunk(2)
            scores = without_prompt + self.guidance * (guided - without_prompt)
        for warper in self.warpers:
            scores = warper(input_ids, scores)
        shares = torch.softmax(scores.float(), dim=-1).cpu()
        drawn = [
            torch.multinomial(row, num_samples=1, generator=generator)
            for row, generator in zip(shares, self.generators, strict=True)
        ]
        chosen = torch.full_like(scores, float("-inf"))
        places = torch.stack(drawn).to(scores.device)
        return chosen.scatter_(1, places, 0.0)


def warpers_of(
    temperature: float | None, top_k: int | None, top_p: float | None
) -> list[Any]:
    """Return the processors of transformers that change a distribution as sampling does."""
    from transformers import (
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    warpers: list[Any] = []
    if temperature is not None and temperature != 1.0:
        warpers.append(TemperatureLogitsWarper(float(temperature)))
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1.0:
        warpers.append(TopPLogitsWarper(top_p))
    return warpers
