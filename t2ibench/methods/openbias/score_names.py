"""Names of scores that exist once for each class, such as 'share:female'.

Results of other families, and the reports, use the same form: a score, a colon, and
the class, group or pair that the score is about.
"""

from __future__ import annotations


def join_score_name(score: str, about: str) -> str:
    """Return the name of a score of one class; the score alone where there is none.

    Examples:
        >>> join_score_name("share", "female"), join_score_name("severity", "")
        ('share:female', 'severity')
    """
    return f"{score}:{about}" if about else score


def split_score_name(name: str) -> tuple[str, str]:
    """Return the score and the class in a score's name; '' as the class where it has none.

    Examples:
        >>> split_score_name("share:female"), split_score_name("severity")
        (('share', 'female'), ('severity', ''))
    """
    score, _, about = name.partition(":")
    return score, about
