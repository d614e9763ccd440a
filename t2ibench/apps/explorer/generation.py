"""Inverse queries: new images of a concept, generated in the background."""

from __future__ import annotations

import itertools
import threading
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import Any

from t2ibench.apps.explorer.source import Collection, Picture, Source, picture_of_attempt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.generators import can_regenerate, create_generator
from t2ibench.models.protocols import Generator, ImageRequest
from t2ibench.pipeline.work import EncoderRun, embed, generate_images
from t2ibench.results.run import RunFolder
from t2ibench.store.images import image_seed


@dataclass(slots=True)
class Job:
    """Images of one prompt, to be generated.

    Attributes:
        id: Its number.
        source: Number of the run.
        text: The prompt.
        total: How many further images.
        done: Images generated so far.
        first: The index of the first of them; None before it is known.
        state: 'waiting', 'running', 'done' or 'failed'.
        reason: Why it failed.
    """

    id: int
    source: int
    text: str
    total: int
    done: int = 0
    first: int | None = None
    state: str = "waiting"
    reason: str = ""


class GenerationQueue:
    """Works on one job after the other, in one thread.

    The images go into the run's own store under the run's own fingerprint: `t2ibench run` on the
    exported task finds them.

    Args:
        collection: Gets the new images.
        device: Where the generator runs.
    """

    def __init__(self, collection: Collection, device: str | None = None) -> None:
        self._collection = collection
        self._device = device
        self._jobs: list[Job] = []
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Job] = SimpleQueue()
        self._generators: dict[int, Generator] = {}
        threading.Thread(target=self._work, daemon=True).start()

    def can_generate(self, number: int) -> bool:
        """Whether a source has a model that can generate more images."""
        run = self._collection.sources[number].run
        generator = run.record.generator if run and not run.record.from_objects else None
        return generator is not None and can_regenerate(generator.model)

    def start(self, number: int, text: str, count: int) -> Job:
        """Queue a job."""
        with self._lock:
            job = Job(len(self._jobs), number, text, count)
            self._jobs.append(job)
        self._waiting.put(job)
        return job

    def jobs(self) -> list[dict[str, Any]]:
        """Every job as JSON values."""
        with self._lock:
            return [asdict(job) for job in self._jobs]

    def _work(self) -> None:
        while True:
            job = self._waiting.get()
            job.state = "running"
            try:
                self._generate(job)
                job.state = "done"
            except T2IBenchError as error:
                job.state, job.reason = "failed", str(error)
            except Exception as error:  # a thread must not die unseen: the page shows the reason
                job.state, job.reason = "failed", f"{type(error).__name__}: {first_line(error)}"

    def _generator(self, number: int, run: RunFolder) -> Generator:
        if number not in self._generators:
            recorded = run.record.generator
            assert recorded is not None
            if recorded.rewriter is not None:
                raise T2IBenchError(
                    f"{recorded.name} makes images of rewritten prompts only.",
                    "Run its command with further tasks.",
                )
            generator = create_generator(
                recorded.model,
                recorded.model_args,
                seed=run.record.measurement.seed,
                device=self._device,
                dtype=recorded.settings.get("dtype"),
                recorded=True,
            )
            if generator.fingerprint != recorded.fingerprint:
                raise T2IBenchError(
                    f"{recorded.model} has changed since the run was made.",
                    "Its images would not be comparable; run it again.",
                )
            self._generators[number] = generator
        return self._generators[number]

    def _generate(self, job: Job) -> None:
        """Generate, embed and show one image after the other; one that fails ends nothing.

        The prompt's own images are kept: these are the next ones that there are not yet.
        """
        source = self._collection.sources[job.source]
        assert source.images is not None and source.run is not None
        generator = self._generator(job.source, source.run)
        seed = source.run.record.measurement.seed
        images = source.images
        missing = (index for index in itertools.count() if not images.is_done(job.text, index))
        for done, index in enumerate(itertools.islice(missing, job.total), start=1):
            job.first = index if job.first is None else job.first
            request = ImageRequest(job.text, index, image_seed(seed, job.text, index))
            images.refresh()  # a run may be adding to them
            generate_images([request], generator, images)
            attempt = images.get(job.text, index)
            if attempt is not None and attempt.status == "ok":
                self._show(picture_of_attempt(attempt, images, job.source), source, job)
            elif attempt is not None:
                job.reason = f"{attempt.status}: {attempt.reason}"
            job.done = done

    def _show(self, picture: Picture, source: Source, job: Job) -> None:
        encoder = self._collection.encoder
        report = embed([picture], [EncoderRun(encoder, source.evidence)])
        report.check()
        if report.damaged:
            job.reason = str(report.damaged[0])
            return
        self._collection.add(picture, source.evidence.get("images", picture.sha256))
