"""Embedding an album's images in the background, while its pages can be looked at already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from t2ibench.apps.explorer.album import Album
from t2ibench.apps.explorer.answers import Answers
from t2ibench.apps.explorer.collection import Collection, embedded
from t2ibench.apps.explorer.start import first_state
from t2ibench.apps.explorer.tree import State
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.protocols import Encoder
from t2ibench.pipeline.progress import Reporter, Ticker, duration

Stage = Literal["working", "ready", "none", "failed"]
_PACE_AFTER = 3.0  # seconds of a stage, after which the time that is left is estimated

_END_WITHIN = (
    5.0  # seconds in which the embedding ends, or is left to the end of the process
)


@dataclass(slots=True)
class Progress:
    """How much of a stage is done.

    Attributes:
        name: What is being done, such as 'Embedding images'.
        total: Of how many.
        done: How many.
        begun: When it began.
    """

    name: str
    total: int
    done: int
    begun: float

    def in_words(self) -> str:
        """Return the progress as a sentence, with the time that is left once a pace is known."""
        if not self.total:
            return f"{self.name}."
        words = f"{self.name}: {self.done:,} of {self.total:,}"
        passed = time.monotonic() - self.begun
        if self.done and passed > _PACE_AFTER:
            left = duration((self.total - self.done) * passed / self.done)
            words += f", about {left} left"
        return f"{words}."


class WatchedReporter:
    """Reports to another reporter, and remembers the progress of the last stage."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.progress = Progress("Loading the encoder", 0, 0, time.monotonic())

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show a stage's progress in the terminal, and count it for the pages."""
        self.progress = Progress(name, total, 0, time.monotonic())
        with self._reporter.stage(name, total, unit) as ticker:
            yield _Counter(ticker, self.progress)

    def say(self, text: str) -> None:
        """Write one line."""
        self._reporter.say(text)

    def warn(self, text: str) -> None:
        """Write one line, marked as a warning."""
        self._reporter.warn(text)


@dataclass(frozen=True, slots=True)
class _Counter:
    ticker: Ticker
    progress: Progress

    def advance(self, count: int) -> None:
        self.ticker.advance(count)
        self.progress.done += count


class Preparation:
    """What the pages about words need: the embeddings of all images, and an encoder.

    `stage` is 'working' until these are there, 'none' without an encoder, 'failed' after an error.
    """

    def __init__(self, album: Album, anchors: Sequence[str] | None = None) -> None:
        self._album = album
        self._anchors = anchors
        self._answers: Answers | None = None
        self._start: State | None = None
        self._reporter: WatchedReporter | None = None
        self._reason = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.stage: Stage = "working"

    @classmethod
    def of(cls, collection: Collection) -> Preparation:
        """Return the preparation of images that are embedded already."""
        preparation = cls(collection.album)
        preparation._finish(collection)
        return preparation

    def refuse(self, reason: str) -> None:
        """Say why no words can be compared with the images."""
        self.stage = "none"
        self._reason = reason

    def begin(self, encoder: Callable[[], Encoder], reporter: Reporter) -> None:
        """Load the encoder and embed the images that are not, in a thread of its own."""
        watched = WatchedReporter(reporter)
        self._reporter = watched

        def work() -> None:
            try:
                loaded = encoder()
                stopping = self._ended.is_set
                self._finish(embedded(self._album, loaded, watched, stopping))
            except Exception as error:  # a page says it; the others stay open
                self._fail(error, watched)

        self._thread = threading.Thread(target=work, daemon=True, name="embedding")
        self._thread.start()

    def end(self) -> None:
        """End the embedding after the images that are in work, and wait a few seconds for that."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_END_WITHIN)

    def state(self) -> dict[str, Any]:
        """Return the stage, and in words what is done, missing or wrong."""
        words = self._reason
        progress = self._reporter.progress if self._reporter else None
        if self.stage == "working" and progress is not None:
            words = progress.in_words()
        share = progress.done / progress.total if progress and progress.total else None
        return {"stage": self.stage, "words": words, "share": share}

    def answers(self) -> Answers:
        """Return the answers about words; raise an error while there are none."""
        if self._answers is None:
            raise T2IBenchError(
                self.state()["words"] or "The images are not embedded yet."
            )
        return self._answers

    def start(self) -> State:
        """Return the initial state of the page about words."""
        if self._start is None:
            self._start = first_state(self._album, self._anchors)
        return self._start

    def _finish(self, collection: Collection) -> None:
        anchors = [anchor.prompt for anchor in self.start().anchors]
        self._answers = Answers(collection, anchors)
        self.stage = "ready"

    def _fail(self, error: Exception, reporter: Reporter) -> None:
        """Store why there are no embeddings, and say it unless somebody has ended the work."""
        if self._ended.is_set():
            return
        is_expected = isinstance(error, T2IBenchError)
        self._reason = (
            str(error)
            if is_expected
            else f"{type(error).__name__}: {first_line(error)}"
        )
        self.stage = "failed"
        reporter.warn(f"Words cannot be compared with the images: {self._reason}")
