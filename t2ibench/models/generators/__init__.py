"""Finding a generator by its name. Model libraries are imported only by the adapters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.models.bundled import bundled_model
from t2ibench.models.protocols import Generator


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name for a model.

    Attributes:
        source: Hub id, or the folder of a model that comes with t2ibench.
        what: What it is.
        args: Arguments it needs to work as its makers meant; the user's own win.
        images_per_prompt: Images of a prompt by default; None leaves it to the task.
        guided_images_per_prompt: The same for guided prompts.
        fixed_batch: See `DiffusersGenerator`.
    """

    source: str | Path
    what: str
    args: Mapping[str, str] = field(default_factory=dict)
    images_per_prompt: int | None = None
    guided_images_per_prompt: int | None = None
    fixed_batch: int | None = None


_FEW_STEPS = {"guidance": "0"}


def _bundled(name: str, what: str) -> Alias:
    args = {"steps": "4", "guidance": "1"}
    # Few stimuli carry each test, so most images go to them and not to their many counterparts.
    sizes = {"images_per_prompt": 10, "guided_images_per_prompt": 3, "fixed_batch": 16}
    return Alias(bundled_model(name), what, args, **sizes)


ALIASES: dict[str, Alias] = {
    "toy": _bundled("toy", "a small diffusion model with planted biases"),
    "toy-fair": _bundled("toy-fair", "the same, trained on balanced pictures"),
    "sd15": Alias("stable-diffusion-v1-5/stable-diffusion-v1-5", "Stable Diffusion 1.5"),
    "sd21": Alias("stabilityai/stable-diffusion-2-1", "Stable Diffusion 2.1"),
    "sd21-base": Alias("stabilityai/stable-diffusion-2-1-base", "Stable Diffusion 2.1, 512 x 512"),
    "sdxl": Alias("stabilityai/stable-diffusion-xl-base-1.0", "Stable Diffusion XL"),
    "sdxl-turbo": Alias("stabilityai/sdxl-turbo", "SDXL Turbo", {"steps": "1", **_FEW_STEPS}),
    "sd3.5-medium": Alias("stabilityai/stable-diffusion-3.5-medium", "Stable Diffusion 3.5 Medium"),
    "flux-schnell": Alias(
        "black-forest-labs/FLUX.1-schnell", "FLUX.1 schnell", {"steps": "4", **_FEW_STEPS}
    ),
    "flux-dev": Alias("black-forest-labs/FLUX.1-dev", "FLUX.1 dev"),
    "pixart-sigma": Alias("PixArt-alpha/PixArt-Sigma-XL-2-1024-MS", "PixArt Sigma"),
}
_HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")


def list_generators() -> list[tuple[str, str]]:
    """Names and descriptions, for `t2ibench ls models`."""
    return [
        ("toyland", "the embedded drawn world; biases set by --model-args"),
        *((name, _describe(alias)) for name, alias in ALIASES.items()),
        ("ORG/NAME", "any text-to-image pipeline of the hub that diffusers loads"),
        ("DIR", "a folder that diffusers' save_pretrained wrote"),
        ("folder:DIR", "pictures that exist: a manifest, a sub-folder a prompt, GenEval's layout"),
    ]


def _describe(alias: Alias) -> str:
    args = ",".join(f"{key}={value}" for key, value in alias.args.items())
    where = "bundled" if isinstance(alias.source, Path) else alias.source
    return f"{alias.what} ({where}{f'; {args}' if args else ''})"


def create_generator(
    spec: str,
    model_args: Mapping[str, str],
    *,
    seed: int = 0,
    device: str | None = None,
    dtype: str | None = None,
) -> Generator:
    """The generator of a name. Weights are loaded when it first draws.

    Args:
        spec: See `list_generators`.
        model_args: Its arguments, as text.
        seed: The run's seed.
        device: Where it runs; None to choose.
        dtype: 'float32', 'float16', 'bfloat16'; None to choose.

    Raises:
        T2IBenchError: there is no such model, or it does not take these arguments.
    """
    if spec == "toyland":
        from t2ibench.models.generators.toyland import ToylandGenerator

        return ToylandGenerator(model_args, seed)
    if spec.startswith("folder:"):
        from t2ibench.models.generators.folder import FolderGenerator

        return FolderGenerator(Path(spec.removeprefix("folder:")).expanduser(), model_args)
    source = spec.removeprefix("diffusers:")
    name, alias = spec, ALIASES.get(source)
    if alias is not None:
        source, model_args = str(alias.source), {**alias.args, **model_args}
    elif _is_path(source):
        source, name = str(_pipeline_folder(Path(source).expanduser())), Path(source).name or source
    elif not _HUB_ID.match(source):
        names = ["toyland", *ALIASES]
        raise T2IBenchError(
            f"There is no model '{spec}'.{did_you_mean(spec, names)}",
            "`t2ibench ls models` lists them; a hub id has the form ORG/NAME, pictures that exist "
            "are folder:DIR.",
        )
    from t2ibench.models.generators.diffusers import DiffusersGenerator

    return DiffusersGenerator(
        source,
        name,
        model_args,
        seed=seed,
        device=device,
        dtype=dtype,
        images_per_prompt=alias.images_per_prompt if alias else None,
        guided_images_per_prompt=alias.guided_images_per_prompt if alias else None,
        fixed_batch=alias.fixed_batch if alias else None,
    )


def _is_path(source: str) -> bool:
    return Path(source).expanduser().exists() or source.startswith((".", "/", "~"))


def _pipeline_folder(path: Path) -> Path:
    if not path.is_dir():
        raise T2IBenchError(f"There is no folder '{path}'.", "Give a folder, a hub id or an alias.")
    if not (path / "model_index.json").is_file():
        from t2ibench.store.images import SUFFIXES

        pictures = any(file.suffix.lower() in SUFFIXES for file in path.rglob("*"))
        raise T2IBenchError(
            f"'{path}' is not a diffusers pipeline: it has no model_index.json.",
            f"It holds pictures: did you mean --model folder:{path}?"
            if pictures
            else "Save one there with pipeline.save_pretrained(folder).",
        )
    return path


def default_encoder(model: str | None) -> str:
    return {"toyland": "toyland", "toy": "toy-clip", "toy-fair": "toy-clip"}.get(
        model or "", "open_clip:ViT-L-14/openai"
    )


def default_judge(model: str | None) -> str:
    return {"toyland": "toyland", "toy": "toyland", "toy-fair": "toyland"}.get(
        model or "", "vlm:llava-hf/llava-1.5-7b-hf"
    )


def can_regenerate(spec: str) -> bool:
    return not spec.startswith("folder:")


def libraries_of(spec: str) -> tuple[str, ...]:
    return ("torch", "diffusers", "transformers") if spec != "toyland" else ("numpy", "pillow")
