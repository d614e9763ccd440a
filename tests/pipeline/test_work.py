"""Generating, embedding and asking: idempotent, and nothing that is there is removed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench import evaluate, generate, load_tasks, score
from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.models.encoders import create_encoder
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import GeneratedImage, ImageRequest, Query
from t2ibench.pipeline.executors import GetWorkItem, InProcess
from t2ibench.pipeline.work_items import WorkResult
from t2ibench.results.files import read_results
from t2ibench.results.run import open_run
from t2ibench.results.samples import read_samples
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.toyland import draw
from tests.conftest import Cli
from tests.hand import damage, edit, edit_record
from tests.models import parts
from tests.pipeline.engines import SMALL, SMALL_FLAGS
from tests.pipeline.storing import ask, embed, generate_images, open_encoder, open_judge

TASK = "t2iat_flowers_insects"


class Grey(parts.Grey):
    """A generator made of nothing but the Protocol's members, which draws as toyland does."""

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [GeneratedImage("ok", draw(r.prompt, r.seed)) for r in requests]


def flags(folder: Path, *more: str) -> tuple[Any, ...]:
    sizes = ("--limit", "1", "--images-per-prompt", "1", "--permutations", "200")
    tasks = ("--model", "toyland", "--tasks", TASK, "--bootstrap", "100")
    return (*tasks, *sizes, "--output-dir", folder, *more)


def requests(*prompts: str) -> list[ImageRequest]:
    return [ImageRequest(prompt, 0, number) for number, prompt in enumerate(prompts)]


def stored(folder: Path, *prompts: str) -> ImageStore:
    store = ImageStore(Database(folder), "f")
    generate_images(requests(*prompts), Grey(), store)
    return store


def test_a_batch_of_another_length_is_a_failure_of_its_images(tmp_path: Path) -> None:
    class Short(Grey):
        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            return super().generate(requests)[:1] if len(requests) > 1 else []

    attempts = generate_images(requests("a", "b"), Short(), stored(tmp_path))
    assert [one.status for one in attempts] == ["failed", "failed"]


@pytest.mark.parametrize("as_file", [False, True])
def test_black_images_are_filtered_wherever_they_come_from(
    as_file: bool, tmp_path: Path
) -> None:
    black, path = Image.new("RGB", (8, 8)), tmp_path / "black.png"
    black.save(path)
    made = GeneratedImage("ok", path=path) if as_file else GeneratedImage("ok", black)

    class Black(Grey):
        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            return [made for _ in requests]

    store = stored(tmp_path)
    (attempt,) = generate_images(requests("a"), Black(), store)
    assert attempt.status == "filtered" and attempt.reason == "the image is all black"
    assert not generate_images(requests("a"), Black(), store)  # not tried again


def observed(images: Sequence[StoredImage], folder: Path) -> tuple[Any, Any]:
    """Reports of an encoder and a judge that look at images."""
    encoder = open_encoder(create_encoder("toyland"), Database(folder))
    judge = open_judge(create_judges(["toyland"], {})[0], Database(folder))
    questions = [(image, [("Which?", ("male", "female"))]) for image in images]
    return embed(images, [encoder]), ask(questions, judge)


def test_observing_repeats_nothing_and_removes_nothing(tmp_path: Path) -> None:
    store = stored(tmp_path, "a nurse", "a rose")
    images = [store.image(attempt) for attempt in store.attempts()]
    for new in (2, 0):
        embedded, report = observed([*images, *images], tmp_path)
        assert (embedded.embedded, report.answered) == (new, new)
    assert generate_images(requests("a nurse", "a rose"), Grey(), store) == []
    images[0].path.write_bytes(b"damaged")
    embedded, report = observed(images, tmp_path / "new")
    assert embedded.embedded == 1 and report.answered == 1
    for damaged in (embedded.damaged, report.damaged):
        assert [one.image for one in damaged] == images[:1]
    assert "changed since it was stored" in str(embedded.damaged[0])
    assert images[0].path.read_bytes() == b"damaged" and len(store.attempts()) == 2


