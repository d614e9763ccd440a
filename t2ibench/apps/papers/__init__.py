"""The papers: their settings, their tables and figures with our numbers.

`t2ibench reproduce PAPER`, `t2ibench run --preset PAPER` and in Python `t2ibench.reproduce(PAPER)`.

To add a paper, write two files and one line:

1. `papers/NAME.yaml`, the data (`paper.PaperFile` documents every key): the citation, the preset
   (model, settings, model arguments, and tasks as the paper ran them: a shipped task, with the keys
   that differ), what can never be the same, and one entry for each table and figure with its
   source and its published values. Values that a task file has under `published` are not repeated.
   Copy numbers from the paper, never from memory.
2. `papers/NAME.py`, the code: one function for each exhibit, from `paper.Material` (the results
   of the preset's tasks, their samples, the exhibit's published values) to `paper.Built` (lines of
   a table, a figure, notes). It is pure, reads nothing else and holds no published number. Then
   `PAPER = read_paper("NAME", {"table-1": table_1, ...})`.
3. A line in `registry.PAPERS`, in this package or by the entry-point group `t2ibench.papers`.

`tables.Line` compares one published number with ours; `plots` draws scatter plots, arrows and
distributions on the project's own canvas. `run.reproduce` does the rest: the run, terminal tables,
NAME.md, NAME.html, and for each exhibit a CSV and its figure as SVG and PNG.
"""
