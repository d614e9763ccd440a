"""Concept queries (Eschner et al. 2025) as a local web app over a run or a folder of images."""
