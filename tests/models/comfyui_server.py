"""A server that speaks ComfyUI's protocol and runs graphs of its commonest nodes in toyland.

It was compared with version 0.38.1 of ComfyUI, whose code is not here. It behaves as that server
does where this is awkward, too: an equal graph runs nothing, a history without outputs, jobs that
are lost at a restart.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from t2ibench.toyland import draw
from tests.models.chat import form_of
from tests.models.images_api import running

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CHECKPOINTS = [
    "sd_xl_base_1.0.safetensors",
    "sd3.5_large.safetensors",
    *(f"model_{number}.safetensors" for number in range(25)),
]
SAMPLERS = ["euler", "dpmpp_2m", "dpmpp_2m_sde", "euler_ancestral"]
SCHEDULERS = ["normal", "karras", "simple", "sgm_uniform"]
_SEED = ["INT", {"default": 0, "min": 0, "max": 2**64 - 1}]
_TEXT = ["STRING", {"multiline": True}]
_INT = ["INT", {"default": 1, "min": 1, "max": 16384}]
_FLOAT = ["FLOAT", {"default": 1.0}]


def _file(*names: str) -> list[Any]:
    """An input that takes one of some files, in the form of 2026."""
    return ["COMBO", {"options": [*names]}]


@dataclass
class Kind:
    """A class of nodes: its inputs, and what it makes of their values."""

    inputs: dict[str, list[Any]]
    run: Callable[..., tuple[Any, ...]]
    is_output: bool = False
    is_paid: bool = False


class Instruction(str):
    """The text of a prompt, and the image that it is about."""

    image: Image.Image


def _instruction(*, prompt: str, image: Image.Image, **_: Any) -> tuple[Any, ...]:
    text = Instruction(prompt)
    text.image = image
    return (text,)


def edited(prompt: str, seed: int, source: Image.Image) -> Image.Image:
    """What the server makes of a source image: half of it is toyland's image."""
    drawn = draw(prompt, seed)
    return Image.blend(drawn, source.convert("RGB").resize(drawn.size), 0.5)


@dataclass(frozen=True)
class Latent:
    """A number of images to be drawn, or drawn."""

    batch: int
    images: tuple[Image.Image, ...] = ()


def _first(*names: str) -> Callable[..., tuple[Any, ...]]:
    return lambda **given: tuple(given.get(name) for name in names)


def _constants(*values: str) -> Callable[..., tuple[Any, ...]]:
    return lambda **_: values


def _sample(
    *, seed: int, text: str, latent: Latent, sampler: str, noise: Iterator[int]
) -> tuple[Any, ...]:
    if latent.images:  # a second stage refines what is there
        return (latent,)
    drawn = seed + next(noise) if "sde" in sampler else seed
    numbers = range(latent.batch)
    images = (
        edited(text, drawn + number, text.image)
        if isinstance(text, Instruction)
        else draw(text, drawn + number)
        for number in numbers
    )
    return (Latent(latent.batch, tuple(images)),)


