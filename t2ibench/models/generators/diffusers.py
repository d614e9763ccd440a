"""The generator for pipelines that diffusers loads: of prompts, and of source images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import (
    card_memory,
    choose_device,
    free_memory,
    model_dtype,
    use_deterministic_kernels,
)
from t2ibench.models.downloads import Download, LoraFiles, PipelineFiles
from t2ibench.models.fingerprint import (
    file_hash,
    fingerprint,
    folder_hash,
    hub_revision,
    in_background,
)
from t2ibench.models.generators import hooks
from t2ibench.models.generators.batches import (
    LARGEST,
    BatchSize,
    out_of_memory,
    suited_batch_size,
)
from t2ibench.models.generators.checked_pixels import checked_image
from t2ibench.models.generators.editing_pipelines import (
    SourceImages,
    check_edits,
    check_prompts,
    check_sources,
    edit_call,
    editor_of,
)
from t2ibench.models.generators.effects import check_effects
from t2ibench.models.generators.pipeline_arguments import DiffusersArguments
from t2ibench.models.generators.pipeline_classes import (
    makes_several,
    mixes_prompts,
    prompt_argument,
    takes_one_image,
)
from t2ibench.models.generators.pipelines import (
    call_of,
    class_name_of_pipeline,
    class_of_pipeline,
    cpu_weights_of_folder,
    effective_settings,
    fetch_pipeline,
    image_pixels,
    images_of,
    load_pipeline,
    one_a_row,
    weight_bytes,
)
from t2ibench.models.generators.prompts import EncodedPrompts, encode_once
from t2ibench.models.generators.readings import PromptReader
from t2ibench.models.locations import exists, is_hub_id, is_path, no_folder
from t2ibench.models.protocols import (
    GeneratedImage,
    ImageRequest,
    TowerReading,
)
from t2ibench.store.user_paths import expanded

_VERSION = 1
# Settings of where weights are kept, which affect no image.
_PLACES = ("offload", "load.device_map", "load.max_memory")
_WITH_HOOK = 4  # calls that one batch may be divided into
_UNFIXED = 8  # images at once on a GPU where no run fixes their number
_NOT_ONE_BY_ONE = (AttributeError, TypeError)


class DiffusersGenerator:
    """Generates images with a pipeline of diffusers (see models.protocols.Generator).

    Every image has its own generator on the CPU, seeded with the request's seed, so its noise is
    the same on every device and in every batch. A run fixes how many images a call generates, and a
    small model brings that number along; the last batch is then filled up, so that an image does
    not depend on what else was missing. No hook is imported where the request comes from a stored
    run. `load` makes the pipeline in tests.
    """

    def __init__(
        self,
        request: Request[DiffusersArguments],
        load: Callable[[], Any] | None = None,
    ) -> None:
        source = request.source
        self._source = source
        self._args = request.args
        self._hook = hooks.find_hook(self._args, recorded=request.recorded)
        self._per_image: hooks.PerImage | None = None
        self._device = choose_device(request.device)
        self._dtype = model_dtype(request.dtype, self._device)
        self._load = load or (
            lambda: load_pipeline(
                source, self._args, self._device, self._dtype, self._class()
            )
        )
        self._pipeline: Any = None
        self._is_made_by_caller = load is not None
        self._kind: type[Any] | None = None
        self._sources = SourceImages(())
        # What becomes of source images, once there was one.
        self._edits: str | None = None
        self._has_effects = False  # whether the settings were shown to change images
        self._shape: tuple[int, ...] | None = None
        self._is_deterministic = request.deterministic
        self._of_alias = request.fixed_batch
        self._batch = BatchSize(
            request.fixed_batch, is_fixed=request.fixed_batch is not None
        )
        self.name = request.spec
        lora = self._lora_hash()  # a typo is found before the hub is asked anything
        # Tasks are read while a folder's weights are hashed.
        self._weights = in_background(lambda: self._identity_of(source))
        settings = {**self._args.given(), "dtype": self._dtype, "seed": request.seed}
        settings |= {"hook_sha256": self._hook.digest} if self._hook else {}
        settings |= {"deterministic": True} if request.deterministic else {}
        for place in _PLACES:
            settings.pop(place, None)
        self.settings: Mapping[str, Any] = settings
        self._lora = lora
        self._prompts: EncodedPrompts | None = None
        self._reader: PromptReader | None = None
        self._unread: dict[str, Sequence[TowerReading]] = {}

    @property
    def batch_size(self) -> int:
        """The number of images to ask for at once, so that all calls but the last are full."""
        size = self._batch.size
        if size is None and self._on_cuda:
            size = LARGEST if self._batch.is_fixed else _UNFIXED
        # A hook divides them into calls of their own, and calls of a fixed size should be full.
        return (size or 1) * (_WITH_HOOK if self._hook and self._batch.is_fixed else 1)

    def fix_batch_size(self, size: int | None, *, recorded: bool = False) -> None:
        """Generate the same number of images in each call (see models.protocols.FixesBatchSize)."""
        if self._of_alias is not None:
            return  # it is the model's own, and part of it
        if size is None and not self._on_cuda:
            size = 1
        self._batch = BatchSize(size, is_fixed=True, is_final=recorded)

    @property
    def _on_cuda(self) -> bool:
        return self._device.startswith("cuda")

    def _suited_batch_size(self) -> int:
        """Return how many images to generate at once, for the pipeline and its card."""
        if not makes_several(self._pipeline):
            return 1
        precision = {"float32": 4}.get(self._dtype, 2)
        return suited_batch_size(
            image_pixels(self._pipeline, self._args),
            bytes_per_number=precision,
            weights=weight_bytes(self._pipeline, self._args),
            memory=card_memory(self._device),
            one_prompt=not mixes_prompts(self._pipeline),
        )

    def _identity_of(self, source: str) -> tuple[str, Any]:
        """Return the revision of the weights, and what identifies them in the fingerprint."""
        if Path(source).is_dir():
            weights = folder_hash(Path(source))
            return weights[:16], weights
        revision = hub_revision(source, self._args.revision)
        return revision, [source, revision]

    @property
    def revision(self) -> str | None:
        """The commit of the hub's repository, or the start of a folder's hash."""
        return self._weights()[0]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides an image (see models.protocols.Generator)."""
        return fingerprint(
            adapter=f"diffusers {_VERSION}",
            weights=self._weights()[1],
            settings=self.settings,
            lora=self._lora,
        )

    def _lora_hash(self) -> str | None:
        lora = self._args.lora
        if lora is None:
            return None
        if exists(lora):
            path = expanded(lora)
            return folder_hash(path) if path.is_dir() else file_hash(path)
        if is_path(lora) or not is_hub_id(lora) or lora.endswith(".safetensors"):
            raise T2IBenchError(
                f"--model-args: lora={shown(lora)}: no such file or folder.",
                "Give a safetensors file, a folder, or a hub id ORG/NAME.",
            )
        return f"{lora}@{hub_revision(lora, None)}"

    def available(self, prompt: str) -> int | None:
        """Return None, because the model generates any number of images of a prompt."""
        return None

    def release(self) -> None:
        """Free the memory of the weights; the next use loads them again."""
        if self._pipeline is None:
            return
        self._pipeline = self._prompts = self._reader = None
        free_memory()

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the settings that the pipeline uses, with defaults; empty before it is loaded."""
        if self._pipeline is None:
            return {}
        settings = effective_settings(
            self._pipeline, self._args, self._dtype, self._shape
        )
        if self._batch.is_fixed and self._of_alias is None:
            settings["batch_size"] = self._batch.size
        if self._is_deterministic:
            settings["deterministic"] = True
        if self._edits is not None:
            settings["source_image"] = self._edits
        return settings

    def check_edits(self) -> None:
        """Raise an error if the pipeline's class edits no image (see models.protocols.EditsImages).

        The class is the one of its model_index.json.
        """
        name = self._class_name()
        if name is not None:
            check_edits(name, self._source)

    def check_prompts(self) -> None:
        """Raise an error if the pipeline needs a source image (models.protocols.ChecksPrompts)."""
        name = self._class_name()
        if name is not None:
            check_prompts(name, self._source, self._args)

    def _class_name(self) -> str | None:
        """Return the name of the pipeline's class; None if it is not known before it is loaded.

        It is read without diffusers where possible, whose import takes seconds.
        """
        if (
            self._kind is None
            and self._pipeline is None
            and not self._is_made_by_caller
        ):
            return class_name_of_pipeline(self._source, self._args)
        kind = self._class()
        return None if kind is None else kind.__name__

    def _class(self) -> type[Any] | None:
        """Return the pipeline's class; None if it is not known before it is loaded."""
        if self._pipeline is not None:
            return type(self._pipeline)
        if self._kind is None and not self._is_made_by_caller:
            self._kind = class_of_pipeline(self._source, self._args)
        return self._kind

    def unread_prompts(self) -> Mapping[str, Sequence[TowerReading]]:
        """Return what the text encoders read of each prompt that one of them truncated.

        See models.protocols.ReportsUnread.
        """
        return dict(self._unread)

    def load(self) -> None:
        """Load the pipeline unless it is loaded, and have it encode each prompt only once."""
        if self._pipeline is None:
            self._load_pipeline()
        if takes_one_image(self._pipeline):
            self._batch.size = 1
        elif self._batch.is_fixed and self._batch.size is None:
            self._batch.size = self._suited_batch_size()

    def _load_pipeline(self) -> None:
        if self._is_deterministic:
            use_deterministic_kernels()
        pipeline = self._load()
        # A hook gets the settings, too, and may use them in its own way.
        if self._hook is not None:
            pipeline, self._per_image = self._hook.apply(pipeline, self._args)
        elif not self._has_effects:
            check_effects(pipeline, self._args)
            self._has_effects = True
        self._pipeline = pipeline
        self._prompts = encode_once(pipeline)
        self._reader = PromptReader(pipeline)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return an image for each request, generated with the arguments that a hook gives for it.

        A batch holds one prompt only, unless the pipeline is known to pad every prompt to one
        length: else an image would depend on the longest prompt beside it. Edits are made one by
        one, unless the pipeline takes a source image for each prompt.
        """
        kind = self._class()
        if kind is not None:
            check_sources(kind.__name__, self._source, self._args, requests)
        self.load()
        self._sources = SourceImages(requests)
        images: dict[int, GeneratedImage] = {}
        for number, request in enumerate(requests):
            source = request.source
            if source is not None and source.sha256 in self._sources.unreadable:
                reason = self._sources.unreadable[source.sha256]
                images[number] = GeneratedImage("failed", reason=reason)
        usable = [number for number in range(len(requests)) if number not in images]
        generated = self._generate_each([requests[number] for number in usable])
        images |= dict(zip(usable, generated, strict=True))
        return [images[number] for number in range(len(requests))]

    def _generate_each(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return images for requests whose source images can be read."""
        if self._per_image is None or self._hook is None:
            return self._generate(requests, {})
        images: dict[int, GeneratedImage] = {}
        for numbers, options, together in hooks.calls(
            requests, self._per_image, self._pipeline, self._hook.target
        ):
            generated = self._generate(
                [requests[number] for number in numbers], options, together
            )
            images |= dict(zip(numbers, generated, strict=True))
        return [images[number] for number in range(len(requests))]

    def _generate(
        self,
        requests: Sequence[ImageRequest],
        options: Mapping[str, Any],
        together: bool = True,
    ) -> list[GeneratedImage]:
        """Return images for requests of the same arguments.

        If memory runs out before an image of the run was generated, the batch is halved.
        """
        import torch

        results: list[GeneratedImage] = []
        while len(results) < len(requests):
            size = self._batch.of(len(requests)) if together else 1
            if not self._takes_several(requests[len(results)]):
                size = 1
            batch = list(requests[len(results) : len(results) + size])
            batch = list(next(groupby(batch, self._shared))[1])
            spare = size - len(batch) if self._batch.is_fixed else 0
            try:
                results += self._call(batch + batch[-1:] * spare, options)[: len(batch)]
            except _NOT_ONE_BY_ONE as error:
                if len(batch) == 1 or "'list'" not in str(error):
                    raise
                # The pipeline accepts a single random generator, so a single image.
                self._batch.size = 1
            except torch.cuda.OutOfMemoryError as error:
                if not self._batch.halve(len(batch) + spare):
                    raise out_of_memory(error, self._batch) from error
                torch.cuda.empty_cache()
            else:
                self._batch.fitted()
        return results

    def _takes_several(self, request: ImageRequest) -> bool:
        """Return whether a call may have more images than that of one request."""
        editor = editor_of(type(self._pipeline))
        is_edit = request.source is not None
        return not is_edit or editor is None or editor.takes_batches

    def _shared(self, request: ImageRequest) -> tuple[str, tuple[int, int] | None]:
        """Return what all requests of a call have to have in common with a request."""
        prompt = "" if mixes_prompts(self._pipeline) else request.prompt
        return prompt, self._sources.size_of(request)

    def _call(
        self, batch: Sequence[ImageRequest], options: Mapping[str, Any]
    ) -> list[GeneratedImage]:
        import numpy as np
        import torch

        call: dict[str, Any] = {"prompt": [request.prompt for request in batch]}
        call |= {**call_of(self._pipeline, self._args), **options}
        if sources := self._sources.of(batch):
            call |= edit_call(self._pipeline, self._args, sources)
            editor = editor_of(type(self._pipeline))
            self._edits = editor.words if editor is not None else None
        call = one_a_row(call, len(batch))
        if call.get("prompt_embeds") is not None:
            call["prompt"] = None
        else:
            call["prompt"] = prompt_argument(self._pipeline, call["prompt"])
        generators = [
            torch.Generator(device="cpu").manual_seed(request.seed) for request in batch
        ]
        generator = generators if len(batch) > 1 else generators[0]
        with torch.inference_mode(), self._reading(batch, call):
            # As numbers, not as PIL's images: a NaN would become a black pixel unseen.
            output = self._pipeline(generator=generator, output_type="np", **call)
        images = images_of(output, self._pipeline)
        self._shape = np.asarray(images[0]).shape
        flagged = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        return [
            checked_image(np.asarray(image), bool(unsafe), self._dtype)
            for image, unsafe in zip(images, flagged, strict=True)
        ]

    @contextmanager
    def _reading(
        self, batch: Sequence[ImageRequest], call: Mapping[str, Any]
    ) -> Iterator[None]:
        """Record, during a call, which words of its prompts the text encoders do not read."""
        texts = call.get("prompt")
        if isinstance(texts, str):
            texts = [texts]
        if self._reader is None or not isinstance(texts, list):
            yield
            return
        prompts = {
            text: request.prompt
            for text, request in zip(texts, batch, strict=True)
            if isinstance(text, str)
        }
        with self._reader.reading(prompts, call):
            yield
        self._unread |= self._reader.unread()


