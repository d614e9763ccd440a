"""A local web app that scores concepts (Eschner et al. 2025) on the images of a run or folder."""
