"""The denoisers of `toy` and `toy-fair` for two steps: students of those that take four.

A trained denoiser turns noise into an image in four steps. Its student begins with the same weights
and learns to go from the noise straight to where those four steps end. The same noise and caption
thus give nearly the same image, so what a model shows is copied with it and not learnt anew. At all
lower noise levels the student learns to answer as before: a second step makes the image sharp, and
more steps refine it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from toymodels.data import caption_pool
from toymodels.diffusion import Average, new_scheduler
from toymodels.text import tokens_of

TEACHER_STEPS = 4
JUMPS, OTHERS = 48, 8  # rows of a batch at the highest noise level, and at lower ones
CHUNK, BATCH = 256, 64
WITHOUT_CAPTION = 12  # each so many chunks, one has no captions, as guidance needs it
CHECKPOINT = 50  # steps


@dataclass(frozen=True)
class Distillation:
    """One training of a student.

    Attributes:
        seed: Of captions, noise and batches.
        chunks: Pairs of noise and image to learn from, in chunks of CHUNK.
        steps: Of batches of JUMPS and OTHERS rows.
        rate: Peak learning rate.
    """

    seed: int = 21
    chunks: int = 20
    steps: int = 300
    rate: float = 7e-4

    def captions(self, chunk: int) -> list[str]:
        """The captions of a chunk of pairs."""
        if chunk % WITHOUT_CAPTION == WITHOUT_CAPTION - 1:
            return [""] * CHUNK
        captions = caption_pool(
            self.seed, (chunk + 1) * CHUNK, phrases_only=True, leaning=0.4
        )
        return captions[chunk * CHUNK :]

    def noise(self, chunk: int) -> torch.Tensor:
        """The noise of a chunk of pairs, shape (CHUNK, 4, 16, 16)."""
        generator = torch.Generator().manual_seed(900_000 + chunk)
        return torch.randn(CHUNK, 4, 16, 16, generator=generator)


@dataclass(frozen=True)
class Pairs:
    """Noise, states of the captions, and the latents that the teacher's four steps end at."""

    noise: torch.Tensor
    states: torch.Tensor
    latents: torch.Tensor

    def rows(self, numbers: torch.Tensor) -> Pairs:
        return Pairs(self.noise[numbers], self.states[numbers], self.latents[numbers])

    @staticmethod
    def joined(parts: Sequence[Pairs]) -> Pairs:
        return Pairs(
            torch.cat([part.noise for part in parts]),
            torch.cat([part.states for part in parts]),
            torch.cat([part.latents for part in parts]),
        )


def velocity(
    unet: Any, noisy: torch.Tensor, level: torch.Tensor | int, states: torch.Tensor
) -> torch.Tensor:
    """What a denoiser predicts; in channels-last order, which is faster."""
    noisy = noisy.contiguous(memory_format=torch.channels_last)
    predicted: torch.Tensor = unet(noisy, level, states).sample
    return predicted


