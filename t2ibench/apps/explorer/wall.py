"""The wall: every image of a run with its status, and what judges and people answered about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from t2ibench.apps.explorer.album import Album, Entry, Source
from t2ibench.apps.explorer.source_pictures import SourcePictures
from t2ibench.apps.explorer.wrong_answers import Asked, WrongAnswers
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.stores import Stores, open_stores
from t2ibench.results.prompt_outcomes import is_revised
from t2ibench.store.answers import is_file_of_answers
from t2ibench.store.distinct import REPEATED, DistinctImages
from t2ibench.store.people import counted_answer, person_of

NOT_SHOWN = "not in the picture"  # as a labelling sheet offers it
DIFFER = "they differ"
OTHER = "another answer"
_NO_ANSWER = -1
_OPTIONS = 60  # answers in own words that are options of their own
_LONGEST = 80  # letters of such an answer


@dataclass(frozen=True, slots=True)
class Topic:
    """Questions with the same classes, such as the gender of a nurse and of a chef.

    Attributes:
        title: The question, or what the questions have in common.
        classes: The answers that they offer; empty for a question that is answered in own words.
        by_prompt: The question about the images of each prompt.
    """

    title: str
    classes: tuple[str, ...]
    by_prompt: Mapping[str, str]

    @property
    def options(self) -> list[str]:
        """Every answer that an image can have, by its number; empty for own words."""
        return [*self.classes, UNKNOWN, NOT_SHOWN, DIFFER] if self.classes else []


@dataclass(slots=True)
class RunAnswers:
    """The questions that a run asks about its images, and where their answers are stored.

    Attributes:
        topics: The questions, those alike as one.
        stores: Where answers are; None for a folder of images.
        asked: By prompt, the questions about its images that offer classes.
        in_own_words: By prompt, those that are answered in own words.
        reason: Why there are no questions; else empty.
    """

    topics: list[Topic] = field(default_factory=list)
    stores: Stores | None = None
    asked: Mapping[str, Sequence[Asked]] = field(default_factory=dict)
    in_own_words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reason: str = ""

    def judges(self, image: str, asked: Asked) -> dict[str, str]:
        """Return the answer of each judge that is no person, to a question about an image."""
        judges = {} if self.stores is None else self.stores.judges
        answers = {
            name: store.get(image, *asked)
            for name, store in judges.items()
            if not is_file_of_answers(name)
        }
        return {
            name: _named(answer.answer, asked)
            for name, answer in answers.items()
            if answer
        }

    def people(self, image: str, asked: Asked) -> dict[str, str]:
        """Return the answer of each person to a question about an image."""
        if self.stores is None:
            return {}
        answers = {
            person_of(name): store.get(image, *asked)
            for name, store in self.stores.judges.items()
            if is_file_of_answers(name)
        }
        of_files = {name: answer.answer for name, answer in answers.items() if answer}
        labels = self.stores.labels
        of_labels = labels.votes(image, *asked) if labels else {}
        return {
            name: _named(answer, asked)
            for name, answer in {**of_files, **of_labels}.items()
        }


class Wall:
    """The walls of the runs and folders of an album."""

    def __init__(self, album: Album) -> None:
        self._album = album
        self._answers: dict[int, RunAnswers] = {}
        self.sources = SourcePictures(album)

    def images(self, run: int) -> dict[str, Any]:
        """Return prompt, number and status of each image of a run; no answers are read yet."""
        source = self._album.source(run)
        prompts: dict[str, int] = {}
        statuses: dict[str, int] = {}
        rows = []
        for entry in source.entries:
            prompt = entry.attempt.prompt
            rows.append(
                [
                    prompts.setdefault(prompt, len(prompts)),
                    entry.attempt.index,
                    statuses.setdefault(entry.status, len(statuses)),
                ]
            )
        return {"prompts": list(prompts), "statuses": list(statuses), "images": rows}

    def questions(self, run: int) -> dict[str, Any]:
        """Return the topics that a run's images are asked about, and which images repeat others."""
        answers = self._of_run(run)
        return {
            "topics": [
                {
                    "title": topic.title,
                    "options": topic.options,
                    "classes": len(topic.classes),
                }
                for topic in answers.topics
            ],
            "reason": answers.reason,
            "repeated": _repeated(self._album.source(run)),
        }

    def answers(self, run: int, number: int) -> dict[str, Any]:
        """Return what judges and people answered about each image, on one topic.

        Answers are numbers of the options, -1 for none. Answers in own words have as options what
        was answered, the most frequent first.
        """
        answers = self._of_run(run)
        if number >= len(answers.topics):
            raise T2IBenchError(f"This run has no question {number}.")
        topic = answers.topics[number]
        judge: list[str | None] = []
        people: list[str | None] = []
        agree: list[int] = []
        for entry in self._album.source(run).entries:
            question = topic.by_prompt.get(entry.attempt.prompt)
            of_judges: list[str] = []
            of_people: list[str] = []
            if entry.picture and question is not None:
                asked = (question, topic.classes)
                of_judges = list(answers.judges(entry.picture.sha256, asked).values())
                of_people = list(answers.people(entry.picture.sha256, asked).values())
            judge.append(_common(of_judges))
            people.append(counted_answer(of_people) if of_people else None)
            agree.append(_agreement([*of_judges, *of_people]))
        options = topic.options or _most_frequent([*judge, *people])
        places = {option: place for place, option in enumerate(options)}
        return {
            "options": options,
            "judge": [_place(answer, places) for answer in judge],
            "people": [_place(answer, places) for answer in people],
            "agree": agree,
        }

    def image(self, run: int, number: int, labeller: str) -> dict[str, Any] | None:
        """Return all that is known of one image; None if there is no such image.

        Args:
            run: The run's number.
            number: The image's number on its wall.
            labeller: Who looks at it, whose notes are told from those of others; "" if not known.
        """
        source = self._album.source(run)
        if number >= len(source.entries):
            return None
        entry = source.entries[number]
        attempt = entry.attempt
        notes, problem = _notes(source, entry)
        edited = self.sources.of(run, number)
        return {
            "source": None if edited is None else edited.prompt,
            "seed": source.seed_of(attempt),
            "rewritten": attempt.revised_prompt if is_revised(attempt) else None,
            "sha256": attempt.sha256,
            "reason": attempt.reason,
            "questions": self._about(run, entry, notes, labeller.strip()),
            "problem": problem,
        }

    def has_question(self, run: int, number: int, asked: Asked) -> bool:
        """Return whether a run asks this question, with these classes, about this image."""
        entries = self._album.source(run).entries
        if number >= len(entries) or entries[number].picture is None:
            return False
        return asked in self._of_run(run).asked.get(entries[number].attempt.prompt, ())

    def _about(
        self,
        run: int,
        entry: Entry,
        notes: Mapping[Asked, Mapping[str, str]],
        labeller: str,
    ) -> list[dict[str, Any]]:
        """Return each question about an image with everybody's answer, and notes of wrong ones."""
        if entry.picture is None:
            return []
        answers = self._of_run(run)
        image = entry.picture.sha256
        questions = []
        prompt = entry.attempt.prompt
        free = [(question, ()) for question in answers.in_own_words.get(prompt, ())]
        for asked in [*answers.asked.get(prompt, ()), *free]:
            question, classes = asked
            noted = dict(notes.get(asked, {}))
            record = {
                "question": question,
                "classes": list(classes),
                "judges": answers.judges(image, asked),
                "people": answers.people(image, asked),
                "marked": noted.pop(labeller, None),
                "others": noted,
            }
            questions.append(record)
        return questions

    def _of_run(self, run: int) -> RunAnswers:
        source = self._album.source(run)
        if run not in self._answers:
            self._answers[run] = _run_answers(source)
        return self._answers[run]


