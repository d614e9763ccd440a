"""Texts of table cells: numbers, intervals, p-values and headlines."""

from __future__ import annotations

from collections.abc import Iterable

from t2ibench.decimals import SCALE_DECIMALS, p_value, readable, significant
from t2ibench.methods import method_named
from t2ibench.methods.core.score_names import join_score_name, split_score_name
from t2ibench.results.display import displayed
from t2ibench.results.schema import Headline, Results, TaskResult

PUBLISHED = "†"  # marks a score whose uncertainty is that of its paper
_ABOUT = {"fixed_prompts": "these", "prompt_population": "like these", None: "–"}


def number(value: float | None, digits: int = SCALE_DECIMALS) -> str:
    """Return a number with `digits` decimals as text; None becomes a dash."""
    return "–" if value is None else readable(value, digits)


def signed(value: float | None, digits: int = SCALE_DECIMALS) -> str:
    """Return a number with its sign as text; None becomes a dash.

    Examples:
        >>> signed(0.5), signed(-0.25, 3), signed(-0.0001), signed(None)
        ('+0.50', '−0.250', '0.00', '–')
    """
    return "–" if value is None else readable(value, digits, sign=True)


def in_points(share: float | None) -> str:
    """Return a difference of shares in whole points, with its sign; None becomes a dash.

    Examples:
        >>> in_points(0.256), in_points(-0.3), in_points(-0.001), in_points(None)
        ('+26', '−30', '0', '–')
    """
    return "–" if share is None else readable(100 * share, 0, sign=True)


def ends(low: float | None, high: float | None, digits: int = SCALE_DECIMALS) -> str:
    """Return both ends of an interval or band as text; a dash if either is None."""
    if low is None or high is None:
        return "–"
    return f"[{number(low, digits)}, {number(high, digits)}]"


def headline(record: Headline) -> str:
    """Return a headline as text, with the prefix and unit of the scale that tables use.

    Examples:
        >>> headline(Headline(value=0.47, scale="lean"))
        '+0.47'
        >>> headline(Headline(value=0.25, scale="mean_square"))
        'rms 0.50'
    """
    shown = displayed(record)
    if shown.value is None:
        return "–"
    scale = shown.scale
    text = signed(shown.value) if scale.signed else number(shown.value)
    return f"{scale.prefix} {text}{scale.unit}".lstrip()


def task_cells(task: TaskResult) -> list[str]:
    """Return a task's table cells: headline, interval, what it is about, fair band, p-values."""
    head = task.headline
    shown = displayed(task.headline)
    fair = ends(shown.fair_low, shown.fair_high)
    if task.inconclusive:
        value = f" ({headline(head)})" if head.value is not None else ""
        # The interval of a test with unknown answers covers all that they may be.
        bounded = {"unanswered", "obedience"} & task.details.keys()
        interval = ends(shown.low, shown.high) if bounded else "–"
        return [f"inconclusive{value}", interval, "–", fair, "–", "–"]
    return [
        headline(head),
        ends(shown.low, shown.high),
        _ABOUT[head.question] if shown.low is not None or head.p is not None else "–",
        fair,
        p_value(head.p),
        p_value(head.p_holm),
    ]


def main_score(task: TaskResult) -> str:
    """Return name and value of the score for which a task's method is best known; else a dash."""
    main = method_named(task.method).main_score
    score = None if main is None else task.scores.get(main.name)
    if main is None or score is None or score.value is None:
        return "–"
    mark = PUBLISHED if score.as_published else ""
    return f"{main.label} = {significant(score.value, sign=True)}{mark}"


def excluded(task: TaskResult) -> str:
    """Return how many images of a task are excluded for each reason, as text; '0' if none."""
    parts = [f"{count} {reason}" for reason, count in task.excluded.items() if count]
    if task.missing_prompts:
        count = len(task.missing_prompts)
        parts.append(f"{count} prompt{'s' if count > 1 else ''} without images")
    return ", ".join(parts) or "0"


def score_words(name: str) -> str:
    """Return a score's name as plain words, with spaces in place of underscores."""
    kind, about = split_score_name(name)
    return join_score_name(kind.replace("_", " "), about)


def level_of(results: Results) -> str:
    """Return the heading for a run's column of intervals, such as '95 % CI'."""
    return level_name(task.settings.level for task in results.tasks.values())


def level_name(levels: Iterable[float]) -> str:
    """Return the heading for intervals of these levels, such as '95 % CI'; 'CI' if they differ."""
    distinct = set(levels)
    return f"{100 * distinct.pop():g} % CI" if len(distinct) == 1 else "CI"
