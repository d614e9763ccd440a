"""The publications that a run rests on: those of its methods, and those of its tasks' words.

Everything here stands in a task's file or in its word lists; what these do not say, such as most
DOIs, is left out. A test holds the file to it.
"""

from __future__ import annotations

from t2ibench.methods import METHODS, method_named
from t2ibench.methods.core.publication import Publication

# Where the words, prompts and statistics of shipped tasks come from.
WINOBIAS = Publication(
    key="zhao2018gender",
    kind="inproceedings",
    fields={
        "author": "Zhao, J. and Wang, T. and Yatskar, M. and Ordonez, V. and Chang, K.-W.",
        "title": "Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods",
        "booktitle": "NAACL 2018",
        "year": "2018",
        "note": "N18-2003",
    },
    marks=("Gender Bias in Coreference", "WinoBias"),
)
STEREOTYPE_CONTENT = Publication(
    key="nicolas2021comprehensive",
    kind="article",
    fields={
        "author": "Nicolas, G. and Bai, X. and Fiske, S. T.",
        "title": "Comprehensive Stereotype Content Dictionaries Using a Semi-Automated Method",
        "journal": "European Journal of Social Psychology",
        "volume": "51",
        "number": "1",
        "pages": "178--196",
        "year": "2021",
    },
    marks=("Comprehensive Stereotype Content Dictionaries",),
)
AFFLUENCE = Publication(
    key="kozlowski2019geometry",
    kind="article",
    fields={
        "author": "Kozlowski, A. C. and Taddy, M. and Evans, J. A.",
        "title": "The Geometry of Culture: Analyzing the Meanings of Class through Word "
        "Embeddings",
        "journal": "American Sociological Review",
        "volume": "84",
        "number": "5",
        "pages": "905--949",
        "year": "2019",
    },
    marks=("Kozlowski",),
)
ADJECTIVES = Publication(
    key="garg2018word",
    kind="article",
    fields={
        "author": "Garg, N. and Schiebinger, L. and Jurafsky, D. and Zou, J.",
        "title": "Word Embeddings Quantify 100 Years of Gender and Ethnic Stereotypes",
        "journal": "PNAS",
        "volume": "115",
        "number": "16",
        "pages": "E3635--E3644",
        "year": "2018",
    },
    marks=("Word Embeddings Quantify 100 Years",),
)
ROOMS = Publication(
    key="quattoni2009recognizing",
    kind="inproceedings",
    fields={
        "author": "Quattoni, A. and Torralba, A.",
        "title": "Recognizing Indoor Scenes",
        "booktitle": "CVPR 2009",
        "pages": "413--420",
        "year": "2009",
    },
    marks=("Recognizing Indoor Scenes",),
)
COCO = Publication(
    key="lin2014microsoft",
    kind="inproceedings",
    fields={
        "author": "Lin, T.-Y. and Maire, M. and Belongie, S. and Hays, J. and Perona, P. and "
        "Ramanan, D. and Dollar, P. and Zitnick, C. L.",
        "title": "Microsoft COCO: Common Objects in Context",
        "booktitle": "ECCV 2014",
        "year": "2014",
    },
    marks=("Microsoft COCO: Common", "Microsoft COCO, ECCV"),
)
COCO_CAPTIONS = Publication(
    key="chen2015microsoft",
    kind="misc",
    fields={
        "author": "Chen, X. and others",
        "title": "Microsoft COCO Captions",
        "year": "2015",
        "eprint": "1504.00325",
        "archiveprefix": "arXiv",
    },
    marks=("Microsoft COCO Captions",),
)
FLICKR_CAPTIONS = Publication(
    key="young2014image",
    kind="article",
    fields={
        "author": "Young, P. and others",
        "title": "From Image Descriptions to Visual Denotations",
        "journal": "TACL",
        "volume": "2",
        "year": "2014",
    },
    marks=("From Image Descriptions to Visual Denotations",),
)
INTERSECTION = Publication(
    key="crenshaw1989demarginalizing",
    kind="article",
    fields={
        "author": "Crenshaw, K.",
        "title": "Demarginalizing the Intersection of Race and Sex",
        "journal": "University of Chicago Legal Forum",
        "year": "1989",
    },
    marks=("Demarginalizing",),
)
POPULATION_SURVEY = Publication(
    key="bls2023labor",
    kind="misc",
    fields={
        "author": "{U.S. Bureau of Labor Statistics}",
        "title": "Labor Force Statistics from the Current Population Survey, annual averages "
        "2022, table 11: employed persons by detailed occupation, sex, race, and Hispanic or "
        "Latino ethnicity",
        "year": "2023",
    },
    marks=("Current Population Survey",),
)
TIME_USE_SURVEY = Publication(
    key="blsatus",
    kind="misc",
    fields={
        "author": "{U.S. Bureau of Labor Statistics}",
        "title": "American Time Use Survey, Activity Coding Lexicon, 2003 and later",
    },
    marks=("American Time Use Survey",),
)
CRIME_REPORTS = Publication(
    key="fbi2019crime",
    kind="misc",
    fields={
        "author": "{Federal Bureau of Investigation}",
        "title": "Uniform Crime Reporting Program, Crime in the United States 2019, Offense "
        "Definitions",
    },
    marks=("Uniform Crime Reporting",),
)
LABELLED_IMAGES = Publication(
    key="maximuspowersimggen",
    kind="misc",
    fields={
        "author": "{maximus-powers}",
        "title": "img-gen-bias-analysis",
        "note": "MIT",
    },
    marks=("img-gen-bias-analysis",),
)
OF_WORDS = (
    WINOBIAS,
    STEREOTYPE_CONTENT,
    AFFLUENCE,
    ADJECTIVES,
    ROOMS,
    COCO,
    COCO_CAPTIONS,
    FLICKR_CAPTIONS,
    INTERSECTION,
    POPULATION_SURVEY,
    TIME_USE_SURVEY,
    CRIME_REPORTS,
    LABELLED_IMAGES,
)


def publications() -> list[Publication]:
    """Return the publications of every installed method, and of the words of shipped tasks."""
    of_methods = [entry for name in METHODS for entry in of_method(name)]
    return distinct([*of_methods, *OF_WORDS])


def of_method(name: str) -> tuple[Publication, ...]:
    """Return the publications of a method; none of one that is not installed here."""
    return method_named(name).publications


def named_in(citation: str) -> list[Publication]:
    """Return the publications that a task's citation names."""
    line = " ".join(citation.split())
    return [
        publication
        for publication in publications()
        if any(mark in line for mark in publication.marks)
    ]


def distinct(entries: list[Publication]) -> list[Publication]:
    """Return publications in their order, each key once."""
    return list({entry.key: entry for entry in entries}.values())