def _kinds(noise: Iterator[int], inputs: dict[str, bytes]) -> dict[str, Kind]:
    """The classes of nodes that the server has."""
    model = {"model": ["MODEL"]}
    size = {"width": _INT, "height": _INT}
    latent = Kind(
        {**size, "batch_size": _INT}, lambda **given: (Latent(given["batch_size"]),)
    )
    sampling = {
        **model,
        "steps": _INT,
        "cfg": _FLOAT,
        "sampler_name": [SAMPLERS],
        "scheduler": ["COMBO", {"options": SCHEDULERS}],
        "positive": ["CONDITIONING"],
        "negative": ["CONDITIONING"],
        "latent_image": ["LATENT"],
    }

    def sampled(name: str) -> Callable[..., tuple[Any, ...]]:
        return lambda **given: _sample(
            seed=given[name],
            text=given["positive"],
            latent=given["latent_image"],
            sampler=given["sampler_name"],
            noise=noise,
        )

    return {
        "CheckpointLoaderSimple": Kind(
            {"ckpt_name": _file(*CHECKPOINTS)}, _constants("model", "clip", "vae")
        ),
        "UNETLoader": Kind(
            {
                "unet_name": _file(
                    "flux1-dev.safetensors",
                    "qwen_image_bf16.safetensors",
                    "qwen_image_edit_2509_bf16.safetensors",
                ),
                "weight_dtype": [["default", "fp8_e4m3fn"]],
            },
            _constants("model"),
        ),
        "CLIPLoader": Kind(
            {"clip_name": _file("qwen_2.5_vl_7b.safetensors")}, _constants("clip")
        ),
        "DualCLIPLoader": Kind(
            {
                "clip_name1": _file("t5xxl_fp16.safetensors", "clip_l.safetensors"),
                "clip_name2": _file("t5xxl_fp16.safetensors", "clip_l.safetensors"),
            },
            _constants("clip"),
        ),
        "TripleCLIPLoader": Kind(
            {"clip_name1": _file("clip_l.safetensors")}, _constants("clip")
        ),
        "VAELoader": Kind(
            {"vae_name": _file("ae.safetensors", "qwen_image_vae.safetensors")},
            _constants("vae"),
        ),
        "ModelSamplingFlux": Kind({**model, **size}, _first("model")),
        "ModelSamplingAuraFlow": Kind({**model, "shift": _FLOAT}, _first("model")),
        "CLIPTextEncode": Kind({"text": _TEXT, "clip": ["CLIP"]}, _first("text")),
        "CLIPTextEncodeSDXL": Kind(
            {**size, "text_g": _TEXT, "text_l": _TEXT, "clip": ["CLIP"]},
            _first("text_g"),
        ),
        "FluxGuidance": Kind(
            {"conditioning": ["CONDITIONING"], "guidance": _FLOAT},
            _first("conditioning"),
        ),
        "ConditioningZeroOut": Kind({"conditioning": ["CONDITIONING"]}, _constants("")),
        "ConditioningCombine": Kind(
            {"conditioning_1": ["CONDITIONING"], "conditioning_2": ["CONDITIONING"]},
            _first("conditioning_1"),
        ),
        "ControlNetApplyAdvanced": Kind(
            {"positive": ["CONDITIONING"], "negative": ["CONDITIONING"]},
            _first("positive", "negative"),
        ),
        "EmptyLatentImage": latent,
        "EmptySD3LatentImage": latent,
        "RepeatLatentBatch": Kind(
            {"samples": ["LATENT"], "amount": _INT},
            lambda samples, amount, **_: (Latent(samples.batch * amount),),
        ),
        "KSampler": Kind({**sampling, "seed": _SEED}, sampled("seed")),
        "KSamplerAdvanced": Kind(
            {**sampling, "noise_seed": _SEED, "add_noise": [["enable", "disable"]]},
            sampled("noise_seed"),
        ),
        "RandomNoise": Kind({"noise_seed": _SEED}, _first("noise_seed")),
        "KSamplerSelect": Kind({"sampler_name": [SAMPLERS]}, _first("sampler_name")),
        "BasicScheduler": Kind({**model, "steps": _INT}, _first("steps")),
        "BasicGuider": Kind(
            {**model, "conditioning": ["CONDITIONING"]}, _first("conditioning")
        ),
        "SamplerCustomAdvanced": Kind(
            {
                name: [name.upper()]
                for name in ("noise", "guider", "sampler", "sigmas", "latent_image")
            },
            lambda **given: _sample(
                seed=given["noise"],
                text=given["guider"],
                latent=given["latent_image"],
                sampler=given["sampler"],
                noise=noise,
            ),
        ),
        "VAEDecode": Kind(
            {"samples": ["LATENT"], "vae": ["VAE"]},
            lambda samples, **_: (samples.images,),
        ),
        "LoadImage": Kind(
            # Its list has no files of subfolders, which it takes all the same.
            {"image": _file("example.png")},
            lambda image: (Image.open(io.BytesIO(inputs[image])),),
        ),
        "ImageScale": Kind({"image": ["IMAGE"]}, _first("image")),
        "TextEncodeQwenImageEdit": Kind(
            {"prompt": _TEXT, "clip": ["CLIP"], "image": ["IMAGE"]}, _instruction
        ),
        "VAEEncode": Kind(
            {"pixels": ["IMAGE"], "vae": ["VAE"]}, lambda **_: (Latent(1),)
        ),
        "PrimitiveStringMultiline": Kind({"value": _TEXT}, _first("value")),
        "PrimitiveInt": Kind({"value": _SEED}, _first("value")),
        "SmallSeed": Kind(
            {"seed": ["INT", {"min": 0, "max": 2**32 - 1}]}, _first("seed")
        ),
        "RandomInteger": Kind({"low": _INT, "high": _INT}, _first("low")),
        "SaveImage": Kind(
            {"images": ["IMAGE"], "filename_prefix": ["STRING", {}]},
            _first(),
            is_output=True,
        ),
        "PreviewImage": Kind({"images": ["IMAGE"]}, _first(), is_output=True),
        "FluxProImageNode": Kind(
            {"prompt": _TEXT, "seed": _SEED}, _first(), is_paid=True
        ),
    }


