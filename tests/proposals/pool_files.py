"""Small files in the formats in which COCO's and Flickr30k's captions come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

PLACES = ("garden", "kitchen", "street", "park", "station", "library")
THINGS = ("umbrella", "book", "bag", "camera", "ladder", "lamp")
OTHERS = (
    "Two people walk in a park",
    "A man with a dog",
    "A dog on a bench",
    "An old woman reads",
)


def captions(things: Sequence[str] = THINGS) -> list[str]:
    """Captions of one person that leave gender, age and race open, and some that do not count."""
    people = [
        f"A person with the {thing} in a {place}"
        for thing, place in product(things, PLACES)
    ]
    return [*people, *OTHERS]


def coco(path: Path, texts: Iterable[str]) -> Path:
    """Write captions_val2017.json: what the file of annotations_trainval2017.zip holds."""
    rows = [
        {"image_id": n // 5, "id": n, "caption": text} for n, text in enumerate(texts)
    ]
    images = [
        {"id": n, "file_name": f"{n:012}.jpg", "license": 4}
        for n in range(len(rows) // 5)
    ]
    data = {
        "info": {"year": 2017},
        "licenses": [],
        "images": images,
        "annotations": rows,
    }
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def token(path: Path, texts: Iterable[str]) -> Path:
    """Write results_20130124.token: a caption a line, behind its image and number."""
    lines = [f"10000{n // 5}.jpg#{n % 5}\t{text} .\n" for n, text in enumerate(texts)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def karpathy(
    path: Path, texts: Iterable[str], splits: Sequence[str] = ("train",)
) -> Path:
    """Write dataset_flickr30k.json: images with their sentences, in the splits by turns."""
    images = [
        {
            "sentids": [n],
            "imgid": n,
            "sentences": [{"tokens": text.lower().split(), "raw": text, "imgid": n}],
            "split": splits[n % len(splits)],
            "filename": f"10000{n}.jpg",
        }
        for n, text in enumerate(texts)
    ]
    path.write_text(
        json.dumps({"images": images, "dataset": "flickr30k"}), encoding="utf-8"
    )
    return path


def parquet(folder: Path, texts: Sequence[str], split: str = "test") -> Path:
    """Write a folder as the hub has it: five captions and a picture a row, in one split."""
    from datasets import Dataset, Features, Image, Sequence, Value
    from PIL import Image as Picture

    rows = [list(texts[k : k + 5]) for k in range(0, len(texts), 5)]
    features = Features(
        {
            "image": Image(),
            "caption": Sequence(Value("string")),
            "filename": Value("string"),
        }
    )
    data = {
        "image": [Picture.new("RGB", (2, 2))] * len(rows),
        "caption": rows,
        "filename": [f"10000{n}.jpg" for n in range(len(rows))],
    }
    (folder / "data").mkdir(parents=True)
    table = Dataset.from_dict(data, features=features)
    table.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))
    return folder
