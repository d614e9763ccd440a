"""Watches a folder of images, and scores each set of prompts that becomes complete in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from t2ibench.apps.watching.checkpoints import (
    Checkpoint,
    Limits,
    in_order,
    write_trend,
)
from t2ibench.apps.watching.earlier_runs import EarlierRun, earlier_runs
from t2ibench.apps.watching.image_sets import (
    ImageSet,
    Place,
    SetFinder,
    UnfinishedSet,
    places_in,
)
from t2ibench.apps.watching.reminders import Reminders
from t2ibench.apps.watching.set_runs import FOLDER, SetRuns
from t2ibench.arguments import read_args
from t2ibench.decisions.each_run import check_decides_alone
from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.models.encoders import encoder_downloads
from t2ibench.models.generators.folder import FolderArguments
from t2ibench.models.judges import check_judges
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.people_tables import judge_arguments, model_arguments
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.preparation import (
    plan_of_tasks,
    prepare,
    with_default_observers,
)
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run import execute
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext
from t2ibench.results.run import RunFolder
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings
from t2ibench.store.evidence import slug
from t2ibench.store.user_paths import expanded

INTERVAL = 10.0  # seconds between two looks
_SHORTEST = 0.05  # seconds; a shorter one would keep a processor busy


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """A complete set of images that was scored.

    Attributes:
        name: What the set is called.
        outcome: The outcome of its run.
        context: What the run was to do.
        models: Its models.
    """

    name: str
    outcome: Outcome
    context: RunContext
    models: Models

    @property
    def results(self) -> Results:
        """The results of its run, with their folder."""
        results = self.outcome.results
        assert results is not None, "a watched set is always scored"
        return results.in_folder(self.outcome.folder)


@dataclass(slots=True)
class _History:
    """What was scored in one folder.

    Attributes:
        last: The set that was scored last.
        version: How often all of its images were replaced, from 1.
    """

    last: ImageSet
    version: int = 1


@dataclass(slots=True)
class FolderWatch:
    """A folder that is checked for new images at intervals.

    Attributes:
        settings: The settings of every run; the model is `folder:DIR`.
        reporter: Shows the progress of runs, and what unfinished sets are missing.
        adapters: Encoders and judges that were given as Python objects.
        call: The command line or the function that asked.
        limits: Limits by which each set is decided; None for no decisions.
        clock: Seconds, for how often things are said.
        scoring: The name of the set that is being scored; None while it is looked for one.
        root: The watched folder.
        plan: The images that a complete set has, and what they are for.
    """

    settings: RunSettings
    reporter: Reporter
    adapters: PythonAdapters = field(default_factory=PythonAdapters)
    call: str = ""
    limits: Limits | None = None
    clock: Callable[[], float] = time.monotonic
    scoring: str | None = field(init=False, default=None)
    root: Path = field(init=False)
    plan: Plan = field(init=False)
    _arguments: FolderArguments = field(init=False)
    _finder: SetFinder = field(init=False)
    _histories: dict[Path, _History] = field(init=False, default_factory=dict)
    # By what each set is called: what this watch has scored, and what earlier ones have.
    _scored_here: dict[str, Checkpoint] = field(init=False, default_factory=dict)
    _scored_before: dict[str, Checkpoint] = field(init=False, default_factory=dict)
    # By its folder, the run of a set that an earlier watch finished last.
    _earlier: dict[Path, EarlierRun] = field(init=False, default_factory=dict)
    _last_run: RunFolder | None = field(init=False, default=None)
    _runs: SetRuns = field(init=False)
    _reminders: Reminders = field(init=False)
    # Whether the folder could not be listed at the look before.
    _was_unlisted: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Check that the folder exists, and that its images can be scored."""
        model = self.settings.model or ""
        if not model.startswith(FOLDER):
            raise T2IBenchError(
                "--watch looks at a folder of images.", "Give --model folder:DIR."
            )
        self.root = expanded(model.removeprefix(FOLDER))
        if not self.root.is_dir():
            raise T2IBenchError(
                f"No such folder: '{shown_path(self.root)}'.",
                "Create it first; its images may come later.",
            )
        self._check_settings()
        if self.limits is not None:
            check_decides_alone(self.limits.profile)
        self._arguments = read_args(
            FolderArguments, model_arguments(self.settings), model
        )
        self.plan = plan_of_tasks(self.settings)
        if not self.plan.prompts:
            raise T2IBenchError(
                "These tasks need no images, so there is nothing to watch.",
                "Choose others; `t2ibench ls` lists them.",
            )
        self._finder = SetFinder(self.root, self._arguments, self.plan.prompts)
        self._runs = SetRuns(self.settings, self.title)
        self._reminders = Reminders(self.reporter)
        self._check_names()
        self._read_earlier_runs()

    def _read_earlier_runs(self) -> None:
        """Find what earlier watches scored, because a training that resumes begins a new watch."""
        output = Path(self.settings.output_dir)
        tasks = {task.id for task in self.plan.tasks}
        for earlier in earlier_runs(self.root, self.title, output, tasks):
            checkpoint = _checkpoint_of(earlier.place, self.root)
            name = self._runs.series(checkpoint, earlier.version)
            self._scored_before[name] = Checkpoint(name, earlier.run)
            last = self._earlier.get(earlier.place)
            if last is None or earlier.version >= last.version:
                self._earlier[earlier.place] = earlier

    def _check_names(self) -> None:
        """Raise an error for a wrong name of an encoder or a judge now, not hours later."""
        settings = with_default_observers(self.settings)
        for name in settings.encoder:
            if name not in self.adapters.encoders:
                encoder_downloads(name)
        judges = [name for name in settings.judge if name not in self.adapters.judges]
        check_judges(judges, judge_arguments(settings, judges))

    def _check_settings(self) -> None:
        for flag, given in (
            ("--generate-only", self.settings.generate_only),
            ("--no-score", self.settings.no_score),
            (f"--shard {self.settings.shard}", self.settings.shard),
        ):
            if given:
                raise T2IBenchError(f"--watch has to score; leave {flag} out.")

    @property
    def title(self) -> str:
        """The first part of the names of all runs of the watched folder."""
        return self.settings.name or self.root.resolve().name or "folder"

    @property
    def trend_page(self) -> Path:
        """Where the page of all sets is, once there are two."""
        return Path(self.settings.output_dir) / f"{slug(self.title)}-trend.html"

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The scored sets, in order; a set that grew is listed once, in its last state.

        Those that earlier watches of this folder scored are among them.
        """
        return in_order(list({**self._scored_before, **self._scored_here}.values()))

    @property
    def scored_here(self) -> list[Checkpoint]:
        """The sets that this watch has scored, in order."""
        return in_order(list(self._scored_here.values()))

    def sets(self, interval: float = INTERVAL) -> Iterator[ScoredSet]:
        """Yield each set once it is complete and scored, looking again and again.

        It ends with KeyboardInterrupt, and with an error where the folder is deleted.

        Args:
            interval: Seconds between two looks.
        """
        while True:
            yield from self.look()
            time.sleep(max(interval, _SHORTEST))

    def look(self) -> Iterator[ScoredSet]:
        """Look once, and yield each set that is complete and has changed, once it is scored.

        An image counts if it has not changed since the look before, so the first look scores
        nothing.

        Raises:
            T2IBenchError: the folder was deleted.
        """
        try:
            states = list(self._finder.look())
        except (OSError, T2IBenchError) as error:
            if self.root.is_dir():
                # It may have changed while it was listed: the next look sees what it is now.
                if self._was_unlisted:
                    self._say_unlisted(error)
                self._was_unlisted = True
                return
            states = []
        self._was_unlisted = False
        if not self.root.is_dir():
            raise T2IBenchError(
                f"'{self.root}' was deleted while it was watched.",
                self._what_is_there(),
            )
        for state in states:
            scored = self._scored(state)
            if scored is not None:
                yield scored

    def score_now(self, checkpoint: str = "") -> ScoredSet:
        """Score a set whose images are known to be written, without waiting for another look.

        Args:
            checkpoint: The name of its sub-folder; '' where the watched folder is the set.

        Raises:
            T2IBenchError: there is no such set, or it is not complete.
        """
        state = self._finder.now(self._place(checkpoint))
        if isinstance(state, UnfinishedSet):
            name = self._runs.series(state.place.checkpoint, version=1)
            raise T2IBenchError(
                f"{shown(name)} is not complete: {state.why}",
                "Write the missing images first.",
            )
        return self._score(state, self._version(state))

    def _place(self, checkpoint: str) -> Place:
        for place in places_in(self.root, self._arguments):
            if place.checkpoint == checkpoint:
                return place
        raise T2IBenchError(
            f"'{self.root}' holds no images with prompts of '{shown(checkpoint)}'.",
            "A checkpoint is a sub-folder with a table, or with one sub-folder a prompt.",
        )

    def _scored(self, state: ImageSet | UnfinishedSet) -> ScoredSet | None:
        """Return a set that was scored now; None if it is unfinished, or was scored before."""
        if isinstance(state, UnfinishedSet):
            if not state.only_unsettled:
                self._remind(state.place, state.why)
            return None
        history = self._histories.get(state.place.folder)
        if history is None:
            return self._score(state, self._version(state))
        last = history.last
        replaced = last.replaced()
        if 0 < replaced < len(last.files):
            # Some images are of another state of the model than the others.
            why = f"{replaced} of {len(last.files)} images are replaced so far."
            self._remind(state.place, why)
            return None
        if replaced:
            return self._score(state, version=history.version + 1)
        if state.each > last.each:
            return self._score(state, version=history.version)
        return None

    def _version(self, state: ImageSet) -> int:
        history = self._histories.get(state.place.folder)
        if history is None:
            earlier = self._earlier.get(state.place.folder.resolve())
            return self._runs.version_after(earlier, state.place)
        return history.version + (1 if history.last.replaced() else 0)

    def _score(self, state: ImageSet, version: int) -> ScoredSet:
        """Run the tasks on a set, and add it to the page of all sets."""
        name = self._runs.name_of(state.place, version=version, each=state.each)
        settings = self._runs.settings_of(state.place, name)
        self._say(f"{shown(name)}: {len(state.files)} images are complete.")
        self.scoring = name
        context, models = prepare(settings, self.adapters, self.call)
        context = replace(context, earlier=self._last_run)
        outcome = execute(context, models, self.reporter)
        replaced = state.replaced()
        if replaced:
            self.reporter.warn(
                f"{shown(name)}: {replaced} images were replaced while they were scored."
            )
        self._histories[state.place.folder] = _History(state, version)
        self._last_run = context.folder
        series = self._runs.series(state.place.checkpoint, version)
        self._scored_here[series] = Checkpoint(series, outcome.folder)
        if len(self.checkpoints) > 1:
            write_trend(self.checkpoints, self.trend_page, self.limits)
        self.scoring = None
        return ScoredSet(name, outcome, context, models)

    def _say_unlisted(self, error: OSError | T2IBenchError) -> None:
        """Say why the watched folder cannot be listed."""
        if isinstance(error, T2IBenchError):
            why = error.message
        else:
            reason = error.strerror or type(error).__name__
            why = f"it cannot be listed ({reason})."
        self._remind(Place(self.root, "", self._arguments), why)

    def _remind(self, place: Place, why: str) -> None:
        name = place.checkpoint or self.title
        self._reminders.say(place.folder, name, why, now=self.clock())

    def _say(self, line: str) -> None:
        self.reporter.say(line)

    def _what_is_there(self) -> str:
        """Return a sentence on what was scored, for the error that ends a watch."""
        if not self._scored_here:
            return "Nothing of it was scored."
        folders = ", ".join(str(checkpoint.run) for checkpoint in self.scored_here[-3:])
        count = len(self._scored_here)
        plural = "" if count == 1 else "s"
        return f"{count} set{plural} of it are scored and kept; the last: {folders}."


def _checkpoint_of(place: Path, root: Path) -> str:
    """Return the name of the checkpoint in a folder; '' for the watched folder itself."""
    return "" if place == root.resolve() else place.name
