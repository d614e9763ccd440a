"""Files as readers expect them, which fuzzing changes."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from openpyxl import Workbook
from PIL import Image

from t2ibench.apps.labelling.sample import Item
from t2ibench.apps.labelling.sheet import COLUMNS
from t2ibench.decisions.plan import make_plan
from t2ibench.decisions.profile import read_profile
from t2ibench.results.paired import dump_paired, paired_task
from t2ibench.settings import Measurement
from t2ibench.store.labels import item_id
from t2ibench.tasks import load_tasks
from t2ibench.tasks.folders import bundled_tasks, task_files, word_list_files
from tests import hand
from tests.tasks.files import JOBS, TEA

_EXAMPLES = Path(__file__).parents[2] / "examples"
Files = Mapping[str, bytes]
_QUESTION = "Which gender?"
_CLASSES = ("female", "male")


@cache
def tasks() -> Files:
    """The shortest shipped task of each folder and every one that is unlike others."""
    shortest: dict[Path, Path] = {}
    for file in task_files(bundled_tasks()):
        before = shortest.get(file.parent)
        if before is None or file.stat().st_size < before.stat().st_size:
            shortest[file.parent] = file
    special = [
        file
        for file in task_files(bundled_tasks())
        if file.parent.name in {"edits", "wording", "occupations"}
        and file.stat().st_size < 6_400
    ]
    files = dict.fromkeys([*shortest.values(), *special])
    shipped = {f"{file.parent.name}_{file.name}": file.read_bytes() for file in files}
    return {"tea.yaml": TEA.encode(), "jobs.yaml": JOBS.encode(), **shipped}


@cache
def word_lists() -> Files:
    """Short lists of words, in the folder where they are looked for."""
    files = [
        file
        for file in word_list_files(bundled_tasks())
        if file.stat().st_size < 20_000
    ]
    return {f"stimuli/{file.name}": file.read_bytes() for file in files}


@cache
def profiles() -> Files:
    return {"accept.yaml": (_EXAMPLES / "accept.yaml").read_bytes()}


@cache
def plans() -> Files:
    profile = read_profile(_EXAMPLES / "accept.yaml")
    chosen = {task.id: task for task in load_tasks(list(profile.tasks))}
    plan = make_plan(profile, chosen, Measurement(), encoders=("toyland",))
    content = plan.content | {"sha256": plan.sha256}
    return {"plan.json": json.dumps(content, indent=1).encode()}


@cache
def results() -> Files:
    """Results of a lean and of a mean square, with rows."""
    leans = {"a": [1, -1, 1, 1], "b": [1, 1, 1, -1], "c": [-1, -1, 1, 1]}
    whole = hand.results(
        "m",
        first=hand.record(hand.mean_lean(leans)),
        second=hand.record(hand.mean_square(leans)),
    )
    return {"results.json": whole.to_json().encode()}


@cache
def influences() -> Files:
    leans = {"a": [1, -1, 1, 1], "b": [1, 1, 1, -1], "c": [-1, -1, 1, 1]}
    pairs = {"first": paired_task(hand.mean_lean(leans))}
    return {"influences.safetensors": dump_paired(pairs)}


@cache
def manifests() -> Files:
    manifest = {
        "version": 4,
        "t2ibench": "0",
        "name": "m",
        "model": "hf:org/m",
        "model_args": {"steps": "4"},
        "fingerprint": "a" * 64,
        "encoders": {"toy-clip": "b" * 64},
        "controls": {"toy-clip": {"name": "c", "fingerprint": "c" * 64}},
        "judges": {},
        "files": {"results.json": "d" * 64},
        "card": {
            "licence": "MIT",
            "parameters": "3.5 B",
            "released": "2026-01-31",
            "weights": "open",
            "submitter": "s",
            "submitted": "2026-02-01",
            "url": "https://example.org/m",
            "pictures": "CC0",
        },
    }
    return {"submission.json": _json(manifest)}


def items() -> list[Item]:
    """Two images that people are asked about."""
    return [
        Item(
            id=item_id(sha256, _QUESTION, _CLASSES),
            image=sha256,
            file=file,
            question=_QUESTION,
            classes=_CLASSES,
        )
        for sha256, file in (("a" * 64, "a.png"), ("b" * 64, "b.png"))
    ]


@cache
def answers() -> Files:
    """Answers in every form that people bring them in."""
    rows: list[dict[str, Any]] = [
        {"prompt": "a person", "index": 0, "question": _QUESTION, "answer": "male"},
        {"prompt": "a person", "index": 1, "question": _QUESTION, "answer": "woman"},
    ]
    named = [
        {"sha256": letter * 64, "gender": "female", "labeller": name}
        for letter in "ab"
        for name in ("anna", "ben")
    ]
    label_studio = [
        {
            "data": {"image": "a.png"},
            "annotations": [
                {
                    "completed_by": {"email": "anna@example.org"},
                    "result": [
                        {
                            "from_name": "gender",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": ["male"]},
                        }
                    ],
                }
            ],
        }
    ]
    return {
        **_tables("answers", rows),
        **_tables("named", named),
        "studio.json": _json(label_studio),
        "columns.json": _json({"prompt": {"0": "a person"}, "answer": {"0": "male"}}),
        "by_file.json": _json({"a.png": {"answer": "male"}, "b.png": {"answer": "x"}}),
        "split.json": _json(
            {"columns": ["file", "answer"], "index": [0], "data": [["a.png", "male"]]}
        ),
    }


@cache
def sheets() -> Files:
    rows = [
        dict(
            zip(
                COLUMNS,
                (item.id, item.file, item.question, " | ".join(item.classes), answer),
                strict=True,
            )
        )
        for item, answer in zip(items(), ("female", "not in the picture"), strict=True)
    ]
    people = [{**row, "labeller": name} for row in rows for name in ("anna", "ben")]
    return {**_tables("sheet", rows), **_tables("people", people)}


@cache
def captions() -> Files:
    rows = [{"caption": "a man at work"}, {"caption": "a woman with a dog"}]
    return {
        **_tables("captions", rows),
        "coco.json": _json({"annotations": rows, "images": [{"id": 1}]}),
        "texts.json": _json([row["caption"] for row in rows]),
        "captions.txt": b"a man at work\na woman\n",
    }


@cache
def rewritings() -> Files:
    prompt = "a photo of a nurse"
    rows = [
        {"prompt": prompt, "index": index, "rewritten": f"{prompt}, {word}"}
        for index, word in enumerate(("male", "female"))
    ]
    several = {"prompt": prompt, "rewritten": [f"{prompt} a", f"{prompt} b"]}
    refused = {"prompt": "x", "status": "refused", "reason": "no"}
    return {
        **_tables("rewritten", rows),
        "several.jsonl": _lines([several, refused]),
    }


@cache
def tables_of_images() -> Files:
    rows = [
        {"file_name": "a.png", "prompt": "a nurse", "model": "m"},
        {"file_name": "b.png", "prompt": "a nurse", "model": "m"},
    ]
    files = _tables("prompts", rows)
    return {**files, "metadata.jsonl": files["prompts.jsonl"]}


@cache
def vectors() -> Files:
    text = b"3 2\nman 1 0\nwoman 0 1\nart .5 .5\n"
    return {"words.txt": text, "plain.vec": text[4:]}


@cache
def workflows() -> Files:
    folder = _EXAMPLES / "comfyui"
    return {
        f"{file.parent.name}_{file.name}": file.read_bytes()
        for file in sorted(folder.rglob("*.json"))
    }


@cache
def chat_replies() -> Files:
    """Completions, responses and errors in the forms of several servers."""

    def completion(**message: Any) -> bytes:
        return _json({"choices": [{"message": message, "finish_reason": "stop"}]})

    answer = {"type": "output_text", "text": '{"answer": "male"}'}
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": ""}]}
    error = {"code": 403, "message": "no", "metadata": {"reasons": ["violence"]}}
    return {
        "completion": completion(content='{"answer": "female"}', refusal=None),
        "thinks": completion(content="<think>he</think> male", reasoning="he"),
        "parts": completion(content=[answer, {"type": "refusal", "refusal": ""}]),
        "refused": completion(content=None, refusal="I cannot"),
        "response": _json({"output": [thought, {"content": [answer]}]}),
        "error": _json({"error": error}),
        "list": _json([{"error": error}]),
        "detail": _json({"detail": [{"msg": "x", "type": "content_filter"}]}),
        "words": b"Bearer tA7f-Qz9x+Lm2/pW is not valid",
    }


@cache
def image_replies() -> Files:
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    encoded = base64.b64encode(buffer.getvalue()).decode()
    item = {"b64_json": encoded, "revised_prompt": "a male nurse"}
    return {
        "image": _json({"created": 1, "data": [item], "usage": {"cost": 0.01}}),
        "address": _json({"data": [{"url": "https://example.org/a.png"}]}),
        "filtered": _json({"data": [{"finish_reason": "content_filter"}]}),
        "images": _json({"images": [{"url": "data:image/png;base64," + encoded}]}),
    }


@cache
def instructions() -> Files:
    return {"template.txt": b"Rewrite for image {number}: {prompt}\n"}


@cache
def arguments() -> Files:
    return {
        "plain": b"steps=30,guidance=7.5",
        "quoted": rb"""negative_prompt="a \"b\", c",x='d\\e'""",
        "nested": b'body={"a": [1, {"api_key": "k"}]},loras=[a,b]',
    }


@cache
def json_lines() -> Files:
    return {"rows.jsonl": _lines([{"a": 1, "crc": "x"}, {"b": [1, None, "c"]}])}


@cache
def weight_files() -> Files:
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    whole = len(header).to_bytes(8, "little") + header + bytes(4)
    index = {"metadata": {}, "weight_map": {"w": "model-1.safetensors"}}
    return {
        "model.safetensors": whole,
        "model.safetensors.index.json": _json(index),
        "model.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:a\n",
    }


@cache
def texts_with_secrets() -> Files:
    """A key as servers may repeat it."""
    key = "tA7f-Qz9x+Lm2/pW"
    in_base64 = base64.b64encode(f"key {key}!".encode()).decode()
    forms = {
        "plain": f"the key {key} is wrong",
        "json": json.dumps({"error": {key: [f"Bearer {key}"]}}),
        "address": f"https://user:{quote(key)}@example.org/?key={quote(quote(key))}",
        "base64": in_base64,
        "twice": base64.b64encode(in_base64.encode()).decode(),
        "hexadecimal": key.encode().hex(" "),
        "entities": "".join(f"&#{ord(letter)};" for letter in key),
        "escapes": "".join(f"\\u{ord(letter):04x}" for letter in key),
        "backwards": key[::-1],
        "spaced": " ".join(key),
    }
    return {f"{name}.txt": text.encode() for name, text in forms.items()}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _tables(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The same rows as CSV, with semicolons in UTF-16, as JSON Lines, JSON and a workbook."""
    headings = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, headings)
    writer.writeheader()
    writer.writerows(rows)
    book = Workbook()
    book.active.append(headings)
    for row in rows:
        book.active.append([row.get(heading) for heading in headings])
    workbook = io.BytesIO()
    book.save(workbook)
    return {
        f"{name}.csv": text.getvalue().encode(),
        f"{name}_16.csv": text.getvalue().replace(",", ";").encode("utf-16"),
        f"{name}.jsonl": _lines(rows),
        f"{name}.json": _json(list(rows)),
        f"{name}.xlsx": workbook.getvalue(),
    }
