"""Results as a table for pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.results.display import displayed, row_state, state_of

if TYPE_CHECKING:
    import pandas as pd

    from t2ibench.results.schema import Results

Table = Literal["tasks", "rows", "scores"]
_SCORE = ("value", "ci_low", "ci_high", "p", "p_holm", "p_bh")


def frame_of(results: Results, table: str = "tasks") -> pd.DataFrame:
    """Results as a data frame."""
    import pandas as pd

    makers = {"tasks": _tasks, "rows": _rows, "scores": _scores}
    if table not in makers:
        raise T2IBenchError(f"There is no table '{table}'.{did_you_mean(table, makers)}")
    frame: pd.DataFrame = pd.DataFrame(makers[table](results), columns=_COLUMNS[table])
    if table == "tasks":
        frame.set_index("task", inplace=True)
    return frame


def task_rows(results: Results) -> tuple[list[str], list[list[object]]]:
    """The table of tasks, without pandas."""
    return list(_COLUMNS["tasks"]), _tasks(results)


def _tasks(results: Results) -> list[list[object]]:
    found: list[list[object]] = []
    for name, task in sorted(results.tasks.items()):
        head, shown = task.headline, displayed(task.headline)
        numbers = (shown.value, shown.low, shown.high, shown.fair_low, shown.fair_high)
        left_out = sum(task.excluded.values())
        found.append(
            [name, task.family, shown.label, state_of(task), *numbers, head.p, head.p_holm,
             head.square, task.n_images, task.n_prompts, left_out, head.direction]
        )  # fmt: skip
    return found


def _rows(results: Results) -> list[list[object]]:
    found = []
    for name, task in sorted(results.tasks.items()):
        for row in task.by:
            for score, number in row.scores.items():
                tested = number.value is None or number.p is not None
                state = row_state(number) if tested else None
                numbers = [getattr(number, key) for key in _SCORE]
                found.append([name, row.name, row.group, score, state, row.n_images, *numbers])
    return found


def _scores(results: Results) -> list[list[object]]:
    return [
        [name, score, number.as_published, *(getattr(number, key) for key in _SCORE)]
        for name, task in sorted(results.tasks.items())
        for score, number in task.scores.items()
    ]


_COLUMNS = {
    "tasks": [
        "task", "family", "scale", "state", "value", "ci_low", "ci_high", "fair_low", "fair_high",
        "p", "p_holm", "square", "n_images", "n_prompts", "excluded", "direction",
    ],
    "rows": ["task", "name", "group", "score", "state", "n_images", *_SCORE],
    "scores": ["task", "score", "as_published", *_SCORE],
}  # fmt: skip
