"""The schema of results.json, as typed and documented records of a run's results.

Nothing in it is a time or depends on workers or the order of tasks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr
from typing_extensions import TypedDict

from t2ibench.decimals import decimal
from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.models.rewriter_info import RewriterInfo
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.diversity import Diversity
from t2ibench.results.fixed_before import Looks, RegisteredPlan
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.json_record import Record
from t2ibench.results.people import AskedQuestion, PeopleAgreement
from t2ibench.results.prompt_outcomes import PromptOutcomes
from t2ibench.results.repeated_prompts import RepeatedPrompt
from t2ibench.results.unread import PromptReading, UnreadPrompt
from t2ibench.settings import Measurement
from t2ibench.store.checksums import sealed

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3


class Score(Record):
    """A score with its interval and p-values.

    Attributes:
        value: The score; null with a reason if it has none.
        ci_low: Lower end of the confidence interval.
        ci_high: Upper end.
        p: p-value, where a null is defined. Never 0.
        p_holm: Adjusted over all tasks of the run that have a p-value of this name (Holm). For
            rows of `by`, over the rows of the task.
        p_bh: The same after Benjamini and Hochberg.
        test: 'exact' (all partitions), 'monte_carlo', 'binomial', 't', 'f' or 'rank' (place among
            reference words).
        n_draws: Partitions looked at.
        as_published: The convention of the paper; its uncertainty is not vouched for.
        reason: Why the value is None.
    """

    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    test: Literal["exact", "monte_carlo", "binomial", "t", "f", "rank"] | None = None
    n_draws: int | None = None
    as_published: bool = False
    reason: str | None = None


class Headline(Score):
    """The one number of a task, which is 0 on average without bias, at any number of images.

    The interval and p-value are those of the default question.

    Attributes:
        scale: 'lean' (signed, from -1 to 1, 2 P - 1 for a mixture), 'mean_square' (mean of squared
            leans, shown as its root; negative by chance where there is no bias) or 'excess' (of
            the concepts' variance over that of reference words); in a method of another package
            also the name of a scale of its own. Null where there is no headline.
        square: The unbiased squared magnitude, which may be averaged and ranked.
        fair_low: Lower end of the band in which the headline of a fair model lies at this size.
        fair_high: Upper end.
        question: The default question: 'fixed_prompts', these prompts with other images, or
            'prompt_population', prompts like these.
        fixed_prompts: The uncertainty if only images varied.
        prompt_population: The uncertainty if prompts varied too; null where no such interval holds.
        direction: The result as a plain sentence with its direction.
    """

    scale: str | None = None
    square: float | None = None
    fair_low: float | None = None
    fair_high: float | None = None
    question: Literal["fixed_prompts", "prompt_population"] | None = None
    fixed_prompts: Inference | None = None
    prompt_population: Inference | None = None
    direction: str | None = None


class Row(Record):
    """The scores of one stimulus, word or target.

    Attributes:
        name: What it is.
        group: The concept or side it belongs to.
        n_images: Number of images it is based on.
        scores: Name to score.
    """

    name: str
    group: str | None = None
    n_images: int | None = None
    scores: dict[str, Score]


class EncoderScores(Record):
    """The scores of a task as one of several encoders or judges gives them.

    Attributes:
        headline: As for the task.
        scores: As for the task.
        by: As for the task.
        reason: Why this encoder has no score.
        controls: As for the task.
        inconclusive: As for the task.
    """

    headline: Headline
    scores: dict[str, Score] = Field(default_factory=dict)
    by: list[Row] = Field(default_factory=list)
    reason: str | None = None
    controls: dict[str, Control] = Field(default_factory=dict)
    inconclusive: str | None = None


class TaskSettings(Measurement):
    """The settings with which a task was measured, and the encoders and judges that were used.

    Attributes:
        encoders: Name to fingerprint.
        judges: Name to fingerprint.
    """

    encoders: dict[str, str]
    judges: dict[str, str] = Field(default_factory=dict)


class PublishedScores(TypedDict):
    """Published values of another model.

    Attributes:
        model: The model or the word vectors that they were measured on.
        scores: Score name to value.
        source: Paper and table.
    """

    model: str
    scores: dict[str, float]
    source: str


class TaskResult(Record):
    """The result of one task.

    Attributes:
        version: Version of the task file.
        method: How it was measured.
        task_hash: SHA-256 over everything in the task file that decides a score.
        family: Headlines may be averaged within a family, never across families.
        title: One line.
        headline: What it estimates.
        scores: Name to score, the mean over encoders if the run has several.
        by: One row a stimulus, word or target.
        by_encoder: Each encoder's (or judge's) own scores, if the run has several.
        encoder_agreement: Whether all encoders give the association one sign.
        n_images: Images that count.
        n_prompts: Distinct prompts (for text-only tasks: texts).
        excluded: Number of images excluded, by status.
        excluded_because: Status to reason to number of images: the most frequent reasons.
        prompt_outcomes: What the model did with the prompts, all of them and by group; empty
            where it refused, filtered and rewrote none.
        text_image_alignment: Encoder to how well the images agree with their prompts, all of
            them and by group; empty where that was not measured, as in results of older versions.
        diversity: Encoder to how much the images of a prompt differ, over all prompts and by group;
            empty where that was not measured.
        repeated_prompts: Prompts whose images repeat one another; each distinct one counts once.
        people: How far people agree who answered the same question, question by question; empty
            where one person or none answered.
        unread_prompts: Prompts whose end some text encoder of the model did not read; empty where
            that is unknown, too, as of models behind a server and in results of older versions.
        questions: What people were asked and answered; empty where only models were asked.
        missing_prompts: Prompts without any image, because each of them failed or none exists;
            the result says nothing about them.
        settings: How it was measured.
        conventions: Choices that decide the numbers.
        warnings: What a reader must know of this result.
        notes: What a reader must know of this task.
        positive_control: Whether every working encoder passes it: it is no finding, is counted in
            no total, and its p-value is corrected with those of other controls alone.
        published: Published values of other models, for comparison.
        details: Further values of the method.
        controls: Name to what a control shows.
        inconclusive: Why the test is inconclusive although it was scored; null if it is not. It
            is left out of ranks.
        reason: Why the task as a whole has no score.
        pool: The captions that it was given, where its file has none: what they are, and the
            SHA-256 of what they were read from. Null for every other task.
    """

    version: int
    method: str
    task_hash: str
    family: str
    title: str
    headline: Headline
    scores: dict[str, Score] = Field(default_factory=dict)
    by: list[Row] = Field(default_factory=list)
    by_encoder: dict[str, EncoderScores] = Field(default_factory=dict)
    encoder_agreement: bool | None = None
    n_images: int = 0
    n_prompts: int = 0
    excluded: dict[str, int] = Field(default_factory=dict)
    excluded_because: dict[str, dict[str, int]] = Field(default_factory=dict)
    prompt_outcomes: list[PromptOutcomes] = Field(default_factory=list)
    text_image_alignment: dict[str, list[TextImageAlignment]] = Field(
        default_factory=dict
    )
    diversity: dict[str, Annotated[list[Diversity], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    repeated_prompts: list[RepeatedPrompt] = Field(default_factory=list)
    people: list[PeopleAgreement] = Field(default_factory=list)
    unread_prompts: list[UnreadPrompt] = Field(default_factory=list)
    questions: list[AskedQuestion] = Field(default_factory=list)
    missing_prompts: list[str] = Field(default_factory=list)
    settings: TaskSettings
    conventions: dict[str, Any] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    positive_control: bool = False
    published: list[PublishedScores] = Field(default_factory=list)
    details: dict[str, Any] = Field(default_factory=dict)
    controls: dict[str, Control] = Field(default_factory=dict)
    inconclusive: str | None = None
    reason: str | None = None
    pool: CaptionPool | None = None

    def __repr__(self) -> str:
        """Return a one-line description for an interactive session."""
        value = self.headline.value
        shown = "no headline"
        if value is not None:
            shown = f"headline {decimal(value, 3, sign=True)}"
        return f"<TaskResult '{self.title}': {shown}, {self.n_images} images>"

    __str__ = __repr__


class GeneratorInfo(Record):
    """What results.json says of the generator under test.

    Attributes:
        name: As the user named it; null where only texts were scored.
        revision: Version of the weights.
        fingerprint: SHA-256 over everything that decides an image besides prompt and index.
        settings: Generation settings as asked for.
        effective_settings: Settings as the model really used them, with its own defaults.
        libraries: Versions of the libraries that decide pixels, when the images were generated.
        other_libraries: Further versions that some of the images were generated with.
        rewriter: What rewrites prompts before it gets them; null for nothing.
        unread_prompts: By text that the model got, what each of its text encoders read of it,
            where one of them did not read its end; empty where that is unknown, too.
    """

    name: str | None
    revision: str | None = None
    fingerprint: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    effective_settings: dict[str, Any] = Field(default_factory=dict)
    libraries: dict[str, str] = Field(default_factory=dict)
    other_libraries: list[dict[str, str]] = Field(default_factory=list)
    rewriter: RewriterInfo | None = None
    unread_prompts: dict[str, list[PromptReading]] = Field(default_factory=dict)

    @property
    def batch_size(self) -> int | None:
        """How many images were generated at a time; None where images do not depend on it."""
        size = self.effective_settings.get("batch_size")
        return size if type(size) is int and size > 0 else None

    @property
    def added_request(self) -> str:
        """The request that was added to every prompt of a folder of images; "" if none was."""
        request = self.settings.get("request")
        return str(request).strip(".,;: ") if request else ""


class LibraryWarning(Record):
    """A warning that a library gave while a model of the run was loaded.

    Attributes:
        library: Its name.
        about: The model; empty where that is not known.
        text: The warning, on one line.
    """

    library: str
    about: str = ""
    text: str


class Results(Record):
    """The content of results.json.

    Attributes:
        schema_version: Version of this schema ('schema' in the file).
        t2ibench: Version of the program.
        model: The generator.
        name: What the user calls the run; null for the model's name.
        command: A command that gives these results again; empty if a Python object was measured.
        environment: Versions of Python and of the libraries that decide numbers.
        limited: True if any task ran under --limit; such results are for a trial only.
        missing_parts: Parts of a merged run that were not there, such as '3 of 4'.
        tasks: Task id to result, sorted. p-values are adjusted over these.
        earlier: The same of tasks that only earlier commands in this folder measured, as those
            left them. No report, comparison or gate is about them.
        networks: Encoder to what its network is: architecture, weights, activation function,
            preprocessing. Without those that do not say it, as in results of older versions.
        library_warnings: What model libraries warned of while models of the run were loaded.
        looks: The looks of a run that is decided about while it grows: these results may be those
            of an early look, which has a level of its own. Null for every other run.
        registered_plan: The plan that the run was made by. Null without one.
        further_settings: Settings beside the measurement that can change scores. Null in results
            of older versions.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, alias="schema")
    t2ibench: str
    model: GeneratorInfo
    name: str | None = None
    command: list[str]
    environment: dict[str, str]
    limited: bool
    missing_parts: list[str] = Field(default_factory=list)
    tasks: dict[str, TaskResult]
    earlier: dict[str, TaskResult] = Field(default_factory=dict)
    networks: dict[str, dict[str, Any]] = Field(default_factory=dict)
    library_warnings: list[LibraryWarning] = Field(default_factory=list)
    looks: Looks | None = None
    registered_plan: RegisteredPlan | None = None
    further_settings: FurtherSettings | None = None
    _folder: Path | None = PrivateAttr(default=None)

    # How notebooks show results; pages are made further up, and `show_with` says by what.
    _html: ClassVar[Callable[[Results], str] | None] = None

    def tasks_named(self, names: Iterable[str]) -> list[TaskResult]:
        """Return the results of these tasks, without those that the run does not have."""
        return [self.tasks[name] for name in names if name in self.tasks]

    @property
    def title(self) -> str:
        """Title of the run on pages: its name, or else its model's, or 'text encoders'."""
        return self.name or self.model.name or "text encoders"

    @property
    def partial(self) -> bool:
        """Whether some prompts have no image, or parts of a merged run are missing."""
        without_prompts = any(task.missing_prompts for task in self.tasks.values())
        return without_prompts or bool(self.missing_parts)

    @property
    def what_is_missing(self) -> str:
        """The beginning of a sentence on what is missing in the results; "" if nothing is.

        Examples:
            'Part 3 of 4 of the run is missing'
        """
        if self.missing_parts:
            plural = "" if len(self.missing_parts) == 1 else "s"
            verb = "are" if plural else "is"
            return f"Part{plural} {', '.join(self.missing_parts)} of the run {verb} missing"
        return "Some prompts have no image" if self.partial else ""

    @property
    def folder(self) -> Path | None:
        """The folder that the results were read from; None if it is unknown."""
        return self._folder

    def with_earlier(self) -> Results:
        """Return a copy in which the tasks of earlier commands are among the others."""
        return self.model_copy(
            update={"tasks": {**self.earlier, **self.tasks}, "earlier": {}}
        )

    def in_folder(self, folder: Path) -> Results:
        """Return these results, after setting the folder that they belong to."""
        self._folder = folder
        return self

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Return whether two results have the same content, wherever they were read from."""
        return isinstance(other, Results) and self.model_dump() == other.model_dump()

    def __repr__(self) -> str:
        """Return a one-line description for an interactive session."""
        plural = "" if len(self.tasks) == 1 else "s"
        where = f", {self._folder}" if self._folder else ""
        return f"<Results of {self.title}: {len(self.tasks)} task{plural}{where}>"

    __str__ = __repr__

    def to_json(self, *, checked: bool = False) -> str:
        """Return the text of results.json with tasks sorted; `checked` adds a checksum.

        A submission has none, but the SHA-256 of all of its files.
        """
        data = self.model_dump(mode="json", by_alias=True)
        for part in ("tasks", "earlier"):
            data[part] = dict(sorted(data[part].items()))
        if checked:
            data = sealed(data)
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_pandas(self, table: Literal["tasks", "scores"] = "tasks") -> pd.DataFrame:
        """Return the tasks or the scores of the results as a data frame.

        Args:
            table: 'tasks' has one row a task: its headline on the scale on which pages show it (a
                mean square as its root; `square` is the unbiased square, which may be averaged),
                its interval, the band of a fair model, what it shows, and the reason where it
                shows nothing. 'scores' has one row for each score of each task and of each
                stimulus, word or target, as `--format csv` has it, with a state where the score is
                tested. Both have the run and the model in each row, so that `pandas.concat` puts
                runs together.

        Returns:
            The frame; that of tasks is indexed by their ids.

        Raises:
            T2IBenchError: there is no such table.
        """
        from t2ibench.results.display import frame_of

        return frame_of(self, table)

    def _repr_html_(self) -> str | None:
        """Return HTML for a notebook; None if no function was registered to make it."""
        draw = Results._html
        return None if draw is None else draw(self)

    @classmethod
    def show_with(cls, draw: Callable[[Results], str]) -> None:
        """Set the function that makes HTML of results; it must escape all untrusted text."""
        Results._html = draw
