"""Tables of a run's headlines, with explanations for their readers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.methods.core.scales import LEAN, SCALES, SMALL, scale_named
from t2ibench.reports.cells import (
    PUBLISHED,
    excluded,
    level_of,
    main_score,
    task_cells,
)
from t2ibench.reports.writers import Table
from t2ibench.results.display import in_two
from t2ibench.results.schema import Results

_LEAN = (
    "0 is balanced, +1 and -1 are all one side (of shares P and 1 - P, it is 2 P - 1)."
)
_UNSTATED = "lean"  # the scale of a headline that states none
_BEYOND_ONE = "An estimate can lie beyond 1 by chance;"
_OF_EDITS = (
    "Of edits, a lean is the difference between two groups' changes: +0.50 is a share that moves "
    "by 50 points more for one group than for the other."
)
OVER_TABLE = "Holm's correction is over all tasks of this table."
_EXPLANATION = (
    "‹ and › mark what goes on beyond the axis. A fair model's headline lies in the band "
    "'Fair' at this number of images. About 'these': exactly these prompts, with other "
    f"images; 'like these': prompts like them, too. {OVER_TABLE} A score describes this model "
    "as this encoder or judge sees it; it says nothing about real people, and no single "
    "number sums a model up."
)
OF_ENCODERS = (
    "These tests read words alone: they describe the text encoder, which is the instrument, and "
    "not the generator. They are the same for every model that is read with this encoder."
)
_INCONCLUSIVE = (
    "inconclusive: the test failed a control, or its result depends on unknown answers, so it "
    "allows no conclusion."
)
_PUBLISHED = (
    f"{PUBLISHED} as the paper computes it, kept for comparison: its p-value and its interval are "
    "not vouched for."
)


def tables(results: Results) -> Iterator[Table]:
    """Yield a table of the tests on images, and one of the tests on texts alone."""
    of_generator, of_encoders = in_two(results)
    if of_generator.tasks or not of_encoders.tasks:
        yield _tests(of_generator, [])
    if of_encoders.tasks:
        yield _tests(of_encoders, [OF_ENCODERS])


def _tests(results: Results, notes: list[str]) -> Table:
    rows = [
        [
            name,
            *task_cells(task),
            main_score(task),
            str(task.n_images or "–"),
            excluded(task),
        ]
        for name, task in results.tasks.items()
    ]
    heads = [
        "Task",
        "Headline",
        level_of(results),
        "About",
        "Fair",
        "p",
        "p (Holm)",
        "Score",
    ]
    return Table([*heads, "Images", "Excluded"], rows, [*notes, *explanations(results)])


def explanations(results: Results) -> list[str]:
    """Return the paragraphs that explain a run's table of headlines."""
    tasks = list(results.tasks.values())
    scales = {task.headline.scale or _UNSTATED for task in tasks}
    explained = [scale_named(name).explanation for name in SCALES if name in scales]
    also = [text for text in explained if text]
    if any(task.inconclusive for task in tasks):
        also.append(_INCONCLUSIVE)
    if any(PUBLISHED in main_score(task) for task in tasks):
        also.append(_PUBLISHED)
    of_edits = [_OF_EDITS] if any(edit_report(task.details) for task in tasks) else []
    explanation = " ".join([*of_edits, *_of_scales(scales), _EXPLANATION])
    return [explanation, *([" ".join(also)] if also else [])]


def _of_scales(names: Collection[str]) -> Iterator[str]:
    """Yield sentences that name the headlines' scales and say where they end."""
    scales = [scale_named(name) for name in sorted(names, key=_place)]
    leans = any(scale.matters == SMALL for scale in scales)
    labels = [scale.label for scale in scales]
    if labels == [LEAN.label]:
        yield f"The headline is a lean: {_LEAN}"
    elif labels:
        title = (
            "Scale of the headline" if len(labels) == 1 else "Scales of the headlines"
        )
        yield f"{title}: {listed(labels)}."
        yield from (f"{scale.ends}." for scale in scales if scale.ends)
        if leans:
            yield f"For a lean, {_LEAN}"
    if leans:
        yield _BEYOND_ONE


def _place(name: str) -> tuple[int, str]:
    """Return the key that sorts scales in the registry's order, unknown ones last."""
    names = SCALES.names()
    return (names.index(name) if name in names else len(names)), name
