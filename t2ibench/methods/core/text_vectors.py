"""Texts that an encoder has no vector for, and the scores that are then missing.

An encoder gives a row of NaN for such a text. Some have none for any text, such as a network for
faces; word vectors lack words outside their vocabulary.
"""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array


def has_vector(rows: Float64Array) -> BoolArray:
    """Return whether each text has a vector, from rows of shape (n, d).

    Examples:
        >>> has_vector(np.array([[0.6, 0.8], [np.nan, np.nan]])).tolist()
        [True, False]
    """
    finite: BoolArray = np.asarray(
        np.isfinite(np.atleast_2d(rows)).all(axis=1), dtype=np.bool_
    )
    return finite


def with_vector(rows: Float64Array) -> Float64Array:
    """Return only the rows of texts that have a vector."""
    vectors: Float64Array = rows[has_vector(rows)]
    return vectors


def mean_vector(rows: Float64Array) -> Float64Array:
    """Return the mean over the texts that have a vector, shape (d,); NaN where none has.

    Examples:
        >>> mean_vector(np.array([[1.0, 0.0], [np.nan, np.nan]])).tolist()
        [1.0, 0.0]
    """
    vectors = with_vector(rows)
    if not len(vectors):
        return np.full(rows.shape[1], np.nan)
    mean: Float64Array = vectors.mean(axis=0)
    return mean


def missing_vectors(count: int, total: int, what: str = "stimuli") -> str | None:
    """Return a clause that the encoder has no vectors of `count` texts; None if it is 0.

    Examples:
        >>> missing_vectors(2, 8)
        'the encoder has no vectors of the texts of 2 of 8 stimuli'
    """
    if not count:
        return None
    return f"the encoder has no vectors of the texts of {count} of {total} {what}"
