"""`toy-clip`: a small CLIP that has seen toyland with every share at one half."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from toymodels.data import FAIR, caption_pool, meaning, pictures, scaled
from toymodels.text import text_config, tokens_of

STEPS, BATCH, PEAK_RATE = 1200, 160, 1.5e-3


def train_clip(work: Path, tokenizer: Any) -> Any:
    """The trained model, from `work` if it is there."""
    from transformers import CLIPConfig, CLIPModel, CLIPVisionConfig

    done = work / "clip"
    if done.is_dir():
        return CLIPModel.from_pretrained(done)
    torch.manual_seed(3)
    vision = CLIPVisionConfig(
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        image_size=64,
        patch_size=8,
        projection_dim=48,
    )
    model = CLIPModel(
        CLIPConfig(
            text_config=text_config(tokenizer).to_dict(),
            vision_config=vision.to_dict(),
            projection_dim=48,
        )
    )
    captions = caption_pool(3, 50_000)
    images, ids = pictures(captions, FAIR, 30_000_000), tokens_of(tokenizer, captions)
    # Captions that are drawn alike are not wrong answers to each other.
    numbers: dict[Any, int] = {}
    group = torch.tensor(
        [numbers.setdefault(meaning(text), len(numbers)) for text in captions]
    )
    optimiser = torch.optim.AdamW(model.parameters(), PEAK_RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, PEAK_RATE, total_steps=STEPS, pct_start=0.1
    )
    started = time.time()
    for step in range(STEPS):
        rows = torch.randint(0, len(ids), (BATCH,))
        out = model(input_ids=ids[rows], pixel_values=scaled(images[rows]))
        same = (group[rows][:, None] == group[rows][None]).float()
        wanted = same / same.sum(1, keepdim=True)
        loss = (
            nn.functional.cross_entropy(out.logits_per_text, wanted)
            + nn.functional.cross_entropy(out.logits_per_image, wanted)
        ) / 2
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            model.logit_scale.clamp_(max=math.log(50))
        if step % 100 == 99:
            print(
                f"clip {step + 1}: {loss.item():.3f}, {time.time() - started:.0f} s",
                flush=True,
            )
    model.save_pretrained(done)
    return model


def save_clip(folder: Path, model: Any, tokenizer: Any) -> None:
    """A folder that AutoModel, AutoTokenizer and AutoImageProcessor load, in half precision."""
    from transformers import CLIPImageProcessor

    model.half().save_pretrained(folder, safe_serialization=True)
    model.float()
    tokenizer.save_pretrained(folder)
    CLIPImageProcessor(
        do_resize=True,
        size={"height": 64, "width": 64},
        do_center_crop=False,
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    ).save_pretrained(folder)
