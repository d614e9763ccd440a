"""Cells of tables: numbers, intervals, p-values and headlines as text."""

from __future__ import annotations

from collections.abc import Iterable

from t2ibench.methods import method_named
from t2ibench.results.display import displayed
from t2ibench.results.schema import Headline, Results, TaskResult

PUBLISHED = "†"  # marks a score whose uncertainty is that of its paper
_ABOUT = {"fixed_prompts": "these", "prompt_population": "like these", None: "–"}


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A number with its sign, or a dash.

    Examples:
        >>> signed(0.5), signed(-0.25, 2), signed(-0.0001), signed(None)
        ('+0.500', '-0.25', '0.000', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text


def format_p(value: float | None) -> str:
    """A p-value for a table, or a dash."""
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def ends(low: float | None, high: float | None) -> str:
    """Both ends of an interval or a band for a table, or a dash."""
    return "–" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def headline(record: Headline, digits: int = 3) -> str:
    """A headline on the scale on which it is shown.

    Examples:
        >>> headline(Headline(value=0.47, scale="lean"))
        '+0.470'
        >>> headline(Headline(value=0.25, scale="mean_square"))
        'rms 0.500'
    """
    shown = displayed(record)
    if shown.value is None:
        return "–"
    scale = shown.scale
    text = signed(shown.value, digits) if scale.signed else number(shown.value, digits)
    return f"{scale.prefix} {text}{scale.unit}".lstrip()


def task_cells(task: TaskResult) -> list[str]:
    """What a table says of a task's headline."""
    head = task.headline
    shown = displayed(task.headline)
    fair = ends(shown.fair_low, shown.fair_high)
    if task.inconclusive:
        value = f" ({headline(head)})" if head.value is not None else ""
        # The interval of a test with unknown answers holds whatever they are.
        bounded = {"unanswered", "obedience"} & task.details.keys()
        interval = ends(shown.low, shown.high) if bounded else "–"
        return [f"inconclusive{value}", interval, "–", fair, "–", "–"]
    return [
        headline(head),
        ends(shown.low, shown.high),
        _ABOUT[head.question] if shown.low is not None or head.p is not None else "–",
        fair,
        format_p(head.p),
        format_p(head.p_holm),
    ]


def main_score(task: TaskResult) -> str:
    """The method's best-known score, with its name."""
    main = method_named(task.method).main_score
    score = None if main is None else task.scores.get(main.name)
    if main is None or score is None or score.value is None:
        return "–"
    return f"{main.label} = {score.value:+.3f}{PUBLISHED if score.as_published else ''}"


def three_digits(value: float | None) -> str:
    """A number that may be small, such as a diversity."""
    return "–" if value is None else f"{value:.3g}"


def excluded(task: TaskResult) -> str:
    """How many images were excluded, by reason."""
    parts = [f"{count} {reason}" for reason, count in task.excluded.items() if count]
    if task.missing_prompts:
        count = len(task.missing_prompts)
        parts.append(f"{count} prompt{'s' if count > 1 else ''} without images")
    return ", ".join(parts) or "0"


def score_words(name: str) -> str:
    """The name of a score as people read it."""
    kind, colon, name_tail = name.partition(":")
    return f"{kind.replace('_', ' ')}{colon}{name_tail}"


def level_of(results: Results) -> str:
    """The level of the intervals."""
    return level_name(task.settings.level for task in results.tasks.values())


def level_name(levels: Iterable[float]) -> str:
    """The name of the column of intervals."""
    distinct = set(levels)
    return f"{100 * distinct.pop():g} % CI" if len(distinct) == 1 else "CI"
