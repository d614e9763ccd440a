"""What TIBET's authors hold CAS and MAD against."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.tibet.image_sets import (
    even_deviation,
    even_distance,
    matched_association,
    vocabulary,
)
from t2ibench.methods.tibet.schema import Axis, TibetTask
from t2ibench.settings import Settings
from t2ibench.stats import concept_association, mad
from t2ibench.tasks.index import build_index
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=50, n_bootstrap=50)
SOCIETAL = {"gender", "age"}
MIXED = ["granite", "granite", "linen", "cotton"]


def task(**more: Any) -> TibetTask:
    axes = [
        {
            "name": name,
            "questions": [f"Which {name}?"],
            "counterfactuals": [{"name": word, "prompt": f"a {word} chef"} for word in words],
        }
        for name, words in (("gender", ("male", "female")), ("dish", ("meat", "fish", "rice")))
    ]
    prompts = [{"prompt": "a chef", "axes": axes}]
    parts = {"images_per_prompt": 4, "baselines": True, "prompts": prompts}
    return task_by_hand(TibetTask, "tibet", **{**parts, **more})


def evidence(**vectors: list[float]) -> HandEvidence:
    """Three of four chefs are men, and half of them cook meat."""
    cooks = ["cook"] * 4
    shown = {
        "a chef": ([1.0, 0.0], ["cook"] * 3 + ["waiter"], MIXED),
        "a male chef": ([0.6, 0.8], cooks, MIXED),
        "a female chef": ([0.2, 0.0], ["waiter"] * 4, MIXED),
        "a meat chef": ([0.5, 0.0], cooks, ["granite"] * 4),
        "a fish chef": ([0.5, 0.0], cooks, ["linen"] * 4),
        "a rice chef": ([0.5, 0.0], cooks, ["cotton"] * 4),
    }
    return HandEvidence(
        images={prompt: [place] * 4 for prompt, (place, *_) in shown.items()},
        answers={p: {"Which gender?": who, "Which dish?": of} for p, (_, who, of) in shown.items()},
        texts=vectors,
    )


def test_distances_from_even_shares_by_hand() -> None:
    # Of three places the sums are off by 1/6 and 1/6, of at most 1/3 + 2/3.
    assert float(even_distance([3, 2, 1])) == pytest.approx(np.sqrt((1 / 6 + 1 / 6) / 1.0))
    assert float(even_deviation([3, 2, 1])) == pytest.approx(np.sqrt((2 / 36) / (2 / 3)))
    for k in (2, 3, 5):
        one = np.eye(k)[0]
        assert float(even_distance(one)) == float(even_deviation(one)) == pytest.approx(1.0)
        assert float(even_distance(np.ones(k))) == pytest.approx(0.0, abs=1e-6)
    shares = np.random.default_rng(0).dirichlet([1, 1], 20)
    assert even_distance(shares) == pytest.approx(mad(shares))
    assert np.isnan(even_distance([1.0])) and np.isnan(even_deviation([0.0, 0.0]))


def test_matched_concepts_by_hand() -> None:
    same = np.eye(3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        w, v = rng.random((2, 3))
        assert matched_association(w, v, same) == pytest.approx(float(concept_association(w, v)))
    # 'cook' goes with 'chef' (.9), though 'cook' and 'man' are alike, too (.8): the sum decides.
    cosines = np.array([[1, 0, 0.9, 0.8], [0, 1, 0.7, 0.1], [0.9, 0.7, 1, 0], [0.8, 0.1, 0, 1]])
    found = matched_association([1, 1, 0, 0], [0, 0, 1, 1], cosines)
    # cook-man and waiter-chef: .8 + .7 is more than .9 + .1; nothing is left over.
    assert found == pytest.approx((0.8 + 0.7) / 2)
    assert np.isnan(matched_association([0, 0], [0, 0], np.eye(2)))


def test_the_other_measures_of_a_task() -> None:
    found = score(task(), evidence(), QUICK)
    gender, dish = (item.scores for item in found.by)
    clip = np.array([0.6, 0.2]) / 0.8
    assert gender["mean_absolute_deviation_clip"].value == pytest.approx(np.sqrt(clip[0] - clip[1]))
    assert gender["wasserstein"].value == pytest.approx(gender["mean_absolute_deviation"].value)
    shares = [dish[f"concept_association_share:{name}"].value for name in ("meat", "fish", "rice")]
    assert dish["deviation"].value == pytest.approx(float(even_deviation(shares)))
    assert dish["wasserstein"].value == pytest.approx(float(even_distance(shares)))
    assert "mean_absolute_deviation_bipartite" not in gender
    for name in ("mean_absolute_deviation_clip", "wasserstein", "deviation"):
        mean = np.mean([item.scores[name].value for item in found.by])
        assert gender[name].as_published and found.scores[name].value == pytest.approx(mean)
    steps = found.details["sensitivity"]
    assert [step["flipped"] for step in steps] == [0.05, 0.1, 0.15, 0.18, 0.2, 0.25, 0.3]
    names = {"mean_absolute_deviation_change", "wasserstein_pooled", "deviation_pooled"}
    assert names <= set(steps[0])
    both, one = (each.scores["deviation"] for each in (combine(task(), [found] * 2, QUICK), found))
    assert both.as_published and both.p is None and both.value == pytest.approx(one.value)


def test_concepts_are_matched_by_their_words() -> None:
    spec = task(concept_words=["cook", "waiter", "stove"])
    words = vocabulary(spec)
    assert {"cook", "waiter", "chef", "gender", "male"} <= set(words)
    assert needs(spec, QUICK).texts == words and needs(task(), QUICK).texts == ()
    vectors = {word: [0.0, 1.0] for word in words} | {"cook": [1.0, 0.0], "waiter": [0.6, 0.8]}
    found = score(spec, evidence(**vectors), QUICK)
    scores = found.by[0].scores
    # The answers about dishes are the same throughout and match themselves. Of the others,
    # (.75, .25) against (1, 0): cook with itself, waiter with nothing.
    assert scores["bipartite:male"].value == pytest.approx(1.75 / 2.25)
    # Against waiters alone: 'waiter' matches itself at .25.
    assert scores["bipartite:female"].value == pytest.approx(1.25 / 2.75)
    deviation = scores["mean_absolute_deviation"].value
    assert scores["mean_absolute_deviation_bipartite"].value == pytest.approx(deviation)
    # The answers about dishes have no embedding, those about gender have.
    assert found.details["matched_words"] == pytest.approx(0.5)
    assert "bipartite:male" not in score(spec, evidence(), QUICK).by[0].scores


def test_a_kind_of_bias_by_name_or_by_hand() -> None:
    def kind(name: str, **more: Any) -> str:
        axis = {"name": name, "counterfactuals": ({"name": "x", "prompt": "y"},), **more}
        return Axis.model_validate(axis).kind

    kinds = [kind(name) for name in ("Gender", "racial", "cultural norms", "imagery")]
    assert kinds == ["societal"] * 3 + ["incidental"]
    assert kind("religion", bias="societal") == "societal"


def test_unused_keys_leave_a_task_as_it_was() -> None:
    plain = task(baselines=False).model_dump(mode="json")
    assert not {"baselines", "concept_words"} & {*plain, *plain["prompts"][0]["axes"][0]}
    assert "bias" not in plain["prompts"][0]["axes"][0]
    assert TibetTask.model_validate(plain) == task(baselines=False)


def test_squared_leans_by_kind_are_the_headline_of_these_axes_alone() -> None:
    # `tools.calibration` certifies the headline; a part of the rows is that of fewer rows.
    both = score(task(), evidence(), QUICK)
    for number, kind in enumerate(("societal", "incidental")):
        axis = task().model_dump()["prompts"][0]["axes"][number]
        alone = score(task(prompts=[{"prompt": "a chef", "axes": [axis]}]), evidence(), QUICK)
        found = both.scores[f"squared_lean_{kind}"]
        head = alone.headline.inference["fixed_prompts"]
        assert found.value == pytest.approx(alone.headline.value)
        assert found.p == pytest.approx(head.p)
        assert found.interval == pytest.approx(head.interval)
        # MAD counts the answers to all of a prompt's questions.
        deviation = both.by[number].scores["mean_absolute_deviation"].value
        assert both.scores[f"mean_absolute_deviation_{kind}"].value == deviation


def test_table_5_says_which_axes_are_societal() -> None:
    index, _ = build_index()
    shipped = index.tasks["tibet_table5"].spec
    listed = index.tasks["tibet_prompts"].spec
    assert isinstance(shipped, TibetTask) and isinstance(listed, TibetTask)
    assert len(shipped.prompts) == 98 and shipped.extended and shipped.baselines
    rows = [(target, axis) for target in shipped.prompts for axis in target.axes]
    assert len(rows) == 316 and all(axis.bias for _, axis in rows)
    assert {axis.kind for _, axis in rows if axis.name in SOCIETAL} == {"societal"}
    # What both tasks ask is generated once.
    texts = {cf.prompt for _, axis in rows for cf in axis.counterfactuals}
    known = {cf.prompt for t in listed.prompts for axis in t.axes for cf in axis.counterfactuals}
    assert len(texts & known) > 50
