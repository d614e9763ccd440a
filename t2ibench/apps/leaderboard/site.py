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
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from t2ibench.apps.leaderboard import exports
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import span
from t2ibench.apps.leaderboard.table import Entry, Stratum, fewer_images, strata
from t2ibench.apps.leaderboard.thumbs import SIZE
from t2ibench.apps.leaderboard.verify import LEVELS
from t2ibench.apps.leaderboard.views import (
    BESIDE,
    ItemTable,
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
from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.registry import needs
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
_TITLES = {"versions": "Task versions", "level": "Verified"}  # of facets
_FACETS = ("encoder", "judge", "versions", "settings")
_DESCRIBED = {"method", "title", "version", "description", "citation", "notes", "published"}
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
    for model in found:
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
            _write_pairs(stratum.entries, output / "pairs")
    write_text(output / "leaderboard.csv", exports.results_csv(board.entries))
    write_text(output / "leaderboard.bib", exports.bibtex(data))
    _write_static(output)
    for name, page in Pages(board, measured, found, data["tasks"], date).all():
        write_text(output / name, page)
    return data


def _data(board: Board) -> tuple[dict[str, Any], list[Model], list[Stratum]]:
    names = exports.family_names(board.entries)
    measured = strata(board.entries, names)
    found = models(measured)
    data = {
        "t2ibench": __version__,
        "levels": LEVELS,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks(found),
        "strata": [
            {
                "id": one.id,
                "title": one.title,
                "readers": one.readers,
                **{part: one.label(part) for part in _FACETS},
                "models": [entry.id for entry in one.entries],
                "families": one.families,
            }
            for one in measured
        ],
        "models": [_model(model) for model in found],
        "refused": [{"id": name, "problem": why} for name, why in board.refused.items()],
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
                    **{key: exports.rounded(getattr(one, key)) for key in ("value", "low", "high")},
                    "p": exports.rounded(one.p_holm),
                    "verdict": one.verdict,
                    "notes": "; ".join(one.notes)
                    .replace("in the first run", f"for {visible(first.manifest.name)}")
                    .replace("in the second run", f"for {visible(second.manifest.name)}"),
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


def _model(model: Model) -> dict[str, Any]:
    entry, rank = model.entry, model.overall
    return {
        "id": entry.id,
        "page": model.page,
        "name": model.name,
        "ran": exports.ran_as(entry),
        "drawn": model.drawn,
        "level": entry.level,
        "stratum": model.stratum.id,
        "rank": [rank.best, rank.worst, rank.among] if rank else None,
        "unranked": model.why or None,
        "card": entry.manifest.card.model_dump(),
        "departures": entry.departures,
        "notes": entry.notes,
        "unchecked": entry.stated,
        "families": {
            name: exports.family_record(entry, name, model.ranks.get(name))
            for name in entry.families
        },
        "tasks": {name: _task(name, view) for name, view in model.tasks.items()},
        "pictures": model.pictures,
        **provenance(entry),
    }


def _task(name: str, view: TaskView) -> dict[str, Any]:
    task, mark, axis = view.result, view.mark, poles(view)
    return {
        "text": headline(task.headline, 2),
        "name": view.name,
        **{key: exports.rounded(getattr(mark, key)) for key in ("value", "low", "high")},
        "fair": [exports.rounded(mark.fair_low), exports.rounded(mark.fair_high)],
        "state": mark.state,
        "side": mark.side,
        "poles": [axis.low, axis.high],
        "scale": view.scale,
        "square": exports.rounded(task.headline.square),
        "about": task.headline.question,
        "p": exports.rounded(task.headline.p_holm),
        "images": task.n_images,
        "excluded": sum(task.excluded.values()),
        "inconclusive": _sentence(task.inconclusive),
        "direction": _sentence(task.headline.direction),
        "reason": _sentence(task.headline.reason or task.reason),
        "fewer": fewer_images(name, task),
        "text_only": text_only(task),
    }


def _sentence(text: str | None) -> str | None:
    return visible(text, 1000) if text else None


def _tasks(models: Sequence[Model]) -> dict[str, dict[str, Any]]:
    """What the files of all tasks say that any model ran, published values included."""
    shipped = build_index()[0].tasks
    names = sorted({name for model in models for name in model.tasks})
    return {name: shipped[name].spec.model_dump(mode="json", include=_DESCRIBED) for name in names}


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
    made.filters |= {"seen": visible, "short": short, "span": span, "ran_as": exports.ran_as}
    made.filters["identity"] = lambda entry, part: exports.identity(entry)[part]
    return made


class Pages:
    """Renders the pages of one site.

    Args:
        board: The submissions.
        strata: Models that were measured alike.
        models: All of them, in the order of the table.
        described: Task id to what its file says.
        date: When the site was built, as it says.
    """

    def __init__(
        self,
        board: Board,
        strata: Sequence[Stratum],
        models: Sequence[Model],
        described: Mapping[str, Mapping[str, Any]],
        date: str | None,
    ) -> None:
        self.board, self.strata, self.models = board, strata, models
        self.described, self.date = described, date
        self._titles = {name: METHODS.get(name).title for name in METHODS.names()}
        self._items = {name: item_tables(models, name) for name in described}

    def render(self, template: str, root: str, here: str = "", **values: Any) -> str:
        """One page."""
        common = {"root": root, "here": here, "date": self.date, "version": __version__}
        made = environment().get_template(template)
        return made.render(**common, titles=self._titles, **values)

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
        cards = [model.entry.manifest.card for model in self.models]
        facets = {part: [one.label(part) for one in self.strata] for part in _FACETS}
        facets["weights"] = [card.weights or "not stated" for card in cards]
        facets["level"] = [model.entry.level for model in self.models]
        return self.render(
            "index.html", "", "index.html",
            models=self.models, tables=[self._table(stratum) for stratum in self.strata],
            facets=[(name, _TITLES.get(name, name.capitalize()), list(dict.fromkeys(said)))
                    for name, said in facets.items() if len(set(said)) > 1],
            refused=self.board.refused, published_rows=self._published(),
            toys=sum(model.entry.toy for model in self.models),
        )  # fmt: skip

    def _table(self, stratum: Stratum) -> dict[str, Any]:
        """One table of the first page."""
        models = [model for model in self.models if model.stratum is stratum]
        columns = []
        for name in stratum.families:
            cells = [model.cells[name].cell for model in models if name in model.cells]
            most = max((cell.of for cell in cells), default=0)
            columns.append((name, most, all(cell.rooted for cell in cells)))
        found: list[ItemTable] = []
        if len(columns) == 1:  # there is room for who is shown, of tests with few prompts
            tables = (item_tables(models, name, len(models)) for name in self.described)
            found = [t for of in tables for t in of if t.classes and len(t.items) <= _BARS]
        counts = Counter(prompt for model in models for prompt in model.pictures)
        shown = sorted(
            counts, key=lambda prompt: (-counts[prompt], "," in prompt, len(short(prompt)), prompt)
        )
        return {
            "stratum": stratum, "models": models, "columns": columns, "who": found[:_QUESTIONS],
            "shown": shown[:_SHOWN],
        }  # fmt: skip

    def _published(self, task: str | None = None) -> list[dict[str, str]]:
        return [
            {
                "model": row["model"],
                "task": name,
                "title": said["title"],
                "scores": ", ".join(
                    f"{score_words(key)} {value:g}" for key, value in row["scores"].items()
                ).replace(" -", " −"),
                "method": self._titles[said["method"]],
                "source": row["source"],
            }
            for name, said in self.described.items()
            if task in {None, name}
            for row in said["published"]
        ]

    def _model(self, model: Model) -> str:
        from t2ibench.reports.html.page import fragment

        entry, told = model.entry, provenance(model.entry)
        return self.render(
            "model.html", "../",
            model=model, run=model.run, verdict=verdict(model.run), counts=model.run.counts(),
            level=LEVELS.get(entry.level, ""), badge_text=badge_text(model),
            cards=[
                (task, fragment("card.html", family=self._titles[task.result.method], task=task,
                                figures=(), evidence=None, open=True))
                for task in model.tasks.values()
            ],
            card=[*entry.manifest.card.facts(), *effective(model)],
            stated_card=any(entry.manifest.card.model_dump().values()),
            unranked={name: exports.unranked(entry.families[name]) for name in model.cells},
            origin=[
                ("checked", "Confirmed by generating images again", facts(told["checked"])),
                ("stated", "Stated by the submitter, not checked: do not run a command that you "
                 "have not read", facts(told["stated"])),
            ],
        )  # fmt: skip

    def _task(self, name: str) -> str:
        def order(row: tuple[Model, TaskView]) -> tuple[bool, float, str]:
            """Those that lean least first; what shows no number last."""
            result = row[1].result
            square = result.headline.square
            without = square is None or bool(result.inconclusive)
            return without, math.inf if square is None else square, row[0].entry.id

        having = sorted(((m, m.tasks[name]) for m in self.models if name in m.tasks), key=order)
        strata = [(one, [row for row in having if row[0].stratum is one]) for one in self.strata]
        (_, example), *_ = having
        spec = example.spec
        assert spec is not None  # what is on the board is of shipped tasks
        pictured = [model for _, rows in strata for model, _ in rows if model.pictures]
        asked = {need.prompt for need in needs(spec, Settings.of(example.result.settings)).prompts}
        prompts = asked & {prompt for model in pictured for prompt in model.pictures}
        fewer = ((m, fewer_images(name, task.result)) for m, task in having)
        return self.render(
            "task.html", "../",
            id=name, spec=spec, shown=example.shown, estimand=METHODS.get(spec.method).estimand,
            prompts=words.prompts_said(example), strata=[one for one in strata if one[1]],
            fewer={model.page: text for model, text in fewer if text},
            axis=poles(example) if example.shown.axis else Axis("", ""),
            pictures=sorted(prompts), pictured=pictured[:_MANY] if prompts else [],
            items=self._items[name], most=BESIDE, published_rows=self._published(name),
        )  # fmt: skip

    def _tasks(self) -> str:
        texts = {one.result.method for model in self.models for one in model.run.texts}
        families: dict[str, list[tuple[str, str, str, int, int]]] = {
            name: [] for name in sorted(self._titles, key=lambda name: name in texts)
        }
        for name, said in self.described.items():
            ran = [model.tasks[name] for model in self.models if name in model.tasks]
            clear = sum(task.mark.state == "clear" for task in ran)
            row = (name, ran[0].name, said["description"], len(ran), clear)
            families[said["method"]].append(row)
        found = [(self._titles[name], rows) for name, rows in families.items() if rows]
        listed = [(row[0], row[1], self._items[row[0]]) for _, rows in found for row in rows]
        return self.render(
            "tasks.html", "", "tasks.html", families=found, found_words=words_of(listed)
        )

    def _encoders(self) -> str:
        """Tests of texts by encoder: one column each, from any model read with it."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        tests: dict[str, str] = {}
        for model in self.models:
            for task in model.run.texts:
                tests[task.id] = task.name
                for name, fingerprint in task.result.settings.encoders.items():
                    new: dict[str, Any] = {"name": visible(name), "tests": {}, "models": {}}
                    new["print"] = fingerprint[:8]
                    one = found.setdefault((name, fingerprint), new)
                    one["tests"].setdefault(task.id, task)
                    one["models"][model.name] = None
        encoders = [found[key] for key in sorted(found)]
        return self.render(
            "encoders.html", "", "encoders.html", encoders=encoders, tests=sorted(tests.items())
        )

    def _about(self) -> str:
        stated = [(one.entry.manifest.card.submitted, one.name, one.page) for one in self.models]
        dated = sorted(((visible(day), *of) for day, *of in stated if day), reverse=True)
        return self.render("about.html", "", "about.html", levels=LEVELS, dated=dated)
