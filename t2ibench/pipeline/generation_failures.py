"""Detection of set-up errors by failing images, so that a run ends early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ALL_BLACK
from t2ibench.models.rewritten_generator import NOT_REWRITTEN

# This many failures at the start, without a success, are the set-up's fault, not the images'.
ABORT_AFTER_FAILURES = 8
_FIX = "Fix the cause and re-run the same command."


@dataclass(frozen=True, slots=True)
class GenerationFailures:
    """How many images a call generated or failed to generate, by status and reason.

    Attributes:
        attempts: Images by status.
        not_generated: Those that are none, by status and reason.
        black_prompts: The prompts whose images were all black.
    """

    attempts: Counter[str]
    not_generated: Counter[tuple[str, str]]
    black_prompts: Collection[str]

    def check_first_images(self, last_reason: str | None) -> None:
        """Raise an error if all first images failed or are black, which no prompt explains.

        An image whose prompt has no rewriting was never tried.
        """
        tried = self.attempts.total() - self._untried()
        failed = self._failed()
        black = self.not_generated["filtered", ALL_BLACK]
        if failed + black < max(tried, ABORT_AFTER_FAILURES):
            return
        if not failed and len(self.black_prompts) == 1:
            # A safety checker that does not report itself may have blackened them.
            return
        if not failed:
            raise T2IBenchError(
                f"The first {black} images are all black, whatever their prompt.",
                "Numbers overflow in float16: give --dtype float32 or bfloat16. A safety checker "
                "makes images black, too: --model-args safety_checker=false.",
            )
        reason = (last_reason or "unknown").rstrip(".")
        outcome = "all failed" if not black else "all failed or are black"
        raise T2IBenchError(
            f"The first {tried} images {outcome}; the last error: {reason}.", _FIX
        )

    def check_all_images(self) -> None:
        """Raise an error if every image that was attempted failed."""
        failed = self._failed()
        if not failed or failed != self.attempts.total() - self._untried():
            return
        (_, reason), _ = self.not_generated.most_common(1)[0]
        subject = f"All {failed} images" if failed > 1 else "The only image"
        raise T2IBenchError(f"{subject} failed: {reason.rstrip('.')}.", _FIX)

    def _failed(self) -> int:
        """Return how many attempted images failed."""
        return self.attempts["failed"] - self._untried()

    def _untried(self) -> int:
        """Return how many images were not attempted, because their prompt was not rewritten."""
        return sum(
            count
            for (status, reason), count in self.not_generated.items()
            if status == "failed" and reason.startswith(NOT_REWRITTEN)
        )
