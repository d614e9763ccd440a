"""The static site: plain HTML that works without scripts and from disk, and its data."""

from __future__ import annotations

import functools
import json
import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

from t2ibench.apps.leaderboard import downloads
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import span
from t2ibench.apps.leaderboard.regenerate import LEVELS
from t2ibench.apps.leaderboard.table import Entry, Stratum, strata
from t2ibench.apps.leaderboard.views import (
    BESIDE,
    ItemTable,
    Model,
    effective,
    item_tables,
    models,
    provenance,
)
from t2ibench.methods import METHODS
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.html import templating, words
from t2ibench.reports.sentences import verdict
from t2ibench.reports.view import TaskView, poles
from t2ibench.results.comparison import compare
from t2ibench.store.files import write_text
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40
_BARS, _QUESTIONS = 6, 2  # prompts, and questions, whose answers a row shows


def build(board: Board, output: Path, date: str | None = None) -> dict[str, Any]:
    """Write the site."""
    measured = strata(board.entries)
    found = models(measured)
    data = downloads.data(found, measured, board.refused)
    data["paired"] = len(found) <= PAIRED_MODELS
    output.mkdir(parents=True, exist_ok=True)
    # A model of an earlier site may have been refused since.
    for pattern in ("pairs/*.js", "thumbs/*/*.jpg", "model/*", "task/*.html"):
        for old in output.glob(pattern):
            old.unlink()
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    for stratum in measured if data["paired"] else ():
        _write_pairs(stratum.entries, output / "pairs")
    write_text(output / "leaderboard.csv", downloads.results_csv(board.entries))
    own = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", f"{templating.style()}\n{own}")
    for path in sorted(_STATIC.glob("*.js")):
        shutil.copyfile(path, output / path.name)
    for name, html in Pages(board, measured, found, date).all():
        write_text(output / name, html)
    return data


def _write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """One script a model: how its headlines differ from those of the models after it."""
    for k, first in enumerate(entries):
        rows = {
            second.id: [
                {
                    "task": one.task,
                    **{
                        key: downloads.rounded(getattr(one, key))
                        for key in ("value", "low", "high")
                    },
                    "verdict": one.verdict,
                    "notes": "; ".join(one.notes)
                    .replace("in the first run", f"for {visible(first.manifest.name)}")
                    .replace(
                        "in the second run", f"for {visible(second.manifest.name)}"
                    ),
                }
                for one in compare(
                    first.results,
                    second.results,
                    first.verdict.paired,
                    second.verdict.paired,
                    rows=False,
                )
            ]
            for j, second in enumerate(entries)
            if j > k
        }
        text = _safe(
            json.dumps([first.id, rows], ensure_ascii=False, separators=(",", ":"))
        )
        write_text(target / f"{first.id}.js", f"window.T2IBENCH_PAIR({text});\n")


