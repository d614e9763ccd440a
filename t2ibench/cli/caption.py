"""`t2ibench caption DIR`: captions for pictures that have none, by a judge."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from t2ibench.arguments import parse_args
from t2ibench.errors import T2IBenchError

QUESTION = "Describe the image in one sentence."


def run(arguments: argparse.Namespace) -> int:
    """Write prompts.jsonl beside the pictures, which `folder:` and `propose` read."""
    from t2ibench.models.judges import create_judges
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.store.files import read_json_lines
    from t2ibench.store.images import SUFFIXES

    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise T2IBenchError(f"There is no folder '{folder}'.")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not files:
        raise T2IBenchError(f"'{folder}' holds no pictures.")
    args = parse_args(arguments.judge_args, "--judge-args")
    (judge,) = create_judges(
        [arguments.judge], args, device=arguments.device, dtype=arguments.dtype
    )
    output, reporter = folder / "prompts.jsonl", ConsoleReporter()
    there = {str(row.get("file")) for row in read_json_lines(output)} if output.is_file() else set()
    todo = [path for path in files if path.relative_to(folder).as_posix() not in there]
    failed: list[str] = []
    with reporter.stage("Captioning", len(todo), "images") as ticker:
        for start in range(0, len(todo), judge.batch_size):
            part = todo[start : start + judge.batch_size]
            _caption(part, folder, judge, output, failed)
            ticker.advance(len(part))
    for line in failed[:10]:
        reporter.warn(line)
    reporter.say(f"{len(files) - len(failed)} of {len(files)} pictures have a caption: {output}")
    return 3 if failed else 0


def _caption(
    paths: list[Path], folder: Path, judge: object, output: Path, failed: list[str]
) -> None:
    from PIL import Image

    from t2ibench.models.protocols import Judge, Query

    assert isinstance(judge, Judge)
    queries, asked = [], []
    for path in paths:
        try:
            with Image.open(path) as picture:
                image = picture.convert("RGB")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            failed.append(f"{path} cannot be read as a picture ({type(error).__name__})")
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        queries.append(Query(image, "", 0, digest, QUESTION))
        asked.append(path)
    with output.open("a", encoding="utf-8") as file:
        for path, found in zip(asked, judge.answer(queries), strict=True):
            if not found.answer or found.answer == "unknown":
                failed.append(f"{path} has no caption: {found.reason or 'the judge cannot tell'}")
                continue
            row = {"file": path.relative_to(folder).as_posix(), "prompt": found.answer}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
