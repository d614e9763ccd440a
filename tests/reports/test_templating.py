"""Pages: a line never ends between a number and its per cent sign."""

from __future__ import annotations

import pytest

from t2ibench.reports.html.frontier_page import frontier_html
from t2ibench.reports.html.templating import with_whole_percentages
from t2ibench.reports.html.where_page import where_html
from t2ibench.results.where import where
from tests.reports.test_frontier_page import two_remedies
from tests.results.where_runs import LIKE_WORDS, run


@pytest.mark.parametrize(
    ("html", "whole"),
    [
        ("<p>94 % of all</p>", "<p>94\u00a0% of all</p>"),
        ("<b>94</b> %", "<b>94</b> %"),
        ('<p title="5 %">a % b</p>', '<p title="5 %">a % b</p>'),
        ("<script>x = 5 % 2</script>5 %", "<script>x = 5 % 2</script>5\u00a0%"),
        ("<style>a{width:5 %}</style>", "<style>a{width:5 %}</style>"),
        ("<pre>5 %</pre><code>6 %</code>", "<pre>5 %</pre><code>6 %</code>"),
    ],
)
def test_text_alone_is_changed(html: str, whole: str) -> None:
    assert with_whole_percentages(html) == whole
    assert with_whole_percentages(whole) == whole


def test_no_page_breaks_a_line_before_a_per_cent_sign() -> None:
    for page in (
        where_html(where([run("toy", LIKE_WORDS)])),
        frontier_html(two_remedies(), ("lean", "diversity")),
    ):
        assert "95\u00a0% CI</th>" in page
        assert "95 % CI</th>" not in page
