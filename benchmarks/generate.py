"""How much time a run takes beyond its diffusion model, and how it compares with bare loops.

    python benchmarks/generate.py                       # tiny models of random weights, CPU
    python benchmarks/generate.py --size large --device cuda --prompts 16
    python benchmarks/generate.py --size sdxl --device cuda --dtype bfloat16    # its real shape

Both peers are loops over the same diffusers pipeline in the same process, and write the same PNG
files: one call a prompt and image ('per prompt'), and one call a batch ('batched'). Models are of
the classes of Stable Diffusion, SDXL and FLUX.1, built here with random weights. The share outside
of the model is the time of the run in which no call of the pipeline is under way. Figures are the
best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from sdxl_shape import sdxl_of_the_real_shape
from timing import timed

from t2ibench.models.adapter import Request
from t2ibench.models.generators.diffusers import DiffusersArguments, DiffusersGenerator
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.generation import generated
from t2ibench.pipeline.job import store_images
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, image_seed

# Of the denoiser, the text encoders and the image: as small as they load, or near the real ones.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"unet": (32, 64), "text": (64, 4), "dit": (2, 2), "pixels": 64, "heads": 4},
    "small": {"unet": (64, 128), "text": (256, 8), "dit": (4, 4), "pixels": 128, "heads": 8},
    "large": {"unet": (320, 640, 1280), "text": (1024, 24), "dit": (8, 16), "pixels": 1024,
              "heads": 16},
}  # fmt: skip
REAL = "sdxl"  # a size of one kind alone, whose shape is that of the published model


def tokenizer(folder: Path) -> Any:
    """A CLIP tokenizer of single letters."""
    from transformers import CLIPTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,.-'"
    words = [
        *letters,
        *(f"{letter}</w>" for letter in letters),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    (folder / "vocab.json").write_text(
        json.dumps({word: i for i, word in enumerate(words)})
    )
    (folder / "merges.txt").write_text("#version: 0.2\n")
    found = CLIPTokenizer.from_pretrained(folder)
    found.model_max_length = 77
    return found


def text_encoder(tokens: Any, size: dict[str, Any], projected: bool = False) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    width, layers = size["text"]
    config = CLIPTextConfig(
        vocab_size=len(tokens), hidden_size=width, intermediate_size=4 * width,
        num_hidden_layers=layers, num_attention_heads=size["heads"], projection_dim=width,
        bos_token_id=tokens.bos_token_id, eos_token_id=tokens.eos_token_id,
        pad_token_id=tokens.eos_token_id,
    )  # fmt: skip
    return (CLIPTextModelWithProjection if projected else CLIPTextModel)(config)


def vae(size: dict[str, Any], latent: int) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=[32, 64, 64, 64], latent_channels=latent, norm_num_groups=8,
        down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4,
        sample_size=size["pixels"], shift_factor=0.1, scaling_factor=0.5,
    )  # fmt: skip


def unet(size: dict[str, Any], context: int, **more: Any) -> Any:
    from diffusers import UNet2DConditionModel

    channels = size["unet"]
    return UNet2DConditionModel(
        block_out_channels=channels, layers_per_block=1, sample_size=size["pixels"] // 8,
        down_block_types=("DownBlock2D", *["CrossAttnDownBlock2D"] * (len(channels) - 1)),
        up_block_types=(*["CrossAttnUpBlock2D"] * (len(channels) - 1), "UpBlock2D"),
        cross_attention_dim=context, norm_num_groups=8, **more,
    )  # fmt: skip


def sd(folder: Path, size: dict[str, Any]) -> Any:
    from diffusers import DDIMScheduler, StableDiffusionPipeline

    tokens = tokenizer(folder / "tokens")
    return StableDiffusionPipeline(
        unet=unet(size, size["text"][0]), vae=vae(size, 4), tokenizer=tokens,
        text_encoder=text_encoder(tokens, size), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False, scheduler=DDIMScheduler(clip_sample=False, steps_offset=1),
    )  # fmt: skip


def sdxl(folder: Path, size: dict[str, Any]) -> Any:
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline

    tokens, width = tokenizer(folder / "tokens"), size["text"][0]
    return StableDiffusionXLPipeline(
        unet=unet(
            size, 2 * width, use_linear_projection=True, addition_embed_type="text_time",
            addition_time_embed_dim=8, projection_class_embeddings_input_dim=48 + width,
        ),
        vae=vae(size, 4), tokenizer=tokens, tokenizer_2=tokens,
        text_encoder=text_encoder(tokens, size), text_encoder_2=text_encoder(tokens, size, True),
        scheduler=EulerDiscreteScheduler(), add_watermarker=False,
    )  # fmt: skip


def flux(folder: Path, size: dict[str, Any]) -> Any:
    from diffusers import (
        FlowMatchEulerDiscreteScheduler,
        FluxPipeline,
        FluxTransformer2DModel,
    )
    from transformers import T5Config, T5EncoderModel

    tokens, heads = tokenizer(folder / "tokens"), size["heads"]
    (width, layers), (double, single) = size["text"], size["dit"]
    t5 = T5Config(
        vocab_size=len(tokens), d_model=width, d_kv=width // heads, d_ff=4 * width,
        num_layers=layers, num_heads=heads,
    )  # fmt: skip
    return FluxPipeline(
        transformer=FluxTransformer2DModel(
            patch_size=1, in_channels=64, num_layers=double, num_single_layers=single,
            attention_head_dim=width // heads, num_attention_heads=heads,
            joint_attention_dim=width, pooled_projection_dim=width,
            axes_dims_rope=[width // heads // 2, *[width // heads // 4] * 2],
        ),
        vae=vae(size, 16), tokenizer=tokens, tokenizer_2=tokens,
        text_encoder=text_encoder(tokens, size), text_encoder_2=T5EncoderModel(t5),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    )  # fmt: skip


KINDS: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "sd": sd,
    "sdxl": sdxl,
    "flux": flux,
}


def bare(
    pipeline: Any, groups: Sequence[Sequence[ImageRequest]], steps: int, out: Path
) -> None:
    """The loop that a person writes."""
    out.mkdir(parents=True)
    for group in groups:
        seeds = [torch.Generator("cpu").manual_seed(one.seed) for one in group]
        with torch.inference_mode():
            images = pipeline(
                prompt=[one.prompt for one in group],
                generator=seeds,
                num_inference_steps=steps,
            ).images
        for one, image in zip(group, images, strict=True):
            image.save(out / f"{one.seed}.png", compress_level=4)


@contextmanager
def watching(pipeline: Any) -> Iterator[list[float]]:
    """The seconds of each call of a pipeline."""
    kind, found = type(pipeline), []
    original = kind.__call__

    @wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        spent = timed(lambda: original(*args, **options))
        found.append(spent.seconds)
        return spent.result

    kind.__call__ = call
    try:
        yield found
    finally:
        kind.__call__ = original


def built(name: str, args: argparse.Namespace, folder: Path) -> Any:
    """The pipeline of a kind, of the size that was asked for."""
    if args.size != REAL:
        return KINDS[name](folder, SIZES[args.size])
    dtype = getattr(torch, args.dtype or "float32")
    return sdxl_of_the_real_shape(tokenizer(folder / "tokens"), args.device, dtype)


def measure(name: str, args: argparse.Namespace, folder: Path) -> None:
    torch.manual_seed(0)
    pipeline = built(name, args, folder / name)
    pipeline.save_pretrained(folder / name / "saved", safe_serialization=True)
    prompts = [
        f"a photo of a person, number {number}" for number in range(args.prompts)
    ]
    requests = [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for prompt in prompts
        for index in range(args.images)
    ]
    options = DiffusersArguments(
        steps=args.steps, **({"compile": True} if args.compile else {})
    )
    saved = str(folder / name / "saved")
    generator = DiffusersGenerator(
        Request(name, saved, options, device=args.device, dtype=args.dtype)
    )
    generator.load()
    dtype = getattr(torch, generator.settings["dtype"])
    plain = type(pipeline).from_pretrained(saved, torch_dtype=dtype).to(args.device)
    plain.set_progress_bar_config(disable=True)
    batches = [
        requests[i : i + args.batch] for i in range(0, len(requests), args.batch)
    ]
    generator.generate(requests[: args.batch])
    bare(plain, batches[:1], args.steps, folder / "warm")
    shutil.rmtree(folder / "warm")
    rounds: list[tuple[float, ...]] = []
    for number in range(args.rounds):
        single = timed(
            lambda: bare(plain, [[r] for r in requests], args.steps, folder / "a")
        )
        batched = timed(lambda: bare(plain, batches, args.steps, folder / "b"))
        store = ImageStore(Database(folder / f"{name}-{number}"), generator.fingerprint)

        def run(store: ImageStore = store) -> None:
            for files in generated(requests, generator, batch_size=args.batch):
                store_images(files, store)

        with watching(generator._pipeline) as inside:
            generator._prompts = _forgetful(generator)
            ours = timed(run)
        outside = (ours.seconds - sum(inside)) / ours.seconds
        rounds.append((*single[:2], *batched[:2], *ours[:2], outside))
        for peer in ("a", "b"):
            shutil.rmtree(folder / peer)
    assert len(store) == len(requests)
    best = [min(column) for column in zip(*rounds, strict=True)]
    single_time, single_busy, batched_time, batched_busy, time_, busy, outside = best
    count = len(requests)
    print(
        f"{name:5} {count / time_:8.2f} images/s; per prompt {count / single_time:8.2f}, ratio "
        f"{single_time / time_:.2f} (CPU seconds {single_busy / busy:.2f}); batched "
        f"{count / batched_time:8.2f}, ratio {batched_time / time_:.2f} (CPU seconds "
        f"{batched_busy / busy:.2f}); outside of the model {100 * outside:.1f} %",
        flush=True,
    )


def _forgetful(generator: DiffusersGenerator) -> Any:
    """Every round encodes its prompts anew."""
    from t2ibench.models.generators.prompts import encode_once

    del generator._pipeline.encode_prompt
    return encode_once(generator._pipeline)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--size", choices=[*SIZES, REAL], default="tiny")
    parser.add_argument("--kinds", help="sd, sdxl and flux, or sdxl alone")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--dtype")
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--images", type=int, default=4, help="of each prompt")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    print(vars(args))
    with tempfile.TemporaryDirectory() as name:
        usual = REAL if args.size == REAL else ",".join(KINDS)
        for kind in (args.kinds or usual).split(","):
            measure(kind, args, Path(name))


if __name__ == "__main__":
    main()