def _safe(text: str) -> str:
    """JSON inside a script: a page that is opened from disk may run scripts, and may not fetch."""
    return (
        text.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


@functools.cache
def environment() -> jinja2.Environment:
    """The templates; everything that is not `Markup` is escaped."""
    own = jinja2.PackageLoader("t2ibench.apps.leaderboard", "templates")
    reports = jinja2.PackageLoader("t2ibench.reports.html", "templates")
    made = templating.environment().overlay(loader=jinja2.ChoiceLoader([own, reports]))
    made.filters = {
        **made.filters,
        **{"seen": visible, "span": span, "ran_as": downloads.ran_as},
        "identity": lambda entry, part: downloads.identity(entry)[part],
    }
    return made


class Pages:
    """Renders the pages of one site."""

    def __init__(
        self,
        board: Board,
        strata: Sequence[Stratum],
        models: Sequence[Model],
        date: str | None,
    ) -> None:
        self.board, self.strata, self.models, self.date = board, strata, models, date
        self._titles = {name: METHODS.get(name).title for name in METHODS.names()}
        self._tasks = sorted({name for model in models for name in model.tasks})

    def render(self, template: str, root: str, here: str = "", **values: Any) -> str:
        """One page."""
        common = {"root": root, "here": here, "date": self.date, "version": __version__}
        made = environment().get_template(template)
        return made.render(**common, titles=self._titles, **values)

    def all(self) -> Iterator[tuple[str, str]]:
        """Every page."""
        yield "index.html", self._index()
        yield "tasks.html", self._tests()
        yield "compare.html", self.render("compare.html", "", "compare.html")
        yield "about.html", self.render("about.html", "", "about.html", levels=LEVELS)
        for model in self.models:
            yield f"model/{model.entry.id}.html", self._model(model)
        for name in self._tasks:
            yield f"task/{name}.html", self._task(name)

    def _index(self) -> str:
        return self.render(
            "index.html",
            "",
            "index.html",
            models=self.models,
            tables=[self._table(stratum) for stratum in self.strata],
            refused=self.board.refused,
            toys=sum(model.entry.toy for model in self.models),
        )

    def _table(self, stratum: Stratum) -> dict[str, Any]:
        """One table of the first page."""
        models = [model for model in self.models if model.stratum is stratum]
        columns = []
        for name in stratum.families:
            cells = [model.cells[name].cell for model in models if name in model.cells]
            most = max((cell.of for cell in cells), default=0)
            columns.append((name, most, all(cell.rooted for cell in cells)))
        found: list[ItemTable] = []
        # there is room for who is shown, of tests with few prompts
        if len(columns) == 1:
            tables = (item_tables(models, name, len(models)) for name in self._tasks)
            found = [
                t for of in tables for t in of if t.classes and len(t.items) <= _BARS
            ]
        return {
            "stratum": stratum,
            "models": models,
            "columns": columns,
            "who": found[:_QUESTIONS],
            "ranked": sum(model.entry.overall is not None for model in models),
        }

    def _model(self, model: Model) -> str:
        entry = model.entry
        checked, stated = provenance(entry)
        return self.render(
            "model.html",
            "../",
            model=model,
            run=model.run,
            verdict=verdict(model.run),
            counts=model.run.shown_counts(),
            level=LEVELS.get(entry.verdict.level, ""),
            cards=[
                (
                    task,
                    templating.fragment(
                        "card.html",
                        family=self._titles[task.result.method],
                        task=task,
                        figures=(),
                        evidence=None,
                        open=True,
                    ),
                )
                for task in model.tasks.values()
            ],
            card=[*entry.manifest.card.facts(), *effective(model)],
            stated_card=any(entry.manifest.card.model_dump().values()),
            unranked={
                name: downloads.unranked(entry.families[name]) for name in model.cells
            },
            origin=[
                ("checked", "Confirmed by generating images again", checked),
                (
                    "stated",
                    "Stated by the submitter, not checked: do not run a command that you "
                    "have not read",
                    stated,
                ),
            ],
        )

    def _task(self, name: str) -> str:
        def order(row: tuple[Model, TaskView]) -> tuple[bool, float, str]:
            """Those that lean least first; what shows no number last."""
            result = row[1].result
            square = result.headline.square
            without = square is None or bool(result.inconclusive)
            return without, math.inf if square is None else square, row[0].entry.id

        having = sorted(
            ((m, m.tasks[name]) for m in self.models if name in m.tasks), key=order
        )
        strata = [
            (one, [row for row in having if row[0].stratum is one])
            for one in self.strata
        ]
        (_, example), *_ = having
        spec = example.spec
        assert spec is not None  # what is on the board is of shipped tasks
        return self.render(
            "task.html",
            "../",
            id=name,
            spec=spec,
            shown=example.shown,
            estimand=METHODS.get(spec.method).estimand,
            prompts=words.prompts_said(example),
            strata=[one for one in strata if one[1]],
            axis=poles(example) if example.shown.axis else Axis("", ""),
            items=item_tables(self.models, name),
            most=BESIDE,
        )

    def _tests(self) -> str:
        families: dict[str, list[tuple[str, str, str, int, int]]] = {}
        for name in self._tasks:
            ran = [model.tasks[name] for model in self.models if name in model.tasks]
            spec = ran[0].spec
            assert spec is not None  # what is on the board is of shipped tasks
            clear = sum(task.mark.state == "clear" for task in ran)
            row = (name, ran[0].name, spec.description, len(ran), clear)
            families.setdefault(self._titles[spec.method], []).append(row)
        return self.render(
            "tasks.html",
            "",
            "tasks.html",
            families=sorted(families.items()),
            items=self._words(),
        )

    def _words(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Every item of every test, with the rows of the tests' pages that show it."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for name in self._tasks:
            for k, table in enumerate(item_tables(self.models, name)):
                for row, item in enumerate(table.items):
                    place = (f"{name}.html#item-{k}-{row}", table.test)
                    found.setdefault(item.name.casefold(), {}).setdefault(name, place)
        return [(word, list(found[word].values())) for word in sorted(found)]
