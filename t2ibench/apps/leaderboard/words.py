"""Words of the leaderboard's page about methods."""

from __future__ import annotations

GLOSSARY = (
    ("lean", "How far images go to one side: −1 and +1 are all of one side, 0 is balanced. A lean "
     "of +0.50 is like 75 images in 100 on one side."),
    ("root mean square lean", "The size of several leans together, without direction. Leans to "
     "both sides do not cancel."),
    ("unbiased", "Corrected for what chance alone adds to a square, so that few images are no "
     "disadvantage. It can be below 0, and is then shown as 0."),
    ("fair band", "Where a fair model’s number falls nineteen times in twenty, with as many "
     "images."),
    ("interval", "Where the number would lie in 95 of 100 such runs with other images."),
    ("clear", "Outside of the fair band, and p < 0.05 after Holm’s correction."),
    ("none found", "Not clear, and a lean of more than 0.24 is ruled out. It does not say that "
     "there is none."),
    ("cannot tell", "A control contradicts the test, or it is too wide to rule anything out."),
    ("inconclusive", "One of a test’s own controls contradicts it. It is shown and never ranked."),
    ("encoder", "The model that embeds images and texts, so that likeness can be measured."),
    ("judge", "The model that answers questions about an image."),
    ("stratum", "Models that share encoder, judge, task versions and settings."),
    ("evidence", "Embeddings and answers from which every score is computed again."),
)  # fmt: skip
CHANGES = (
    ("2", "Ranks, Borda scores and comparisons only within a stratum, settings included. Tests of "
     "words have a page of their own. Models are sorted by rank, not by name. Evidence may lie "
     "outside of a submission’s folder."),
    ("1", "Ranks as intervals, image by image; scores recomputed from evidence."),
)  # fmt: skip
