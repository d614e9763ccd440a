"""Generate images on a server: concurrent requests, costs, and when a run has to end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any, NamedTuple

from t2ibench.errors import CostLimitError, T2IBenchError, shown
from t2ibench.models.adapter import Request
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.generators.empty_replies import EmptyReplies, Outcome
from t2ibench.models.missing_replies import MissingReplies
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.server_errors import ServerAwayError
from t2ibench.models.servers import Failure, Server, as_they_end, submit

_BATCH = 256  # images that the pipeline hands over at once; each is stored as it comes
# Replies to a request that cannot be read, as from a restarting proxy, that make it fail.
_UNREAD = 3
# An answer that takes longer than this share of the deadline does not raise the limit of requests.
_SLOW = 0.25


def refuse_recorded(request: Request[Any]) -> None:
    """Raise an error if the name of a model on a server comes from a stored file."""
    if request.recorded:
        raise T2IBenchError(
            f"{shown(request.spec)} is on a server, and its name comes from a stored file, so "
            "it is not asked: that may cost money.",
            "Name it yourself with --model.",
        )


class Throttle:
    """Limits the number of concurrent requests, and adapts the limit to the server.

    Additive increase and multiplicative decrease, after a start that doubles. It begins with one
    request, so that an error common to all costs one request. A server that asks for fewer
    requests, or does not answer, halves the limit. `deadline` is in seconds.

    Source: Chiu & Jain 1989, "Analysis of the increase and decrease algorithms for congestion
        avoidance"; RFC 5681, sections 3.1 and 3.2.

    Examples:
        >>> throttle = Throttle(16, deadline=100.0)
        >>> for _ in range(9):
        ...     throttle.answered(1.0)
        >>> throttle.limit
        10
        >>> throttle.failed(Failure("replied with status 429", limited=True))
        >>> throttle.limit
        5
    """

    def __init__(self, most: int, deadline: float) -> None:
        self._most = most
        self._slow = deadline * _SLOW
        self._limit = 1.0
        self._doubles = True

    @property
    def limit(self) -> int:
        """How many requests may run at the same time."""
        return int(self._limit)

    def answered(self, seconds: float) -> None:
        """Raise the limit of concurrent requests after an answer, unless it was slow."""
        if seconds <= self._slow:
            step = 1.0 if self._doubles else 1.0 / self._limit
            self._limit = min(float(self._most), self._limit + step)

    def failed(self, failure: Failure) -> None:
        """Halve the limit of concurrent requests if a failure shows an overloaded server."""
        if failure.limited or failure.wait is not None or not failure.answered:
            self._doubles = False
            self._limit = max(1.0, self._limit / 2)


class Received(NamedTuple):
    """What one request gave.

    Attributes:
        image: The image, or why there is none.
        cost: What the reply cost; None if that is unknown.
        empty: Whether the reply has neither image nor reason.
        unread: Whether the reply could not be read. It may have been paid, and the request is sent
            again as long as the costs allow.
    """

    image: GeneratedImage
    cost: float | None
    empty: bool = False
    unread: bool = False


class RemoteGenerator:
    """A model on a server, without the form of its requests, which subclasses add in `ask`.

    See models.protocols.Generator, GeneratesInParts and Charges.

    Args:
        name: The model as the user wrote it.
        server: The server, with its retries.
        settings: What decides an image, as JSON values.
        identity: Further JSON values of the fingerprint, among them the adapter's version.
        throttle: Limits the number of requests at a time.
        price: The price of an image; None if unknown.
        price_source: Where the price is from; '' where the user gave it.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        settings: Mapping[str, Any],
        *,
        identity: Mapping[str, Any],
        throttle: Throttle,
        price: float | None,
        price_source: str = "",
    ) -> None:
        self.name = name
        self.settings: Mapping[str, Any] = settings
        self.fingerprint = fingerprint({**identity})
        self.revision: str | None = None
        self.batch_size = _BATCH
        self._server = server
        self._price = price
        self._price_source = price_source
        # The most that a reply has cost, which may be more than the price.
        self._dearest = price or 0.0
        # Requests to come that try something out, besides those of the images.
        self._trials = 0
        self.cost: float | None = None if price is None else 0.0
        self._most: float | None = None
        self._before = 0.0
        self._throttle = throttle
        server.failed = throttle.failed
        self._missing_replies = MissingReplies()
        self._empty = EmptyReplies(server.where)

    def available(self, prompt: str) -> int | None:
        """Return None, because the server generates any number of images of a prompt."""
        return None

    async def ask(self, request: ImageRequest) -> Received:
        """Return what one request gave; raise T2IBenchError if it failed."""
        raise NotImplementedError

    def limit_cost(self, most: float, before: float = 0.0) -> None:
        """Send no request with which the total cost would exceed `most`.

        `before` is what has been spent already. See models.protocols.Charges.
        """
        if self._price is None:
            raise T2IBenchError(
                f"--max-cost: what an image of {self.name} costs is unknown.",
                "Give it: --model-args price_per_image=0.04, say.",
            )
        self._most, self._before = most, before

    def forecast(self, requests: Sequence[ImageRequest]) -> str:
        """Return a sentence that says how many requests there are and what they will cost."""
        number = len(requests) + self.trials(requests)
        what = f"{number} request{'' if number == 1 else 's'} to {self._server.where}"
        if self._price is None:
            return f"{what}; their cost is unknown (--model-args price_per_image=… tells it)."
        source = f" ({self._price_source})" if self._price_source else ""
        return (
            f"{what}, {number * self._price:,.2f} at {self._price:g} an image{source}."
        )

    def trials(self, requests: Sequence[ImageRequest]) -> int:
        """Return how many requests come besides those of images (see protocols.MakesTrials)."""
        return self._trials if requests else 0

    def price_per_image(self) -> float | None:
        """Return the price of an image; None if unknown (see models.protocols.HasPrice)."""
        return self._price

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return a decoded image for each request, of which several are sent at a time."""
        images = dict(
            pair for part in self.generate_in_parts(requests) for pair in part
        )
        return [images[number].decoded() for number in range(len(requests))]

    def generate_in_parts(
        self, requests: Sequence[ImageRequest]
    ) -> Iterator[list[tuple[int, GeneratedImage]]]:
        """Yield images, with the indexes of their requests, as soon as they are ready.

        See models.protocols.GeneratesInParts.
        """
        waiting = deque(range(len(requests)))
        began: dict[int, float] = {}  # start time of each running request
        unread: Counter[int] = Counter()  # replies to each that could not be read
        ended: T2IBenchError | None = None

        def begin(number: int) -> Future[Received]:
            began[number] = monotonic()
            return submit(self.ask(requests[number]))

        def room() -> int:
            # Each request under way, and the next one, may cost as much as the dearest so far.
            costs = self._spent + (len(began) + 1 + self._trials) * self._dearest
            affords = self._most is None or costs <= self._most * (1 + 1e-9)
            return self._throttle.limit if affords else 0

        for done in as_they_end(waiting, begin, room):
            outcomes: list[Outcome] = []
            empty: list[Outcome] = []
            for number, result in done:
                outcome = self._outcome(result, monotonic() - began.pop(number))
                if isinstance(outcome, T2IBenchError):
                    ended = ended or outcome
                elif outcome.unread and unread[number] < _UNREAD - 1:
                    unread[number] += 1
                    waiting.appendleft(number)
                else:
                    (empty if outcome.empty else outcomes).append(
                        (number, outcome.image)
                    )
            part = self._empty.settled(outcomes, empty)
            if part:
                yield part
            ended = ended or self._empty.problem(requests)
            self._empty.put_another_prompt_first(waiting, requests)
            if ended is not None:
                waiting.clear()
        ended = ended or self._empty.problem(requests, at_the_end=True)
        if ended is not None:
            raise ended
        if waiting:
            raise CostLimitError(
                f"--max-cost {self._most or 0.0:g} allows no further image: those of this run have "
                f"cost {self._spent:,.2f}.",
                "They are kept; the same command with a higher --max-cost generates the others.",
            )

    @property
    def _spent(self) -> float:
        return self._before + (self.cost or 0.0)

    def _outcome(
        self, result: Received | T2IBenchError, seconds: float
    ) -> Received | T2IBenchError:
        """Return the outcome of an image request, or the error with which the run has to end."""
        if isinstance(result, T2IBenchError):
            if isinstance(
                result, ServerAwayError
            ) and self._missing_replies.end_the_work(result):
                return result
            return Received(GeneratedImage("failed", reason=str(result)), None)
        self._missing_replies.answered()
        if not result.unread:
            self._throttle.answered(seconds)
        if result.cost is not None:
            self.cost = (self.cost or 0.0) + result.cost
            self._dearest = max(self._dearest, result.cost)
        return result
