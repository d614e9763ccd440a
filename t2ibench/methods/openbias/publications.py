"""The publications of the method, as CITATION.cff and the task files name them."""

from t2ibench.methods.core.publication import Publication

PUBLICATIONS = (
    Publication(
        key="dinca2024openbias",
        kind="inproceedings",
        fields={
            "author": "D'Incà, Moreno and Peruzzo, Elia and Mancini, Massimiliano and Xu, Dejia "
            "and Goel, Vidit and Xu, Xingqian and Wang, Zhangyang and Shi, Humphrey and Sebe, Nicu",
            "title": "OpenBias: Open-set Bias Detection in Text-to-Image Generative Models",
            "booktitle": "CVPR 2024",
            "year": "2024",
            "eprint": "2404.07990",
            "archiveprefix": "arXiv",
        },
        marks=("OpenBias",),
    ),
)