def test_objects_run_like_names(tmp_path: Path) -> None:
    encoder = create_encoder("toyland")
    by_object = evaluate(Grey(), TASK, encoder=encoder, output_dir=tmp_path, **SMALL)
    by_name = evaluate("toyland", TASK, encoder="toyland", output_dir=tmp_path, **SMALL)
    assert by_object.tasks[TASK] == by_name.tasks[TASK]
    assert by_object.command == []
    assert by_name.command[:4] == ["t2ibench", "run", "--model", "toyland"]
    text = (tmp_path / "grey" / "results.md").read_text()
    assert "Repeat this run" not in text
    assert score(tmp_path / "grey") == by_object
    assert open_run(tmp_path / "grey").record.from_objects


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": 3}, "'int' is not a generator: it has no"),
        (
            {"model": "toyland", "encoder": [object()]},
            "'object' is not an encoder: it has no",
        ),
        (
            {"model": "toyland", "judge": Grey()},
            "'Grey' is not a judge: it has no 'answer'",
        ),
        ({"model": Grey}, r"'Grey' is a class\. Give an object: Grey\(\)"),
        ({"model": "toyland", "generate_only": True}, "always scores"),
    ],
)
def test_objects_of_another_kind_are_one_line(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(T2IBenchError, match=message):
        evaluate(tasks=TASK, **given)


OKAY = [GeneratedImage("okay", Image.new("RGB", (8, 8), (9, 9, 9)))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("name", "", "has the name ''. A name goes into files and terminals"),
        ("available", lambda: None, "failed in available(prompt) with TypeError"),
        (
            "generate",
            lambda requests: OKAY * len(requests),
            "generator gave the status 'okay'",
        ),
    ],
)
def test_a_users_invalid_generator_gets_a_one_line_error(
    member: str, value: object, message: str, tmp_path: Path
) -> None:
    model = Grey()
    setattr(model, member, value)
    with pytest.raises(T2IBenchError, match=re.escape(message)):
        evaluate(model, TASK, encoder="toyland", output_dir=tmp_path, **SMALL)


def test_versions_that_decide_pixels_are_recorded_and_compared(
    tmp_path: Path, cli: Cli
) -> None:
    assert cli(*flags(tmp_path))[0] == 0
    run, more = tmp_path / "toyland", flags(tmp_path, "--images-per-prompt", "2")
    record = open_run(run).record
    assert record.status == "complete" and {"numpy", "pillow"} <= set(
        record.generator.libraries
    )
    edit_record(run, lambda data: data["generator"]["libraries"].update(pillow="1.0"))
    status, _, errors = cli(*more)
    assert status == 0 and "generated with other versions (pillow 1.0 then," in errors
    errors = cli(*more)[2]
    assert "other versions" not in errors  # nothing new is generated
    results = read_results(run)
    assert results.model.libraries["pillow"] == "1.0"
    (other,) = results.model.other_libraries
    told = (run / "results.md").read_text()
    assert (
        f"The images are a mixture: generated with pillow 1.0 and {other['pillow']}."
        in told
    )


def test_a_broken_results_file_is_set_aside(tmp_path: Path, cli: Cli) -> None:
    words, run = flags(tmp_path), tmp_path / "toyland"
    assert cli(*words)[0] == 0
    before = read_results(run).tasks
    (run / "results.json").write_text("{")
    damage(run, "UPDATE run SET value = '{' WHERE key = 'generator'")
    status, _, errors = cli(*words)
    assert status == 0
    assert errors.count("It is kept as results.json.broken") == 1
    assert errors.count("its record lacks generator, and a new one is begun") == 1
    # What was effective when the images were generated is gone with the record, and only that.
    again = read_results(run)
    assert again.model.effective_settings == {} and again.tasks == before
    edit(run / "results.json", lambda data: data.update(schema=99))
    newer = (run / "results.json").read_bytes()
    status, _, errors = cli(*words)
    assert status == 1 and "is of schema 99" in errors
    assert (run / "results.json").read_bytes() == newer


def test_damaged_images_cost_only_themselves_and_come_with_the_next_run(
    tmp_path: Path, cli: Cli
) -> None:
    words = flags(tmp_path, "--limit", "4", "--images-per-prompt", "2")
    assert cli(*words, "--generate-only")[0] == 0
    for path in sorted((tmp_path / "toyland" / "images").rglob("*.png"))[:9]:
        path.write_bytes(b"damaged")
    status, _, errors = cli(*words)
    assert status == 3 and errors.count("the same command again regenerates it") == 9
    task = read_results(tmp_path / "toyland").tasks[TASK]
    assert task.excluded["missing"] == 9 and task.headline.value is not None
    assert cli(*words)[0] == 0


def test_an_encoder_and_a_judge_that_fail_stop_alone(tmp_path: Path) -> None:
    class Broken(parts.Flat):
        name, fingerprint = "broken", "4" * 64

        def encode_images(self, prepared: Sequence[Any]) -> Any:
            raise RuntimeError("out of memory")

    class Odd(parts.Yes):
        name = "odd"

        def answer(self, queries: Sequence[Query]) -> Any:
            return None

    tasks = f"{TASK},openbias_winobias"
    results = evaluate(
        "toyland", tasks, encoder=[Broken(), "toyland"], judge=[Odd(), "toyland"],
        output_dir=tmp_path, **SMALL,
    )  # fmt: skip
    for name, fails in ((TASK, "broken"), ("openbias_winobias", "odd")):
        by_model = results.tasks[name].by_encoder.items()
        values = {one: found.headline.value for one, found in by_model}
        assert values["toyland"] is not None and values[fails] is None
    with pytest.raises(
        T2IBenchError, match="'broken' failed with RuntimeError: out of memory"
    ):
        evaluate("toyland", TASK, encoder=Broken(), output_dir=tmp_path, **SMALL)
    with pytest.raises(T2IBenchError, match="2 encoders have the name 'broken'"):
        evaluate("toyland", TASK, encoder=[f"{__name__}:Renamed", Broken()], **SMALL)


