"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="chinchure2024tibet",
        kind="inproceedings",
        fields={
            "author": "Chinchure, Aditya and Shukla, Pushkar and Bhatt, Gaurav and Salij, Kiri and "
            "Hosanagar, Kartik and Sigal, Leonid and Turk, Matthew",
            "title": "TIBET: Identifying and Evaluating Biases in Text-to-Image Generative Models",
            "booktitle": "ECCV 2024",
            "year": "2024",
        },
        marks=("TIBET",),
    ),
)
