"""Every reader of what others wrote: what fuzzing is tried on.

A reader gets a file, whatever its bytes are, and returns a value or raises one clear line; `holds`
tries that. `tests/chaos/test_each_reader.py` draws the bytes with hypothesis, and
`tests/chaos/guided.py` with atheris, from the files of `tests/chaos/seeds.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from t2ibench.apps.labelling.sheet_reader import read_sheet
from t2ibench.apps.leaderboard.bounds import read_json
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.arguments import format_args, parse_args, read_args
from t2ibench.cli.ls_task import page_of
from t2ibench.decisions.plan import Plan, read_plan
from t2ibench.decisions.profile import read_profile
from t2ibench.errors import T2IBenchError, visible
from t2ibench.methods.registry import needs, presentation
from t2ibench.models.api_key import ApiKey
from t2ibench.models.chat_replies import read_completion
from t2ibench.models.downloads import missing_weights
from t2ibench.models.encoders.vectors import VectorEncoder
from t2ibench.models.generators.comfyui.arguments import ComfyArguments, template_of
from t2ibench.models.generators.comfyui.workflow import read_workflow
from t2ibench.models.generators.folder import FolderArguments, folder_of, prompt_files
from t2ibench.models.generators.image_replies import read_reply as read_image_reply
from t2ibench.models.generators.image_replies import reported_cost
from t2ibench.models.generators.passthrough import value_of
from t2ibench.models.judges.answers import AnswersJudge
from t2ibench.models.judges.replies import class_of
from t2ibench.models.language import RewriteRequest
from t2ibench.models.protocols import Query
from t2ibench.models.rewriters.file import FileRewriter
from t2ibench.models.rewriters.instruction import InstructionArguments, read_reply
from t2ibench.models.server_errors import Reply
from t2ibench.models.weight_files import find_file_defect
from t2ibench.proposals.captions import read_captions
from t2ibench.redaction import Redaction, secret_argument
from t2ibench.results.files import read_results
from t2ibench.results.paired import load_paired
from t2ibench.settings import Settings
from t2ibench.store.checksums import KEY, sealed
from t2ibench.store.jsonl import read_rows
from t2ibench.tasks.listing import listed_task
from t2ibench.tasks.loader import (
    library_for,
    load_folder,
    raise_errors,
    read_library,
)
from t2ibench.tasks.named_sets import set_lines
from tests.chaos import seeds

# What is planted in replies and must not come out.
SECRET = "tA7f-Qz9x+Lm2/pW"


@dataclass(frozen=True, slots=True)
class Reader:
    """Something that reads a file of others.

    Attributes:
        name: What it reads.
        read: Reads a file; it may raise T2IBenchError.
        files: What it reads as it is, by the name of a file.
        sealing: What makes a changed JSON value pass its checksum, where there is one.
    """

    name: str
    read: Callable[[Path], object]
    files: Callable[[], Mapping[str, bytes]]
    sealing: Callable[[Any], Any] | None = None


def holds(reader: Reader, file: Path, content: bytes) -> object:
    """Write a file and read it: a value, or None after a clear line."""
    file.write_bytes(content)
    try:
        return reader.read(file)
    except T2IBenchError as error:
        assert all(visible(line) == line for line in str(error).split("\n"))
        return None


def _task(file: Path) -> object:
    """A task, with all that is shown of it before it runs."""
    # The shipped word lists, which are read once: there are no others in this folder.
    tasks, problems = load_folder(file.parent, library_for(()))
    for task in tasks:
        needs(task.spec, Settings())
        presentation(task.spec)
        listed_task(task)
        page_of(task, 80, verbose=True)
        set_lines(task.spec, None)
    raise_errors([problem for problem in problems if not problem.warning])
    return tasks


def _word_lists(file: Path) -> object:
    """Lists and tables of words, in a folder `stimuli` of the tasks that use them."""
    library = read_library([file.parent.parent])
    raise_errors([problem for problem in library.problems if not problem.warning])
    return library


def _answers(file: Path) -> object:
    """The answers about an image by every name that it has."""
    judge = AnswersJudge(file)
    image = Image.new("RGB", (4, 4))
    queries = [
        Query(image, "a person", index, sha256, "Which gender?", classes)
        for index in (0, 1)
        for sha256 in ("a" * 64, "b" * 64)
        for classes in (("female", "male"), ())
    ]
    return judge.answer(queries)


def _sheet(file: Path) -> object:
    return read_sheet(file, {item.id: item for item in seeds.items()})


def _captions(file: Path) -> object:
    return read_captions(str(file), people=True)


def _rewritings(file: Path) -> object:
    rewriter = FileRewriter(file, missing="keep")
    requests = [RewriteRequest("a photo of a nurse", index) for index in (None, 0, 1)]
    return rewriter.rewrite(requests)


def _vectors(file: Path) -> object:
    return VectorEncoder("words", file).encode_texts(["man", "woman", "art"])


def _folder_of_images(file: Path) -> object:
    """The table of prompts beside two images."""
    for name in ("a.png", "b.png"):
        if not (file.parent / name).exists():
            Image.new("RGB", (2, 2)).save(file.parent / name)
    arguments = FolderArguments()
    folder = folder_of(file.parent, arguments)
    folder.existing()
    return prompt_files(folder, arguments)


def _workflow(file: Path) -> object:
    """A workflow with everything that is looked for in one, and filled in."""
    workflow = read_workflow(str(file))
    value = None
    for given in ({}, {"size": "768x512", "steps": "7", "guidance": "2.5"}):
        with suppress(T2IBenchError):
            value = template_of(workflow, read_args(ComfyArguments, given, "comfyui"))
            value.graph("a red apple", 2**62, "mark")
            json.dumps([value.settings(), value.identity(), value.noisy_sampler()])
    return value or template_of(workflow, read_args(ComfyArguments, {}, "comfyui"))


def _reply(file: Path) -> Reply:
    """A server's reply, whose status is in its first byte."""
    data = file.read_bytes()
    states = (200, 400, 401, 403, 404, 422, 429, 500, 503)
    status = states[data[0] % len(states)] if data and data[0] < 32 else 200
    return Reply(status, data, ApiKey("T2IBENCH_NO_KEY", SECRET))


