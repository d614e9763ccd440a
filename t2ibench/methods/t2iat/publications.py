"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="wang2023t2iat",
        kind="inproceedings",
        fields={
            "author": "Wang, Jialu and Liu, Xinyue Gabby and Di, Zonglin and Liu, Yang and "
            "Wang, Xin Eric",
            "title": "T2IAT: Measuring Valence and Stereotypical Biases in Text-to-Image "
            "Generation",
            "booktitle": "Findings of ACL 2023",
            "year": "2023",
            "eprint": "2306.00905",
            "archiveprefix": "arXiv",
        },
        marks=("T2IAT", "Wang et al. (2023)"),
    ),
)
