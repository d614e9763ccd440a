"""A scale of its own for the headline; one whose headline is a lean from -1 to 1 needs none."""

from __future__ import annotations

from t2ibench.plugins import Scale

# The name of the entry point, which results.json has: it begins with the package's name.
NAME = "t2ibench_example.points"

POINTS = Scale(
    label="brightness",
    explanation="brightness: how many more of 100 images of the first prompt are bright.",
    note="0 = as many bright images of both prompts",
    unit=" points",
    end=100.0,
    bounded=True,
    directed=True,
    matters=10.0,
)
