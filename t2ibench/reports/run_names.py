"""Names of several runs that are short enough for the heads of columns, and still distinct."""

from __future__ import annotations

from collections.abc import Sequence

_DOTS = "…"


def short_names(names: Sequence[str], width: int) -> list[str]:
    """Shorten names to at most `width` letters, keeping apart those that differ.

    Where names are too long, what all begin with is left out; then their middles. If that makes
    two of them one, they are numbered.

    Examples:
        >>> short_names(["run-of-a-long-name-1", "run-of-a-long-name-2"], 12)
        ['…name-1', '…name-2']
        >>> short_names(["toy", "toy-fair"], 12)
        ['toy', 'toy-fair']
    """
    if max(len(name) for name in names) <= width:
        return list(names)
    candidates = [
        _without_common_beginning(names, with_last_word=True),
        _without_common_beginning(names, with_last_word=False),
        [_without_middle(name, width) for name in names],
    ]
    for candidate in candidates:
        fits = max(len(name) for name in candidate) <= width
        if fits and len(set(candidate)) == len(set(names)):
            return candidate
    return [f"run {number}" for number in range(1, len(names) + 1)]


def without_middles(names: Sequence[str], width: int) -> list[str]:
    """Return names cut in their middles to at most some letters; as they are if two become one.

    Examples:
        >>> without_middles(["occupations_of_many", "weat"], 12)
        ['occupa…_many', 'weat']
    """
    cut = [_without_middle(name, width) for name in names]
    return cut if len(set(cut)) == len(set(names)) else list(names)


def _without_common_beginning(
    names: Sequence[str], *, with_last_word: bool
) -> list[str]:
    """Return names without what all begin with, cut where a word begins.

    Args:
        names: The names.
        with_last_word: Whether the last word that all have in common stays.
    """
    first = min(names)
    last = max(names)
    # Of sorted names, the first and the last have in common what all have.
    same = [letter == other for letter, other in zip(first, last, strict=False)]
    common = first[: [*same, False].index(False)]
    if with_last_word:
        common = common[:-1]
    begin = max(common.rfind(letter) for letter in " -_/.") + 1
    return [f"{_DOTS}{name[begin:]}" if begin else name for name in names]


def _without_middle(name: str, width: int) -> str:
    """Return a name cut in its middle to a number of letters."""
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}{_DOTS}{name[-end:]}"
