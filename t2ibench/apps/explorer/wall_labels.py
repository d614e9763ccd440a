"""Storing that somebody found an answer about an image of the wall to be wrong."""

from __future__ import annotations

from typing import Any

from t2ibench.apps.explorer.album import Album
from t2ibench.apps.explorer.questions import WrongAsk
from t2ibench.apps.explorer.wall import NOT_SHOWN, Wall
from t2ibench.apps.explorer.wrong_answers import WrongAnswers
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.store.labels import Label, labeller_name


def mark_wrong(album: Album, wall: Wall, asked: WrongAsk) -> dict[str, Any]:
    """Store the right answer about an image, or forget it; return how many are stored.

    Nothing is stored unless the run asks this question about this image, and the answer is one of
    its classes, 'unknown' or 'not in the picture'.
    """
    source = album.source(asked.run)
    labeller = labeller_name(asked.labeller, "The name")
    classes = tuple(asked.classes)
    if not wall.has_question(asked.run, asked.image, (asked.question, classes)):
        raise T2IBenchError("The run asks no such question about this image.")
    if asked.answer is not None and asked.answer not in (*classes, UNKNOWN, NOT_SHOWN):
        raise T2IBenchError("That is no answer to this question.")
    sha256 = source.entries[asked.image].attempt.sha256 or ""
    label = Label(asked.question, classes, sha256, labeller, asked.answer or "")
    wrong = WrongAnswers(source.folder)
    count = wrong.remove(label) if asked.answer is None else wrong.add(label)
    return {
        "count": count,
        "file": str(wrong.path),
        "command": f"t2ibench label import {source.folder} {wrong.path}",
    }
