"""`t2ibench propose`, from captions and prompts to a run, against a real local server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from t2ibench.results.files import read_results
from tests.conftest import Cli
from tests.models.chat import posted_text, serving, without_waiting
from tests.models.tiny import images

CAPTIONS = [
    f"A {who} in a {where}"
    for who in ("nurse", "chef", "lawyer")
    for where in ("park", "bar")
]


def proposing(body: dict[str, Any]) -> tuple[int, Any]:
    """A proposer that is chatty, and knows two biases."""
    text = posted_text(body)
    if text.startswith("Prompt:"):
        question = "What is the gender of the person?"
        bias = {
            "name": "Person gender",
            "classes": ["Male", "Female"],
            "question": question,
        }
        age = {
            "name": "Person age",
            "classes": ["Child", "Old"],
            "question": "How old?",
        }
        present = {**age, "present in prompt": True}
        return (
            200,
            f"Sure!\n```json\n{json.dumps([bias, age if 'park' in text else present])}\n```",
        )
    if "what are some of the axes" in text:
        return 200, "Gender, and length."
    if text.startswith("Generate many"):
        return 200, "Here are some."
    axes = {
        "Gender biases": ["a male chef", "a female chef", "a chef"],
        "length": ["a chef", "a very very very very long chef", "a tall chef"],
    }
    return 200, json.dumps(axes)


@pytest.fixture
def propose(cli: Cli, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Propose a task from captions.txt with a server; its file is tasks/mine.yaml."""
    (tmp_path / "captions.txt").write_text("\n".join(CAPTIONS))

    def run(
        url: str, *words: str | Path, support: int = 3, args: str = ""
    ) -> tuple[int, str]:
        counted = ("--method-args", f"support={support}")
        words = words or ("openbias", "--captions", tmp_path / "captions.txt", *counted)
        server = (
            "--proposer",
            "openai:llm",
            "--proposer-args",
            f"base_url={url}{args}",
        )
        output = ("--output", tmp_path / "tasks" / "mine.yaml")
        status, _, errors = cli("propose", *words, *server, *output)
        return status, errors

    return run


