"""What follows from a task's needs of edits: questions about them, and numbers of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from t2ibench.methods.core.edit_evidence import EditNeed, PairQuestion
from t2ibench.methods.core.evidence import Needs, QuestionNeed


def questions_about_edit(needs: Needs, edit: EditNeed) -> list[PairQuestion]:
    """Return a task's questions about the images of one of its edits."""
    return [
        question
        for question in needs.pair_questions
        if not question.edits or edit.edit in question.edits
    ]


def needs_of_sources(needs: Needs) -> Needs:
    """Return what a task needs of its source images, as the needs of a run that makes them."""
    questions = [
        QuestionNeed(
            prompt=source.prompt,
            images=source.images,
            question=asked.question,
            classes=asked.classes,
            about=asked.about,
        )
        for source in needs.sources
        for asked in needs.pair_questions
        if not asked.edits
    ]
    return Needs(prompts=needs.sources, questions=tuple(questions), embeds=needs.embeds)


def expected_images(needs_of_tasks: Iterable[Needs]) -> int:
    """Return how many images edits make of all their source images, each image once."""
    counts: Counter[tuple[str, object]] = Counter()
    for needs in needs_of_tasks:
        for edit in needs.edits:
            key = (edit.instruction, edit.source)
            counts[key] = max(counts[key], edit.images)
    return counts.total()


def expected_answers(needs_of_tasks: Iterable[Needs]) -> int:
    """Return how many answers about edits each judge gives if all source images exist."""
    counts: Counter[tuple[str, object, PairQuestion]] = Counter()
    for needs in needs_of_tasks:
        for edit in needs.edits:
            for asked in questions_about_edit(needs, edit):
                about = PairQuestion(asked.question, asked.classes)
                key = (edit.instruction, edit.source, about)
                counts[key] = max(counts[key], edit.images)
    return counts.total()
