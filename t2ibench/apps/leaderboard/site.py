"""The static site: plain HTML that works without scripts and from disk, and its data."""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.exports import (
    bibtex,
    family_names,
    family_record,
    identity,
    ran_as,
    results_csv,
    rounded,
    unranked,
)
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import span
from t2ibench.apps.leaderboard.table import Entry, Stratum, asked_images, fewer_images, strata
from t2ibench.apps.leaderboard.thumbs import SIZE
from t2ibench.apps.leaderboard.verify import LEVELS
from t2ibench.apps.leaderboard.views import (
    BESIDE,
    Model,
    badge_text,
    effective,
    facts,
    item_tables,
    models,
    provenance,
    words_of,
)
from t2ibench.methods import METHODS
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.presentation import Axis, Presentation
from t2ibench.methods.registry import needs, presentation
from t2ibench.reports.cells import headline, score_words
from t2ibench.reports.html import words
from t2ibench.reports.sentences import verdict
from t2ibench.reports.view import TaskView, poles
from t2ibench.results.comparison import compare
from t2ibench.results.display import text_only
from t2ibench.settings import Settings
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40
_FACES = (
    ("Source Sans 3 Variable", "source-sans-3"),
    ("Source Serif 4 Variable", "source-serif-4"),
)
_SHOWN = 5  # prompts in a row of the table
_BARS, _QUESTIONS = 6, 2  # prompts, and questions, whose answers a row shows
_MANY = 24  # models beside each other in a table of pictures
_LEAD = re.compile(
    r"^(?:an? |the )?(?:close-up )?(?:photo(?:graph)?|picture|image|portrait|painting|drawing)?"
    r"(?: of)? ?(?:an? |the )?",
    re.IGNORECASE,
)


def build(board: Board, output: Path, date: str | None = None) -> dict[str, Any]:
    """Write the site."""
    data, found, measured = _data(board)
    output.mkdir(parents=True, exist_ok=True)
    # A model of an earlier site may have been refused since.
    for pattern in ("pairs/*.js", "thumbs/*/*.jpg", "model/*", "task/*.html"):
        for old in output.glob(pattern):
            old.unlink()
    verified = [model for model in found if model.entry.verified]
    for model in verified:
        for path in sorted((model.entry.folder / "thumbs").glob("*.jpg")):
            # Pixels alone are copied: a JPEG may carry anything behind them.
            with suppress(UnreadableImageError):
                pixels = thumbnail(path, SIZE, 90)
                write_bytes(output / "thumbs" / model.entry.id / path.name, pixels)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    for record in data["models"]:
        page = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
        write_text(output / "model" / f"{record['page']}.json", page + "\n")
    if len(board.entries) <= PAIRED_MODELS:
        for stratum in measured:
            _write_pairs([one for one in stratum.entries if one.verified], output / "pairs")
    write_text(output / "leaderboard.csv", results_csv(board.entries))
    write_text(output / "leaderboard.bib", bibtex(data))
    _write_static(output)
    for name, page in Pages(board, measured, found, data["tasks"], date).all():
        write_text(output / name, page)
    return data


def _data(board: Board) -> tuple[dict[str, Any], list[Model], list[Stratum]]:
    names = family_names(board.entries)
    measured = strata(board.entries, names)
    found = models(measured)
    asked, parts = asked_images(), ("encoder", "judge", "versions", "settings")
    data = {
        "t2ibench": __version__,
        "levels": LEVELS,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks([model.entry for model in found]),
        "strata": [
            {
                "id": one.id,
                **{part: one.label(part) for part in parts},
                "models": [entry.id for entry in one.entries],
                "families": one.families,
                "borda": one.borda(),
            }
            for one in measured
        ],
        "models": [_model(model, asked) for model in found],
        "refused": [{"id": one.id, "problem": one.problem} for one in board.refused],
        "paired": len(board.entries) <= PAIRED_MODELS,
    }
    return data, found, measured


def _write_static(output: Path) -> None:
    """Scripts, the fonts, and the style: that of reports, then the site's own."""
    reports = files("t2ibench.reports") / "static"
    faces = [
        f'@font-face{{font-family:"{family}";font-weight:200 900;font-display:swap;'
        f'src:url(fonts/{name}.woff2) format("woff2")}}'
        for family, name in _FACES
    ]
    styles = [(reports / name).read_text(encoding="utf-8") for name in ("tokens.css", "report.css")]
    own = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", "\n".join([*faces, *styles, own]))
    for _, name in _FACES:
        data = (reports / "fonts" / f"{name}.woff2").read_bytes()
        write_bytes(output / "fonts" / f"{name}.woff2", data)
    for path in sorted(_STATIC.glob("*.js")):
        shutil.copyfile(path, output / path.name)


