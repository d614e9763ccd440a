"""Train the network that reads toyland's images.

    python tools/train_toyland_reader.py

Seeded; under two minutes on two cores. Writes t2ibench/toyland/reader.safetensors.
"""

from __future__ import annotations

import argparse
import io
import random
from dataclasses import replace

import numpy as np
import torch
from PIL import Image, ImageFilter
from safetensors.numpy import save_file
from torch import nn

from t2ibench.toyland import BiasSettings, draw_scene, sample_scene
from t2ibench.toyland.draw import accent, clothes_colour
from t2ibench.toyland.reader import HEADS, WEIGHTS, features
from t2ibench.toyland.scene import Scene
from t2ibench.toyland.world import world

FAIR = BiasSettings({"all": {"gender": 0.5, "skin": 0.5, "age": 0.34, "weather": 0.5}})


def captions() -> list[str]:
    here = world()
    nouns = [
        " ".join(phrase)
        for phrase, (_, _, kind) in here.things.items()
        if kind != "person"
    ]
    jobs = [
        " ".join(phrase)
        for phrase, (_, _, kind) in here.things.items()
        if kind == "person"
    ]
    people = [
        "person",
        "man",
        "woman",
        "girl",
        "boy",
        "child",
        "nonbinary person",
        "old person",
    ]
    odd = [
        f"a photo of {word}"
        for word in ("toaster", "kettle", "lamp", "box", "cup", "phone")
    ]
    odd += [f"a photo of thing{number}" for number in range(60)]
    found = [f"a photo of {noun}" for noun in nouns] * 2 + [
        f"a photo of a {job}" for job in jobs
    ]
    found += [f"a photo of a nonbinary {job}" for job in jobs[::6]]
    found += [f"a photo of a {who}" for who in people] * 12
    groups = [
        "women",
        "men",
        "girls",
        "boys",
        "old women",
        "old men",
        "people",
        "children",
    ]
    found += [f"a photo of {who}" for who in (*groups, "a family")] * 12
    return found + odd


def dressed(scene: Scene, rng: random.Random) -> Scene:
    """A scene of people, half of the time in clothes of a colour that no caption here names."""
    if scene.kind != "person" or rng.random() < 0.5:
        return scene
    return replace(scene, noun=f"colour{rng.randrange(400)}")


def colour_of(scene: Scene) -> np.ndarray:
    rgb = (
        clothes_colour(scene.noun)
        if scene.kind == "person"
        else accent(scene.kind, scene.noun)
    )
    return np.array(rgb) / 255


def labels_of(scene: Scene) -> list[int]:
    values = {"kind": scene.kind, "weather": scene.weather}
    values["several"] = "several" if len(scene.people) > 1 else "one"
    for name in ("gender", "skin", "age"):
        shared = {getattr(person, name) for person in scene.people}
        if len(shared) == 1:  # a group has what all of its people have
            values[name] = shared.pop()
    return [
        classes.index(values[head]) if head in values else -1
        for head, classes in HEADS.items()
    ]


def disturbed(image: Image.Image, rng: random.Random) -> np.ndarray:
    """The image as it is, or as an imitation might have it."""
    if rng.random() < 0.25:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 1.2)))
    if rng.random() < 0.2:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=rng.randint(40, 95))
        image = Image.open(buffer)
    pixels = np.asarray(image, dtype=np.float32)
    if rng.random() < 0.4:
        noise = np.random.default_rng(rng.getrandbits(32))
        pixels = pixels + noise.normal(0, rng.uniform(2, 18), pixels.shape)
        pixels = pixels * rng.uniform(0.9, 1.1) + rng.uniform(-8, 8)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=48_000)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()
    torch.manual_seed(0)
    rng, texts = random.Random(0), captions()
    inputs, targets, colours = [], [], []
    for number in range(options.images):
        scene = dressed(
            sample_scene(texts[number % len(texts)], 10_000_000 + number, FAIR), rng
        )
        inputs.append(features(disturbed(draw_scene(scene), rng)))
        targets.append(labels_of(scene))
        colours.append(colour_of(scene))
    x = torch.tensor(np.stack(inputs))
    y = torch.tensor(targets)
    c = torch.tensor(np.stack(colours), dtype=torch.float32)
    sizes = [len(classes) for classes in HEADS.values()]
    model = nn.Sequential(
        nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Linear(128, sum(sizes) + 3)
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    steps = options.epochs * (len(x) // 256)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
    held = len(x) // 20
    for epoch in range(options.epochs):
        order = torch.randperm(len(x) - held)
        for start in range(0, len(order) - 255, 256):
            rows = order[start : start + 256]
            out = model(x[rows])
            parts = out.split([*sizes, 3], dim=1)
            loss = 4 * nn.functional.mse_loss(parts[-1], c[rows])
            for head, logits in enumerate(parts[:-1]):
                wanted = y[rows, head]
                if (wanted >= 0).any():
                    loss = loss + nn.functional.cross_entropy(
                        logits, wanted, ignore_index=-1, label_smoothing=0.02
                    )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if schedule.last_epoch < steps:
                schedule.step()
        if epoch % 5 == 4 or epoch == options.epochs - 1:
            with torch.no_grad():
                parts = model(x[-held:]).split([*sizes, 3], dim=1)
            right = {}
            for head, (name, logits) in enumerate(zip(HEADS, parts, strict=False)):
                wanted = y[-held:, head]
                there = wanted >= 0
                right[name] = (
                    (logits.argmax(1)[there] == wanted[there]).float().mean().item()
                )
            error = (parts[-1] - c[-held:]).abs().mean().item()
            shown = ", ".join(f"{name} {share:.4f}" for name, share in right.items())
            print(f"epoch {epoch + 1}: {shown}, colour error {error:.3f}", flush=True)
    first, last = model[0], model[2]
    arrays = {
        "in.weight": first.weight.T,
        "in.bias": first.bias,
        "out.weight": last.weight.T,
        "out.bias": last.bias,
    }
    save_file(
        {
            k: np.ascontiguousarray(v.detach().numpy().astype(np.float16))
            for k, v in arrays.items()
        },
        WEIGHTS,
    )


if __name__ == "__main__":
    main()
