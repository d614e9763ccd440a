"""Images of a workflow that a ComfyUI server runs, with everything that goes wrong there."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.comfyui import jobs
from t2ibench.models.generators.comfyui.server_facts import _options
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.servers import StopHeard, heed
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from t2ibench.toyland import draw
from tests.models.chat import Said, json_reply, without_waiting
from tests.models.comfyui_graphs import EXAMPLES, example, node, two_stages, write
from tests.models.comfyui_replies import replying
from tests.models.comfyui_server import CHECKPOINTS, ComfyUi, Faults, comfyui
from tests.models.test_served import KEY, PROMPTS, closed_port, requests
from tests.pipeline.storing import generate_images

SDXL = str(next(path for path in EXAMPLES if path.stem == "sdxl"))


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[str, ComfyUi]]:
    with comfyui() as running:
        yield running


@pytest.fixture
def server(started: tuple[str, ComfyUi]) -> tuple[str, ComfyUi]:
    """A server without jobs, history and faults."""
    started[1].restart()
    until(lambda: started[1].working is None)
    started[1].clear()
    return started


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_waiting(monkeypatch)


def workflow(url: str, path: str = SDXL, **args: Any) -> Any:
    return create_generator(f"comfyui:{path}", {"base_url": url, **args})


def assert_drawn(images: list[GeneratedImage], wanted: list[ImageRequest]) -> None:
    """Each image is toyland's of its own prompt and seed."""
    for made, request in zip(images, wanted, strict=True):
        assert made.status == "ok", made.reason
        drawn = draw(request.prompt, request.seed)
        assert np.array_equal(np.asarray(made.image), np.asarray(drawn))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_makes_the_images_of_its_prompts_and_seeds(
    path: Path, server: tuple[str, ComfyUi]
) -> None:
    url, state = server
    wanted = requests(PROMPTS[:2], 1)
    model = workflow(url, str(path))
    assert_drawn(model.generate(wanted), wanted)
    assert state.sockets == 1
    ids = [body["prompt_id"] for body in state.posted]
    assert [str(uuid.UUID(job)) for job in ids] == ids
    assert {body["client_id"] for body in state.posted} == {
        state.posted[0]["client_id"]
    }
    # What was stored does not fill the server's history.
    assert state.history == {}


@pytest.mark.slow
def test_it_meets_the_contract(server: tuple[str, ComfyUi], tmp_path: Path) -> None:
    url, state = server
    assert check_generator(lambda: workflow(url)) == []
    # No reply is one of before: what is asked for again is made again.
    graphs = [json.dumps(body["prompt"], sort_keys=True) for body in state.posted]
    assert len(set(graphs)) == len(graphs)
    two = write(tmp_path, two_stages())
    wanted = requests(PROMPTS[:2], 1)
    assert_drawn(workflow(url, two).generate(wanted), wanted)


@pytest.mark.slow
def test_a_dozen_are_in_flight(server: tuple[str, ComfyUi]) -> None:
    url, state = server
    state.faults.seconds = 0.1
    wanted = requests(PROMPTS, 6)
    assert_drawn(workflow(url).generate(wanted), wanted)
    # One of them is being made.
    assert 10 <= state.most_in_queue <= 12


