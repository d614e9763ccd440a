"""Make images with a workflow of ComfyUI (see models.protocols.Generator)."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.generators.comfyui.arguments import ComfyArguments, template_of
from t2ibench.models.generators.comfyui.client import ComfyServer, RejectedGraphError
from t2ibench.models.generators.comfyui.jobs import Jobs
from t2ibench.models.generators.comfyui.places import find_sources
from t2ibench.models.generators.comfyui.server_facts import (
    ServerFacts,
    read_facts,
    seed_bits,
)
from t2ibench.models.generators.comfyui.template import Template
from t2ibench.models.generators.comfyui.workflow import read_workflow
from t2ibench.models.generators.image_replies import checked_file
from t2ibench.models.generators.observed_settings import (
    ANOTHER_IMAGE,
    EQUAL_SEEDS,
    SAME_IMAGE,
    SENT,
    first_values,
    note,
)
from t2ibench.models.generators.remote import (
    Received,
    RemoteGenerator,
    Throttle,
    refuse_recorded,
)
from t2ibench.models.generators.sources import read_source
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.server_errors import one_line
from t2ibench.models.servers import submit
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import read_image

if TYPE_CHECKING:
    from t2ibench.store.images import ImageFile

_POSTS = 4  # times that an image is posted whose job is lost, stopped by others or without a file
_GOODBYE = 10.0  # seconds for cancelling jobs when a run ends
_NAMESPACE = uuid.UUID("6d9c0a0c-54a8-4f2b-9d0e-3b1f5a1c7e20")
_WORDS = 300  # characters of a node's error that are shown
_NODE = ("node_id", "node_type")
_NAME = 80  # characters of each of them that are shown


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What became of one job.

    Attributes:
        image: The image, or why there is none; None if the job has to be posted again.
        reason: Why it has to be posted again.
    """

    image: GeneratedImage | None = None
    reason: str = ""


