"""Recognised column headings of user tables, in the languages of common programs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

# The first is what the documentation calls the column. Where a table has several, the one that
# stands first here is read. docs/people.md lists them; a test holds the two together.
_HEADINGS = {
    "image": (
        "file, file name, image, path, sha256, image file, image name, image path, file path, "
        "img, img name, img path, picture, photo, image url, Input.image, Input.image url, "
        "Dateiname, Datei, Bild, Bilddatei, Bildname, Dateipfad, fichier, nom du fichier, nom "
        "de fichier, archivo, nombre de archivo, nombre del archivo, fichero, imagen, arquivo, "
        "nome do arquivo, imagem, nome file, immagine, bestand, bestandsnaam, afbeelding, "
        "plik, файл, имя файла, 文件名, 文件, 图片, ファイル名, ファイル, 画像, 파일, 파일명"
    ),
    "prompt": (
        "prompt, text, caption, prompt text, text prompt, Prompttext, Eingabe, texte, invite, "
        "texto, indicación, 提示词, プロンプト, 프롬프트"
    ),
    "index": "index, idx, image index, sample index, Bildnummer",
    "answer": "answer, Antwort, réponse, respuesta, resposta, risposta, antwoord",
    "question": "question, Frage, pregunta, pergunta, domanda, vraag",
    "labeller": (
        "labeller, labeler, annotator, rater, coder, completed by, worker, worker id, "
        "participant, participant id, Prolific PID, Bewerter"
    ),
    "id": "id",
    "caption": (
        "caption, captions, text, prompt, sentence, sentences, raw, comment, Bildunterschrift, "
        "légende, leyenda"
    ),
    "rewritten": "rewritten, rewriting, rewritten prompt, new prompt",
}
KNOWN_HEADINGS: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split(", ")) for role, names in _HEADINGS.items()
}
_QUOTES = "\"'“”„«»‘’`"
_UNSEEN = re.compile("[\ufeff\u200b\u2060\u00ad]")
_JOINING = re.compile(r"[\s_\-.]+")


def cleaned_heading(text: str) -> str:
    r"""Normalise a heading for display: one line, composed letters, without quotes.

    Examples:
        >>> cleaned_heading('\ufeff"What is\r\n the  gender?" ')
        'What is the gender?'
    """
    composed = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    return " ".join(composed.split()).strip(_QUOTES).strip()


def heading_key(text: str) -> str:
    """Return a key that is equal for differently spelt forms of one heading.

    Examples:
        >>> heading_key("File_Name") == heading_key("filename") == heading_key("FILE NAME")
        True
    """
    return _JOINING.sub("", cleaned_heading(text).casefold())


_KEYS = {role: tuple(map(heading_key, names)) for role, names in KNOWN_HEADINGS.items()}


def known_column(role: str, columns: Iterable[str]) -> str | None:
    """Return the column with a role such as 'image', by the first recognised heading."""
    by_key: dict[str, str] = {}
    for column in columns:
        by_key.setdefault(heading_key(column), column)
    keys = _KEYS.get(role, (heading_key(role),))
    return next((by_key[key] for key in keys if key in by_key), None)


def role_of(heading: str) -> str | None:
    """Return the role of a recognised heading, or None."""
    key = heading_key(heading)
    return next((role for role, keys in _KEYS.items() if key in keys), None)