def _write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """One script a model: how its headlines differ from those of the models after it."""
    for k, first in enumerate(entries):
        rows = {
            second.id: [
                {
                    "task": one.task,
                    **{key: rounded(getattr(one, key)) for key in ("value", "low", "high")},
                    "p": rounded(one.p_holm),
                    "verdict": one.verdict,
                    "notes": "; ".join(one.notes),
                }
                for one in compare(
                    first.results, second.results, first.paired, second.paired, rows=False
                )
            ]
            for j, second in enumerate(entries)
            if j > k
        }
        text = _safe(json.dumps([first.id, rows], ensure_ascii=False, separators=(",", ":")))
        write_text(target / f"{first.id}.js", f"window.T2IBENCH_PAIR({text});\n")


def _safe(text: str) -> str:
    """JSON inside a script: a page that is opened from disk may run scripts, and may not fetch."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _model(model: Model, asked: Mapping[str, int]) -> dict[str, Any]:
    entry, rank = model.entry, model.overall
    return {
        "id": entry.id,
        "page": model.page,
        "name": model.name,
        "ran": ran_as(entry),
        "drawn": model.drawn,
        "level": entry.level,
        "verified": entry.verified,
        "stratum": model.stratum.id,
        "rank": [rank.best, rank.worst, rank.among] if rank else None,
        "unranked": model.why or None,
        "card": entry.manifest.card.model_dump(),
        "departures": entry.departures,
        "notes": entry.notes,
        "unchecked": entry.stated,
        "families": {
            name: family_record(entry, name, model.stratum.ranks[entry.id].get(name))
            for name in entry.families
        },
        "tasks": {
            name: _task(view, fewer_images(view.result, asked.get(name)))
            for name, view in model.tasks.items()
        },
        "pictures": model.pictures,
        **provenance(entry),
    }


def _task(view: TaskView, fewer: str | None) -> dict[str, Any]:
    task, mark, axis = view.result, view.mark, poles(view)
    return {
        "text": headline(task.headline, 2),
        "name": view.name,
        **{key: rounded(getattr(mark, key)) for key in ("value", "low", "high")},
        "fair": [rounded(mark.fair_low), rounded(mark.fair_high)],
        "state": mark.state,
        "side": mark.side,
        "poles": [axis.low, axis.high],
        "scale": view.scale,
        "square": rounded(task.headline.square),
        "about": task.headline.question,
        "p": rounded(task.headline.p_holm),
        "images": task.n_images,
        "excluded": sum(task.excluded.values()),
        "inconclusive": _sentence(task.inconclusive),
        "direction": _sentence(task.headline.direction),
        "reason": _sentence(task.headline.reason or task.reason),
        "fewer": fewer,
        "text_only": text_only(task),
    }


def _sentence(text: str | None) -> str | None:
    return visible(text, 1000) if text else None


def _tasks(entries: Sequence[Entry]) -> dict[str, Any]:
    """Every task of any model, with what it does and does not show, and published values."""
    registry, _ = build_index()
    described: dict[str, Any] = {}
    # Only what was verified describes a task: a submission without evidence may say anything.
    for entry in sorted(entries, key=lambda one: not one.verified):
        for name, task in entry.results.tasks.items():
            if name in described:
                continue
            shipped = registry.tasks.get(name)
            title = task.title if entry.verified or not shipped else shipped.spec.title
            described[name] = {
                "family": task.family,
                "title": visible(title),
                "version": task.version,
                "description": shipped.spec.description if shipped else "",
                "citation": shipped.spec.citation if shipped else "",
                "notes": [visible(note, 2000) for note in task.notes] if entry.verified else [],
                "published": task.published if entry.verified else [],
            }
    return dict(sorted(described.items()))


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
    made.filters["identity"] = lambda entry, part: identity(entry)[part]
    return made


class Pages:
    """Renders the pages of one site.

    Args:
        board: The submissions.
        strata: Models that were measured alike.
        models: All of them, in the order of the table.
        described: Task id to what is said of it, as `_tasks` gives it.
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
        self._names = {model.entry.id: model.name for model in models}
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
            badge, text = environment().get_template("badge.svg"), badge_text(model)
            yield f"model/{model.page}.svg", badge.render(text=text, width=8 + 6 * len(text))
        for name in self.described:
            yield f"task/{name}.html", self._task(name)

    def _index(self) -> str:
        groups, rooted, shown, who = {}, {}, {}, {}
        notes: dict[str, dict[str, str]] = {}
        for stratum in self.strata:
            here = [model for model in self.models if model.stratum is stratum]
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
            who[stratum.id] = _answered(here) if len(stratum.families) == 1 else []
        return self.render(
            "index.html", "", "index.html",
            models=self.models, strata=self.strata, groups=groups, notes=notes, rooted=rooted,
            shown=shown, who=who, titles=self._titles, facets=self._facets(),
            refused=self.board.refused, published_rows=self._published(),
            toys=sum(model.entry.toy for model in self.models),
        )  # fmt: skip

    def _facets(self) -> list[tuple[str, str, list[str]]]:
        """Name, title and values of what rows can be chosen by, where they differ."""
        cards = [model.entry.manifest.card for model in self.models]
        found: list[tuple[str, str, list[str]]] = [
            ("encoder", "Encoder", [one.label("encoder") for one in self.strata]),
            ("judge", "Judge", [one.label("judge") for one in self.strata]),
            ("versions", "Task versions", [one.label("versions") for one in self.strata]),
            ("settings", "Settings", [one.settings for one in self.strata]),
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
                "scores": ", ".join(
                    f"{score_words(key)} {value:g}" for key, value in row["scores"].items()
                ),
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

    def _task(self, name: str) -> str:
        said = self.described[name]
        having = [(m, m.tasks[name]) for m in self.models if name in m.tasks]
        spec = having[0][1].spec if having else None
        shown = None if spec is None else presentation(spec)

        def order(row: tuple[Model, TaskView]) -> tuple[bool, bool, float, str]:
            """Those that lean least first; what shows no number and what was not verified last."""
            square, result = row[1].result.headline.square, row[1].result
            without = square is None or bool(result.inconclusive)
            size = math.inf if square is None else square
            return not row[0].entry.verified, without, size, row[1].id

        strata = []
        for stratum in self.strata:
            rows = sorted((row for row in having if row[0].stratum is stratum), key=order)
            if rows:
                strata.append((stratum, rows))
        pictured = [model for _, rows in strata for model, _ in rows if model.pictures]
        prompts: set[str] = set()
        if spec is not None:
            settings = Settings.of(having[0][1].result.settings)
            asked_of = {need.prompt for need in needs(spec, settings).prompts}
            prompts = asked_of & {prompt for model in pictured for prompt in model.pictures}
        asked = self._asked.get(name)
        fewer = {m.page: text for m, task in having if (text := fewer_images(task.result, asked))}
        example = having[0][1] if having and spec else None
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
                rows.append((self._names[row["id"]], where, row["value"], row["low"], row["high"]))
        dated = sorted(
            (visible(day), model.name, model.page)
            for model in self.models
            if (day := model.entry.manifest.card.submitted)
        )[::-1]
        return self.render("about.html", "", "about.html", levels=LEVELS, borda=rows, dated=dated)


@dataclass(frozen=True, slots=True)
class Answered:
    """Who is shown as what, for the models of one table.

    Attributes:
        title: The test.
        attribute: What was asked, such as gender.
        classes: What could be answered.
        prompts: Each with a short name.
        rows: The answers, by the page of a model and the prompt.
    """

    title: str
    attribute: str
    classes: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]
    rows: dict[tuple[str, str], ShownRow]


def _answered(models: Sequence[Model]) -> list[Answered]:
    """The first questions that were answered prompt by prompt, of tests with few prompts."""
    found: dict[tuple[str, str], Answered] = {}
    for model in models:
        for task in model.run.tasks:
            for one in task.prompts if model.entry.verified else ():
                if len(one.rows) > _BARS:
                    continue
                rows = sorted(one.rows, key=lambda row: row.counted.name)
                prompts = tuple((row.counted.name, row.short) for row in rows)
                name = one.counted.attribute
                known = found.setdefault(
                    (task.id, name), Answered(task.name, name, one.counted.classes, prompts, {})
                )
                known.rows.update({(model.page, row.counted.name): row for row in rows})
    return list(found.values())[:_QUESTIONS]


def shared_prompts(models: Sequence[Model]) -> list[str]:
    """The prompts of the pictures, those that most models have first."""
    counts = Counter(prompt for model in models for prompt in model.pictures)
    return sorted(
        counts, key=lambda prompt: (-counts[prompt], "," in prompt, len(short(prompt)), prompt)
    )
