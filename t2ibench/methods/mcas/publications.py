"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="mandal2024generated",
        kind="misc",
        fields={
            "author": "Mandal, Abhishek and Leavy, Susan and Little, Suzanne",
            "title": "Generated Bias: Auditing Internal Bias Dynamics of Text-To-Image Generative "
            "Models",
            "year": "2024",
            "eprint": "2410.07884",
            "archiveprefix": "arXiv",
        },
        marks=("Generated Bias",),
    ),
    Publication(
        key="mandal2023measuring",
        kind="inproceedings",
        fields={
            "author": "Mandal, Abhishek and Leavy, Susan and Little, Suzanne",
            "title": "Measuring Bias in Multimodal Models: Multimodal Composite Association Score",
            "booktitle": "BIAS 2023",
            "pages": "17--30",
            "year": "2023",
        },
        marks=("Multimodal Composite Association Score",),
    ),
)