def _create(request: Request[DiffusersArguments]) -> DiffusersGenerator:
    source = request.source
    written = request.spec.removeprefix("diffusers:")
    # With its scheme, ORG/NAME is the hub's, whatever folder is called ORG here.
    with_scheme = written != request.spec
    local = is_path(source) and not (with_scheme and _hub_alone(written))
    if local:
        source = str(_pipeline_folder(source))
        if request.args.revision is not None:
            raise T2IBenchError(
                f"--model-args: revision={shown(request.args.revision)} changes nothing: "
                f"{shown(source)} is a folder, which is used as it is.",
                "Leave it out, or give a hub id ORG/NAME.",
            )
    name = Path(written).name or written if local and is_path(written) else request.spec
    return DiffusersGenerator(replace(request, spec=name, source=source))


def _pipeline_folder(source: str) -> Path:
    path = expanded(source)
    # In this order: pathlib's is_dir raises an error for a name that is too long.
    if not exists(source) or not path.is_dir():
        hint = "Give a folder, a hub id or an alias."
        if exists(source):
            hint = "A file of weights becomes a folder by from_single_file and save_pretrained."
        elif _hub_alone(source):
            hint = f"A repository of the hub whose first part is here is diffusers:{source}."
        raise no_folder(source, hint)
    if not (path / "model_index.json").is_file():
        from t2ibench.store.images import image_files

        raise T2IBenchError(
            f"'{path}' is not a diffusers pipeline: it has no model_index.json.",
            f"It holds images: did you mean --model folder:{path}?"
            if image_files(path)
            else "Save one there with pipeline.save_pretrained(folder).",
        )
    return path


