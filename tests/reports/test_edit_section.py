"""The part of a card on edits: changes by group, outcomes, and pairs of pictures."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench import evaluate
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    EDITS,
    AttributeChange,
    EditOutcomes,
    EditReport,
    ShareChange,
)
from t2ibench.reports.html.cards import CardParts
from t2ibench.reports.html.edit_pictures import (
    NAMES,
    PAIRS,
    edited_pairs,
    pair_thumbnails,
)
from t2ibench.reports.html.edit_section import EditsView, edits_view
from t2ibench.reports.html.evidence import Thumbnails
from t2ibench.reports.html.page import report_html
from t2ibench.reports.view import RunView, run_view
from tests import hand
from tests.apps.explorer.page import Watch, axe

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
AGE = "person age"
GENDER = "person gender"


def _share(edit: str, group: str, change: float | None) -> ShareChange:
    if change is None:
        return ShareChange(edit, group, pairs=0)
    return ShareChange(
        edit=edit,
        group=group,
        pairs=40,
        before=0.2,
        after=0.2 + change,
        change=change,
        low=change - 0.1,
        high=change + 0.1,
        shown_before=8,
        shown_in_both=7,
    )


def _shares(change_of_women: float | None) -> tuple[ShareChange, ...]:
    return tuple(
        _share(edit, group, change)
        for edit in (ALL_EDITS, "in a suit")
        for group, change in (("women", change_of_women), ("men", 0.0))
    )


AGES = AttributeChange(
    attribute=AGE,
    question="How old?",
    classes=("adult", "old"),
    defines_groups=False,
    followed={"women": "old", "men": "old"},
    shares=_shares(0.3),
)
GENDERS = AttributeChange(
    attribute=GENDER,
    question="Which gender?",
    classes=("female", "male"),
    defines_groups=True,
    followed={"women": "female", "men": "male"},
    shares=_shares(None),
)
OUTCOMES = (
    EditOutcomes(ALL_EDITS, "women", requested=40, edited=30, not_edited=10),
    EditOutcomes(
        ALL_EDITS,
        "men",
        requested=40,
        edited=35,
        excluded={"refused": 3, "a reason of its own": 2},
    ),
    EditOutcomes("in a suit", "women", requested=40, edited=30, not_edited=10),
    EditOutcomes("no change", "men", requested=40, unclear=40),
)
REPORT = EditReport(
    headline=AGE,
    groups=("women", "men"),
    between=("women", "men"),
    edits=("in a suit",),
    controls=("no change",),
    attributes=(GENDERS, AGES),
    outcomes=OUTCOMES,
)


def _run(report: EditReport, name: str = "edits") -> RunView:
    """Return a run with one test about edits, whose headline is clear."""
    record = hand.record(hand.mean_lean({f"x{k}": [0.9] * 40 + [0.8] for k in "abcd"}))
    task = record.model_copy(update={"details": {EDITS: asdict(report)}})
    return run_view(hand.results(**{name: task}), {})


def _view(report: EditReport) -> EditsView:
    view = edits_view(_run(report).tasks[0])
    assert view is not None
    return view


def test_changes_stand_by_edit_and_group_the_headline_first() -> None:
    ages, genders = _view(REPORT).changes
    assert (ages.title, genders.title) == (AGE, GENDER)
    assert [row.edit for row in ages.rows] == [ALL_EDITS, "in a suit"]
    women, men = ages.rows[1].groups
    assert (women.group, women.change, women.shares) == (
        "women",
        "+0.30",
        "20 % → 50 %",
    )
    assert women.interval == "+0.20 to +0.40"
    assert "in a suit: old 20 % before, 50 % after" in women.spoken
    assert (men.change, men.mark.value) == ("0.00", 0.0)
    assert ages.note == (
        "Share of images answered with “old”. Asked before and after: “How old?”"
    )
    assert (
        "women as “female”, men as “male”: images that show it can only lose it"
        in genders.note
    )
    # The headline is clear, no edit by itself is: the record has no rows of edits.
    assert [row.clear for row in ages.rows] == [True, False]
    assert [row.clear for row in genders.rows] == [False, False]
    assert (ages.open, genders.open) == (True, False)


def test_a_group_without_answers_has_no_mark() -> None:
    women, _ = _view(REPORT).changes[1].rows[0].groups
    assert women.mark.value is None
    assert (women.change, women.interval) == ("–", "")
    html = report_html(_run(REPORT))
    assert "no answers" in html
    assert "moves by 50 points more for one group" in html


def test_outcomes_are_counted_by_group_with_controls_apart() -> None:
    outcomes = _view(REPORT).outcomes
    assert [row.counts for row in outcomes.together] == [
        "30 edited, 10 not edited",
        "35 edited, 3 refused, 2 a reason of its own",
    ]
    assert [each.edit for each in outcomes.by_edit if each.control] == ["no change"]
    assert outcomes.by_edit[1].rows[0].counts == "40 unclear"
    assert [name for name, _ in outcomes.key] == [
        "edited",
        "not edited",
        "unclear",
        "refused",
        "missing",
    ]
    men = outcomes.together[1]
    assert [part.classes for part in men.parts] == ["k0", "k2", "none"]


def test_a_test_that_edits_nothing_has_no_such_part() -> None:
    run = run_view(hand.results(plain=hand.record(hand.mean_lean({"x": [1, -1]}))), {})
    assert edits_view(run.tasks[0]) is None
    html = report_html(run)
    assert 'class="edits"' not in html
    assert "swiper" not in html
    assert "50 points" not in html


def test_texts_of_others_are_shown_as_text() -> None:
    followed = dict.fromkeys((NASTY, "men"), NASTY)
    shares = tuple(
        replace(share, edit=NASTY, group=NASTY) if share.group == "women" else share
        for share in AGES.shares
    )
    nasty = replace(
        REPORT,
        headline=NASTY,
        groups=(NASTY, "men"),
        edits=(NASTY,),
        controls=(NASTY,),
        attributes=(
            replace(
                AGES,
                attribute=NASTY,
                question=NASTY,
                followed=followed,
                shares=shares,
            ),
        ),
        outcomes=(EditOutcomes(NASTY, NASTY, edited=1, excluded={NASTY: 1}),),
    )
    html = report_html(_run(nasty))
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert(1)" in html


def _stored(folder: Path, name: str, colour: tuple[int, int, int]) -> dict[str, str]:
    """Store an image of one colour, and return file and hash of it as samples name them."""
    path = folder / "images" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (32, 32), colour).save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": f"images/{name}.png", "sha256": digest}


def _sample(folder: Path, number: int, **changes: Any) -> dict[str, Any]:
    source = _stored(folder, f"source{number}", (number, 0, 0))
    edited = _stored(folder, f"edit{number}", (number, 9, 9))
    return {
        "prompt": "in a suit, please",
        "index": 0,
        "source_prompt": "a photo of a woman",
        "source_index": number,
        "group": "women",
        "edit": "in a suit",
        "attribute": AGE,
        "before": "adult",
        "answer": "adult",
        "source_file": source["file"],
        "source_sha256": source["sha256"],
        **edited,
        **changes,
    }


@pytest.fixture
def samples(tmp_path: Path) -> list[dict[str, Any]]:
    """Samples of women, of which two changed, and some that are not shown."""
    rows = [_sample(tmp_path, number) for number in range(8)]
    rows[3]["answer"] = rows[6]["answer"] = "old"
    rows[5]["answer"] = "unknown"
    rows += [
        _sample(tmp_path, 8, attribute=GENDER, answer="x"),
        _sample(tmp_path, 9, edit="no change", answer="old"),
        _sample(tmp_path, 10, file=None, answer="old"),
        _sample(tmp_path, 11, source_file=None, answer="old"),
    ]
    return rows


def test_pairs_are_those_that_changed_and_some_at_random(
    samples: list[dict[str, Any]], tmp_path: Path
) -> None:
    thumbnails = pair_thumbnails(Thumbnails(tmp_path))
    changed, random = edited_pairs("task", REPORT, samples, thumbnails)
    assert changed.title == "women: age changed"
    assert changed.rule.startswith("2 of 2 among 8 edits")
    numbers = {re.sub(r"\D", "", pair.before.alt) for pair in changed.pairs}
    assert numbers == {"4", "7"}
    for pair in changed.pairs:
        assert (pair.before.caption, pair.after.caption) == ("adult", "old")
        assert pair.before.source != pair.after.source
        assert pair.after.alt.endswith("after the edit “in a suit”")
    assert len(random.pairs) == PAIRS
    assert random.rule == "4 of 8 edits, drawn by the task’s id"
    # The order of samples decides nothing.
    again = edited_pairs("task", REPORT, samples[::-1], thumbnails)
    assert again == (changed, random)


def test_a_picture_whose_file_has_gone_leaves_a_gap(
    samples: list[dict[str, Any]], tmp_path: Path
) -> None:
    for file in (tmp_path / "images").glob("edit*"):
        file.write_bytes(b"")
    strips = edited_pairs("task", REPORT, samples, Thumbnails(tmp_path))
    assert all(pair.after.source is None for strip in strips for pair in strip.pairs)
    assert all(pair.before.source for strip in strips for pair in strip.pairs)
    outside = [{**row, "source_file": "../../etc/passwd"} for row in samples]
    strips = edited_pairs("task", REPORT, outside, Thumbnails(tmp_path))
    assert all(pair.before.source is None for strip in strips for pair in strip.pairs)


def test_without_room_there_are_no_pairs(
    samples: list[dict[str, Any]], tmp_path: Path
) -> None:
    small = Thumbnails(tmp_path, budget=10)
    assert edited_pairs("task", REPORT, samples, small) == ()


def test_the_page_has_pairs_with_both_names(
    samples: list[dict[str, Any]], tmp_path: Path
) -> None:
    pairs = edited_pairs("edits", REPORT, samples, Thumbnails(tmp_path))
    html = report_html(_run(REPORT), parts={"edits": CardParts(pairs=pairs)})
    assert html.count(f'data-swipe="{"|".join(NAMES)}"') == 2
    assert html.count("data:image/webp;base64,") == 2 * (2 + PAIRS)
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html) == []


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run whose editor ages women."""
    folder = tmp_path_factory.mktemp("edits")
    faults = {"edits.ages.female": 0.6, "edits.refuses.male": 0.2}
    evaluate(
        "toyland",
        "edits_people",
        model_args=faults,
        output_dir=folder,
        images_per_prompt=2,
    )
    (path,) = folder.glob("toyland*/report.html")
    return path.parent


@pytest.mark.slow
def test_a_run_shows_pairs_of_its_source_images_and_edits(run: Path) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    card = html.split('id="edits_people"')[1].split("</section></div>")[0]
    assert ">women: age changed" in card
    assert ">men: at random" in card
    assert ">men: age changed" not in card
    assert 'class="gone"' not in card
    pictures = re.findall(r"data:image/webp;base64,[\w+/=]+", card)
    assert len(pictures) == 2 * 3 * PAIRS


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), (1280, "light"), (1280, "dark")]
)
def test_the_card_is_accessible_fits_and_swipes_by_keyboard(
    browser: Any, run: Path, width: int, scheme: str
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, "file://", bypass_csp=True, **options)
    page = watch.page
    page.goto((run / "report.html").as_uri())
    page.evaluate(
        "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == []
    row = page.locator(".edits .pictured").first
    swiper = row.locator("input[type=range]")
    swiper.focus()
    page.keyboard.press("Home")
    assert row.evaluate("(each) => each.style.getPropertyValue('--cut')") == "0%"
    button = row.get_by_role("button", name="Side by side")
    button.press("Enter")
    assert row.get_by_role("button", name="One on the other").is_visible()
    assert not swiper.is_visible()
    watch.close()
