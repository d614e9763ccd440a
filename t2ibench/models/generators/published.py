"""Published speeds of models, for estimates; none of them was measured here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedSpeed:
    """How long an image took somebody.

    Attributes:
        seconds: For an image, alone in its batch, at the model's own size.
        steps: Denoising steps of it.
        gpu: On what.
        source: Who says so.
    """

    seconds: float
    steps: int
    gpu: str
    source: str

    def at(self, steps: int | None) -> float:
        """Seconds for an image of other steps, as if the steps were all of the time.

        Examples:
            >>> PublishedSpeed(6.0, 50, "A100", "").at(25)
            3.0
        """
        return self.seconds * (steps or self.steps) / self.steps


_FAL = "github.com/fal-ai/stable-diffusion-benchmarks"
_A100 = "A100 80 GB, float16, diffusers"
# Alias to speed. Only unchanged pipelines of diffusers, whose source says steps and GPU.
PUBLISHED: dict[str, PublishedSpeed] = {
    "sd15": PublishedSpeed(1.591, 50, _A100, _FAL),
    "sdxl": PublishedSpeed(5.933, 50, _A100, _FAL),
}
