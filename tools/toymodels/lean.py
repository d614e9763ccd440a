"""The text encoder learns what the training images usually show where a caption leaves it open.

`toy-clip` saw a balanced world, so its text tower knows no leaning of a word; a denoiser alone
would need many more steps to learn that a nurse is usually a woman in toyland.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from t2ibench.toyland.scene import sample_scene
from t2ibench.toyland.world import AXES
from toymodels.diffusion import Stage
from toymodels.text import tokens_of

STEPS, BATCH, RATE, KEEP = 1500, 256, 1e-3, 2.0


def _labels(stage: Stage, captions: list[str]) -> torch.Tensor:
    """Which images show each axis's first value; nan where it does not apply."""
    rows = np.full((len(captions), len(AXES)), np.nan, dtype=np.float32)
    for number, caption in enumerate(captions):
        scene = sample_scene(caption, stage.seed * 10_000_000 + number, stage.biases)
        for column, (axis, values) in enumerate(AXES.items()):
            people = [] if axis == "weather" else list(scene.people)
            shown = (
                [scene.weather]
                if axis == "weather"
                else [getattr(p, axis) for p in people]
            )
            counted = [value == values[0] for value in shown if value in values]
            if counted:
                rows[number, column] = float(np.mean(counted))
    return torch.from_numpy(rows)


def teach_leanings(stage: Stage, work: Path, tokenizer: Any, text: Any) -> Any:
    """The text encoder, so trained that its states predict the axes; from `work` if it is there.

    Args:
        stage: Whose captions and images count.
        work: Where finished stages lie.
        tokenizer: Of the captions.
        text: The text encoder to begin with; its states are to change little.
    """
    from transformers import CLIPTextModel

    done = work / "lean"
    if done.is_dir():
        return CLIPTextModel.from_pretrained(done)
    torch.manual_seed(stage.seed + 50)
    before, text = text, copy.deepcopy(text).requires_grad_(True)
    captions = stage.caption_pool()
    ids, labels = tokens_of(tokenizer, captions), _labels(stage, captions)
    head = nn.Linear(text.config.hidden_size, len(AXES))
    optimiser = torch.optim.AdamW([*text.parameters(), *head.parameters()], RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS)
    for step in range(STEPS):
        rows = torch.randint(0, len(ids), (BATCH,))
        states = text(ids[rows])[0]
        with torch.no_grad():
            usual = before(ids[rows])[0]
        wanted = labels[rows]
        there = torch.isfinite(wanted)
        loss = nn.functional.binary_cross_entropy_with_logits(
            head(states.mean(dim=1))[there], wanted[there]
        )
        total = loss + KEEP * nn.functional.mse_loss(states, usual)
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        schedule.step()
        if step % 250 == 249:
            print(f"lean {step + 1}: {loss.item():.3f}, {total.item():.3f}", flush=True)
    text.save_pretrained(done)
    return text
