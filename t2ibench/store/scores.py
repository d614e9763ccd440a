"""Storage of task scores, samples and influences, keyed by the digest of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from t2ibench.store.database import Database
from t2ibench.store.schema import blob_checksum, of_text, to_text


@dataclass(frozen=True, slots=True)
class StoredScore:
    """The stored scores of one task."""

    result: str  # its entry of results.json
    samples: str  # a JSON list, one sample a line
    influences: bytes  # how each image moves each score; see results.paired


class ScoreStore:
    """The scores of a run's tasks: those in results.json, and newer ones."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def find(self, task: str, inputs: str) -> StoredScore | None:
        """Return a task's stored scores if they were computed from these inputs, else None."""
        return self._find("task = ? AND inputs = ?", task, inputs).get(task)

    def current(self, task: str | None = None) -> dict[str, StoredScore]:
        """Return the undamaged scores that are in results.json, keyed by task."""
        where = "current" if task is None else "current AND task = ?"
        return self._find(where, *([] if task is None else [task]))

    def _find(self, where: str, *values: str) -> dict[str, StoredScore]:
        rows = self.database.read(
            f"SELECT task, inputs, result, samples, influences, crc FROM scores WHERE {where}",
            *values,
        )
        scores = {}
        for task, inputs, result, samples, influences, crc in rows:
            try:
                score = StoredScore(
                    of_text(result), of_text(samples), bytes(influences)
                )
                if crc == _checksum(task, inputs, score):
                    scores[task] = score
            except (TypeError, AttributeError):  # another program wrote it
                continue
        return scores

    def add(self, task: str, inputs: str, score: StoredScore) -> None:
        """Store the scores of a task, beside those of it that are in results.json."""
        row = (to_text(score.result), to_text(score.samples), score.influences)
        crc = _checksum(task, inputs, score)
        self.database.execute(
            "INSERT INTO scores(task, inputs, current, result, samples, influences, crc) "
            "VALUES (?, ?, 0, ?, ?, ?, ?) ON CONFLICT(task, inputs) DO UPDATE SET "
            "result = excluded.result, samples = excluded.samples, "
            "influences = excluded.influences, crc = excluded.crc",
            task,
            inputs,
            *row,
            crc,
        )
        self.database.written.add("scores")

    def publish(self, inputs: Mapping[str, str], tasks: set[str]) -> None:
        """Mark the scores that are now in results.json, and delete obsolete ones.

        Inputs that begin with 'once ' are of scores that nothing can be told to be equal to.
        """
        with self.database.writing():
            for task, digest in inputs.items():
                self.database.execute(
                    "DELETE FROM scores WHERE task = ? AND inputs <> ?", task, digest
                )
                self.database.execute(
                    "UPDATE scores SET current = 1 WHERE task = ?", task
                )
            for (task,) in self.database.read(
                "SELECT DISTINCT task FROM scores WHERE current"
            ):
                if task not in tasks:
                    self.database.execute("DELETE FROM scores WHERE task = ?", task)
            self.database.execute(
                "DELETE FROM scores WHERE NOT current AND inputs LIKE 'once %'"
            )


def _checksum(task: str, inputs: str, score: StoredScore) -> int:
    texts = (task, inputs, score.result, score.samples)
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    return blob_checksum(*encoded, score.influences)
