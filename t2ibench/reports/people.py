"""Tables of how far people agree who labelled images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from t2ibench.reports.writers import Table
from t2ibench.results.judge_checks import score_said
from t2ibench.results.people import AgreementScore, DisputedImage, PeopleAgreement

_LETTERS = 12  # of the name of a file
NOTE = (
    "Everyone: the share of images to which all gave the same class, and Krippendorff's alpha; two "
    "people: the share with the same class, and Cohen's kappa. 0 is agreement by chance, 1 is full "
    "agreement; – where only one class was given. 'unknown' is no class. Intervals (95 %) take "
    "images as the unit."
)
DISPUTED = (
    "The answer that more people gave than any other counts; a tie counts as unknown."
)


def agreement_table(questions: Iterable[PeopleAgreement]) -> Table:
    """Return a table of how far all people, and every two of them, agree on each question."""
    rows: list[list[str]] = []
    records: list[dict[str, Any]] = []
    for question in questions:
        everyone = ", ".join(question.people)
        groups = [
            ("everyone", everyone, question.images, question.agreement, question.alpha)
        ]
        if len(question.people) > 2:
            groups += [
                (
                    "pair",
                    " and ".join(pair.people),
                    pair.images,
                    pair.agreement,
                    pair.kappa,
                )
                for pair in question.pairs
            ]
        else:
            pair = question.pairs[0]
            groups.append(("pair", everyone, pair.images, pair.agreement, pair.kappa))
        for kind, who, images, agreement, measure in groups:
            name = "alpha" if kind == "everyone" else "kappa"
            text = score_said(measure)
            rows.append(
                [
                    question.about,
                    who,
                    str(images),
                    _percent(agreement),
                    f"{name} {text}" if measure.value is not None else text,
                ]
            )
            records.append(
                {"about": question.about, "people": who, "images": images}
                | _numbers("agreement", agreement)
                | {"measure": name}
                | _numbers("value", measure)
            )
    return Table(
        ["Question", "People", "Images", "Agree", "Beyond chance"],
        rows,
        [NOTE],
        records,
    )


def _numbers(name: str, score: AgreementScore) -> dict[str, float | None]:
    return {
        name: score.value,
        f"{name}_low": score.ci_low,
        f"{name}_high": score.ci_high,
    }


def _percent(score: AgreementScore) -> str:
    if score.value is None or score.ci_low is None or score.ci_high is None:
        return "–"
    low, value, high = (
        f"{100 * end:.0f}" for end in (score.ci_low, score.value, score.ci_high)
    )
    return f"{value} % ({low} to {high})"


def disputed_table(
    questions: Sequence[PeopleAgreement], most: int | None = None
) -> Table:
    """Return a table of images that people answered differently, at most `most` of them."""
    images = list(disputed(questions))
    shown = images if most is None else images[:most]
    people = sorted({name for question in questions for name in question.people})
    rows = [
        [
            question.about,
            image.prompt,
            str(image.index),
            _short(image.file or image.sha256),
            *(image.answers.get(name, "–") for name in people),
            image.counted,
        ]
        for question, image in shown
    ]
    records = [
        {
            "about": question.about,
            "prompt": image.prompt,
            "index": image.index,
            "file": image.file,
            "sha256": image.sha256,
            **{f"answer of {name}": image.answers.get(name) for name in people},
            "counted": image.counted,
        }
        for question, image in images
    ]
    notes = [DISPUTED]
    if len(shown) < len(images):
        notes.append(
            f"{len(images) - len(shown)} more: `t2ibench label agree`, or results.json."
        )
    heads = ["Question", "Prompt", "Index", "Image", *people, "Counted"]
    return Table(heads, rows, notes, records)


def _short(file: str) -> str:
    """Return the first 12 characters of the name of an image's file, for display.

    Examples:
        >>> _short("images/f2/f2b52d2b91a1cc15f36c029b41e4f789.png")
        'f2b52d2b91a1'
    """
    return PurePosixPath(file).name[:_LETTERS]


def disputed(
    questions: Iterable[PeopleAgreement],
) -> Iterator[tuple[PeopleAgreement, DisputedImage]]:
    """Yield each image that people answered differently, with its question."""
    for question in questions:
        for image in question.disputed:
            yield question, image