@dataclass
class Faults:
    """What goes wrong at the server.

    Attributes:
        seconds: How long a job takes.
        quick_jobs: So many jobs take no time, and the next ones `seconds`; None for no job.
        slow_jobs: So many jobs take `seconds`, and the next ones no time; None for all jobs.
        silent_looks: So many looks at a job that has ended still find it running.
        memory_for: A word of prompts for which memory does not suffice.
        old: It has the names of errors of 2025, and takes any id.
        leaves_out: It says that a node is wrong, and goes on without it.
        closes_after: Messages after which the websocket closes; None for never.
        lost_replies: So many replies to /prompt get lost after the job was put into the queue.
        text: Characters of the workflow in the file of an image.
        refuses_uploads: It takes no source images.
        busy: So many requests are answered with status 503.
        dead: Its thread for jobs has died: it takes jobs, and runs none.
    """

    seconds: float = 0.0
    quick_jobs: int | None = None
    slow_jobs: int | None = None
    silent_looks: int = 0
    memory_for: str | None = None
    old: bool = False
    leaves_out: bool = False
    closes_after: int | None = None
    lost_replies: int = 0
    text: int = 0
    refuses_uploads: bool = False
    busy: int = 0
    dead: bool = False


@dataclass
class Job:
    """A graph in the queue."""

    number: float
    id: str
    graph: dict[str, Any]
    extra: dict[str, Any]
    interrupted: bool = False

    def entry(self) -> list[Any]:
        """The job as the queue lists it."""
        return [self.number, self.id, self.graph, self.extra, []]


class StoppedError(Exception):
    """Raised if a job is interrupted."""


