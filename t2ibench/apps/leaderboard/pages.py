"""The pages of the site: plain HTML that works without scripts, and from disk."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jinja2

from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.exports import ran_as, unranked
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import span
from t2ibench.apps.leaderboard.table import Stratum, asked_images, fewer_images
from t2ibench.apps.leaderboard.verify import LEVELS
from t2ibench.apps.leaderboard.views import (
    BESIDE,
    Model,
    badge_text,
    effective,
    facts,
    item_tables,
    provenance,
    words_of,
)
from t2ibench.methods import METHODS
from t2ibench.methods.core.presentation import Axis, Presentation
from t2ibench.methods.registry import needs, presentation
from t2ibench.reports.html import words
from t2ibench.reports.view import TaskView, poles, verdict
from t2ibench.settings import Settings
from t2ibench.version import __version__

_SHOWN = 5  # prompts in a row of the table
_MANY = 24  # models beside each other in a table of pictures
_LEAD = re.compile(
    r"^(?:an? |the )?(?:close-up )?(?:photo(?:graph)?|picture|image|portrait|painting|drawing)?"
    r"(?: of)? ?(?:an? |the )?",
    re.IGNORECASE,
)


def short(prompt: str) -> str:
    """A prompt in a word or two.

    Examples:
        >>> short("A photo of a nurse")
        'nurse'
    """
    text = visible(_LEAD.sub("", prompt, count=1) or prompt)
    return text if len(text) <= 22 else text[:21] + "…"


@functools.cache
def environment() -> jinja2.Environment:
    """The templates; everything that is not `Markup` is escaped."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("t2ibench.apps.leaderboard", "templates"),
                jinja2.PackageLoader("t2ibench.reports.html", "templates"),
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    made.filters |= words.FILTERS
    made.filters |= {"seen": visible, "short": short, "span": span, "ran_as": ran_as}
    return made


