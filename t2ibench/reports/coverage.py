"""What a run asked and who answered, and what is missing: the first lines of every page."""

from __future__ import annotations

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.edit_report import EditReport, edit_report
from t2ibench.proposals.proposal import method_for
from t2ibench.reports.wanted_images import WantedImages, wanted_images
from t2ibench.results.judge_checks import only_checks, short_questions
from t2ibench.results.record import RunRecord, UnaskedAnswers
from t2ibench.results.run import open_run
from t2ibench.results.schema import Results

if TYPE_CHECKING:
    from t2ibench.reports.view import RunView, TaskView

_NAMED = 4  # questions of a kind that a line names
_FOLDER = "folder:"
_USUAL_FILE = "people.csv"


@dataclass(frozen=True, slots=True)
class CoveredQuestion:
    """A question of one test, and about how many images it was answered.

    Attributes:
        name: What it is about, such as 'gender'; with its test where a run has several.
        images: Images that it was asked about.
        answered: Images that somebody answered about.
        by: Who answered, with the number of images.
        by_people: Whether people were asked rather than models.
        sampled: Whether people labelled a sample, so that other images are no gap.
    """

    name: str
    images: int
    answered: int
    by: Mapping[str, int]
    by_people: bool = False
    sampled: bool = False

    @property
    def missing(self) -> int:
        """Number of images without an answer that should have one."""
        return 0 if self.sampled else self.images - self.answered

    @property
    def is_partly(self) -> bool:
        """Whether people answered it about some of its images only.

        What a model could not tell is an answer that it gave; what a person left empty is a gap.
        """
        return self.by_people and self.answered > 0 and self.missing > 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a run asked, who answered, and which of its images are missing.

    Attributes:
        questions: Every question of every test on images.
        n_tests: Number of tests that ask any.
        images: Images that the tests asked for, all together.
        unasked: What files of human labels answer and no question asks for.
        command: The command that asks it; empty where none can.
        encoders: What read the images, where nobody was asked.
        checked_by: Judges that were asked only whether guided images show what they were asked for.
        request: What was added to every prompt; empty where nothing was.
    """

    questions: tuple[CoveredQuestion, ...]
    n_tests: int
    images: WantedImages
    unasked: tuple[UnaskedAnswers, ...] = ()
    command: str = ""
    encoders: tuple[str, ...] = ()
    checked_by: tuple[str, ...] = ()
    request: str = ""

    @property
    def unanswered(self) -> str:
        """A clause on questions without an answer about some or all images; "" if there is none."""
        return _unanswered(self.questions)

    @property
    def further(self) -> str:
        """A sentence on columns of human labels that no question asks for; "" if there are none."""
        sentences = []
        for answers in self.unasked:
            names = listed([name.replace("_", " ") for name in answers.unasked])
            verb = "asks it" if len(answers.unasked) == 1 else "asks them"
            name = Path(answers.file).name
            sentences.append(f"{name} also answers {names}; no question {verb}.")
        return " ".join(sentences)

    def parts(self) -> list[tuple[str, str]]:
        """Return title and text of each part of the coverage, in the order of a page."""
        added = f"'{self.request}' was added to every prompt"
        return [
            *([("Request", added)] if self.request else []),
            ("Asked", self._asked()),
            *self._answers(),
            ("Images", self._images()),
        ]

    def lines(self) -> list[str]:
        """Return the coverage as lines of text: what is there, then what could be asked."""
        covered = " ".join(f"{title}: {text}." for title, text in self.parts())
        further = [self.further] if self.further else []
        command = [f"To ask it: {self.command}"] if self.command else []
        return [covered, *further, *command]

    def _asked(self) -> str:
        if not self.questions:
            if self.checked_by:
                judges = listed(list(self.checked_by))
                return f"{judges}, whether guided images show what was asked for"
            if self.encoders:
                return f"no question; read by {listed(self.encoders)} alone"
            return "no question"
        count = len(self.questions)
        plural = "" if count == 1 else "s"
        if self.n_tests > 1:
            return f"{count} question{plural} in {self.n_tests} tests"
        images = max(question.images for question in self.questions)
        return f"{count} question{plural} about {images:,} images"

    def _answers(self) -> Iterator[tuple[str, str]]:
        """Yield who answered what: of many questions how many, of few each by its name."""
        groups: dict[str, list[CoveredQuestion]] = {
            "Answered": [],
            "Partly answered": [],
            "Not answered": [],
        }
        for question in self.questions:
            groups[_kind(question)].append(question)
        for title, questions in groups.items():
            if not questions:
                continue
            if title == "Not answered":
                yield title, listed([question.name for question in questions], _NAMED)
            else:
                yield title, _answered(questions)

    def _images(self) -> str:
        not_made = self.images.not_made
        missing = not_made.get("missing", 0) + not_made.get("failed", 0)
        refused = not_made.get("refused", 0)
        filtered = not_made.get("filtered", 0)
        clauses = [f"{self.images.made:,} of {self.images.total:,}"]
        clauses += [f"{missing:,} missing" if missing else "none missing"]
        clauses += [f"{refused:,} refused" if refused else "none refused"]
        clauses += [f"{filtered:,} filtered"] if filtered else []
        clauses += ["counted once for each test"] if self.images.once_a_test else []
        return ", ".join(clauses)


def _checked_by(run: RunView) -> tuple[str, ...]:
    """Return the judges that only checked guided images, over all tests."""
    judges = {
        judge
        for task in run.tasks
        if only_checks(task.result)
        for judge in task.result.settings.judges
    }
    return tuple(sorted(judges))


def coverage(run: RunView) -> Coverage | None:
    """Return what a run asked and who answered; None for tests on words alone.

    What files of human labels answer besides is in the run's folder.
    """
    if not run.tasks:
        return None
    record = _record(run.results)
    unasked = _distinct(record.unasked_answers) if record is not None else ()
    return Coverage(
        questions=_all_questions(run),
        n_tests=sum(bool(_questions(task)) for task in run.tasks),
        images=wanted_images(run),
        unasked=unasked,
        command=_command(record, unasked) if record is not None else "",
        encoders=run.encoders,
        checked_by=_checked_by(run),
        request=run.request,
    )


def unanswered(run: RunView) -> str:
    """Return a clause on questions of a run that nobody answered about some or all images.

    It is empty if there is none. No image is counted, so that it takes no time.
    """
    return _unanswered(_all_questions(run))


def _unanswered(questions: Sequence[CoveredQuestion]) -> str:
    silent = [question for question in questions if not question.answered]
    partly = [question for question in questions if question.is_partly]
    clauses = []
    if silent:
        verb = "has" if len(silent) == 1 else "have"
        names = listed([question.name for question in silent], _NAMED)
        missing = sum(question.missing for question in silent)
        total = sum(question.images for question in questions)
        clauses.append(
            f"{len(silent)} of {len(questions)} questions {verb} no answer: {names} "
            f"({missing:,} of {total:,} answers)"
        )
    clauses += [
        f"{question.missing:,} of {question.images:,} answers about {question.name} are missing"
        for question in partly
    ]
    return "; ".join(clauses)


def _all_questions(run: RunView) -> tuple[CoveredQuestion, ...]:
    """Return the questions of all tests, in the order of the tests."""
    return tuple(question for task in run.tasks for question in _questions(task))


def _questions(task: TaskView) -> list[CoveredQuestion]:
    """Return the questions of a test: as people were asked them, or as judges were."""
    if task.result.questions:
        names = short_questions([asked.about for asked in task.result.questions])
        return [
            CoveredQuestion(
                name=name,
                images=asked.images,
                answered=asked.answered,
                by=asked.by,
                by_people=True,
                sampled=asked.sampled,
            )
            for name, asked in zip(names, task.result.questions, strict=True)
        ]
    report = edit_report(task.result.details)
    if report is not None and report.asked:
        return _questions_about_edits(task, report)
    names = short_questions([shown.counted.attribute for shown in task.prompts])
    who = listed(list(task.result.settings.judges))
    questions = []
    for name, shown in zip(names, task.prompts, strict=True):
        images = round(sum(row.images for row in shown.rows))
        answered = images - round(sum(row.counted.unanswered for row in shown.rows))
        questions.append(CoveredQuestion(name, images, answered, {who: answered}))
    return questions


def _questions_about_edits(task: TaskView, report: EditReport) -> list[CoveredQuestion]:
    """Return the questions of a test on edits, which are about source images and edits."""
    names = short_questions([asked.about for asked in report.asked])
    who = listed(list(task.result.settings.judges))
    questions = []
    for name, asked in zip(names, report.asked, strict=True):
        answered = round(asked.answered)
        by = {who: answered}
        questions.append(CoveredQuestion(name, round(asked.images), answered, by))
    return questions


def _kind(question: CoveredQuestion) -> str:
    """Return whether a question was answered, in part, or not at all, as a title."""
    if not question.answered:
        return "Not answered"
    return "Partly answered" if question.is_partly else "Answered"


def _answered(questions: Sequence[CoveredQuestion]) -> str:
    """Return which questions were answered by whom, and for how many images."""
    if len(questions) <= _NAMED:
        return ", ".join(_with_labellers(question) for question in questions)
    by: Counter[str] = Counter()
    for question in questions:
        by.update(question.by)
    total = sum(question.images for question in questions)
    who = listed([f"{name} ({count:,} of {total:,})" for name, count in by.items()])
    return f"{len(questions)} of them by {who}"


def _with_labellers(question: CoveredQuestion) -> str:
    sample = ", a sample" if question.sampled else ""
    who = [
        f"{name} ({count:,} of {question.images:,}{sample})"
        for name, count in question.by.items()
    ]
    return f"{question.name} by {listed(who)}"


def _record(results: Results) -> RunRecord | None:
    """Return the record of the run that results lie beside; None without one."""
    if results.folder is None:
        return None
    with contextlib.suppress(T2IBenchError):
        return open_run(results.folder).record
    return None


def _distinct(unasked: Sequence[UnaskedAnswers]) -> tuple[UnaskedAnswers, ...]:
    """Return what files answer besides, each file once although several judges read it."""
    by_file = {answers.file: answers for answers in reversed(unasked)}
    return tuple(reversed(by_file.values()))


def _command(record: RunRecord, unasked: Sequence[UnaskedAnswers]) -> str:
    """Return the command that asks what one file of human labels answers; "" where none can.

    It reads prompts from a folder of images, so a run of any other model has no such command;
    prompts with a request at their end would make another task.
    """
    generator = record.generator
    if generator is None or not generator.model.startswith(_FOLDER) or not unasked:
        return ""
    if generator.settings.get("request"):
        return ""
    answers = unasked[0]
    names = ["_".join(name.split()) for name in (*answers.answered, *answers.unasked)]
    folder = Path(generator.model.removeprefix(_FOLDER))
    words = ["t2ibench", "propose", method_for("captions")]
    words += ["--captions", generator.model, "--attributes", ",".join(names)]
    if Path(answers.file) != folder / _USUAL_FILE:
        words += ["--answers", answers.file]
    tasks = record.settings.include_path
    place = Path(tasks[0]) if tasks else Path("tasks")
    words += ["--output", str(place / f"{'_'.join(names)}.yaml")]
    return shlex.join(words)
