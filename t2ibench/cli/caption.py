"""`t2ibench propose … --caption-by`: captions for images that have none, by a judge."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from t2ibench.arguments import parse_args
from t2ibench.errors import T2IBenchError

QUESTION = "Describe the image in one sentence."
_PART = 64


def write_captions(arguments: argparse.Namespace) -> None:
    """Write prompts.jsonl beside the images, which `folder:` and `propose` read.

    Images that have a caption are not asked about again.

    Raises:
        T2IBenchError: some images have none in the end; those of the others are kept.
    """
    from t2ibench.methods.core.evidence import UNKNOWN
    from t2ibench.models.judges import create_judges
    from t2ibench.models.protocols import ReportsWaits
    from t2ibench.pipeline.observers import open_judge
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.work import ask
    from t2ibench.store.database import Database
    from t2ibench.store.images import StoredImage, image_files
    from t2ibench.store.jsonl import append_rows, read_rows

    kind, _, named = str(arguments.captions).partition(":")
    if kind != "folder":
        raise T2IBenchError(
            "--caption-by writes captions of images: it needs --captions folder:DIR.",
            "Captions of a file are read as they are: leave --caption-by out.",
        )
    folder = Path(named)
    files = image_files(folder)
    if not files:
        raise T2IBenchError(f"'{folder}' is no folder with images.")
    args = parse_args(arguments.judge_args, "--judge-args")
    (judge,) = create_judges(
        [arguments.caption_by], args, device=arguments.device, dtype=arguments.dtype
    )
    judge_run = open_judge(judge, Database(folder / ".t2ibench"))
    output, reporter = folder / "prompts.jsonl", ConsoleReporter()
    if isinstance(judge, ReportsWaits):
        judge.report_waits(reporter.say)
    listed = {str(row.get("file")) for row in read_rows(output)} if output.is_file() else set()
    todo = [path for path in files if path.relative_to(folder).as_posix() not in listed]
    problems: list[str] = []
    captioned = len(files) - len(todo)
    with reporter.stage("Captioning", len(todo), "images") as ticker:
        for start in range(0, len(todo), _PART):
            images = [
                StoredImage(path, hashlib.sha256(path.read_bytes()).hexdigest(), "", 0)
                for path in todo[start : start + _PART]
            ]
            report = ask([(image, [(QUESTION, ())]) for image in images], judge_run)
            rows = []
            for image in images:
                answer = judge_run.store.get(image.sha256, QUESTION, ())
                if answer is not None and answer.answer not in {"", UNKNOWN}:
                    name = image.path.relative_to(folder).as_posix()
                    rows.append({"file": name, "prompt": answer.answer})
                elif answer is not None:
                    problems.append(f"{image.path} has no caption: the judge cannot tell")
            append_rows(output, rows)
            captioned += len(rows)
            problems += map(str, report.damaged)
            for why, count in report.reasons.items():
                problems.append(f"{count} images have no caption: {why}")
            if report.stopped is not None:
                problems.append(f"{judge.name} was stopped: {report.stopped}")
                break
            ticker.advance(len(images))
    for line in problems[:10]:
        reporter.warn(line)
    reporter.say(f"{captioned} of {len(files)} images have a caption: {output}")
    if captioned < len(files):
        raise T2IBenchError(
            f"{len(files) - captioned} images have no caption.",
            "Run the same command again, or take these images out.",
        )