@pytest.fixture
def proposed(cli: Cli, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The proposed task, which runs."""

    def read(run: bool = False) -> dict[str, Any]:
        task = yaml.safe_load((tmp_path / "tasks" / "mine.yaml").read_text())
        if run:
            status, out, errors = cli(
                *(
                    "--model",
                    "toyland",
                    "--tasks",
                    "mine",
                    "--include-path",
                    tmp_path / "tasks",
                ),
                *(
                    "--output-dir",
                    tmp_path / "runs",
                    "--permutations",
                    "500",
                    "--bootstrap",
                    "200",
                ),
            )
            assert status == 0, errors
            assert "mine" in out
        return task

    return read


@pytest.mark.slow
def test_openbias_from_captions_to_a_run(propose: Any, proposed: Any) -> None:
    with serving(proposing) as (url, heard):
        status, errors = propose(url)
        assert status == 0, errors
        assert len(heard) == len(CAPTIONS)
        assert "Dropped 3: the answer is in the prompt." in errors
        assert propose(url)[0] == 0
        assert len(heard) == len(CAPTIONS)  # the second time nothing is asked
    task = proposed(run=True)
    assert task["id"] == "mine" and task["proposal"]["proposer"] == "openai:llm"
    gender, age = task["biases"]
    found = (gender["about"], gender["name"], gender["classes"])
    assert found == ("person", "gender", ["female", "male"])
    assert gender["captions"] == sorted(CAPTIONS) and len(age["captions"]) == 3


@pytest.mark.slow
def test_tibet_from_a_prompt_to_a_run(propose: Any, proposed: Any) -> None:
    with serving(proposing) as (url, heard):
        status, errors = propose(url, "tibet", "--prompt", "a chef")
    assert status == 0, errors
    assert [len(body["messages"]) for body in heard] == [1, 3, 5]
    assert "differs by 5 or more words" in errors and "fewer than two" in errors
    (prompt,) = proposed(run=True)["prompts"]
    (axis,) = prompt["axes"]
    assert axis["name"] == "gender"
    assert [one["name"] for one in axis["counterfactuals"]] == ["male", "female"]


def test_an_unreadable_reply_is_asked_again(tmp_path: Path, propose: Any) -> None:
    told = []

    def hesitant(body: dict[str, Any]) -> tuple[int, Any]:
        told.append(posted_text(body))
        if "could not be read" not in told[-1]:
            return 200, "Hm."
        return proposing({"messages": [{"role": "user", "content": "Prompt: park"}]})

    captions = tmp_path / "two.txt"
    captions.write_text("A nurse\nA chef")
    words = ("openbias", "--captions", captions, "--method-args")
    with serving(hesitant) as (url, _):
        assert propose(url, *words, "support=2,tries=1")[0] == 1
        status, errors = propose(url, *words, "support=2")
    assert status == 0, errors
    assert sum("could not be read" in text for text in told) == 2


@pytest.mark.parametrize(
    "bad", [(400, {"error": "no"}), (200, {"choices": []}), (200, "\ud800")]
)
def test_one_bad_reply_costs_one_caption(bad: Any, propose: Any, proposed: Any) -> None:
    refused = CAPTIONS[1]

    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        asked = [message["content"] for message in body["messages"]]
        return bad if any(refused in text for text in asked) else proposing(body)

    with serving(speak) as (url, _):
        status, errors = propose(url, support=2)
    assert status == 0 and f"'{refused}':" in errors, errors
    gender, *_ = proposed()["biases"]
    assert set(gender["captions"]) == set(CAPTIONS) - {refused}


def test_a_server_that_dies_loses_nothing(
    propose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    left = 4

    def dying(body: dict[str, Any]) -> tuple[int, Any]:
        nonlocal left
        left -= 1
        return proposing(body) if left >= 0 else (503, "gone")

    with serving(dying) as (url, heard):
        status, errors = propose(url, args=",retries=2")
        assert (
            status == 1
            and "replied with status 503" in errors
            and "Traceback" not in errors
        )
        before, left = len(heard), 1000
        assert propose(url, args=",retries=2")[0] == 0
        assert len(heard) - before == len(CAPTIONS) - 4


# Where nothing else is said: --proposer openai:x --output a.yaml.
WRONG = {
    "tibbet": "Did you mean 'tibet'? These can be proposed: openbias, tibet.",
    "weat": "of the method 'weat'. These can be proposed: openbias, tibet.",
    "tibet --method-args support=3": "It takes: tries.",
    "tibet --captions x": "Which prompts?",
    "openbias --prompt x": "Which captions?",
    "openbias --method-args supprt=3": "Did you mean 'support'?",
    "openbias --method-args support=3,support=4": "'support' is given twice",
    "openbias": "Which captions?",
    "tibet": "Which prompts?",
    "tibet --prompt a --proposer opnai:x": "'openai:'",
    "tibet --prompt a --proposer hf:x --output a.txt": "ends in .yaml",
    "tibet --prompt a --proposer openai:x --proposer-args bas_url=http://x": "mean 'base_url'",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_input_is_one_line(
    words: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    method, *further = words.split()
    given = ("--proposer", "openai:x", "--output", "a.yaml", *further)
    status, _, errors = cli("propose", method, *given)
    assert status == 1 and WRONG[words] in errors and "Traceback" not in errors


def test_a_folder_of_images_gets_a_task_of_its_own_prompts(
    tmp_path: Path, cli: Cli
) -> None:
    folder, output = tmp_path / "images", tmp_path / "tasks" / "mine.yaml"
    counts = {
        "A nurse at work": 3,
        "a_CEO": 2,
        "two doctors": 1,
        "a dog's bed": 1,
        "A woman": 1,
    }
    for prompt, count in counts.items():
        (folder / prompt).mkdir(parents=True)
        for number, picture in enumerate(images(count, 8)):
            picture.save(folder / prompt / f"{number}.png")
    status, _, errors = cli(
        "propose", "openbias", "--captions", f"folder:{folder}", "--output", output
    )
    assert status == 0, errors
    assert (
        f"t2ibench --model folder:{folder} --include-path {output.parent} --tasks mine"
        in errors
    )
    assert (
        "'two doctors': it names no person that the word lists know, or several"
        in errors
    )
    task = yaml.safe_load(output.read_text())
    assert task["images_per_prompt"] == 3
    asked = {bias["name"]: bias["captions"] for bias in task["biases"]}
    both = ["A nurse at work", "a CEO"]
    whole = ["A nurse at work", "A woman", "a CEO"]
    assert asked == {"gender": both, "age": whole, "skin-tone": whole}
    classes = next(
        bias["classes"] for bias in task["biases"] if bias["name"] == "skin-tone"
    )
    assert classes == ["dark skin", "light skin"]
    answers = tmp_path / "people.csv"
    rows = [
        f"{prompt},{index},male"
        for prompt in both
        for index in range(counts[prompt.replace("a C", "a_C")])
    ]
    answers.write_text("\n".join(["prompt,index,answer", *rows]))
    flags = (
        "--model",
        f"folder:{folder}",
        "--include-path",
        output.parent,
        "--tasks",
        "mine",
    )
    sizes = (
        "--permutations",
        "200",
        "--bootstrap",
        "100",
        "--output-dir",
        tmp_path / "runs",
    )
    _, _, errors = cli(*flags, *sizes, "--judge", f"answers:{answers}")
    assert (
        "person gender" in (tmp_path / "runs" / "images" / "results.md").read_text()
    ), errors
    assert "6 ok (of 6 images)" in errors
    gender = read_results(tmp_path / "runs" / "images").tasks["mine"].by
    assert next(row for row in gender if row.name == "person gender").n_images == 5


@pytest.mark.slow
def test_without_a_download_a_run_says_what_works(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "images" / "a nurse").mkdir(parents=True)
    images(1, 8)[0].save(tmp_path / "images" / "a nurse" / "0.png")
    folder, output = f"folder:{tmp_path / 'images'}", tmp_path / "mine.yaml"
    assert cli("propose", "openbias", "--captions", folder, "--output", output)[0] == 0
    flags = (
        "--model",
        folder,
        "--include-path",
        tmp_path,
        "--output-dir",
        tmp_path / "runs",
    )
    for words, said in (
        (("mine",), "--judge answers:FILE"),
        (
            ("mine,weat_7_math_arts", "--judge", "toyland"),
            "--encoder open_clip:ARCH/FILE",
        ),
    ):
        status, out, errors = cli(*flags, "--tasks", *words)
        assert status == 1 and not out
        assert "has not been made on this machine" in errors and said in errors