def _hub_alone(source: str) -> bool:
    """Return whether a text has the form of a hub id and no path of that name exists here."""
    return is_hub_id(source) and source[0] not in ".~" and not exists(source)


def _downloads(request: Request[DiffusersArguments]) -> list[Download]:
    """Return the downloads of a pipeline's loaded parts and of its LoRA, if they are on the hub."""
    args, source = request.args, request.source
    downloads: list[Download] = []
    alone = request.spec.startswith("diffusers:") and _hub_alone(source)
    if alone or not is_path(source):
        without = {name for name, value in args.to_load.items() if value is None}
        without |= {"safety_checker"} if args.safety_checker is False else set()
        variant = args.to_load.get("variant")
        files = PipelineFiles(variant, frozenset(without))
        fetch = partial(fetch_pipeline, source, args.revision, variant, without)
        downloads.append(Download(source, files, args.revision, fetch=fetch))
    if args.lora is not None and not exists(args.lora):
        downloads.append(Download(args.lora, LoraFiles(), part="lora"))
    return downloads


ADAPTER = Adapter(
    create=_create,
    downloads=_downloads,
    cpu_weights=cpu_weights_of_folder,
    form="diffusers:ID_OR_DIR",
    description="any text-to-image pipeline of the hub (ORG/NAME) or of a local folder (DIR), or "
    "one that edits; 'diffusers:' may be omitted",
    Args=DiffusersArguments,
    libraries=("torch", "diffusers", "transformers", "peft"),
    imports=("torch", "diffusers.pipelines.auto_pipeline"),
)
