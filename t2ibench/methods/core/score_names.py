"""Names of scores that exist once for each class, group or pair, such as `share:female`.

results.json and the tables of every method use this form, and nothing else may be read into a
name: the kind of score, a colon, and what the score is about.
"""

from __future__ import annotations

_SEPARATOR = ":"


def join_score_name(kind: str, about: str) -> str:
    """Return a score's name, 'kind:about'; the kind alone if it is about no class.

    Examples:
        >>> join_score_name("share", "female"), join_score_name("severity", "")
        ('share:female', 'severity')
    """
    return f"{kind}{_SEPARATOR}{about}" if about else kind


def split_score_name(name: str) -> tuple[str, str]:
    """Return the kind of a score and the class it is about, '' if there is none.

    Examples:
        >>> split_score_name("share:female"), split_score_name("severity")
        (('share', 'female'), ('severity', ''))
        >>> split_score_name("sets:a-b:c")
        ('sets', 'a-b:c')
    """
    kind, _, about = name.partition(_SEPARATOR)
    return kind, about
