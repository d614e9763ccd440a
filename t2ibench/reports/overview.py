"""A run as text: the verdict, then every test as a bar on one axis, grouped by family.

The terminal and results.md show it. It fits 80 columns, and says more where there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from t2ibench.methods.core.answer_counts import ShownRow, counts_text, sorted_rows
from t2ibench.methods.core.describe import people
from t2ibench.reports.cells import signed
from t2ibench.reports.interval_bar import UNICODE, WIDTH, Signs, interval_bar, scale
from t2ibench.reports.view import RunView, TaskView, possible, verdict
from t2ibench.results.display import UNSURE, WORDS, State
from t2ibench.results.judge_checks import judges_said

Line = tuple[str, State | None]  # a line, and what its test shows
_NAME = 34
_NARROW = 15
_FEW_ROWS = 3
PROMPTS = 9  # lines of who is shown as what
_NAMED = 3


def sentence(run: RunView) -> str:
    """The run in a sentence."""
    return "".join(text for text, _ in verdict(run))


def earlier(run: RunView) -> tuple[str, str] | None:
    """Which tests of earlier commands in the folder the report is not about."""
    names = list(run.results.earlier)
    if not names:
        return None
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    plural = "s" if len(names) > 1 else ""
    return (
        f"{len(names)} test{plural} of earlier commands left out.",
        f"results.json keeps {', '.join(names[:_NAMED])}{more} as 'earlier'. Name all tests in one "
        "command to report them together.",
    )


def counts(run: RunView, signs: Signs = UNICODE) -> str:
    """How many tests are in each state that any is in, with the mark of each."""
    found = run.counts()
    shown = {**found, "cannot_tell": found["cannot_tell"] + found["no_score"]}
    return "   ".join(
        f"{getattr(signs, state)} {shown[state]} {WORDS[state]}"
        for state in found
        if state != "no_score" and shown[state]
    )


def bars(
    run: RunView,
    width: int = 80,
    signs: Signs = UNICODE,
    groups: Iterable[tuple[str, Sequence[TaskView]]] | None = None,
) -> list[Line]:
    """Tests as bars, under the name of their family."""
    size = WIDTH - 4 if width >= 80 else _NARROW
    lines: list[Line] = [(f"{'':{_NAME}} {scale(size)}", None)]
    if groups is None:
        groups = [(family.title, family.tasks) for family in run.groups]
    for title, tasks in groups:
        lines.append((title, None))
        lines += [_bar(task, width, size, signs) for task in tasks]
    return lines


def prompts(run: RunView, most: int, width: int = 80, signs: Signs = UNICODE) -> list[Line]:
    """Who is shown as what: a row a prompt of judged tasks, as many as there is room for."""
    lines: list[Line] = []
    for task in run.tasks:
        for one in task.prompts:
            rows = sorted_rows(one)
            room = most - len(lines) - 2
            if room < min(len(rows), _FEW_ROWS):
                return lines
            key = ", ".join(
                f"{sign} {people(name)}"
                for sign, name in zip(_shades(signs), one.counted.classes, strict=False)
            )
            lines.append((_cut(f"{task.id}: {one.counted.attribute} ({key})", width, signs), None))
            ends = len(rows) if len(rows) <= room else (room - 1) // 2  # of each side
            drawn = [_prompt(row, one.counted.classes, width, signs) for row in rows]
            lines += drawn[:ends]
            if ends < len(rows):
                lines.append((f" {len(rows) - 2 * ends} between them, in results.md", None))
                lines += drawn[-ends:]
    return lines


def _shades(signs: Signs) -> str:
    return "█▒▓░▚▞" if signs == UNICODE else "#-=+*o"


def _prompt(row: ShownRow, classes: Sequence[str], width: int, signs: Signs) -> Line:
    size = WIDTH - 4 if width >= 80 else _NARROW
    name = _cut(row.short, _NAME - 1, signs)
    counts = [row.counted.counts.get(name, 0) for name in classes]
    ends = [round(size * sum(counts[: k + 1]) / max(row.images, 1)) for k in range(len(counts))]
    shades = _shades(signs).ljust(len(classes), "?")
    drawn = "".join(
        shade * (end - start) for shade, start, end in zip(shades, [0, *ends], ends, strict=False)
    )
    text = f" {name:{_NAME - 1}} {drawn:·<{size}} {counts_text(row)}"
    state: State = "clear" if row.clear else "not_clear"
    if signs != UNICODE:
        text = text.replace("·", ".")
    return _cut(f"{text}{', clear' if row.clear else ''}", width, signs), state


def untold(run: RunView, width: int = 80, signs: Signs = UNICODE) -> list[str]:
    """Every test that cannot tell, and why."""
    tasks = [task for task in run.tasks if task.mark.state in UNSURE]
    longest = min(_NAME - 1, max((len(task.id) for task in tasks), default=0))
    return [
        _cut(f" {_cut(task.id, longest, signs):{longest}}  {_why(task)}", width, signs)
        for task in sorted(tasks, key=too_wide)
    ]


def too_wide(task: TaskView) -> bool:
    """Whether a test cannot tell because its interval is wide, and for no other reason."""
    result = task.result
    unsure = task.mark.state == "cannot_tell" and not result.inconclusive
    return unsure and result.headline.p is not None


def _why(task: TaskView) -> str:
    if too_wide(task):
        return f"its interval, {_interval(task)}, is too wide"
    result = task.result
    why = result.inconclusive or result.reason or result.headline.reason
    return why or ("it has no p-value" if task.mark.value is not None else "no score")


def _cut(text: str, width: int, signs: Signs) -> str:
    end = "…" if signs == UNICODE else "."
    return text if len(text) <= width else f"{text[: width - 1]}{end}"


def _bar(task: TaskView, width: int, size: int, signs: Signs) -> Line:
    name = _cut(task.id, _NAME - 1, signs)
    parts = [f" {name:{_NAME - 1}}", interval_bar(task.mark, size, signs), f"{_value(task):>5}"]
    if width >= 80:
        parts.append(_interval(task))
    return _cut(" ".join(parts), width, signs).rstrip(), task.mark.state


def _value(task: TaskView) -> str:
    value = task.mark.value
    if value is None:
        return "-"
    return signed(value, 2) if task.scale in {"lean", "excess"} else f"{value:.2f}"


def _interval(task: TaskView) -> str:
    low, high = task.mark.low, task.mark.high
    if low is None or high is None or task.mark.state == "no_score":
        return ""
    return f"{low:+.2f} to {high:+.2f}"


def judged(run: RunView) -> list[str]:
    """Who answered about the images of which tasks, and whether people checked it."""
    tasks: dict[str, list[str]] = {}
    for task in run.tasks:
        if said := judges_said(task.result):
            tasks.setdefault(said, []).append(task.id)
    return [
        f"{', '.join(names[:_NAMED])}{f' and {len(names) - _NAMED} more' * (len(names) > _NAMED)}: "
        f"{said[:1].lower()}{said[1:]}"
        for said, names in tasks.items()
    ]


def findings(run: RunView) -> Iterator[tuple[str, str]]:
    """The result of each test in words, in the order of the bars."""
    everything: Iterable[TaskView] = [*run.tasks, *run.texts]
    for task in everything:
        if task.sentence:
            yield task.id, task.sentence


def brief(task: TaskView) -> str:
    """A task's result in a few words."""
    if task.mark.state == "clear" or task.result.inconclusive:
        return task.finding or f"{WORDS[task.mark.state].capitalize()}."
    if task.mark.state == "cannot_tell":
        return "Cannot tell: the interval is wide."
    if task.mark.state == "no_score":
        return "No score."
    return f"{WORDS[task.mark.state].capitalize()}. {possible(task.mark, task.shown.axis)}."