def test_the_fingerprint_is_of_graph_server_and_models(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    url, state = server
    model = workflow(url)
    identity = {
        "comfyui": "0.38.1",
        "torch": "2.11.0+cu130",
        "device": "cuda NVIDIA H100 80GB HBM3",
        "options": ["--force-fp16"],
        "models": {CHECKPOINTS[0]: "0x" + "ab" * 32},
    }
    assert identity.items() <= model.settings.items()
    assert model.settings["prompt"] == ["6.text"]
    assert model.fingerprint == workflow(url, workers=3, timeout=9).fingerprint
    assert model.fingerprint != workflow(url, steps=31).fingerprint
    assert (
        model.fingerprint
        != create_generator(f"comfyui:{SDXL}", {"base_url": url}, seed=1).fingerprint
    )
    state.version = "0.39.0"
    assert model.fingerprint != workflow(url).fingerprint
    settings = model.effective_settings()
    assert (settings["steps"], settings["sampler"]) == (30, "dpmpp_2m")
    assert settings["seed"] == "one an image"


def test_an_option_has_its_values_in_words_and_no_path() -> None:
    arguments = ["main.py", "--fast", "fp16_accumulation", "cublas_ops", "--force-fp16"]
    arguments += ["--output-directory=/mnt/fast/x", "--base-directory", "/mnt/fp16"]
    options = _options(arguments)
    assert options == ("--fast fp16_accumulation cublas_ops", "--force-fp16")


def test_a_seed_has_as_many_bits_as_its_node_takes(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    graph = example("sdxl")
    graph["40"] = node("SmallSeed", seed=5)
    graph["3"]["inputs"]["seed"] = ["40", 0]
    model = workflow(server[0], write(tmp_path, graph))
    (request,) = requests(PROMPTS[:1], 1)
    (image,) = model.generate([request])
    assert image.status == "ok"
    sent = server[1].posted[0]["prompt"]["40"]["inputs"]["seed"]
    assert sent == request.seed % (1 << 32) and request.seed >= 1 << 32
    assert "32 bits" in model.effective_settings()["seed"]


def test_no_key_is_sent_or_stored_and_no_origin(
    server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, state = server
    monkeypatch.setenv("COMFYUI_API_KEY", KEY)
    model = workflow(url)
    model.generate(requests(PROMPTS[:1], 1))
    assert {headers.get("x-api-key") for headers in state.headers} == {KEY}
    assert all("origin" not in headers for headers in state.headers)
    assert KEY not in json.dumps([dict(model.settings), model.effective_settings()])
    # The server itself declines what comes from a page of another address.
    reply = httpx.get(f"{url}/queue", headers={"Origin": "http://evil.example"})
    assert reply.status_code == 403


MISSING = {
    "a node": (
        {"3": node("KSamplr", seed=1, model=["4", 0], positive=["6", 0])},
        "does not have node 3 .KSamplr.. Did you mean 'KSampler'",
    ),
    "a file": (
        {"4": node("CheckpointLoaderSimple", ckpt_name="sd_xl_base_1.safetensors")},
        "no file 'sd_xl_base_1.safetensors' for 4.ckpt_name .*"
        "Did you mean 'sd_xl_base_1.0.safetensors'.*and 19 more",
    ),
    "a sampler": (
        {"3": {**example("sdxl")["3"]}},
        "no value 'eulr' for 3.sampler_name",
    ),
    "a paid node": (
        {"8": node("FluxProImageNode", prompt="a cat", seed=1, model=["4", 0])},
        "asks a paid service",
    ),
}
MISSING["a sampler"][0]["3"]["inputs"]["sampler_name"] = "eulr"


@pytest.mark.parametrize("what", MISSING)
def test_what_the_server_lacks_is_one_line_before_anything_is_posted(
    what: str, server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    nodes, says = MISSING[what]
    path = write(tmp_path, example("sdxl") | nodes)
    given = {"prompt": "8.prompt"} if what == "a paid node" else {}
    with pytest.raises(T2IBenchError, match=says) as caught:
        workflow(server[0], path, **given)
    assert "\n" not in str(caught.value) and server[1].posted == []


@pytest.mark.parametrize("old", [False, True])
def test_a_graph_that_is_not_taken_ends_the_run_with_the_servers_words(
    old: bool, server: tuple[str, ComfyUi]
) -> None:
    """A node or a file may go between the first look and the first post."""
    url, state = server
    state.faults.old = old
    model = workflow(url)
    state.kinds["CheckpointLoaderSimple"].inputs = {"ckpt_name": [CHECKPOINTS[1:], {}]}
    with pytest.raises(
        T2IBenchError, match=r"node 4 \(CheckpointLoaderSimple\): Value not in list"
    ):
        model.generate(requests(PROMPTS, 2))
    del state.kinds["KSampler"]
    with pytest.raises(T2IBenchError, match=r"Node 'KSampler' not found") as caught:
        model.generate(requests(PROMPTS, 2))
    assert "\n" not in str(caught.value) and state.posted == []


def test_an_image_that_is_left_out_ends_the_run(server: tuple[str, ComfyUi]) -> None:
    """Status 200, with an error of a node."""
    server[1].faults.leaves_out = True
    with pytest.raises(T2IBenchError, match="leaves the image out: node 9"):
        workflow(server[0]).generate(requests(PROMPTS, 2))


def test_a_history_that_comes_late_is_waited_for(
    server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_LOOK", "_LOOK_BESIDE_SOCKET"):
        monkeypatch.setattr(f"t2ibench.models.generators.comfyui.jobs.{name}", 0.1)
    url, state = server
    state.faults.silent_looks = 10
    wanted = requests(PROMPTS[:1], 1)
    assert_drawn(workflow(url).generate(wanted), wanted)
    assert len(state.posted) == 1


def test_an_equal_graph_repeats_old_names_and_without_a_client_no_output(
    server: tuple[str, ComfyUi],
) -> None:
    """What the server does, and why each post is unlike the others."""
    url, state = server
    graph = example("sdxl")

    def post(**further: Any) -> dict[str, Any]:
        job = str(uuid.uuid4())
        body = {"prompt": graph, "prompt_id": job, **further}
        assert httpx.post(f"{url}/prompt", json=body).status_code == 200
        while not (entry := httpx.get(f"{url}/history/{job}").json()):
            time.sleep(0.01)
        return dict(entry[job])

    first = post(client_id="a")
    assert post(client_id="a")["outputs"] == first["outputs"]
    assert post()["outputs"] == {}
    state.files.clear()
    wanted = requests(PROMPTS[:1], 1)
    assert_drawn(workflow(url).generate(wanted), wanted)


@pytest.mark.parametrize("what", ["file", "outputs"])
def test_an_image_that_is_gone_is_made_again(
    what: str, server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, state = server
    wanted = requests(PROMPTS[:1], 1)
    store = type(state.files)
    gone = [True]

    class Once(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return None if gone and gone.pop() else super().get(key, default)

        def __getitem__(self, key: str) -> Any:
            value = super().__getitem__(key)
            return {**value, "outputs": {}} if gone and gone.pop() else value

    monkeypatch.setattr(state, "files" if what == "file" else "history", Once(store()))
    assert_drawn(workflow(url).generate(wanted), wanted)
    assert len(state.posted) == 2


def test_memory_that_runs_out_costs_no_other_image(server: tuple[str, ComfyUi]) -> None:
    url, state = server
    state.faults.memory_for = "nurse"
    wanted = requests(PROMPTS, 2)
    images = workflow(url).generate(wanted)
    assert [image.status for image in images] == ["failed"] * 2 + ["ok"] * 6
    assert images[0].reason == (
        "ComfyUI: node 3 (KSampler): Allocation on device This error means you ran out of "
        "memory on your GPU"
    )
    assert_drawn(images[2:], wanted[2:])


def in_a_thread(
    model: Any, wanted: list[ImageRequest]
) -> tuple[threading.Thread, list[Any]]:
    """A run under way, and its images once it has ended."""
    images: list[Any] = []
    thread = threading.Thread(target=lambda: images.extend(model.generate(wanted)))
    thread.start()
    return thread, images


def until(reached: Any) -> None:
    for _ in range(500):
        if reached():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def asks_nothing_more(state: ComfyUi) -> None:
    """Wait until the server has run its jobs and has been asked nothing for half a second."""
    last = -1
    while last != len(state.asked) or state.pending or state.working is not None:
        last = len(state.asked)
        time.sleep(0.5)


def test_a_job_that_somebody_else_stops_is_posted_again(
    server: tuple[str, ComfyUi],
) -> None:
    url, state = server
    state.faults.seconds = 0.2
    wanted = requests(PROMPTS[:2], 1)
    thread, images = in_a_thread(workflow(url), wanted)
    until(lambda: state.working is not None)
    httpx.post(f"{url}/interrupt")  # without an id it stops whatever runs
    thread.join(20)
    assert_drawn(images, wanted)
    assert len(state.posted) == 3


@pytest.mark.slow
def test_jobs_that_a_restart_loses_are_posted_again(
    server: tuple[str, ComfyUi],
) -> None:
    url, state = server
    state.faults.seconds = 0.1
    wanted = requests(PROMPTS, 1)
    thread, images = in_a_thread(workflow(url), wanted)
    until(lambda: len(state.ran) >= 2 and state.pending)
    state.restart()
    thread.join(30)
    assert_drawn(images, wanted)


@pytest.mark.parametrize("closes_after", [0, 1, 3])
def test_a_websocket_that_closes_costs_no_image(
    closes_after: int, server: tuple[str, ComfyUi]
) -> None:
    url, state = server
    state.faults.closes_after = closes_after
    wanted = requests(PROMPTS, 1)
    assert_drawn(workflow(url).generate(wanted), wanted)


def test_without_the_library_of_websockets_jobs_are_looked_up(
    server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "websockets.asyncio.client", None)
    url, state = server
    wanted = requests(PROMPTS, 2)
    assert_drawn(workflow(url).generate(wanted), wanted)
    assert state.sockets == 0


def others(url: str, count: int) -> list[str]:
    """Jobs of somebody else, who has posted them to the front of the queue."""
    jobs = [str(uuid.uuid4()) for _ in range(count)]
    for number, job in enumerate(jobs):
        graph = example("flux")
        graph["25"]["inputs"]["noise_seed"] = number
        body = {"prompt": graph, "prompt_id": job, "client_id": "they", "number": -1}
        httpx.post(f"{url}/prompt", json=body)
    return jobs


def test_other_peoples_jobs_are_waited_for_and_said_once(
    server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.models.generators.comfyui.jobs._BEHIND", 0.0)
    url, state = server
    model = workflow(url)
    state.faults.seconds = 0.3
    theirs = others(url, 4)
    said: list[str] = []
    model.report_waits(said.append)
    wanted = requests(PROMPTS[:1], 2)
    assert_drawn(model.generate(wanted), wanted)
    assert state.ran[:4] == theirs
    (line,) = said
    assert "of others in its queue" in line


@pytest.mark.parametrize("old", [False, True])
def test_a_run_that_is_cut_off_cancels_its_own_jobs_alone(
    old: bool, server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, state = server
    # The ninth job runs until it is stopped.
    state.faults = Faults(old=old, seconds=600.0, quick_jobs=8)
    theirs: list[str] = []

    def wait_until_cut_off(futures: Any, **options: Any) -> Any:
        """Press Ctrl-C once a job runs and the others that are under way wait for it."""
        if len(state.ran) == 9 and len(state.pending) == len(futures) - 1 >= 1:
            state.faults.seconds = 0.0
            theirs.extend(others(url, 1))
            raise KeyboardInterrupt
        return concurrent.futures.wait(futures, **options)

    monkeypatch.setattr("t2ibench.models.servers.wait", wait_until_cut_off)
    with pytest.raises(KeyboardInterrupt):
        workflow(url).generate(requests(PROMPTS, 6))
    until(lambda: not state.pending and state.working is None)
    *_, stopped, other = state.ran
    assert len(state.ran) == 10 and [other] == theirs
    assert state.history[other]["status"]["status_str"] == "success"
    assert state.history[stopped]["status"]["status_str"] == "error"


def test_a_run_that_is_asked_to_stop_takes_its_waiting_jobs_back(
    server: tuple[str, ComfyUi],
) -> None:
    url, state = server
    stopping = threading.Event()
    model = workflow(url)
    images = []
    heed(stopping.is_set)
    try:
        with pytest.raises(StopHeard):
            for part in model.generate_in_parts(requests(PROMPTS, 6)):
                images += part
                if len(images) >= 8:
                    state.faults.seconds = 0.2
                    stopping.set()
    finally:
        heed(lambda: False)
    until(lambda: not state.pending and state.working is None)
    assert 8 <= len(images) < 24 and all(image.status == "ok" for _, image in images)


@pytest.mark.slow
def test_a_killed_run_asks_for_nothing_twice(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    """Neither for what it stored, nor for what the server was working on when it was killed."""
    url, state = server
    wanted = requests(PROMPTS, 5)
    killed = workflow(url)
    with contextlib.closing(killed.generate_in_parts(wanted)) as parts:
        stored = [number for _ in range(4) for number, _ in next(parts)]
        # Jobs end one after the other from here on, so that some are left when the next has ended.
        state.faults.seconds = 0.3
        stored += [number for _ in range(2) for number, _ in next(parts)]
        asks_nothing_more(state)
        # The process is gone: it says no goodbye.
        killed._jobs.posted.clear()
        assert len(state.posted) > len(stored)
        left = [
            request for number, request in enumerate(wanted) if number not in stored
        ]
        state.faults.seconds = 0.0
        assert_drawn(workflow(url).generate(left), left)
    assert len(state.posted) == len(wanted)
    assert len({body["prompt_id"] for body in state.posted}) == len(wanted)


@pytest.mark.slow
def test_a_run_is_stored_and_resumed(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    url, state = server
    store = ImageStore(Database(tmp_path), "f")
    for each in (2, 2, 3):
        generate_images(requests(PROMPTS, each), workflow(url), store)
    assert len(state.posted) == 12 == len(list(store.attempts()))


def test_a_reply_that_is_lost_posts_no_second_job(
    server: tuple[str, ComfyUi], waits: list[float]
) -> None:
    url, state = server
    model = workflow(url)
    state.faults.lost_replies = 2
    wanted = requests(PROMPTS, 1)
    assert_drawn(model.generate(wanted), wanted)
    assert len(state.posted) == 4


def test_a_server_that_is_busy_is_asked_again(
    server: tuple[str, ComfyUi], waits: list[float]
) -> None:
    url, state = server
    model = workflow(url)
    state.faults.busy = 1
    wanted = requests(PROMPTS[:1], 1)
    assert_drawn(model.generate(wanted), wanted)
    assert waits


def test_a_workflow_of_several_images_is_an_error(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    graph = example("sdxl")
    graph["5"]["inputs"]["batch_size"] = 4
    wanted = requests(PROMPTS[:1], 1)
    # A batch in the file is set to one image; what repeats it later is not known.
    assert_drawn(workflow(server[0], write(tmp_path, graph)).generate(wanted), wanted)
    graph["15"] = node("RepeatLatentBatch", samples=["5", 0], amount=4)
    graph["3"]["inputs"]["latent_image"] = ["15", 0]
    with pytest.raises(T2IBenchError, match="makes 4 images from one prompt"):
        workflow(server[0], write(tmp_path, graph)).generate(wanted)


@pytest.mark.parametrize(
    ("sampler", "repeats"), [("dpmpp_2m_sde", False), ("euler_ancestral", True)]
)
def test_a_sampler_that_draws_noise_is_tried_with_two_posts(
    sampler: str, repeats: bool, server: tuple[str, ComfyUi]
) -> None:
    url, state = server
    model = workflow(url, **{"node.3.sampler_name": sampler})
    said: list[str] = []
    model.report_waits(said.append)
    images = model.generate(requests(PROMPTS, 1))
    assert all(image.status == "ok" for image in images)
    assert len(state.posted) == len(PROMPTS) + 1
    assert ("another image for the same prompt and seed" in "".join(said)) != repeats
    expected = "the same image" if repeats else "another image"
    assert expected in model.effective_settings()["equal_seeds"]
    model.generate(requests(PROMPTS, 1))
    assert len(state.posted) == 2 * len(PROMPTS) + 1


def test_the_second_post_is_counted_beforehand_and_paid(
    server: tuple[str, ComfyUi],
) -> None:
    noisy = {"node.3.sampler_name": "euler_ancestral", "price_per_image": "0.01"}
    wanted = requests(PROMPTS, 1)
    model = workflow(server[0], **noisy)
    assert model.forecast(wanted).startswith(f"{len(wanted) + 1} requests")
    model.limit_cost(0.01 * len(wanted))
    with pytest.raises(CostLimitError):
        model.generate(wanted)
    assert len(server[1].posted) == len(wanted)  # one of them is the second post
    assert model.cost == pytest.approx(0.01 * len(wanted))
    again = workflow(server[0], **noisy)
    again.limit_cost(0.01 * (len(wanted) + 1))
    images = again.generate(requests([f"{prompt} again" for prompt in PROMPTS], 1))
    assert [image.status for image in images] == ["ok"] * len(wanted)
    assert again.cost == pytest.approx(0.01 * (len(wanted) + 1))
    assert again.forecast(wanted).startswith(f"{len(wanted)} requests")
    quiet = workflow(server[0], price_per_image="0.01")
    assert quiet.forecast(wanted).startswith(f"{len(wanted)} requests")


def test_a_second_post_that_fails_costs_no_image_and_says_nothing(
    server: tuple[str, ComfyUi], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, state = server
    model = workflow(url, workers=1, **{"node.3.sampler_name": "euler_ancestral"})
    post = model._comfy.post

    async def failing(*given: Any) -> None:
        if len(state.posted) == 1:
            state.posted.append({})
            raise T2IBenchError("the server is away")
        await post(*given)

    monkeypatch.setattr(model._comfy, "post", failing)
    images = model.generate(requests(PROMPTS, 1))
    assert [image.status for image in images] == ["ok"] * len(PROMPTS)
    assert "equal_seeds" not in model.effective_settings()


def test_a_server_that_runs_no_job_is_not_waited_for_forever(
    server: tuple[str, ComfyUi],
) -> None:
    url, state = server
    model = workflow(url, timeout=1)
    state.faults.dead = True
    with pytest.raises(T2IBenchError, match="works on nothing, though jobs"):
        model.generate(requests(PROMPTS[:1], 1))
    assert state.pending == []


def test_a_job_of_others_that_does_not_end_is_not_waited_for_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The user is told more than once that the queue does not move, and then the run ends."""
    monkeypatch.setattr(jobs, "_PATIENCE", 3)
    theirs = str(uuid.uuid4())
    mine: list[str] = []
    cancelled: list[str] = []

    def post(body: dict[str, Any], usual: Said) -> Said:
        mine.append(body["prompt_id"])
        return usual

    def queue(*_: Any) -> Said:
        pending = [[number, job] for number, job in enumerate(mine)]
        running = [[-1, theirs]]
        return json_reply({"queue_running": running, "queue_pending": pending})

    def notice(body: dict[str, Any], usual: Said) -> Said:
        cancelled.extend(body["delete"])
        return usual

    said: list[str] = []
    with replying(prompt=post, queue=queue, notice=notice) as (url, _):
        model = workflow(url, timeout=1)
        model.report_waits(said.append)
        with pytest.raises(T2IBenchError, match="came no nearer to its turn for 3 s"):
            model.generate(requests(PROMPTS[:1], 1))
    stuck = [line for line in said if "has not moved" in line]
    assert len(stuck) == 2 and all("Ctrl-C" in line for line in stuck)
    assert set(cancelled) == set(mine) != set()


def test_a_queue_that_moves_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_PATIENCE", 2)
    mine: list[str] = []
    left = list(range(8))  # each takes half as long as the run would wait for

    def post(body: dict[str, Any], usual: Said) -> Said:
        mine.append(body["prompt_id"])
        return usual

    def queue(_: Any, usual: Said) -> Said:
        if not mine or not left:
            return usual
        left.pop()
        ahead = [[number - 100, f"theirs {number}"] for number in left]
        pending = [*ahead, [0, mine[0]]]
        running = [[-1, "theirs"]]
        return json_reply({"queue_running": running, "queue_pending": pending})

    with replying(prompt=post, queue=queue) as (url, _):
        (image,) = workflow(url, timeout=1).generate(requests(PROMPTS[:1], 1))
    assert image.status == "ok" and not left


def test_a_file_with_a_long_workflow_has_the_same_pixels(
    server: tuple[str, ComfyUi], tmp_path: Path
) -> None:
    url, state = server
    wanted = requests(PROMPTS[:1], 1)
    paths = []
    for text in (0, 200_000):
        state.faults.text = text
        store = ImageStore(Database(tmp_path / str(text)), "f")
        generate_images(wanted, workflow(url), store)
        (attempt,) = store.attempts()
        paths.append(attempt.sha256)
    assert paths[0] == paths[1] is not None


@pytest.mark.slow
def test_an_image_that_takes_too_long_is_stopped_alone(
    server: tuple[str, ComfyUi],
) -> None:
    url, state = server
    model = workflow(url, timeout=1)
    state.faults = Faults(seconds=5, slow_jobs=1)
    thread, images = in_a_thread(model, requests(PROMPTS[:1], 2))
    thread.join(20)
    assert [image.status for image in images] == ["failed", "ok"]
    assert "did not finish the image within 1 s" in str(images[0].reason)


def test_no_server_another_server_and_a_stored_name_are_one_line(
    server: tuple[str, ComfyUi], waits: list[float]
) -> None:
    with pytest.raises(T2IBenchError, match="cannot be reached"):
        workflow(f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(T2IBenchError, match="is no ComfyUI: it has no /system_stats"):
        workflow(f"{server[0]}/wrong")
    with pytest.raises(T2IBenchError, match="comes from a stored file"):
        create_generator(f"comfyui:{SDXL}", recorded=True)