class ComfyGenerator(RemoteGenerator):
    """A workflow on a ComfyUI server; each image is a job of its own.

    The id of a job is derived from what is asked for, so that the job of a process that was killed
    is found again, in the server's queue or its history, instead of being posted twice.

    Args:
        name: The model as the user wrote it.
        template: The workflow with its open places.
        args: The arguments.
        server: The server.
        facts: What the server says of itself.
        seed: The run's seed.
    """

    def __init__(
        self,
        name: str,
        template: Template,
        args: ComfyArguments,
        server: ComfyServer,
        facts: ServerFacts,
        seed: int,
    ) -> None:
        graph = fingerprint(template.identity())
        identity = {"seed": seed, "graph": graph, **facts.identity()}
        places = {
            "prompt": [str(place) for place in template.prompts],
            "seed_inputs": [str(item.place) for item in template.seeds],
            "image": f"{template.result.node}, output {template.result.slot}",
        }
        super().__init__(
            name,
            server,
            {**identity, **places, "url": server.base_url, **template.settings()},
            identity={"adapter": "comfyui 1", **identity},
            throttle=Throttle(args.workers, deadline=float("inf")),
            price=args.price_per_image,
        )
        self._comfy = server
        self._template = template
        self._source = args.source
        # The uploads of source images by SHA-256, each with the name that the server gave it.
        self._uploads: dict[str, asyncio.Task[str]] = {}
        self._sent: dict[str, list[str]] = {}
        self._facts = facts
        self._client = str(uuid.uuid4())
        self._jobs = Jobs(server, self._client, float(args.timeout))
        self._tell: Callable[[str], None] = lambda _: None
        # The ids of jobs whose images were returned, by request.
        self._finished: dict[ImageRequest, list[str]] = {}
        self._forgetting: list[Future[None]] = []
        self._noisy = template.noisy_sampler() if template.is_marked() else None
        self._tried = False
        self._trials = 0 if self._noisy is None else 1
        # What the image gave after which the second post was tried.
        self._with_trial: Received | None = None
        self._repeats: bool | None = None

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the settings of the workflow and the versions of the server."""
        bits = self._template.seed_bits
        seed = "one an image" + (f", its lowest {bits} bits" if bits < 63 else "")
        settings = {**self._template.settings(), **self._facts.identity(), "seed": seed}
        if self._repeats is not None:
            comparison = SAME_IMAGE if self._repeats else ANOTHER_IMAGE
            settings[EQUAL_SEEDS] = (
                f"{self._noisy}: {comparison} (tried with two posts)"
            )
        if self._sent:
            settings[SENT] = first_values(self._sent)
        return settings

    def check_edits(self) -> None:
        """Raise an error if the workflow loads no image, or several (see protocols.EditsImages)."""
        find_sources(self._template.workflow, self._source)

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Set the function that is called with messages about waits."""
        self._tell = self._jobs.tell = self._server.tell = tell

    def generate_in_parts(
        self, requests: Sequence[ImageRequest]
    ) -> Iterator[list[tuple[int, GeneratedImage]]]:
        """Yield images as they are ready; at the end, whatever was posted for others is cancelled.

        See models.protocols.GeneratesInParts. The jobs of images that were stored are taken out of
        the server's history, so that another request for them generates them again.

        Raises:
            T2IBenchError: some have a source image, and where the workflow takes it is not certain.
        """
        if any(request.source is not None for request in requests):
            self.check_edits()
        try:
            for part in super().generate_in_parts(requests):
                yield part
                stored = [requests[number] for number, _ in part]
                jobs = [job for item in stored for job in self._finished.pop(item, ())]
                self._forgetting.append(submit(self._comfy.forget(jobs)))
        finally:
            forgetting, self._forgetting = self._forgetting, []
            self._finished.clear()
            # All of them together: a server that has died answers none.
            wait([*forgetting, submit(self._jobs.close())], timeout=_GOODBYE)

    async def ask(self, request: ImageRequest) -> Received:
        """Return the image of a request, from a job that is posted, or that was posted before."""
        image = await self._image(request)
        made = image.status == "ok"
        if self._noisy is None or self._tried or not made:
            return Received(image, self._price if made else None)
        self._tried = True
        images = 1
        # The image is there, whatever becomes of the second post.
        with contextlib.suppress(T2IBenchError):
            images += await self._compare(request, image)
        cost = None if self._price is None else images * self._price
        self._with_trial = Received(image, cost)
        return self._with_trial

    def _outcome(
        self, result: Received | T2IBenchError, seconds: float
    ) -> Received | T2IBenchError:
        """Return the outcome of an image, as others; the second post is reserved until then."""
        outcome = super()._outcome(result, seconds)
        if result is self._with_trial:
            self._trials = 0
            # It is the price of two images.
            self._dearest = self._price or 0.0
        return outcome

    async def _image(self, request: ImageRequest) -> GeneratedImage:
        """Return the image of a request, posted again while its job is lost or was stopped."""
        reason = ""
        for attempt in range(_POSTS):
            job = self._id_of(request, attempt)
            before = await self._left_by_another_process(job) if not attempt else None
            outcome = before or await self._posted(request, job)
            self._finished.setdefault(request, []).append(job)
            if outcome.image is not None:
                return outcome.image
            reason = outcome.reason
        return GeneratedImage("failed", reason=f"{reason}, {_POSTS} times")

    def _id_of(self, request: ImageRequest, attempt: int) -> str:
        parts = [self.fingerprint, request.prompt, request.index, request.seed, attempt]
        parts += [] if request.source is None else [request.source.sha256]
        return str(uuid.uuid5(_NAMESPACE, "\0".join(map(str, parts))))

    async def _left_by_another_process(self, job: str) -> JobOutcome | None:
        """Return the image of a job that an earlier process posted; None if there is none."""
        queue = await self._comfy.queue()
        if job in queue.pending or job in queue.running:
            self._jobs.posted.add(job)
            return await self._ended(job)
        entry = await self._comfy.history(job)
        if entry is None:
            return None
        outcome = await self._outcome_of(entry)
        # An error may be of a server that has been mended since.
        is_good = outcome.image is not None and outcome.image.status == "ok"
        return outcome if is_good else JobOutcome(reason="an earlier job failed")

    async def _posted(self, request: ImageRequest, job: str) -> JobOutcome:
        mark = f"{job[:13]}-{secrets.token_hex(4)}"
        template = self._template
        if request.source is None:
            graph = template.graph(request.prompt, request.seed, mark)
        else:
            sources = find_sources(template.workflow, self._source)
            try:
                name = await self._uploaded(request.source)
            except UnreadableImageError as error:
                reason = f"the source image: {error}"
                return JobOutcome(GeneratedImage("failed", reason=reason))
            graph = template.graph(
                request.prompt,
                request.seed,
                mark,
                sources=sources,
                source_name=name,
            )
        self._jobs.posted.add(job)
        try:
            await self._comfy.post(graph, job, self._client)
        except RejectedGraphError:
            self._jobs.posted.discard(job)
            raise
        return await self._ended(job)

    async def _uploaded(self, source: ImageFile) -> str:
        """Return the name of a source image on the server, where it is put once.

        Raises:
            UnreadableImageError: the file cannot be read.
        """
        task = self._uploads.get(source.sha256)
        has_failed = task is not None and task.done() and _failed(task)
        if task is None or has_failed:
            task = asyncio.ensure_future(self._upload(source))
            self._uploads[source.sha256] = task
        # A request that is cancelled leaves the upload to the others that wait for it.
        return await asyncio.shield(task)

    async def _upload(self, source: ImageFile) -> str:
        file = await asyncio.to_thread(read_source, source)
        note(self._sent, file.facts())
        return await self._comfy.upload(file, source.sha256)

    async def _ended(self, job: str) -> JobOutcome:
        """Return the outcome of a job that was posted, once it has ended."""
        entry = await self._jobs.outcome(job)
        self._jobs.posted.discard(job)
        if entry is None:
            return JobOutcome(reason="ComfyUI lost the job, as after a restart")
        return await self._outcome_of(entry)

    async def _outcome_of(self, entry: Mapping[str, Any]) -> JobOutcome:
        """Return the outcome of a job from its entry in the server's history."""
        problem = _problem_of(entry)
        if problem is not None:
            return problem
        files = _files_of(entry, self._template.saver)
        if len(files) > 1:
            raise RejectedGraphError(
                f"The workflow makes {len(files)} images from one prompt and seed, of which only "
                "one would have a seed of its own.",
                "Make it give one image: a batch of 1, and no node that repeats it.",
            )
        if not files:
            return JobOutcome(reason="ComfyUI names no image in its history")
        data = await self._comfy.image(files[0])
        if data is None:
            return JobOutcome(reason="the file of the image is gone")
        return JobOutcome(await asyncio.to_thread(checked_file, data))

    async def _compare(self, request: ImageRequest, first: GeneratedImage) -> int:
        """Post a request once more, and say so if its seed does not give the same image.

        Returns:
            How many images that made: 0 or 1.
        """
        job = str(uuid.uuid4())
        outcome = await self._posted(request, job)
        self._finished.setdefault(request, []).append(job)
        second = outcome.image
        if second is None or second.data is None or first.data is None:
            return 0
        self._repeats = await asyncio.to_thread(_are_equal, first.data, second.data)
        if not self._repeats:
            self._tell(
                f"The sampler {self._noisy} gives another image for the same prompt and seed "
                "(tried with two posts): images of this run cannot be made again."
            )
        return 1


