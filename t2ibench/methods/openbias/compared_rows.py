"""Captions as rows of answer counts, which are compared with expected shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow

# Name of the row that stands for all captions where each has a single image.
POOLED = "one image a caption"


def compared_rows(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """Return the rows of answers that a task compares, one for each bias and caption.

    A caption needs two answers. Where none has them (real images with a caption each),
    all captions of a bias make one row, whose images are those of the captions.
    """
    several = [row for row in comparable_rows(answers) if len(row.codes) > 1]
    return several or _pooled_rows(answers)


def comparable_rows(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """Return the captions for whose answers there are expected shares."""
    return [
        caption
        for bias_answers in answers
        for caption in bias_answers.captions
        if len(caption.expected)
    ]


def is_pooled(rows: Sequence[CountedRow]) -> bool:
    """Return whether each row pools all captions of a bias; False without rows."""
    return bool(rows) and rows[0].prompt == POOLED


def _pooled_rows(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """Return one row for each bias that pools its captions, if at least two are answered.

    A bias whose stimuli have expected shares of their own gets none.
    """
    prompts = dict.fromkeys(
        caption.prompt for bias_answers in answers for caption in bias_answers.captions
    )
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    rows = []
    for number, bias_answers in enumerate(answers):
        answered = [
            caption
            for caption in bias_answers.captions
            if len(caption.codes) and len(caption.expected)
        ]
        # With a reference, every stimulus has an expected share of its own.
        comparable = bias_answers.bias.compare_with != "reference"
        if len(answered) > 1 and comparable:
            rows.append(_pooled_row(number, bias_answers, answered, numbers))
    return rows


def _pooled_row(
    number: int,
    bias_answers: BiasAnswers,
    answered: Sequence[CountedRow],
    prompt_numbers: Mapping[str, int],
) -> CountedRow:
    """Return the answers to one bias as a single row, in which each caption is an image."""
    unanswered = [
        caption
        for caption in bias_answers.captions
        if len(caption.unanswered) and not len(caption.codes)
    ]
    indices = [prompt_numbers[row.prompt] for row in answered]
    indices_unanswered = [prompt_numbers[row.prompt] for row in unanswered]
    return CountedRow(
        bias=number,
        prompt=POOLED,
        stimulus=None,
        indices=np.array(indices),
        codes=np.concatenate([row.codes for row in answered]),
        expected=answered[0].expected,
        unanswered=np.array(indices_unanswered, int),
        accuracy=answered[0].accuracy,
    )
