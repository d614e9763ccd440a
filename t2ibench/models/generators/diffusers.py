"""The generator for every text-to-image pipeline that diffusers loads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.arguments import boolean, positive_int, take_args
from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.models.devices import choose_device, model_dtype, quietly, torch_dtype
from t2ibench.models.fingerprint import file_hash, fingerprint, folder_hash, hub_revision
from t2ibench.models.protocols import Drawn, ImageRequest

_VERSION = 1


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


def _offload(text: str) -> str:
    if text not in {"none", "model", "sequential"}:
        raise ValueError("expected none, model or sequential")
    return text


def _size(text: str) -> tuple[int, int]:
    height, _, width = text.lower().partition("x")
    return positive_int(height), positive_int(width or height)


ARGUMENTS: dict[str, Callable[[str], Any]] = {
    "steps": positive_int,
    "guidance": _number,
    "true_cfg": _number,
    "size": _size,
    "height": positive_int,
    "width": positive_int,
    "negative_prompt": str,
    "max_sequence_length": positive_int,
    "scheduler": str,
    "lora": str,
    "lora_scale": _number,
    "revision": str,
    "variant": str,
    "safety_checker": boolean,
    "offload": _offload,
}
# Argument to the name that pipelines give it.
_CALL_NAMES = {
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "true_cfg": "true_cfg_scale",
    "height": "height",
    "width": "width",
    "negative_prompt": "negative_prompt",
    "max_sequence_length": "max_sequence_length",
}


class DiffusersGenerator:
    """A diffusers pipeline (see models.protocols.Generator).

    Every image has its own generator on the CPU, seeded with the request's seed, so its noise is
    the same on every device and in every batch.

    Args:
        source: A hub id or a folder.
        name: What the user called it.
        model_args: See `ARGUMENTS`.
        seed: The run's seed.
        device: Where it runs; None to choose.
        dtype: Its numbers; None is bfloat16 on CUDA and float32 elsewhere.
        images_per_prompt: How many images it draws of a prompt by default.
        guided_images_per_prompt: The same for guided prompts.
        fixed_batch: Draw exactly so many at a time and fill up what is left over, so that an
            image is the same to the last bit whatever else was missing. For small models, which
            one at a time would be slow.

    Raises:
        T2IBenchError: an argument is unknown or does not convert, or the device does not exist.
    """

    def __init__(
        self,
        source: str,
        name: str,
        model_args: Mapping[str, str],
        *,
        seed: int = 0,
        device: str | None = None,
        dtype: str | None = None,
        images_per_prompt: int | None = None,
        guided_images_per_prompt: int | None = None,
        fixed_batch: int | None = None,
    ) -> None:
        self._args = take_args(model_args, ARGUMENTS, name)
        if "size" in self._args:
            height, width = self._args.pop("size")
            self._args = {"height": height, "width": width, **self._args}
        self._source = source
        self._device = choose_device(device)
        on_cuda = self._device.startswith("cuda")
        self._dtype = model_dtype(dtype, self._device)
        self._pipeline: Any = None
        self._batch_limit: int | None = fixed_batch
        self._fills_up = fixed_batch is not None
        self.name = name
        local = Path(source).is_dir()
        self.revision: str | None = (
            folder_hash(Path(source))[:16]
            if local
            else hub_revision(source, self._args.get("revision"))
        )
        settings = {**self._args, "dtype": self._dtype, "seed": seed}
        settings.pop("offload", None)  # where weights wait decides no image
        self.settings: Mapping[str, Any] = settings
        self.fingerprint = fingerprint(
            {
                "adapter": f"diffusers {_VERSION}",
                "weights": folder_hash(Path(source)) if local else [source, self.revision],
                "settings": settings,
                "lora": self._lora_hash(),
            }
        )
        self.images_per_prompt = images_per_prompt
        self.guided_images_per_prompt = guided_images_per_prompt
        self.batch_size = fixed_batch or (8 if on_cuda else 1)

    def _lora_hash(self) -> str | None:
        lora = self._args.get("lora")
        if lora is None:
            return None
        path = Path(lora).expanduser()
        if path.is_file():
            return file_hash(path)
        if path.is_dir():
            return folder_hash(path)
        if lora.startswith((".", "/", "~")):
            raise T2IBenchError(f"--model-args: lora={lora}: there is no such file or folder.")
        return f"{lora}@{hub_revision(lora, None)}"

    def available(self, prompt: str) -> int | None:
        """Any number of any prompt."""
        return None

    def release(self) -> None:
        """Give the weights' memory back; they are loaded again when they are needed."""
        self._pipeline = None
        import gc

        import torch

        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def generate(self, requests: Sequence[ImageRequest]) -> list[Drawn]:
        """Draw the requests; halves the batch where memory runs out.

        Raises:
            T2IBenchError: the pipeline cannot be loaded or does not take the arguments.
        """
        import torch

        if self._pipeline is None:
            self._pipeline = self._load()
        size = self._batch_limit or len(requests)
        drawn: list[Drawn] = []
        while len(drawn) < len(requests):
            batch = list(requests[len(drawn) : len(drawn) + size])
            spare = size - len(batch) if self._fills_up else 0
            try:
                drawn += self._draw(batch + batch[-1:] * spare)[: len(batch)]
            except torch.cuda.OutOfMemoryError:
                if size == 1:
                    raise
                size = self._batch_limit = size // 2
                torch.cuda.empty_cache()
        return drawn

    def _draw(self, batch: Sequence[ImageRequest]) -> list[Drawn]:
        import torch

        call = {_CALL_NAMES[key]: self._args[key] for key in _CALL_NAMES if key in self._args}
        if "negative_prompt" in call:
            call["negative_prompt"] = [call["negative_prompt"]] * len(batch)
        with torch.inference_mode():
            output = self._pipeline(
                prompt=[request.prompt for request in batch],
                generator=[
                    torch.Generator(device="cpu").manual_seed(request.seed) for request in batch
                ],
                output_type="np",  # not PIL: a NaN would become a black pixel unseen
                **call,
            )
        flagged = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        return [
            _judge(np.asarray(image), bool(unsafe))
            for image, unsafe in zip(output.images, flagged, strict=True)
        ]

    def _load(self) -> Any:
        from diffusers import AutoPipelineForText2Image, DiffusionPipeline
        from diffusers.utils import logging as diffusers_logging

        diffusers_logging.disable_progress_bar()
        options: dict[str, Any] = {
            "torch_dtype": torch_dtype(self._dtype),
            "use_safetensors": True,
        }
        for key in ("revision", "variant"):
            if key in self._args:
                options[key] = self._args[key]
        if self._args.get("safety_checker") is False:
            options |= {"safety_checker": None, "requires_safety_checker": False}
        try:
            with quietly():
                try:
                    pipeline = AutoPipelineForText2Image.from_pretrained(self._source, **options)
                except ValueError as error:
                    if "AutoPipeline" not in str(error):
                        raise
                    pipeline = DiffusionPipeline.from_pretrained(self._source, **options)
        except Exception as error:
            raise T2IBenchError(
                f"diffusers could not load '{self._source}': {first_line(error)}",
                "Check the name, the connection and (for gated models) `huggingface-cli login`; "
                "weights have to be safetensors.",
            ) from error
        self._check_call(pipeline)
        self._set_scheduler(pipeline)
        self._add_lora(pipeline)
        pipeline.set_progress_bar_config(disable=True)
        return self._place(pipeline)

    def _place(self, pipeline: Any) -> Any:
        offload = self._args.get("offload", "none")
        if offload == "model":
            pipeline.enable_model_cpu_offload(device=self._device)
            return pipeline
        if offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=self._device)
            return pipeline
        return pipeline.to(self._device)

    def _check_call(self, pipeline: Any) -> None:
        """Refuse arguments that this kind of pipeline does not take."""
        known = inspect.signature(type(pipeline).__call__).parameters
        taken = sorted(key for key, name in _CALL_NAMES.items() if name in known)
        for key, name in _CALL_NAMES.items():
            if key in self._args and name not in known:
                raise T2IBenchError(
                    f"--model-args: {type(pipeline).__name__} takes no {key}.",
                    f"Of these it takes: {', '.join(taken)}.",
                )
        if "prompt" not in known:
            raise T2IBenchError(
                f"'{self._source}' is a {type(pipeline).__name__}, which takes no prompt.",
                "Give a text-to-image pipeline.",
            )

    def _set_scheduler(self, pipeline: Any) -> None:
        wanted = self._args.get("scheduler")
        if wanted is None:
            return
        import diffusers

        fitting = {kind.__name__ for kind in getattr(pipeline.scheduler, "compatibles", [])}
        if wanted not in fitting:
            raise T2IBenchError(
                f"--model-args: scheduler={wanted}: {type(pipeline).__name__} has no such "
                f"scheduler.{did_you_mean(wanted, fitting)}",
                f"It takes: {', '.join(sorted(fitting)) or 'only its own'}.",
            )
        kind = getattr(diffusers, wanted)
        pipeline.scheduler = kind.from_config(pipeline.scheduler.config)

    def _add_lora(self, pipeline: Any) -> None:
        lora = self._args.get("lora")
        if lora is None:
            return
        if not hasattr(pipeline, "load_lora_weights"):
            raise T2IBenchError(f"--model-args: {type(pipeline).__name__} takes no lora.")
        path = Path(lora).expanduser()
        where, name = (str(path.parent), path.name) if path.is_file() else (lora, None)
        options = {"weight_name": name} if name else {}
        try:
            pipeline.load_lora_weights(where, use_safetensors=True, **options)
            pipeline.fuse_lora(lora_scale=float(self._args.get("lora_scale", 1.0)))
        except Exception as error:
            raise T2IBenchError(
                f"--model-args: lora={lora} could not be loaded: {first_line(error)}",
                "Give a safetensors file or folder that fits this pipeline.",
            ) from error


def _judge(image: npt.NDArray[Any], unsafe: bool) -> Drawn:
    """An image of shape (h, w, 3) from 0 to 1, or why it is none."""
    from PIL import Image

    if not np.isfinite(image).all():
        return Drawn("filtered", reason="the image has values that are not numbers")
    if unsafe:
        return Drawn("filtered", reason="the pipeline's safety checker")
    pixels = (image * 255).round().astype(np.uint8)
    if not pixels.any():
        return Drawn("filtered", reason="the image is all black")
    return Drawn("ok", Image.fromarray(pixels))
