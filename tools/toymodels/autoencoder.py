"""The autoencoder that `toy` and `toy-fair` share: 64 x 64 pixels to 16 x 16 x 4 and back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from toymodels.data import FAIR, caption_pool, pictures, scaled

STEPS, BATCH, PEAK_RATE = 2600, 16, 3e-3


def _new() -> Any:
    from diffusers import AutoencoderTiny

    # Blocks where they are cheap: none at full resolution before the first and after the last.
    vae = AutoencoderTiny(
        encoder_block_out_channels=(32, 32, 32),
        decoder_block_out_channels=(32, 32, 32),
        num_encoder_blocks=(0, 1, 1),
        num_decoder_blocks=(2, 1, 0),
        latent_channels=4,
    )
    # With torch's own initial weights it stays at the mean colour; these start near the identity.
    for module in vae.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    with torch.no_grad():
        for module in vae.modules():
            if type(module).__name__ == "AutoencoderTinyBlock":
                module.conv[-1].weight.mul_(0.1)
        vae.encoder.layers[-1].weight.mul_(0.7)
        vae.decoder.layers[-1].weight.mul_(0.2)
        vae.decoder.layers[-1].bias.fill_(0.5)
    return vae.to(memory_format=torch.channels_last)


def _loss(out: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    mse, pool = nn.functional.mse_loss, nn.functional.avg_pool2d
    return (
        mse(out, wanted)
        + 0.5 * nn.functional.l1_loss(out, wanted)
        + 2 * mse(pool(out, 4), pool(wanted, 4))  # colours first, edges later
    )


def train_autoencoder(work: Path) -> Any:
    """The trained autoencoder, from `work` if it is there."""
    from diffusers import AutoencoderTiny

    done = work / "vae"
    if done.is_dir():
        return AutoencoderTiny.from_pretrained(done)
    torch.manual_seed(1)
    vae = _new()
    images = pictures(caption_pool(1, 12_000), FAIR, 5_000_000)
    optimiser = torch.optim.AdamW(
        vae.parameters(), PEAK_RATE, betas=(0.9, 0.99), weight_decay=0
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, PEAK_RATE, total_steps=STEPS, pct_start=0.1
    )
    started = time.time()
    for step in range(STEPS):
        rows = torch.randint(0, len(images), (BATCH,))
        batch = scaled(images[rows]).contiguous(memory_format=torch.channels_last)
        loss = _loss(vae.decode(vae.encode(batch).latents).sample, batch)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(vae.parameters(), 0.5)
        optimiser.step()
        schedule.step()
        if step % 100 == 99:
            print(
                f"vae {step + 1}: {loss.item():.4f}, {time.time() - started:.0f} s",
                flush=True,
            )
    vae.register_to_config(scaling_factor=1 / _encoded(vae, images[:2000]).std().item())
    vae.save_pretrained(done)
    return vae


def _encoded(vae: Any, images: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        parts = [
            vae.encode(scaled(images[i : i + 64])).latents
            for i in range(0, len(images), 64)
        ]
    return torch.cat(parts)


def latents_of(vae: Any, images: torch.Tensor) -> torch.Tensor:
    """Latents of about unit variance, which is what the noise schedule expects."""
    return _encoded(vae, images) * vae.config.scaling_factor
