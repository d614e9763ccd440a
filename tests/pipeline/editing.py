"""An editor that draws toyland's people again, and a small method of edits to run it with.

The instruction says what the editor does: 'stay' gives the source file back, 'refuse women' and
'fail' give none, and everything else draws the person again with the words of the instruction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.methods.core.edit_evidence import EditNeed, PairQuestion, SourceImage
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed
from t2ibench.methods.core.headline import lean_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.method import Method
from t2ibench.methods.core.schema import BaseTask
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.settings import Settings
from t2ibench.toyland.reader import read

MODEL = "tests.pipeline.editing:Editor"
GENDER = ("What is the gender of the person?", ("female", "male"))
WEATHER = ("What is the weather?", ("pleasant", "unpleasant"))
GROUPS = {"women": "a photo of a woman", "men": "a photo of a man"}
EDITS = {"doctor": "as a doctor", "still": "stay"}


class Editor(ToylandGenerator):
    """Toyland with edits; `seen` counts the calls of this process, by instruction or prompt."""

    def __init__(self, **given: Any) -> None:
        super().__init__({})
        self.name = "editor"
        self.batch_size = 4
        self.seen: Counter[str] = Counter()
        self.log: Path | None = None

    def check_edits(self) -> None:
        """It edits whatever it is given."""

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        assert len({request.source is None for request in requests}) == 1
        self.seen.update(request.prompt for request in requests)
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: ImageRequest) -> GeneratedImage:
        if request.source is None:
            return super().generate([request])[0]
        gender = read(request.source.read()).top("gender")
        if request.prompt == "refuse women" and gender == "female":
            return GeneratedImage("refused", reason="no women, please")
        if request.prompt == "fail":
            return GeneratedImage("failed", reason="the editor is broken")
        if request.prompt == "stay":
            return GeneratedImage("ok", path=request.source.path)
        noun = {"female": "woman", "male": "man"}.get(str(gender), "person")
        drawn = ImageRequest(f"{noun} {request.prompt}", request.index, request.seed)
        return super().generate([drawn])[0]


class NoEditor(Editor):
    """An editor whose weights turn out to take no source image."""

    def check_edits(self) -> None:
        raise T2IBenchError("These weights take no source image.", "Take others.")


class PromptsAlone:
    """Toyland's people, by a model that takes no source image."""

    revision = None
    batch_size = 4

    def __init__(self, **given: Any) -> None:
        self._people = ToylandGenerator({})
        self.name = "prompts-alone"
        self.fingerprint = self._people.fingerprint
        self.settings = self._people.settings

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return self._people.generate(requests)

    def available(self, prompt: str) -> int | None:
        return None


class EditsTask(BaseTask):
    """Edits of people of several groups."""

    method: Literal["edits_of_tests"]
    groups: dict[str, str]
    edits: dict[str, str]
    sources: int = 3
    images: int = 1
    embeds: bool = False


def _needs(task: EditsTask, settings: Settings) -> Needs:
    number = settings.images(task.sources)
    return Needs(
        sources=tuple(
            PromptNeed(prompt, number, group) for group, prompt in task.groups.items()
        ),
        edits=tuple(
            EditNeed(instruction, SourceImage(prompt, index), task.images, group, name)
            for group, prompt in task.groups.items()
            for index in range(number)
            for name, instruction in task.edits.items()
        ),
        pair_questions=(
            PairQuestion(*GENDER, about="gender"),
            PairQuestion(*WEATHER, about="weather", edits=tuple(task.edits)[:1]),
        ),
        embeds=task.embeds,
    )


def _score(task: EditsTask, evidence: Any, settings: Settings) -> MethodResult:
    of_sources: Evidence = evidence.sources
    changes: list[float] = []
    excluded: Counter[str] = Counter()
    samples: list[dict[str, Any]] = []
    for edit in _needs(task, settings).edits:
        source = edit.source
        before = of_sources.answers(source.prompt, source.index + 1, *GENDER)
        after = evidence.answers_about_edit(edit, *GENDER)
        if task.embeds:
            assert len(evidence.edited(edit).indices) == len(after.indices)
        excluded += after.excluded
        shown = dict(zip(before.indices, before.answers, strict=True))
        for index, answer in zip(after.indices, after.answers, strict=True):
            changes.append(float(answer != shown[source.index]))
            samples.append(
                {
                    "prompt": edit.instruction,
                    "index": int(index),
                    "source_prompt": source.prompt,
                    "source_index": source.index,
                    "answer": answer,
                }
            )
    if len(changes) < 2:
        undefined = MethodResult.undefined("there are too few edits")
        return replace(undefined, excluded=excluded)
    influence = Influence.of_mean("edits", np.arange(len(changes)), changes)
    return MethodResult(
        lean_headline(float(np.mean(changes)), influence, settings.level),
        n_images=len(changes),
        excluded=excluded,
        samples=samples,
    )


METHOD = Method(
    EditsTask, _needs, _score, lambda task, result: "-", name="edits_of_tests"
)


def add_method() -> None:
    if "edits_of_tests" not in METHODS:
        METHODS.add("edits_of_tests", f"{__name__}:METHOD")


def write_task(
    folder: Path,
    name: str = "edited",
    edits: Mapping[str, str] = EDITS,
    groups: Mapping[str, str] = GROUPS,
    **more: Any,
) -> Path:
    """Write a task of edits; return its folder."""
    add_method()
    words = dict.fromkeys(("title", "description", "citation"), "-")
    task = {"id": name, "version": 1, "method": "edits_of_tests", **words}
    folder.mkdir(exist_ok=True)
    text = json.dumps({**task, "groups": groups, "edits": edits, **more})
    (folder / f"{name}.yaml").write_text(text)
    return folder
