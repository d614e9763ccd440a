"""Pages say which network an encoder is, and what libraries warned of."""

from __future__ import annotations

from t2ibench.reports.html.page import report_html
from t2ibench.reports.limits import unknown_networks, warnings_of_libraries
from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.sentences import network_text
from t2ibench.reports.view import run_view
from t2ibench.results.schema import LibraryWarning, Results
from tests import hand

NAME = "open_clip:ViT-L-14/openai"
NETWORK = {"architecture": "ViT-L-14", "weights": "openai", "activation": "QuickGELU"}


def made(**changes: object) -> Results:
    task = hand.task(settings=hand.settings(encoders={NAME: "ab" * 32}))
    return hand.results(some=task).model_copy(update=changes)


def test_the_network_is_named_in_a_line() -> None:
    network = {**NETWORK, "mean": [0.48145466, 0.5], "resize_mode": "shortest"}
    assert network_text(network) == (
        "architecture ViT-L-14, weights openai, activation QuickGELU, mean 0.4815 0.5, "
        "resize mode shortest"
    )


def test_results_that_do_not_record_their_network_say_what_that_may_mean() -> None:
    silent, recorded = made(), made(networks={NAME: NETWORK})
    assert unknown_networks(recorded) == []
    (line,) = unknown_networks(silent)
    assert "did not record the activation function" in line
    assert "a network that nobody trained" in results_markdown(silent)
    page = results_markdown(recorded)
    assert "activation QuickGELU" in page
    assert "nobody trained" not in page
    other = hand.results(
        some=hand.task(settings=hand.settings(encoders={"toy-clip": "ab" * 32}))
    )
    assert unknown_networks(other) == []


def test_warnings_of_libraries_are_reported_and_escaped() -> None:
    warning = LibraryWarning(library="peft", about="my/lora", text="<b>odd</b> | thing")
    results = made(networks={NAME: NETWORK}, library_warnings=[warning])
    assert warnings_of_libraries(results) == [
        "peft warned while my/lora was loaded: <b>odd</b> | thing"
    ]
    for text in (results_markdown(results), report_html(run_view(results))):
        assert "<b>odd</b>" not in text
        assert "my/lora was loaded" in text
    assert Results.model_validate_json(results.to_json()) == results