def _chat_reply(file: Path) -> object:
    """What a chat server says, and what follows from it; the key is in none of it."""
    reply = _reply(file)
    message = reply.as_it_says().message()
    words = [reply.words(), reply.beginning(), message.text, str(message.blocked)]
    assert not any(SECRET in text for text in words)
    completion = read_completion(reply)
    assert SECRET not in completion.raw
    class_of(completion.text, ("female", "male"))
    read_reply(completion.text, "a photo of a nurse")
    return completion


def _image_reply(file: Path) -> object:
    data = file.read_bytes()
    return read_image_reply(data, "a nurse"), reported_cost(data)


def _instruction(file: Path) -> object:
    given = {"template": f"@{file}", "per": "image"}
    arguments = read_args(InstructionArguments, given, "--rewriter-args")
    return arguments.messages(RewriteRequest("a {prompt}", 1))


def _arguments(file: Path) -> object:
    """Arguments as a command line has them, which read the same when they are written again."""
    text = file.read_bytes().decode("utf-8", "replace")
    arguments = parse_args(text)
    assert parse_args(format_args(arguments)) == arguments
    return secret_argument(arguments), [value_of(text) for text in arguments.values()]


def _influences(file: Path) -> object:
    with suppress(ValueError):
        return load_paired(file.read_bytes())
    return None


def _submitted_json(file: Path) -> object:
    with suppress(ValueError):
        return read_json(file)
    return None


def _weights(file: Path) -> object:
    """What is said of a model's files that could not be loaded."""
    return find_file_defect(file), missing_weights(file.parent)


def _hidden(file: Path) -> object:
    """A text with its secrets hidden: none is in it, however often it was encoded."""
    text = file.read_bytes().decode("utf-8", "replace")
    redaction = Redaction([SECRET])
    hidden = redaction.secrets_and_keys(text)
    assert SECRET not in hidden
    assert not redaction.contains(hidden), hidden
    with suppress(ValueError, RecursionError):
        value = redaction.of_json(json.loads(text))
        assert SECRET not in json.dumps(value, ensure_ascii=False)
    return hidden


def _sealed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return sealed({key: inner for key, inner in value.items() if key != KEY})


def _sealed_plan(value: Any) -> Any:
    """A plan with the hash that fits it, where it is one."""
    with suppress(Exception):
        content = {key: inner for key, inner in value.items() if key != "sha256"}
        return content | {"sha256": Plan.model_validate(content).sha256}
    return value


READERS = {
    reader.name: reader
    for reader in (
        Reader("tasks", _task, seeds.tasks),
        Reader("word lists", _word_lists, seeds.word_lists),
        Reader("profiles", read_profile, seeds.profiles),
        Reader("plans", read_plan, seeds.plans, _sealed_plan),
        Reader("results", read_results, seeds.results, _sealed),
        Reader("influences", _influences, seeds.influences),
        Reader("manifests", lambda file: read_manifest(file.parent), seeds.manifests),
        Reader("submitted JSON", _submitted_json, seeds.manifests),
        Reader("answers", _answers, seeds.answers),
        Reader("sheets", _sheet, seeds.sheets),
        Reader("captions", _captions, seeds.captions),
        Reader("rewritings", _rewritings, seeds.rewritings),
        Reader("tables of images", _folder_of_images, seeds.tables_of_images),
        Reader("word vectors", _vectors, seeds.vectors),
        Reader("workflows", _workflow, seeds.workflows),
        Reader("chat replies", _chat_reply, seeds.chat_replies),
        Reader("image replies", _image_reply, seeds.image_replies),
        Reader("instructions", _instruction, seeds.instructions),
        Reader("arguments", _arguments, seeds.arguments),
        Reader("JSON Lines", lambda file: list(read_rows(file)), seeds.json_lines),
        Reader("weight files", _weights, seeds.weight_files),
        Reader("redaction", _hidden, seeds.texts_with_secrets),
    )
}
