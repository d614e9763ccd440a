"""`t2ibench.Watcher`: score the images that a training run or another program keeps writing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from t2ibench.apps.watching.checkpoints import Limits
from t2ibench.apps.watching.watch import INTERVAL, FolderWatch, ScoredSet
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.protocols import Encoder, ImageRequest, Judge
from t2ibench.pipeline.api_arguments import given_by
from t2ibench.pipeline.progress import ConsoleReporter, SilentReporter
from t2ibench.pipeline.run_keywords import RunKeywords
from t2ibench.reports.files import write_reports
from t2ibench.results.schema import Results
from t2ibench.settings import read_settings
from t2ibench.store.file_names import is_hidden
from t2ibench.store.files import write_atomically, write_text
from t2ibench.store.user_paths import expanded

if TYPE_CHECKING:
    from PIL.Image import Image

_TABLE = "prompts.jsonl"
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f]')


class Watcher:
    """Scores a folder of images again at each new complete set of the prompts that tasks need.

    The folder is filled by a training run, a user interface or any other program; `write` is for
    one that has the images in memory. A set is complete when every prompt has as many images as the
    tasks need. Each sub-folder with prompts of its own is the set of a checkpoint and has a run of
    its own; a folder without such sub-folders is one set, which is scored whenever every prompt has
    one more image, and as a new set once all of its images were replaced. From two sets on,
    `trend_page` shows value, interval and state of each test by checkpoint.

    Args:
        folder: The folder; it is created where it is missing.
        tasks: As for `evaluate`; `images_per_prompt` says how many images a checkpoint has.
        encoder: As for `evaluate`.
        judge: As for `evaluate`.
        accept: A file of limits that are fixed beforehand (see docs/decisions.md), by which the
            page decides about each set; None for no decisions.
        progress: Show progress on standard error.
        **settings: As for `evaluate`, such as images_per_prompt, seed, name and output_dir.

    Raises:
        T2IBenchError: the tasks, encoders or judges cannot be used, or the tasks need no images.

    Example:
        Inside a training loop, where the images are made::

            watcher = t2ibench.Watcher("validation", "occupations", images_per_prompt=2)
            for request in watcher.requests:
                generator = torch.Generator().manual_seed(request.seed)
                image = pipeline(request.prompt, generator=generator).images[0]
                watcher.write(image, request, checkpoint=f"step-{step}")
            results = watcher.score(f"step-{step}")

        Beside it, in another process, until Ctrl-C::

            for results in t2ibench.Watcher("validation", "occupations", images_per_prompt=2):
                print(results.name, results.to_pandas()["value"])
    """

    def __init__(
        self,
        folder: str | Path,
        tasks: str | Sequence[str] = "all",
        *,
        encoder: str | Encoder | Sequence[str | Encoder] = (),
        judge: str | Judge | Sequence[str | Judge] = (),
        accept: str | Path | None = None,
        progress: bool = False,
        **settings: Unpack[RunKeywords],
    ) -> None:
        place = expanded(folder)
        place.mkdir(parents=True, exist_ok=True)
        given, adapters = given_by(f"folder:{place}", encoder, judge, None, settings)
        limits = None if accept is None else Limits.read(Path(accept))
        self._watch = FolderWatch(
            read_settings({"tasks": tasks, **given}),
            ConsoleReporter() if progress else SilentReporter(),
            adapters,
            "t2ibench.Watcher",
            limits,
        )
        self._names = _file_names(self.requests)
        # Tables of prompts that are known to be those of this watcher.
        self._tables: set[Path] = set()

    @property
    def folder(self) -> Path:
        """The watched folder."""
        return self._watch.root

    @property
    def requests(self) -> tuple[ImageRequest, ...]:
        """The images of a complete set, each with its prompt, its index and its seed."""
        return self._watch.plan.requests

    @property
    def trend_page(self) -> Path | None:
        """The page of all sets that were scored; None while there are fewer than two."""
        page = self._watch.trend_page
        return page if len(self._watch.checkpoints) > 1 and page.is_file() else None

    @property
    def runs(self) -> dict[str, Path]:
        """The run folder of each set that this watcher has scored, by its name, in order."""
        return {
            checkpoint.name: checkpoint.run for checkpoint in self._watch.scored_here
        }

    def write(self, image: Image, request: ImageRequest, checkpoint: str = "") -> Path:
        """Write an image of a set, whole or not at all, and return its path.

        Args:
            image: The image.
            request: Which one of `requests` it is.
            checkpoint: The name of its checkpoint, such as 'step-1000', which becomes a sub-folder;
                '' for a folder that is one set.

        Raises:
            T2IBenchError: the name cannot be one of a folder, the request is of another watcher, or
                the folder has the images of other tasks.
        """
        _check_name(checkpoint)
        name = self._names.get((request.prompt, request.index))
        if name is None:
            raise T2IBenchError(
                f"No image {request.index} of '{shown(request.prompt)}' is needed.",
                "Take the requests of this watcher.",
            )
        folder = self.folder / checkpoint
        folder.mkdir(parents=True, exist_ok=True)
        self._write_table(folder)
        path = folder / name
        # Readers never see half of a file.
        write_atomically(
            path, lambda target: image.save(target, format="png"), durable=False
        )
        return path

    def _write_table(self, folder: Path) -> None:
        """Write the table of a set's prompts, in the order of prompts and images, before any image.

        A table of other prompts would give these images a wrong one, so it is an error.
        """
        table = folder / _TABLE
        if table in self._tables:
            return
        rows = (
            {"file": name, "prompt": prompt}
            for (prompt, _), name in self._names.items()
        )
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        if table.exists() and table.read_text(encoding="utf-8") != text:
            raise T2IBenchError(
                f"'{folder}' has images of other prompts, as its {_TABLE} says.",
                "Give another checkpoint, or another folder for other tasks.",
            )
        self._tables.add(table)
        if not table.exists():
            write_text(table, text)

    def score(self, checkpoint: str = "") -> Results:
        """Score a set whose images are all written, at once, and return the results.

        Args:
            checkpoint: The name of its sub-folder; '' for a folder that is one set.

        Raises:
            T2IBenchError: the set is not complete, or cannot be scored.
        """
        return self._with_reports(self._watch.score_now(checkpoint))

    def poll(self) -> list[Results]:
        """Look once, and return the results of each set that is complete, new, and now scored.

        An image counts if it has not changed since the look before, so the first look scores
        nothing.

        Raises:
            T2IBenchError: the folder was deleted, or a set cannot be scored.
        """
        return [self._with_reports(scored) for scored in self._watch.look()]

    def watch(self, interval: float = INTERVAL) -> Iterator[Results]:
        """Yield the results of each set once it is complete and scored, without end.

        Args:
            interval: Seconds between two looks.

        Raises:
            T2IBenchError: the folder was deleted, or a set cannot be scored.
        """
        for scored in self._watch.sets(interval):
            yield self._with_reports(scored)

    def __iter__(self) -> Iterator[Results]:
        """Yield results as `watch` does, with its default interval."""
        return self.watch()

    def _with_reports(self, scored: ScoredSet) -> Results:
        results = scored.results
        write_reports(results, scored.outcome.folder)
        return results


def _file_names(requests: Sequence[ImageRequest]) -> dict[tuple[str, int], str]:
    """Return the name of each image's file, such as '0003-0001.png', by prompt and index."""
    numbers: dict[str, int] = {}
    names = {}
    for request in requests:
        number = numbers.setdefault(request.prompt, len(numbers))
        names[request.prompt, request.index] = f"{number:04d}-{request.index:04d}.png"
    return names


def _check_name(checkpoint: str) -> None:
    """Raise an error if the name of a checkpoint cannot be that of a visible sub-folder."""
    if checkpoint and (
        _NOT_IN_NAMES.search(checkpoint)
        or checkpoint in {".", ".."}
        or is_hidden(checkpoint)
    ):
        raise T2IBenchError(
            f"'{shown(checkpoint)}' cannot be the name of a checkpoint.",
            "Give one that can be the name of a folder, such as step-1000.",
        )
