"""Reproductions of published papers: their settings, tables and figures with our numbers.

`t2ibench reproduce PAPER`, `t2ibench run --preset PAPER` and in Python `t2ibench.reproduce(PAPER)`.

To add a paper, write two files and one line:

1. `published/NAME.yaml`, the data (`schema.PaperFile` documents every key): the citation, the
   preset (model, settings, model arguments, and tasks as the paper ran them: a shipped task, with
   the keys that differ), what can never be the same, and one entry for each table and figure of
   numbers that a run alone can fill, with its source, its published values and the words of its
   figure. Values that a task file has under `published` are not repeated. Copy numbers from the
   paper, never from memory. Scores of every row of a task are `rows`, which need no code.
2. `published/NAME.py`: one function for each other exhibit, with its name. It gets an
   `exhibits.Exhibit` (the results of the preset's tasks and their samples), and adds lines and a
   figure to it. It reads nothing else and holds no published number: `Exhibit.line`
   finds those of its row and score. Then `PAPER = read_paper(FILE, table_1, ...)`.
3. A line in `paper.PAPERS`, in this package or by the entry-point group `t2ibench.papers`.

`figures` draws scatter plots, arrows, distributions and bars on the project's own canvas; `call`
does the run, and `pages` writes NAME.md, NAME.html, and for each exhibit a CSV and its figure.
"""
