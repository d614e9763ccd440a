"""Distinguish replies without an image: a filter, or a server that generates no images."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from t2ibench.models.generators.image_replies import IN_WORDS
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.server_errors import UnusableServerError

# After this many empty replies and no image, the server is taken to generate none.
_MOST_REPLIES = 8
_MOST_PROMPTS = 5  # the same, counted in different prompts

Outcome = tuple[int, GeneratedImage]  # the number of a request, and what became of it


class EmptyReplies:
    """Holds back empty replies until an image arrives, which proves that they come from a filter.

    Before that they may come from a server that generates no images at all, and an image that is
    stored as filtered is not asked for again.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._makes_images = False
        self._held: list[Outcome] = []

    def settled(
        self, outcomes: Sequence[Outcome], empty: Sequence[Outcome]
    ) -> list[Outcome]:
        """Return the outcomes to store now: `empty` ones only once an image has arrived."""
        self._makes_images |= any(image.status == "ok" for _, image in outcomes)
        self._held += empty
        if not self._makes_images:
            return list(outcomes)
        held, self._held = self._held, []
        return [*outcomes, *held]

    def problem(
        self, requests: Sequence[ImageRequest], at_the_end: bool = False
    ) -> UnusableServerError | None:
        """Return the error that ends a run whose first replies all have no image; None to go on."""
        count = len(self._held)
        prompts = {requests[number].prompt for number, _ in self._held}
        enough = count >= _MOST_REPLIES or len(prompts) >= _MOST_PROMPTS
        if not count or not (enough or at_the_end):
            return None
        reason = str(self._held[-1][1].reason)
        in_words = reason.startswith(IN_WORDS)
        words = (
            f"words alone, such as '{reason.removeprefix(IN_WORDS).strip(': ')}'"
            if in_words
            else "neither an image nor a word why"
        )
        self._held = []
        what = "Its only reply has" if count == 1 else f"Its first {count} replies have"
        return UnusableServerError(
            f"The server {self._where} makes no images. {what} {words}.",
            "Check the name after the colon of --model, and what the server itself logs. Nothing "
            "of this is counted as filtered; the same command asks again.",
        )

    def put_another_prompt_first(
        self, waiting: deque[int], requests: Sequence[ImageRequest]
    ) -> None:
        """Move an untried prompt's request to the front: a filter rejects only some prompts."""
        prompts = {requests[number].prompt for number, _ in self._held}
        for number in waiting if prompts else ():
            if requests[number].prompt not in prompts:
                waiting.remove(number)
                waiting.appendleft(number)
                return
