"""BibTeX of everything that a run used: program, methods, sources, tasks, model and readers.

What has a publication gets its entry; everything else is a `@misc` with what the run's records say.
No identifier is made up. All text of tasks and models is untrusted and escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from t2ibench.errors import visible
from t2ibench.methods.core.publication import Publication
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.exchange.publications import distinct, named_in, of_method
from t2ibench.reports.files import digest, task_files
from t2ibench.results.display import text_only
from t2ibench.results.schema import Results, TaskResult
from t2ibench.store.answers import ANSWERS_BY, LABELS_BY
from t2ibench.tasks.index import specs_of

# As in CITATION.cff; a test compares them.
TITLE = (
    "t2ibench: social bias in text-to-image models, measured with uncertainty, controls and "
    "provenance"
)
AUTHORS = "{The t2ibench authors}"
# Letters that TeX obeys. BibTeX counts braces even after a backslash, so they get names.
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "@": r"\char64{}",
}
_LONGEST_KEY = 80
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a BibTeX file.

    Attributes:
        key: How it is cited, letters, digits and hyphens.
        kind: Its kind, such as 'misc'.
        fields: Its fields, escaped.
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    def __str__(self) -> str:
        lines = [f"  {name} = {{{text}}}," for name, text in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


def bibliography(results: Results) -> str:
    """Return a BibTeX file with an entry for each thing that a run used, each once."""
    entries = [
        _program(results),
        *map(_published, _publications(results)),
        *_tasks(results),
        *_models(results),
        *_readers(results),
    ]
    # No text of the run outside entries: BibTeX looks for entries there, too.
    opening = f"% Written by t2ibench cite. SHA-256 of results.json: {digest(results)}"
    return "\n\n".join([opening, *map(str, _with_distinct_keys(entries))]) + "\n"


def escaped(text: str) -> str:
    r"""Return untrusted text in one line, with every letter that TeX or BibTeX obeys escaped.

    Examples:
        >>> escaped("50 % of {x}")
        '50 \\% of \\textbraceleft{}x\\textbraceright{}'
    """
    line = visible(" ".join(text.split()))
    return "".join(_ESCAPES.get(letter, letter) for letter in line)


def _program(results: Results) -> Entry:
    fields = {
        "author": AUTHORS,
        "title": f"{{{TITLE}}}",
        "note": f"Version {escaped(results.t2ibench)}",
    }
    return Entry("t2ibench", "misc", fields)


def _publications(results: Results) -> list[Publication]:
    """Return the publications of the run's methods, then those that its tasks name."""
    specs = task_files(results, results.folder)
    of_methods = [
        publication
        for task in results.tasks.values()
        for publication in of_method(task.method)
    ]
    of_tasks = [
        publication
        for name in results.tasks
        if name in specs
        for publication in named_in(specs[name].citation)
    ]
    return distinct([*of_methods, *of_tasks])


def _published(publication: Publication) -> Entry:
    """Return the entry of a publication, whose fields are a package's own text."""
    fields = {
        name: visible(text).replace("&", r"\&").replace("%", r"\%")
        for name, text in publication.fields.items()
    }
    fields["title"] = f"{{{fields['title']}}}"
    return Entry(publication.key, publication.kind, fields)


def _tasks(results: Results) -> Iterator[Entry]:
    specs = task_files(results, results.folder)
    hashes = {name: task.task_hash for name, task in results.tasks.items()}
    shipped = specs_of(hashes)
    for name, task in sorted(results.tasks.items()):
        yield _task(name, task, specs.get(name), shipped=name in shipped)


def _task(
    name: str, task: TaskResult, spec: BaseTask | None, *, shipped: bool
) -> Entry:
    """Return the entry of a task; its authors are known of shipped tasks alone."""
    source = f". Source: {spec.citation.strip()}" if spec is not None else ""
    note = f"Task {name}, version {task.version}, SHA-256 {task.task_hash}{source}"
    author = AUTHORS if shipped else None
    return _thing(f"task-{name}", task.title, note, author)


def _models(results: Results) -> Iterator[Entry]:
    """Yield the model under test, and what rewrote its prompts."""
    model = results.model
    if model.name:
        parts = ["Text-to-image model"]
        parts += [f"revision {model.revision}"] if model.revision else []
        parts += [f"fingerprint {model.fingerprint}"] if model.fingerprint else []
        yield _thing(f"model-{model.name}", model.name, ", ".join(parts))
    rewriter = model.rewriter
    if rewriter is not None:
        note = f"Rewriter of prompts, fingerprint {rewriter.fingerprint}"
        yield _thing(f"rewriter-{rewriter.name}", rewriter.name, note)


def _readers(results: Results) -> Iterator[Entry]:
    """Yield the encoders, judges and people that read images or texts."""
    used: dict[tuple[str, str, str], set[str]] = {}
    for task in results.tasks.values():
        read = "texts" if text_only(task) else "images"
        for name, fingerprint in task.settings.encoders.items():
            used.setdefault(("encoder", name, fingerprint), set()).add(read)
        for name, fingerprint in task.settings.judges.items():
            used.setdefault(("judge", name, fingerprint), set()).add(read)
    for (kind, name, fingerprint), content in sorted(used.items()):
        by_people = name.startswith((ANSWERS_BY, LABELS_BY))
        reader = f"{kind} of {' and '.join(sorted(content))}"
        what = "Answers of people about images" if by_people else reader
        note = f"{what[0].upper()}{what[1:]}, fingerprint {fingerprint}"
        yield _thing(f"{kind}-{name}", name, note)


def _thing(key: str, title: str, note: str, author: str | None = None) -> Entry:
    """Return a `@misc` with what is known of something that has no publication."""
    name = "author" if author else "key"  # BibTeX sorts by the key what has no author
    fields = {
        name: author or escaped(title),
        "title": f"{{{escaped(title)}}}",
        "note": escaped(note),
    }
    plain_key = _NOT_IN_KEYS.sub("-", key)[:_LONGEST_KEY].strip("-")
    return Entry(plain_key, "misc", fields)


def _with_distinct_keys(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries, a number after keys that occurred before."""
    used: set[str] = set()
    for entry in entries:
        key = entry.key
        number = 1
        while key.lower() in used:  # BibTeX tells keys apart without case
            number += 1
            key = f"{entry.key}-copy{number}"
        used.add(key.lower())
        yield Entry(key, entry.kind, entry.fields)