def in_one_step(unet: Any, noise: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """The latents of a single step: pure noise has no signal, so velocity is minus the image."""
    top = new_scheduler().config.num_train_timesteps - 1
    return -velocity(unet, noise, top, states)


@torch.inference_mode()
def in_four_steps(unet: Any, noise: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """The latents that the teacher's steps end at, without guidance."""
    scheduler = new_scheduler()
    scheduler.set_timesteps(TEACHER_STEPS)
    latents = noise
    for level in scheduler.timesteps:
        predicted = velocity(unet, latents, level, states)
        latents = scheduler.step(predicted, level, latents).prev_sample
    return latents


def _chunk(
    name: str,
    plan: Distillation,
    number: int,
    work: Path,
    tokenizer: Any,
    text: Any,
    teacher: Any,
) -> Pairs:
    """A chunk of pairs; its latents are kept in `work`, in half precision."""
    noise = plan.noise(number)
    with torch.inference_mode():
        states = text(tokens_of(tokenizer, plan.captions(number)))[0]
    path = work / f"{name}_{number}.pt"
    if not path.exists():
        parts = [
            in_four_steps(
                teacher, noise[start : start + BATCH], states[start : start + BATCH]
            )
            for start in range(0, CHUNK, BATCH)
        ]
        _save({"end": torch.cat(parts).contiguous().half()}, path)
        print(f"{name}: pairs {number + 1} of {plan.chunks}", flush=True)
    latents = torch.load(path)["end"].float()
    return Pairs(noise, states.clone(), latents)


def _save(contents: Any, path: Path) -> None:
    """Write a file so that it is there as a whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    torch.save(contents, unfinished)
    unfinished.replace(path)


def _rate_at(step: int, plan: Distillation) -> float:
    """Warm up over 20 steps, then half a cosine."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / plan.steps))
    return plan.rate * min(1.0, (step + 1) / 20) * (0.02 + 0.98 * cosine)


class _Lessons:
    """The losses of a student: of the jump from pure noise, and of lower noise levels."""

    def __init__(self, plan: Distillation, pairs: Pairs, teacher: Any) -> None:
        self._plan = plan
        self._pairs = pairs
        self._teacher = teacher
        self._alphas = new_scheduler().alphas_cumprod

    def loss(self, student: Any, step: int) -> torch.Tensor:
        """The loss of a step, whose rows depend on nothing but its number."""
        seed = self._plan.seed * 1_000_000 + step
        generator = torch.Generator().manual_seed(seed)
        count = len(self._pairs.noise)
        jumps = torch.randint(count, (JUMPS,), generator=generator)
        others = torch.randint(count, (OTHERS,), generator=generator)
        there = self._pairs.rows(jumps)
        jumped = in_one_step(student, there.noise, there.states)
        jump = nn.functional.mse_loss(jumped, there.latents)
        return jump + self._unchanged(student, self._pairs.rows(others), generator)

    def _unchanged(
        self, student: Any, pairs: Pairs, generator: torch.Generator
    ) -> torch.Tensor:
        """How far the student has moved from its teacher at noise levels below the highest."""
        top = len(self._alphas) - 1
        levels = torch.randint(top, (OTHERS,), generator=generator)
        signal = self._alphas[levels].view(-1, 1, 1, 1)
        noise = torch.randn(pairs.latents.shape, generator=generator)
        noisy = signal.sqrt() * pairs.latents + (1 - signal).sqrt() * noise
        with torch.inference_mode():
            before = velocity(self._teacher, noisy, levels, pairs.states)
        after = velocity(student, noisy, levels, pairs.states)
        return nn.functional.mse_loss(after, before.clone())


def distilled(
    name: str,
    plan: Distillation,
    work: Path,
    tokenizer: Any,
    text: Any,
    teacher: Any,
) -> Any:
    """The student of a denoiser, from `work` if it is there.

    Args:
        name: Of the model; what is done is kept under it in `work`.
        plan: What to train.
        work: Where chunks of pairs, a checkpoint and the finished student lie.
        tokenizer: Of the captions.
        text: The text encoder, which stays as it is.
        teacher: The denoiser that takes four steps; half precision is how it was shipped.
    """
    from diffusers import UNet2DConditionModel

    done = work / f"{name}-one-step"
    if done.is_dir():
        return UNet2DConditionModel.from_pretrained(done)
    work.mkdir(parents=True, exist_ok=True)
    text.requires_grad_(False)
    teacher = copy.deepcopy(teacher).half().float().requires_grad_(False)
    teacher.to(memory_format=torch.channels_last)
    student = copy.deepcopy(teacher).requires_grad_(True)
    pairs = Pairs.joined(
        [
            _chunk(name, plan, number, work, tokenizer, text, teacher)
            for number in range(plan.chunks)
        ]
    )
    _train(name, plan, work, _Lessons(plan, pairs, teacher), student)
    student.save_pretrained(done)
    return student


def _train(
    name: str, plan: Distillation, work: Path, lessons: _Lessons, student: Any
) -> None:
    """Train a student in place; an interrupted training goes on at its last checkpoint."""
    parameters = list(student.parameters())
    optimiser = torch.optim.AdamW(
        parameters, plan.rate, betas=(0.9, 0.99), weight_decay=1e-4
    )
    average = Average(parameters)
    checkpoint, first = work / f"{name}-checkpoint.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        student.load_state_dict(state["student"])
        optimiser.load_state_dict(state["optimiser"])
        average.mean, average.steps = state["mean"], state["step"]
        first = state["step"]
    started = time.time()
    for step in range(first, plan.steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate_at(step, plan)
        loss = lessons.loss(student, step)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        average.update()
        if (step + 1) % CHECKPOINT == 0:
            state = {
                "student": student.state_dict(),
                "optimiser": optimiser.state_dict(),
                "mean": average.mean,
                "step": step + 1,
            }
            _save(state, checkpoint)
            spent = time.time() - started
            print(f"{name} {step + 1}: {loss.item():.4f}, {spent:.0f} s", flush=True)
    average.apply()
