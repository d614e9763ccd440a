"""Names of scores that exist once for each class, such as 'share:female'.

Results of other families, and the reports, use the same form: a score, a colon, and
the class, group or pair that the score is about.
"""

from __future__ import annotations


def score_name(score: str, about: str) -> str:
    """Return the name of a score of one class; the score alone where there is none.

    Examples:
        >>> score_name("share", "female"), score_name("severity", "")
        ('share:female', 'severity')
    """
    return f"{score}:{about}" if about else score


def split_score_name(name: str) -> tuple[str, str]:
    """Return the score and the class of a name; the class is empty where there is none.

    Examples:
        >>> split_score_name("share:female"), split_score_name("severity")
        (('share', 'female'), ('severity', ''))
    """
    score, _, about = name.partition(":")
    return score, about