class Renamed(parts.Flat):
    name, fingerprint = "broken", "2" * 64


@pytest.mark.parametrize("member", ["needs", "describe", "score", "combine"])
def test_a_method_that_fails_costs_its_own_task_alone(
    member: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    whole = METHODS.get

    def defect(*args: Any) -> MethodResult:
        if member == "combine":  # scores that cannot be written down
            return replace(whole("occupations").combine(*args), samples=[{"index": 0}])
        raise ZeroDivisionError("a defect")

    said = (
        "KeyError: 'prompt'" if member == "combine" else "ZeroDivisionError: a defect"
    )
    broken = replace(whole("occupations"), **{member: defect})
    monkeypatch.setattr(
        METHODS, "get", lambda n: broken if n == "occupations" else whole(n)
    )
    status, out, errors = cli(
        *("--model", "toyland", "--tasks", f"{TASK},occupations_t2iat", *SMALL_FLAGS),
        *("--output-dir", tmp_path),
    )
    folder = tmp_path / "toyland"
    page = (folder / "results.md").read_text() if member != "needs" else errors
    assert said in page and "Traceback" not in errors
    assert said.partition(":")[0] in out + errors or member == "describe"
    tasks = read_results(folder).tasks
    assert tasks[TASK].headline.value is not None
    if member == "describe":
        assert tasks["occupations_t2iat"].headline.value is not None
    else:
        assert status == 3 and not read_samples(folder, "occupations_t2iat")


def test_the_stored_command_repeats_its_own_tasks(tmp_path: Path, cli: Cli) -> None:
    text = load_tasks(TASK)[0].path.read_text()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "my_task.yaml").write_text(
        text.replace(f"id: {TASK}", "id: my_task")
    )
    options: dict[str, Any] = {
        **SMALL,
        "output_dir": tmp_path / "my runs",
        "level": 0.9,
    }
    evaluate("toyland", "my_task", include_path=tmp_path / "more", **options)
    evaluate("toyland", f"{TASK},openbias_winobias", **options)
    results = evaluate("toyland", "mcas_sports", **options)
    run = tmp_path / "my runs" / "toyland"
    before = (run / "results.json").read_bytes()
    assert set(results.tasks) == {"mcas_sports"}
    assert set(results.earlier) == {"my_task", TASK, "openbias_winobias"}
    assert results.command[results.command.index("--tasks") + 1] == "mcas_sports"
    assert cli(*results.command[1:])[0] == 0
    assert (run / "results.json").read_bytes() == before
    assert results.earlier[TASK].settings.level == 0.9


def test_adapters_are_stored_as_the_user_named_them(tmp_path: Path, cli: Cli) -> None:
    spec = f"{__name__}:Renamed"
    results = evaluate("toyland", TASK, encoder=spec, output_dir=tmp_path, **SMALL)
    assert results.command[results.command.index("--encoder") + 1] == spec
    assert set(results.tasks[TASK].settings.encoders) == {"broken"}
    # leaves what the record says of it
    generate("toyland", TASK, output_dir=tmp_path, **SMALL)
    assert score(tmp_path / "toyland").command == results.command
    # scores nothing
    folder = generate("toyland", TASK, output_dir=tmp_path / "new", **SMALL)
    assert (
        list((folder / "images").rglob("*.png"))
        and not (folder / "results.json").exists()
    )
    with pytest.raises(T2IBenchError, match="no evidence yet"):
        score(folder)


def test_the_order_of_pieces_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, sizes = "occupations_t2iat", {**SMALL, "limit": 8, "images_per_prompt": 3}
    forwards = evaluate("toyland", tasks, output_dir=tmp_path / "a", **sizes)
    run = InProcess.run

    def backwards(
        self: InProcess, numbers: Iterable[int], cut: GetWorkItem
    ) -> Iterator[WorkResult]:
        for number in reversed(list(numbers)):
            yield from run(self, [number, number], cut)  # and twice

    monkeypatch.setattr(InProcess, "run", backwards)
    again = evaluate("toyland", tasks, output_dir=tmp_path / "b", **sizes)
    assert again.tasks == forwards.tasks
