"""Storing, opening and resuming a run of many images, beside JSON Lines of the same rows.

    python benchmarks/store.py [--images 100000] [--json FILE]

No image is made: rows of attempts alone, 20 images a prompt, 256 rows a transaction. The peer
writes the same rows as lines of JSON, as many tools do, and reads them into a dictionary.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from timing import timed, write

from t2ibench.store.database import Database
from t2ibench.store.images import Attempt, ImageStore, image_key, image_seed

GENERATOR = "f" * 64
PER_PROMPT, BATCH = 20, 256


def attempts(count: int) -> Iterator[list[Attempt]]:
    """Attempts at images that nobody made, in batches."""
    for start in range(0, count, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, count)):
            person, index = divmod(number, PER_PROMPT)
            prompt = f"A photo of the face of person {person}"
            key = image_key(GENERATOR, prompt, index)
            digest = hashlib.sha256(key.encode()).hexdigest()
            seed = image_seed(0, prompt, index)
            batch.append(Attempt(key, prompt, index, seed, "ok", f"{key[:2]}/{key}.png", digest))
        yield batch


def write_database(folder: Path, batches: list[list[Attempt]]) -> None:
    database = Database(folder)
    database.begin_run()
    store = ImageStore(database, GENERATOR)
    for batch in batches:
        store.record(batch)
    database.end_run()


def resume(store: ImageStore, batches: list[list[Attempt]]) -> int:
    """How many images have no outcome."""
    return sum(store.get(one.prompt, one.index) is None for batch in batches for one in batch)


def write_lines(file: Path, batches: list[list[Attempt]]) -> None:
    with file.open("w", encoding="utf-8") as stream:
        for batch in batches:
            rows = ({name: getattr(one, name) for name in Attempt.__slots__} for one in batch)
            stream.writelines(json.dumps(row) + "\n" for row in rows)
            stream.flush()


def read_lines(file: Path) -> dict[tuple[str, int], Attempt]:
    with file.open(encoding="utf-8") as stream:
        found = (Attempt(**json.loads(line)) for line in stream)
        return {(one.prompt, one.index): one for one in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    batches = list(attempts(arguments.images))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.jsonl"
        found = {
            "write": timed(lambda: write_database(folder, batches)).seconds,
            "write, lines": timed(lambda: write_lines(file, batches)).seconds,
        }
        found["open"], _, store = timed(lambda: ImageStore(Database(folder), GENERATOR))
        found["open, lines"], _, lines = timed(lambda: read_lines(file))
        found["resume"], _, missing = timed(lambda: resume(store, batches))
        assert not missing and len(lines) == len(store) == arguments.images
        found["MB"] = (folder / "run.db").stat().st_size / 1e6
        found["MB, lines"] = file.stat().st_size / 1e6
    for step in ("write", "open", "MB"):
        print(
            f"{step:8} {found[step]:8.2f}   lines {found[f'{step}, lines']:8.2f}   "
            f"{found[step] / found[f'{step}, lines']:.2f} of it"
        )
    print(f"resume   {found['resume']:8.2f}")
    write(arguments.json, {"images": arguments.images, **found})


if __name__ == "__main__":
    main()