def _notes(
    source: Source, entry: Entry
) -> tuple[dict[Asked, dict[str, str]], str | None]:
    """Return who noted which right answers about an image, and why they cannot be read."""
    if entry.picture is None:
        return {}, None
    try:
        return WrongAnswers(source.folder).of_image(entry.picture.sha256), None
    except T2IBenchError as error:
        return {}, str(error)


def _run_answers(source: Source) -> RunAnswers:
    """Return a run's questions and the stores of their answers; those of a folder are empty."""
    if source.run is None:
        return RunAnswers(reason="A folder of images has no questions.")
    try:
        plan = stored_plan(source.run)
    except T2IBenchError as error:
        return RunAnswers(reason=str(error).splitlines()[0])
    asked = {
        prompt: sorted(question for question in questions if question[1])
        for prompt, questions in plan.questions_by_prompt().items()
    }
    in_own_words = {
        prompt: [question for question, classes in questions if not classes]
        for prompt, questions in plan.questions.items()
    }
    images = Counter(entry.attempt.prompt for entry in source.entries)
    topics = [*topics_of(asked, images), *free_topics(in_own_words, images)]
    stores = open_stores(source.run.database, {}, source.run.record.judges)
    reason = "" if topics else "This run asks no question."
    return RunAnswers(topics, stores, asked, in_own_words, reason)