@dataclass
class ComfyUi:
    """The server's state, for tests to look at and to change."""

    faults: Faults = field(default_factory=Faults)
    pending: list[Job] = field(default_factory=list)
    working: Job | None = None
    history: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    inputs: dict[str, bytes] = field(default_factory=dict)
    uploads: list[tuple[str, bool]] = field(default_factory=list)
    posted: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # that came with them
    ran: list[str] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_in_queue: int = 0
    sockets: int = 0
    version: str = "0.38.1"

    def __post_init__(self) -> None:
        self.kinds = _kinds(iter(range(1, 10**9)), self.inputs)
        self._cache: dict[str, tuple[Any, ...]] = {}
        self._clients: dict[str, asyncio.Queue[Any]] = {}
        self._looks: dict[str, int] = {}

    def clear(self) -> None:
        """Be as a server that was never asked anything and has no faults."""
        self.faults = Faults()
        self.kinds = _kinds(iter(range(1, 10**9)), self.inputs)
        self.version = "0.38.1"
        self.history, self.files = {}, {}
        self.inputs.clear()
        for notes in (
            self.posted,
            self.keys,
            self.ran,
            self.asked,
            self.headers,
            self.uploads,
        ):
            notes.clear()
        self.most_in_queue = self.sockets = 0
        self._looks.clear()

    def restart(self) -> None:
        """Forget all jobs, as at a restart."""
        self.pending.clear()
        self.history.clear()
        self._cache.clear()
        if self.working is not None:
            self.working.interrupted = True
            self.working.id = "lost"

    # What the server does with a graph.

    def signature(self, graph: dict[str, Any], node: str) -> str:
        """What decides the output of a node: all its inputs, known or not, and its ancestors."""
        inputs = {
            name: self.signature(graph, value[0]) + str(value[1])
            if isinstance(value, list)
            else value
            for name, value in graph[node]["inputs"].items()
        }
        return json.dumps([graph[node]["class_type"], inputs], sort_keys=True)

    def problems(self, graph: dict[str, Any]) -> dict[str, Any]:
        """What is wrong with the nodes of a graph, in the form of node_errors."""
        errors: dict[str, Any] = {}
        for node, value in graph.items():
            kind = self.kinds[value["class_type"]]
            for name, (type_name, *options) in kind.inputs.items():
                given = value["inputs"].get(name)
                if given is None:
                    continue
                if value["class_type"] == "LoadImage":
                    if given not in self.inputs:
                        error = {
                            "type": "custom_validation_failed",
                            "message": "Custom validation failed for node",
                            "details": f"image - Invalid image file: {given}",
                        }
                        errors[node] = {
                            "errors": [error],
                            "dependent_outputs": [],
                            "class_type": "LoadImage",
                        }
                    continue
                is_new = bool(options) and "options" in options[0]
                allowed = options[0]["options"] if is_new else type_name
                if isinstance(given, list) or not isinstance(allowed, list):
                    continue
                if given not in allowed:
                    config = None if len(allowed) > 20 else [allowed, {}]
                    error = {
                        "type": "value_not_in_list",
                        "message": "Value not in list",
                        "details": f"{name}: '{given}' not in (list of length {len(allowed)})",
                        "extra_info": {
                            "input_name": name,
                            "input_config": config,
                            "received_value": given,
                        },
                    }
                    errors[node] = {
                        "errors": [error],
                        "dependent_outputs": [],
                        "class_type": value["class_type"],
                    }
        return errors

    async def work(self) -> None:
        """Run the jobs, one after the other."""
        while True:
            while not self.pending or self.faults.dead:
                await asyncio.sleep(0.002)
            self.pending.sort(key=lambda job: job.number)
            self.working = job = self.pending.pop(0)
            self.ran.append(job.id)
            messages: list[Any] = []
            outputs: dict[str, Any] = {}
            status = "success"
            name = job.id

            def event(kind: str, data: dict[str, Any]) -> None:
                messages.append([kind, {**data, "prompt_id": name, "timestamp": 1}])  # noqa: B023
                if kind != "execution_success":
                    self._tell(job, kind, {**data, "prompt_id": name})  # noqa: B023

            try:
                await self._run(job, outputs, event)
                event("execution_success", {})
                self._tell(job, "execution_success", {"prompt_id": name})
            except StoppedError:
                status = "error"
                event(
                    "execution_interrupted", {"node_id": "3", "node_type": "KSampler"}
                )
            except MemoryError:
                status = "error"
                said = {
                    "node_id": "3",
                    "node_type": "KSampler",
                    "exception_message": "Allocation on device\nThis error means you ran out "
                    "of memory on your GPU.",
                    "exception_type": "torch.OutOfMemoryError",
                    "traceback": ['  File "execution.py", line 1, in execute\n'] * 9,
                }
                event("execution_error", said)
            # The websocket says so before the history has it.
            await asyncio.sleep(0.005)
            if job.id == name:
                self.history[name] = {
                    "prompt": job.entry(),
                    "outputs": outputs,
                    "meta": {},
                    "status": {
                        "status_str": status,
                        "completed": status == "success",
                        "messages": messages,
                    },
                }
                self._looks[name] = self.faults.silent_looks
            self.working = None
            self._tell(job, "executing", {"node": None, "prompt_id": name})

    async def _run(
        self, job: Job, outputs: dict[str, Any], event: Callable[..., None]
    ) -> None:
        graph = job.graph
        event("execution_start", {})
        signatures = {node: self.signature(graph, node) for node in graph}
        cached = [node for node in graph if signatures[node] in self._cache]
        event("execution_cached", {"nodes": cached})
        client = job.extra.get("client_id")
        results: dict[str, tuple[Any, ...]] = {}
        number, slow = len(self.ran), self.faults.slow_jobs
        is_before = number <= (self.faults.quick_jobs or 0)
        is_after = slow is not None and number > slow
        seconds = 0.0 if is_before or is_after else self.faults.seconds
        steps = max(1, int(seconds / 0.01))
        for _ in range(steps):
            await asyncio.sleep(seconds / steps)
            if job.interrupted:
                raise StoppedError
        self._preview(job)

        def result(node: str) -> tuple[Any, ...]:
            if node in results:
                return results[node]
            kind = self.kinds[graph[node]["class_type"]]
            if signatures[node] in self._cache:
                results[node] = self._cache[signatures[node]]
            else:
                inputs = {
                    name: result(value[0])[value[1]]
                    if isinstance(value, list)
                    else value
                    for name, value in graph[node]["inputs"].items()
                    if name in kind.inputs  # others are ignored
                }
                event("executing", {"node": node, "display_node": node})
                results[node] = self._made(graph, node, kind, inputs)
            return results[node]

        for node, value in graph.items():
            if not self.kinds[value["class_type"]].is_output:
                continue
            was_cached = signatures[node] in self._cache
            output = result(node)[0]
            # Without a client nobody is told, and what is cached is missing from the history.
            if not was_cached or client:
                outputs[node] = output
                event(
                    "executed", {"node": node, "display_node": node, "output": output}
                )
        # The classic cache keeps what belongs to the last graph.
        self._cache = {signatures[node]: results[node] for node in results}

    def _made(
        self, graph: dict[str, Any], node: str, kind: Kind, inputs: dict[str, Any]
    ) -> tuple[Any, ...]:
        if not kind.is_output:
            word = self.faults.memory_for
            texts = [value for value in inputs.values() if isinstance(value, str)]
            if word is not None and any(word in text for text in texts):
                raise MemoryError
            return kind.run(**inputs)
        images = []
        for image in inputs["images"]:
            chunks = PngInfo()
            chunks.add_text("prompt", json.dumps(graph))
            chunks.add_text("workflow", "w" * self.faults.text)
            buffer = io.BytesIO()
            image.save(buffer, format="PNG", pnginfo=chunks)
            prefix = inputs.get("filename_prefix", "ComfyUI_temp")
            subfolder, _, start = prefix.rpartition("/")
            name = f"{start}_{len(self.files):05}_.png"
            self.files[f"{subfolder}/{name}"] = buffer.getvalue()
            images.append({"filename": name, "subfolder": subfolder, "type": "output"})
        return ({"images": images},)

    def _preview(self, job: Job) -> None:
        """Send a preview image, in bytes, between the messages."""
        client = self._clients.get(str(job.extra.get("client_id")))
        if client is not None:
            client.put_nowait(struct.pack(">II", 1, 1) + b"\xff\xd8 no JPEG")

    def _tell(self, job: Job, kind: str, data: dict[str, Any]) -> None:
        for name, client in self._clients.items():
            if name == job.extra.get("client_id") or kind == "execution_interrupted":
                client.put_nowait({"type": kind, "data": data})

    # What it replies.

    async def prompt(self, request: Request) -> Response:
        body = await request.json()
        if "prompt" not in body:
            return _wrong("no_prompt", "No prompt provided")
        graph = body["prompt"]
        name = body.get("prompt_id") or "00000000-0000-0000-0000-000000000000"
        if not self.faults.old and not UUID.fullmatch(name):
            return _wrong("invalid_prompt_id", "prompt_id must be a valid UUID")
        for node, value in graph.items():
            if value["class_type"] not in self.kinds:
                kind = "invalid_prompt" if self.faults.old else "missing_node_type"
                words = f"Node '{value['class_type']}' not found. ID: '#{node}'"
                return _wrong(kind, words)
        if not any(
            self.kinds[value["class_type"]].is_output for value in graph.values()
        ):
            return _wrong("prompt_no_outputs", "Prompt has no outputs")
        errors = self.problems(graph)
        if errors:
            return _wrong(
                "prompt_outputs_failed_validation",
                "Prompt outputs failed validation",
                node_errors=errors,
            )
        self.keys.append(request.headers.get("x-api-key", ""))
        self.posted.append(body)
        extra = {**body.get("extra_data", {})}
        if "client_id" in body:
            extra["client_id"] = body["client_id"]
        number = float(body.get("number", len(self.posted)))
        self.pending.append(Job(number, name, graph, extra))
        self.most_in_queue = max(self.most_in_queue, len(self.pending))
        if self.faults.lost_replies:
            self.faults.lost_replies -= 1
            return Response(status_code=502)
        said = {"prompt_id": name, "number": number, "node_errors": {}}
        if self.faults.leaves_out:
            error = {"message": "Required input is missing", "details": "images"}
            said["node_errors"] = {"9": {"errors": [error], "class_type": "SaveImage"}}
        return JSONResponse(said)

    async def history_of(self, request: Request) -> Response:
        name = request.path_params["job"]
        if self._looks.get(name, 0):
            return JSONResponse({})
        return JSONResponse({name: self.history[name]} if name in self.history else {})

    async def queue(self, request: Request) -> Response:
        if request.method == "POST":
            gone = set((await request.json()).get("delete", ()))
            self.pending[:] = [job for job in self.pending if job.id not in gone]
            return Response()
        runs = [self.working.entry()] if self.working is not None else []
        for name, looks in self._looks.items():
            if looks:
                self._looks[name] = looks - 1
                runs.append([0, name, {}, {}, []])
        waits = [job.entry() for job in reversed(self.pending)]
        return JSONResponse({"queue_running": runs, "queue_pending": waits})

    async def forget(self, request: Request) -> Response:
        for name in (await request.json())["delete"]:
            self.history.pop(name, None)
        return Response()

    async def interrupt(self, request: Request) -> Response:
        try:
            name = (await request.json()).get("prompt_id")
        except ValueError:
            name = None
        # Servers of 2025 do not look at the id.
        if self.working and (self.faults.old or name in {None, self.working.id}):
            self.working.interrupted = True
        return Response()

    async def upload(self, request: Request) -> Response:
        kind = request.headers["content-type"]
        form = form_of(kind, await request.body())
        if self.faults.refuses_uploads:
            return Response(status_code=400)
        assert form["type"] == "input" and "overwrite" not in form
        name, _, data = form["image"]
        stem, _, suffix = name.rpartition(".")
        number = 0
        stored = name
        while self.inputs.get(f"{form['subfolder']}/{stored}", data) != data:
            number += 1
            stored = f"{stem} ({number}).{suffix}"
        place = f"{form['subfolder']}/{stored}"
        self.uploads.append((place, place in self.inputs))
        self.inputs[place] = data
        said = {"name": stored, "subfolder": form["subfolder"], "type": "input"}
        return JSONResponse(said)

    async def view(self, request: Request) -> Response:
        query = request.query_params
        data = self.files.get(f"{query.get('subfolder', '')}/{query['filename']}")
        if data is None:
            return Response(status_code=404)
        return Response(data, media_type="image/png")

    async def stats(self, _: Request) -> Response:
        system = {
            "os": "posix",
            "comfyui_version": self.version,
            "pytorch_version": "2.11.0+cu130",
            "argv": ["main.py", "--listen", "--force-fp16", "--output-directory", "/x"],
        }
        name = "cuda:0 NVIDIA H100 80GB HBM3 : cudaMallocAsync"
        devices = [{"name": name, "type": "cuda", "index": 0, "vram_total": 1}]
        return JSONResponse({"system": system, "devices": devices})

    async def info(self, request: Request) -> Response:
        name = request.path_params.get("kind")
        kinds = self.kinds if name is None else {name: self.kinds.get(name)}
        said = {
            kind: {
                "input": {"required": value.inputs},
                "output_node": value.is_output,
                "api_node": value.is_paid,
            }
            for kind, value in kinds.items()
            if value is not None
        }
        return JSONResponse(said)

    async def metadata(self, request: Request) -> Response:
        if request.query_params["filename"] != CHECKPOINTS[0]:
            return Response(status_code=404)
        return JSONResponse({"modelspec.hash_sha256": "0x" + "ab" * 32})

    async def socket(self, socket: WebSocket) -> None:
        await socket.accept()
        self.sockets += 1
        name = socket.query_params["clientId"]
        queue = self._clients[name] = asyncio.Queue()
        await socket.send_json({"type": "status", "data": {"sid": name}})
        sent = 0
        with suppress(WebSocketDisconnect, RuntimeError):
            while self.faults.closes_after is None or sent < self.faults.closes_after:
                message = await queue.get()
                sent += 1
                if isinstance(message, bytes):
                    await socket.send_bytes(message)
                else:
                    await socket.send_json(message)
        self._clients.pop(name, None)
        with suppress(RuntimeError):
            await socket.close()

    def app(self) -> Any:
        """The application."""

        @asynccontextmanager
        async def lifespan(_: Any) -> Any:
            task = asyncio.create_task(self.work())
            yield
            task.cancel()

        routes = [
            Route("/prompt", self.prompt, methods=["POST"]),
            Route("/history/{job}", self.history_of),
            Route("/history", self.forget, methods=["POST"]),
            Route("/queue", self.queue, methods=["GET", "POST"]),
            Route("/interrupt", self.interrupt, methods=["POST"]),
            Route("/upload/image", self.upload, methods=["POST"]),
            Route("/view", self.view),
            Route("/view_metadata/{folder}", self.metadata),
            Route("/system_stats", self.stats),
            Route("/object_info", self.info),
            Route("/object_info/{kind}", self.info),
            WebSocketRoute("/ws", self.socket),
        ]
        inner = Starlette(routes=routes, lifespan=lifespan)

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                headers = {
                    name.decode(): value.decode() for name, value in scope["headers"]
                }
                self.headers.append(headers)
                origin = urlsplit(headers.get("origin", "")).netloc
                self.asked.append((scope["method"], scope["path"], headers))
                if origin and origin != headers["host"]:
                    await Response(status_code=403)(scope, receive, send)
                    return
                if self.faults.busy:
                    self.faults.busy -= 1
                    await Response(status_code=503)(scope, receive, send)
                    return
            await inner(scope, receive, send)

        return guarded


def _wrong(kind: str, words: str, node_errors: Any = None) -> Response:
    error = {"type": kind, "message": words, "details": "", "extra_info": {}}
    return JSONResponse({"error": error, "node_errors": node_errors or {}}, 400)


@contextmanager
def comfyui(**faults: Any) -> Iterator[tuple[str, ComfyUi]]:
    """The address of a server, and its state."""
    state = ComfyUi(Faults(**faults))
    with running(state.app()) as url:
        yield url.removesuffix("/v1"), state
