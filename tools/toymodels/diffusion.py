"""The denoisers of `toy` and `toy-fair`."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from t2ibench.toyland import BiasSettings
from toymodels.autoencoder import latents_of
from toymodels.data import caption_pool, pictures
from toymodels.text import text_config, tokens_of

BATCH, EMPTY = 64, 0.1


@dataclass(frozen=True)
class Stage:
    """One training of a denoiser.

    Attributes:
        name: Folder under --work.
        biases: What the captions leave open is drawn by these.
        seed: Of captions, images and weights.
        captions: Images to train on.
        steps: Of BATCH images.
        rate: Peak learning rate.
        text_rate: The text encoder's learning rate, as a part of `rate`; 0 keeps it as it is.
        high_noise: How far training prefers much noise, where an image's contents are decided;
            1 is evenly.
        phrases_only: Leave captions of a single word out.
        leaning: Share of captions whose images lean somewhere in toyland.
    """

    name: str
    biases: BiasSettings
    seed: int
    captions: int
    steps: int
    rate: float
    text_rate: float = 1.0
    high_noise: float = 1.0
    phrases_only: bool = False
    leaning: float = 0.0

    def caption_pool(self) -> list[str]:
        """The captions of its images."""
        return caption_pool(
            self.seed,
            self.captions,
            phrases_only=self.phrases_only,
            leaning=self.leaning,
        )


def new_unet() -> Any:
    """Text is read at 8 x 8, where it is cheap: this halves the time of an image."""
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(48, 96),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=64,
        attention_head_dim=4,
        norm_num_groups=16,
    )


def new_scheduler() -> Any:
    """The noise of Stable Diffusion, ending in pure noise (Lin et al. 2024)."""
    from diffusers import DDIMScheduler

    return DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
        steps_offset=0,
    )


class Average:
    """An exponential average of parameters, which draws better than the last step's."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.mean = [parameter.detach().clone() for parameter in parameters]
        self.steps = 0

    def update(self) -> None:
        keep = min(0.998, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        with torch.no_grad():
            torch._foreach_mul_(self.mean, keep)
            torch._foreach_add_(
                self.mean, [p.detach() for p in self.parameters], alpha=1 - keep
            )

    def apply(self) -> None:
        with torch.no_grad():
            for parameter, mean in zip(self.parameters, self.mean, strict=True):
                parameter.copy_(mean)


def rate_at(step: int, stage: Stage) -> float:
    """Warm up over 100 steps, then half a cosine."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / stage.steps))
    return stage.rate * min(1.0, (step + 1) / 100) * (0.02 + 0.98 * cosine)


def training_data(
    stage: Stage, tokenizer: Any, vae: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Latents and token ids."""
    captions = stage.caption_pool()
    latents = latents_of(vae, pictures(captions, stage.biases, stage.seed * 10_000_000))
    return latents, tokens_of(tokenizer, captions)


def train_denoiser(
    stage: Stage,
    work: Path,
    tokenizer: Any,
    vae: Any,
    unet: Any = None,
    text: Any = None,
) -> tuple[Any, Any]:
    """A U-Net and its text encoder.

    Args:
        stage: What to train.
        work: Where finished stages lie.
        tokenizer: Of the captions.
        vae: Of the latents.
        unet: U-Net to go on from; a new one by default.
        text: Text encoder to go on from; a new one by default.
    """
    from diffusers import UNet2DConditionModel
    from transformers import CLIPTextModel

    done = work / stage.name
    if (done / "text").is_dir():
        return (
            UNet2DConditionModel.from_pretrained(done / "unet"),
            CLIPTextModel.from_pretrained(done / "text"),
        )
    torch.manual_seed(stage.seed)
    unet, text = unet or new_unet(), text or CLIPTextModel(text_config(tokenizer))
    latents, ids = training_data(stage, tokenizer, vae)
    empty = tokens_of(tokenizer, [""])
    alphas = new_scheduler().alphas_cumprod
    learnt = list(text.parameters()) if stage.text_rate else []
    text.requires_grad_(bool(learnt))
    parameters = [*unet.parameters(), *learnt]
    groups = [
        {"params": list(unet.parameters()), "part": 1.0},
        {"params": learnt, "part": stage.text_rate},
    ]
    optimiser = torch.optim.AdamW(
        [group for group in groups if group["params"]], weight_decay=1e-4
    )
    average = Average(parameters)
    started = time.time()
    for step in range(stage.steps):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, stage) * group["part"]
        rows = torch.randint(0, len(ids), (BATCH,))
        clean, words = latents[rows], ids[rows].clone()
        words[torch.rand(BATCH) < EMPTY] = empty
        t = (1000 * (1 - torch.rand(BATCH) ** stage.high_noise)).long().clamp(0, 999)
        a = alphas[t].view(-1, 1, 1, 1)
        noise = torch.randn_like(clean)
        noisy = a.sqrt() * clean + (1 - a).sqrt() * noise
        out = unet(noisy, t, text(words)[0]).sample
        loss = nn.functional.mse_loss(out, a.sqrt() * noise - (1 - a).sqrt() * clean)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        average.update()
        if step % 100 == 99:
            spent = time.time() - started
            print(
                f"{stage.name} {step + 1}: {loss.item():.4f}, {spent:.0f} s", flush=True
            )
    average.apply()
    unet.save_pretrained(done / "unet")
    text.save_pretrained(done / "text")
    return unet, text


def save_pipeline(
    folder: Path, vae: Any, text: Any, tokenizer: Any, unet: Any, scheduler: Any
) -> None:
    """A folder that AutoPipelineForText2Image loads, in half precision."""
    from diffusers import StableDiffusionPipeline

    pipeline = StableDiffusionPipeline(
        vae=vae,
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.to(dtype=torch.float16)
    pipeline.save_pretrained(folder, safe_serialization=True)
    pipeline.to(dtype=torch.float32)
    # where it was trained is nobody's business
    for path in folder.rglob("config.json"):
        config = json.loads(path.read_text(encoding="utf-8"))
        config.pop("_name_or_path", None)
        path.write_text(
            json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