def topics_of(
    asked: Mapping[str, Sequence[Asked]], images: Mapping[str, int]
) -> Iterator[Topic]:
    """Yield the questions by their classes, those about the most images first.

    Several questions about a prompt may have the same classes, such as whether the nurse is old and
    whether the chef is: the first of each prompt are a topic, and so are the second.
    """
    by_kind: dict[tuple[tuple[str, ...], int], dict[str, str]] = {}
    for prompt, questions in asked.items():
        places = Counter[tuple[str, ...]]()
        for question, classes in questions:
            by_kind.setdefault((classes, places[classes]), {})[prompt] = question
            places[classes] += 1
    counts = {
        kind: sum(images.get(prompt, 0) for prompt in by_prompt)
        for kind, by_prompt in by_kind.items()
    }
    for kind in sorted(by_kind, key=lambda kind: (-counts[kind], kind)):
        if counts[kind]:
            by_prompt = by_kind[kind]
            yield Topic(common_question(set(by_prompt.values())), kind[0], by_prompt)


def free_topics(
    asked: Mapping[str, Sequence[str]], images: Mapping[str, int]
) -> Iterator[Topic]:
    """Yield each question that is answered in free text, those about the most images first."""
    prompts_of: dict[str, list[str]] = {}
    for prompt, questions in asked.items():
        for question in questions:
            prompts_of.setdefault(question, []).append(prompt)
    counts = {
        question: sum(images.get(prompt, 0) for prompt in prompts)
        for question, prompts in prompts_of.items()
    }
    for question in sorted(
        prompts_of, key=lambda question: (-counts[question], question)
    ):
        if counts[question]:
            title = f"{' '.join(question.split())} (own words)"
            yield Topic(title, (), dict.fromkeys(prompts_of[question], question))


def common_question(questions: set[str]) -> str:
    """Return what questions have in common, the words that differ as dots.

    Examples:
        >>> common_question({"Is the nurse old?"})
        'Is the nurse old?'
        >>> common_question({"What is the age of the nurse?", "What is the age of the tall chef?"})
        'What is the age of the …?'
    """
    words = [question.split() for question in sorted(questions)]
    if len(words) == 1:
        return " ".join(words[0])
    start: list[str] = []
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        start.append(column[0])
    return " ".join([*start, "…?"])


def _repeated(source: Source) -> list[int]:
    """Return the numbers of the images that repeat an earlier one of their prompt."""
    if source.images is None:
        return []
    distinct = DistinctImages(source.images)
    numbers = []
    for number, entry in enumerate(source.entries):
        image = distinct.get(entry.attempt.key)
        if image is not None and image.status == REPEATED:
            numbers.append(number)
    return numbers


def _named(answer: str, asked: Asked) -> str:
    """Return an answer as one of a topic's options; what is no class is 'unknown'.

    Answers in own words differ by more than case and spaces.
    """
    if not asked[1]:
        text = " ".join(answer.split()).casefold().rstrip(".")
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return answer if answer in asked[1] or answer == NOT_SHOWN else UNKNOWN


def _common(answers: Sequence[str]) -> str | None:
    """Return the one answer that all gave, that they differ, or None if there is no answer."""
    if not answers:
        return None
    return answers[0] if len(set(answers)) == 1 else DIFFER


def _most_frequent(answers: Sequence[str | None]) -> list[str]:
    """Return the most frequent answers in own words, and at last a name for all others."""
    counts = Counter(answer for answer in answers if answer is not None)
    by_count = sorted(counts, key=lambda answer: (-counts[answer], answer))
    return [*by_count[:_OPTIONS], OTHER] if len(by_count) > _OPTIONS else by_count


def _place(answer: str | None, places: Mapping[str, int]) -> int:
    """Return the number of an answer among the options; another one is that of all others."""
    if answer is None:
        return _NO_ANSWER
    return places[answer] if answer in places else places[OTHER]


def _agreement(answers: Sequence[str]) -> int:
    """Return 1 if several answers are the same, 0 if they differ, -1 if there are under two."""
    if len(answers) < 2:
        return _NO_ANSWER
    return int(len(set(answers)) == 1)
