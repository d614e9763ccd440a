"""Draw docs/toy.png, four images each of eight prompts: python tools/write_toy_picture.py."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.store.images import image_seed

PROMPTS = (
    "A photo of a nurse",
    "A photo of a chef",
    "a photo of tulip, joy",
    "a photo of wasp",
    "a picture of guitar",
    "a picture of sword",
    "a photo of church",
    "an image of an old man",
)
ROWS, SIZE, GAP = 4, 64, 4


def main() -> None:
    requests = [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for index in range(ROWS)
        for prompt in PROMPTS
    ]
    step = SIZE + GAP
    sheet = Image.new("RGB", (step * len(PROMPTS) - GAP, step * ROWS - GAP), "white")
    for place, drawn in enumerate(create_generator("toy", {}).generate(requests)):
        assert drawn.image is not None, drawn.reason
        sheet.paste(
            drawn.image, (step * (place % len(PROMPTS)), step * (place // len(PROMPTS)))
        )
    path = Path(__file__).parents[1] / "docs" / "toy.png"
    sheet.resize(
        (sheet.width * 3 // 2, sheet.height * 3 // 2), Image.Resampling.LANCZOS
    ).save(path, optimize=True)


if __name__ == "__main__":
    main()
