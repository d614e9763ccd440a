"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="caliskan2017semantics",
        kind="article",
        fields={
            "author": "Caliskan, Aylin and Bryson, Joanna J. and Narayanan, Arvind",
            "title": "Semantics derived automatically from language corpora contain "
            "human-like biases",
            "journal": "Science",
            "volume": "356",
            "number": "6334",
            "pages": "183--186",
            "year": "2017",
            "doi": "10.1126/science.aal4230",
        },
        marks=("Semantics derived automatically",),
    ),
)
