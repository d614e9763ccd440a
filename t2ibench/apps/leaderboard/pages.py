"""The leaderboard's HTML pages, rendered from templates."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from t2ibench.apps.leaderboard import downloads
from t2ibench.apps.leaderboard.finding import first_finding
from t2ibench.apps.leaderboard.page_views import (
    board_table,
    by_closeness,
    item_table_views,
    model_view,
    picture_views,
    ranks_of_task,
    stratum_tables,
)
from t2ibench.apps.leaderboard.pictures import RULE
from t2ibench.apps.leaderboard.regenerate import LEVELS
from t2ibench.apps.leaderboard.table import Stratum
from t2ibench.apps.leaderboard.views import (
    Model,
    effective,
    item_tables,
    provenance,
)
from t2ibench.methods import METHODS
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.html import templating
from t2ibench.reports.html.cards import card_view, estimand, named_prompts
from t2ibench.reports.html.marks import TaskRowView, forest_view, task_row_view
from t2ibench.version import __version__

_NOT_CHECKED = (
    "Stated by the submitter, not checked: do not run a command that you have not read"
)


@dataclass(frozen=True, slots=True)
class TaskListing:
    """A test in the list of all tests, with how many models ran it and how many leans are clear."""

    id: str
    name: str
    description: str
    models: int
    clear: int


@dataclass(frozen=True, slots=True)
class FamilyStanding:
    """A family on a model's page, with the model's rank in it or why it has none."""

    family: str
    title: str
    standing: str


@functools.cache
def environment() -> jinja2.Environment:
    """Return the Jinja environment of the pages, which escapes all text that is not `Markup`."""
    of_board = jinja2.PackageLoader("t2ibench.apps.leaderboard", "templates")
    of_reports = jinja2.PackageLoader("t2ibench.reports.html", "templates")
    loader = jinja2.ChoiceLoader([of_board, of_reports])
    return templating.environment().overlay(loader=loader)


class Pages:
    """The HTML pages of the leaderboard's site, rendered from templates."""

    def __init__(
        self,
        refused: Mapping[str, str],
        strata: Sequence[Stratum],
        models: Sequence[Model],
        date: str | None,
    ) -> None:
        self._refused = refused
        self._strata = strata
        self._models = models
        self._date = date
        self._titles = {name: METHODS.get(name).title for name in METHODS.names()}
        self._tasks = sorted({name for model in models for name in model.tasks})

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the file name and HTML of every page."""
        yield "index.html", self._index()
        yield "tasks.html", self._tests()
        yield "compare.html", self._render("compare.html", here="compare.html")
        yield "about.html", self._about()
        for model in self._models:
            yield f"model/{model.entry.id}.html", self._model(model)
        for name in self._tasks:
            yield f"task/{name}.html", self._task(name)

    def _render(
        self, template: str, *, root: str = "", here: str = "", **values: Any
    ) -> str:
        """Return a page's HTML; `root` is the path to the site's folder, `here` the menu entry."""
        page = environment().get_template(template)
        html = page.render(
            root=root, here=here, date=self._date, version=__version__, **values
        )
        return templating.with_whole_percentages(html)

    def _about(self) -> str:
        return self._render(
            "about.html", here="about.html", levels=LEVELS, picture_rule=RULE
        )

    def _index(self) -> str:
        tables = [
            board_table(stratum, self._models, self._titles, self._tasks)
            for stratum in self._strata
        ]
        return self._render(
            "index.html",
            here="index.html",
            count=len(self._models),
            tables=tables,
            refused=self._refused,
            toys=sum(model.entry.toy for model in self._models),
            finding=first_finding(self._strata, self._models, self._tasks),
        )

    def _model(self, model: Model) -> str:
        entry = model.entry
        verdict = entry.verdict
        card = entry.manifest.card
        checked, claimed = provenance(entry)
        origin = [
            ("checked", "Confirmed by generating images again", checked),
            ("stated", _NOT_CHECKED, claimed),
        ]
        return self._render(
            "model.html",
            root="../",
            model=model_view(model),
            forest=forest_view(model.run),
            counts=model.run.shown_counts(),
            level=LEVELS.get(verdict.level, ""),
            notes=verdict.notes,
            unconfirmed=", ".join(verdict.unconfirmed).replace("_", " "),
            departures=entry.departures,
            pictures=picture_views(model),
            picture_rule=RULE,
            card_pictures=card.pictures or "",
            images=verdict.n_images,
            standings=self._standings(model),
            cards=self._cards(model),
            card=[*card.facts(), *effective(model)],
            has_card=any(card.model_dump().values()),
            origin=origin,
        )

    def _cards(self, model: Model) -> list[tuple[TaskRowView, Markup, str]]:
        """Return a table row, a card as HTML and the ranks in words for each test of a model."""
        cards = []
        for task in model.tasks.values():
            card = card_view(
                task,
                self._titles[task.result.method],
                is_open=True,
                says_excluded=False,
            )
            html = templating.fragment("card.html", card=card)
            ranks = "; ".join(ranks_of_task(model, task.id))
            cards.append((task_row_view(task), html, ranks))
        return cards

    def _standings(self, model: Model) -> list[FamilyStanding]:
        standings = []
        for family in model.stratum.families:
            rank = model.entry.ranks.get(family)
            if family not in model.cells:
                standing = "not run"
            elif rank is not None:
                standing = rank.words
            else:
                reason = downloads.unranked(model.entry.families[family])
                standing = f"not ranked: {reason}"
            standings.append(FamilyStanding(family, self._titles[family], standing))
        return standings

    def _task(self, name: str) -> str:
        example = by_closeness(self._models, name)[0].tasks[name]
        spec = example.spec
        assert spec is not None  # what is on the board is of shipped tasks
        axis = example.shown.axis or Axis("", "")
        return self._render(
            "task.html",
            root="../",
            id=name,
            spec=spec,
            family=self._titles[spec.method],
            shown=example.shown,
            estimand=estimand(example),
            prompts=named_prompts(example),
            tables=stratum_tables(self._strata, self._models, name),
            axis=axis,
            items=item_table_views(self._models, name),
        )

    def _tests(self) -> str:
        families: dict[str, list[TaskListing]] = {}
        for name in self._tasks:
            views = [model.tasks[name] for model in self._models if name in model.tasks]
            spec = views[0].spec
            assert spec is not None  # what is on the board is of shipped tasks
            listing = TaskListing(
                id=name,
                name=views[0].name,
                description=spec.description,
                models=len(views),
                clear=sum(task.mark.state == "clear" for task in views),
            )
            families.setdefault(self._titles[spec.method], []).append(listing)
        return self._render(
            "tasks.html",
            here="tasks.html",
            families=sorted(families.items(), key=lambda family: family[0]),
            items=self._words(),
        )

    def _words(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return every item of all tests, each with links to the table rows that show it."""
        places: dict[str, dict[str, tuple[str, str]]] = {}
        for name in self._tasks:
            for number, table in enumerate(item_tables(self._models, name)):
                for row, item in enumerate(table.items):
                    place = (f"{name}.html#item-{number}-{row}", table.test)
                    places.setdefault(item.name.casefold(), {}).setdefault(name, place)
        return [(word, list(places[word].values())) for word in sorted(places)]
