"""Making a submission's evidence again: images, embeddings of texts and images, answers.

Nothing that a submission names is contacted: a judge on a server is not asked, and what names code
is not imported. What cannot be made here lowers the verdict, in words; what comes out otherwise
refuses the submission.
"""

from __future__ import annotations

from t2ibench.apps.leaderboard.made import Again, Claimed, Made
from t2ibench.apps.leaderboard.redraw import redraw
from t2ibench.apps.leaderboard.reread import ask_again, embed_again


def make_again(claimed: Claimed, count: int, seed: int) -> Again:
    """Make evidence of a submission again and compare it."""
    again = Again()
    made: list[Made] = []
    if claimed.attempts:
        made = redraw(claimed, count, seed, again)
    if not again.problems:
        embed_again(claimed, made, again)
    if not again.problems:
        ask_again(claimed, made, again)
    again.compared |= {one.attempt.key for one in made if one.same_file}
    again.count("images", len(again.compared))
    if len(again.compared) < len(made):
        again.lacking.append(
            f"{len(made) - len(again.compared)} images were generated, and there was nothing here "
            "to compare them with"
        )
    return again
