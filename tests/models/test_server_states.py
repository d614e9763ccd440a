"""States of servers and accounts are no evidence about a prompt, whoever is asked and how."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.judges import create_judges
from t2ibench.models.language import RewriteRequest
from t2ibench.models.proposers import create_proposer
from t2ibench.models.protocols import ImageRequest, Query
from t2ibench.models.rewriters import create_rewriter
from t2ibench.toyland import draw
from tests.models.chat import Said, completion, json_reply, speaking, without_waiting
from tests.models.test_served import one

AZURE = (
    "Your resource has been temporarily blocked because we detected behavior that may violate our "
    "content policy."
)
QUOTA = "You exceeded your current quota, please check your plan and billing details."

GOOGLES_DAY = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota.",
        "details": [
            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}]},
            {"retryDelay": "34s"},
        ],
    }
}


def error(status: int, message: str, code: Any = None, **headers: str) -> Said:
    said, _, body = json_reply({"error": {"message": message, "code": code}}, status)
    return said, headers, body


# What is known to be for all requests, and a part of the line that says so.
STATES: dict[str, tuple[Said, str]] = {
    "a wrong key": (error(401, "Wrong key."), "grants no access|requires an API key"),
    "no access": (error(403, "Forbidden by our usage policies."), "grants no access"),
    "a resource that is blocked": (
        error(403, AZURE, "Forbidden"),
        "does not serve this account",
    ),
    "a resource with a filter's code": (
        error(403, AZURE, "content_policy_violation"),
        "does not serve this account",
    ),
    "a blocked account in a 400": (
        error(400, "Your account was suspended for violating our usage policy."),
        "does not serve this account",
    ),
    "a suspension further on": (
        error(
            400,
            "Your account has been flagged for potential abuse and access to image generation was "
            "suspended because of violations of our usage policies.",
        ),
        "does not serve this account",
    ),
    "a model that accounts may not use": (
        error(
            400, "This model was disabled for accounts that violate our usage policies."
        ),
        "does not serve this account",
    ),
    "a model for those who pay": (
        error(400, "Imagen API is only accessible to billed users at this time."),
        "grants no access",
    ),
    "no free tier": (
        error(400, "Free tier users cannot access this model."),
        "grants no access",
    ),
    "no verification": (
        error(403, "Your organization must be verified to use this model."),
        "does not serve this account",
    ),
    "no money": (error(402, "Insufficient credits."), "is not paid for"),
    "a hard limit": (
        error(400, "No.", "billing_hard_limit_reached"),
        "is not paid for",
    ),
    "a hard limit in words": (
        error(400, "Billing hard limit reached."),
        "is not paid for",
    ),
    "a quota": (error(429, QUOTA, "insufficient_quota"), "is not paid for"),
    "a quota in words": (error(429, QUOTA), "is not paid for"),
    "no model": (error(404, "No such model."), "no such"),
    "no model in a 400": (
        error(400, "The model `safety-filter-xl` does not exist", "model_not_found"),
        "no such",
    ),
    "a model that was shut down": (
        error(
            400, "The model `safety-filter-xl` has been deprecated.", "model_deprecated"
        ),
        "no such",
    ),
    "a model that is gone": (error(410, "Gone."), "no such address or model"),
    "a day": (
        error(429, "Images per day.", **{"Retry-After": "86400"}),
        "asks to wait 24 hours",
    ),
    "a day in milliseconds": (
        error(429, "A day.", **{"retry-after-ms": "86400000"}),
        "asks to wait 24 hours",
    ),
    "a day in words": (
        error(429, "Daily limit reached, retry after 86400 seconds"),
        "asks to wait 24 hours",
    ),
    "a day without a time": (
        error(429, "Rate limit exceeded: free-models-per-day"),
        "this limit is for a day or longer",
    ),
    "a day of Google's": (
        json_reply(GOOGLES_DAY, 429),
        "this limit is for a day or longer",
    ),
    "a date of ISO 8601": (
        error(429, "Later.", **{"Retry-After": "2999-01-01T00:00:00Z"}),
        "asks to wait .* days",
    ),
    "a far date": (
        error(429, "Later.", **{"Retry-After": "Thu, 31 Dec 2099 23:59:59 GMT"}),
        "asks to wait .* days",
    ),
    "a number with an exponent": (
        error(429, "Later.", **{"Retry-After": "1e9"}),
        "asks to wait .* days",
    ),
    "a number of forty digits": (
        error(503, "Later.", **{"Retry-After": "9" * 40}),
        "asks to wait .* days",
    ),
    "no money in a 200": (
        json_reply({"error": "insufficient credits"}),
        "is not paid for .402: insufficient credits",
    ),
    "a reset": (
        error(503, "Later.", **{"X-RateLimit-Reset": "7200"}),
        "asks to wait 2 hours",
    ),
    "Google's list": (
        json_reply(
            [{"error": {"code": 403, "message": "Denied.", "status": "X"}}], 403
        ),
        "grants no access .403: Denied",
    ),
    "Cloudflare's list": (
        json_reply({"errors": [{"message": "Account is restricted.", "code": 1}]}, 400),
        "does not serve this account",
    ),
    "a key that is not valid": (error(400, "API key not valid."), "grants no access"),
    "a region": (
        error(400, "User location is not supported."),
        "does not serve this account",
    ),
    "a limit of use": (
        error(400, "You have reached your usage limits."),
        "is not paid for",
    ),
    "overload": (error(529, "Overloaded: violates our policy."), "status 529"),
    "overload in a 400": (error(400, "Busy.", "overloaded_error"), "status 400"),
    "a gateway's timeout": ((524, {}, b"<html>A timeout occurred"), "status 524"),
    "a provider's error in a 200": (
        json_reply({"error": {"message": "Content filter is down", "code": 502}}),
        "status 502",
    ),
}


# Asks a server and appends the outcomes as they come.
Ask = Callable[[str, list[Any]], list[Any]]


def images(spec: str) -> Ask:
    def ask(url: str, outcomes: list[Any]) -> list[Any]:
        generator: Any = create_generator(
            spec, {"base_url": url, "timeout": 5, "retries": 2}
        )
        requests = [ImageRequest(f"a content filter {n}", 0, n) for n in range(6)]
        for part in generator.generate_in_parts(requests):
            outcomes += [image for _, image in part]
        return outcomes

    return ask


def answers(url: str, outcomes: list[Any]) -> list[Any]:
    (judge,) = create_judges(
        ["openai:safety-filter-xl"], {"base_url": url, "retries": "2"}
    )
    queries = [
        Query(draw("a rose", n), "", n, str(n), "Which?", ("a", "b")) for n in range(6)
    ]
    for part in judge.answer_in_parts(queries):  # type: ignore[attr-defined]
        outcomes += [answer for _, answer in part]
    return outcomes


def rewritings(url: str, outcomes: list[Any]) -> list[Any]:
    rewriter: Any = create_rewriter(
        "openai:safety-filter-xl", {"base_url": url, "retries": "2"}
    )
    requests = [RewriteRequest(f"a content filter {n}") for n in range(6)]
    for part in rewriter.rewrite_in_parts(requests):
        outcomes += [rewriting for _, rewriting in part]
    return outcomes


def proposals(url: str, _: list[Any]) -> list[Any]:
    proposer = create_proposer(
        "openai:safety-filter-xl", {"base_url": url, "retries": "2"}
    )
    return [proposer.reply([{"role": "user", "content": "a content filter"}])]


KINDS: dict[str, Ask] = {
    "images of openai": images("openai:safety-filter-xl"),
    "images of the hub": images("hf:org/safety-filter-xl"),
    "judges": answers,
    "rewriters": rewritings,
    "proposers": proposals,
}


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    without_waiting(monkeypatch)


# The hub's client takes whatever comes with status 200 for an image.
EVERYWHERE = [
    (state, kind)
    for state in STATES
    for kind in KINDS
    if kind != "images of the hub" or STATES[state][0][0] != 200
]


# These share one client: by day each state is tried on one of them in turn, at night on all.
OF_ONE_CLIENT = ("judges", "rewriters", "proposers")


def is_by_day(state: str, kind: str) -> bool:
    turn = list(STATES).index(state) % len(OF_ONE_CLIENT)
    return kind not in OF_ONE_CLIENT or kind == OF_ONE_CLIENT[turn]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param(*pair, marks=[] if is_by_day(*pair) else [pytest.mark.nightly])
        for pair in EVERYWHERE
    ],
)
def test_a_state_of_the_server_ends_the_work_with_one_line(
    state: str, kind: str
) -> None:
    reply, line = STATES[state]
    with speaking(lambda *_: reply) as (url, posted):
        with pytest.raises(T2IBenchError, match=line) as caught:
            KINDS[kind](url, [])
        assert len(posted) <= 3
    assert "\n" not in str(caught.value)


LATER = (
    "a resource that is blocked",
    "no money",
    "no money in a 200",
    "a day in words",
)


@pytest.mark.parametrize(
    ("state", "kind"),
    [pair for pair in EVERYWHERE if pair[0] in LATER and pair[1] != "proposers"],
)
def test_results_before_a_server_becomes_unusable_are_kept(
    state: str, kind: str
) -> None:
    reply, line = STATES[state]
    sent = iter(range(100))

    def speak(body: dict[str, Any], _: Any) -> Said:
        if next(sent) >= 2:
            return reply
        if "inputs" in body:
            return 200, {"content-type": "image/png"}, picture_file()
        return (200, {}, completion("a")) if "messages" in body else one()

    outcomes: list[Any] = []
    with speaking(speak) as (url, _), pytest.raises(T2IBenchError, match=line):
        KINDS[kind](url, outcomes)
    assert len(outcomes) >= 2
    assert {getattr(outcome, "status", "ok") for outcome in outcomes} == {"ok"}


def picture_file() -> bytes:
    buffer = io.BytesIO()
    draw("a rose", 1).save(buffer, format="PNG")
    return buffer.getvalue()


# A server that is busy for a moment: each is asked for again.
BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530)


EVERY_STATUS = [(status, "images of openai") for status in BUSY]


@pytest.mark.parametrize(
    ("status", "kind"), [*EVERY_STATUS, (524, "judges"), (529, "rewriters")]
)
def test_a_busy_server_is_asked_again(status: int, kind: str) -> None:
    asked = set[str]()

    def speak(body: dict[str, Any], _: Any) -> Said:
        body.pop("headers", None)
        text = json.dumps(body)
        if text not in asked:
            asked.add(text)
            return status, {}, b"<html>violates our content policy"
        return (200, {}, completion("a")) if "messages" in body else one()

    with speaking(speak) as (url, posted):
        outcomes = KINDS[kind](url, [])
    assert len(outcomes) == 6 and len(posted) == 12
    assert {getattr(outcome, "status", "ok") for outcome in outcomes} == {"ok"}


# What a filter says of one prompt.
FILTERS = {
    "a code": error(400, "No.", "content_policy_violation"),
    "a code with a busy status": error(500, "No.", "content_filter"),
    "words": error(400, "Your request was rejected as a result of our safety system."),
    "Bedrock's words": error(
        400, "This request has been blocked by our content filters."
    ),
    "Black Forest Labs": json_reply(
        {"status": "Content Moderated", "details": {}}, 400
    ),
    "Stability": json_reply(
        {"name": "content_moderation", "errors": ["Flagged."]}, 403
    ),
    "xAI": json_reply(
        {"code": "invalid", "error": "Rejected by content moderation."}, 400
    ),
    "a list": json_reply(
        {"detail": [{"loc": ["x"], "msg": "no", "type": "nsfw"}]}, 422
    ),
    "Alibaba": error(400, "Input data may be inappropriate.", "DataInspectionFailed"),
}


@pytest.mark.parametrize("how", FILTERS)
def test_a_filters_word_is_about_one_prompt(how: str) -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        text = str(body.get("prompt", body.get("messages")))
        if "filter 3" in text:
            return FILTERS[how]
        return (200, {}, completion("a")) if "messages" in body else one()

    with speaking(speak) as (url, _):
        statuses = [image.status for image in KINDS["images of openai"](url, [])]
        assert sorted(statuses) == ["ok"] * 5 + ["refused"]
        statuses = [rewriting.status for rewriting in rewritings(url, [])]
        assert sorted(statuses) == ["ok"] * 5 + ["refused"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("Generated image rejected by content moderation.", "filtered"),
        ("NSFW content detected in the image by the safety checker", "filtered"),
        ("The prompt or the generated image violates our content policy.", "refused"),
        ("Rejected by content moderation.", "refused"),
    ],
)
def test_what_a_filter_takes_after_it_was_made_is_filtered(
    words: str, status: str
) -> None:
    with speaking(lambda *_: error(400, words)) as (url, _):
        outcomes = images("openai:m")(url, [])
    assert {outcome.status for outcome in outcomes} == {status}
