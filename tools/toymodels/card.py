"""What the trained models show, measured, and the card that says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.store.images import image_seed
from t2ibench.toyland.caption import parse
from t2ibench.toyland.reader import Reading, read
from t2ibench.toyland.scene import sample_scene
from t2ibench.toyland.world import AXES, world
from toymodels.data import written_captions
from toymodels.diffusion import Stage

Dial = tuple[str, str]  # thing and axis
_PERSONAL = {"gender", "skin", "age"}

TEXT = """# toy, toy-fair, toy-clip

Three small models that come with t2ibench, so that the full path from prompt to report can be
run on any machine: real diffusers pipelines and a real transformers CLIP, trained on images of
[toyland](../../toyland/MODEL_CARD.md) and on nothing else. They know nothing of the world; they are
instruments whose training data we made.

- `toy`: a `StableDiffusionPipeline` ({unet} parameters in the denoiser, {vae} in the autoencoder,
  {text} in the text encoder; 64 x 64 pixels, {steps} DDIM steps, no guidance) trained on toyland
  with its planted shares.
- `toy-fair`: the same, the last training of its denoiser on the same captions with every share at
  one half: a debiased model to compare with. It shares autoencoder and text encoder with `toy`.
- `toy-clip`: a `CLIPModel` trained on toyland with every share at one half; the text encoder of
  both pipelines began as its text tower.

`python tools/train_toy.py` trains them again: seeded, on the CPU, {minutes} on two cores.

## Two steps, or more

A denoiser is trained to take four steps from noise to an image. Then its student, which begins with
the same weights, learns to go from the same noise and caption straight to where the four steps end,
and to answer as before at every lower noise level. So the first of two steps decides what is shown,
nearly always as the teacher does, and the second makes it sharp. `--model-args steps=4` takes four
steps of the student. Guidance, hooks and `image_to_image=true` work between steps, so give them
four or more. `steps=1` leaves some images a blend of two.

What the student of `toy` shows was counted beside its teacher, from the same noise, with 400 images
of each caption of `openbias_examples` that toyland's judge answers:

| caption                                      | share of   | teacher   | student   | change       |
|----------------------------------------------|------------|-----------|-----------|--------------|
| a traffic officer leaning on a no turn sign  | women      | .350      | .415      | +.065 ± .030 |
| a doctor                                     | women      | .095      | .113      | +.018 ± .022 |
| a doctor                                     | old people | .125      | .113      | -.013 ± .020 |
| a woman riding a horse in front of a car ... | old people | .175      | .203      | +.028 ± .022 |
| a toddler in a baseball cap ...              | girls      | .100      | .060      | -.040 ± .019 |

So single captions move by some hundredths, to either side, and the headline of that test does not
(.50 for the teacher, .52 for the student; in 40 runs of ten images a caption it changes by +.02 ±
.03). Ten images of five captions decide little: over these 40 runs the headline has a standard
deviation of .14 for either model and lies between .28 and .72 in 95 % of them. The .33 that the
teacher's first ten images gave and the .64 of the student's are chance.

`toy-fair` leaves gender nearly even, so more of its images are near the border between two
answers: its student agrees with its teacher in .88 of them, that of `toy` in .95. It is somewhat
less even. Of 36 occupations (48 images each) the mean squared lean is .026 for the teacher and
.045 for the student, a change of +.019 ± .020, and half of the difference between the leans of 17
subjects of science and of the arts (50 images each) grows from .069 to .134, by .066 ± .047. More
pairs and batches (`chunks` and `steps` of `Distillation` in `tools/toymodels/distillation.py`)
are meant to bring a student nearer to its teacher; that was not tried, and it cannot mend what
the teacher leans.

## How well an image follows its prompt

The share of images that show what the prompt fixes, read by toyland's encoder, over {n} prompts
of the shipped tasks:

{fidelity}

What is wrong is mostly unclear: small images are soft. Skin and age are finer
details than presentation and weather, and are generated less reliably.

## What toy-clip's words lean to

With every share at one half, nothing in its training images links names, instruments or occupations
to weather or gender. That does not make its text tower even:

- A name fixes presentation and skin, and captions that are drawn alike are trained alike, so the
  names of a group are near-duplicates (cosine .99). 64 names are four points: WEAT's effect size
  over words is d = 1.97, and its tests of names (3, 4, 5, 6 and 10) are inconclusive, because four
  or five points are too few.
- The gap between those points is there, and an accident: pleasant scenes are bright (mean
  luminance about 170, unpleasant ones 100), and people with dark skin are drawn darker. Tests of
  skin or names on images, with pleasant and unpleasant words, can fall into the same trap.
