"""The hash of the source code, by which caches know that a rule has changed."""

from __future__ import annotations

from pathlib import Path

from t2ibench.source_code import source_digest


def test_a_changed_rule_changes_the_digest(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    digests = []
    for name, text in (
        ("strict.py", "LARGEST = 0.005\n"),
        ("strict.py", "LARGEST = 0.004\n"),
        ("words.txt", "a\n"),
        ("table.yaml", "a: 1\n"),
    ):
        (folder / name).write_text(text)
        digests.append(source_digest.__wrapped__(tmp_path))
    (folder / "strict.py").rename(folder / "mild.py")
    digests.append(source_digest.__wrapped__(tmp_path))
    (folder / "notes.md").write_text("no rule\n")
    assert None not in digests and len(set(digests)) == 5
    assert source_digest.__wrapped__(tmp_path) == digests[-1]


def test_source_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert source_digest.__wrapped__(tmp_path) is None
    assert source_digest.__wrapped__(tmp_path / "archive.zip") is None
    assert source_digest() is not None
