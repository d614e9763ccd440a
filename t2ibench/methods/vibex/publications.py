"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="eschner2025interactive",
        kind="article",
        fields={
            "author": "Eschner, Johannes and Labadie-Tamayo, Roberto and Zeppelzauer, Matthias and "
            "Waldner, Manuela",
            "title": "Interactive Discovery and Exploration of Visual Bias in Generative "
            "Text-to-Image Models",
            "journal": "Computer Graphics Forum",
            "year": "2025",
        },
        marks=("Interactive Discovery and Exploration",),
    ),
)
