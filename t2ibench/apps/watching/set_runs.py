"""The runs of a watched folder's sets: what they are called, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from t2ibench.apps.watching.earlier_runs import EarlierRun
from t2ibench.apps.watching.image_sets import Place
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.preparation import create_model
from t2ibench.pipeline.run_context import PythonAdapters
from t2ibench.results.run import RunFolder
from t2ibench.settings import RunSettings
from t2ibench.store.evidence import slug

FOLDER = "folder:"


@dataclass(frozen=True, slots=True)
class SetRuns:
    """Gives each set of a watched folder a run of its own.

    Attributes:
        settings: The settings of every run; the model is `folder:DIR`.
        title: What all runs of the watched folder are named after.
    """

    settings: RunSettings
    title: str

    def settings_of(self, place: Place, name: str) -> RunSettings:
        """Return the settings of a set's run, in a folder of its own.

        Args:
            place: Where its images are, and how many of each prompt count.
            name: What the set is called.
        """
        settings = self._with_images(place, place.arguments.most)
        settings = settings.model_copy(update={"name": name})
        earlier = RunFolder(Path(settings.output_dir) / slug(name))
        earlier.reload()
        recorded = earlier.record.generator
        if recorded is None:
            return settings
        fingerprint = _fingerprint_of(settings)
        if recorded.fingerprint == fingerprint:
            return settings
        # Another state of these images was scored under this name, by an earlier watch.
        return settings.model_copy(update={"name": f"{name}-{fingerprint[:8]}"})

    def version_after(self, earlier: EarlierRun | None, place: Place) -> int:
        """Return how often a set's images were replaced, from 1, after an earlier watch.

        Args:
            earlier: The run that an earlier watch finished last of this set; None without one.
            place: Where its images are.
        """
        if earlier is None:
            return 1
        most = place.arguments.most if earlier.each is None else earlier.each
        try:
            fingerprint = _fingerprint_of(self._with_images(place, most))
        except T2IBenchError:
            # There are fewer images than were scored before.
            return earlier.version + 1
        is_same = fingerprint == earlier.fingerprint
        return earlier.version if is_same else earlier.version + 1

    def name_of(self, place: Place, *, version: int, each: int) -> str:
        """Return what a set is called: after its checkpoint, or its version and its size.

        Args:
            place: Where it is.
            version: How often its images were replaced, from 1.
            each: Its number of images a prompt.
        """
        series = self.series(place.checkpoint, version)
        return series if place.checkpoint else f"{series}-{each}-each"

    def series(self, checkpoint: str, version: int) -> str:
        """Return what a set of a checkpoint, or the only one, is called whatever its size."""
        if checkpoint:
            ending = "" if version == 1 else f"-version-{version}"
            return f"{self.title}-{checkpoint}{ending}"
        return f"{self.title}-set-{version}"

    def _with_images(self, place: Place, most: int | None) -> RunSettings:
        """Return settings whose model has at most so many images a prompt of a set."""
        arguments: Mapping[str, str] = {
            **{
                key: value
                for key, value in self.settings.model_args.items()
                if key != "pattern"
            },
            "most": str(most),
        }
        return self.settings.model_copy(
            update={
                "model": f"{FOLDER}{place.folder}",
                "model_args": arguments,
                "pattern": place.arguments.pattern,
            }
        )


def _fingerprint_of(settings: RunSettings) -> str:
    """Return the fingerprint of the images that the model of settings has."""
    generator = create_model(settings, PythonAdapters())
    assert generator is not None, "the settings name a folder"
    return generator.fingerprint
