"""The contract of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.models.contract.common import (
    BATCHES,
    ODD_TEXTS,
    Findings,
    call_together,
    check_members,
    make_two,
)
from t2ibench.models.contract.images import sample_images
from t2ibench.models.protocols import Encoder, HasUntrained

TEXTS = (
    "a photo of a nurse",
    "a photo of a rose",
    "a person",
    "man",
    "woman",
    "flower",
    "a photo of an ant, war",
    "qzxv",
)
_TOLERANCE = 1e-5
_UNIT = 1e-3
_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "fingerprint": (str,),
    "embeds_images": (bool,),
    "batch_size": (int,),
}


def check_encoder(
    make: Callable[[], Encoder],
    *,
    make_other: Callable[[], Encoder] | None = None,
    texts: Sequence[str] = TEXTS,
) -> list[str]:
    """Try an encoder against its contract. Embeddings are compared to within 1e-5.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide embeddings; None where there are
            none.
        texts: What to embed, eight at most.

    Returns:
        A line for everything that is wrong.
    """
    findings = Findings()
    encoder, _ = make_two(findings, make, make_other, Encoder, _TYPES)
    if encoder is None:
        return findings.lines
    words = _check(findings, "encode_texts", encoder.encode_texts, list(texts[: BATCHES[-1]]))
    for what, text in ODD_TEXTS.items():
        _encode(findings, "encode_texts", encoder.encode_texts, [text], f"for {what}")
    if not encoder.embeds_images:
        return findings.lines
    prepared = findings.attempt(
        "prepare()", lambda: [encoder.prepare(image) for image in sample_images(BATCHES[-1])]
    )
    if prepared is None:
        return findings.lines
    rows = _check(findings, "encode_images", encoder.encode_images, prepared)
    if rows is None:
        return findings.lines
    findings.require(
        not np.isnan(rows).any(), "encode_images() has rows of NaN; every image has an embedding"
    )
    findings.require(
        words is None or words.shape[1] == rows.shape[1],
        "images and texts have embeddings of different length; they must share one space",
    )
    if isinstance(encoder, HasUntrained):
        _check_untrained(findings, encoder, rows)
    return findings.lines


def _check_untrained(findings: Findings, encoder: Any, rows: Float32Array) -> None:
    """An encoder of random weights: another one, and the same one every time."""
    twins = [findings.attempt("untrained()", encoder.untrained) for _ in range(2)]
    twin, again = twins
    if twin is None or again is None or not check_members(findings, twin, Encoder, _TYPES):
        return
    findings.require(
        twin.name != encoder.name and twin.fingerprint != encoder.fingerprint,
        "untrained() gives an encoder of the same name or fingerprint; it needs its own",
    )
    findings.require(
        twin.fingerprint == again.fingerprint,
        "untrained() gives another fingerprint every time; seed its weights",
    )
    images = sample_images(2)
    blind, same = (
        findings.attempt(
            "encode_images() of untrained()",
            lambda one=one: one.encode_images([one.prepare(image) for image in images]),  # type: ignore[misc]
        )
        for one in twins
    )
    if blind is None or same is None:
        return
    findings.require(
        np.allclose(blind, same, rtol=0, atol=_TOLERANCE),
        "untrained() embeds an image otherwise every time; seed its weights",
    )
    findings.require(
        blind.shape != rows[:2].shape or not np.allclose(blind, rows[:2], rtol=0, atol=_TOLERANCE),
        "untrained() embeds images as the encoder itself does; its weights must be random",
    )


def _check(
    findings: Findings, name: str, encode: Callable[[list[Any]], Float32Array], items: list[Any]
) -> Float32Array | None:
    """Rows of items embedded alone, after comparing them with batches and another order."""
    singly = [_encode(findings, name, encode, [item], "for one item") for item in items]
    if any(row is None for row in singly):
        return None
    if not findings.require(
        len({row.shape[1] for row in singly if row is not None}) == 1,
        f"{name}() gives rows of different length",
    ):
        return None
    expected = np.concatenate([row for row in singly if row is not None])

    def rows_of(part: list[Any], how: str) -> list[Float32Array] | None:
        rows = _encode(findings, name, encode, part, how)
        return None if rows is None else list(rows)

    def compare(rows: list[Float32Array], where: str) -> None:
        _compare(findings, name, expected, rows, where)

    call_together(items, rows_of, compare, "items")
    return expected


def _encode(
    findings: Findings, name: str, encode: Callable[[list[Any]], Any], items: list[Any], how: str
) -> Float32Array | None:
    """Rows of one call, where they are as promised."""
    rows: Float32Array | None = findings.attempt(f"{name}() {how}", lambda: encode(items))
    if rows is None:
        return None
    if not findings.require(
        isinstance(rows, np.ndarray) and rows.dtype == np.float32 and rows.ndim == 2,
        f"{name}() gives {_described(rows)}; expected a float32 array of shape (n, d)",
    ):
        return None
    if not findings.require(
        len(rows) == len(items), f"{name}() gives {len(rows)} rows for {len(items)} items"
    ):
        return None
    unknown = np.isnan(rows).all(axis=1)
    known = rows[~unknown]
    if findings.require(
        bool(np.isfinite(known).all()), f"{name}() gives rows that are partly not finite ({how})"
    ):
        lengths = np.linalg.norm(known.astype(np.float64), axis=1)
        findings.require(
            bool((np.abs(lengths - 1) <= _UNIT).all()),
            f"{name}() gives rows that are not of unit length ({how}); divide each by its norm, "
            "and return a row of NaN for a missing embedding",
        )
    return rows


def _described(rows: Any) -> str:
    if isinstance(rows, np.ndarray):
        return f"{rows.dtype} of shape {rows.shape}"
    return f"a {type(rows).__name__}"


def _compare(
    findings: Findings, name: str, expected: Float32Array, rows: list[Float32Array], where: str
) -> None:
    actual = np.stack(rows)
    if expected.shape == actual.shape:
        if np.allclose(expected, actual, rtol=0, atol=_TOLERANCE, equal_nan=True):
            return
        distances = np.abs(expected[:, None] - actual[None]).max(axis=2)
        matches = {(int(i), int(j)) for i, j in np.argwhere(distances <= _TOLERANCE)}
        if {i for i, _ in matches} == {j for _, j in matches} == set(range(len(expected))):
            findings.add(f"{name}() gives rows that are not in the order of the items ({where})")
            return
        worst = float(np.nanmax(np.abs(expected - actual)))
        findings.add(
            f"{name}() in {where} differs by up to {worst:.2g} from items embedded alone (more "
            f"than {_TOLERANCE:g}): an embedding must depend on its own item only"
        )
        return
    findings.add(f"{name}() in {where} gives the shape {actual.shape}, not {expected.shape}")
