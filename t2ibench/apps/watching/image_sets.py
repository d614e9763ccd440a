"""Complete sets of images in a folder: every prompt that tasks need has as many as they need.

A folder is one growing set, or a folder of checkpoints: then each sub-folder that has a table, or
sub-folders of prompts, is the set of one checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from t2ibench.apps.watching.written_files import FileState, WrittenFiles, state_of
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.generators.folder import (
    FolderArguments,
    PromptFiles,
    folder_of,
    prompt_files,
)
from t2ibench.models.generators.image_folder import normal
from t2ibench.store.file_names import visible_entries

# The part of a pattern that says that each sub-folder is a checkpoint.
_CHECKPOINT = re.compile(r"\{\s*checkpoint\s*\}/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that holds one set of images, or will.

    Attributes:
        folder: Where its images are.
        checkpoint: The name of the sub-folder; '' where the watched folder is the set.
        arguments: How its images and prompts are read.
        listed: Its files by prompt, where they had to be listed to see that it is a checkpoint.
    """

    folder: Path
    checkpoint: str
    arguments: FolderArguments
    listed: PromptFiles | None = field(default=None, repr=False, compare=False)

    def files(self) -> PromptFiles:
        """Return its files by prompt; raise T2IBenchError or OSError if it cannot be read."""
        if self.listed is not None:
            return self.listed
        return prompt_files(folder_of(self.folder, self.arguments), self.arguments)


@dataclass(frozen=True, slots=True)
class ImageSet:
    """A complete set of images.

    Attributes:
        place: Where it is.
        each: Number of images that every prompt has, at most that of the prompt with most.
        files: The images that count, with their states.
    """

    place: Place
    each: int
    files: Mapping[Path, FileState]

    def replaced(self) -> int:
        """Return how many of its files have changed, or are gone, since it was complete."""
        return sum(state_of(path) != state for path, state in self.files.items())


@dataclass(frozen=True, slots=True)
class UnfinishedSet:
    """A set that is not complete yet.

    Attributes:
        place: Where it is.
        why: What is missing, in a sentence.
        only_unsettled: Whether all of its images exist, and the next look may find them written.
    """

    place: Place
    why: str
    only_unsettled: bool = False


def places_in(root: Path, arguments: FolderArguments) -> list[Place]:
    """Return the folders that hold a set of images each, in natural order.

    Where a pattern begins with '{checkpoint}/', each sub-folder does. Otherwise each does that is
    itself readable as a folder of prompts, unless a table in the watched folder lists the images.
    """
    pattern = arguments.pattern or ""
    inner = _CHECKPOINT.sub("", pattern, count=1)
    sub_folders = [path for path in visible_entries(root) if path.is_dir()]
    if inner != pattern:
        below = arguments.model_copy(update={"pattern": inner})
        return [Place(path, path.name, below) for path in sub_folders]
    whole = Place(root, "", arguments)
    if pattern or _has_table(root, arguments):
        return [whole]
    places = [_as_checkpoint(path, arguments) for path in sub_folders]
    return [place for place in places if place is not None] or [whole]


def _has_table(root: Path, arguments: FolderArguments) -> bool:
    """Return whether a table in a folder lists its images, were it only half written yet."""
    try:
        return folder_of(root, arguments).has_table
    except T2IBenchError:
        return True


def _as_checkpoint(folder: Path, arguments: FolderArguments) -> Place | None:
    """Return a sub-folder as the place of a checkpoint; None if it cannot be read as one."""
    place = Place(folder, folder.name, arguments)
    try:
        return replace(place, listed=place.files())
    except (T2IBenchError, OSError):
        return None


class SetFinder:
    """Finds complete sets in a folder, look by look.

    Args:
        root: The watched folder.
        arguments: How its images and prompts are read.
        wanted: Prompt to the number of images that tasks need.
    """

    def __init__(
        self, root: Path, arguments: FolderArguments, wanted: Mapping[str, int]
    ) -> None:
        self._root = root
        self._arguments = arguments
        self._wanted = {normal(prompt): count for prompt, count in wanted.items()}
        self._prompts = {normal(prompt): prompt for prompt in wanted}
        self._most = max(wanted.values())
        self._total = sum(wanted.values())
        self._written: dict[Path, WrittenFiles] = {}

    def look(self) -> Iterator[ImageSet | UnfinishedSet]:
        """Yield what every set of the folder has now."""
        for place in places_in(self._root, self._arguments):
            written = self._written.setdefault(place.folder, WrittenFiles())
            yield self._set_in(place, written)

    def now(self, place: Place) -> ImageSet | UnfinishedSet:
        """Return what a set has now, whose images are known to be written."""
        written = WrittenFiles()
        self._set_in(place, written)
        return self._set_in(place, written)

    def _set_in(self, place: Place, written: WrittenFiles) -> ImageSet | UnfinishedSet:
        try:
            listed = place.files()
        except T2IBenchError as error:
            return UnfinishedSet(place, error.message)
        except OSError as error:
            why = error.strerror or type(error).__name__
            return UnfinishedSet(place, f"it cannot be listed ({why}).")
        candidates = self._candidates(listed)
        states = written.look(path for paths in candidates.values() for path in paths)
        counts = {
            prompt: _written_first(paths, states)
            for prompt, paths in candidates.items()
        }
        short = {
            prompt: count
            for prompt, count in counts.items()
            if count < self._wanted[prompt]
        }
        each = min(short.values(), default=self._most)
        if each == 0 or (short and place.checkpoint):
            why = self._why(counts, short, written)
            exist = sum(map(len, candidates.values())) == self._total
            return UnfinishedSet(place, why, exist and not written.unreadable)
        files = {
            path: states[path] for paths in candidates.values() for path in paths[:each]
        }
        arguments = place.arguments.model_copy(update={"most": each})
        return ImageSet(replace(place, arguments=arguments, listed=None), each, files)

    def _candidates(self, listed: PromptFiles) -> dict[str, list[Path]]:
        """Return the files that tasks would use, by prompt."""
        return {
            prompt: listed.files.get(prompt, [])[:count]
            for prompt, count in self._wanted.items()
        }

    def _why(
        self,
        counts: Mapping[str, int],
        short: Mapping[str, int],
        written: WrittenFiles,
    ) -> str:
        """Return in a sentence what a set is missing."""
        prompt = next(iter(short))
        sentence = (
            f"{sum(counts.values())} of {self._total} images are written; '"
            f"{shown(self._prompts[prompt])}' has {short[prompt]} of {self._wanted[prompt]}."
        )
        if written.unreadable:
            path, reason = next(iter(written.unreadable.items()))
            sentence += f" '{shown(path.name)}' does not change any more, but {reason}."
        return sentence


def _written_first(paths: list[Path], states: Mapping[Path, FileState]) -> int:
    """Return how many of the first files are written, before the first that is not."""
    count = 0
    for path in paths:
        if path not in states:
            break
        count += 1
    return count