class Pages:
    """Renders the pages of one site.

    Args:
        board: The submissions.
        strata: Models that were measured alike.
        models: All of them, in the order of the table.
        described: Task id to what is said of it, from `site.site_data`.
        date: When the site was built, as it says.
    """

    def __init__(
        self,
        board: Board,
        strata: Sequence[Stratum],
        models: Sequence[Model],
        described: Mapping[str, Any],
        date: str | None,
    ) -> None:
        self.board, self.strata, self.models = board, strata, models
        self.described, self.date = described, date
        self.verified = [model for model in models if model.entry.verified]
        self._of = {model.entry.id: model for model in models}
        self._titles = {name: METHODS.get(name).title for one in strata for name in one.families}
        self._asked = asked_images()

    def render(self, template: str, root: str, here: str = "", **values: Any) -> str:
        """One page."""
        common = {"root": root, "here": here, "date": self.date, "version": __version__}
        return environment().get_template(template).render(**common, **values)

    def all(self) -> Iterator[tuple[str, str]]:
        """Every page."""
        yield "index.html", self._index()
        yield "tasks.html", self._tasks()
        yield "encoders.html", self._encoders()
        yield "compare.html", self.render("compare.html", "", "compare.html")
        yield "about.html", self._about()
        for model in self.models:
            yield f"model/{model.page}.html", self._model(model)
            yield f"model/{model.page}.svg", self._badge(model)
        for name in self.described:
            yield f"task/{name}.html", self._task(name)

    def _index(self) -> str:
        groups, rooted, shown = {}, {}, {}
        notes: dict[str, dict[str, str]] = {}
        for stratum in self.strata:
            here = [self._of[entry.id] for entry in stratum.entries]
            verified = [model for model in here if model.entry.verified]
            others = [model for model in here if not model.entry.verified]
            groups[stratum.id] = [(True, verified), *([(False, others)] if others else [])]
            for name in stratum.families:
                most = max((m.entry.families[name].of for m in here if name in m.cells), default=0)
                notes.setdefault(stratum.id, {})[name] = f"{most} test{'' if most == 1 else 's'}"
            rooted[stratum.id] = {
                name: all(model.cells[name].rooted for model in here if name in model.cells)
                for name in stratum.families
            }
            shown[stratum.id] = shared_prompts(here)[:_SHOWN]
        return self.render(
            "index.html", "", "index.html",
            models=self.models, strata=self.strata, groups=groups, notes=notes, rooted=rooted,
            shown=shown, titles=self._titles, facets=self._facets(), refused=self.board.refused,
            published_rows=self._published(), toys=sum(model.toy for model in self.models),
        )  # fmt: skip

    def _facets(self) -> list[tuple[str, str, list[str]]]:
        """Name, title and values of what rows can be chosen by, where they differ."""
        parts = (("encoder", "Encoder"), ("judge", "Judge"), ("versions", "Task versions"))
        found = [
            (part, title, [one.label(part) for one in self.strata])
            for part, title in (*parts, ("settings", "Settings"))
        ]
        cards = [model.entry.manifest.card for model in self.models]
        found += [
            ("weights", "Weights", [card.weights or "not stated" for card in cards]),
            ("level", "Verified", [model.entry.level for model in self.models]),
        ]
        return [
            (part, title, list(dict.fromkeys(v))) for part, title, v in found if len(set(v)) > 1
        ]

    def _published(self, task: str | None = None) -> list[dict[str, str]]:
        return [
            {
                "model": visible(str(row["model"])),
                "task": name,
                "scores": ", ".join(f"{key} {value:g}" for key, value in row["scores"].items()),
                "method": METHODS.get(said["family"]).title,
                "source": visible(str(row["source"]), 1000),
            }
            for name, said in self.described.items()
            if task in {None, name}
            for row in said["published"]
        ]

    def _model(self, model: Model) -> str:
        from t2ibench.reports.html.page import fragment

        family = {task.id: one.title for one in model.run.families for task in one.tasks}
        entry = model.entry
        cards = [
            (task, fragment("card.html", family=family.get(task.id, "Text encoder"), task=task,
                            figures=(), evidence=None, open=True))
            for task in [*model.run.tasks, *model.run.texts]
        ]  # fmt: skip
        told = provenance(entry)
        return self.render(
            "model.html", "../",
            model=model, run=model.run, verdict=verdict(model.run),
            counts=model.run.counts(), cards=cards, level=LEVELS.get(entry.level, ""),
            card=[*entry.manifest.card.facts(), *effective(model)],
            stated_card=any(entry.manifest.card.model_dump().values()),
            titles=self._titles, badge_text=badge_text(model),
            unranked={
                name: unranked(entry.families[name], entry.verified) for name in model.cells
            },
            origin=[
                ("checked", "Confirmed by generating images again", facts(told["checked"])),
                ("stated", "Stated by the submitter, not checked: do not run a command that you "
                 "have not read", facts(told["stated"])),
            ],
        )  # fmt: skip

    def _badge(self, model: Model) -> str:
        text = badge_text(model)
        return environment().get_template("badge.svg").render(text=text, width=8 + 6 * len(text))

    def _task(self, name: str) -> str:
        said = self.described[name]
        spec = next((m.tasks[name].spec for m in self.models if name in m.tasks), None)
        shown = None if spec is None else presentation(spec)
        strata, pictured = [], []
        for stratum in self.strata:
            here = [self._of[entry.id] for entry in stratum.entries]
            rows = [(model, model.tasks[name]) for model in here if name in model.tasks]
            rows.sort(key=lambda row: (not row[0].entry.verified, *_lean(row[1])))
            if rows:
                strata.append((stratum, rows))
            pictured += [model for model, _ in rows if model.pictures]
        having = [(m, m.tasks[name]) for m in self.models if name in m.tasks]
        prompts: set[str] = set()
        if spec is not None:
            settings = Settings.of(having[0][1].result.settings)
            asked_of = {need.prompt for need in needs(spec, settings).prompts}
            prompts = asked_of & {prompt for model in pictured for prompt in model.pictures}
        asked = self._asked.get(name)
        fewer = {m.page: text for m, task in having if (text := fewer_images(task.result, asked))}
        example = next((task for _, task in having if spec), None)
        return self.render(
            "task.html", "../",
            id=name, task=said, spec=spec, shown=shown or Presentation(""),
            family=METHODS.get(said["family"]).title, estimand=METHODS.get(said["family"]).estimand,
            prompts=words.prompts_said(example) if example else "", strata=strata, fewer=fewer,
            axis=poles(example) if example and example.shown.axis else Axis("", ""),
            pictures=sorted(prompts), pictured=pictured[:_MANY] if prompts else [],
            items=item_tables(self.verified, name), most=BESIDE,
            published_rows=self._published(name),
        )  # fmt: skip

    def _tasks(self) -> str:
        families: dict[str, list[tuple[str, str, str, int, int]]] = {}
        for name, said in self.described.items():
            ran = [m.tasks[name] for m in self.models if name in m.tasks]
            states = [m.tasks[name].mark.state for m in self.verified if name in m.tasks]
            clear = states.count("clear")
            row = (name, ran[0].name if ran else name, said["description"], len(ran), clear)
            families.setdefault(METHODS.get(said["family"]).title, []).append(row)
        order = [METHODS.get(name).title for name in METHODS.names()]
        texts = {METHODS.get(one.result.method).title for m in self.models for one in m.run.texts}
        found = sorted(families.items(), key=lambda pair: (pair[0] in texts, order.index(pair[0])))
        listed = [
            (row[0], row[1], item_tables(self.verified, row[0]))
            for _, rows in found
            for row in rows
        ]
        return self.render(
            "tasks.html", "", "tasks.html", families=found, found_words=words_of(listed)
        )

    def _encoders(self) -> str:
        """Tests of texts by encoder: one column each, from any verified model read with it."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        tests: dict[str, str] = {}
        for model in self.verified:
            for task in model.run.texts:
                tests[task.id] = task.name
                for key in task.result.settings.encoders.items():
                    one = found.setdefault(key, {"tests": {}, "models": []})
                    one["tests"].setdefault(task.id, task)
                    if model.name not in one["models"]:
                        one["models"].append(model.name)
        encoders = [
            {"name": visible(name), "print": print_[:8], **one}
            for (name, print_), one in sorted(found.items())
        ]
        return self.render(
            "encoders.html", "", "encoders.html", encoders=encoders, tests=sorted(tests.items())
        )

    def _about(self) -> str:
        rows = []
        for stratum in self.strata:
            for row in stratum.borda():
                where = f"{stratum.label('encoder')}, {stratum.label('judge')}"
                name = self._of[row["id"]].name
                rows.append((name, where, row["value"], row["low"], row["high"]))
        dated = sorted(
            (visible(day), model.name, model.page)
            for model in self.models
            if (day := model.entry.manifest.card.submitted)
        )[::-1]
        return self.render(
            "about.html", "", "about.html",
            levels=LEVELS, borda=rows, dated=dated,
        )  # fmt: skip


def shared_prompts(models: Sequence[Model]) -> list[str]:
    """The prompts of the pictures, those that most models have first."""
    counts: dict[str, int] = {}
    for model in models:
        for prompt in model.pictures:
            counts[prompt] = counts.get(prompt, 0) + 1
    return sorted(
        counts, key=lambda prompt: (-counts[prompt], "," in prompt, len(short(prompt)), prompt)
    )


def _lean(task: TaskView) -> tuple[bool, float, str]:
    """Those that lean least first; what shows no number comes last."""
    square = task.result.headline.square
    absent = square is None or bool(task.result.inconclusive)
    return absent, square if square is not None else math.inf, task.id