def _failed(task: asyncio.Task[str]) -> bool:
    """Return whether a task that ended has no result."""
    return task.cancelled() or task.exception() is not None


def _are_equal(first_file: bytes, second_file: bytes) -> bool:
    """Return whether two image files have the same pixels."""
    first, second = read_image(first_file), read_image(second_file)
    return first.size == second.size and first.tobytes() == second.tobytes()


def _problem_of(entry: Mapping[str, Any]) -> JobOutcome | None:
    """Return why a job has no image; None if its status says nothing is wrong."""
    status = entry.get("status")
    if not isinstance(status, Mapping) or status.get("status_str") != "error":
        return None
    messages = status.get("messages")
    for message in messages if isinstance(messages, list) else ():
        is_pair = isinstance(message, list) and len(message) == 2
        kind, data = message if is_pair else ("", None)
        if kind == "execution_interrupted":
            return JobOutcome(reason="somebody else stopped the job in ComfyUI")
        if kind == "execution_error" and isinstance(data, Mapping):
            words = str(data.get("exception_message") or data.get("exception_type"))
            node, kind = (one_line(str(data.get(name)), _NAME) for name in _NODE)
            error = one_line(words, _WORDS).rstrip(".")
            reason = f"ComfyUI: node {node} ({kind}): {error}"
            return JobOutcome(GeneratedImage("failed", reason=reason))
    return JobOutcome(
        GeneratedImage(
            "failed", reason="ComfyUI says that the job failed, without a word"
        )
    )


def _files_of(entry: Mapping[str, Any], node: str) -> list[Mapping[str, Any]]:
    """Return the image files that a node saved, from an entry in the server's history."""
    outputs = entry.get("outputs")
    output = outputs.get(node) if isinstance(outputs, Mapping) else None
    images = output.get("images") if isinstance(output, Mapping) else None
    return [
        file
        for file in (images if isinstance(images, list) else ())
        if isinstance(file, Mapping) and file.get("filename")
    ]


def create_comfyui(request: Request[ComfyArguments]) -> ComfyGenerator:
    """Return the generator of a workflow, after asking its server what it is and has."""
    refuse_recorded(request)
    template = template_of(read_workflow(request.source), request.args)
    # The generator gets a server of its own, so that a process that is forked later shares none of
    # its connections.
    facts = submit(read_facts(ComfyServer(request.args), template)).result()
    template = replace(template, seed_bits=seed_bits(template, facts.nodes))
    return ComfyGenerator(
        name=request.spec,
        template=template,
        args=request.args,
        server=ComfyServer(request.args),
        facts=facts,
        seed=request.seed,
    )


ADAPTER = Adapter(
    create=create_comfyui,
    form="comfyui:WORKFLOW.json",
    description="a workflow that a ComfyUI server runs; --model-args base_url=…",
    Args=ComfyArguments,
    libraries=("pillow",),
)
