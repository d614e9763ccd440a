"""The publications of the method, as docs/methods/edits.md and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="wang2024newjob",
        kind="misc",
        fields={
            "author": "Wang, Wenxuan and Bai, Haonan and Huang, Jen-tse and Wan, Yuxuan and "
            "Yuan, Youliang and Qiu, Haoyi and Peng, Nanyun and Lyu, Michael R.",
            "title": "New Job, New Gender? Measuring the Social Bias in Image Generation Models",
            "year": "2024",
            "eprint": "2401.00763",
            "archiveprefix": "arXiv",
        },
        marks=("BiasPainter", "New Job, New Gender"),
    ),
    Publication(
        key="seo2026portrait",
        kind="misc",
        fields={
            "author": "Seo, Huichan and Hong, Minki and Choi, Sieun and Kim, Jihie and Oh, Jean",
            "title": "Toward Trustworthy Portrait Editing: Evaluation of Demographic "
            "Misrepresentation in I2I Models",
            "year": "2026",
            "eprint": "2602.16149",
            "archiveprefix": "arXiv",
        },
        marks=("Toward Trustworthy Portrait Editing",),
    ),
)
