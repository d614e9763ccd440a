"""Train the models that come with t2ibench: toy, toy-fair and toy-clip.

    python tools/train_toy.py

Everything is drawn by toyland and seeded. Stages that are done are kept in --work and not made
again, so an interrupted training goes on with the stage it was in. Writes
t2ibench/bundled/models/ and its model card.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import torch
from toymodels.autoencoder import train_autoencoder
from toymodels.card import write_card
from toymodels.clip import save_clip, train_clip
from toymodels.data import FAIR
from toymodels.diffusion import Stage, new_scheduler, save_pipeline, train_denoiser
from toymodels.distillation import Distillation, distilled
from toymodels.lean import teach_leanings
from toymodels.text import build_tokenizer

from t2ibench.models.bundled import bundled_model
from t2ibench.models.generators import ALIASES
from t2ibench.toyland import BiasSettings

# First the denoiser learns to draw, with a text encoder of its own; then to follow toy-clip's.
DRAFT = Stage("draft", BiasSettings(), 2, 40_000, 2200, 1.2e-3)
FOLLOW = Stage(
    "follow",
    BiasSettings(),
    4,
    40_000,
    1700,
    1.2e-3,
    text_rate=0.2,
    high_noise=1.5,
    phrases_only=True,
)
# Then the shares of what captions leave open, which are decided in much noise; the text encoder
# learns their part of it here, and stays as it is from then on.
SHARES = Stage(
    "shares",
    BiasSettings(),
    6,
    40_000,
    700,
    8e-4,
    text_rate=0.2,
    high_noise=2.5,
    phrases_only=True,
)
# Both models begin with the same denoiser and are trained on captions that lean somewhere: one on
# toyland's shares, one on even ones.
TOY = Stage(
    "toy",
    BiasSettings(),
    8,
    24_000,
    700,
    1e-3,
    text_rate=0.0,
    high_noise=2.5,
    phrases_only=True,
    leaning=0.6,
)
FAIR_TOY = Stage(
    "toy-fair",
    FAIR,
    7,
    24_000,
    1000,
    1.2e-3,
    text_rate=0.0,
    high_noise=2.5,
    phrases_only=True,
    leaning=0.6,
)


def _millions(model: Any) -> str:
    return f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=bundled_model("toy").parent)
    parser.add_argument("--work", type=Path, default=Path("toy-training"))
    options = parser.parse_args()
    work, output = options.work, options.output
    work.mkdir(parents=True, exist_ok=True)
    started = time.time()
    tokenizer = build_tokenizer(work / "tokenizer")
    vae = train_autoencoder(work)
    draft, _ = train_denoiser(DRAFT, work, tokenizer, vae)
    clip = train_clip(work, tokenizer)
    save_clip(output / "toy-clip", clip, tokenizer)
    from transformers import CLIPTextModel

    own_text = CLIPTextModel.from_pretrained(work / "clip")
    unet, text = train_denoiser(FOLLOW, work, tokenizer, vae, draft, own_text)
    text = teach_leanings(SHARES, work, tokenizer, text)
    unet, text = train_denoiser(SHARES, work, tokenizer, vae, unet, text)
    sizes = {"unet": _millions(unet), "vae": _millions(vae), "text": _millions(text)}
    for stage in (TOY, FAIR_TOY):
        teacher, _ = train_denoiser(
            stage, work, tokenizer, vae, copy.deepcopy(unet), text
        )
        # Last it learns to take at once what takes it four steps.
        student = distilled(
            stage.name, Distillation(), work / "one-step", tokenizer, text, teacher
        )
        save_pipeline(
            output / stage.name, vae, text, tokenizer, student, new_scheduler()
        )
    sizes["steps"] = ALIASES["toy"].args["steps"]
    minutes = f"about {(time.time() - started) / 60:.0f} minutes"
    write_card(
        output / "MODEL_CARD.md", {"toy": TOY, "toy-fair": FAIR_TOY}, sizes, minutes
    )
    print(f"Done: {output}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