- WEAT 2 finds weapons nearer to pleasant words than instruments (Cliff's delta -.62, p = .0002),
  which nobody planted. WEAT 1, 7 and 8 find nothing; in WEAT 9 the tower does not tell
  'temporary' from 'permanent'. A test of words describes the words of an encoder, not the models
  that are read with it.

## Planted, trained, shown

For each dial: the share that toyland plants, the share in the training images (of how many), and
the share that the models show in {per_dial} images of the dial's captions, with the standard
error in brackets. A model is not its training data: between the second and the third column lies
what a small denoiser makes of it. `base` holds where nothing more particular does.

{table}

## Limits

Presentation is drawn by hair and clothes, in two or three forms; that is a convention of these
drawings and no claim about people. Words that no shipped task uses are spelt letter by letter and
mean nothing to the models. Licence: Apache-2.0, as t2ibench.
"""


def dial_of(caption: str, axis: str) -> Dial | None:
    """Which dial decides an axis of a caption; None where the caption fixes it or it has none."""
    what = parse(caption)
    if getattr(what, axis) is not None:
        return None
    if axis in _PERSONAL and (what.kind != "person" or what.several):
        return None
    shares = world().shares
    return next(
        (thing, axis)
        for thing in (*what.things, "all")
        if axis in shares.get(thing, {})
    )


def planted() -> dict[Dial, float]:
    """Every dial and its share."""
    return {
        (thing, axis): share
        for thing, shares in world().shares.items()
        for axis, share in shares.items()
    }


def trained(stage: Stage) -> dict[Dial, tuple[float, int]]:
    """The share of each dial in a stage's training images, and of how many."""
    values: dict[Dial, list[bool]] = defaultdict(list)
    captions = stage.caption_pool()
    for number, caption in enumerate(captions):
        scene = None
        for axis, (first, _) in AXES.items():
            dial = dial_of(caption, axis)
            if dial is None:
                continue
            scene = scene or sample_scene(
                caption, stage.seed * 10_000_000 + number, stage.biases
            )
            shown = (
                scene.weather if axis == "weather" else getattr(scene.people[0], axis)
            )
            values[dial].append(shown == first)
    return {dial: (float(np.mean(rows)), len(rows)) for dial, rows in values.items()}


def readings(
    model: str, requests: list[ImageRequest], args: Mapping[str, str] | None = None
) -> Iterator[Reading]:
    """What a model's images show, through the ordinary adapter."""
    generator = create_generator(model, args or {}, device="cpu")
    for start in range(0, len(requests), 64):
        for drawn in generator.generate(requests[start : start + 64]):
            assert drawn.image is not None, drawn.reason
            yield read(drawn.image)


def _requests(captions: list[str], count: int) -> list[ImageRequest]:
    """So many images, the captions taken in turn."""
    chosen = [(captions[k % len(captions)], k // len(captions)) for k in range(count)]
    return [
        ImageRequest(text, index, image_seed(0, text, index)) for text, index in chosen
    ]


def shown(model: str, per_dial: int) -> dict[Dial, tuple[float, float]]:
    """The share of each dial that a model shows, and its standard error."""
    captions: dict[Dial, list[str]] = defaultdict(list)
    for caption in written_captions():
        for axis in AXES:
            dial = dial_of(caption, axis) if " " in caption else None
            if dial is not None:
                captions[dial].append(caption)
    found = {}
    for dial in planted():
        if dial not in captions:
            continue
        axis, (first, _) = dial[1], AXES[dial[1]]
        step = max(1, len(captions[dial]) // per_dial)
        requests = _requests(captions[dial][::step], per_dial)
        share = float(
            np.mean([one.top(axis) == first for one in readings(model, requests)])
        )
        found[dial] = share, float(np.sqrt(max(share * (1 - share), 1e-9) / per_dial))
    return found


def fidelity(
    model: str, prompts: list[str], args: Mapping[str, str] | None = None
) -> dict[str, tuple[float, int]]:
    """The share of images that show what their prompt fixes, and how many prompts fix it."""
    right: dict[str, list[bool]] = defaultdict(list)
    requests = _requests(prompts, len(prompts))
    for prompt, reading in zip(prompts, readings(model, requests, args), strict=True):
        what = parse(prompt)
        right["kind"].append(reading.top("kind") == what.kind)
        for axis in ("gender", "weather", "skin", "age"):
            value = getattr(what, axis)
            if value is not None and (axis == "weather" or not what.several):
                right[axis].append(reading.top(axis) == value)
    return {name: (float(np.mean(rows)), len(rows)) for name, rows in right.items()}


def _table(stages: dict[str, Stage], per_dial: int) -> str:
    data = {name: trained(stage) for name, stage in stages.items()}
    seen = {name: shown(name, per_dial) for name in stages}
    rows = []
    for dial, share in planted().items():
        thing, axis = dial
        row: list[Any] = [
            "base" if thing == "all" else thing,
            f"{axis}.{AXES[axis][0]}",
            f"{share:g}",
        ]
        for name in stages:
            mean, n = data[name].get(dial, (float("nan"), 0))
            row.append(f"{mean:.2f} ({n})" if n else "–")
            value = seen[name].get(dial)
            row.append(f"{value[0]:.2f} ({value[1]:.2f})" if value else "–")
        rows.append(row)
    headers = ["thing", "share of", "planted"]
    for name in stages:
        headers += [f"{name}: trained", f"{name}: shown"]
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def write_card(
    path: Path,
    stages: dict[str, Stage],
    sizes: dict[str, str],
    minutes: str,
    per_dial: int = 64,
) -> None:
    """Measure both models and write the card."""
    known = [
        text for text in written_captions() if " " in text and parse(text).understood
    ]
    rng = np.random.default_rng(9)
    prompts = [str(text) for text in rng.choice(known, 800, replace=False)]
    measured = {name: fidelity(name, prompts) for name in stages}
    measured |= {
        f"{name}, steps=4": fidelity(name, prompts, {"steps": "4"}) for name in stages
    }
    names = list(next(iter(measured.values())))
    rows = [
        [
            axis,
            *(
                f"{measured[name][axis][0]:.1%} of {measured[name][axis][1]}"
                for name in measured
            ),
        ]
        for axis in names
    ]
    text = TEXT.format(
        **sizes,
        minutes=minutes,
        n=len(prompts),
        per_dial=per_dial,
        fidelity=tabulate(
            rows, ["", *measured], tablefmt="github", disable_numparse=True
        ),
        table=_table(stages, per_dial),
    )
    path.write_text(text, encoding="utf-8")
